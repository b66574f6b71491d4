//! A scene: a folder with copies of programs, folders for daptree's own files, an environment, and
//! a mark by which every process of it is found. It must not know what is run in it.

use crate::process::{self, Process};
use crate::trace::TraceCommand;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tempfile::TempDir;

/// A folder with programs and variables of its own. Dropping it ends every process that was
/// started in it.
#[derive(Debug)]
pub struct Scene {
    folder: TempDir,
    root: PathBuf,
    /// daptree's binary.
    pub binary: PathBuf,
    /// The interpreter of the tests' environment.
    pub python: PathBuf,
    /// The environment of what is started.
    pub env: Vec<(OsString, OsString)>,
    /// What [`process::marked`] finds its processes by.
    pub mark: String,
}

impl Scene {
    /// A scene with the named files of `fixtures/programs`; `binary` is
    /// `env!("CARGO_BIN_EXE_daptree")`.
    pub fn new(binary: &str, programs: &[&str]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let binary = PathBuf::from(binary);
        let python = crate::python(&binary).to_path_buf();
        let folder = TempDir::with_prefix("daptree-test-").expect("a temporary folder");
        let root = folder.path().canonicalize().expect("its real path");
        let work = root.join("work");
        fs::create_dir(&work).expect("the working folder");
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/programs");
        for program in programs {
            fs::copy(fixtures.join(program), work.join(program))
                .unwrap_or_else(|error| panic!("fixtures/programs/{program}: {error}"));
        }
        let mark = format!(
            "{}-{}",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let mut path = OsString::from(python.parent().expect("bin"));
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut scene = Self {
            folder,
            root,
            binary,
            python,
            env: Vec::new(),
            mark,
        };
        scene.env = std::env::vars_os()
            .filter(|(name, _)| {
                let name = name.to_string_lossy();
                // What a person's shell, another daptree or pytest may have set.
                !["VIRTUAL_ENV", "TERM", "NO_COLOR"].contains(&&*name)
                    && ![
                        "PYTHON", "PYTEST_", "DAPTREE_", "DEBUGPY_", "PYDEVD_", "CARGO",
                    ]
                    .iter()
                    .any(|prefix| name.starts_with(prefix))
            })
            .collect();
        let folders = ["data", "state", "runtime"].map(|name| scene.root.join(name));
        scene.set("PATH", path);
        scene.set("TERM", "xterm-256color");
        scene.set("PYTHONDONTWRITEBYTECODE", "1");
        scene.set("DAPTREE_DATA_DIR", &folders[0]);
        scene.set("DAPTREE_STATE_DIR", &folders[1]);
        scene.set("DAPTREE_RUNTIME_DIR", &folders[2]);
        scene.set(process::MARK, scene.mark.clone());
        scene
    }

    /// Sets a variable.
    pub fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.into(), value.into()));
    }

    /// The working folder, as a real path.
    pub fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    /// A file of the working folder.
    pub fn file(&self, name: &str) -> PathBuf {
        self.work().join(name)
    }

    /// Writes a file of the working folder.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.file(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("its folder");
        fs::write(&path, text).expect("a file");
        path
    }

    /// The number of the first line of a file that holds `text`.
    pub fn line(&self, file: &str, text: &str) -> u64 {
        let content = fs::read_to_string(self.file(file)).expect("a program");
        let at = content.lines().position(|line| line.contains(text));
        at.unwrap_or_else(|| panic!("{file} has no line with {text:?}")) as u64 + 1
    }

    /// `FILE:LINE` of the first line of a file that holds `text`.
    pub fn at(&self, file: &str, text: &str) -> String {
        format!("{file}:{}", self.line(file, text))
    }

    /// The place that [`Run::places`](crate::Run::places) gives for that line.
    pub fn place(&self, file: &str, text: &str) -> (String, u64) {
        (
            self.file(file).to_string_lossy().into_owned(),
            self.line(file, text),
        )
    }

    /// A `daptree trace --json` in the working folder.
    pub fn trace(&self) -> TraceCommand<'_> {
        TraceCommand::new(self)
    }

    /// The live processes of the scene.
    pub fn processes(&self) -> Vec<Process> {
        process::marked(&self.mark)
    }

    /// The one live process whose command holds `text`.
    pub fn process_with(&self, text: &str) -> Process {
        let mut found = self.processes();
        found.retain(|process| process.command.contains(text));
        assert_eq!(found.len(), 1, "processes with {text:?}: {found:#?}");
        found.remove(0)
    }

    /// Fails the test when a process of the scene is still there after `within`.
    pub fn assert_nothing_left(&self, within: Duration) {
        let left = process::left_after(&self.mark, within);
        assert!(left.is_empty(), "left after {within:?}: {left:#?}");
    }

    /// Where the logs are.
    pub fn state(&self) -> PathBuf {
        self.root.join("state")
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}: the scene that failed", self.folder.path().display());
        }
        for left in self.processes() {
            if let Some(pid) = i32::try_from(left.pid).ok().and_then(Pid::from_raw) {
                // It may have ended meanwhile.
                let _ = kill_process(pid, Signal::KILL);
            }
        }
    }
}
