//! A breakpoint as it is typed: `FILE:LINE` or `FILE:LINE if CONDITION`. It must not know of
//! sessions or adapters; whether the line can stop is for the adapter to say.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// One breakpoint of the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BreakpointSpec {
    /// The file, absolute. A relative name belongs to the real working folder.
    pub path: PathBuf,
    /// The line, counted from 1.
    pub line: u32,
    /// The condition, in the language of the program.
    pub condition: Option<String>,
}

impl From<BreakpointSpec> for daptree_model::BreakpointSpec {
    fn from(typed: BreakpointSpec) -> Self {
        Self {
            condition: typed.condition,
            ..Self::line(typed.path.to_string_lossy(), typed.line)
        }
    }
}

/// Why a location cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LocationError {
    /// There is no `:LINE`.
    #[error("-b {typed}: no line; write it as {typed}:LINE, for example {typed}:12")]
    NoLine {
        /// The whole location.
        typed: String,
    },
    /// There is no file before the line.
    #[error("-b {typed}: no file; write it as FILE:LINE, for example main.py:12")]
    NoFile {
        /// The whole location.
        typed: String,
    },
    /// The line is no number that a line can have.
    #[error("-b {typed}: {line:?} is no line of {file}; lines are numbers from 1 on")]
    BadLine {
        /// The whole location.
        typed: String,
        /// The file it is about.
        file: String,
        /// What stands where the line should be.
        line: String,
    },
    /// ` if ` is followed by nothing.
    #[error("-b {typed}: nothing follows `if`; write a condition, or leave the `if` out")]
    NoCondition {
        /// The whole location.
        typed: String,
    },
    /// The condition is not UTF-8, which the protocol needs.
    #[error("-b {typed}: the condition is not UTF-8 text; write it in UTF-8")]
    ConditionEncoding {
        /// The whole location, with replacement characters.
        typed: String,
    },
    /// The file is not there.
    #[error(
        "-b {typed}: there is no file {}; correct the name, or add --pending to `daptree run` \
         when the program makes the file later",
        path.display()
    )]
    MissingFile {
        /// The whole location.
        typed: String,
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The name is a folder's or a device's.
    #[error("-b {typed}: {} is not a file; a breakpoint needs a source file", path.display())]
    NotAFile {
        /// The whole location.
        typed: String,
        /// What was found.
        path: PathBuf,
    },
}

impl BreakpointSpec {
    /// Reads a location. The last `:` before the number divides file and line; the first
    /// ` if ` after it starts the condition. With `pending` the file may be missing.
    pub fn parse(text: &OsStr, cwd: &Path, pending: bool) -> Result<Self, LocationError> {
        let typed = text.to_string_lossy().into_owned();
        let (place, condition) = divide(text.as_bytes());
        let condition = match condition {
            None => None,
            Some(bytes) => Some(
                std::str::from_utf8(bytes)
                    .map_err(|_| LocationError::ConditionEncoding {
                        typed: typed.clone(),
                    })?
                    .trim(),
            ),
        };
        if condition == Some("") {
            return Err(LocationError::NoCondition { typed });
        }
        let Some(at) = place.iter().rposition(|byte| *byte == b':') else {
            return Err(LocationError::NoLine { typed });
        };
        let (file, line) = place.split_at(at);
        let line = String::from_utf8_lossy(line.get(1..).unwrap_or_default()).into_owned();
        if file.is_empty() {
            return Err(LocationError::NoFile { typed });
        }
        let number = line.trim().parse::<u32>().ok().filter(|number| *number > 0);
        let Some(number) = number else {
            let file = String::from_utf8_lossy(file).into_owned();
            return Err(LocationError::BadLine { typed, file, line });
        };
        let path = absolute(Path::new(&OsString::from_vec(file.to_vec())), cwd);
        match std::fs::metadata(&path) {
            Ok(found) if found.is_file() => {}
            Ok(_) => return Err(LocationError::NotAFile { typed, path }),
            Err(_) if pending => {}
            Err(_) => return Err(LocationError::MissingFile { typed, path }),
        }
        Ok(Self {
            path,
            line: number,
            condition: condition.map(str::to_owned),
        })
    }
}

/// Splits off the condition: at the first ` if ` that follows `:LINE`, so that a file may
/// have ` if ` in its name and a condition may hold a conditional expression.
fn divide(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    const WORD: &[u8] = b" if ";
    let mut from = 0;
    while let Some(at) = text
        .get(from..)
        .and_then(|rest| rest.windows(WORD.len()).position(|window| window == WORD))
        .map(|at| at + from)
    {
        let (place, rest) = text.split_at(at);
        let line = place
            .rsplit(|byte| *byte == b':')
            .next()
            .unwrap_or_default();
        let has_line = place.contains(&b':')
            && !line.trim_ascii().is_empty()
            && line.trim_ascii().iter().all(u8::is_ascii_digit);
        if has_line {
            return (place, rest.get(WORD.len()..));
        }
        from = at + 1;
    }
    match text.strip_suffix(b" if") {
        Some(place) if place.last().is_some_and(u8::is_ascii_digit) => (place, Some(b"")),
        _ => (text, None),
    }
}

fn absolute(file: &Path, cwd: &Path) -> PathBuf {
    if file.is_absolute() {
        return file.to_path_buf();
    }
    let real = cwd.canonicalize().unwrap_or_else(|_| cwd.to_path_buf());
    // `.` goes, `..` stays: with a link before it only the kernel knows where it leads.
    real.join(file).components().collect()
}
