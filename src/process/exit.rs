//! How a process ended, whoever its parent is: waits on its pidfd, then asks whatever the kernel
//! still holds. It must not reap what belongs to another part of this process, and it must not
//! know what the process was for.

use super::pidfd::{self, ProcessError};
use super::{EndStatus, ProcessKey, children, kernel, table};
use rustix::process::{WaitId, WaitIdOptions, WaitIdStatus, waitid};
use std::future::Future;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::{MissedTickBehavior, interval, timeout};

/// How long a process that ended may stay unreaped by its own parent before its status is given
/// up. Only for processes whose zombie does not tell.
const REAPED_WITHIN: Duration = Duration::from_secs(1);

/// Waits until `key` has ended and says how. At once [`EndStatus::Unknown`] when it is gone
/// already. There is no deadline: a process may live for ever; drop the future to stop.
/// The process is taken hold of before this returns, so that it may be reaped at any time after.
pub fn end_of(key: ProcessKey) -> impl Future<Output = EndStatus> + Send + 'static {
    let was_elsewhere =
        table::stat(key.pid).is_some_and(|stat| u32::try_from(stat.ppid) != Ok(std::process::id()));
    let opened = pidfd::open(key);
    async move {
        match opened {
            Err(ProcessError::Gone(_)) => EndStatus::Unknown,
            Err(_) => poll_until_gone(key).await,
            Ok(pidfd) => match kernel::register(pidfd, Interest::READABLE) {
                Ok(pidfd) => follow(key, &pidfd, was_elsewhere).await,
                Err(_) => poll_until_gone(key).await,
            },
        }
    }
}

async fn follow(key: ProcessKey, pidfd: &AsyncFd<OwnedFd>, was_elsewhere: bool) -> EndStatus {
    loop {
        let Ok(mut guard) = pidfd.readable().await else {
            return EndStatus::Unknown;
        };
        if let Some(status) = told_by_wait(key, pidfd, was_elsewhere) {
            return status;
        }
        if let Some(status) = told_by_zombie(key).or_else(|| told_by_kernel(pidfd)) {
            return status;
        }
        guard.clear_ready();
        if table::is_alive(key) {
            continue;
        }
        // A zombie that we may not read, or one that was reaped between the two questions: the
        // kernel tells after the reaping, which it announces on the pidfd.
        let reaped = async {
            while told_by_kernel(pidfd).is_none() && table::key_of(key.pid) == Some(key) {
                match pidfd.readable().await {
                    Ok(mut guard) => guard.clear_ready(),
                    Err(_) => break,
                }
            }
        };
        let _ = timeout(REAPED_WITHIN, reaped).await;
        return told_by_kernel(pidfd).unwrap_or(EndStatus::Unknown);
    }
}

/// Our child, by birth or handed to us: `waitid`, which reaps it unless others wait for it.
fn told_by_wait(
    key: ProcessKey,
    pidfd: &AsyncFd<OwnedFd>,
    was_elsewhere: bool,
) -> Option<EndStatus> {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    let id = || WaitId::PidFd(pidfd.get_ref().as_fd());
    let status = waitid(id(), look | WaitIdOptions::NOWAIT).ok()??;
    if children::may_reap(key, was_elsewhere) && waitid(id(), look).is_ok() {
        children::forget(key);
    }
    Some(of_wait(&status))
}

fn of_wait(status: &WaitIdStatus) -> EndStatus {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => EndStatus::Exited(code),
        (None, Some(signal)) => EndStatus::Signaled(signal),
        (None, None) => EndStatus::Unknown,
    }
}

/// Field 52 of a zombie's `/proc/PID/stat`.
fn told_by_zombie(key: ProcessKey) -> Option<EndStatus> {
    let stat = table::stat(key.pid)?;
    if stat.starttime != key.start || !table::has_ended(stat.state) {
        return None;
    }
    let raw = stat.exit_code?;
    // The kernel writes 0 for a reader without the right to know.
    if raw == 0 && !may_read(key.pid) {
        return None;
    }
    Some(of_raw(raw))
}

fn may_read(pid: u32) -> bool {
    let us = rustix::process::geteuid().as_raw();
    us == 0 || std::fs::metadata(format!("/proc/{pid}")).is_ok_and(|file| file.uid() == us)
}

fn told_by_kernel(pidfd: &AsyncFd<OwnedFd>) -> Option<EndStatus> {
    kernel::exit_status_of(pidfd.get_ref().as_fd()).map(of_raw)
}

/// A wait status as the kernel packs it: code in bits 8–15, signal in bits 0–6.
fn of_raw(raw: i32) -> EndStatus {
    match raw & 0x7f {
        0 => EndStatus::Exited((raw >> 8) & 0xff),
        0x7f => EndStatus::Unknown,
        signal => EndStatus::Signaled(signal),
    }
}

/// Without a pidfd (descriptors ran out) there is no event to wait on: look 20 times a second.
async fn poll_until_gone(key: ProcessKey) -> EndStatus {
    let mut tick = interval(Duration::from_millis(50));
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        if !table::is_alive(key) {
            return told_by_zombie(key).unwrap_or(EndStatus::Unknown);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::pidfd::Signal;
    use crate::process::testing::{LONG, Piped, wait_until};

    async fn ended(key: ProcessKey) -> EndStatus {
        timeout(LONG, end_of(key)).await.unwrap()
    }

    #[test]
    fn raw_statuses() {
        assert_eq!(of_raw(0), EndStatus::Exited(0));
        assert_eq!(of_raw(7 << 8), EndStatus::Exited(7));
        assert_eq!(of_raw(11), EndStatus::Signaled(11));
        assert_eq!(of_raw(0x0b | 0x80), EndStatus::Signaled(11));
        assert_eq!(of_raw(0xff00), EndStatus::Exited(255));
    }

    #[tokio::test]
    async fn anothers_child_keeps_its_status_for_its_owner() {
        let mut child = Piped::start(&["sh", "-c", "echo $$; read x; exit 7"]);
        let key = table::key_of(child.number()).unwrap();
        child.close_input();
        assert_eq!(ended(key).await, EndStatus::Exited(7));
        assert_eq!(child.wait(), 7);
    }

    #[tokio::test]
    async fn a_grandchild_that_its_parent_reaps_at_once() {
        let script = "import os,sys,signal\n\
            pid = os.fork()\n\
            if pid == 0:\n    sys.stdin.readline(); os.kill(os.getpid(), signal.SIGSEGV)\n\
            print(pid, flush=True)\n\
            print(os.waitpid(pid, 0)[1] & 0x7f, flush=True)\n";
        let mut parent = Piped::start(&["python3", "-c", script]);
        let key = table::key_of(parent.number()).unwrap();
        parent.close_input();
        assert_eq!(ended(key).await, EndStatus::Signaled(11));
        assert_eq!(parent.number(), 11);
    }

    #[tokio::test]
    async fn a_grandchild_that_nobody_reaps() {
        let script = "import os,sys\n\
            pid = os.fork()\n\
            if pid == 0:\n    os._exit(3)\n\
            print(pid, flush=True)\n\
            sys.stdin.readline()\n";
        let mut parent = Piped::start(&["python3", "-c", script]);
        let key = table::key_of(parent.number()).unwrap();
        assert_eq!(ended(key).await, EndStatus::Exited(3));
        assert_eq!(ended(key).await, EndStatus::Exited(3));
        pidfd::signal(key, Signal::TERM).unwrap();
    }

    /// Whether the kernel tells after the reaping.
    fn kernel_tells() -> bool {
        let release = rustix::system::uname()
            .release()
            .to_string_lossy()
            .into_owned();
        let mut numbers = release
            .split('.')
            .map(|part| part.parse::<u32>().unwrap_or(0));
        (numbers.next().unwrap(), numbers.next().unwrap()) >= (6, 15)
    }

    #[tokio::test]
    async fn the_zombie_tells_before_the_reaping_and_the_kernel_after_it() {
        let script = "import os,sys,signal\n\
            pid = os.fork()\n\
            if pid == 0:\n    signal.pause()\n\
            print(pid, flush=True)\n\
            sys.stdin.readline()\n\
            os.waitpid(pid, 0)\n\
            print('reaped', flush=True)\n";
        let mut parent = Piped::start(&["python3", "-c", script]);
        let key = table::key_of(parent.number()).unwrap();
        let pidfd = kernel::register(pidfd::open(key).unwrap(), Interest::READABLE).unwrap();
        assert_eq!(told_by_zombie(key), None, "it lives");
        pidfd::signal(key, Signal::TERM).unwrap();
        let ended = timeout(LONG, pidfd.readable()).await.unwrap();
        ended.unwrap().retain_ready();
        assert_eq!(told_by_zombie(key), Some(EndStatus::Signaled(15)));
        assert_eq!(told_by_kernel(&pidfd), None, "nobody has reaped it");
        parent.close_input();
        assert_eq!(parent.line(), "reaped");
        assert_eq!(told_by_zombie(key), None);
        let wanted = kernel_tells().then_some(EndStatus::Signaled(15));
        assert_eq!(told_by_kernel(&pidfd), wanted);
    }

    #[tokio::test]
    async fn what_is_gone_is_unknown_at_once() {
        let mut child = Piped::start(&["sh", "-c", "echo $$"]);
        let key = table::key_of(child.number()).unwrap();
        child.wait();
        assert_eq!(ended(key).await, EndStatus::Unknown);
        let never = ProcessKey {
            pid: std::process::id(),
            start: 1,
        };
        assert_eq!(ended(never).await, EndStatus::Unknown);
    }

    #[tokio::test]
    async fn a_stopped_process_has_not_ended() {
        let mut child = Piped::start(&["sh", "-c", "echo $$; read x; exit 4"]);
        let key = table::key_of(child.number()).unwrap();
        let watch = tokio::spawn(end_of(key));
        pidfd::signal(key, Signal::STOP).unwrap();
        wait_until("stopped", || {
            table::describe(key.pid).is_some_and(|it| it.state == 'T')
        });
        child.close_input();
        assert!(!watch.is_finished());
        pidfd::signal(key, Signal::CONT).unwrap();
        assert_eq!(
            timeout(LONG, watch).await.unwrap().unwrap(),
            EndStatus::Exited(4)
        );
    }
}
