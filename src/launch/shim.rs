//! The Python files that travel in the binary, put on disk, and the command that starts
//! debugpy's adapter through one of them. It must not know what the adapter says.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::interpreter::Interpreter;

const QUICK_ADAPTER: &str = include_str!("../bootstrap/quick_adapter.py");
const LAUNCHER: &str = include_str!("../bootstrap/debugpy_launcher.py");
const INJECT: &str = include_str!("../bootstrap/inject.py");
const INJECTED: &str = include_str!("../bootstrap/attach_pid_injected.py");

/// Tells the quick adapter the folder that [`write_injector`] gives.
pub const INJECTOR_VARIABLE: &str = "DAPTREE_INJECTOR";

/// Writes the quick adapter under `data` and gives its path. The name holds the hash of the
/// text, so that versions of daptree do not disturb each other; a file that is there and whole
/// is left alone.
pub fn write_shim(data: &Path) -> io::Result<PathBuf> {
    write(data, "quick_adapter-", ".py", QUICK_ADAPTER)
}

/// Writes the launcher of programs under `data`, as [`write_shim`] does, and gives its path.
/// debugpy leaves every file out of stacks whose path ends with `debugpy_launcher.py`.
pub fn write_launcher(data: &Path) -> io::Result<PathBuf> {
    write(data, "", "-debugpy_launcher.py", LAUNCHER)
}

/// Writes the scripts that put the debugpy of `debugpy_dir` into a running process under `data`, as
/// [`write_shim`] does, and gives their folder.
pub fn write_injector(data: &Path, debugpy_dir: &Path) -> io::Result<PathBuf> {
    let parent = debugpy_dir.to_string_lossy();
    let parent = parent.replace('\\', r"\\").replace('"', r#"\""#);
    let injected = INJECTED.replace("@PARENT@", &parent);
    let folder = data
        .join("shims")
        .join(format!("inject-{}", hash(&[INJECT, &injected].concat())));
    put(&folder, "inject.py", INJECT)?;
    put(&folder, "attach_pid_injected.py", &injected)?;
    Ok(folder)
}

fn write(data: &Path, before: &str, after: &str, text: &str) -> io::Result<PathBuf> {
    put(
        &data.join("shims"),
        &format!("{before}{}{after}", hash(text)),
        text,
    )
}

/// Enough of a hash of `text` to tell versions apart.
fn hash(text: &str) -> String {
    let mut name = String::new();
    for byte in Sha256::digest(text.as_bytes()).iter().take(6) {
        let _ = write!(name, "{byte:02x}");
    }
    name
}

fn put(folder: &Path, name: &str, text: &str) -> io::Result<PathBuf> {
    let text = text.as_bytes();
    let path = folder.join(name);
    if fs::read(&path).is_ok_and(|there| there == text) {
        return Ok(path);
    }
    fs::create_dir_all(folder)?;
    let thread = std::thread::current().id();
    let new = folder.join(format!(".new-{}-{thread:?}", std::process::id()));
    let written = fs::File::create(&new)
        .and_then(|mut file| file.write_all(text).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&new, &path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written.map(|()| path)
}

/// The command of an adapter that waits for clients on a port of its own choice and writes it
/// to the file that `DEBUGPY_ADAPTER_ENDPOINTS` names (a FIFO will do). `-S` leaves out the
/// environment's start-up files and `-I` the user's Python variables: the adapter needs
/// debugpy and the standard library alone. `PYTHONHOME` is where the latter may be, so it
/// is kept where it is set.
pub fn adapter_command(
    interpreter: &Interpreter,
    shim: &Path,
    debugpy_dir: &Path,
    env: &[(OsString, OsString)],
) -> Vec<OsString> {
    let moved = env
        .iter()
        .any(|(name, value)| name == "PYTHONHOME" && !value.is_empty());
    let mut command = vec![interpreter.executable.clone().into_os_string()];
    command.extend(if moved { ["-s", "-S"] } else { ["-I", "-S"] }.map(OsString::from));
    command.extend([shim.into(), debugpy_dir.into()]);
    command.extend(["--host", "127.0.0.1", "--port", "0"].map(OsString::from));
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shims_are_written_once_and_mended() {
        let dir = tempfile::tempdir().unwrap();
        let (shim, launcher) = (
            write_shim(dir.path()).unwrap(),
            write_launcher(dir.path()).unwrap(),
        );
        assert!(launcher.to_str().unwrap().ends_with("debugpy_launcher.py"));
        assert_eq!(fs::read_to_string(&launcher).unwrap(), LAUNCHER);
        fs::write(&shim, "cut").unwrap();
        assert_eq!(write_shim(dir.path()).unwrap(), shim);
        assert_eq!(fs::read_to_string(&shim).unwrap(), QUICK_ADAPTER);
        let folder = Path::new("/a \"b\\c/d");
        let injector = write_injector(dir.path(), folder).unwrap();
        let text = fs::read_to_string(injector.join("attach_pid_injected.py")).unwrap();
        assert!(text.contains("PARENT = \"/a \\\"b\\\\c/d\"\n"), "{text}");
        assert_eq!(write_injector(dir.path(), folder).unwrap(), injector);
        assert_ne!(
            write_injector(dir.path(), Path::new("/d")).unwrap(),
            injector
        );
        fs::remove_dir_all(injector).unwrap();
        let names = fs::read_dir(dir.path().join("shims")).unwrap().count();
        assert_eq!(names, 3, "nothing half-written stays");
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(write_shim(&file).is_err());
    }
}
