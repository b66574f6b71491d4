//! Reads a journal: the whole file, or what there is of one that was cut off. It must not know how
//! the entries are replayed.

use super::JournalError;
use super::entry::{Entry, FORMAT, Header, NAME};
use crate::tree::Millis;
use serde_json::Value;
use std::path::Path;

/// A journal that was read.
#[derive(Clone, Debug)]
pub struct Journal {
    /// Its header.
    pub header: Header,
    /// What happened, in order.
    pub entries: Vec<(Millis, Entry)>,
    /// The line, counted from 1, in which it breaks off.
    pub cut: Option<usize>,
}

impl Journal {
    /// Reads a journal. One that breaks off is read up to there.
    pub fn read(path: &Path) -> Result<Self, JournalError> {
        let bytes = std::fs::read(path).map_err(|source| JournalError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        Self::from_bytes(&bytes, path)
    }

    /// As [`Journal::read`], of a file's content.
    pub fn from_bytes(bytes: &[u8], path: &Path) -> Result<Self, JournalError> {
        let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let header = header(lines.next().unwrap_or_default(), path)?;
        let mut journal = Self {
            header,
            entries: Vec::new(),
            cut: None,
        };
        for (number, line) in (2..).zip(lines) {
            match serde_json::from_slice::<(u64, Entry)>(line) {
                Ok((at, entry)) => journal.entries.push((Millis(at), entry)),
                // Only the last line has no end: its writer was interrupted.
                Err(_) if !line.ends_with(b"\n") => journal.cut = Some(number),
                Err(source) => {
                    return Err(JournalError::Malformed {
                        path: path.to_owned(),
                        line: number,
                        source,
                    });
                }
            }
        }
        Ok(journal)
    }

    /// How many entries its writer could not keep.
    pub fn lost(&self) -> u64 {
        let lost = self.entries.iter().map(|(_, entry)| match entry {
            Entry::Lost(count) => *count,
            _ => 0,
        });
        lost.sum()
    }

    /// What it lacks, for people.
    pub fn lacks(&self) -> Option<String> {
        match (self.cut, self.lost()) {
            (None, 0) => None,
            (Some(line), 0) => Some(format!("no end: it breaks off in line {line}")),
            (None, lost) => Some(format!("{lost} entries lost")),
            (Some(line), lost) => Some(format!(
                "{lost} entries lost and no end: it breaks off in line {line}"
            )),
        }
    }
}

/// Another format may have another header: its number is looked at before anything else.
fn header(line: &[u8], path: &Path) -> Result<Header, JournalError> {
    let not_one = || JournalError::NotAJournal {
        path: path.to_owned(),
    };
    let value: Value = serde_json::from_slice(line).map_err(|_| not_one())?;
    if value.get("journal").and_then(Value::as_str) != Some(NAME) {
        return Err(not_one());
    }
    let found = value.get("format").and_then(Value::as_u64).unwrap_or(0);
    if found != FORMAT {
        let version = value.get("version").and_then(Value::as_str);
        return Err(JournalError::UnknownFormat {
            path: path.to_owned(),
            found,
            version: version.unwrap_or("of an unknown version").to_owned(),
        });
    }
    serde_json::from_value(value).map_err(|_| not_one())
}
