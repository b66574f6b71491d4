//! What every measurement needs: an interpreter, a debugpy, the programs, folders of its own.

use crate::driver::{Adapter, Program};
use anyhow::{Context, Result};
use daptree::engine::EngineConfig;
use daptree::launch::{Ambient, LaunchOptions, debugpy, default_interpreter};
use daptree::settings::Folders;
use std::path::{Path, PathBuf};

/// daptree as it is built for this run.
pub const DAPTREE: &str = env!("CARGO_BIN_EXE_daptree");
/// The line that a program stops on ends so.
const MARK: &str = "# stop here";

/// The setting of all measurements. Its folders are gone with it.
#[derive(Debug)]
pub struct Setting {
    /// The interpreter: `DAPTREE_BENCH_PYTHON`, else `python3`. A version tool's shim, which
    /// takes its own time at each start, is left out.
    pub python: PathBuf,
    /// What it is, for the table.
    pub about: String,
    /// Runtime and state of this run; the data folder is the user's, so that debugpy is there.
    pub folders: Folders,
    debugpy: PathBuf,
    scratch: tempfile::TempDir,
}

impl Setting {
    /// Finds the interpreter and debugpy; fetches the latter where daptree would.
    pub fn new() -> Result<Self> {
        let scratch = tempfile::tempdir()?;
        let mut folders = Folders::of_this_process()?;
        folders.runtime = scratch.path().join("run");
        folders.state = scratch.path().join("state");
        let options = LaunchOptions {
            python: Some(std::env::var_os("DAPTREE_BENCH_PYTHON").unwrap_or("python3".into())),
            ..LaunchOptions::default()
        };
        let interpreter = default_interpreter(&options, &Ambient::of_this_process()?)?;
        let mut progress = |progress: debugpy::Progress| eprintln!("{}", progress.line);
        let found = debugpy::find_or_install(&interpreter, &folders.data, &mut progress)?;
        let about = format!(
            "Python {}, debugpy {}",
            interpreter.facts.full_version, found.version
        );
        Ok(Self {
            python: interpreter.executable,
            about,
            folders,
            debugpy: found.folder,
            scratch,
        })
    }

    /// An engine's configuration.
    pub fn config(&self) -> EngineConfig {
        EngineConfig {
            folders: self.folders.clone(),
            settings_python: None,
            keeper: Some(DAPTREE.into()),
            sole: false,
            workspace: None,
            maps: Vec::new(),
            idle: None,
            raw_output: None,
            record: None,
        }
    }

    /// The adapter for the bare driver, with quick sockets or as it comes.
    pub fn adapter(&self, quick: bool) -> Adapter {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bootstrap/quick_adapter.py");
        Adapter {
            python: self.python.clone(),
            debugpy: self.debugpy.clone(),
            quick: quick.then_some(script),
        }
    }

    /// A file in a folder that is gone after the run.
    pub fn file(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }
}

/// A program of `benches/programs`.
pub fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("benches/programs")
        .join(name)
}

/// A program that starts `child.py` so many times.
pub fn parent(name: &str, children: usize) -> Result<Program> {
    let child = script("child.py");
    Ok(Program {
        script: script(name),
        args: vec![child.to_string_lossy().into_owned(), children.to_string()],
        line: marked_line(&child)?,
        breakpoint: child,
    })
}

/// So many processes that run Python lines.
pub fn lines(count: usize) -> Program {
    Program {
        script: script("lines.py"),
        args: vec![count.to_string()],
        breakpoint: script("steps.py"),
        line: 1,
    }
}

/// The program that is stepped through.
pub fn steps() -> Result<Program> {
    let steps = script("steps.py");
    Ok(Program {
        script: steps.clone(),
        args: Vec::new(),
        line: marked_line(&steps)?,
        breakpoint: steps,
    })
}

fn marked_line(script: &Path) -> Result<u32> {
    let text = std::fs::read_to_string(script)?;
    let at = text.lines().position(|line| line.ends_with(MARK));
    let at = at.with_context(|| format!("{}: no line ends with `{MARK}`", script.display()))?;
    Ok(u32::try_from(at + 1)?)
}
