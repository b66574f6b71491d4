//! Readers of what processes write: straight into the store, to the terminal's screen and to
//! whoever wants the raw bytes. The core hears of it at most every few milliseconds.

use super::shell::ShellInput;
use crate::output::{Limits, OutputStore, StreamKind};
use crate::process::stream::{OutputStream, StreamSource};
use crate::record::{Entry, Recorder};
use crate::tree::Input;
use daptree_model::{Answer, OutputLine, OutputWindow, RowId, Stream};
use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
    /// What became of it.
    pub what: RawPiece,
}

/// A piece of a stream's life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RawPiece {
    /// It was opened.
    Opened,
    /// These bytes were written.
    Bytes(Vec<u8>),
    /// It has ended.
    Closed,
}

/// The store and who is told when it grows.
#[derive(Clone, Debug)]
pub(super) struct Output {
    pub store: Arc<Mutex<OutputStore>>,
    grown: Arc<Grown>,
    /// What is being read, for whoever goes on when we are gone.
    sources: Arc<Mutex<Vec<(RowId, StreamSource)>>>,
    raw: Option<mpsc::Sender<RawOutput>>,
    inputs: mpsc::Sender<ShellInput>,
    record: Option<Recorder>,
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
        record: Option<Recorder>,
    ) -> Self {
        let output = Self {
            store: Arc::new(Mutex::new(OutputStore::new(Limits::default()))),
            grown: Arc::default(),
            sources: Arc::default(),
            raw,
            inputs,
            record,
        };
        tokio::spawn(output.clone().tell());
        output
    }

    /// Adds text, from whatever source.
    pub(super) fn append(&self, row: RowId, stream: Stream, bytes: &[u8]) {
        self.append_shown(row, stream, bytes, None);
    }

    /// As [`Self::append`], of what the terminal of a root shows as well.
    fn append_shown(&self, row: RowId, stream: Stream, bytes: &[u8], screen: Option<RowId>) {
        {
            // The journal has the same order as the store.
            let mut store = self.store();
            store.append(row.0, kind_of(stream), bytes);
            if let Some(record) = &self.record {
                let bytes = bytes.to_vec();
                record.record_now(Entry::Output {
                    row,
                    stream,
                    screen,
                    bytes,
                });
            }
        }
        self.grown
            .rows
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(row);
        self.grown.changed.notify_one();
    }

    fn store(&self) -> MutexGuard<'_, OutputStore> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lines from `from` on; those that have no end yet come last.
    pub(super) fn window(&self, row: Option<RowId>, from: u64, count: u32) -> Answer {
        window(&self.store(), row, from, count)
    }

    /// Reads a stream to its end. The screen of `terminal` also gets the bytes.
    pub(super) fn read(&self, row: RowId, mut stream: OutputStream, terminal: Option<RowId>) {
        let output = self.clone();
        let kind = stream_of(stream.stream);
        self.with_sources(|sources| {
            sources.retain(|(_, source)| source.is_open());
            sources.push((row, stream.source()));
        });
        tokio::spawn(async move {
            if !output.pass_on(row, kind, RawPiece::Opened).await {
                return;
            }
            loop {
                let bytes = match stream.read_chunk().await {
                    Ok(Some(bytes)) => bytes,
                    Ok(None) => break,
                    Err(error) => {
                        tracing::warn!(%row, ?kind, "reading what it writes failed: {error}");
                        break;
                    }
                };
                output.append_shown(row, kind, &bytes, terminal);
                if let Some(root) = terminal {
                    let input = ShellInput::TerminalSaid(root, bytes.clone());
                    if output.inputs.send(input).await.is_err() {
                        return;
                    }
                }
                if !output.pass_on(row, kind, RawPiece::Bytes(bytes)).await {
                    return;
                }
            }
            output.pass_on(row, kind, RawPiece::Closed).await;
        });
    }

    /// Descriptors of what these rows write to and is still read.
    pub(super) fn sources(&self, rows: &[RowId]) -> Vec<OwnedFd> {
        self.with_sources(|sources| {
            let theirs = sources.iter().filter(|(row, _)| rows.contains(row));
            theirs
                .filter_map(|(_, source)| source.duplicate())
                .collect()
        })
    }

    fn with_sources<T>(&self, use_them: impl FnOnce(&mut Vec<(RowId, StreamSource)>) -> T) -> T {
        use_them(&mut self.sources.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn pass_on(&self, row: RowId, stream: Stream, what: RawPiece) -> bool {
        match &self.raw {
            // A reader that is slow holds the program up, as a slow reader of a pipe does.
            Some(raw) => raw.send(RawOutput { row, stream, what }).await.is_ok(),
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
                &mut *self
                    .grown
                    .rows
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner),
            );
            let (revision, lines) = {
                let store = self.store();
                let lines = rows
                    .iter()
                    .map(|row| (*row, store.extent(Some(row.0)).end))
                    .collect();
                (store.revision(None), lines)
            };
            let grew = ShellInput::Core(Input::OutputGrew(revision, lines));
            if self.inputs.send(grew).await.is_err() {
                return;
            }
        }
    }
}

/// The lines from `from` on; those that have no end yet come last.
pub(crate) fn window(store: &OutputStore, row: Option<RowId>, from: u64, count: u32) -> Answer {
    let id = row.map(|row| row.0);
    let extent = store.extent(id);
    let mut lines: Vec<OutputLine> = store
        .lines_from(id, from, count as usize)
        .into_iter()
        .map(|line| OutputLine {
            number: if row.is_some() {
                line.number
            } else {
                line.sequence
            },
            row: RowId(line.row),
            stream: stream_of(line.stream),
            text: line.text.to_owned(),
            open: false,
        })
        .collect();
    let mut total = extent.end;
    for partial in store.partials(id) {
        if total >= from && lines.len() < count as usize {
            lines.push(OutputLine {
                number: total,
                row: RowId(partial.row),
                stream: stream_of(partial.stream),
                text: partial.text.to_owned(),
                open: true,
            });
        }
        total += 1;
    }
    Answer::Output(OutputWindow {
        row,
        lines,
        total,
        dropped: extent.start,
    })
}

fn stream_of(kind: StreamKind) -> Stream {
    match kind {
        StreamKind::Stdout => Stream::Stdout,
        StreamKind::Stderr => Stream::Stderr,
        StreamKind::Terminal => Stream::Terminal,
        StreamKind::Console => Stream::Console,
    }
}

/// How the store names a stream.
pub(crate) fn kind_of(stream: Stream) -> StreamKind {
    match stream {
        Stream::Stdout => StreamKind::Stdout,
        Stream::Stderr => StreamKind::Stderr,
        Stream::Terminal => StreamKind::Terminal,
        Stream::Console => StreamKind::Console,
    }
}
