//! The real binary on a pseudo terminal: when frames come, what they cost, how large it is.

use crate::driver::Program;
use crate::setting::{DAPTREE, Setting};
use anyhow::{Context, Result, bail};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use std::fs;
use std::io::{Read, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// How long anything may take.
const LIMIT: Duration = Duration::from_secs(60);
/// A quiet screen: nothing came for this long.
const QUIET: Duration = Duration::from_millis(400);
const SIZE: PtySize = PtySize {
    rows: 40,
    cols: 120,
    pixel_width: 0,
    pixel_height: 0,
};
/// The last bytes of each frame.
const FRAME: &[u8] = b"\x1b[?2026l";

/// daptree on a terminal of its own.
pub struct Screen {
    child: Box<dyn Child + Send + Sync>,
    _master: Box<dyn MasterPty + Send>,
    keyboard: Box<dyn Write + Send>,
    bytes: Receiver<(Instant, Vec<u8>)>,
    shown: vt100::Parser,
    tail: Vec<u8>,
    began: Instant,
}

/// What an idle time cost.
#[derive(Clone, Copy, Debug)]
pub struct Idle {
    /// Bytes that were drawn.
    pub bytes: usize,
    /// Percent of a core.
    pub cpu: f64,
}

/// Memory of the process in MB (10⁶ bytes).
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Resident.
    pub resident: f64,
    /// Resident, shared pages divided by their users.
    pub proportional: f64,
}

impl Screen {
    /// Runs `daptree -b … -- python …`.
    pub fn open(setting: &Setting, program: &Program) -> Result<Self> {
        let pair = native_pty_system().openpty(SIZE)?;
        let mut command = CommandBuilder::new(DAPTREE);
        let breakpoint = format!("{}:{}", program.breakpoint.display(), program.line);
        command.args(["-b", &breakpoint, "--"]);
        command.arg(&setting.python);
        command.arg(&program.script);
        command.args(&program.args);
        command.cwd(std::env::current_dir()?);
        command.env("TERM", "xterm-256color");
        command.env("DAPTREE_STATE_DIR", &setting.folders.state);
        command.env("DAPTREE_RUNTIME_DIR", &setting.folders.runtime);
        let mut reader = pair.master.try_clone_reader()?;
        let keyboard = pair.master.take_writer()?;
        let (tell, bytes) = channel();
        let began = Instant::now();
        let child = pair.slave.spawn_command(command)?;
        drop(pair.slave);
        std::thread::spawn(move || {
            let mut buffer = vec![0; 64 << 10];
            while let Ok(count @ 1..) = reader.read(&mut buffer) {
                let read = buffer.get(..count).unwrap_or_default().to_vec();
                if tell.send((Instant::now(), read)).is_err() {
                    return;
                }
            }
        });
        Ok(Self {
            child,
            _master: pair.master,
            keyboard,
            bytes,
            shown: vt100::Parser::new(SIZE.rows, SIZE.cols, 0),
            tail: Vec::new(),
            began,
        })
    }

    /// From the start of the process to the end of its first frame.
    pub fn first_frame(&mut self) -> Result<Duration> {
        Ok(self.frame()? - self.began)
    }

    /// From a key to the end of the frame that it causes.
    pub fn key(&mut self, key: &[u8]) -> Result<Duration> {
        let pressed = Instant::now();
        self.keyboard.write_all(key)?;
        self.keyboard.flush()?;
        Ok(self.frame()? - pressed)
    }

    /// Waits until this text is on the screen, and the screen is quiet.
    pub fn wait_for(&mut self, text: &str) -> Result<()> {
        let until = Instant::now() + LIMIT;
        let mut there = self.shown.screen().contents().contains(text);
        loop {
            match self.bytes.recv_timeout(QUIET) {
                Ok((_, bytes)) => {
                    self.shown.process(&bytes);
                    there = self.shown.screen().contents().contains(text);
                }
                Err(RecvTimeoutError::Timeout) if there => return Ok(()),
                Err(RecvTimeoutError::Timeout) if Instant::now() < until => {}
                Err(_) => bail!("no `{text}` on:\n{}", self.shown.screen().contents()),
            }
        }
    }

    /// Looks on while nothing happens.
    pub fn idle(&mut self, time: Duration) -> Result<Idle> {
        let (used, until) = (self.cpu()?, Instant::now() + time);
        let mut bytes = 0;
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            match self.bytes.recv_timeout(left) {
                Ok((_, more)) => bytes += more.len(),
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => bail!("daptree ended"),
            }
        }
        let used = self.cpu()?.saturating_sub(used);
        Ok(Idle {
            bytes,
            cpu: 100.0 * used.as_secs_f64() / time.as_secs_f64(),
        })
    }

    /// What the process has resident now.
    pub fn memory(&self) -> Result<Memory> {
        let path = format!("/proc/{}/smaps_rollup", self.pid()?);
        let text = fs::read_to_string(&path).with_context(|| path.clone())?;
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            let kib = line.and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok());
            kib.map(|kib| kib * 1024.0 / 1e6)
                .with_context(|| format!("{path}: no {name}"))
        };
        Ok(Memory {
            resident: field("Rss:")?,
            proportional: field("Pss:")?,
        })
    }

    /// Processor time of all threads so far.
    pub fn cpu(&self) -> Result<Duration> {
        let mut nanoseconds = 0;
        for task in fs::read_dir(format!("/proc/{}/task", self.pid()?))? {
            // A thread that has ended meanwhile costs nothing more.
            let text = fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
            let first = text.split_whitespace().next();
            nanoseconds += first.and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
        }
        Ok(Duration::from_nanos(nanoseconds))
    }

    fn pid(&self) -> Result<u32> {
        self.child.process_id().context("daptree has no pid")
    }

    /// When the next frame ended.
    fn frame(&mut self) -> Result<Instant> {
        let until = Instant::now() + LIMIT;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let (at, bytes) = self.bytes.recv_timeout(left).context("no frame came")?;
            self.shown.process(&bytes);
            self.tail.extend(&bytes);
            let ended = self.tail.windows(FRAME.len()).any(|window| window == FRAME);
            let keep = self.tail.len().min(FRAME.len() - 1);
            self.tail.drain(..self.tail.len() - keep);
            if ended {
                self.tail.clear();
                return Ok(at);
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if let Some(pid) = self
            .child
            .process_id()
            .and_then(|pid| i32::try_from(pid).ok())
            && let Some(pid) = rustix::process::Pid::from_raw(pid)
        {
            // It ends its tree, then itself; its terminal is read meanwhile.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        while self.bytes.recv_timeout(LIMIT).is_ok() {}
        let _ = self.child.wait();
    }
}
