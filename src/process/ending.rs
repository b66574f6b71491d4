//! Ending processes for certain: ask every one, wait, then freeze and kill what is left, and
//! look again until nothing new turns up. It must not know which processes belong to a tree: the
//! caller's `find` says so each time it is asked.

use super::pidfd::{self, Signal};
use super::{ProcessKey, kernel, table};
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::io::Interest;
use tokio::time::{Instant, timeout_at};

/// How long a program may take to end after it was asked.
pub const GRACE: Duration = Duration::from_millis(500);
/// How long ending a tree may take altogether.
pub const LIMIT: Duration = Duration::from_secs(2);

/// How often the freeze looks for processes that were forked while it went round.
const FREEZE_ROUNDS: usize = 8;

/// Ends every process that `find` names, now or when asked again: SIGTERM (and SIGCONT, so that
/// stopped ones hear it), up to `grace` to go by themselves, then SIGKILL. Returns those still
/// alive `limit` after the call: in an uninterruptible call, or another user's.
pub async fn end_all(
    find: impl Fn() -> Vec<ProcessKey>,
    grace: Duration,
    limit: Duration,
) -> Vec<ProcessKey> {
    let begun = Instant::now();
    let last = begun + limit;
    let mut known = Known {
        find,
        all: BTreeSet::new(),
    };
    let patience = (begun + grace).min(last);
    loop {
        let mut new = known.look_again();
        if known.alive().is_empty() {
            // One look can miss a process that was forked during it by one that had ended
            // before its turn came.
            new = known.look_again();
        }
        for key in &new {
            ask(*key);
        }
        let left = known.alive();
        if left.is_empty() {
            return left;
        }
        if !all_ended(&left, patience).await || Instant::now() >= patience {
            break;
        }
    }
    loop {
        // Frozen parents cannot fork, nor lose a child to another parent, between look and kill.
        for _ in 0..FREEZE_ROUNDS {
            let new = known.freeze();
            if !new {
                break;
            }
        }
        let left = known.alive();
        for key in &left {
            let _ = pidfd::signal(*key, Signal::KILL);
        }
        let gone = all_ended(&left, last).await;
        known.look_again();
        if known.alive().is_empty() {
            known.look_again();
        }
        let left = known.alive();
        if left.is_empty() || !gone || Instant::now() >= last {
            return left;
        }
    }
}

struct Known<F> {
    find: F,
    all: BTreeSet<ProcessKey>,
}

impl<F: Fn() -> Vec<ProcessKey>> Known<F> {
    /// Adds what `find` names and the descendants of everything known; returns what is new.
    fn look_again(&mut self) -> Vec<ProcessKey> {
        let mut new: Vec<ProcessKey> = Vec::new();
        for key in (self.find)() {
            if self.all.insert(key) {
                new.push(key);
            }
        }
        let pids: Vec<u32> = self.alive().iter().map(|key| key.pid).collect();
        let us = std::process::id();
        for key in table::descendants(&pids) {
            if key.pid != us && self.all.insert(key) {
                new.push(key);
            }
        }
        new
    }

    fn alive(&self) -> Vec<ProcessKey> {
        self.all
            .iter()
            .copied()
            .filter(|key| table::is_alive(*key))
            .collect()
    }

    /// Stops every living process; whether one was found that was not known before.
    fn freeze(&mut self) -> bool {
        for key in self.alive() {
            let _ = pidfd::signal(key, Signal::STOP);
        }
        !self.look_again().is_empty()
    }
}

fn ask(key: ProcessKey) {
    // Whoever cannot be asked is met again among the living.
    let _ = pidfd::signal(key, Signal::TERM);
    let _ = pidfd::signal(key, Signal::CONT);
}

/// Waits until all have ended; false when the deadline came first.
async fn all_ended(keys: &[ProcessKey], deadline: Instant) -> bool {
    for key in keys {
        let Ok(pidfd) = pidfd::open(*key) else {
            continue;
        };
        let Ok(pidfd) = kernel::register(pidfd, Interest::READABLE) else {
            continue;
        };
        if timeout_at(deadline, pidfd.readable()).await.is_err() {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::testing::{Piped, wait_until};

    fn tree_of(pid: u32) -> impl Fn() -> Vec<ProcessKey> {
        let root = table::key_of(pid).unwrap();
        move || {
            let mut all = table::descendants(&[pid]);
            all.push(root);
            all
        }
    }

    #[tokio::test]
    async fn a_program_that_ends_when_asked_is_not_killed() {
        let mut sh = Piped::start(&[
            "python3",
            "-c",
            "import signal,sys\nsignal.signal(15, lambda *a: sys.exit(3))\nprint(1, flush=True)\n\
             while True: signal.pause()",
        ]);
        sh.number();
        let left = end_all(tree_of(sh.pid()), LIMIT, LIMIT).await;
        assert_eq!(left, []);
        assert_eq!(sh.wait(), 3);
    }

    #[tokio::test]
    async fn deaf_stopped_and_far_away_processes_end_too() {
        // A parent that ignores SIGTERM, with a stopped child and one in a session of its own.
        let script = "import os,signal,sys,time\n\
            signal.signal(15, signal.SIG_IGN)\n\
            r, w = os.pipe()\n\
            a = os.fork()\n\
            if a == 0:\n    os.kill(os.getpid(), 19)\n    signal.pause()\n\
            b = os.fork()\n\
            if b == 0:\n    signal.alarm(60)\n    os.setsid()\n    os.write(w, b'x')\n    signal.pause()\n\
            os.read(r, 1)\n\
            print(a, b, flush=True)\n\
            signal.pause()\n";
        let mut parent = Piped::start(&["python3", "-c", script]);
        let numbers = parent.line();
        let pids: Vec<u32> = numbers.split(' ').map(|pid| pid.parse().unwrap()).collect();
        wait_until("stopped", || {
            table::describe(pids[0]).is_some_and(|it| it.state == 'T')
        });
        let keys: Vec<_> = pids
            .iter()
            .map(|pid| table::key_of(*pid).unwrap())
            .collect();
        let left = end_all(tree_of(parent.pid()), Duration::from_millis(50), LIMIT * 5).await;
        assert_eq!(left, []);
        assert!(keys.iter().all(|key| !table::is_alive(*key)));
        assert_eq!(parent.wait(), 137);
    }

    #[tokio::test]
    async fn a_program_that_forks_all_the_time_is_caught() {
        // Each process forks its successor and ends, deaf to SIGTERM: a chain, never at rest.
        let script = "import os,signal,time\n\
            signal.signal(15, signal.SIG_IGN)\n\
            print(1, flush=True)\n\
            for _ in range(400):\n    if os.fork(): os._exit(0)\n    time.sleep(0.05)\n";
        let mut first = Piped::start_with(&["python3", "-c", script], |command| {
            command.env(table::MARK_VARIABLE, "ending-fork-chain");
        });
        first.number();
        let find = || table::marked("ending-fork-chain");
        let left = end_all(find, Duration::from_millis(50), LIMIT * 5).await;
        assert_eq!(left, []);
        assert_eq!(find(), []);
    }

    #[tokio::test]
    async fn nothing_to_end_is_done_at_once() {
        let begun = Instant::now();
        assert_eq!(end_all(Vec::new, GRACE, LIMIT).await, []);
        let gone = ProcessKey {
            pid: std::process::id(),
            start: 1,
        };
        assert_eq!(end_all(move || vec![gone], GRACE, LIMIT).await, []);
        assert!(begun.elapsed() < GRACE);
    }
}
