//! What the tests of this layer share: small executables and the real Python of the machine.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use super::interpreter::{HowFound, Interpreter};
use super::search::{Env, on_path};

/// Writes an executable file. Another process writes it: a file that this one has open for
/// writing while a test beside it forks could not be executed ("text file busy").
pub(crate) fn executable(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let source = path.with_extension("source");
    std::fs::write(&source, text).unwrap();
    let done = Command::new("install")
        .args(["-m", "755"])
        .arg(&source)
        .arg(path)
        .status();
    assert!(done.unwrap().success());
    std::fs::remove_file(source).unwrap();
}

/// The environment of the tests, without a virtual environment.
pub(crate) fn process_env() -> Vec<(OsString, OsString)> {
    std::env::vars_os()
        .filter(|(name, _)| name != "VIRTUAL_ENV")
        .collect()
}

/// The interpreter behind `python3` of PATH.
pub(crate) fn python() -> PathBuf {
    static PYTHON: LazyLock<PathBuf> = LazyLock::new(|| {
        let env = process_env();
        let found = on_path(OsStr::new("python3"), Env(&env), Path::new("/")).unwrap();
        Interpreter::probe(&found, HowFound::Path, &env, Path::new("/"))
            .unwrap()
            .executable
    });
    PYTHON.clone()
}
