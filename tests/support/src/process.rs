//! Processes as the kernel shows them: found by a mark in their environment, waited for by pidfd.
//! It must not know which of them are whose.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The variable that carries a test's mark.
pub const MARK: &str = "DAPTREE_TEST_MARK";

/// A live process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its pid.
    pub pid: u32,
    /// Its words, joined by blanks.
    pub command: String,
}

/// The live processes that carry `mark`. Zombies are none.
pub fn marked(mark: &str) -> Vec<Process> {
    let wanted = format!("{MARK}={mark}");
    let numbers = fs::read_dir("/proc").expect("/proc").flatten();
    let pids = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let carries = |pid: &u32| {
        fs::read(format!("/proc/{pid}/environ")).is_ok_and(|all| {
            all.split(|byte| *byte == 0)
                .any(|one| one == wanted.as_bytes())
        })
    };
    pids.filter(carries)
        .map(|pid| Process {
            pid,
            command: command(pid),
        })
        .collect()
}

fn command(pid: u32) -> String {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words)
        .trim_end_matches('\0')
        .replace('\0', " ")
}

/// Whether these words can be run here, and end well.
pub fn runs(words: &[&str]) -> bool {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).stdin(Stdio::null());
    command.output().is_ok_and(|output| output.status.success())
}

/// Whether the process has ended by the deadline.
pub fn ended_by(pid: u32, deadline: Instant) -> bool {
    let pid = Pid::from_raw(i32::try_from(pid).expect("a pid")).expect("a pid above 0");
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else {
        return true;
    };
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).expect("a short time");
        let mut handles = [PollFd::new(&handle, PollFlags::IN)];
        match poll(&mut handles, Some(&left)) {
            Ok(0) => return false,
            Ok(_) => return true,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => panic!("poll: {error}"),
        }
    }
}

/// Waits until no process carries `mark`; gives those that are left after `within`.
pub fn left_after(mark: &str, within: Duration) -> Vec<Process> {
    let deadline = Instant::now() + within;
    loop {
        let left = marked(mark);
        let Some(first) = left.first() else {
            return left;
        };
        if !ended_by(first.pid, deadline) {
            return left;
        }
    }
}

/// Sends a signal to a process.
pub fn send(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).expect("a pid")).expect("a pid above 0");
    kill_process(pid, signal).unwrap_or_else(|error| panic!("{signal:?} to {pid:?}: {error}"));
}

/// Asks `condition` again and again while the process lives; fails the test after `within`.
pub fn watch(pid: u32, within: Duration, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + within;
    while !condition() {
        // The kernel tells of nothing but the end; a wait for that is the beat.
        let ended = ended_by(pid, Instant::now() + Duration::from_millis(5));
        assert!(!ended, "process {pid} ended while it was watched");
        assert!(
            Instant::now() < deadline,
            "process {pid} did not come so far in {within:?}"
        );
    }
}
