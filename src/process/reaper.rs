//! The one reaper: makes this process the parent of the tree's orphans, reaps those that nobody
//! watches, and hands out one shared watch per process. It never waits for "any child", since
//! other parts of this process own children too, and it must not know what a process was for.

use super::{EndStatus, ProcessKey, children, exit, pidfd};
use rustix::process::{WaitId, WaitIdOptions, getpid, set_child_subreaper, waitid};
use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinHandle;

type Watches = Mutex<HashMap<ProcessKey, watch::Receiver<Option<EndStatus>>>>;

/// The reaper of this process. Dropping it ends the reaping of unwatched orphans; watches that
/// were given out go on.
#[derive(Debug)]
pub struct Reaper {
    watches: Arc<Watches>,
    orphans: JoinHandle<()>,
}

impl Reaper {
    /// Becomes the subreaper of everything below this process and begins to reap. Needs a tokio
    /// runtime with I/O.
    pub fn start() -> io::Result<Self> {
        set_child_subreaper(Some(getpid()))?;
        let mut ended = signal(SignalKind::child())?;
        let watches: Arc<Watches> = Arc::default();
        let in_use = Arc::clone(&watches);
        let orphans = tokio::spawn(async move {
            loop {
                children::each_orphan(|key| {
                    if !locked(&in_use, |map| map.contains_key(&key)) {
                        reap(key);
                    }
                });
                if ended.recv().await.is_none() {
                    return;
                }
            }
        });
        Ok(Self { watches, orphans })
    }

    /// How `key` ends, whether it is our child or not; every caller gets the same answer. At
    /// once [`EndStatus::Unknown`] when it is gone. Dropping the future changes nothing.
    pub fn watch(&self, key: ProcessKey) -> impl Future<Output = EndStatus> + Send + 'static {
        let mut result = locked(&self.watches, |map| {
            map.entry(key).or_insert_with(|| self.begin(key)).clone()
        });
        async move {
            let status = result
                .wait_for(Option::is_some)
                .await
                .ok()
                .and_then(|known| *known);
            status.unwrap_or(EndStatus::Unknown)
        }
    }

    fn begin(&self, key: ProcessKey) -> watch::Receiver<Option<EndStatus>> {
        let (told, result) = watch::channel(None);
        let watches = Arc::clone(&self.watches);
        let end = exit::end_of(key);
        tokio::spawn(async move {
            let status = end.await;
            locked(&watches, |map| map.remove(&key));
            told.send_replace(Some(status));
        });
        result
    }
}

impl Drop for Reaper {
    fn drop(&mut self) {
        self.orphans.abort();
    }
}

fn locked<T>(
    watches: &Watches,
    use_them: impl FnOnce(&mut HashMap<ProcessKey, watch::Receiver<Option<EndStatus>>>) -> T,
) -> T {
    use_them(&mut watches.lock().unwrap_or_else(PoisonError::into_inner))
}

fn reap(key: ProcessKey) {
    if let Ok(pidfd) = pidfd::open(key) {
        // An error means that it is not ours after all, or was reaped already.
        let _ = waitid(
            WaitId::PidFd(pidfd.as_fd()),
            WaitIdOptions::EXITED | WaitIdOptions::NOHANG,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::table;
    use crate::process::testing::{LONG, Piped, wait_until};
    use std::time::Instant;
    use tokio::time::timeout;

    /// Prints the pid of a grandchild in a session of its own that waits for input, then ends.
    const ORPHAN: &str = "import os,sys\n\
        r, w = os.pipe()\n\
        if os.fork() == 0:\n    os.setsid()\n    if os.fork():\n        os._exit(0)\n    \
        print(os.getpid(), flush=True)\n    sys.stdin.readline()\n    os._exit(9)\n\
        os.wait()\n";

    fn orphan() -> (Piped, ProcessKey) {
        let mut parent = Piped::start(&["python3", "-c", ORPHAN]);
        let key = table::key_of(parent.number()).unwrap();
        assert_eq!(parent.wait_keeping_input(), 0);
        let us = std::process::id();
        wait_until("handed to us", || {
            table::describe(key.pid).is_some_and(|it| it.ppid == us)
        });
        (parent, key)
    }

    #[tokio::test]
    async fn a_watched_orphan_tells_how_it_ended_and_is_reaped() {
        let reaper = Reaper::start().unwrap();
        let (mut parent, key) = orphan();
        let (one, two) = (reaper.watch(key), reaper.watch(key));
        parent.close_input();
        assert_eq!(timeout(LONG, one).await.unwrap(), EndStatus::Exited(9));
        assert_eq!(timeout(LONG, two).await.unwrap(), EndStatus::Exited(9));
        assert_eq!(table::key_of(key.pid), None);
        assert_eq!(
            timeout(LONG, reaper.watch(key)).await.unwrap(),
            EndStatus::Unknown
        );
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn an_unwatched_orphan_is_reaped() {
        let _reaper = Reaper::start().unwrap();
        let (mut parent, key) = orphan();
        parent.close_input();
        wait_until("reaped", || table::key_of(key.pid).is_none());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn children_of_others_are_left_to_them() {
        let reaper = Reaper::start().unwrap();
        let own = children::spawn_elsewhere(
            || {
                std::process::Command::new("setsid")
                    .args(["sh", "-c", "exit 5"])
                    .spawn()
            },
            |child| Some(child.id()),
        );
        let mut own = own.unwrap();
        let key = table::key_of(own.id()).unwrap();
        assert_eq!(
            timeout(LONG, reaper.watch(key)).await.unwrap(),
            EndStatus::Exited(5)
        );
        // Another orphan ends and is reaped: the reaper has looked at all zombies.
        let (mut parent, key) = orphan();
        parent.close_input();
        wait_until("reaped", || table::key_of(key.pid).is_none());
        assert_eq!(own.wait().unwrap().code(), Some(5));
        let mut plain = Piped::start(&["sh", "-c", "exit 6"]);
        let end = reaper.watch(table::key_of(plain.pid()).unwrap());
        assert_eq!(timeout(LONG, end).await.unwrap(), EndStatus::Exited(6));
        assert_eq!(plain.wait(), 6);
    }

    #[tokio::test]
    async fn two_hundred_and_fifty_six_at_once() {
        let script = "import os,sys\n\
            pids = []\n\
            for i in range(256):\n    pid = os.fork()\n    if pid == 0:\n        \
            sys.stdin.read(); os._exit(i)\n    pids.append(pid)\n\
            print(*pids, flush=True)\n\
            for pid in pids: os.waitpid(pid, 0)\n";
        let reaper = Reaper::start().unwrap();
        let mut parent = Piped::start(&["python3", "-c", script]);
        let pids: Vec<u32> = parent
            .line()
            .split(' ')
            .map(|pid| pid.parse().unwrap())
            .collect();
        let watches: Vec<_> = pids
            .iter()
            .map(|pid| reaper.watch(table::key_of(*pid).unwrap()))
            .collect();
        let begun = Instant::now();
        parent.close_input();
        for (code, end) in watches.into_iter().enumerate() {
            assert_eq!(
                timeout(LONG, end).await.unwrap(),
                EndStatus::Exited(code as i32)
            );
        }
        assert!(begun.elapsed() < LONG);
    }
}
