//! The leader of a program's terminal: a process between daptree and the program that does what a
//! shell does there and no more. Without it the program itself would lead the session, and the
//! kernel would end its children by SIGHUP as soon as it ended. It runs between `fork` and `exec`:
//! system calls only, no allocation, no lock. It must not know of the engine, which finds the
//! program by its session and ends the leader by SIGKILL.

use super::kernel;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, chdir, getpid, ioctl_tiocsctty, kill_process_group,
    setpgid, setsid, waitid,
};
use rustix::termios::tcsetpgrp;
use std::ffi::CStr;
use std::io::{self, Write};
use std::os::fd::AsFd;

/// In field 9 of `/proc/PID/stat` of a process that has not executed anything since its fork.
const NOT_EXECUTED: u32 = 0x40;
/// How the leader ends when its program could not be executed; nobody is told.
const NOTHING_LED: i32 = 127;
/// The stops after which a shell takes its terminal back.
const JOB_CONTROL: [Signal; 3] = [Signal::TSTP, Signal::TTIN, Signal::TTOU];

/// Makes descriptor 0 the controlling terminal of a new session. The caller becomes its leader and
/// never returns; a copy of it returns, in the terminal's foreground group, to execute the program.
pub(super) fn step_aside() -> io::Result<()> {
    setsid()?;
    ioctl_tiocsctty(rustix::stdio::stdin())?;
    let Some(root) = kernel::fork()? else {
        setpgid(None, None)?;
        return Ok(to_foreground(rustix::stdio::stdin(), getpid())?);
    };
    lead(root)
}

/// A background group that changes the foreground is stopped for it, unless it is deaf to that.
fn to_foreground(terminal: impl AsFd, group: Pid) -> rustix::io::Result<()> {
    kernel::ignore(Signal::TTOU);
    let done = tcsetpgrp(terminal, group);
    kernel::restore(Signal::TTOU);
    done
}

fn lead(root: Pid) -> ! {
    kernel::hold_hangup();
    for signal in [
        Signal::INT,
        Signal::QUIT,
        Signal::TERM,
        Signal::PIPE,
        Signal::TSTP,
        Signal::TTIN,
        Signal::USR1,
        Signal::USR2,
    ] {
        kernel::ignore(signal);
    }
    // Whoever started us waits until its pipe is closed; the terminal is at its end when no
    // program has it open.
    kernel::close_from(0);
    let _ = chdir(c"/");
    let _ = rustix::thread::set_name(c"daptree-leader");

    while let Some(signal) = stopped(root) {
        // Nobody can type `fg` here: a program that Ctrl-Z has stopped would stay so for good.
        if JOB_CONTROL.iter().any(|it| it.as_raw() == signal) {
            hand_over(root);
            let _ = kill_process_group(root, Signal::CONT);
        }
    }
    if !has_executed(root) {
        // Nobody else knows of it, and nobody is to.
        let _ = waitid(WaitId::Pid(root), WaitIdOptions::EXITED);
        kernel::exit(NOTHING_LED);
    }
    // As a shell does, so that our own end is no hangup for those that the program left. The
    // program is not reaped: its end can be read from its zombie as long as we are here.
    hand_over(getpid());
    kernel::await_hangup();
    kernel::exit(0);
}

/// Waits until `root` is stopped, and says by what; `None` when it has ended.
fn stopped(root: Pid) -> Option<i32> {
    let look = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    loop {
        match waitid(WaitId::Pid(root), look) {
            Ok(Some(status)) => {
                let signal = status.stopping_signal()?;
                // Hear of each stop once.
                let _ = waitid(
                    WaitId::Pid(root),
                    WaitIdOptions::STOPPED | WaitIdOptions::NOHANG,
                );
                return Some(signal);
            }
            Ok(None) | Err(Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

/// Makes `group` the foreground of our terminal, unless that is hung up.
fn hand_over(group: Pid) {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    if let Ok(terminal) = rustix::fs::open(c"/dev/tty", flags, Mode::empty()) {
        let _ = to_foreground(terminal, group);
    }
}

/// Whether the child `root`, which has ended, had become a program. Without `/proc` it had not,
/// so that the caller of `Command::spawn` never waits for us in vain.
fn has_executed(root: Pid) -> bool {
    let mut path = [0; 32];
    let mut text = [0; 1024];
    if write!(&mut path[..], "/proc/{}/stat", root.as_raw_nonzero()).is_err() {
        return false;
    }
    let count = CStr::from_bytes_until_nul(&path).ok().and_then(|path| {
        let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
        rustix::io::read(file, &mut text).ok()
    });
    count
        .and_then(|count| flags_in(text.get(..count)?))
        .is_some_and(|flags| flags & NOT_EXECUTED == 0)
}

/// Field 9 of a `/proc/PID/stat`. Field 2, the name, is in brackets and may hold anything.
fn flags_in(stat: &[u8]) -> Option<u32> {
    let after_name = stat.rsplit(|byte| *byte == b')').next()?;
    let mut fields = std::str::from_utf8(after_name)
        .ok()?
        .split_ascii_whitespace();
    fields.nth(6)?.parse().ok()
}

#[cfg(test)]
mod tests;
