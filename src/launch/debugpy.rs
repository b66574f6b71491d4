//! Which debugpy serves an interpreter: its own, or the copy that daptree keeps in its data
//! folder. It must not know of the protocol, only of the package and where it lies.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::error::LaunchError;
use super::interpreter::{HowFound, Interpreter, OwnDebugpy};
use super::search::{self, Env};

mod install;
pub mod pins;

/// A debugpy that can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Debugpy {
    /// The folder that holds the package `debugpy`.
    pub folder: PathBuf,
    /// Its version.
    pub version: String,
    /// Whose it is.
    pub origin: Origin,
}

/// Whose a debugpy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The interpreter's own.
    Own,
    /// daptree's, in its data folder.
    Managed,
}

/// A line for the person who waits, such as `fetching debugpy 1.8.22 for Python 3.11 from PyPI`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// The text, one line.
    pub line: String,
}

/// Why there is no debugpy.
#[derive(Debug, thiserror::Error)]
pub enum DebugpyError {
    /// No way to install led there.
    #[error("{}", not_fetched(python, tried, target, download))]
    NotFetched {
        /// What it is for, such as `Python 3.11`.
        python: String,
        /// What was tried, with its end.
        tried: Vec<String>,
        /// The command that does it by hand on this machine.
        target: String,
        /// The command that fetches it on another machine.
        download: String,
    },
    /// The data folder cannot be used.
    #[error("{}: cannot be {action}: {source}; correct it, or set DAPTREE_DATA_DIR to another folder", path.display())]
    Folder {
        /// Which file or folder.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The system's words.
        source: std::io::Error,
    },
    /// Another daptree holds the lock for too long.
    #[error("{}: another daptree has been installing debugpy for {seconds} s; end it and try again", lock.display())]
    Locked {
        /// The lock's file.
        lock: PathBuf,
        /// How long it was waited for.
        seconds: u64,
    },
}

fn not_fetched(python: &str, tried: &[String], target: &str, download: &str) -> String {
    let mut text = format!(
        "debugpy {} for {python} could not be fetched",
        pins::VERSION
    );
    for line in tried {
        text.push_str("\n  tried ");
        text.push_str(line);
    }
    text.push_str("\nWith a network, this command puts it in place:\n  ");
    text.push_str(target);
    text.push_str(
        "\nWithout one, fetch it on another machine, copy the file here and install it:\n  ",
    );
    text.push_str(download);
    text
}

/// Finds the debugpy for an interpreter and installs daptree's copy under `data` when there is
/// none yet. Blocks: at once when it is there, at most 300 s when it is fetched.
pub fn find_or_install(
    interpreter: &Interpreter,
    data: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Debugpy, DebugpyError> {
    match find(interpreter, data) {
        Some(found) => Ok(found),
        None => install::install(interpreter, data, progress),
    }
}

/// Finds the debugpy for an interpreter without fetching anything.
pub fn find(interpreter: &Interpreter, data: &Path) -> Option<Debugpy> {
    if let Some(own) = interpreter.facts.debugpy.as_ref().filter(|own| usable(own)) {
        return Some(Debugpy {
            folder: own.folder.clone(),
            version: own.version.clone(),
            origin: Origin::Own,
        });
    }
    let build = Build::of(interpreter);
    let pure_will_do = !interpreter.facts.has_pip;
    managed(data, &build).or_else(|| managed(data, &Build::Pure).filter(|_| pure_will_do))
}

/// The oldest Python that runs the adapter of [`pins::VERSION`]; the debuggee's side runs on
/// older ones too.
pub const OLDEST_ADAPTER: (u32, u32) = (3, 10);

/// The interpreter to run the adapter with: the program's own, or where that is too old for it
/// another one on PATH. Blocks while that one is asked about itself.
pub fn adapter_interpreter(
    program: &Interpreter,
    debugpy: &Debugpy,
    env: &[(OsString, OsString)],
    cwd: &Path,
) -> Result<Interpreter, LaunchError> {
    if program.version >= OLDEST_ADAPTER {
        return Ok(program.clone());
    }
    let names = [
        "python3",
        "python",
        "python3.14",
        "python3.13",
        "python3.12",
        "python3.11",
    ];
    let other = names
        .iter()
        .chain(&["python3.10"])
        .filter_map(|name| search::on_path(OsStr::new(name), Env(env), cwd))
        .filter_map(|path| Interpreter::probe(&path, HowFound::Path, env, cwd).ok())
        .find(|other| other.version >= OLDEST_ADAPTER);
    match (other, debugpy.origin) {
        (Some(other), _) => Ok(other),
        // A version that pip chose for this interpreter may run on it.
        (None, Origin::Own) if debugpy.version != pins::VERSION => Ok(program.clone()),
        (None, _) => Err(LaunchError::NoAdapterPython {
            interpreter: program.path.clone(),
            version: program.version,
        }),
    }
}

/// daptree knows the ways of 1.8; a build of it without `parent_session_pid` cannot join.
fn usable(own: &OwnDebugpy) -> bool {
    own.version.starts_with("1.8.") && own.joins
}

/// Which of the files of a version fits an interpreter.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Build {
    /// The wheel for this ABI tag.
    Native(String),
    /// The wheel without compiled parts.
    Pure,
}

impl Build {
    fn of(interpreter: &Interpreter) -> Self {
        let facts = &interpreter.facts;
        let platform_fits = match facts.platform.as_str() {
            "linux-x86_64" => facts.glibc.is_some_and(|glibc| glibc >= pins::LINUX_GLIBC),
            platform => platform.starts_with("macosx-"),
        };
        if platform_fits && pins::NATIVE_TAGS.contains(&facts.abi_tag.as_str()) {
            Self::Native(facts.abi_tag.clone())
        } else {
            Self::Pure
        }
    }

    fn folder(&self, data: &Path) -> PathBuf {
        let tag = match self {
            Self::Native(tag) => tag,
            Self::Pure => "pure",
        };
        data.join("adapters")
            .join(format!("debugpy-{}-{tag}", pins::VERSION))
    }
}

/// A managed folder comes into being by one rename, so what is there is whole.
fn managed(data: &Path, build: &Build) -> Option<Debugpy> {
    let folder = build.folder(data);
    folder
        .join("debugpy/__main__.py")
        .is_file()
        .then(|| Debugpy {
            folder,
            version: pins::VERSION.to_owned(),
            origin: Origin::Managed,
        })
}

#[cfg(test)]
mod tests;
