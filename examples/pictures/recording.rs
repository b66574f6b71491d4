//! The form of a recorded run: what a front end was told, what was typed, and where a picture is
//! taken, one JSON value a line. Reads are kept by question, not by number, so that a front end of
//! another size, or a later one, finds its answers. It knows neither engine nor files.

use daptree_model::{Answer, EngineError, FromEngine, OutputWindow, ReadOp, RowId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a read came to.
pub type Answered = Result<Answer, EngineError>;

/// A line of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Entry {
    /// Keys that were typed, as `Front::type_keys` takes them.
    Keys(String),
    /// A snapshot that was current when a frame was drawn, or bytes of a terminal.
    Engine(FromEngine),
    /// From here on a read is answered so; output is kept whole and cut to what is asked.
    Answer {
        /// The question.
        what: ReadOp,
        /// The answer.
        result: Answered,
    },
    /// The frame is a picture.
    Picture {
        /// The picture's name, without an extension.
        name: String,
        /// Of a screen of so many columns and rows.
        size: (u16, u16),
    },
}

/// The answers that a recording holds so far.
#[derive(Debug, Default)]
pub struct Answers {
    exact: Vec<(ReadOp, Answered)>,
    output: BTreeMap<Option<RowId>, OutputWindow>,
}

impl Answers {
    /// Keeps an answer in the place of an earlier one. Gives whether anything changed.
    pub fn learn(&mut self, what: &ReadOp, result: &Answered) -> bool {
        if let (ReadOp::Output { row, .. }, Ok(Answer::Output(window))) = (what, result) {
            return self.output.insert(*row, window.clone()).as_ref() != Some(window);
        }
        match self.exact.iter_mut().find(|known| known.0 == *what) {
            Some(known) if known.1 == *result => false,
            Some(known) => {
                known.1.clone_from(result);
                true
            }
            None => {
                self.exact.push((what.clone(), result.clone()));
                true
            }
        }
    }

    /// The answer to a read; `None`: it was never made.
    pub fn answer(&self, what: &ReadOp) -> Option<Answered> {
        if let ReadOp::Output { row, from, count } = what {
            return Some(Ok(Answer::Output(self.window(*row, *from, *count))));
        }
        let known = self.exact.iter().find(|known| known.0 == *what);
        known.map(|known| known.1.clone())
    }

    /// A row that has written nothing has no window in the recording.
    fn window(&self, row: Option<RowId>, from: u64, count: u32) -> OutputWindow {
        let Some(whole) = self.output.get(&row) else {
            return OutputWindow {
                row,
                ..OutputWindow::default()
            };
        };
        let lines = whole.lines.iter().filter(|line| line.number >= from);
        OutputWindow {
            lines: lines.take(count as usize).cloned().collect(),
            ..*whole
        }
    }
}
