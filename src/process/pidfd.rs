//! A handle to one process that can never come to mean another one, and signals through it.
//! It must not know how a process ended.

use super::{ProcessKey, table};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open, pidfd_send_signal};
use std::os::fd::OwnedFd;

pub use rustix::process::Signal;

/// Why a process could not be signalled or followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProcessError {
    /// It has ended, or its pid belongs to another process now.
    #[error("{0} has ended")]
    Gone(ProcessKey),
    /// It belongs to another user.
    #[error("{0} belongs to another user: run daptree as that user, or as root")]
    NotAllowed(ProcessKey),
    /// Any other refusal.
    #[error("{0} cannot be reached: {1}; if descriptors ran out, raise `ulimit -n`")]
    Refused(ProcessKey, String),
}

fn error(key: ProcessKey, errno: Errno) -> ProcessError {
    match errno {
        Errno::SRCH => ProcessError::Gone(key),
        Errno::PERM => ProcessError::NotAllowed(key),
        other => ProcessError::Refused(key, other.to_string()),
    }
}

/// A pidfd of exactly this process; it may be a zombie.
pub fn open(key: ProcessKey) -> Result<OwnedFd, ProcessError> {
    let gone = || ProcessError::Gone(key);
    let pid = i32::try_from(key.pid)
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(gone)?;
    if table::key_of(key.pid) != Some(key) {
        return Err(gone());
    }
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).map_err(|errno| error(key, errno))?;
    // The pid was this process's just before. Only when it is somebody else's now can the handle
    // be theirs; when nobody has it, the handle is of the process that was reaped meanwhile.
    match table::key_of(key.pid) {
        Some(now) if now != key => Err(gone()),
        _ => Ok(pidfd),
    }
}

/// Sends `signal` to exactly this process. A zombie takes it without effect.
pub fn signal(key: ProcessKey, signal: Signal) -> Result<(), ProcessError> {
    let pidfd = open(key)?;
    pidfd_send_signal(&pidfd, signal).map_err(|errno| error(key, errno))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::testing::Piped;

    #[test]
    fn a_signal_never_hits_another_start_time() {
        let mut child = Piped::start(&["sh", "-c", "echo $$; cat; true"]);
        let key = table::key_of(child.number()).unwrap();
        let other = ProcessKey {
            start: key.start + 1,
            ..key
        };
        assert_eq!(signal(other, Signal::KILL), Err(ProcessError::Gone(other)));
        assert!(table::is_alive(key));
        signal(key, Signal::KILL).unwrap();
        assert_eq!(child.wait(), 137);
        assert_eq!(signal(key, Signal::KILL), Err(ProcessError::Gone(key)));
    }

    #[test]
    fn pids_out_of_range_are_gone() {
        for pid in [0, u32::MAX] {
            let key = ProcessKey { pid, start: 1 };
            assert_eq!(signal(key, Signal::TERM), Err(ProcessError::Gone(key)));
        }
    }
}
