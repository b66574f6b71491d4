//! What the tests against real programs share: a Python environment, a scene (a folder with
//! programs and variables of its own), traces, a terminal to run daptree in, and a front end of an
//! engine in the test's own process. It sees daptree as a user or a front end does, and must not
//! know what is behind.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    reason = "this is test code: what goes wrong in it fails the test at once"
)]

mod environment;
mod front;
pub mod process;
mod scene;
mod terminal;
mod trace;

pub use environment::python;
pub use front::Front;
pub use scene::Scene;
pub use terminal::Terminal;
pub use trace::{Run, Trace, TraceCommand};

use std::time::Duration;

/// How long a test waits for anything before it fails. A loaded machine needs most of it.
pub const PATIENCE: Duration = Duration::from_secs(60);
