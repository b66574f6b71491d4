//! What was read for the views: texts of sources with their colours, windows of output, screens
//! of terminals, and the last two stops of each session. Views read it; only the loop writes.

use crate::highlight::{Coloured, PLAIN_ABOVE, Pieces};
use crate::state::SourceKey;
use daptree_model::{Inspect, OutputWindow, RowId, Snapshot};
use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Sources kept; the one that came in first goes first.
const SOURCES: usize = 48;
/// A file with a zero byte so far in is no text.
const BINARY_LOOK: usize = 8_192;
/// vt100 wants some cells: a wide character must fit.
const SMALLEST_SCREEN: u16 = 4;

/// Everything that was read.
#[derive(Default)]
pub struct Windows {
    sources: HashMap<SourceKey, Source>,
    order: Vec<SourceKey>,
    revisions: u64,
    /// Output by whose it is; `None`: the merged view.
    pub output: BTreeMap<Option<RowId>, OutputWindow>,
    terminals: BTreeMap<RowId, vt100::Parser>,
    latest: BTreeMap<RowId, Arc<Inspect>>,
    before: BTreeMap<RowId, Arc<Inspect>>,
}

/// A source as far as it is known.
pub enum Source {
    /// Asked for.
    Loading,
    /// Its text.
    Text(SourceText),
    /// It cannot be shown: why.
    Missing(String),
}

/// The text of a source.
pub struct SourceText {
    /// The whole text.
    pub text: Arc<str>,
    /// Which text of this source; grows when it is read again.
    pub revision: u64,
    starts: Vec<usize>,
    colours: Vec<Option<Pieces>>,
    exact: usize,
}

impl SourceText {
    fn new(text: Arc<str>, revision: u64) -> Self {
        let mut starts = vec![0];
        starts.extend(text.match_indices('\n').map(|(at, _)| at + 1));
        if starts.last() == Some(&text.len()) && starts.len() > 1 {
            starts.pop();
        }
        Self {
            text,
            revision,
            starts,
            colours: Vec::new(),
            exact: 0,
        }
    }

    /// How many lines there are.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// A line from 0, without its end.
    pub fn line(&self, index: usize) -> Option<&str> {
        let from = *self.starts.get(index)?;
        let to = self
            .starts
            .get(index + 1)
            .copied()
            .unwrap_or(self.text.len());
        let line = self.text.get(from..to)?;
        Some(line.trim_end_matches(['\n', '\r']))
    }

    /// The colours of a line, once they are known.
    pub fn pieces(&self, index: usize) -> Option<&Pieces> {
        self.colours.get(index)?.as_ref()
    }

    /// Whether lines up to `to` still wait for their true colours.
    pub fn wants_colours(&self, to: usize) -> bool {
        self.text.len() <= PLAIN_ABOVE && self.exact < to.min(self.len())
    }
}

impl Windows {
    /// A source, if it was asked for.
    pub fn source(&self, key: &SourceKey) -> Option<&Source> {
        self.sources.get(key)
    }

    /// The text of a source, if it has come.
    pub fn text(&self, key: &SourceKey) -> Option<&SourceText> {
        match self.sources.get(key)? {
            Source::Text(text) => Some(text),
            Source::Loading | Source::Missing(_) => None,
        }
    }

    /// Marks a source as asked for.
    pub fn ask_source(&mut self, key: SourceKey) {
        if self.sources.insert(key.clone(), Source::Loading).is_none() {
            self.order.push(key);
        }
        if self.order.len() > SOURCES {
            let gone = self.order.remove(0);
            self.sources.remove(&gone);
        }
    }

    /// Forgets a source, so that it is read again.
    pub fn forget_source(&mut self, key: &SourceKey) {
        self.sources.remove(key);
        self.order.retain(|other| other != key);
    }

    /// Takes the answer of the engine for a source.
    pub fn set_source(&mut self, key: &SourceKey, answer: Result<Arc<str>, String>) {
        self.revisions += 1;
        let made = match answer {
            Ok(text) if is_binary(&text) => {
                Source::Missing(format!("a binary file of {} bytes", text.len()))
            }
            Ok(text) => Source::Text(SourceText::new(text, self.revisions)),
            Err(why) => Source::Missing(why),
        };
        if let Some(slot) = self.sources.get_mut(key) {
            *slot = made;
        }
    }

    /// Takes colours; those of another text are dropped.
    pub fn set_colours(&mut self, coloured: Coloured) {
        let found = self
            .sources
            .iter_mut()
            .find(|(key, _)| key.path == coloured.key);
        let Some((_, Source::Text(text))) = found else {
            return;
        };
        if text.revision != coloured.revision {
            return;
        }
        let end = coloured.from + coloured.lines.len();
        if text.colours.len() < end {
            text.colours.resize(end, None);
        }
        for (index, pieces) in coloured.lines.into_iter().enumerate() {
            let at = coloured.from + index;
            if (coloured.exact || at >= text.exact)
                && let Some(slot) = text.colours.get_mut(at)
            {
                *slot = Some(pieces);
            }
        }
        if coloured.exact {
            text.exact = text.exact.max(end);
        }
    }

    /// Keeps what the snapshot shows of stops, for reading after it is gone.
    pub fn observe(&mut self, snapshot: &Snapshot) {
        for (row, inspect) in &snapshot.inspects {
            let is_last = snapshot
                .rows
                .get(row)
                .is_some_and(|row| row.ended_at == Some(inspect.stop));
            if inspect.scopes.is_empty() && !is_last {
                continue;
            }
            if let Some(known) = self.latest.get(row) {
                if Arc::ptr_eq(known, inspect) {
                    continue;
                }
                if known.stop < inspect.stop {
                    self.before.insert(*row, Arc::clone(known));
                }
            }
            self.latest.insert(*row, Arc::clone(inspect));
        }
        let lives = |row: &RowId| snapshot.rows.contains_key(row);
        self.latest.retain(|row, _| lives(row));
        self.before.retain(|row, _| lives(row));
        self.terminals.retain(|row, _| lives(row));
        self.output.retain(|row, _| row.as_ref().is_none_or(lives));
    }

    /// Forgets what was read of stops and output.
    pub fn forget_stops(&mut self) {
        self.latest.clear();
        self.before.clear();
        self.output.clear();
    }

    /// The last stop of a session whose variables were fetched.
    pub fn latest(&self, row: RowId) -> Option<&Inspect> {
        self.latest.get(&row).map(AsRef::as_ref)
    }

    /// The stop before the last one.
    pub fn before(&self, row: RowId) -> Option<&Inspect> {
        self.before.get(&row).map(AsRef::as_ref)
    }

    /// The screen of a root's terminal.
    pub fn screen(&self, root: RowId) -> Option<&vt100::Screen> {
        self.terminals.get(&root).map(vt100::Parser::screen)
    }

    /// Takes bytes of a root's terminal. What the emulator cannot stand is skipped.
    pub fn feed(&mut self, root: RowId, reset: Option<(u16, u16)>, bytes: &[u8]) {
        let (columns, rows) = reset.unwrap_or((80, 24));
        if reset.is_some() || !self.terminals.contains_key(&root) {
            self.terminals.insert(root, emulator(columns, rows));
        }
        let Some(parser) = self.terminals.get_mut(&root) else {
            return;
        };
        let fed =
            crate::panics::quietly(|| catch_unwind(AssertUnwindSafe(|| parser.process(bytes))));
        if fed.is_err() {
            let (rows, columns) =
                catch_unwind(AssertUnwindSafe(|| parser.screen().size())).unwrap_or((24, 80));
            tracing::warn!(%root, "the terminal emulator failed on {} bytes", bytes.len());
            self.terminals.insert(root, emulator(columns, rows));
        }
    }

    /// Gives the screen of a root's terminal another size.
    pub fn resize(&mut self, root: RowId, columns: u16, rows: u16) {
        let Some(parser) = self.terminals.get_mut(&root) else {
            return;
        };
        let size = (rows.max(SMALLEST_SCREEN), columns.max(SMALLEST_SCREEN));
        let resized = crate::panics::quietly(|| {
            catch_unwind(AssertUnwindSafe(|| {
                parser.screen_mut().set_size(size.0, size.1);
            }))
        });
        if resized.is_err() {
            self.terminals.insert(root, emulator(size.1, size.0));
        }
    }
}

fn emulator(columns: u16, rows: u16) -> vt100::Parser {
    vt100::Parser::new(rows.max(SMALLEST_SCREEN), columns.max(SMALLEST_SCREEN), 0)
}

fn is_binary(text: &str) -> bool {
    text.bytes().take(BINARY_LOOK).any(|byte| byte == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use daptree_model::{Row, Scope, StopNumber};

    fn key() -> SourceKey {
        SourceKey::file("/x/a.py")
    }

    #[test]
    fn lines_of_a_text() {
        for (text, lines) in [
            ("", vec![""]),
            ("a", vec!["a"]),
            ("a\r\nb\n", vec!["a", "b"]),
            ("a\n\n", vec!["a", ""]),
        ] {
            let source = SourceText::new(text.into(), 1);
            let got: Vec<_> = (0..source.len()).filter_map(|i| source.line(i)).collect();
            assert_eq!(got, lines, "{text:?}");
            assert_eq!(source.line(source.len()), None);
        }
    }

    #[test]
    fn a_binary_file_is_named_so() {
        let mut windows = Windows::default();
        windows.ask_source(key());
        windows.set_source(&key(), Ok("\0ELF".into()));
        assert!(
            matches!(windows.source(&key()), Some(Source::Missing(why)) if why.contains("binary"))
        );
        windows.set_source(&key(), Err("no such file".to_owned()));
        assert!(windows.text(&key()).is_none());
    }

    #[test]
    fn old_sources_go() {
        let mut windows = Windows::default();
        for number in 0..200 {
            windows.ask_source(SourceKey::file(format!("/{number}")));
        }
        assert_eq!(windows.sources.len(), SOURCES);
        assert!(windows.source(&SourceKey::file("/199")).is_some());
    }

    #[test]
    fn colours_of_another_text_are_dropped_and_guesses_never_win() {
        let mut windows = Windows::default();
        windows.ask_source(key());
        windows.set_source(&key(), Ok("a\nb\n".into()));
        let revision = windows.text(&key()).unwrap().revision;
        let mut send = |revision, exact, length| {
            windows.set_colours(Coloured {
                key: key().path,
                revision,
                from: 0,
                lines: vec![Arc::from([(length, crate::highlight::Token::Plain)])],
                exact,
            });
            windows.text(&key()).unwrap().pieces(0).map(|p| p[0].0)
        };
        assert_eq!(send(revision + 1, true, 1), None);
        assert_eq!(send(revision, false, 2), Some(2));
        assert_eq!(send(revision, true, 3), Some(3));
        assert_eq!(send(revision, false, 4), Some(3));
    }

    #[test]
    fn the_last_two_stops_are_kept() {
        let mut windows = Windows::default();
        let mut snapshot = Snapshot::default();
        snapshot
            .rows
            .insert(RowId(1), Arc::<Row>::new(crate::fixture::row(1, None)));
        for stop in [1, 2, 2, 3] {
            let inspect = Inspect {
                row: RowId(1),
                stop: StopNumber(stop),
                scopes: BTreeMap::from([(1, Vec::<Scope>::new())]),
                ..Inspect::default()
            };
            snapshot.inspects.insert(RowId(1), Arc::new(inspect));
            windows.observe(&snapshot);
        }
        snapshot.inspects.clear();
        windows.observe(&snapshot);
        assert_eq!(windows.latest(RowId(1)).unwrap().stop, StopNumber(3));
        assert_eq!(windows.before(RowId(1)).unwrap().stop, StopNumber(2));
        snapshot.rows.clear();
        windows.observe(&snapshot);
        assert!(windows.latest(RowId(1)).is_none());
    }

    #[test]
    fn odd_terminal_sizes_and_bytes_are_stood() {
        let mut windows = Windows::default();
        let bytes = "\u{1b}[999;999H漢字\u{1b}[1;1r\u{1b}[5L\u{1b}M漢\r\n".as_bytes();
        for size in [(1, 1), (0, 0), (2, 1), (1, 50), (500, 2)] {
            windows.feed(RowId(1), Some(size), bytes);
            for next in [(1, 1), (3, 7), (80, 24)] {
                windows.resize(RowId(1), next.0, next.1);
                windows.feed(RowId(1), None, bytes);
            }
            assert!(windows.screen(RowId(1)).is_some());
        }
    }
}
