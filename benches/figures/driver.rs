//! The floor: a bare driver for debugpy. It starts an adapter, lets it launch a program, adopts
//! each child with a breakpoint, one request after the other, and says when what came. It uses
//! nothing of daptree and must stay the smallest thing that does this.

mod crowd;

pub use crowd::adopt_all;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// How long anything may take.
const LIMIT: Duration = Duration::from_secs(30);

/// Which adapter is driven.
#[derive(Clone, Debug)]
pub struct Adapter {
    /// What runs the adapter and the program.
    pub python: PathBuf,
    /// The folder that holds the package `debugpy`.
    pub debugpy: PathBuf,
    /// The script that starts it with quick sockets; `None`: as `python -m debugpy.adapter`.
    pub quick: Option<PathBuf>,
}

/// A program and where it stops.
#[derive(Clone, Debug)]
pub struct Program {
    /// The script.
    pub script: PathBuf,
    /// Its words.
    pub args: Vec<String>,
    /// The script of the breakpoint.
    pub breakpoint: PathBuf,
    /// Its line.
    pub line: u32,
}

/// When a child that was reported stopped.
#[derive(Clone, Copy, Debug)]
pub struct FirstStop {
    /// From its report to its `stopped` event.
    pub stopped: Duration,
    /// From its report to its top frame.
    pub placed: Duration,
}

/// Runs a program whose children stop once each, and gives their times.
pub fn first_stops(adapter: &Adapter, program: &Program) -> Result<Vec<FirstStop>> {
    let mut driver = Driver::start(adapter)?;
    let root = driver.launch(adapter, program)?;
    let mut times = Vec::new();
    while let Some(report) = driver.report(root)? {
        let child = driver.adopt(&report, program)?;
        let stop = driver.event(child, "stopped")?;
        let thread = stop.field("/body/threadId").clone();
        let arguments = json!({ "threadId": thread, "levels": 1 });
        let frames = driver.call(child, "stackTrace", &arguments)?;
        times.push(FirstStop {
            stopped: stop.at - report.at,
            placed: frames.at - report.at,
        });
        driver.call(child, "continue", &json!({ "threadId": thread }))?;
    }
    Ok(times)
}

/// Steps through a program and gives how long each step took, until its stack, scopes and first
/// variables are there.
pub fn steps(adapter: &Adapter, program: &Program, count: usize) -> Result<Vec<Duration>> {
    let mut driver = Driver::start(adapter)?;
    let root = driver.launch(adapter, program)?;
    let mut thread = driver
        .event(root, "stopped")?
        .field("/body/threadId")
        .clone();
    let mut times = Vec::new();
    for _ in 0..count {
        let began = Instant::now();
        driver.call(root, "next", &json!({ "threadId": thread }))?;
        thread = driver
            .event(root, "stopped")?
            .field("/body/threadId")
            .clone();
        let stack = driver.call(root, "stackTrace", &json!({ "threadId": thread }))?;
        let frame = stack.field("/body/stackFrames/0/id");
        let scopes = driver.call(root, "scopes", &json!({ "frameId": frame }))?;
        let reference = scopes.field("/body/scopes/0/variablesReference");
        let locals = json!({ "variablesReference": reference });
        driver.call(root, "variables", &locals)?;
        times.push(began.elapsed());
    }
    Ok(times)
}

/// A message, when and on which connection it came; `Null` where a connection ended.
#[derive(Clone, Debug)]
struct Heard {
    connection: usize,
    at: Instant,
    message: Value,
}

impl Heard {
    /// A part of the message, by JSON pointer; `Null` where there is none.
    fn field(&self, pointer: &str) -> &Value {
        self.message.pointer(pointer).unwrap_or(&Value::Null)
    }
}

struct Driver {
    adapter: Child,
    address: (String, u16),
    _folder: tempfile::TempDir,
    connections: Vec<TcpStream>,
    seq: i64,
    heard: Receiver<Heard>,
    tell: Sender<Heard>,
    /// Heard, and not asked for yet.
    kept: Vec<Heard>,
}

impl Driver {
    fn start(adapter: &Adapter) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let endpoints = folder.path().join("endpoints");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &endpoints,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )?;
        let mut command = Command::new(&adapter.python);
        match &adapter.quick {
            Some(quick) => command.arg(quick).arg(&adapter.debugpy),
            None => command.arg(adapter.debugpy.join("debugpy/adapter")),
        };
        let child = command
            .args(["--host", "127.0.0.1", "--port", "0"])
            .env("DEBUGPY_ADAPTER_ENDPOINTS", &endpoints)
            .env("PYDEVD_DISABLE_FILE_VALIDATION", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("the adapter could not be started")?;
        let (said, saying) = channel();
        std::thread::spawn(move || said.send(std::fs::read_to_string(endpoints)));
        let said = saying
            .recv_timeout(LIMIT)
            .context("the adapter does not listen")??;
        let client: Value = serde_json::from_str(&said)?;
        let port = client
            .pointer("/client/port")
            .and_then(Value::as_u64)
            .context("the adapter named no port")?;
        let (tell, heard) = channel();
        Ok(Self {
            adapter: child,
            address: ("127.0.0.1".to_owned(), u16::try_from(port)?),
            _folder: folder,
            connections: Vec::new(),
            seq: 0,
            heard,
            tell,
            kept: Vec::new(),
        })
    }

    fn connect(&mut self) -> Result<usize> {
        let (host, port) = &self.address;
        let stream = TcpStream::connect((host.as_str(), *port))?;
        stream.set_nodelay(true)?;
        let connection = self.connections.len();
        let (reader, tell) = (stream.try_clone()?, self.tell.clone());
        std::thread::spawn(move || {
            let mut reader = BufReader::new(reader);
            loop {
                let message = read_message(&mut reader).unwrap_or(Value::Null);
                let over = message.is_null();
                let at = Instant::now();
                if tell
                    .send(Heard {
                        connection,
                        at,
                        message,
                    })
                    .is_err()
                    || over
                {
                    return;
                }
            }
        });
        self.connections.push(stream);
        Ok(connection)
    }

    fn launch(&mut self, adapter: &Adapter, program: &Program) -> Result<usize> {
        let root = self.connect()?;
        let arguments = json!({
            "type": "python", "request": "launch", "name": "root",
            "python": [adapter.python], "program": program.script, "args": program.args,
            "cwd": program.script.parent().unwrap_or(Path::new("/")),
            "console": "internalConsole", "redirectOutput": false, "subProcess": true,
            "env": { "PYDEVD_DISABLE_FILE_VALIDATION": "1", "DEBUGPY_ADAPTER_ENDPOINTS": null },
        });
        self.begin(root, "launch", &arguments, program)?;
        Ok(root)
    }

    fn adopt(&mut self, report: &Heard, program: &Program) -> Result<usize> {
        let configuration = report.field("/arguments/configuration");
        let seq = report.field("/seq");
        let answer = json!({
            "type": "response", "request_seq": seq, "command": "startDebugging",
            "success": true, "body": {},
        });
        self.send(report.connection, answer)?;
        let child = self.connect()?;
        let mut arguments = configuration.clone();
        if let Some(fields) = arguments.as_object_mut() {
            fields.insert("redirectOutput".to_owned(), false.into());
        }
        self.begin(child, "attach", &arguments, program)?;
        Ok(child)
    }

    fn begin(&mut self, on: usize, how: &str, arguments: &Value, program: &Program) -> Result<()> {
        let client = json!({
            "adapterID": "debugpy", "clientID": "driver", "pathFormat": "path",
            "linesStartAt1": true, "columnsStartAt1": true, "supportsStartDebuggingRequest": true,
        });
        self.call(on, "initialize", &client)?;
        self.ask(on, how, arguments)?;
        self.event(on, "initialized")?;
        let breakpoints = json!({
            "source": { "path": program.breakpoint },
            "breakpoints": [{ "line": program.line }],
        });
        self.call(on, "setBreakpoints", &breakpoints)?;
        self.call(on, "setExceptionBreakpoints", &json!({ "filters": [] }))?;
        self.call(on, "configurationDone", &json!({}))?;
        Ok(())
    }

    fn send(&mut self, on: usize, mut message: Value) -> Result<i64> {
        self.seq += 1;
        if let Some(fields) = message.as_object_mut() {
            fields.insert("seq".to_owned(), self.seq.into());
        }
        let body = message.to_string();
        let stream = self.connections.get_mut(on).context("no such connection")?;
        write!(stream, "Content-Length: {}\r\n\r\n{body}", body.len())?;
        Ok(self.seq)
    }

    fn ask(&mut self, on: usize, command: &str, arguments: &Value) -> Result<i64> {
        self.send(
            on,
            json!({ "type": "request", "command": command, "arguments": arguments }),
        )
    }

    fn call(&mut self, on: usize, command: &str, arguments: &Value) -> Result<Heard> {
        let seq = self.ask(on, command, arguments)?;
        let answer = self.next(|heard| {
            heard.connection == on && (heard.field("/request_seq") == seq || is_over(heard))
        })?;
        if answer.field("/success") != true {
            bail!("{command} was refused: {}", answer.message);
        }
        Ok(answer)
    }

    fn event(&mut self, on: usize, event: &str) -> Result<Heard> {
        let heard = self.next(|heard| {
            heard.connection == on
                && (heard.field("/event") == event
                    || heard.field("/success") == false
                    || is_over(heard))
        })?;
        if heard.field("/event") != event {
            bail!("there was no {event}: {}", heard.message);
        }
        Ok(heard)
    }

    /// The next child; `None` when the program is over.
    fn report(&mut self, root: usize) -> Result<Option<Heard>> {
        let heard = self.next(|heard| {
            heard.field("/command") == "startDebugging"
                || (heard.connection == root
                    && (heard.field("/event") == "terminated" || is_over(heard)))
        })?;
        Ok((heard.field("/command") == "startDebugging").then_some(heard))
    }

    fn next(&mut self, wanted: impl Fn(&Heard) -> bool) -> Result<Heard> {
        if let Some(at) = self.kept.iter().position(&wanted) {
            return Ok(self.kept.remove(at));
        }
        let until = Instant::now() + LIMIT;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let heard = self
                .heard
                .recv_timeout(left)
                .context("the adapter fell silent")?;
            if wanted(&heard) {
                return Ok(heard);
            }
            self.kept.push(heard);
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // The adapter's launcher ends the program when its adapter is gone.
        let _ = self.adapter.kill();
        let _ = self.adapter.wait();
    }
}

fn is_over(heard: &Heard) -> bool {
    heard.message.is_null()
}

fn read_message(reader: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().ok()?;
            }
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}
