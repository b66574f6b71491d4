//! Where commands and environments are found: PATH, an active virtual environment, a project's
//! `.venv`. It must not know what the commands are; the environment is given to it.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::Access;

/// Variables of a process, as a list in which the last one of a name counts.
#[derive(Debug, Clone, Copy)]
pub struct Env<'a>(pub &'a [(OsString, OsString)]);

impl<'a> Env<'a> {
    /// The value of a variable; an empty one counts as not set.
    pub fn get(self, name: &str) -> Option<&'a OsStr> {
        let found = self.0.iter().rev().find(|(key, _)| key == name);
        found
            .map(|(_, value)| value.as_os_str())
            .filter(|value| !value.is_empty())
    }

    /// The active virtual environment, when its folder has an interpreter.
    pub fn active(self) -> Option<PathBuf> {
        let folder = PathBuf::from(self.get("VIRTUAL_ENV")?);
        python_in(&folder).is_some().then_some(folder)
    }
}

/// Whether the user may execute the file at `path`.
pub fn is_executable(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, Access::EXEC_OK).is_ok()
}

/// Finds a command on PATH, as a shell does.
pub fn on_path(command: &OsStr, env: Env<'_>, cwd: &Path) -> Option<PathBuf> {
    let path = env.get("PATH")?;
    path.as_bytes()
        .split(|byte| *byte == b':')
        .map(|folder| match folder {
            // An empty entry is the working folder.
            b"" => cwd.join(command),
            folder => cwd.join(OsStr::from_bytes(folder)).join(command),
        })
        .find(|candidate| is_executable(candidate))
}

/// The interpreter of an environment's folder.
pub fn python_in(folder: &Path) -> Option<PathBuf> {
    ["bin/python", "bin/python3"]
        .iter()
        .map(|name| folder.join(name))
        .find(|python| is_executable(python))
}

/// The nearest `.venv` or `venv` with an interpreter, from `start` upward.
pub fn project_environment(start: &Path) -> Option<PathBuf> {
    start.ancestors().find_map(|folder| {
        [".venv", "venv"]
            .iter()
            .map(|name| folder.join(name))
            .find(|found| found.join("pyvenv.cfg").is_file() && python_in(found).is_some())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn place(path: &Path, mode: u32) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn path_is_searched_as_a_shell_searches_it() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path();
        place(&at.join("plain/tool"), 0o644);
        std::fs::create_dir_all(at.join("folder/tool")).unwrap();
        place(&at.join("bin/tool"), 0o755);
        place(&at.join("here"), 0o755);
        let path = format!("{0}/plain:{0}/folder:bin::/no/such", at.display());
        let vars = [("PATH".into(), "/old".into()), ("PATH".into(), path.into())];
        let find = |name: &str| on_path(OsStr::new(name), Env(&vars), at);
        assert_eq!(find("tool"), Some(at.join("bin/tool")));
        assert_eq!(find("here"), Some(at.join("here")));
        assert_eq!(find("gone"), None);
        assert_eq!(on_path(OsStr::new("sh"), Env(&[]), at), None);
    }

    #[test]
    fn the_nearest_whole_environment_is_taken() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path();
        place(&at.join("venv/pyvenv.cfg"), 0o644);
        place(&at.join("venv/bin/python3"), 0o755);
        place(&at.join("a/.venv/bin/python"), 0o755);
        std::fs::create_dir_all(at.join("a/b")).unwrap();
        assert_eq!(project_environment(&at.join("a/b")), Some(at.join("venv")));
        place(&at.join("a/.venv/pyvenv.cfg"), 0o644);
        assert_eq!(
            project_environment(&at.join("a/b")),
            Some(at.join("a/.venv"))
        );
    }

    #[test]
    fn a_stale_active_environment_counts_for_nothing() {
        let vars = [("VIRTUAL_ENV".into(), "/no/such".into())];
        assert_eq!(Env(&vars).active(), None);
    }
}
