//! What a front end asks to be started. How it is found and started is the engine's part.

use crate::BreakpointSpec;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;

/// A program to start as the root of a tree, as a user typed it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LaunchRequest {
    /// PROGRAM and ARGS, byte for byte.
    pub words: Vec<OsString>,
    /// The program's working folder, absolute.
    pub cwd: PathBuf,
    /// The program's whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// The interpreter to use where the program does not name one.
    pub python: Option<PathBuf>,
    /// What the program's standard streams are.
    pub stdio: Stdio,
    /// Only the user's own code is debugged.
    pub just_my_code: bool,
    /// Exception filters by the adapter's names; `None`: those that were kept, else what the
    /// program suggests (a test runner: its failures).
    pub exceptions: Option<Vec<String>>,
    /// Stop at the root's first line.
    pub stop_on_entry: bool,
    /// When one session of the tree stops, the others are held.
    pub stop_the_world: bool,
    /// Live sessions at most; beyond it children are released. 0: no limit.
    pub max_children: u32,
    /// Breakpoints to set before anything runs.
    pub breakpoints: Vec<BreakpointSpec>,
}

/// What the root's standard streams are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Stdio {
    /// A terminal that daptree owns, of this size.
    Terminal {
        /// Cells across.
        columns: u16,
        /// Cells down.
        rows: u16,
    },
    /// Pipes for stdout and stderr, and an empty standard input.
    Pipes,
    /// Pipes for stdout and stderr, and daptree's own standard input.
    PipesInherit,
}
