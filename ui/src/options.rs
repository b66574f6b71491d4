//! How the front end is started, and the ways in which it is left.

use crate::theme::Theme;
use daptree_model::{AttachRequest, LaunchRequest};

/// How the front end is started.
#[derive(Clone, Debug, Default)]
pub struct UiOptions {
    /// The colours.
    pub theme: Theme,
    /// Letters and dashes instead of signs, for terminals and fonts without them.
    pub ascii: bool,
    /// A program to start first. A terminal asked for gets the size of the pane it is shown in.
    pub launch: Option<Box<LaunchRequest>>,
    /// Programs to attach to first, each the root of a tree.
    pub attach: Vec<AttachRequest>,
    /// Ask first which process to attach to.
    pub pick: bool,
}

/// Why the front end was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The user quit.
    Quit {
        /// Nothing of any tree is left; `false`: the user would not wait for it.
        ended: bool,
    },
    /// The terminal is gone: nobody reads any more.
    TerminalLost,
    /// A signal asked the process to end.
    Signal(i32),
    /// The tree failed before anything of it ran: why and what to do.
    LaunchFailed(String),
}

/// Why the front end failed. The terminal is as it was before.
#[derive(Debug, thiserror::Error)]
pub enum UiError {
    /// Standard input or output is none.
    #[error(
        "the terminal UI needs a terminal on standard input and output; `daptree trace` does not"
    )]
    NotATerminal,
    /// The terminal cannot be set up.
    #[error("the terminal could not be set up ({what}): {error}")]
    Terminal {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        error: std::io::Error,
    },
    /// The engine went away.
    #[error("the engine went away; its log says why")]
    EngineGone,
    /// A defect of the front end.
    #[error("the terminal UI failed: {0}; please report it")]
    Panicked(String),
}
