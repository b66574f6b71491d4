//! Terminals of programs: opening one, writing keys to it without ever waiting for the program,
//! resizing it. It must not know what is on its screen, nor who types.

use super::kernel;
use super::stream::{FdKey, OutputStream, WriteEnd, set_nonblocking};
use crate::output::StreamKind;
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{
    InputModes, OptionalActions, Termios, Winsize, tcgetattr, tcgetwinsize, tcsetattr, tcsetwinsize,
};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// The most bytes that wait for a program that does not read its terminal.
pub const INPUT_QUEUE: usize = 256 * 1024;

/// Why a terminal did not take something.
#[derive(Debug, thiserror::Error)]
pub enum TerminalError {
    /// The program does not read.
    #[error(
        "the program has not read {queued} bytes of its input yet: wait until it reads, or \
         interrupt it"
    )]
    Full {
        /// Bytes waiting.
        queued: usize,
    },
    /// The program has closed its terminal.
    #[error("the program has closed its terminal: there is nothing to write to any more")]
    Closed,
    /// The kernel refused to change it.
    #[error("the terminal's size or modes could not be changed: {0}")]
    Refused(#[from] Errno),
}

/// The keyboard side of a program's terminal. Clones are one terminal; bytes still queued when
/// the last one is dropped are lost.
#[derive(Clone, Debug)]
pub struct TerminalHandle {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    master: Arc<AsyncFd<OwnedFd>>,
    input: Arc<Input>,
    writer: JoinHandle<()>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.writer.abort();
    }
}

#[derive(Debug, Default)]
struct Input {
    queue: Mutex<VecDeque<u8>>,
    more: Notify,
    closed: AtomicBool,
}

impl Input {
    fn queue<T>(&self, use_it: impl FnOnce(&mut VecDeque<u8>) -> T) -> T {
        use_it(&mut self.queue.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl TerminalHandle {
    fn new(master: Arc<AsyncFd<OwnedFd>>) -> Self {
        let input = Arc::new(Input::default());
        let writer = tokio::spawn(write_queue(Arc::clone(&master), Arc::clone(&input)));
        Self {
            inner: Arc::new(Inner {
                master,
                input,
                writer,
            }),
        }
    }

    /// Queues `bytes` as if they were typed, all or none, and returns at once.
    pub fn write(&self, bytes: &[u8]) -> Result<(), TerminalError> {
        let input = &self.inner.input;
        if input.closed.load(Ordering::Acquire) {
            return Err(TerminalError::Closed);
        }
        input.queue(|queue| {
            if queue.len() + bytes.len() > INPUT_QUEUE {
                return Err(TerminalError::Full {
                    queued: queue.len(),
                });
            }
            queue.extend(bytes);
            Ok(())
        })?;
        input.more.notify_one();
        Ok(())
    }

    /// Sets its size in character cells; the program's foreground group hears SIGWINCH.
    pub fn resize(&self, columns: u16, rows: u16) -> Result<(), TerminalError> {
        Ok(tcsetwinsize(self.as_fd(), size(columns, rows))?)
    }

    /// Its size now: columns, rows.
    pub fn size(&self) -> Result<(u16, u16), TerminalError> {
        let size = tcgetwinsize(self.as_fd())?;
        Ok((size.ws_col, size.ws_row))
    }

    /// Its modes now (echo, line editing, …).
    pub fn modes(&self) -> Result<Termios, TerminalError> {
        Ok(tcgetattr(self.as_fd())?)
    }

    /// Sets its modes, such as those that another terminal of the same program changed to.
    pub fn set_modes(&self, modes: &Termios) -> Result<(), TerminalError> {
        Ok(tcsetattr(self.as_fd(), OptionalActions::Now, modes)?)
    }
}

impl AsFd for TerminalHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.inner.master.get_ref().as_fd()
    }
}

/// An opened terminal, and the end that the program gets.
pub(super) struct Pty {
    pub stream: OutputStream,
    pub terminal: TerminalHandle,
    pub program_end: WriteEnd,
}

/// A new terminal that is nobody's controlling terminal yet.
pub(super) fn open_pty(columns: u16, rows: u16) -> io::Result<Pty> {
    // `openpt` knows no CLOEXEC everywhere; Linux takes it.
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let path = PathBuf::from(OsString::from_vec(
        ptsname(&master, Vec::new())?.into_bytes(),
    ));
    let program = open(
        &path,
        OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC,
        Mode::empty(),
    )?;
    // What every terminal emulator sets: without it erasing a non-ASCII letter leaves half of it.
    let mut modes = tcgetattr(&program)?;
    modes.input_modes |= InputModes::IUTF8;
    tcsetattr(&program, OptionalActions::Now, &modes)?;
    tcsetwinsize(&program, size(columns, rows))?;
    set_nonblocking(&master)?;
    let key = FdKey::of(&program)?;
    let master = Arc::new(kernel::register(
        master,
        Interest::READABLE | Interest::WRITABLE,
    )?);
    Ok(Pty {
        stream: OutputStream::new(StreamKind::Terminal, key, Arc::clone(&master)),
        terminal: TerminalHandle::new(master),
        program_end: WriteEnd::new(program, path)?,
    })
}

/// An extra terminal with the modes and size of `like`, for the output of a process that is not
/// our child; nobody's controlling terminal.
pub fn open_stream_pty(
    like: &TerminalHandle,
) -> Result<(OutputStream, TerminalHandle, WriteEnd), io::Error> {
    let size = tcgetwinsize(like)?;
    let modes = tcgetattr(like)?;
    let pty = open_pty(size.ws_col, size.ws_row)?;
    tcsetattr(&pty.terminal, OptionalActions::Now, &modes)?;
    Ok((pty.stream, pty.terminal, pty.program_end))
}

fn size(columns: u16, rows: u16) -> Winsize {
    Winsize {
        ws_col: columns,
        ws_row: rows,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

async fn write_queue(master: Arc<AsyncFd<OwnedFd>>, input: Arc<Input>) {
    loop {
        let piece: Vec<u8> = input.queue(|queue| queue.iter().take(4096).copied().collect());
        if piece.is_empty() {
            input.more.notified().await;
            continue;
        }
        let Ok(mut guard) = master.writable().await else {
            break;
        };
        match rustix::io::write(master.get_ref(), &piece) {
            Ok(written) => input.queue(|queue| drop(queue.drain(..written.min(queue.len())))),
            Err(Errno::AGAIN) => guard.clear_ready(),
            Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    input.closed.store(true, Ordering::Release);
    input.queue(VecDeque::clear);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::testing::{LONG, Piped};
    use tokio::time::timeout;

    #[tokio::test]
    async fn an_extra_terminal_has_the_size_and_modes_of_the_first() {
        let first = open_pty(101, 37).unwrap();
        let mut modes = first.terminal.modes().unwrap();
        modes.local_modes.remove(rustix::termios::LocalModes::ECHO);
        first.terminal.set_modes(&modes).unwrap();
        let (mut stream, terminal, end) = open_stream_pty(&first.terminal).unwrap();
        assert_eq!(terminal.size().unwrap(), (101, 37));
        assert_eq!(terminal.modes().unwrap().local_modes, modes.local_modes);
        assert_ne!(end.key(), first.program_end.key());

        let script = format!(
            "exec >{}; stat -L -c %d:%i:%r /dev/fd/1; test -t 1",
            end.path().display()
        );
        let mut sh = Piped::start(&["sh", "-c", &script]);
        assert_eq!(sh.wait(), 0);
        let key = end.key();
        drop(end);
        let mut text = Vec::new();
        while let Some(chunk) = timeout(LONG, stream.read_chunk()).await.unwrap().unwrap() {
            text.extend(chunk);
        }
        assert_eq!(String::from_utf8(text).unwrap(), format!("{key}\r\n"));
    }

    #[tokio::test]
    async fn a_program_that_does_not_read_fills_the_queue_and_no_more() {
        let pty = open_pty(80, 24).unwrap();
        let mut modes = pty.terminal.modes().unwrap();
        modes.make_raw();
        pty.terminal.set_modes(&modes).unwrap();
        pty.terminal.write(&vec![b'x'; INPUT_QUEUE]).unwrap();
        let refused = pty.terminal.write(&vec![b'x'; INPUT_QUEUE]);
        assert!(matches!(refused, Err(TerminalError::Full { queued }) if queued > 0));
    }

    #[tokio::test]
    async fn what_is_written_arrives_in_order() {
        let pty = open_pty(80, 24).unwrap();
        let mut modes = pty.terminal.modes().unwrap();
        modes.make_raw();
        pty.terminal.set_modes(&modes).unwrap();
        let sent: Vec<u8> = (0..200_000_u32)
            .map(|number| (number % 251) as u8)
            .collect();
        pty.terminal.write(&sent).unwrap();
        let (mut got, expected) = (Vec::new(), sent.len());
        let end = pty.program_end;
        let got = tokio::task::spawn_blocking(move || {
            let mut buffer = [0; 4096];
            while got.len() < expected {
                let count = rustix::io::read(&end, &mut buffer).unwrap();
                got.extend_from_slice(&buffer[..count]);
            }
            got
        });
        assert_eq!(timeout(LONG, got).await.unwrap().unwrap(), sent);
    }
}
