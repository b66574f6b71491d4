//! One connection to a debug adapter: bytes of a socket or a pair of pipes to messages in one
//! channel, and queued messages to bytes. It must not know what a message means or which session
//! it serves; the core does.

use crate::dap::codec::{CodecError, Decoder, encode_onto};
use crate::dap::message::{Message, MessageError};
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};
use tracing::Level;

#[cfg(test)]
mod tests;

/// How long a connection may take to open.
pub const CONNECT_DEADLINE: Duration = Duration::from_secs(5);
/// How long a closed connection may take to write what is queued and to hear the peer's end.
pub const CLOSE_DEADLINE: Duration = Duration::from_secs(2);
/// How many messages may wait for a peer that does not read.
pub const QUEUE: usize = 4096;

/// How long a peer that takes no more bytes is still listened to: it may have said why.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Messages that go out in one write, at most.
const BATCH: usize = 256;
/// Bytes asked for in one read.
const READ: usize = 32 * 1024;
/// A write buffer that grew beyond this is given back.
const KEEP_CAPACITY: usize = 1024 * 1024;
/// How much of a frame's body the log shows, in bytes.
const LOGGED: usize = 4096;

/// Something that happened on a connection.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectionEvent {
    /// The number given when the connection was made.
    pub connection: u64,
    /// What happened.
    pub kind: ConnectionEventKind,
}

/// What happened on a connection: at most one `Opened`, then messages, then exactly one `Closed`.
/// Without an `Opened` it could not be opened, or was closed before.
#[derive(Clone, Debug, PartialEq)]
pub enum ConnectionEventKind {
    /// Both directions work.
    Opened,
    /// The peer sent this.
    Message(Message),
    /// Nothing will come any more.
    Closed {
        /// Why, naming the connection; `None` when either side closed it in good order.
        error: Option<String>,
    },
}

/// Why a connection broke or never was.
#[derive(Debug, thiserror::Error)]
enum ConnectionError {
    #[error("could not connect to {address}: {error}; see whether the adapter still runs")]
    Connect { address: String, error: io::Error },
    #[error(
        "could not connect to {address} within {} s; see whether the host can be reached",
        CONNECT_DEADLINE.as_secs()
    )]
    ConnectDeadline { address: String },
    #[error("could not read: {0}; the adapter most likely died")]
    Read(io::Error),
    #[error("could not write: {0}; the adapter most likely died")]
    Write(io::Error),
    #[error(transparent)]
    Codec(#[from] CodecError),
    #[error(transparent)]
    Message(#[from] MessageError),
}

/// The sending end of a connection. Dropping it closes the connection as [`Connection::close`]
/// does. All else comes through the channel of [`ConnectionEvent`]s it was made with; when that
/// channel's receiver is gone, the connection ends by itself.
#[derive(Debug)]
pub struct Connection {
    queue: Option<mpsc::Sender<Message>>,
    /// Dropped to say that the close deadline runs.
    open: Option<oneshot::Sender<Infallible>>,
}

impl Connection {
    /// Connects over TCP, in the background: messages sent meanwhile are queued. `name` stands
    /// for the connection in the log and in errors, such as `s3#2`. Needs a tokio runtime.
    pub fn connect(
        connection: u64,
        name: impl Into<Arc<str>>,
        host: impl Into<String>,
        port: u16,
        events: mpsc::Sender<ConnectionEvent>,
    ) -> Self {
        let host = host.into();
        let dial = async move { Ok(dial(&host, port).await?.into_split()) };
        Self::start(connection, name.into(), dial, events)
    }

    /// Takes over a stream that is open already: an accepted socket's halves, or the pipes of an
    /// adapter that speaks on its standard input and output. Needs a tokio runtime.
    pub fn over<R, W>(
        connection: u64,
        name: impl Into<Arc<str>>,
        reader: R,
        writer: W,
        events: mpsc::Sender<ConnectionEvent>,
    ) -> Self
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let ready = std::future::ready(Ok((reader, writer)));
        Self::start(connection, name.into(), ready, events)
    }

    /// Queues a message and does not wait. `false`: the connection is closed, or [`QUEUE`]
    /// messages wait already because the peer does not read; the message is not sent.
    pub fn send(&self, message: Message) -> bool {
        self.queue
            .as_ref()
            .is_some_and(|queue| queue.try_send(message).is_ok())
    }

    /// Closes in good order: writes what is queued, ends the outgoing direction, goes on
    /// delivering what the peer says until it closes too; all within [`CLOSE_DEADLINE`]. Then
    /// comes `Closed`, without an error whatever the peer does meanwhile.
    pub fn close(&mut self) {
        self.queue = None;
        self.open = None;
    }

    fn start<R, W, F>(
        connection: u64,
        name: Arc<str>,
        opening: F,
        events: mpsc::Sender<ConnectionEvent>,
    ) -> Self
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
        F: Future<Output = Result<(R, W), ConnectionError>> + Send + 'static,
    {
        let (queue, queued) = mpsc::channel(QUEUE);
        let (open, closing) = oneshot::channel();
        let line = Line {
            connection,
            name,
            events,
        };
        tokio::spawn(run(line, opening, queued, closing));
        Self {
            queue: Some(queue),
            open: Some(open),
        }
    }
}

/// What both directions need to know of their connection.
struct Line {
    connection: u64,
    name: Arc<str>,
    events: mpsc::Sender<ConnectionEvent>,
}

impl Line {
    /// Passes an event on; `false` when nobody listens any more.
    async fn tell(&self, kind: ConnectionEventKind) -> bool {
        let event = ConnectionEvent {
            connection: self.connection,
            kind,
        };
        self.events.send(event).await.is_ok()
    }

    fn log(&self, direction: char, body: &[u8]) {
        if tracing::enabled!(Level::TRACE) {
            tracing::trace!("{} {direction} {}", self.name, excerpt(body));
        }
    }
}

/// The one task of a connection. Both directions live in it, so none can outlive the other.
async fn run<R, W>(
    line: Line,
    opening: impl Future<Output = Result<(R, W), ConnectionError>>,
    queued: mpsc::Receiver<Message>,
    mut closing: oneshot::Receiver<Infallible>,
) where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let result = tokio::select! {
        result = serve(&line, opening, queued) => result,
        () = line.events.closed() => Ok(()),
        () = async {
            // Nothing is ever sent: this waits until the other end is dropped.
            let _ = (&mut closing).await;
            sleep(CLOSE_DEADLINE).await;
        } => {
            tracing::debug!("{} did not close within its deadline and was cut", line.name);
            Ok(())
        }
    };
    let closed_by_us = closing.is_terminated()
        || matches!(
            closing.try_recv(),
            Err(oneshot::error::TryRecvError::Closed)
        );
    let error = match result {
        Ok(()) => None,
        Err(error) if closed_by_us => {
            tracing::debug!("{} broke while it was closing: {error}", line.name);
            None
        }
        Err(error) => Some(format!("connection {}: {error}", line.name)),
    };
    line.tell(ConnectionEventKind::Closed { error }).await;
}

async fn serve<R, W>(
    line: &Line,
    opening: impl Future<Output = Result<(R, W), ConnectionError>>,
    queued: mpsc::Receiver<Message>,
) -> Result<(), ConnectionError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let (reader, writer) = opening.await?;
    line.tell(ConnectionEventKind::Opened).await;
    let broken = OnceLock::new();
    let writing = async {
        match write_messages(line, writer, queued).await {
            Ok(()) => std::future::pending().await,
            Err(error) => {
                let _ = broken.set(error);
                sleep(LAST_WORDS).await;
            }
        }
    };
    tokio::select! {
        // Writing first: a peer that has nothing more to say still gets what is queued.
        biased;
        () = writing => {}
        result = read_messages(line, reader) => result?,
    }
    match broken.into_inner() {
        Some(error) => Err(ConnectionError::Write(error)),
        None => Ok(()),
    }
}

/// Reads until the peer's end of the stream.
async fn read_messages<R>(line: &Line, mut reader: R) -> Result<(), ConnectionError>
where
    R: AsyncRead + Unpin,
{
    let mut decoder = Decoder::new();
    let mut buffer = vec![0; READ];
    loop {
        let count = reader
            .read(&mut buffer)
            .await
            .map_err(ConnectionError::Read)?;
        if count == 0 {
            return Ok(decoder.finish()?);
        }
        decoder.push(buffer.get(..count).unwrap_or_default());
        while let Some(body) = decoder.next()? {
            line.log('<', body);
            match Message::from_slice(body) {
                Ok(message) => {
                    line.tell(ConnectionEventKind::Message(message)).await;
                }
                Err(error @ MessageError::NotJson(_)) => return Err(error.into()),
                // The frames are sound, so one bad message does not cost the session.
                Err(error) => tracing::warn!("{} sent a message left out: {error}", line.name),
            }
        }
    }
}

/// Writes until the queue's other end is dropped, then ends the direction.
async fn write_messages<W>(
    line: &Line,
    mut writer: W,
    mut queued: mpsc::Receiver<Message>,
) -> io::Result<()>
where
    W: AsyncWrite + Unpin,
{
    let mut batch = Vec::new();
    let mut buffer = Vec::new();
    while queued.recv_many(&mut batch, BATCH).await > 0 {
        for message in batch.drain(..) {
            match encode_onto(&mut buffer, &message) {
                Ok(body) => line.log('>', buffer.get(body).unwrap_or_default()),
                Err(error) => tracing::warn!("{} was not sent a message: {error}", line.name),
            }
        }
        writer.write_all(&buffer).await?;
        writer.flush().await?;
        buffer.clear();
        if buffer.capacity() > KEEP_CAPACITY {
            buffer = Vec::new();
        }
    }
    // A pipe closes only when the writer is dropped, at the end of this function; the error of a
    // peer that is gone already comes from the reading side.
    let _ = writer.shutdown().await;
    Ok(())
}

async fn dial(host: &str, port: u16) -> Result<TcpStream, ConnectionError> {
    let address = || format!("{host}:{port}");
    let connected = async {
        let stream = TcpStream::connect((host, port)).await?;
        // Requests are small and each is waited for.
        stream.set_nodelay(true)?;
        Ok(stream)
    };
    match timeout(CONNECT_DEADLINE, connected).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => Err(ConnectionError::Connect {
            address: address(),
            error,
        }),
        Err(_) => Err(ConnectionError::ConnectDeadline { address: address() }),
    }
}

/// The start of a body for the log, with the length of what is left out.
fn excerpt(body: &[u8]) -> String {
    match body.split_at_checked(LOGGED) {
        Some((head, rest)) if !rest.is_empty() => {
            format!(
                "{}… and {} bytes",
                String::from_utf8_lossy(head),
                rest.len()
            )
        }
        _ => String::from_utf8_lossy(body).into_owned(),
    }
}
