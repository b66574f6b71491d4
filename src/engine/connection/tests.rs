//! Connections over real loopback sockets with peers of every temper.

use super::*;
use crate::dap::codec::encode;
use crate::dap::message::{Event, Request};
use serde_json::json;
use std::pin::Pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use tokio::net::TcpListener;

/// Bounds every wait of a test; none comes near it unless something hangs.
const HANG: Duration = Duration::from_secs(30);

async fn within<T>(future: impl Future<Output = T>) -> T {
    timeout(HANG, future).await.expect("hangs")
}

struct Pair {
    connection: Connection,
    events: mpsc::Receiver<ConnectionEvent>,
    peer: TcpStream,
}

impl Pair {
    /// Connected and `Opened` taken.
    async fn open() -> Self {
        Self::with_room_for(64).await
    }

    async fn with_room_for(room: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, events) = mpsc::channel(room);
        let connection = Connection::connect(7, "s3#2", "127.0.0.1", port, sender);
        let (peer, _) = within(listener.accept()).await.unwrap();
        peer.set_nodelay(true).unwrap();
        let mut pair = Self {
            connection,
            events,
            peer,
        };
        assert_eq!(pair.next().await, Some(ConnectionEventKind::Opened));
        pair
    }

    /// The next event, `None` when the connection's task is gone.
    async fn next(&mut self) -> Option<ConnectionEventKind> {
        let event = within(self.events.recv()).await?;
        assert_eq!(event.connection, 7);
        Some(event.kind)
    }

    async fn next_message(&mut self) -> Message {
        match self.next().await {
            Some(ConnectionEventKind::Message(message)) => message,
            other => panic!("expected a message, got {other:?}"),
        }
    }

    /// Why it closed. Nothing comes after it and its task is gone.
    async fn closed(&mut self) -> Option<String> {
        let Some(ConnectionEventKind::Closed { error }) = self.next().await else {
            panic!("not closed");
        };
        assert_eq!(self.next().await, None);
        error
    }

    async fn broken(&mut self) -> String {
        let error = self.closed().await.expect("closed in good order");
        assert!(error.starts_with("connection s3#2: "), "{error}");
        error
    }
}

fn event(number: i64) -> Message {
    Event::new(number, "output", Some(json!({"output": "ä\n"}))).into()
}

fn request(number: i64) -> Message {
    Request::new(number, "threads", None).into()
}

async fn read_to_end(peer: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    within(peer.read_to_end(&mut bytes)).await.unwrap();
    bytes
}

fn decode(bytes: &[u8]) -> Vec<Message> {
    let mut decoder = Decoder::new();
    decoder.push(bytes);
    let mut messages = Vec::new();
    while let Some(body) = decoder.next().unwrap() {
        messages.push(Message::from_slice(body).unwrap());
    }
    decoder.finish().unwrap();
    messages
}

#[tokio::test]
async fn messages_arrive_from_single_bytes() {
    let mut pair = Pair::open().await;
    for number in 0..3 {
        for byte in encode(&event(number)).unwrap() {
            pair.peer.write_all(&[byte]).await.unwrap();
        }
        assert_eq!(pair.next_message().await, event(number));
    }
}

#[tokio::test]
async fn garbage_closes_by_name() {
    for (garbage, part) in [
        ("Traceback (most recent call last)\n", "Traceback"),
        ("Content-Length: -4\r\n\r\n", "\"-4\""),
        ("Content-Length: 70000000\r\n\r\n{", "70000000 bytes"),
        ("\r\n\r\n", "without Content-Length"),
        ("Content-Length: 5\r\n\r\nhello", "does not hold JSON"),
    ] {
        let mut pair = Pair::open().await;
        pair.peer
            .write_all(&encode(&event(1)).unwrap())
            .await
            .unwrap();
        pair.peer.write_all(garbage.as_bytes()).await.unwrap();
        assert_eq!(pair.next_message().await, event(1));
        let error = pair.broken().await;
        assert!(error.contains(part), "{error}");
        assert!(!pair.connection.send(request(1)));
        // The socket is given back even while the handle is held.
        let _ = within(pair.peer.read(&mut [0; 8])).await;
    }
}

#[tokio::test]
async fn a_bad_message_in_a_good_frame_is_left_out() {
    let mut pair = Pair::open().await;
    for value in [
        json!([1]),
        json!({"type": "response", "success": true}),
        json!({"type": 3}),
    ] {
        pair.peer.write_all(&encode(&value).unwrap()).await.unwrap();
    }
    pair.peer
        .write_all(&encode(&event(2)).unwrap())
        .await
        .unwrap();
    assert_eq!(pair.next_message().await, event(2));
}

#[tokio::test]
async fn a_peer_that_goes_inside_a_frame_is_an_error() {
    for (sent, part) in [
        ("Content-Len", "11 bytes"),
        ("Content-Length: 9\r\n\r\n{", "1 of its 9"),
    ] {
        let mut pair = Pair::open().await;
        pair.peer.write_all(sent.as_bytes()).await.unwrap();
        pair.peer.shutdown().await.unwrap();
        let error = pair.broken().await;
        assert!(error.contains(part), "{error}");
    }
}

#[tokio::test]
async fn a_peer_that_closes_between_frames_is_no_error() {
    let mut pair = Pair::open().await;
    pair.peer
        .write_all(&encode(&event(1)).unwrap())
        .await
        .unwrap();
    // Half closed: the peer would still read.
    pair.peer.shutdown().await.unwrap();
    assert_eq!(pair.next_message().await, event(1));
    assert_eq!(pair.closed().await, None);
    assert_eq!(read_to_end(&mut pair.peer).await, b"");
}

#[tokio::test]
async fn a_reset_is_an_error() {
    let mut pair = Pair::open().await;
    assert!(pair.connection.send(request(1)));
    within(pair.peer.readable()).await.unwrap();
    // Closing with bytes unread sends a reset.
    pair.peer = TcpStream::connect(
        TcpListener::bind("127.0.0.1:0")
            .await
            .unwrap()
            .local_addr()
            .unwrap(),
    )
    .await
    .unwrap();
    let error = pair.broken().await;
    assert!(error.contains("could not read"), "{error}");
}

#[tokio::test]
async fn nobody_listening_is_an_error_without_opened() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    for host in ["127.0.0.1", "not a host"] {
        let (sender, mut events) = mpsc::channel(4);
        let connection = Connection::connect(1, "s1#1", host, port, sender);
        assert!(connection.send(request(1)));
        let ConnectionEventKind::Closed { error: Some(error) } =
            within(events.recv()).await.unwrap().kind
        else {
            panic!("not refused");
        };
        assert!(
            error.contains(&format!("s1#1: could not connect to {host}:{port}")),
            "{error}"
        );
        assert_eq!(within(events.recv()).await, None);
        assert!(!connection.send(request(2)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_arrives_in_order_through_a_small_channel() {
    const COUNT: i64 = 100_000;
    let mut pair = Pair::with_room_for(4).await;
    let (mut reading, mut writing) = pair.peer.into_split();
    let flood = tokio::spawn(async move {
        let mut bytes = Vec::new();
        for number in 0..COUNT {
            encode_onto(&mut bytes, &event(number)).unwrap();
        }
        writing.write_all(&bytes).await.unwrap();
        let mut end = [0; 1];
        assert_eq!(reading.read(&mut end).await.unwrap(), 0);
    });
    for number in 0..COUNT {
        let received = within(pair.events.recv()).await.unwrap();
        let ConnectionEventKind::Message(message) = received.kind else {
            panic!("{received:?}");
        };
        assert_eq!(message.seq(), number);
    }
    pair.connection.close();
    within(flood).await.unwrap();
}

#[tokio::test]
async fn closing_writes_what_is_queued_first() {
    let mut pair = Pair::open().await;
    let large = "x".repeat(8 * 1024);
    for number in 0..2000 {
        let arguments = Some(json!({"expression": large}));
        assert!(
            pair.connection
                .send(Request::new(number, "evaluate", arguments).into())
        );
    }
    pair.connection.close();
    assert!(!pair.connection.send(request(1)));
    let bytes = read_to_end(&mut pair.peer).await;
    // The peer's last words still arrive, if they come soon.
    pair.peer
        .write_all(&encode(&event(9)).unwrap())
        .await
        .unwrap();
    pair.peer.shutdown().await.unwrap();
    assert_eq!(pair.next_message().await, event(9));
    assert_eq!(pair.closed().await, None);
    let messages = decode(&bytes);
    assert!(messages.iter().map(Message::seq).eq(0..2000));
}

#[tokio::test]
async fn a_handle_dropped_before_the_connection_opened_still_flushes() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, _events) = mpsc::channel(4);
    let connection = Connection::connect(1, "s1#1", "127.0.0.1", port, sender);
    assert!(connection.send(request(5)));
    drop(connection);
    let (mut peer, _) = within(listener.accept()).await.unwrap();
    assert_eq!(decode(&read_to_end(&mut peer).await), [request(5)]);
}

#[tokio::test]
async fn a_peer_that_neither_reads_nor_closes_is_cut() {
    let mut pair = Pair::open().await;
    let large = json!({"expression": "x".repeat(32 * 1024 * 1024)});
    assert!(
        pair.connection
            .send(Request::new(1, "evaluate", Some(large)).into())
    );
    within(pair.peer.readable()).await.unwrap();
    pair.connection.close();
    assert_eq!(pair.closed().await, None);
}

#[tokio::test]
async fn a_full_queue_says_no() {
    let pair = Pair::open().await;
    // Nothing is written before the test's thread waits.
    for number in 0..QUEUE {
        assert!(pair.connection.send(request(number as i64)));
    }
    assert!(!pair.connection.send(request(0)));
}

#[tokio::test]
async fn a_connection_nobody_listens_to_ends() {
    let Pair {
        connection,
        events,
        mut peer,
    } = Pair::open().await;
    drop(events);
    assert_eq!(read_to_end(&mut peer).await, b"");
    assert!(!connection.send(request(1)));
}

#[tokio::test]
async fn requests_are_not_held_back_by_nagle() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    assert!(dial("127.0.0.1", port).await.unwrap().nodelay().unwrap());
}

/// Counts writes and keeps what was written.
#[derive(Clone, Default)]
struct Counted {
    writes: Arc<AtomicUsize>,
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl AsyncWrite for Counted {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.writes.fetch_add(1, Ordering::SeqCst);
        self.bytes.lock().unwrap().extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn what_is_queued_goes_out_in_one_write() {
    let (adapter, stdout) = tokio::io::duplex(64);
    let stdin = Counted::default();
    let (sender, mut events) = mpsc::channel(4);
    let connection = Connection::over(1, "s1#1", stdout, stdin.clone(), sender);
    for number in 0..100 {
        assert!(connection.send(request(number)));
    }
    drop(connection);
    drop(adapter);
    let mut kinds = Vec::new();
    while let Some(event) = within(events.recv()).await {
        kinds.push(event.kind);
    }
    assert_eq!(
        kinds,
        [
            ConnectionEventKind::Opened,
            ConnectionEventKind::Closed { error: None }
        ]
    );
    assert_eq!(stdin.writes.load(Ordering::SeqCst), 1);
    assert_eq!(decode(&stdin.bytes.lock().unwrap()).len(), 100);
}

#[tokio::test]
async fn pipes_of_a_child_carry_messages_and_close() {
    let mut echo = tokio::process::Command::new("cat")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let (sender, mut events) = mpsc::channel(4);
    let mut connection = Connection::over(
        1,
        "s1#1",
        echo.stdout.take().unwrap(),
        echo.stdin.take().unwrap(),
        sender,
    );
    assert!(connection.send(request(3)));
    connection.close();
    let mut kinds = Vec::new();
    while let Some(event) = within(events.recv()).await {
        kinds.push(event.kind);
    }
    assert_eq!(
        kinds,
        [
            ConnectionEventKind::Opened,
            ConnectionEventKind::Message(request(3)),
            ConnectionEventKind::Closed { error: None }
        ]
    );
    assert!(within(echo.wait()).await.unwrap().success());
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whoever meets a log line first settles for the whole process whether anybody wants it: this has
/// a process of its own.
#[tokio::test]
async fn frames_are_logged_with_name_direction_and_bound() {
    const ALONE: &str = "DAPTREE_TEST_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let name = "engine::connection::tests::frames_are_logged_with_name_direction_and_bound";
        let mut again = tokio::process::Command::new(std::env::current_exe().unwrap());
        again.args([name, "--exact"]).env(ALONE, "1");
        let ran = within(again.output()).await.unwrap();
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(Level::TRACE)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    let _scope = tracing::subscriber::set_default(subscriber);
    let mut pair = Pair::open().await;
    let body = json!({"output": "ö".repeat(LOGGED)});
    let oversized = encode(&Event::new(1, "output", Some(body))).unwrap();
    assert!(pair.connection.send(request(8)));
    pair.peer.write_all(&oversized).await.unwrap();
    pair.next_message().await;
    pair.connection.close();
    read_to_end(&mut pair.peer).await;
    let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(
        text.contains(r#"s3#2 > {"type":"request","seq":8,"command":"threads"}"#),
        "{text}"
    );
    let received = text.lines().find(|line| line.contains("s3#2 < ")).unwrap();
    assert!(received.len() < LOGGED + 200, "{}", received.len());
    assert!(received.ends_with(" bytes"), "{received}");
}
