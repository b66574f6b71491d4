//! How the model names an operating-system process and the way it ended.
//! It must not know how either is found out.

use serde::{Deserialize, Serialize};
use std::fmt;

/// One process for all time: a pid alone is reused by the kernel, pid and start time are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProcessKey {
    /// The process id in daptree's own pid namespace.
    pub pid: u32,
    /// Start time in clock ticks since boot (field 22 of `/proc/PID/stat`), 0 where the platform
    /// does not tell.
    pub start: u64,
}

impl fmt::Display for ProcessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pid {}", self.pid)
    }
}

/// How a process ended, as the kernel tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum EndStatus {
    /// It called `exit` with this code (0–255).
    Exited(i32),
    /// This signal ended it.
    Signaled(i32),
    /// It is gone and the kernel did not say how.
    Unknown,
}

impl EndStatus {
    /// The exit status a shell would show: the code, or 128 + signal. `None` when unknown.
    pub fn shell_code(self) -> Option<i32> {
        match self {
            Self::Exited(code) => Some(code),
            Self::Signaled(number) => Some(128 + number),
            Self::Unknown => None,
        }
    }

    /// The name of the signal that ended it, such as `SIGSEGV`, or `None` when none did.
    pub fn signal_name(self) -> Option<String> {
        match self {
            Self::Signaled(number) => Some(signal_name(number)),
            _ => None,
        }
    }
}

/// The name of a Linux signal number, `SIG<number>` for one without a name.
pub fn signal_name(number: i32) -> String {
    const NAMES: [&str; 31] = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2",
        "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG",
        "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
    ];
    usize::try_from(number - 1)
        .ok()
        .and_then(|index| NAMES.get(index))
        .map_or_else(|| format!("SIG{number}"), |name| format!("SIG{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_have_their_names() {
        assert_eq!(signal_name(9), "SIGKILL");
        assert_eq!(signal_name(31), "SIGSYS");
        assert_eq!(signal_name(0), "SIG0");
        assert_eq!(signal_name(-3), "SIG-3");
        assert_eq!(signal_name(40), "SIG40");
    }

    #[test]
    fn a_signal_becomes_128_and_its_number() {
        assert_eq!(EndStatus::Signaled(6).shell_code(), Some(134));
        assert_eq!(EndStatus::Exited(4).shell_code(), Some(4));
        assert_eq!(EndStatus::Unknown.shell_code(), None);
    }
}
