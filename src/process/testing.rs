//! Real programs for the tests of `process`: started by the standard library, spoken to by
//! pipes. It must not use what it is there to test.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a test waits for anything.
pub const LONG: Duration = Duration::from_secs(20);

/// A program whose standard input stays open until the value is dropped.
pub struct Piped {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Piped {
    pub fn start(argv: &[&str]) -> Self {
        Self::start_with(argv, |_| ())
    }

    pub fn start_with(argv: &[&str], change: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new(argv[0]);
        command
            .args(&argv[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        change(&mut command);
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The next line, without its end.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub fn number(&mut self) -> u32 {
        let line = self.line();
        line.parse()
            .unwrap_or_else(|_| panic!("no number: {line:?}"))
    }

    /// Closes standard input: `cat` and `read` go on.
    pub fn close_input(&mut self) {
        drop(self.child.stdin.take());
    }

    /// As [`Self::wait`], but standard input stays open for the children it was given to.
    pub fn wait_keeping_input(&mut self) -> i32 {
        let input = self.child.stdin.take();
        let status = self.wait();
        self.child.stdin = input;
        status
    }

    /// The status as a shell shows it, by an ordinary wait of the owner.
    pub fn wait(&mut self) -> i32 {
        use std::os::unix::process::ExitStatusExt;
        let status = self.child.wait().unwrap();
        status
            .code()
            .unwrap_or_else(|| 128 + status.signal().unwrap())
    }
}

impl Drop for Piped {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Looks again until `condition` holds; for state that has no event to wait on.
pub fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + LONG;
    while !condition() {
        assert!(Instant::now() < deadline, "not within {LONG:?}: {what}");
        std::thread::yield_now();
    }
}
