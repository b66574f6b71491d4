//! The output of a whole tree: every line once, in order of arrival, read by cursor. It must not
//! know who writes or reads, nor wait for either; a limit drops the oldest, counted exactly.
//!
//! A line takes its sequence number when it is complete, so that lines of several processes never
//! mix; what is not complete yet is read beside them ([`OutputStore::partials`]). A cursor counts
//! lines: of one row, or of all rows together (the sequence number). Line numbers are never
//! reused; in the merged view those that were dropped leave holes.
//!
//! Beyond the limit of the tree the row with most text loses its oldest: a process that printed
//! one line before another's flood keeps it.

use super::StreamKind;
use super::clean::Cleaner;
use super::decode::Decoder;
use super::row::{RowLines, Stored};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// How much text is kept, in bytes, line ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Of one row.
    pub row: usize,
    /// Of all rows together.
    pub total: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            row: 8 << 20,
            total: 64 << 20,
        }
    }
}

/// One line. `text` keeps colours as SGR sequences and no other control but tab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// The row that printed it.
    pub row: u32,
    /// Its number among the lines of its row, from 0.
    pub number: u64,
    /// Its number among the lines of all rows, from 0.
    pub sequence: u64,
    /// What it was printed to.
    pub stream: StreamKind,
    /// Without its line end.
    pub text: &'a str,
    /// Whether a line end followed; else it goes on in the next line of its stream, or the stream
    /// ended.
    pub ended: bool,
}

/// A line that is not complete yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partial<'a> {
    /// The row that prints it.
    pub row: u32,
    /// What it prints to.
    pub stream: StreamKind,
    /// What there is of it.
    pub text: &'a str,
}

/// Exact counts, of a row or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Lines ever completed.
    pub lines: u64,
    /// Lines dropped.
    pub dropped_lines: u64,
    /// Bytes kept, line ends included.
    pub bytes: u64,
    /// Bytes dropped, line ends included.
    pub dropped_bytes: u64,
}

#[derive(Debug)]
struct Row {
    lines: RowLines,
    open: Vec<(StreamKind, Decoder, Cleaner)>,
    revision: u64,
}

/// Consecutive lines of one row in the merged view.
#[derive(Clone, Copy, Debug)]
struct Run {
    first_sequence: u64,
    first_line: u64,
    row: u32,
    count: u32,
}

/// The output of a tree. One writer; wrap it in a lock to share it.
#[derive(Debug)]
pub struct OutputStore {
    limits: Limits,
    rows: BTreeMap<u32, Row>,
    merged: VecDeque<Run>,
    /// Runs of `merged` that have no line left.
    dead_runs: usize,
    next_sequence: u64,
    bytes: usize,
    /// Dropped, with the rows that were removed.
    dropped: (u64, u64),
    revision: u64,
}

impl OutputStore {
    /// An empty store.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            rows: BTreeMap::new(),
            merged: VecDeque::new(),
            dead_runs: 0,
            next_sequence: 0,
            bytes: 0,
            dropped: (0, 0),
            revision: 0,
        }
    }

    /// Takes what `row` has written to `stream`.
    pub fn append(&mut self, row: u32, stream: StreamKind, bytes: &[u8]) {
        self.write(row, stream, |decoder, cleaner, push| {
            cleaner.push(&decoder.push(bytes), push);
        });
    }

    /// `stream` of `row` has ended: its unfinished line becomes a line without line end.
    pub fn finish(&mut self, row: u32, stream: StreamKind) {
        self.write(row, stream, |decoder, cleaner, push| {
            if let Some(character) = decoder.finish() {
                cleaner.push(character.encode_utf8(&mut [0; 4]), &mut *push);
            }
            if let Some(line) = cleaner.finish() {
                push(&line, false);
            }
        });
    }

    fn write(
        &mut self,
        id: u32,
        stream: StreamKind,
        feed: impl FnOnce(&mut Decoder, &mut Cleaner, &mut dyn FnMut(&str, bool)),
    ) {
        self.revision += 1;
        let limit = self.limits.row;
        let row = self.rows.entry(id).or_insert_with(|| Row {
            lines: RowLines::new(limit),
            open: Vec::new(),
            revision: 0,
        });
        row.revision = self.revision;
        let Row { lines, open, .. } = row;
        let place = open
            .iter()
            .position(|(kind, ..)| *kind == stream)
            .unwrap_or(open.len());
        if place == open.len() {
            open.push((stream, Decoder::default(), Cleaner::default()));
        }
        let Some((_, decoder, cleaner)) = open.get_mut(place) else {
            return;
        };
        let (merged, sequence, dead) = (
            &mut self.merged,
            &mut self.next_sequence,
            &mut self.dead_runs,
        );
        let before = lines.bytes as u64 + lines.dropped_bytes;
        let dropped = (lines.dropped_lines, lines.dropped_bytes);
        feed(decoder, cleaner, &mut |text, ended| {
            let number = lines.next_line();
            // The merged view and the row begin a run together, and only then.
            let follows = match merged.back_mut() {
                Some(run) if run.row == id && run.count < u32::MAX => {
                    run.count += 1;
                    true
                }
                _ => false,
            };
            if !follows {
                let (first_sequence, first_line) = (*sequence, number);
                merged.push_back(Run {
                    first_sequence,
                    first_line,
                    row: id,
                    count: 1,
                });
            }
            lines.push(stream, text, ended, *sequence, follows);
            *sequence += 1;
            while lines.bytes > limit {
                *dead += lines.drop_oldest().1;
            }
        });
        let written = (lines.bytes as u64 + lines.dropped_bytes) - before;
        let now = (
            lines.dropped_lines - dropped.0,
            lines.dropped_bytes - dropped.1,
        );
        self.dropped = (self.dropped.0 + now.0, self.dropped.1 + now.1);
        self.bytes = (self.bytes as u64 + written - now.1) as usize;
        self.keep_total();
    }

    fn keep_total(&mut self) {
        while self.bytes > self.limits.total {
            let Some(row) = self.rows.values_mut().max_by_key(|row| row.lines.bytes) else {
                break;
            };
            let lines = row.lines.dropped_lines;
            let (bytes, dead) = row.lines.drop_oldest();
            if bytes == 0 && row.lines.dropped_lines == lines {
                break;
            }
            self.bytes -= bytes;
            self.dead_runs += dead;
            self.dropped.0 += row.lines.dropped_lines - lines;
            self.dropped.1 += bytes as u64;
        }
        if self.dead_runs > 256 && self.dead_runs > self.merged.len() / 2 {
            self.forget_dead_runs();
        }
    }

    fn forget_dead_runs(&mut self) {
        let rows = &self.rows;
        self.merged.retain(|run| {
            rows.get(&run.row)
                .is_some_and(|row| run.first_line + u64::from(run.count) > row.lines.first_line())
        });
        self.dead_runs = 0;
    }

    /// Forgets everything that `row` printed. Its lines do not count as dropped.
    pub fn remove(&mut self, row: u32) {
        if let Some(row) = self.rows.remove(&row) {
            self.revision += 1;
            self.bytes -= row.lines.bytes;
            self.dead_runs += row.lines.run_count();
            self.forget_dead_runs();
        }
    }

    /// Grows with every change, so that a reader sees whether there is anything new: of `row`, or
    /// of the whole.
    pub fn revision(&self, row: Option<u32>) -> u64 {
        match row {
            Some(row) => self.rows.get(&row).map_or(0, |row| row.revision),
            None => self.revision,
        }
    }

    /// The rows that have printed anything, in ascending order.
    pub fn rows(&self) -> impl Iterator<Item = u32> + '_ {
        self.rows.keys().copied()
    }

    /// Exact counts of `row`, or of all rows ever.
    pub fn counts(&self, row: Option<u32>) -> Counts {
        let Some(row) = row else {
            return Counts {
                lines: self.next_sequence,
                dropped_lines: self.dropped.0,
                bytes: self.bytes as u64,
                dropped_bytes: self.dropped.1,
            };
        };
        self.rows
            .get(&row)
            .map_or_else(Counts::default, |row| Counts {
                lines: row.lines.next_line(),
                dropped_lines: row.lines.dropped_lines,
                bytes: row.lines.bytes as u64,
                dropped_bytes: row.lines.dropped_bytes,
            })
    }

    /// Where kept lines begin and end, as cursors. In the merged view (`None`) lines within may
    /// have been dropped.
    pub fn extent(&self, row: Option<u32>) -> Range<u64> {
        if let Some(row) = row {
            let lines = self.rows.get(&row).map(|row| &row.lines);
            return lines.map_or(0..0, |lines| lines.first_line()..lines.next_line());
        }
        let first = self.forward(None, 0).next().map(|line| line.sequence);
        first.unwrap_or(self.next_sequence)..self.next_sequence
    }

    /// The kept lines whose cursors are in `range`, in order.
    pub fn lines(&self, row: Option<u32>, range: Range<u64>) -> Vec<Line<'_>> {
        let cursor = |line: &Line<'_>| {
            if row.is_some() {
                line.number
            } else {
                line.sequence
            }
        };
        self.forward(row, range.start)
            .take_while(|line| cursor(line) < range.end)
            .collect()
    }

    /// The first `count` kept lines from the cursor on.
    pub fn lines_from(&self, row: Option<u32>, cursor: u64, count: usize) -> Vec<Line<'_>> {
        self.forward(row, cursor).take(count).collect()
    }

    /// The last `count` kept lines before the cursor, in order: `u64::MAX` for the newest.
    pub fn lines_before(&self, row: Option<u32>, cursor: u64, count: usize) -> Vec<Line<'_>> {
        let mut lines: Vec<Line<'_>> = self.backward(row, cursor).take(count).collect();
        lines.reverse();
        lines
    }

    /// The unfinished lines, of `row` or of all.
    pub fn partials(&self, row: Option<u32>) -> impl Iterator<Item = Partial<'_>> + '_ {
        let rows = match row {
            Some(row) => self.rows.range(row..=row),
            None => self.rows.range(..),
        };
        rows.flat_map(|(id, row)| {
            row.open.iter().filter_map(|(stream, _, cleaner)| {
                let text = cleaner.partial()?;
                Some(Partial {
                    row: *id,
                    stream: *stream,
                    text,
                })
            })
        })
    }

    fn forward(&self, row: Option<u32>, cursor: u64) -> Box<dyn Iterator<Item = Line<'_>> + '_> {
        if let Some(id) = row {
            let Some(row) = self.rows.get(&id) else {
                return Box::new(std::iter::empty());
            };
            let range = cursor.max(row.lines.first_line())..row.lines.next_line();
            return Box::new(range.filter_map(move |number| line(id, &row.lines, number)));
        }
        let after = self
            .merged
            .partition_point(|run| run.first_sequence <= cursor);
        let runs = self.merged.range(after.saturating_sub(1)..);
        Box::new(runs.flat_map(move |run| {
            let skip = cursor.saturating_sub(run.first_sequence);
            self.lines_of(run, skip..u64::from(run.count))
        }))
    }

    fn backward(&self, row: Option<u32>, cursor: u64) -> Box<dyn Iterator<Item = Line<'_>> + '_> {
        if let Some(id) = row {
            let Some(row) = self.rows.get(&id) else {
                return Box::new(std::iter::empty());
            };
            let range = row.lines.first_line()..cursor.min(row.lines.next_line());
            return Box::new(
                range
                    .rev()
                    .filter_map(move |number| line(id, &row.lines, number)),
            );
        }
        let after = self
            .merged
            .partition_point(|run| run.first_sequence < cursor);
        Box::new(self.merged.range(..after).rev().flat_map(move |run| {
            let end = (cursor - run.first_sequence).min(u64::from(run.count));
            self.lines_of(run, 0..end).rev()
        }))
    }

    /// The kept lines of a run; `part` counts from its first.
    fn lines_of(
        &self,
        run: &Run,
        part: Range<u64>,
    ) -> impl DoubleEndedIterator<Item = Line<'_>> + use<'_> {
        let Run {
            row: id,
            first_line,
            ..
        } = *run;
        let found = self.rows.get(&id);
        let kept = found.map_or(u64::MAX, |row| row.lines.first_line());
        let begin = (first_line + part.start).max(kept);
        (begin..first_line + part.end).filter_map(move |number| line(id, &found?.lines, number))
    }
}

fn line(row: u32, lines: &RowLines, number: u64) -> Option<Line<'_>> {
    let Stored {
        number,
        sequence,
        stream,
        text,
        ended,
    } = lines.line(number)?;
    Some(Line {
        row,
        number,
        sequence,
        stream,
        text,
        ended,
    })
}

#[cfg(test)]
mod tests;
