//! Short child processes that are waited for: an interpreter that is asked about itself, pip.
//! Each has a deadline, and its whole process group is killed when that is over. It must not
//! know what is run, and never be used for a program of the user.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

/// What pipes may still hold after their process has ended, when a grandchild keeps them open.
const DRAIN: Duration = Duration::from_millis(500);

/// How a child ended and what it said.
#[derive(Debug)]
pub struct Finished {
    /// The exit status.
    pub status: ExitStatus,
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
}

impl Finished {
    /// The last line of standard error that says something, for messages.
    pub fn last_words(&self) -> String {
        let text = String::from_utf8_lossy(&self.stderr);
        let said = text
            .lines()
            .rev()
            .map(str::trim)
            .find(|line| !line.is_empty());
        said.map_or_else(|| self.status.to_string(), str::to_owned)
    }
}

/// Why a child gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum ChildError {
    /// It could not be started.
    #[error("cannot be started: {0}")]
    NotStarted(std::io::Error),
    /// It did not end in time and was killed.
    #[error("gave no answer within {} s and was ended", .0.as_secs())]
    TimedOut(Duration),
    /// The kernel gave its end to another waiter.
    #[error("its exit status was lost: {0}")]
    Lost(std::io::Error),
}

enum Event {
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
    Closed,
    Exited,
}

/// Runs `command` with no input until it ends, at most for `deadline`. `on_line` sees each
/// whole line of standard output as it comes.
pub fn run(
    command: &mut Command,
    deadline: Duration,
    on_line: &mut dyn FnMut(&str),
) -> Result<Finished, ChildError> {
    let end = Instant::now() + deadline;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(ChildError::NotStarted)?;
    let (sender, events) = mpsc::channel();
    watch(&mut child, &sender);
    drop(sender);

    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let (mut shown, mut open, mut exited, mut end) = (0, 2, false, end);
    while open > 0 || !exited {
        match events.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(Event::Stdout(bytes)) => {
                stdout.extend_from_slice(&bytes);
                shown = show_lines(&stdout, shown, on_line);
            }
            Ok(Event::Stderr(bytes)) => stderr.extend_from_slice(&bytes),
            Ok(Event::Closed) => open -= 1,
            Ok(Event::Exited) => {
                exited = true;
                end = end.min(Instant::now() + DRAIN);
            }
            Err(RecvTimeoutError::Timeout) if exited => break,
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                kill_group(&child);
                // SIGKILL cannot be refused: this wait is short.
                let _ = child.wait();
                return Err(ChildError::TimedOut(deadline));
            }
        }
    }
    let status = child.wait().map_err(ChildError::Lost)?;
    Ok(Finished {
        status,
        stdout,
        stderr,
    })
}

fn watch(child: &mut Child, sender: &Sender<Event>) {
    if let Some(pipe) = child.stdout.take() {
        read_all(pipe, Event::Stdout, sender.clone());
    }
    if let Some(pipe) = child.stderr.take() {
        read_all(pipe, Event::Stderr, sender.clone());
    }
    let (pid, sender) = (Pid::from_child(child), sender.clone());
    std::thread::spawn(move || {
        // The child is left unreaped, so that its pid stays its own until `run` has its status.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        while rustix::process::waitid(WaitId::Pid(pid), options)
            .is_err_and(|error| error == rustix::io::Errno::INTR)
        {}
        let _ = sender.send(Event::Exited);
    });
}

fn read_all<R>(mut pipe: R, wrap: fn(Vec<u8>) -> Event, sender: Sender<Event>)
where
    R: std::io::Read + Send + 'static,
{
    std::thread::spawn(move || {
        let mut buffer = vec![0; 8192];
        loop {
            match pipe.by_ref().read(&mut buffer) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => break,
                Ok(count) => {
                    let bytes = buffer.get(..count).unwrap_or_default().to_vec();
                    if sender.send(wrap(bytes)).is_err() {
                        break;
                    }
                }
            }
        }
        let _ = sender.send(Event::Closed);
    });
}

fn show_lines(all: &[u8], mut shown: usize, on_line: &mut dyn FnMut(&str)) -> usize {
    while let Some(rest) = all.get(shown..) {
        let Some(length) = rest.iter().position(|byte| *byte == b'\n') else {
            break;
        };
        on_line(String::from_utf8_lossy(rest.get(..length).unwrap_or_default()).trim_end());
        shown += length + 1;
    }
    shown
}

fn kill_group(child: &Child) {
    // Not yet reaped, so the group's number is still its own.
    let _ = rustix::process::kill_process_group(Pid::from_child(child), Signal::KILL);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn output_status_and_lines_come_back() {
        let mut lines = Vec::new();
        let script = "echo one; echo bad >&2; printf two; exit 3";
        let finished = run(&mut sh(script), Duration::from_secs(10), &mut |line| {
            lines.push(line.to_owned());
        })
        .unwrap();
        assert_eq!(finished.status.code(), Some(3));
        assert_eq!(finished.stdout, b"one\ntwo");
        assert_eq!(finished.last_words(), "bad");
        assert_eq!(lines, ["one"]);
    }

    #[test]
    fn a_late_child_is_killed_with_its_children() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("alive");
        assert!(
            Command::new("mkfifo")
                .arg(&fifo)
                .status()
                .unwrap()
                .success()
        );
        let (sender, ended) = mpsc::channel();
        let reader = fifo.clone();
        std::thread::spawn(move || {
            let _ = sender.send(std::fs::read(reader));
        });
        // The grandchild holds the fifo; the reader sees its end when it is gone.
        let script = format!("sleep 600 >'{}' & wait", fifo.display());
        let late = run(&mut sh(&script), Duration::from_millis(300), &mut |_| {});
        assert!(matches!(late, Err(ChildError::TimedOut(_))), "{late:?}");
        ended
            .recv_timeout(Duration::from_secs(5))
            .expect("the grandchild is gone")
            .unwrap();
    }

    #[test]
    fn a_grandchild_with_the_pipe_does_not_hold_us() {
        let begin = Instant::now();
        let finished = run(
            &mut sh("sleep 20 & echo done"),
            Duration::from_secs(60),
            &mut |_| {},
        )
        .unwrap();
        assert_eq!(finished.stdout, b"done\n");
        assert!(begin.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn a_missing_program_is_said() {
        let gone = run(
            &mut Command::new("/no/such"),
            Duration::from_secs(1),
            &mut |_| {},
        );
        assert!(matches!(gone, Err(ChildError::NotStarted(_))));
    }
}
