//! Reading what a program writes: one end of a pipe or of a terminal, as bytes, at once. It must
//! not know of lines, encodings or the output store.

use super::kernel;
use crate::output::StreamKind;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl, fstat};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use std::fmt;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The most bytes that one [`OutputStream::read_chunk`] returns.
pub const CHUNK: usize = 64 * 1024;

/// What two descriptors have in common exactly when they are the same pipe, file or terminal;
/// shown as `dev:ino:rdev` in decimal, as Python's `os.fstat` names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FdKey {
    /// The device that holds the inode.
    pub dev: u64,
    /// The inode.
    pub ino: u64,
    /// The device that the inode stands for; 0 for a pipe.
    pub rdev: u64,
}

impl FdKey {
    /// The key of an open descriptor.
    pub fn of(fd: impl AsFd) -> io::Result<Self> {
        let stat = fstat(fd)?;
        #[allow(clippy::useless_conversion, clippy::unnecessary_cast)]
        Ok(Self {
            dev: stat.st_dev as u64,
            ino: stat.st_ino as u64,
            rdev: stat.st_rdev as u64,
        })
    }
}

impl fmt::Display for FdKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.dev, self.ino, self.rdev)
    }
}

/// The reading end of a program's output.
#[derive(Debug)]
pub struct OutputStream {
    /// What the program writes to.
    pub stream: StreamKind,
    write_key: FdKey,
    source: Arc<AsyncFd<OwnedFd>>,
    buffer: Vec<u8>,
    ended: bool,
}

/// What an [`OutputStream`] reads from, as long as that is open.
#[derive(Clone, Debug)]
pub struct StreamSource(Weak<AsyncFd<OwnedFd>>);

impl StreamSource {
    /// Whether it is still read.
    pub fn is_open(&self) -> bool {
        self.0.strong_count() > 0
    }

    /// Another descriptor for it; none when it is closed, or there can be no more.
    pub fn duplicate(&self) -> Option<OwnedFd> {
        let source = self.0.upgrade()?;
        source.get_ref().try_clone().ok()
    }
}

impl OutputStream {
    /// `source` must not block. Needs a tokio runtime with I/O when it was registered.
    pub(super) fn new(stream: StreamKind, write_key: FdKey, source: Arc<AsyncFd<OwnedFd>>) -> Self {
        Self {
            stream,
            write_key,
            source,
            buffer: Vec::new(),
            ended: false,
        }
    }

    /// The key of the end that the program writes to.
    pub fn write_key(&self) -> FdKey {
        self.write_key
    }

    /// What it is read from, to hand that to another process while it is read here.
    pub fn source(&self) -> StreamSource {
        StreamSource(Arc::downgrade(&self.source))
    }

    /// What has been written, as soon as there is any and as much as there is, up to [`CHUNK`]
    /// bytes; `None` once the last writer has closed its end. Cancel safe.
    pub async fn read_chunk(&mut self) -> io::Result<Option<Vec<u8>>> {
        self.buffer.resize(CHUNK, 0);
        while !self.ended {
            let mut guard = self.source.readable().await?;
            let mut filled = 0;
            // A terminal gives at most 4 KiB a read: take all that is there, wait for nothing.
            while let Some(rest) = self
                .buffer
                .get_mut(filled..)
                .filter(|rest| !rest.is_empty())
            {
                match rustix::io::read(self.source.get_ref(), rest) {
                    // A terminal whose last user has gone says EIO, a pipe ends with no bytes.
                    Ok(0) | Err(Errno::IO) => {
                        self.ended = true;
                        break;
                    }
                    Ok(count) => filled += count,
                    Err(Errno::AGAIN) => {
                        guard.clear_ready();
                        break;
                    }
                    Err(Errno::INTR) => {}
                    Err(_) if filled > 0 => break,
                    Err(errno) => return Err(errno.into()),
                }
            }
            if let Some(read) = self.buffer.get(..filled).filter(|read| !read.is_empty()) {
                return Ok(Some(read.to_vec()));
            }
        }
        self.buffer = Vec::new();
        Ok(None)
    }
}

/// The end of an extra stream that another process is to write to. Keep it until that process has
/// opened its own: a stream without a writer ends.
#[derive(Debug)]
pub struct WriteEnd {
    fd: OwnedFd,
    path: PathBuf,
    key: FdKey,
}

impl WriteEnd {
    pub(super) fn new(fd: OwnedFd, path: PathBuf) -> io::Result<Self> {
        let key = FdKey::of(&fd)?;
        Ok(Self { fd, path, key })
    }

    /// Where another process of the same user can open it for writing, while we hold it. Open a
    /// terminal with `O_NOCTTY`.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its `dev:ino:rdev`.
    pub fn key(&self) -> FdKey {
        self.key
    }
}

impl AsFd for WriteEnd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// A pipe: the end we read, and the end a program writes to.
pub(super) fn open_pipe(stream: StreamKind) -> io::Result<(OutputStream, OwnedFd)> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    set_nonblocking(&read)?;
    let key = FdKey::of(&write)?;
    let source = Arc::new(kernel::register(read, Interest::READABLE)?);
    Ok((OutputStream::new(stream, key, source), write))
}

/// An extra pipe for the output of a process that is not our child: `stream` is what it stands
/// for there. Linux: its path is below `/proc`.
#[cfg(target_os = "linux")]
pub fn open_stream_pipe(stream: StreamKind) -> io::Result<(OutputStream, WriteEnd)> {
    let (reader, write) = open_pipe(stream)?;
    let path = PathBuf::from(format!(
        "/proc/{}/fd/{}",
        std::process::id(),
        write.as_raw_fd()
    ));
    Ok((reader, WriteEnd::new(write, path)?))
}

pub(super) fn set_nonblocking(fd: &OwnedFd) -> io::Result<()> {
    fcntl_setfl(fd, fcntl_getfl(fd)? | OFlags::NONBLOCK)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::testing::{LONG, Piped};
    use tokio::time::timeout;

    #[tokio::test]
    async fn another_process_writes_to_an_extra_pipe_by_path() {
        let (mut stream, end) = open_stream_pipe(StreamKind::Stderr).unwrap();
        let script = format!(
            "echo hello >{}; stat -L -c %d:%i:%r {0}",
            end.path().display()
        );
        let mut sh = Piped::start(&["sh", "-c", &script]);
        assert_eq!(sh.line(), end.key().to_string());
        assert_eq!(stream.write_key(), end.key());
        sh.wait();
        drop(end);
        let chunk = timeout(LONG, stream.read_chunk()).await.unwrap().unwrap();
        assert_eq!(chunk.as_deref(), Some(b"hello\n".as_slice()));
        assert_eq!(
            timeout(LONG, stream.read_chunk()).await.unwrap().unwrap(),
            None
        );
        assert_eq!(
            timeout(LONG, stream.read_chunk()).await.unwrap().unwrap(),
            None
        );
    }

    #[tokio::test]
    async fn a_chunk_comes_at_once_and_whole() {
        let (mut stream, end) = open_stream_pipe(StreamKind::Stdout).unwrap();
        rustix::io::write(&end, &vec![b'x'; 50_000]).unwrap();
        let chunk = timeout(LONG, stream.read_chunk())
            .await
            .unwrap()
            .unwrap()
            .unwrap();
        assert_eq!(chunk.len(), 50_000);
    }
}
