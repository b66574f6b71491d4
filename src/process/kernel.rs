//! The questions to the kernel that no safe library asks for us: the wait status behind a pidfd,
//! what a child does between `fork` and `exec`, and what the keeper ignores. The only file with
//! `unsafe`; it must not know why anybody asks.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

#[cfg(target_os = "linux")]
pub use exit_info::exit_status_of;

/// Has the runtime watch `fd`, which must not block. Needs a tokio runtime with I/O.
pub fn register(fd: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` is open until it is dropped, and the `AsyncFd` owns it: nothing gives
    // out a way to close or replace it before it is deregistered.
    Ok(unsafe { AsyncFd::register_with_interest(fd, interest) }?)
}

#[cfg(target_os = "linux")]
mod exit_info {
    use rustix::ioctl::{Ioctl, IoctlOutput, Opcode};
    use std::ffi::c_void;
    use std::os::fd::BorrowedFd;

    /// `ioctl(PIDFD_GET_INFO)` for the exit information (Linux 6.15 and later).
    struct ExitInfo {
        info: libc::pidfd_info,
    }

    // SAFETY: the opcode carries the size of `pidfd_info`, the kernel writes at most that many bytes
    // to the pointer, and the pointer is to a whole `pidfd_info` that lives as long as the call.
    unsafe impl Ioctl for ExitInfo {
        type Output = Option<i32>;
        const IS_MUTATING: bool = true;

        fn opcode(&self) -> Opcode {
            libc::PIDFD_GET_INFO as Opcode
        }

        fn as_ptr(&mut self) -> *mut c_void {
            (&raw mut self.info).cast()
        }

        unsafe fn output_from_ptr(
            _: IoctlOutput,
            pointer: *mut c_void,
        ) -> rustix::io::Result<Option<i32>> {
            // SAFETY: the pointer is the one `as_ptr` gave, to an initialized `pidfd_info`.
            let info = unsafe { &*pointer.cast::<libc::pidfd_info>() };
            let known = info.mask & u64::from(libc::PIDFD_INFO_EXIT) != 0;
            Ok(known.then_some(info.exit_code))
        }
    }

    /// The raw wait status of the process behind `pidfd`, told only after its parent has reaped it.
    /// `None` before that and on a kernel that does not tell.
    pub fn exit_status_of(pidfd: BorrowedFd<'_>) -> Option<i32> {
        // SAFETY: `pidfd_info` is a plain C struct of integers, valid when all zero.
        let mut info: libc::pidfd_info = unsafe { std::mem::zeroed() };
        info.mask = u64::from(libc::PIDFD_INFO_EXIT);
        // SAFETY: see the implementation of `Ioctl` above; other descriptors answer `ENOTTY`.
        unsafe { rustix::ioctl::ioctl(pidfd, ExitInfo { info }) }
            .ok()
            .flatten()
    }
}

/// What a child does between `fork` and `exec`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildSetup {
    /// Stay in our session and process group.
    Same,
    /// Lead a session of its own, without a terminal.
    OwnSession,
    /// As `OwnSession`, and deaf to the signals that [`ignore_ending_signals`] names.
    OwnSessionDeaf,
    /// Lead a session of its own whose controlling terminal is descriptor 0.
    OwnTerminal,
}

/// Makes `command` do `setup` in the child, with an empty signal mask and SIGPIPE as programs
/// expect it (Rust ignores it). A child with a terminal of its own gets the signals of a fresh
/// login as well: under `nohup` or in the background of a script some would be ignored, and
/// Ctrl-C would do nothing.
pub fn before_exec(command: &mut Command, setup: ChildSetup) {
    const FRESH: [i32; 9] = [
        libc::SIGHUP,
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGTERM,
        libc::SIGALRM,
        libc::SIGCHLD,
        libc::SIGTSTP,
        libc::SIGTTIN,
        libc::SIGTTOU,
    ];
    let prepare = move || -> io::Result<()> {
        // SAFETY: `sigemptyset`, `pthread_sigmask` and `signal` are async-signal-safe, and the
        // set is initialized before it is read.
        unsafe {
            let mut none: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut none);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
            libc::signal(libc::SIGPIPE, libc::SIG_DFL);
            if setup == ChildSetup::OwnTerminal {
                for signal in FRESH {
                    libc::signal(signal, libc::SIG_DFL);
                }
            }
        }
        super::limits::restore_open_files();
        if setup == ChildSetup::OwnSessionDeaf {
            ignore_ending_signals();
        }
        if setup != ChildSetup::Same {
            rustix::process::setsid()?;
        }
        if setup == ChildSetup::OwnTerminal {
            rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
        }
        Ok(())
    };
    // SAFETY: the closure makes system calls only: no allocation, no lock, no panic.
    unsafe {
        command.pre_exec(prepare);
    }
}

/// Makes this process deaf to the signals that a terminal or a service manager sends to end it.
pub fn ignore_ending_signals() {
    const DEAF: [i32; 6] = [
        libc::SIGHUP,
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGTERM,
        libc::SIGPIPE,
        libc::SIGTSTP,
    ];
    for signal in DEAF {
        // SAFETY: `SIG_IGN` runs no code of ours.
        unsafe {
            libc::signal(signal, libc::SIG_IGN);
        }
    }
}

/// Closes every descriptor above 2. Only for a process that has opened none itself.
#[cfg(target_os = "linux")]
pub fn close_inherited() {
    // SAFETY: the caller owns no descriptor yet, so no one's descriptor is closed under them.
    unsafe {
        libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, 0_u32);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn a_descriptor_that_is_no_pidfd_tells_nothing() {
        let file = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(exit_status_of(file.as_fd()), None);
    }
}
