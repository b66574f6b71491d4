//! What processes wrote, as front ends read it: lines by cursor, never the whole.

use crate::RowId;
use serde::{Deserialize, Serialize};

/// Where a piece of text came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Stream {
    /// The process's standard output.
    Stdout,
    /// The process's standard error.
    Stderr,
    /// A terminal, which merges both.
    Terminal,
    /// Words of the adapter or of daptree.
    Console,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OutputLine {
    /// Its number in the view that was asked for, from 0, dropped ones counted.
    pub number: u64,
    /// Who wrote it.
    pub row: RowId,
    /// To what.
    pub stream: Stream,
    /// The text without its line end; SGR colour sequences are kept, all others are gone.
    pub text: String,
    /// Its end has not been written yet.
    pub open: bool,
}

/// A window into the output of one row, or of all (`row: None`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OutputWindow {
    /// Whose output; `None`: the merged view.
    pub row: Option<RowId>,
    /// The lines, in order of arrival.
    pub lines: Vec<OutputLine>,
    /// How many lines there are in all, dropped ones counted.
    pub total: u64,
    /// How many of the first lines are gone.
    pub dropped: u64,
}
