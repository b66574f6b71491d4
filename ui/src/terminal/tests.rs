//! The loop on made-up channels: no terminal, no clock but tokio's own.

use super::*;
use crate::fake::FakeEngine;
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;

#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<Vec<u8>>>>);

impl Sink {
    fn frames(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().push(bytes.to_vec());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A terminal that is gone.
struct Gone;

impl Write for Gone {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::from_raw_os_error(5))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Rig {
    keys: mpsc::UnboundedSender<io::Result<Event>>,
    engine: Sender<FromEngine>,
    requests: Receiver<ToEngine>,
    signal: tokio::sync::oneshot::Sender<i32>,
    sink: Sink,
    ui: tokio::task::JoinHandle<Result<Outcome, UiError>>,
}

fn rig(room: usize) -> Rig {
    let (keys, mut events) = unbounded_channel();
    let (to_engine, requests) = mpsc::channel(room);
    let (engine, from_engine) = mpsc::channel(4_096);
    let (_coloured, colours) = unbounded_channel();
    let (signal, raised) = tokio::sync::oneshot::channel();
    let sink = Sink::default();
    let out = sink.clone();
    let ui = tokio::spawn(async move {
        let mut front = Front::new(UiOptions::default(), (80, 24));
        let ends = Ends {
            to_engine,
            from_engine,
            colours,
        };
        let events = futures_util::stream::poll_fn(move |context| events.poll_recv(context));
        let signals = async move {
            match raised.await {
                Ok(number) => number,
                Err(_) => std::future::pending().await,
            }
        };
        drive(&mut front, ends, events, signals, out, (80, 24)).await
    });
    Rig {
        keys,
        engine,
        requests,
        signal,
        sink,
        ui,
    }
}

fn press(rig: &Rig, keys: &str) {
    for key in keys.chars() {
        let key = KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE);
        rig.keys.send(Ok(Event::Key(key))).unwrap();
    }
}

async fn outcome(
    ui: tokio::task::JoinHandle<Result<Outcome, UiError>>,
) -> Result<Outcome, UiError> {
    tokio::time::timeout(Duration::from_secs(10), ui)
        .await
        .expect("the loop ends")
        .unwrap()
}

async fn serve(engine: &mut FakeEngine, rig: &mut Rig, until: impl Fn(&ToEngine) -> bool) {
    loop {
        let next = tokio::time::timeout(Duration::from_secs(10), rig.requests.recv());
        let message = next.await.expect("it asks").expect("it lives");
        let last = until(&message);
        for answer in engine.handle(message) {
            rig.engine.send(answer).await.unwrap();
        }
        if last {
            return;
        }
    }
}

fn is_shutdown(message: &ToEngine) -> bool {
    matches!(message, ToEngine::Command(command) if command.op == daptree_model::Op::Shutdown)
}

#[tokio::test]
async fn a_session_from_the_first_frame_to_the_end_of_the_tree() {
    let mut rig = rig(1);
    let mut engine = FakeEngine::new();
    rig.engine.send(engine.publish()).await.unwrap();
    press(&rig, "nqe");
    serve(&mut engine, &mut rig, is_shutdown).await;
    assert_eq!(
        outcome(rig.ui).await.unwrap(),
        Outcome::Quit { ended: true }
    );
    let first = rig.sink.0.lock().unwrap()[0].clone();
    assert!(String::from_utf8(first).unwrap().contains("starting"));
}

#[tokio::test]
async fn a_second_key_does_not_wait_for_the_end() {
    let mut rig = rig(64);
    let mut engine = FakeEngine::new();
    rig.engine.send(engine.publish()).await.unwrap();
    serve(&mut engine, &mut rig, |m| {
        matches!(m, ToEngine::Interest(_))
    })
    .await;
    press(&rig, "qeq");
    assert_eq!(
        outcome(rig.ui).await.unwrap(),
        Outcome::Quit { ended: false }
    );
}

#[tokio::test]
async fn signals_and_lost_terminals_end_it() {
    let rig1 = rig(64);
    rig1.signal.send(15).unwrap();
    assert_eq!(outcome(rig1.ui).await.unwrap(), Outcome::Signal(15));
    let rig2 = rig(64);
    rig2.keys
        .send(Err(io::Error::from_raw_os_error(5)))
        .unwrap();
    assert_eq!(outcome(rig2.ui).await.unwrap(), Outcome::TerminalLost);
    let rig3 = rig(64);
    drop(rig3.keys);
    assert_eq!(outcome(rig3.ui).await.unwrap(), Outcome::TerminalLost);
    let (to_engine, _requests) = mpsc::channel(1);
    let (_engine, from_engine) = mpsc::channel(1);
    let (_coloured, colours) = unbounded_channel();
    let ends = Ends {
        to_engine,
        from_engine,
        colours,
    };
    let mut front = Front::new(UiOptions::default(), (80, 24));
    let events = futures_util::stream::pending();
    let signals = std::future::pending();
    let driven = drive(&mut front, ends, events, signals, Gone, (80, 24));
    assert_eq!(driven.await.unwrap(), Outcome::TerminalLost);
}

#[tokio::test]
async fn an_engine_that_goes_away_is_an_error() {
    let rig = rig(64);
    drop(rig.engine);
    assert!(matches!(outcome(rig.ui).await, Err(UiError::EngineGone)));
}

#[tokio::test(start_paused = true)]
async fn a_flood_makes_few_frames_and_idle_none() {
    let mut rig = rig(4_096);
    let mut engine = FakeEngine::new();
    rig.engine.send(engine.publish()).await.unwrap();
    serve(&mut engine, &mut rig, |m| {
        matches!(m, ToEngine::Interest(_))
    })
    .await;
    for number in 0..1_000 {
        engine.print(
            daptree_model::RowId(2),
            daptree_model::Stream::Stdout,
            &format!("line {number}"),
        );
        rig.engine.send(engine.publish()).await.unwrap();
        while let Ok(message) = rig.requests.try_recv() {
            for answer in engine.handle(message) {
                rig.engine.send(answer).await.unwrap();
            }
        }
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    let frames = rig.sink.frames();
    assert!(frames < 60, "{frames} frames");
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    assert!(rig.sink.frames() <= frames + 1, "nothing happened");
    let before = rig.sink.frames();
    press(&rig, "1j");
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(rig.sink.frames(), before + 1, "a key is drawn at once");
    rig.ui.abort();
}

/// Like crossterm's stream: while it waits, it remembers only the first waker it was polled with.
#[derive(Clone, Default)]
struct Forgetful(Arc<Mutex<(Vec<char>, Option<std::task::Waker>)>>);

impl Forgetful {
    fn press(&self, key: char) {
        let mut inner = self.0.lock().unwrap();
        inner.0.push(key);
        if let Some(waker) = inner.1.take() {
            waker.wake();
        }
    }
}

impl Stream for Forgetful {
    type Item = io::Result<Event>;

    fn poll_next(
        self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> Poll<Option<Self::Item>> {
        let mut inner = self.0.lock().unwrap();
        if let Some(key) = inner.0.pop() {
            let key = KeyEvent::new(KeyCode::Char(key), KeyModifiers::NONE);
            Poll::Ready(Some(Ok(Event::Key(key))))
        } else {
            inner.1.get_or_insert_with(|| context.waker().clone());
            Poll::Pending
        }
    }
}

#[tokio::test]
async fn every_key_wakes_the_loop() {
    let (to_engine, mut requests) = mpsc::channel(64);
    let (engine, from_engine) = mpsc::channel(64);
    let (_coloured, colours) = unbounded_channel();
    let ends = Ends {
        to_engine,
        from_engine,
        colours,
    };
    let keys = Forgetful::default();
    let events = keys.clone();
    let ui = tokio::spawn(async move {
        let mut front = Front::new(UiOptions::default(), (80, 24));
        let never = std::future::pending();
        drive(&mut front, ends, events, never, io::sink(), (80, 24)).await
    });
    engine.send(FakeEngine::new().publish()).await.unwrap();
    let mut asked = async |what: fn(&ToEngine) -> bool| loop {
        let next = tokio::time::timeout(Duration::from_secs(10), requests.recv());
        let message = next.await.expect("the key woke the loop").unwrap();
        if what(&message) {
            return;
        }
    };
    asked(|m| matches!(m, ToEngine::Interest(_))).await;
    for _ in 0..5 {
        keys.press('W');
        asked(|m| matches!(m, ToEngine::Command(_))).await;
    }
    ui.abort();
}
