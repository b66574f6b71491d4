//! Readers of what processes write: straight into the store, to the terminal's screen and to
//! whoever wants the raw bytes. The core hears of it at most every few milliseconds.

use super::shell::ShellInput;
use crate::output::store::Store;
use crate::process::stream::{OutputStream, StreamKind};
use crate::tree::Input;
use daptree_model::{RowId, Stream};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, mpsc};

/// How often the core hears that output grew.
const GROWS: Duration = Duration::from_millis(16);

/// Bytes as a process wrote them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawOutput {
    /// Whose stream it is.
    pub row: RowId,
    /// Which.
    pub stream: Stream,
    /// The bytes; empty: the stream has ended.
    pub bytes: Vec<u8>,
}

/// The store and who is told when it grows.
#[derive(Clone, Debug)]
pub(super) struct Output {
    pub store: Arc<Mutex<Store>>,
    grown: Arc<Grown>,
    raw: Option<mpsc::Sender<RawOutput>>,
    inputs: mpsc::Sender<ShellInput>,
}

#[derive(Debug, Default)]
struct Grown {
    rows: Mutex<BTreeSet<RowId>>,
    changed: Notify,
}

impl Output {
    pub(super) fn new(
        raw: Option<mpsc::Sender<RawOutput>>,
        inputs: mpsc::Sender<ShellInput>,
    ) -> Self {
        let output = Self {
            store: Arc::new(Mutex::new(Store::default())),
            grown: Arc::default(),
            raw,
            inputs,
        };
        tokio::spawn(output.clone().tell());
        output
    }

    /// Adds text, from whatever source.
    pub(super) fn append(&self, row: RowId, stream: Stream, bytes: &[u8]) {
        self.store.lock().unwrap_or_else(PoisonError::into_inner).append(row.0, stream, bytes);
        self.grown.rows.lock().unwrap_or_else(PoisonError::into_inner).insert(row);
        self.grown.changed.notify_one();
    }

    /// Reads a stream to its end. `terminal` also gets the bytes, for the screen.
    pub(super) fn read(&self, row: RowId, mut stream: OutputStream, terminal: bool) {
        let output = self.clone();
        let kind = match stream.kind() {
            StreamKind::Terminal => Stream::Terminal,
            StreamKind::Stdout => Stream::Stdout,
            StreamKind::Stderr => Stream::Stderr,
        };
        tokio::spawn(async move {
            loop {
                let bytes = match stream.read_chunk().await {
                    Ok(Some(bytes)) => bytes,
                    Ok(None) => break,
                    Err(error) => {
                        tracing::warn!(%row, ?kind, "reading what it writes failed: {error}");
                        break;
                    }
                };
                output.append(row, kind, &bytes);
                if terminal {
                    let input = ShellInput::TerminalSaid(row, bytes.clone());
                    if output.inputs.send(input).await.is_err() {
                        return;
                    }
                }
                if !output.pass_on(row, kind, bytes).await {
                    return;
                }
            }
            output.pass_on(row, kind, Vec::new()).await;
        });
    }

    async fn pass_on(&self, row: RowId, stream: Stream, bytes: Vec<u8>) -> bool {
        match &self.raw {
            // A reader that is slow holds the program up, as a slow reader of a pipe does.
            Some(raw) => raw.send(RawOutput { row, stream, bytes }).await.is_ok(),
            None => true,
        }
    }

    async fn tell(self) {
        let mut pace = tokio::time::interval(GROWS);
        pace.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            self.grown.changed.notified().await;
            pace.tick().await;
            let rows = std::mem::take(
                &mut *self.grown.rows.lock().unwrap_or_else(PoisonError::into_inner),
            );
            let (revision, lines) = {
                let store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
                let lines = rows.iter().map(|row| (*row, store.total(Some(row.0)))).collect();
                (store.revision(), lines)
            };
            let grew = ShellInput::Core(Input::OutputGrew(revision, lines));
            if self.inputs.send(grew).await.is_err() {
                return;
            }
        }
    }
}
