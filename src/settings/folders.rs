//! The folders that daptree keeps things in: data (adapters), state (logs, breakpoints) and
//! runtime (sockets, tokens). It must not know what is in them.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use directories::ProjectDirs;

/// The longest path a Unix socket can have, in bytes.
const SOCKET_PATH: usize = 107;

/// Where things go. Nothing is created by finding out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    /// Adapters and what travels in the binary. `DAPTREE_DATA_DIR` moves it.
    pub data: PathBuf,
    /// Logs, breakpoints, history. `DAPTREE_STATE_DIR` moves it.
    pub state: PathBuf,
    /// Sockets and tokens; see [`Folders::open_runtime`]. `DAPTREE_RUNTIME_DIR` moves it.
    pub runtime: PathBuf,
}

/// A folder that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FoldersError {
    /// There is no home folder to start from.
    #[error("no home folder is known; set HOME, or DAPTREE_DATA_DIR and DAPTREE_STATE_DIR")]
    NoHome,
    /// It cannot be made or looked at.
    #[error("{}: cannot be made: {source}; correct it, or set {variable} to another folder", path.display())]
    Unusable {
        /// The folder.
        path: PathBuf,
        /// The variable that moves it.
        variable: &'static str,
        /// The system's words.
        source: io::Error,
    },
    /// Somebody else could read or change what is put there.
    #[error("{}: {why}; remove it, or set DAPTREE_RUNTIME_DIR to a folder of your own", path.display())]
    NotOurs {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A socket's path would be cut.
    #[error("{}: too long for a socket ({SOCKET_PATH} bytes); set DAPTREE_RUNTIME_DIR to a shorter path", .0.display())]
    TooLong(PathBuf),
}

impl Folders {
    /// Finds out where things go, by the variables that `variable` gives and the platform.
    pub fn find(variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, FoldersError> {
        let absolute = |name: &str| {
            variable(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        let platform = ProjectDirs::from("", "", "daptree");
        let data = absolute("DAPTREE_DATA_DIR")
            .or_else(|| platform.as_ref().map(|dirs| dirs.data_dir().to_path_buf()));
        let state = absolute("DAPTREE_STATE_DIR").or_else(|| {
            let dirs = platform.as_ref()?;
            Some(
                dirs.state_dir()
                    .unwrap_or_else(|| dirs.data_local_dir())
                    .to_path_buf(),
            )
        });
        let (Some(data), Some(state)) = (data, state) else {
            return Err(FoldersError::NoHome);
        };
        let runtime = absolute("DAPTREE_RUNTIME_DIR").unwrap_or_else(|| {
            let given = absolute("XDG_RUNTIME_DIR").filter(|path| path.is_dir());
            match given {
                Some(given) => given.join("daptree"),
                None => std::env::temp_dir().join(format!("daptree-{}", our_uid())),
            }
        });
        Ok(Self {
            data,
            state,
            runtime,
        })
    }

    /// Those of this process.
    pub fn of_this_process() -> Result<Self, FoldersError> {
        Self::find(|name| std::env::var_os(name))
    }

    /// Makes the runtime folder, 0700, and makes sure that it is the user's own and no link.
    pub fn open_runtime(&self) -> Result<&Path, FoldersError> {
        let path = self.runtime.as_path();
        let unusable = |source| FoldersError::Unusable {
            path: path.to_path_buf(),
            variable: "DAPTREE_RUNTIME_DIR",
            source,
        };
        let not_ours = |why| FoldersError::NotOurs {
            path: path.to_path_buf(),
            why,
        };
        if let Err(error) = fs::DirBuilder::new().mode(0o700).create(path)
            && error.kind() != io::ErrorKind::AlreadyExists
        {
            return Err(unusable(error));
        }
        // Of the name itself, not of what a link leads to.
        let found = fs::symlink_metadata(path).map_err(unusable)?;
        if found.file_type().is_symlink() {
            return Err(not_ours("it is a link"));
        }
        if !found.is_dir() {
            return Err(not_ours("it is not a folder"));
        }
        if found.uid() != our_uid() {
            return Err(not_ours("it belongs to another user"));
        }
        if found.mode() & 0o777 != 0o700 {
            fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(unusable)?;
        }
        Ok(path)
    }

    /// The path of a socket in the runtime folder.
    pub fn socket(&self, name: &str) -> Result<PathBuf, FoldersError> {
        let path = self.runtime.join(name);
        if path.as_os_str().len() > SOCKET_PATH {
            return Err(FoldersError::TooLong(path));
        }
        Ok(path)
    }
}

fn our_uid() -> u32 {
    rustix::process::getuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(runtime: &Path) -> Folders {
        Folders {
            data: "/d".into(),
            state: "/s".into(),
            runtime: runtime.to_path_buf(),
        }
    }

    #[test]
    fn variables_move_the_folders() {
        let dir = tempfile::tempdir().unwrap();
        let runtime = dir.path().to_path_buf();
        let found = Folders::find(|name| match name {
            "DAPTREE_DATA_DIR" => Some("/data".into()),
            "DAPTREE_STATE_DIR" => Some("relative".into()),
            "XDG_RUNTIME_DIR" => Some(runtime.clone().into()),
            _ => None,
        })
        .unwrap();
        assert_eq!(
            (found.data, found.runtime),
            ("/data".into(), dir.path().join("daptree"))
        );
        assert!(found.state.is_absolute());
        let without = Folders::find(|_| None).unwrap();
        let name = without
            .runtime
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        assert_eq!(name, format!("daptree-{}", our_uid()));
    }

    #[test]
    fn the_runtime_folder_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run");
        let ours = folders(&path);
        assert_eq!(ours.open_runtime().unwrap(), path);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        ours.open_runtime().unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn links_files_and_long_names_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (link, file) = (dir.path().join("link"), dir.path().join("file"));
        std::os::unix::fs::symlink(dir.path(), &link).unwrap();
        fs::write(&file, "").unwrap();
        for (path, word) in [
            (&link, "link"),
            (&file, "not a folder"),
            (&file.join("x"), "made"),
        ] {
            let refused = folders(path).open_runtime().unwrap_err().to_string();
            assert!(
                refused.contains(word) && refused.contains("DAPTREE_RUNTIME_DIR"),
                "{refused}"
            );
        }
        let here = folders(dir.path());
        assert!(here.socket("a.sock").is_ok());
        assert!(matches!(
            here.socket(&"x".repeat(120)),
            Err(FoldersError::TooLong(_))
        ));
    }
}
