//! What the user typed → what to start: the interpreter, its flags, the program and its words.
//! It must not know of DAP, of sessions or of terminals, and it starts nothing but interpreters
//! that are asked about themselves. Everything here may block for as long as they take.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

pub mod attach;
pub mod child;
pub mod debugpy;
mod error;
mod interpreter;
mod python_args;
mod resolve;
mod script;
pub mod search;
pub mod shim;

#[cfg(test)]
pub(crate) mod fixtures;
#[cfg(test)]
mod tests;

pub use error::LaunchError;
pub use interpreter::{Facts, HowFound, Interpreter, OLDEST, OwnDebugpy, PROBE_DEADLINE};
pub use python_args::Target;

use resolve::Resolver;

/// Where the user stands: passed in, so that a launch depends on nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ambient {
    /// The working folder, absolute.
    pub cwd: PathBuf,
    /// The environment.
    pub env: Vec<(OsString, OsString)>,
}

impl Ambient {
    /// That of this process.
    pub fn of_this_process() -> std::io::Result<Self> {
        Ok(Self {
            cwd: std::env::current_dir()?,
            env: std::env::vars_os().collect(),
        })
    }
}

/// What flags and settings say about a launch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LaunchOptions {
    /// `--python`: a path, or a command on PATH.
    pub python: Option<OsString>,
    /// `python` of `.daptree.toml`: a path, or a command on PATH.
    pub settings_python: Option<PathBuf>,
    /// `--cwd`.
    pub cwd: Option<PathBuf>,
    /// `--env`, in the order typed.
    pub env: Vec<(OsString, OsString)>,
}

/// A program that can be started under the debugger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// What runs it.
    pub interpreter: Interpreter,
    /// The interpreter's flags, as typed.
    pub flags: Vec<OsString>,
    /// What it runs, as Python is to see it.
    pub target: Target,
    /// The program's words, byte for byte.
    pub args: Vec<OsString>,
    /// The folder it runs in, absolute.
    pub cwd: PathBuf,
    /// Its whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// What a person would call it: `main.py`, `-m pytest`, `-c`.
    pub title: String,
    /// The main file, absolute, where it is one.
    pub program: Option<PathBuf>,
}

/// Finds out what to start. Blocks while an interpreter is asked about itself (at most
/// [`PROBE_DEADLINE`]); the program itself is not touched.
pub fn resolve(
    words: &[OsString],
    options: &LaunchOptions,
    ambient: &Ambient,
) -> Result<Launch, LaunchError> {
    let Some((command, args)) = words.split_first() else {
        return Err(LaunchError::NoProgram);
    };
    Resolver::new(options, ambient)?.resolve(command, args)
}

/// The interpreter that a file of the working folder would get, when its first line names none.
/// Blocks as [`resolve`] does.
pub fn default_interpreter(
    options: &LaunchOptions,
    ambient: &Ambient,
) -> Result<Interpreter, LaunchError> {
    Resolver::new(options, ambient)?.default_interpreter()
}

/// The command that runs a launch under debugpy: it connects to the adapter that listens for
/// it at `host:port`, waits for a client, and then runs the program. debugpy is named by its
/// folder, so that nothing is added to the program's PYTHONPATH. With `launcher` (see
/// [`shim::write_launcher`]) the program finds itself as Python alone would start it; without
/// it debugpy's own ways show: code after `-c` is not `__main__`, a file named relatively has a
/// relative `__file__` and `sys.path[0] == ""`, and tracebacks hold debugpy's frames.
pub fn debuggee_command(
    launch: &Launch,
    launcher: Option<&Path>,
    debugpy_dir: &Path,
    host: &str,
    port: u16,
) -> Vec<OsString> {
    let mut command = vec![launch.interpreter.path.clone().into_os_string()];
    command.extend(launch.flags.iter().cloned());
    match launcher {
        Some(launcher) => command.extend([launcher.into(), debugpy_dir.into()]),
        None => command.push(debugpy_dir.join("debugpy").into_os_string()),
    }
    let address = if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    };
    let words = [
        "--connect",
        &address,
        "--wait-for-client",
        "--configure-subProcess",
        "true",
    ];
    command.extend(words.iter().map(OsString::from));
    match &launch.target {
        Target::File(file) => command.push(not_a_flag(file)),
        Target::Module(module) => command.extend(["-m".into(), module.clone()]),
        Target::Code(code) => command.extend(["-c".into(), code.clone()]),
    }
    command.extend(launch.args.iter().cloned());
    command
}

/// debugpy takes every word that opens with a dash for a switch of its own.
fn not_a_flag(file: &OsStr) -> OsString {
    if file.as_encoded_bytes().starts_with(b"-") {
        return Path::new(".").join(file).into_os_string();
    }
    file.to_owned()
}
