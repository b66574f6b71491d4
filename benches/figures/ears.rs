//! Hears what the engine logs and notes when it did, so that the engine and the bare driver are
//! timed at the same place: a frame that was read or written.

use std::fmt::{self, Debug, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

/// How much of a line is kept, in bytes.
const KEPT: usize = 400;

/// A line of the log.
#[derive(Clone, Debug)]
pub struct Line {
    /// When.
    pub at: Instant,
    /// When, on the clock that programs have.
    pub clock: SystemTime,
    /// What, cut.
    pub text: String,
}

/// The lines of the engine's log so far.
#[derive(Clone, Debug, Default)]
pub struct Ears(Arc<Mutex<Vec<Line>>>);

impl Ears {
    /// Listens from now on; once in a process.
    pub fn open() -> Result<Self, TryInitError> {
        let ears = Self::default();
        tracing_subscriber::registry()
            .with(ears.clone())
            .try_init()?;
        Ok(ears)
    }

    /// What was heard since it was last asked.
    pub fn take(&self) -> Vec<Line> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn is_the_engine(metadata: &Metadata<'_>) -> bool {
    let target = metadata.target();
    target == "daptree::engine::connection"
        || (target == "daptree::engine::launching" && *metadata.level() <= Level::DEBUG)
}

impl<S: Subscriber> Layer<S> for Ears {
    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        is_the_engine(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::TRACE)
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let (at, clock) = (Instant::now(), SystemTime::now());
        let mut message = Message(String::with_capacity(KEPT));
        event.record(&mut message);
        let line = Line {
            at,
            clock,
            text: message.0,
        };
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(line);
    }
}

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            // Full is full: the rest is of no use here.
            let _ = write!(self, "{value:?}");
        }
    }
}

impl Write for Message {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = KEPT.saturating_sub(self.0.len());
        self.0.extend(text.chars().take(room));
        if room == 0 { Err(fmt::Error) } else { Ok(()) }
    }
}
