//! The loop that owns the terminal: it waits for keys, the engine, colours and signals, and
//! draws when something changed. Decisions are made in `front`; here is only when and where to.

use crate::front::Front;
use crate::highlight::{self, Coloured};
use crate::options::{Outcome, UiError, UiOptions};
use crate::panics::{self, HookGuard};
use crate::screen::Screen;
use crate::state::{Dialog, Leave};
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste, Event, EventStream};
use crossterm::terminal::{
    EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
    enable_raw_mode,
};
use crossterm::{cursor, execute};
use daptree_model::{FromEngine, ToEngine};
use futures_util::{FutureExt, Stream, StreamExt};
use std::future::poll_fn;
use std::io::{self, IsTerminal, Write};
use std::panic::AssertUnwindSafe;
use std::task::Poll;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, UnboundedReceiver, unbounded_channel};
use tokio::time::{Instant, sleep_until};

/// The least time between two frames that no key asked for.
const FRAME: Duration = Duration::from_millis(8);
/// Messages of the engine taken in before the next look at the keys.
const BATCH: usize = 1_024;
/// Keys taken in before a frame.
const KEYS: usize = 64;

/// Runs the front end on the process's terminal until it is left. The terminal is given back in
/// every case, also on a panic.
pub async fn run(
    options: UiOptions,
    to_engine: Sender<ToEngine>,
    from_engine: Receiver<FromEngine>,
) -> Result<Outcome, UiError> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(UiError::NotATerminal);
    }
    let failed = |what| move |error| UiError::Terminal { what, error };
    let signals = Signals::new().map_err(failed("signals"))?;
    let size = crossterm::terminal::size().map_err(failed("size"))?;
    let _hook = HookGuard::install(give_back);
    let tty = Tty::take()?;
    let (coloured, colours) = unbounded_channel();
    let mut front = Front::new(options, size);
    match highlight::start(move |lines| coloured.send(lines).is_ok()) {
        Ok(worker) => front.colour_with(worker),
        Err(error) => tracing::warn!(%error, "no thread for syntax colours: sources stay plain"),
    }
    let ends = Ends {
        to_engine,
        from_engine,
        colours,
    };
    let out = io::stdout();
    let driven = drive(
        &mut front,
        ends,
        EventStream::new(),
        signals.next(),
        out,
        size,
    );
    let result = AssertUnwindSafe(driven).catch_unwind().await;
    drop(tty);
    result.unwrap_or_else(|payload| Err(UiError::Panicked(panics::words(payload.as_ref()))))
}

/// The channels of the loop.
struct Ends {
    to_engine: Sender<ToEngine>,
    from_engine: Receiver<FromEngine>,
    colours: UnboundedReceiver<Coloured>,
}

/// What one wait brought.
enum Woken {
    Signal(i32),
    Terminal(Option<io::Result<Event>>),
    Engine(Option<FromEngine>),
    Colours(Coloured),
    Room,
    FrameDue,
    /// A thread of somebody else panicked, and the hook gave the terminal back.
    Struck,
}

async fn drive<W: Write>(
    front: &mut Front,
    mut ends: Ends,
    mut events: impl Stream<Item = io::Result<Event>> + Unpin,
    signals: impl Future<Output = i32>,
    out: W,
    size: (u16, u16),
) -> Result<Outcome, UiError> {
    let mut size = size;
    let mut screen = Screen::new(out, size);
    let mut signals = std::pin::pin!(signals);
    let draw = |front: &mut Front, screen: &mut Screen<W>, size| {
        if front.take_redraw() {
            screen.forget();
        }
        screen.draw(size, |buffer| {
            front.paint(buffer);
            front.cursor()
        })
    };
    if draw(front, &mut screen, size).is_err() {
        return Ok(Outcome::TerminalLost);
    }
    let mut last_frame = Instant::now();
    let mut dirty = false;
    let mut batch = Vec::new();
    loop {
        if !send(front, &ends.to_engine) {
            return engine_gone(front);
        }
        if let Some(leave) = front.leave() {
            return Ok(match leave {
                Leave::Quit { ended } => Outcome::Quit { ended: *ended },
                Leave::LaunchFailed(why) => Outcome::LaunchFailed(why.clone()),
            });
        }
        let full = !front.outgoing().is_empty();
        let woken = tokio::select! {
            biased;
            number = &mut signals => Woken::Signal(number),
            () = panics::struck() => Woken::Struck,
            event = events.next() => Woken::Terminal(event),
            () = sleep_until(last_frame + FRAME), if dirty => Woken::FrameDue,
            message = ends.from_engine.recv() => Woken::Engine(message),
            Some(coloured) = ends.colours.recv() => Woken::Colours(coloured),
            permit = ends.to_engine.reserve(), if full => {
                drop(permit);
                Woken::Room
            }
        };
        let mut now = false;
        match woken {
            Woken::Signal(number) => return Ok(Outcome::Signal(number)),
            Woken::Terminal(mut next) => {
                for _ in 0..KEYS {
                    let Some(Ok(event)) = next else {
                        return Ok(Outcome::TerminalLost);
                    };
                    if let Event::Resize(columns, rows) = event {
                        size = (columns, rows);
                        screen.forget();
                    }
                    front.terminal(event);
                    // Polled with the task's own waker: crossterm remembers the first one it sees.
                    let more = poll_fn(|context| Poll::Ready(events.poll_next_unpin(context)));
                    match more.await {
                        Poll::Ready(more) => next = more,
                        Poll::Pending => break,
                    }
                }
                now = true;
            }
            Woken::Engine(None) => return engine_gone(front),
            Woken::Engine(Some(message)) => {
                batch.push(message);
                while batch.len() < BATCH
                    && let Ok(more) = ends.from_engine.try_recv()
                {
                    batch.push(more);
                }
                front.engine(batch.drain(..));
                dirty = true;
            }
            Woken::Colours(coloured) => {
                front.colours(coloured);
                while let Ok(more) = ends.colours.try_recv() {
                    front.colours(more);
                }
                dirty = true;
            }
            Woken::Room => {}
            Woken::FrameDue => now = true,
            Woken::Struck => {
                if take_over().is_err() {
                    return Ok(Outcome::TerminalLost);
                }
                screen.forget();
                front.trouble("a part of daptree failed; its log says more".to_owned());
                now = true;
            }
        }
        if now || (dirty && last_frame.elapsed() >= FRAME) {
            if draw(front, &mut screen, size).is_err() {
                return Ok(Outcome::TerminalLost);
            }
            last_frame = Instant::now();
            dirty = false;
        }
    }
}

/// Sends what the channel has room for; `false`: nobody takes it any more.
fn send(front: &mut Front, to_engine: &Sender<ToEngine>) -> bool {
    while let Some(message) = front.outgoing().pop_front() {
        match to_engine.try_send(message) {
            Ok(()) => {}
            Err(TrySendError::Full(message)) => {
                front.outgoing().push_front(message);
                return true;
            }
            Err(TrySendError::Closed(_)) => return false,
        }
    }
    true
}

fn engine_gone(front: &Front) -> Result<Outcome, UiError> {
    match front.leave() {
        Some(Leave::LaunchFailed(why)) => Ok(Outcome::LaunchFailed(why.clone())),
        Some(Leave::Quit { ended }) => Ok(Outcome::Quit { ended: *ended }),
        None if front.state().dialog == Some(Dialog::Ending) => Ok(Outcome::Quit { ended: false }),
        None => Err(UiError::EngineGone),
    }
}

struct Signals {
    streams: Vec<(i32, tokio::signal::unix::Signal)>,
}

impl Signals {
    fn new() -> io::Result<Self> {
        let kinds = [
            SignalKind::terminate(),
            SignalKind::hangup(),
            SignalKind::interrupt(),
            SignalKind::quit(),
        ];
        let mut streams = Vec::new();
        for kind in kinds {
            streams.push((kind.as_raw_value(), signal(kind)?));
        }
        Ok(Self { streams })
    }

    async fn next(mut self) -> i32 {
        poll_fn(|context| {
            for (number, stream) in &mut self.streams {
                if stream.poll_recv(context).is_ready() {
                    return Poll::Ready(*number);
                }
            }
            Poll::Pending
        })
        .await
    }
}

/// The terminal while it is ours.
struct Tty;

impl Tty {
    fn take() -> Result<Self, UiError> {
        let tty = Self;
        take_over().map_err(|error| UiError::Terminal {
            what: "raw mode",
            error,
        })?;
        Ok(tty)
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        give_back();
    }
}

fn take_over() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(
        io::stdout(),
        EnterAlternateScreen,
        EnableBracketedPaste,
        cursor::Hide
    )
}

/// Nothing more can be done where the terminal is gone.
fn give_back() {
    let _ = execute!(
        io::stdout(),
        EndSynchronizedUpdate,
        DisableBracketedPaste,
        LeaveAlternateScreen,
        cursor::Show
    );
    let _ = disable_raw_mode();
}

#[cfg(test)]
mod tests;
