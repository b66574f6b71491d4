//! The journal of a run: what the core heard and what the processes wrote, with time, so that the
//! same snapshots and the same output come again ([`Player`]). A bug report is a file. It must not
//! know how a tree is debugged, nor hold what is secret ([`secrets`]).
//!
//! A journal is text: a header, then one JSON value a line, `[ms, entry]`.

mod entry;
mod player;
mod reader;
mod replayer;
pub mod secrets;
mod writer;

pub use entry::{Entry, FORMAT, Header};
pub use player::Player;
pub use reader::Journal;
pub use replayer::start as replay;
pub use writer::{Recorder, Recording, Written};

use std::io;
use std::path::PathBuf;

/// Why a journal cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It cannot be written.
    #[error("{}: the journal cannot be written: {source}; name another file", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// It cannot be read.
    #[error("{}: the journal cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// Its first line is no header.
    #[error(
        "{}: no journal of daptree: its first line is not the header of one; `daptree --record \
         FILE PROGRAM` makes one",
        path.display()
    )]
    NotAJournal {
        /// The file.
        path: PathBuf,
    },
    /// It was written in a format that this daptree does not know.
    #[error(
        "{}: the journal has format {found} (daptree {version} wrote it), and this daptree reads \
         format {FORMAT} alone: replay it with daptree {version}",
        path.display()
    )]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u64,
        /// Who wrote it.
        version: String,
    },
    /// A line in its middle is not to be understood.
    #[error("{}:{line}: no entry of a journal: {source}; the file was changed or damaged", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The parser's words.
        source: serde_json::Error,
    },
}
