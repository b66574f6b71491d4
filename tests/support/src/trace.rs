//! A `daptree trace --json` that runs, and one that is over. What the contract asks of every run is
//! checked for every run; a test adds what is special.

use crate::process::{self, ended_by};
use crate::{PATIENCE, Scene};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long what daptree started may outlive it.
const AFTERLIFE: Duration = Duration::from_secs(1);

/// A trace that is not started yet.
#[derive(Debug)]
pub struct TraceCommand<'a> {
    scene: &'a Scene,
    under: Vec<OsString>,
    options: Vec<OsString>,
    stdin: Option<Vec<u8>>,
    open_stdin: bool,
}

impl<'a> TraceCommand<'a> {
    pub(crate) fn new(scene: &'a Scene) -> Self {
        Self {
            scene,
            under: Vec::new(),
            options: Vec::new(),
            stdin: None,
            open_stdin: false,
        }
    }

    /// A breakpoint at the first line of a file that holds `text`.
    #[must_use]
    pub fn stop(self, file: &str, text: &str) -> Self {
        let place = self.scene.at(file, text);
        self.option("-b").option(place)
    }

    /// A program and its words that shall start daptree.
    #[must_use]
    pub fn under(mut self, words: &[&str]) -> Self {
        self.under = words.iter().map(Into::into).collect();
        self
    }

    /// A word before the `--`.
    #[must_use]
    pub fn option(mut self, word: impl Into<OsString>) -> Self {
        self.options.push(word.into());
        self
    }

    /// An expression for every stop.
    #[must_use]
    pub fn eval(self, expression: &str) -> Self {
        self.option("--eval").option(expression)
    }

    /// What stands on standard input; without it there is `/dev/null`.
    #[must_use]
    pub fn stdin(mut self, bytes: &[u8]) -> Self {
        self.stdin = Some(bytes.to_vec());
        self
    }

    /// Standard input is a pipe that stays open for [`Trace::say`].
    #[must_use]
    pub fn open_stdin(mut self) -> Self {
        self.open_stdin = true;
        self
    }

    /// Starts it.
    pub fn start(self, program: &[impl AsRef<OsStr>]) -> Trace<'a> {
        let mut words = self.under;
        words.push(self.scene.binary.clone().into());
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .args(["trace", "--json"])
            .args(&self.options)
            .arg("--")
            .args(program);
        command
            .current_dir(self.scene.work())
            .env_clear()
            .envs(self.scene.env.iter().cloned());
        let piped = self.stdin.is_some() || self.open_stdin;
        command.stdin(if piped { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("daptree starts");
        let mut stdin = child.stdin.take();
        if let Some(bytes) = self.stdin {
            let mut pipe = stdin.take().expect("a pipe");
            std::thread::spawn(move || pipe.write_all(&bytes));
        }
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.split(b'\n').map_while(Result::ok) {
                if sender.send((Instant::now(), line)).is_err() {
                    return;
                }
            }
        });
        let mut stderr = child.stderr.take().expect("a pipe");
        let stderr = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            // What came before an error counts.
            let _ = stderr.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Trace {
            scene: self.scene,
            child,
            stdin,
            lines,
            stderr: Some(stderr),
            said: Said::default(),
        }
    }

    /// Runs it to its end.
    pub fn run(self, program: &[impl AsRef<OsStr>]) -> Run {
        self.start(program).finish()
    }
}

/// The lines of a trace so far. They are shown when the test fails.
#[derive(Debug, Default)]
struct Said {
    lines: Vec<(Instant, Value)>,
    stderr: String,
}

impl Drop for Said {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for (_, line) in &self.lines {
                eprintln!("{line}");
            }
            eprintln!("stderr: {}", self.stderr);
        }
    }
}

/// A trace that runs.
#[derive(Debug)]
pub struct Trace<'a> {
    scene: &'a Scene,
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<(Instant, Vec<u8>)>,
    stderr: Option<JoinHandle<String>>,
    said: Said,
}

impl Trace<'_> {
    /// daptree's own pid.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line that fits, those that came before included, and gives it.
    pub fn until(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        let mut looked = 0;
        loop {
            for (_, line) in &self.said.lines[looked..] {
                if fits(line) {
                    return line.clone();
                }
            }
            looked = self.said.lines.len();
            assert!(self.next(deadline), "the trace ended without {what}");
        }
    }

    /// Waits until `count` lines fit.
    pub fn until_count(&mut self, what: &str, count: usize, fits: impl Fn(&Value) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while self
            .said
            .lines
            .iter()
            .filter(|(_, line)| fits(line))
            .count()
            < count
        {
            assert!(
                self.next(deadline),
                "the trace ended without {count} × {what}"
            );
        }
    }

    /// Waits until so many sessions have stopped.
    pub fn until_stops(&mut self, count: usize) {
        self.until_count("stop", count, |line| line["type"] == "stop");
    }

    /// The pid of the row with this program's last state and these words in its name.
    pub fn pid_of(&self, name: &str) -> u32 {
        let rows = rows(&self.said.lines);
        let mut found = rows.values().filter(|row| row["name"] == name);
        let row = found.next().unwrap_or_else(|| panic!("no row {name}"));
        assert!(found.next().is_none(), "two rows {name}");
        u32::try_from(row["pid"].as_u64().expect("a pid")).expect("a pid")
    }

    /// The pids of the sessions that stopped, in the order of their stops.
    pub fn stopped(&self) -> Vec<u32> {
        let stops = self
            .said
            .lines
            .iter()
            .filter(|(_, line)| line["type"] == "stop");
        stops
            .map(|(_, line)| u32::try_from(line["pid"].as_u64().expect("a pid")).unwrap())
            .collect()
    }

    /// Writes to the standard input that was kept open.
    pub fn say(&mut self, text: &str) {
        let stdin = self.stdin.as_mut().expect("an open standard input");
        stdin.write_all(text.as_bytes()).expect("a reader");
    }

    /// Sends a signal to daptree.
    pub fn signal(&self, signal: Signal) {
        process::send(self.child.id(), signal);
    }

    /// Waits for daptree's end without looking at its lines.
    pub fn wait_ended(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        assert!(
            ended_by(self.child.id(), deadline),
            "daptree still runs after {PATIENCE:?}"
        );
        self.child.wait().expect("an end");
    }

    /// Takes in one more line; false at the end.
    fn next(&mut self, deadline: Instant) -> bool {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.lines.recv_timeout(left) {
            Ok((at, bytes)) => {
                let line = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
                let text = String::from_utf8_lossy(&bytes);
                assert!(line["type"].is_string(), "not a line of a trace: {text:?}");
                self.said.lines.push((at, line));
                true
            }
            Err(RecvTimeoutError::Timeout) => {
                let alive = self.scene.processes();
                panic!("nothing more came in {PATIENCE:?}; alive: {alive:#?}")
            }
            Err(RecvTimeoutError::Disconnected) => false,
        }
    }

    /// Waits for the end, and checks what holds for every run.
    pub fn finish(mut self) -> Run {
        self.stdin = None;
        let deadline = Instant::now() + PATIENCE;
        while self.next(deadline) {}
        assert!(
            ended_by(self.child.id(), deadline),
            "daptree closed its output and runs on"
        );
        let status = self.child.wait().expect("an end");
        self.said.stderr = self
            .stderr
            .take()
            .expect("a reader")
            .join()
            .expect("a text");
        let code = status
            .code()
            .unwrap_or_else(|| panic!("daptree died: {status}"));
        let run = Run {
            code,
            said: std::mem::take(&mut self.said),
        };
        run.check();
        self.scene.assert_nothing_left(AFTERLIFE);
        run
    }
}

impl Drop for Trace<'_> {
    fn drop(&mut self) {
        // Ended and reaped already, unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn rows(lines: &[(Instant, Value)]) -> BTreeMap<String, Value> {
    let sessions = lines.iter().filter(|(_, line)| line["type"] == "session");
    sessions
        .map(|(_, line)| (text(&line["session"]), line.clone()))
        .collect()
}

fn text(value: &Value) -> String {
    value
        .as_str()
        .unwrap_or_else(|| panic!("{value} is no text"))
        .to_owned()
}

/// A trace that is over.
#[derive(Debug)]
pub struct Run {
    /// The exit status.
    pub code: i32,
    said: Said,
}

impl Run {
    /// The lines of a type.
    pub fn lines<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.said
            .lines
            .iter()
            .map(|(_, line)| line)
            .filter(move |line| line["type"] == kind)
    }

    /// When the stops came.
    pub fn stop_times(&self) -> Vec<Instant> {
        let stops = self
            .said
            .lines
            .iter()
            .filter(|(_, line)| line["type"] == "stop");
        stops.map(|(at, _)| *at).collect()
    }

    /// daptree's standard error.
    pub fn stderr(&self) -> &str {
        &self.said.stderr
    }

    /// The rows in their last state, by id.
    pub fn rows(&self) -> BTreeMap<String, Value> {
        rows(&self.said.lines)
    }

    /// The one row with this name, in its last state.
    pub fn row(&self, name: &str) -> Value {
        let mut found: Vec<Value> = self.rows().into_values().collect();
        found.retain(|row| row["name"] == name);
        assert_eq!(found.len(), 1, "rows with the name {name:?}: {found:#?}");
        found.remove(0)
    }

    /// The names of the rows that are followed so, sorted.
    pub fn names(&self, follow: &str) -> Vec<String> {
        let rows = self.rows();
        let found = rows.values().filter(|row| row["follow"] == follow);
        let mut names: Vec<String> = found.map(|row| text(&row["name"])).collect();
        names.sort();
        names
    }

    /// The stops.
    pub fn stops(&self) -> Vec<&Value> {
        self.lines("stop").collect()
    }

    /// File and line of each stop.
    pub fn places(&self) -> Vec<(String, u64)> {
        let stops = self.lines("stop");
        stops
            .map(|stop| (text(&stop["file"]), stop["line"].as_u64().expect("a line")))
            .collect()
    }

    /// A value of each stop.
    pub fn values(&self, expression: &str) -> Vec<String> {
        self.lines("stop")
            .map(|stop| text(&stop["values"][expression]))
            .collect()
    }

    /// The one end of a session.
    pub fn end(&self, session: &Value) -> &Value {
        let mut found = self.lines("end").filter(|end| end["session"] == *session);
        found
            .next()
            .unwrap_or_else(|| panic!("no end of {session}"))
    }

    /// All that was written to a stream (`stdout`, `stderr`, `console`), joined.
    pub fn output(&self, category: &str) -> String {
        let pieces = self
            .lines("output")
            .filter(|line| line["category"] == category);
        pieces.map(|line| text(&line["text"])).collect()
    }

    /// What one session wrote to a stream, joined.
    pub fn output_of(&self, session: &Value, category: &str) -> String {
        let pieces = self
            .lines("output")
            .filter(|line| line["category"] == category);
        let own = pieces.filter(|line| line["session"] == *session);
        own.map(|line| text(&line["text"])).collect()
    }

    /// What all sessions wrote to a stream, as sorted lines: the order between sessions is open.
    pub fn output_lines(&self, category: &str) -> Vec<String> {
        let rows = self.rows();
        let all = rows
            .values()
            .map(|row| self.output_of(&row["session"], category));
        let mut lines: Vec<String> = all
            .flat_map(|one| one.lines().map(str::to_owned).collect::<Vec<_>>())
            .collect();
        lines.sort();
        lines
    }

    /// The last line.
    pub fn summary(&self) -> &Value {
        &self.said.lines.last().expect("a line").1
    }

    /// Fails when there is a warning.
    pub fn assert_no_warning(&self) {
        let warnings: Vec<&Value> = self.lines("warning").collect();
        assert!(warnings.is_empty(), "{warnings:#?}");
    }

    /// Fails unless daptree itself said no before anything was started: this status, and these
    /// words on standard error.
    pub fn assert_refused(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "{}", self.stderr());
        for word in words {
            assert!(
                self.stderr().contains(word),
                "no {word:?} in {}",
                self.stderr()
            );
        }
        assert_eq!(self.lines("session").count(), 0);
        assert!(!self.stderr().contains("panicked"), "{}", self.stderr());
    }

    fn check(&self) {
        assert!(!self.stderr().contains("panicked"), "{}", self.stderr());
        let rows = self.rows();
        if rows.is_empty() {
            let warnings = self.lines("warning").count();
            assert_eq!(self.said.lines.len(), warnings, "nothing was started");
            let told_to_end = self.code > 128 && self.stderr().contains("before the program");
            assert!(
                [2, 125].contains(&self.code) || told_to_end,
                "{}: {}",
                self.code,
                self.stderr()
            );
            return;
        }
        let mut known = BTreeSet::new();
        for line in self.lines("session") {
            let parent = line["parent"].as_str();
            assert!(
                parent.is_none_or(|parent| known.contains(parent)),
                "before its parent: {line}"
            );
            known.insert(text(&line["session"]));
        }
        let pids: BTreeSet<u64> = rows
            .values()
            .filter_map(|row| row["pid"].as_u64())
            .collect();
        assert_eq!(pids.len(), rows.len(), "a row for each pid");
        for (id, row) in &rows {
            let ends = self
                .lines("end")
                .filter(|end| end["session"] == row["session"])
                .count();
            let counts = row["follow"] == "adopted" || row["follow"] == "helper";
            assert_eq!(ends, usize::from(counts), "ends of {id}");
            let stops = self
                .lines("stop")
                .filter(|stop| stop["session"] == row["session"]);
            for (stop, wanted) in stops.zip(1_u64..) {
                assert_eq!(stop["stop"], wanted, "{stop}");
                assert!(stop["values"].is_object(), "{stop}");
            }
        }
        let summary = self.summary();
        assert_eq!(summary["type"], "summary");
        assert_eq!(self.lines("summary").count(), 1);
        assert_eq!(summary["exitCode"], self.code);
        assert_eq!(summary["sessions"], rows.len());
        assert_eq!(summary["stops"], self.lines("stop").count());
        assert_eq!(summary["left"], Value::Array(Vec::new()));
    }
}
