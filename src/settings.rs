//! Settings of a project (`.daptree.toml`) and the folders that daptree writes into. It must
//! not know what the settings are used for; flags and variables are laid over them elsewhere.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use daptree_model::PathMap;
use serde::{Deserialize, Serialize};

pub mod folders;

pub use folders::{Folders, FoldersError};

/// The name of a project's settings file.
pub const FILE_NAME: &str = ".daptree.toml";

/// What `.daptree.toml` can say. `None` where it says nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The interpreter: a command on PATH, or a path made absolute from the file's folder.
    pub python: Option<PathBuf>,
    /// Stop in the user's own code alone.
    pub just_my_code: Option<bool>,
    /// Exception filters of the adapter.
    pub exceptions: Option<Vec<String>>,
    /// The most live sessions at once; 0 for no limit.
    pub max_children: Option<u32>,
    /// Folders here, made absolute from the file's folder, and what the program calls them.
    #[serde(default)]
    pub maps: Vec<PathMap>,
}

/// The variable that says after how many ms a session counts as idle, in an engine without a person.
pub const IDLE_VARIABLE: &str = "MCP_DEBUG_SESSION_IDLE_MS";

/// A value of [`IDLE_VARIABLE`] that says nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{IDLE_VARIABLE}={0:?} is no number of milliseconds; set it to one, or to 0 for no limit")]
pub struct IdleError(pub String);

/// After how long a session counts as idle, by the value of [`IDLE_VARIABLE`]; `None` without one
/// and for 0: never.
pub fn idle_after(value: Option<&OsStr>) -> Result<Option<Duration>, IdleError> {
    let Some(value) = value.map(OsStr::to_string_lossy) else {
        return Ok(None);
    };
    match value.trim().parse::<u64>() {
        Ok(0) => Ok(None),
        Ok(ms) => Ok(Some(Duration::from_millis(ms))),
        Err(_) => Err(IdleError(value.into_owned())),
    }
}

/// What belongs together: a project's folder and its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// The nearest folder upward with `.daptree.toml`, `.vscode` or `.git`, else the working
    /// folder; a real path.
    pub root: PathBuf,
    /// What its `.daptree.toml` says.
    pub settings: Settings,
}

/// A settings file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// It cannot be read.
    #[error("{}: cannot be read: {source}; correct it or remove it", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
    /// It says something that is no setting.
    #[error("{}:{line}: {what}; the settings are python, just_my_code, exceptions, max_children and maps", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// The working folder is gone.
    #[error("{}: the working folder cannot be reached: {source}", path.display())]
    NoFolder {
        /// The folder.
        path: PathBuf,
        /// The system's words.
        source: std::io::Error,
    },
}

impl Workspace {
    /// Finds the workspace of a folder and reads its settings.
    pub fn find(cwd: &Path) -> Result<Self, SettingsError> {
        let real = cwd
            .canonicalize()
            .map_err(|source| SettingsError::NoFolder {
                path: cwd.to_path_buf(),
                source,
            })?;
        let root = real
            .ancestors()
            .find(|folder| {
                [FILE_NAME, ".vscode", ".git"]
                    .iter()
                    .any(|mark| folder.join(mark).exists())
            })
            .unwrap_or(&real)
            .to_path_buf();
        let settings = Settings::read(&root.join(FILE_NAME))?;
        Ok(Self { root, settings })
    }
}

impl Settings {
    /// Reads a settings file; one that is not there says nothing.
    pub fn read(path: &Path) -> Result<Self, SettingsError> {
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&text, path),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(SettingsError::Unreadable {
                path: path.to_path_buf(),
                source,
            }),
        }
    }

    fn parse(text: &str, path: &Path) -> Result<Self, SettingsError> {
        let mut settings: Self = toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let before = text.as_bytes().get(..start).unwrap_or_default();
            SettingsError::Wrong {
                path: path.to_path_buf(),
                line: before.split(|byte| *byte == b'\n').count(),
                what: error.message().trim().replace('\n', " "),
            }
        })?;
        if let (Some(python), Some(folder)) = (&settings.python, path.parent())
            && python.components().count() > 1
        {
            settings.python = Some(folder.join(python));
        }
        if let Some(folder) = path.parent() {
            for map in &mut settings.maps {
                let local: PathBuf = folder.join(&map.local).components().collect();
                map.local = local.to_string_lossy().into_owned();
            }
        }
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_read() {
        let text = "python = \".venv/bin/python\"\njust_my_code = false\n\
                    exceptions = [\"raised\"]\nmax_children = 0\n\
                    maps = [{ local = \"./src\", remote = \"/app\" }]\n";
        let settings = Settings::parse(text, Path::new("/p/.daptree.toml")).unwrap();
        let expected = Settings {
            python: Some("/p/.venv/bin/python".into()),
            just_my_code: Some(false),
            exceptions: Some(vec!["raised".to_owned()]),
            max_children: Some(0),
            maps: vec![PathMap {
                local: "/p/src".to_owned(),
                remote: "/app".to_owned(),
            }],
        };
        assert_eq!(settings, expected);
        let python = |text: &str| {
            Settings::parse(text, Path::new("/p/.daptree.toml"))
                .unwrap()
                .python
        };
        assert_eq!(python("python = \"python3.12\""), Some("python3.12".into()));
        assert_eq!(python("python = \"./py\""), Some("/p/./py".into()));
        assert_eq!(
            python("python = \"/usr/bin/python3\""),
            Some("/usr/bin/python3".into())
        );
        assert_eq!(python(""), None);
    }

    #[test]
    fn mistakes_name_file_and_line() {
        for (text, line, word) in [
            ("max_children = 1\n\npythn = \"x\"\n", 3, "pythn"),
            ("max_children = -1\n", 1, "-1"),
            ("\njust_my_code = \"yes\"\n", 2, "boolean"),
            ("python = [1]\n", 1, "python"),
            ("a = \n", 1, ""),
            ("max_children = 1\nmax_children = 2\n", 2, "duplicate"),
            ("[table]\nx = 1\n", 1, "table"),
            ("\nmaps = [{ local = \"src\" }]\n", 2, "remote"),
        ] {
            let error = Settings::parse(text, Path::new("/p/.daptree.toml")).unwrap_err();
            let message = error.to_string();
            assert!(
                message.starts_with(&format!("/p/.daptree.toml:{line}: ")),
                "{message}"
            );
            let SettingsError::Wrong { what, .. } = error else {
                panic!()
            };
            assert!(
                what.contains(word) || text.contains(word) && word == "python",
                "{what}"
            );
        }
    }

    #[test]
    fn a_time_of_idleness_is_read() {
        let read = |text: &str| idle_after(Some(OsStr::new(text)));
        assert_eq!(idle_after(None), Ok(None));
        assert_eq!(read("0"), Ok(None));
        assert_eq!(read(" 1500 "), Ok(Some(Duration::from_millis(1_500))));
        for wrong in ["", "-1", "30m", "1.5", "99999999999999999999999"] {
            let error = read(wrong).unwrap_err().to_string();
            assert!(
                error.contains(IDLE_VARIABLE) && error.contains(&format!("{wrong:?}")),
                "{error}"
            );
        }
    }

    #[test]
    fn the_nearest_mark_makes_the_workspace() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let deep = root.join("a/b/c");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::create_dir(root.join(".git")).unwrap();
        let found = |cwd: &Path| Workspace::find(cwd).unwrap().root;
        assert_eq!(found(&deep), root);
        std::fs::create_dir(root.join("a/.vscode")).unwrap();
        assert_eq!(found(&deep), root.join("a"));
        std::fs::write(root.join("a/b/.daptree.toml"), "max_children = 3").unwrap();
        assert_eq!(found(&deep), root.join("a/b"));
        assert_eq!(
            Workspace::find(&deep).unwrap().settings.max_children,
            Some(3)
        );
        let link = root.join("link");
        std::os::unix::fs::symlink(&deep, &link).unwrap();
        assert_eq!(found(&link), root.join("a/b"));
        assert!(matches!(
            Workspace::find(&root.join("no")),
            Err(SettingsError::NoFolder { .. })
        ));
        std::fs::create_dir(root.join("a/b/c/.daptree.toml")).unwrap();
        assert!(matches!(
            Workspace::find(&deep),
            Err(SettingsError::Unreadable { .. })
        ));
    }
}
