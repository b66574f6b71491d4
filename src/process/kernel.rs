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
    /// Be in the foreground of a session of its own whose controlling terminal is descriptor 0;
    /// the child that `Command` knows is the leader of that session.
    #[cfg(target_os = "linux")]
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
        match setup {
            ChildSetup::Same => {}
            ChildSetup::OwnSession | ChildSetup::OwnSessionDeaf => {
                rustix::process::setsid()?;
            }
            #[cfg(target_os = "linux")]
            ChildSetup::OwnTerminal => super::leader::step_aside()?,
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

/// Closes every descriptor from `first` on. Only for a process that uses none of them.
#[cfg(target_os = "linux")]
pub fn close_from(first: u32) {
    // SAFETY: the caller owns none of them, so no one's descriptor is closed under them.
    unsafe {
        libc::syscall(libc::SYS_close_range, first, u32::MAX, 0_u32);
    }
}

#[cfg(target_os = "linux")]
pub use leading::{await_hangup, exit, fork, hold_hangup, ignore, restore};

/// For [`super::leader`], which runs between `fork` and `exec`.
#[cfg(target_os = "linux")]
mod leading {
    use rustix::process::{Pid, Signal};
    use std::io;

    /// Splits this process: the child's pid in the parent, `None` in the child. Only where there
    /// is one thread, as between `fork` and `exec`; `libc::fork` takes locks, this takes none.
    pub fn fork() -> io::Result<Option<Pid>> {
        let flags = libc::c_long::from(libc::SIGCHLD);
        let (first, second) = if cfg!(target_arch = "s390x") {
            (0, flags)
        } else {
            (flags, 0)
        };
        let none: libc::c_long = 0;
        // SAFETY: without `CLONE_VM` the child has memory of its own, a copy of ours with its
        // stack; there is no other thread that could hold a lock in it.
        let pid = unsafe { libc::syscall(libc::SYS_clone, first, second, none, none, none) };
        match i32::try_from(pid) {
            Ok(pid) if pid >= 0 => Ok(Pid::from_raw(pid)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Makes this process deaf to `signal`.
    pub fn ignore(signal: Signal) {
        // SAFETY: `SIG_IGN` runs no code of ours.
        unsafe {
            libc::signal(signal.as_raw(), libc::SIG_IGN);
        }
    }

    /// Gives `signal` its default effect.
    pub fn restore(signal: Signal) {
        // SAFETY: `SIG_DFL` runs no code of ours.
        unsafe {
            libc::signal(signal.as_raw(), libc::SIG_DFL);
        }
    }

    fn hangup() -> libc::sigset_t {
        // SAFETY: `sigset_t` is a plain C type, initialized by `sigemptyset`; both calls write to
        // nothing else and are async-signal-safe.
        unsafe {
            let mut set: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, libc::SIGHUP);
            set
        }
    }

    /// Keeps SIGHUP for [`await_hangup`].
    pub fn hold_hangup() {
        let set = hangup();
        // SAFETY: reads the initialized set only; async-signal-safe.
        unsafe {
            libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        }
    }

    /// Waits for a SIGHUP, which has to be held; returns at once when one came before.
    pub fn await_hangup() {
        let set = hangup();
        let mut signal = 0;
        // SAFETY: reads the initialized set and writes to `signal`, both ours.
        while unsafe { libc::sigwait(&raw const set, &raw mut signal) } == libc::EINTR {}
    }

    /// Ends this process at once: nothing of what the engine registered is run.
    pub fn exit(status: i32) -> ! {
        // SAFETY: has no preconditions, and is async-signal-safe.
        unsafe { libc::_exit(status) }
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
