//! Streams that the keeper reads on when the engine is gone, so that those who were let go can
//! write: how they travel to the keeper, and what it does with them. It must not know whose they
//! are.

use rustix::cmsg_space;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// How many descriptors go with one message; Linux takes 253.
pub(super) const AT_ONCE: usize = 64;

/// Sends `bytes` with at most [`AT_ONCE`] descriptors; gives how many bytes were taken, and all
/// the descriptors with them.
pub(super) fn send(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    streams: &[BorrowedFd<'_>],
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(AT_ONCE))];
    let mut with = SendAncillaryBuffer::new(&mut space);
    if !streams.is_empty() && !with.push(SendAncillaryMessage::ScmRights(streams)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let bytes = [IoSlice::new(bytes)];
    Ok(sendmsg(socket, &bytes, &mut with, SendFlags::NOSIGNAL)?)
}

/// What comes on the keeper's socket: lines, and streams beside them.
#[derive(Debug)]
pub(super) struct Inbox<'a> {
    socket: BorrowedFd<'a>,
    bytes: Vec<u8>,
    streams: Vec<OwnedFd>,
}

impl<'a> Inbox<'a> {
    pub(super) fn new(socket: BorrowedFd<'a>) -> Self {
        Self {
            socket,
            bytes: Vec::new(),
            streams: Vec::new(),
        }
    }

    /// The next line; `None` at the end, which a read error is too.
    pub(super) fn line(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') {
                return Some(self.bytes.drain(..=end).collect());
            }
            match self.receive() {
                Ok(0) => return None,
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return None,
            }
        }
    }

    fn receive(&mut self) -> rustix::io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(AT_ONCE))];
        let mut with = RecvAncillaryBuffer::new(&mut space);
        let mut buffer = [0; 4096];
        let mut into = [IoSliceMut::new(&mut buffer)];
        let received = recvmsg(self.socket, &mut into, &mut with, RecvFlags::empty())?;
        for message in with.drain() {
            if let RecvAncillaryMessage::ScmRights(streams) = message {
                self.streams.extend(streams);
            }
        }
        let count = received.bytes;
        self.bytes.extend(buffer.iter().take(count));
        Ok(count)
    }

    /// The streams that came.
    pub(super) fn into_streams(self) -> Vec<OwnedFd> {
        self.streams
    }
}

/// Reads streams that do not block, and forgets what they say, until the last writer of each has
/// closed its end.
pub(super) fn read_to_their_ends(mut streams: Vec<OwnedFd>) {
    let mut buffer = vec![0; 64 * 1024];
    while !streams.is_empty() {
        let mut polled: Vec<PollFd<'_>> = streams
            .iter()
            .map(|stream| PollFd::from_borrowed_fd(stream.as_fd(), PollFlags::IN))
            .collect();
        match poll(&mut polled, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return,
        }
        let ready: Vec<bool> = polled.iter().map(|it| !it.revents().is_empty()).collect();
        let mut ready = ready.into_iter();
        streams.retain(|stream| !ready.next().unwrap_or(false) || is_open(stream, &mut buffer));
    }
}

/// Reads once; whether more may come.
fn is_open(stream: &OwnedFd, buffer: &mut [u8]) -> bool {
    // A terminal whose last user has gone says EIO, a pipe ends with no bytes.
    match rustix::io::read(stream, buffer) {
        Ok(count) => count > 0,
        Err(errno) => matches!(errno, Errno::AGAIN | Errno::INTR),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::pipe::pipe;
    use std::os::unix::net::UnixStream;

    #[test]
    fn lines_and_streams_arrive_and_the_streams_are_read_until_nobody_writes() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let pipes: Vec<(OwnedFd, OwnedFd)> = (0..3).map(|_| pipe().unwrap()).collect();
        let reads: Vec<BorrowedFd<'_>> = pipes.iter().map(|(read, _)| read.as_fd()).collect();
        assert_eq!(send(ours.as_fd(), b"one\ntw", &reads[..2]).unwrap(), 6);
        send(ours.as_fd(), b"o\n", &reads[2..]).unwrap();
        drop(ours);
        let mut inbox = Inbox::new(theirs.as_fd());
        assert_eq!(inbox.line().as_deref(), Some(&b"one\n"[..]));
        assert_eq!(inbox.line().as_deref(), Some(&b"two\n"[..]));
        assert_eq!(inbox.line(), None);
        let streams = inbox.into_streams();
        assert_eq!(streams.len(), 3);
        let writes: Vec<OwnedFd> = pipes.into_iter().map(|(_, write)| write).collect();
        let reader = std::thread::spawn(move || read_to_their_ends(streams));
        // Far more than a pipe holds: somebody reads.
        for write in &writes {
            let mut left = 300_000;
            while left > 0 {
                left -= rustix::io::write(write, &vec![b'x'; left]).unwrap();
            }
        }
        drop(writes);
        reader.join().unwrap();
    }
}
