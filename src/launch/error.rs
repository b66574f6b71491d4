//! Why a program cannot be debugged, in words for people. It must not know how anything was
//! looked for; each error names the program and what to do.

use std::path::PathBuf;

/// What can be debugged, for messages.
const DEBUGGABLE: &str =
    "daptree debugs Python files, python commands and commands written in Python (such as pytest)";

/// A program that cannot be started under the debugger. Nothing was started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// There are no words.
    #[error("no program was named; write it after the options, as in `daptree -- pytest -n 2`")]
    NoProgram,
    /// The program is not there.
    #[error("{program}: no such program ({looked}); {DEBUGGABLE}")]
    MissingProgram {
        /// As typed.
        program: String,
        /// Where it was looked for.
        looked: String,
    },
    /// The file after `python` is not there.
    #[error("{file}: no such file in {}; correct the name or the folder", cwd.display())]
    MissingFile {
        /// As typed.
        file: String,
        /// The program's working folder.
        cwd: PathBuf,
    },
    /// The program is a folder.
    #[error(
        "{program} is a folder; name a file in it, or `python {program}` if it holds a __main__.py"
    )]
    Folder {
        /// As typed.
        program: String,
    },
    /// The folder after `python` has nothing to run.
    #[error("{program} is a folder without a __main__.py; name a file in it")]
    FolderWithoutMain {
        /// As typed.
        program: String,
    },
    /// The file may not be executed.
    #[error(
        "{program} is not executable; `chmod +x` it, or write `python {program}` if it is Python"
    )]
    NotExecutable {
        /// As typed.
        program: String,
    },
    /// The file cannot be read.
    #[error("{program} cannot be read: {reason}; {DEBUGGABLE}")]
    Unreadable {
        /// As typed.
        program: String,
        /// The system's words.
        reason: String,
    },
    /// The program is not Python.
    #[error("{program} is {what}, which daptree cannot debug; {DEBUGGABLE}")]
    NotPython {
        /// As typed.
        program: String,
        /// What it is, with its article.
        what: String,
    },
    /// `python` without a program, or with its program on standard input.
    #[error("{command} has no program to debug; name a file, -m MODULE or -c CODE after it")]
    NoPythonProgram {
        /// The command as typed.
        command: String,
    },
    /// A flag of Python lacks its word, or does not exist.
    #[error("{command}: {what}; see `python --help`")]
    PythonUsage {
        /// The interpreter as typed.
        command: String,
        /// What is wrong with which flag.
        what: String,
    },
    /// The interpreter is not there.
    #[error("{interpreter}: no such Python ({how}); name another with --python PATH")]
    MissingInterpreter {
        /// What was looked for.
        interpreter: String,
        /// Who asked for it.
        how: String,
    },
    /// The interpreter does not run.
    #[error("{}: this Python does not run ({how}): {reason}; name another with --python PATH", interpreter.display())]
    BrokenInterpreter {
        /// Its path.
        interpreter: PathBuf,
        /// Who asked for it.
        how: String,
        /// What happened.
        reason: String,
    },
    /// The interpreter is too old for debugpy.
    #[error("{}: this is Python {version} ({how}), and debugging needs 3.8 or newer; name another with --python PATH", interpreter.display())]
    OldInterpreter {
        /// Its path.
        interpreter: PathBuf,
        /// As it says itself.
        version: String,
        /// Who asked for it.
        how: String,
    },
    /// debugpy's adapter needs a newer interpreter than the program's.
    #[error("{}: debugging Python {}.{} needs a Python 3.10 or newer beside it, for debugpy's adapter; put one on PATH", interpreter.display(), version.0, version.1)]
    NoAdapterPython {
        /// The program's interpreter.
        interpreter: PathBuf,
        /// Its version.
        version: (u32, u32),
    },
    /// The working folder is not there.
    #[error("{}: no such folder to run in; correct --cwd", .0.display())]
    MissingCwd(PathBuf),
}

impl LaunchError {
    /// The exit status daptree ends with.
    pub const EXIT_STATUS: u8 = 125;
}
