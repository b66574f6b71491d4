//! An interpreter and what it says of itself: version, platform, its own debugpy. One short run
//! answers everything and is remembered. It must not decide which interpreter is meant.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;

use super::child;
use super::error::LaunchError;

/// How long an interpreter may take to say what it is.
pub const PROBE_DEADLINE: Duration = Duration::from_secs(10);

/// The oldest version that debugpy supports.
pub const OLDEST: (u32, u32) = (3, 8);

const PROBE: &str = include_str!("probe.py");
const MARK: &str = "@daptree ";

/// Who chose the interpreter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HowFound {
    /// The program was typed as a python command.
    Typed,
    /// `--python`.
    Option,
    /// The first line of the script.
    FirstLine(PathBuf),
    /// `.daptree.toml`.
    Settings,
    /// The active virtual environment (`VIRTUAL_ENV`).
    Active(PathBuf),
    /// A `.venv` or `venv` of the project.
    Project(PathBuf),
    /// `python3` on PATH.
    Path,
    /// It runs in this process already.
    Runs(u32),
}

impl fmt::Display for HowFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Typed => f.write_str("as typed"),
            Self::Option => f.write_str("from --python"),
            Self::FirstLine(script) => write!(f, "from the first line of {}", script.display()),
            Self::Settings => f.write_str("from .daptree.toml"),
            Self::Active(folder) => write!(f, "from VIRTUAL_ENV {}", folder.display()),
            Self::Project(folder) => write!(f, "from {}", folder.display()),
            Self::Path => f.write_str("python3 on PATH"),
            Self::Runs(pid) => write!(f, "the one that runs in pid {pid}"),
        }
    }
}

/// An interpreter that runs and is new enough.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interpreter {
    /// The file to execute, as it was found: links and shims of version tools are kept, so that
    /// the program sees what a shell would give it.
    pub path: PathBuf,
    /// The interpreter that runs in the end (`sys.executable`): for daptree's own use of it.
    pub executable: PathBuf,
    /// Major and minor.
    pub version: (u32, u32),
    /// Who chose it.
    pub how_found: HowFound,
    /// What else it said.
    pub facts: Facts,
}

/// What an interpreter says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// The whole version, such as `3.11.7`.
    pub full_version: String,
    /// `cpython`, `pypy` …
    pub implementation: String,
    /// The tag of its wheels, such as `cp311`.
    pub abi_tag: String,
    /// As wheels name it, such as `linux-x86_64`.
    pub platform: String,
    /// The version of glibc it runs on, where there is one.
    pub glibc: Option<(u32, u32)>,
    /// `sys.prefix`.
    pub prefix: PathBuf,
    /// Whether it has pip.
    pub has_pip: bool,
    /// The debugpy it would import.
    pub debugpy: Option<OwnDebugpy>,
}

/// The debugpy an interpreter brings along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnDebugpy {
    /// Its version.
    pub version: String,
    /// The folder that holds the package `debugpy`.
    pub folder: PathBuf,
    /// Whether `debugpy.connect` takes `parent_session_pid`.
    pub joins: bool,
}

#[derive(Deserialize)]
struct Answer {
    version: (u32, u32, u32),
    executable: String,
    prefix: String,
    implementation: String,
    tag: String,
    platform: String,
    glibc: String,
    pip: bool,
    debugpy: Option<DebugpyAnswer>,
}

#[derive(Deserialize)]
struct DebugpyAnswer {
    version: String,
    folder: String,
    joins: bool,
}

/// The environment counts too: a shim of a version tool answers by it.
type Key = (PathBuf, PathBuf, Vec<(OsString, OsString)>);

static KNOWN: LazyLock<Mutex<HashMap<Key, Interpreter>>> = LazyLock::new(Mutex::default);

impl Interpreter {
    /// Runs the interpreter at `path` once (at most [`PROBE_DEADLINE`]) with the program's
    /// environment and folder, and refuses what does not run or is too old. A good answer is
    /// remembered for the life of this process.
    pub fn probe(
        path: &Path,
        how_found: HowFound,
        env: &[(OsString, OsString)],
        cwd: &Path,
    ) -> Result<Self, LaunchError> {
        let key = (path.to_path_buf(), cwd.to_path_buf(), env.to_vec());
        let known = KNOWN
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&key)
            .cloned();
        if let Some(known) = known {
            return Ok(Self { how_found, ..known });
        }
        let found = Self::ask(path, how_found, env, cwd)?;
        KNOWN
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(key, found.clone());
        Ok(found)
    }

    fn ask(
        path: &Path,
        how_found: HowFound,
        env: &[(OsString, OsString)],
        cwd: &Path,
    ) -> Result<Self, LaunchError> {
        let broken = |reason: String| LaunchError::BrokenInterpreter {
            interpreter: path.to_path_buf(),
            how: how_found.to_string(),
            reason,
        };
        let mut command = Command::new(path);
        command
            .args(["-c", PROBE])
            .env_clear()
            .envs(env.iter().cloned())
            .current_dir(cwd);
        let finished = child::run(&mut command, PROBE_DEADLINE, &mut |_| {})
            .map_err(|error| broken(error.to_string()))?;
        let output = String::from_utf8_lossy(&finished.stdout);
        let answer = output
            .lines()
            .rev()
            .find_map(|line| line.strip_prefix(MARK))
            .and_then(|json| serde_json::from_str::<Answer>(json).ok());
        let Some(answer) = answer else {
            return Err(broken(finished.last_words()));
        };
        let (major, minor, micro) = answer.version;
        let full_version = format!("{major}.{minor}.{micro}");
        if (major, minor) < OLDEST {
            return Err(LaunchError::OldInterpreter {
                interpreter: path.to_path_buf(),
                version: full_version,
                how: how_found.to_string(),
            });
        }
        let executable = match bytes_of(&answer.executable) {
            empty if empty.as_os_str().is_empty() => path.to_path_buf(),
            executable => executable,
        };
        Ok(Self {
            path: path.to_path_buf(),
            executable,
            version: (major, minor),
            how_found,
            facts: Facts {
                full_version,
                implementation: answer.implementation,
                abi_tag: answer.tag,
                platform: answer.platform,
                glibc: glibc_version(&answer.glibc),
                prefix: bytes_of(&answer.prefix),
                has_pip: answer.pip,
                debugpy: answer.debugpy.map(|own| OwnDebugpy {
                    version: own.version,
                    folder: bytes_of(&own.folder),
                    joins: own.joins,
                }),
            },
        })
    }
}

/// Paths travel as one code point a byte.
fn bytes_of(text: &str) -> PathBuf {
    let bytes = text
        .chars()
        .map(|char| u8::try_from(u32::from(char)).unwrap_or(b'?'))
        .collect();
    PathBuf::from(OsString::from_vec(bytes))
}

fn glibc_version(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.split('.').next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::fixtures::{executable, process_env, python};

    #[test]
    fn a_real_interpreter_answers_once() {
        let env = process_env();
        let asked = |how| Interpreter::probe(&python(), how, &env, Path::new("/")).unwrap();
        let found = asked(HowFound::Typed);
        assert!(found.version >= OLDEST, "{found:?}");
        assert!(found.executable.is_absolute() && found.facts.prefix.is_absolute());
        assert!(
            found
                .facts
                .full_version
                .starts_with(&format!("{}.{}.", found.version.0, found.version.1))
        );
        let again = asked(HowFound::Path);
        assert_eq!(
            (again.how_found, again.executable),
            (HowFound::Path, found.executable)
        );
    }

    #[test]
    fn a_noisy_start_and_a_module_of_the_folder_do_not_disturb() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("json.py"), "raise SystemExit(9)").unwrap();
        std::fs::write(dir.path().join("sitecustomize.py"), "print('hello')").unwrap();
        let mut env = process_env();
        env.push(("PYTHONPATH".into(), dir.path().join("none").into()));
        Interpreter::probe(&python(), HowFound::Typed, &env, dir.path()).unwrap();
        let noisy = dir.path().join("noisy");
        let script = format!(
            "#!/bin/sh\necho noise\nexec {} \"$@\"\n",
            python().display()
        );
        executable(&noisy, &script);
        Interpreter::probe(&noisy, HowFound::Typed, &env, dir.path()).unwrap();
    }

    #[test]
    fn old_and_broken_ones_are_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let refused = |name: &str, script: &str| {
            let path = dir.path().join(name);
            executable(&path, script);
            Interpreter::probe(&path, HowFound::Option, &[], dir.path())
                .unwrap_err()
                .to_string()
        };
        let old = refused(
            "old",
            "#!/bin/sh\necho '@daptree {\"version\":[3,7,16],\"executable\":\"/old\",\"prefix\":\"/\",\
             \"implementation\":\"cpython\",\"tag\":\"\",\"platform\":\"\",\"glibc\":\"\",\"pip\":false,\
             \"debugpy\":null}'\n",
        );
        assert!(
            old.contains("3.7.16") && old.contains("3.8") && old.contains("/old"),
            "{old}"
        );
        let broken = refused(
            "broken",
            "#!/bin/sh\necho no module named encodings >&2\nexit 1\n",
        );
        assert!(
            broken.contains("encodings") && broken.contains("from --python"),
            "{broken}"
        );
        let silent = refused("silent", "#!/bin/sh\nexit 0\n");
        assert!(silent.contains("does not run"), "{silent}");
        let gone = Interpreter::probe(Path::new("/gone"), HowFound::Typed, &[], dir.path());
        assert!(
            matches!(gone, Err(LaunchError::BrokenInterpreter { .. })),
            "{gone:?}"
        );
    }

    #[test]
    fn paths_that_are_not_utf8_survive() {
        assert_eq!(
            bytes_of("/a\u{ff}"),
            PathBuf::from(OsString::from_vec(b"/a\xff".to_vec()))
        );
        assert_eq!(glibc_version("glibc 2.36"), Some((2, 36)));
        assert_eq!(glibc_version(""), None);
    }
}
