//! The output streams that were handed to the rows of the trees: whose is whose, by the key of
//! the end that a process writes to, and what a child gets in their place.

use crate::output::StreamKind;
use crate::process::pty::{self, TerminalHandle};
use crate::process::stream::{self, FdKey, OutputStream, WriteEnd};
use crate::tree::StreamOffer;
use daptree_model::RowId;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// What one row writes to.
#[derive(Debug, Default)]
struct Handed {
    /// The root of its tree.
    root: RowId,
    keys: Vec<(StreamKind, FdKey)>,
    /// Kept until the child has opened its own.
    ends: Vec<WriteEnd>,
    /// Its own terminal, for its size.
    terminal: Option<TerminalHandle>,
}

/// The streams of all rows.
#[derive(Debug, Default)]
pub(super) struct HandedStreams {
    rows: BTreeMap<RowId, Handed>,
}

impl HandedStreams {
    /// A root was started on these.
    pub(super) fn root(&mut self, root: RowId, streams: &[OutputStream]) {
        let keys = streams
            .iter()
            .map(|stream| (stream.stream, stream.write_key()))
            .collect();
        self.rows.insert(
            root,
            Handed {
                root,
                keys,
                ..Handed::default()
            },
        );
    }

    /// Opens streams for a child in the place of those of the rows above it: what is to be read,
    /// and what the child is offered. Nothing when it has its own already, or cannot get any.
    pub(super) fn open(
        &mut self,
        row: RowId,
        above: &[RowId],
        terminal: Option<&TerminalHandle>,
    ) -> (Vec<OutputStream>, Vec<StreamOffer>) {
        if self.rows.contains_key(&row) {
            return (Vec::new(), Vec::new());
        }
        let inherited: Vec<(StreamKind, FdKey)> = above
            .iter()
            .filter_map(|id| self.rows.get(id))
            .flat_map(|handed| handed.keys.iter().copied())
            .collect();
        let kinds: BTreeSet<StreamKind> = inherited.iter().map(|(kind, _)| *kind).collect();
        let root = above.last().copied().unwrap_or(row);
        let mut handed = Handed {
            root,
            ..Handed::default()
        };
        let (mut streams, mut offers) = (Vec::new(), Vec::new());
        for kind in kinds {
            let opened = open_one(kind, terminal);
            let (stream, own, end) = match opened {
                Ok(opened) => opened,
                Err(error) => {
                    tracing::warn!(%row, ?kind, "no stream of its own for it: {error}");
                    continue;
                }
            };
            let path = end.path().to_string_lossy().into_owned();
            for (_, key) in inherited.iter().filter(|(known, _)| *known == kind) {
                offers.push(StreamOffer {
                    inherited: key.to_string(),
                    path: path.clone(),
                });
            }
            handed.keys.push((kind, end.key()));
            handed.ends.push(end);
            handed.terminal = handed.terminal.or(own);
            streams.push(stream);
        }
        self.rows.insert(row, handed);
        (streams, offers)
    }

    /// The child has opened its streams, or never will: what it did not open ends.
    pub(super) fn taken(&mut self, row: RowId) {
        if let Some(handed) = self.rows.get_mut(&row) {
            handed.ends.clear();
        }
    }

    /// A row is over.
    pub(super) fn forget(&mut self, row: RowId) {
        self.rows.remove(&row);
    }

    /// The terminals of a root's children get a new size first, the root's last: a child that hears of it
    /// through the root's then sees the same size everywhere.
    pub(super) fn resize(&self, root: RowId, columns: u16, rows: u16) {
        let below = self.rows.values().filter(|handed| handed.root == root);
        for terminal in below.filter_map(|handed| handed.terminal.as_ref()) {
            if let Err(error) = terminal.resize(columns, rows) {
                tracing::debug!("a child's terminal could not be resized: {error}");
            }
        }
    }
}

type Opened = (OutputStream, Option<TerminalHandle>, WriteEnd);

fn open_one(kind: StreamKind, terminal: Option<&TerminalHandle>) -> io::Result<Opened> {
    match (kind, terminal) {
        (StreamKind::Terminal, Some(terminal)) => {
            let (stream, handle, end) = pty::open_stream_pty(terminal)?;
            Ok((stream, Some(handle), end))
        }
        (StreamKind::Terminal, None) => Err(io::Error::other("the root has no terminal")),
        _ => {
            let (stream, end) = stream::open_stream_pipe(kind)?;
            Ok((stream, None, end))
        }
    }
}
