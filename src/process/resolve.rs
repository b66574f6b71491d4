//! From what was typed to the file that will run, and why it cannot. It must not start anything,
//! and it must not change what was typed: the program sees the name its user gave it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Why a program was not started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// Nothing was typed.
    #[error("no program was given: write its name or path first, then its arguments")]
    NoProgram,
    /// A path that leads nowhere.
    #[error("{} does not exist: check its spelling and the working folder {}", path.display(), cwd.display())]
    Missing {
        /// As typed.
        path: PathBuf,
        /// What a relative path is relative to.
        cwd: PathBuf,
    },
    /// A name that no folder of PATH has.
    #[error("no program {name:?} in PATH ({searched}): install it, or give its path")]
    NotInPath {
        /// As typed.
        name: String,
        /// The PATH that was searched.
        searched: String,
    },
    /// A folder.
    #[error("{} is a folder, not a program: name a file in it", .0.display())]
    IsDirectory(PathBuf),
    /// A file without the right to run it.
    #[error(
        "{} may not be run: `chmod +x` it, or start it through its interpreter; a file system \
         mounted noexec runs nothing", .0.display()
    )]
    NotExecutable(PathBuf),
    /// A script whose first line names a program that is not there.
    #[error(
        "{} asks for the interpreter {interpreter:?}, which does not exist: install it or correct \
         the script's first line", script.display()
    )]
    BadInterpreter {
        /// The script.
        script: PathBuf,
        /// As its first line names it.
        interpreter: String,
    },
    /// A program for another system.
    #[error(
        "{} exists, but the loader it needs does not: it was built for another system or C \
         library", .0.display()
    )]
    NoLoader(PathBuf),
    /// The working folder.
    #[error("the working folder {} cannot be used ({why}): give another with --cwd", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The kernel's word.
        why: String,
    },
    /// More than the kernel takes.
    #[error("the arguments and the environment of {} are too long for the kernel: pass less, or pass a file", .0.display())]
    TooLong(PathBuf),
    /// No terminal, pipe or process was to be had.
    #[error("{what} for {} could not be made: {source}", path.display())]
    Resource {
        /// What was asked for.
        what: &'static str,
        /// The program.
        path: PathBuf,
        /// The kernel's word.
        source: io::Error,
    },
}

/// What `execvp` searches when there is no PATH.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The path to execute for `name` as a shell in `cwd` with the environment `env` would find it;
/// relative when it was typed so. Checks the folder too.
pub fn resolve(
    name: &OsStr,
    cwd: &Path,
    env: &[(OsString, OsString)],
) -> Result<PathBuf, SpawnError> {
    let folder = |why: String| SpawnError::Folder {
        path: cwd.to_path_buf(),
        why,
    };
    let there = fs::metadata(cwd).map_err(|error| folder(error.to_string()))?;
    if !there.is_dir() {
        return Err(folder("it is not a folder".to_owned()));
    }
    if !may_execute(cwd) {
        return Err(folder("you may not enter it".to_owned()));
    }
    if name.is_empty() {
        return Err(SpawnError::NoProgram);
    }
    if name.as_bytes().contains(&b'/') {
        let path = PathBuf::from(name);
        return match look(&cwd.join(&path)) {
            Found::Program => Ok(path),
            Found::Folder => Err(SpawnError::IsDirectory(path)),
            Found::NotExecutable => Err(SpawnError::NotExecutable(path)),
            Found::Nothing => Err(SpawnError::Missing {
                path,
                cwd: cwd.to_path_buf(),
            }),
        };
    }
    // The last one counts, as `getenv` of a shell's child would see it.
    let given = env
        .iter()
        .rev()
        .find(|(key, _)| key == "PATH")
        .map(|(_, value)| value.as_os_str());
    let searched = given.unwrap_or(OsStr::new(DEFAULT_PATH));
    let mut refused = None;
    for entry in std::env::split_paths(searched) {
        // An empty entry means the working folder.
        let entry = if entry.as_os_str().is_empty() {
            PathBuf::from(".")
        } else {
            entry
        };
        let path = entry.join(name);
        match look(&cwd.join(&path)) {
            Found::Program => return Ok(path),
            Found::NotExecutable => {
                refused.get_or_insert(path);
            }
            Found::Folder | Found::Nothing => {}
        }
    }
    Err(refused.map_or_else(
        || SpawnError::NotInPath {
            name: name.to_string_lossy().into_owned(),
            searched: searched.to_string_lossy().into_owned(),
        },
        SpawnError::NotExecutable,
    ))
}

enum Found {
    Program,
    Folder,
    NotExecutable,
    Nothing,
}

fn look(path: &Path) -> Found {
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Found::NotExecutable,
        Err(_) => Found::Nothing,
        Ok(there) if there.is_dir() => Found::Folder,
        Ok(_) if may_execute(path) => Found::Program,
        Ok(_) => Found::NotExecutable,
    }
}

fn may_execute(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// What the kernel's refusal to execute `path` means; `cwd` as given to [`resolve`].
pub(super) fn explain(path: &Path, cwd: &Path, error: io::Error) -> SpawnError {
    use rustix::io::Errno;
    let path = path.to_path_buf();
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT) => match (fs::metadata(cwd), interpreter_of(&cwd.join(&path))) {
            (Err(gone), _) => SpawnError::Folder {
                path: cwd.to_path_buf(),
                why: gone.to_string(),
            },
            (_, Ok(Some(interpreter))) => SpawnError::BadInterpreter {
                script: path,
                interpreter,
            },
            (_, Ok(None)) => SpawnError::NoLoader(path),
            (_, Err(_)) => SpawnError::Missing {
                path,
                cwd: cwd.to_path_buf(),
            },
        },
        Some(Errno::ACCESS) => SpawnError::NotExecutable(path),
        Some(Errno::TOOBIG) => SpawnError::TooLong(path),
        _ => SpawnError::Resource {
            what: "a process",
            path,
            source: error,
        },
    }
}

/// The interpreter that a script's first line names.
fn interpreter_of(path: &Path) -> io::Result<Option<String>> {
    use std::io::Read;
    let mut start = Vec::new();
    fs::File::open(path)?.take(256).read_to_end(&mut start)?;
    let Some(line) = start.strip_prefix(b"#!") else {
        return Ok(None);
    };
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let name = String::from_utf8_lossy(line);
    // A carriage return is part of the name, the commonest cause of this error: keep it visible.
    Ok(Some(
        name.trim_matches([' ', '\t'])
            .split([' ', '\t'])
            .next()
            .unwrap_or_default()
            .to_owned(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn env(path: &str) -> Vec<(OsString, OsString)> {
        vec![("PATH".into(), path.into())]
    }

    fn file(path: &Path, mode: u32) {
        fs::write(path, "").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn names_are_searched_in_the_given_path_and_paths_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let cwd = dir.path();
        fs::create_dir(cwd.join("bin")).unwrap();
        fs::create_dir(cwd.join("other")).unwrap();
        file(&cwd.join("bin/tool"), 0o644);
        file(&cwd.join("other/tool"), 0o755);
        file(&cwd.join("here"), 0o755);
        let find = |name: &str, path: &str| resolve(OsStr::new(name), cwd, &env(path));
        assert_eq!(find("tool", "bin:other").unwrap(), Path::new("other/tool"));
        assert_eq!(find("here", "bin:").unwrap(), Path::new("./here"));
        assert_eq!(find("./here", "").unwrap(), Path::new("./here"));
        assert_eq!(find("sh", "/bin").unwrap(), Path::new("/bin/sh"));
        assert!(resolve(OsStr::new("sh"), cwd, &[]).is_ok());

        assert!(
            matches!(find("tool", "bin"), Err(SpawnError::NotExecutable(path)) if path == Path::new("bin/tool"))
        );
        assert!(
            matches!(find("here", "bin"), Err(SpawnError::NotInPath { searched, .. }) if searched == "bin")
        );
        assert!(matches!(
            find("bin/tool", ""),
            Err(SpawnError::NotExecutable(_))
        ));
        assert!(matches!(find("./bin", ""), Err(SpawnError::IsDirectory(_))));
        assert!(matches!(
            find("./none", ""),
            Err(SpawnError::Missing { .. })
        ));
        assert!(matches!(find("", "/bin"), Err(SpawnError::NoProgram)));
    }

    #[test]
    fn a_bad_working_folder_is_named() {
        let dir = tempfile::tempdir().unwrap();
        file(&dir.path().join("file"), 0o755);
        for name in ["none", "file"] {
            let cwd = dir.path().join(name);
            let error = resolve(OsStr::new("sh"), &cwd, &env("/bin")).unwrap_err();
            assert!(matches!(&error, SpawnError::Folder { path, .. } if *path == cwd));
            assert!(error.to_string().contains(&cwd.display().to_string()));
        }
    }

    #[test]
    fn the_first_line_of_a_script_names_its_interpreter() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("script");
        for (text, name) in [
            ("#!/no/such -x\n", Some("/no/such")),
            ("#! /no/such\r\n", Some("/no/such\r")),
            ("#!", Some("")),
            ("\x7fELF", None),
            ("", None),
        ] {
            fs::write(&path, text).unwrap();
            assert_eq!(interpreter_of(&path).unwrap().as_deref(), name);
        }
    }
}
