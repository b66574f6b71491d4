//! What the tests of the real binary share: a Python environment, a scene (a folder with
//! programs and variables of its own), traces, and a terminal to run daptree in. It must not know
//! the engine: it sees daptree from outside, as a user does.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "this is test code: what goes wrong in it fails the test at once"
)]

mod environment;
pub mod process;
mod scene;
mod terminal;
mod trace;

pub use environment::python;
pub use scene::Scene;
pub use terminal::Terminal;
pub use trace::{Run, Trace, TraceCommand};

use std::time::Duration;

/// How long a test waits for anything before it fails. A loaded machine needs most of it.
pub const PATIENCE: Duration = Duration::from_secs(60);
