//! What a front end sees of a replay, and how it steers one. It must not know how a journal is
//! kept.

use crate::Interest;
use serde::{Deserialize, Serialize};

/// How far a replay has come. Positions count the inputs of the recorded engine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplayView {
    /// Inputs that have been replayed.
    pub at: u64,
    /// Inputs that the journal holds.
    pub of: u64,
    /// The recorded time of the position, in ms since the engine started.
    pub at_ms: u64,
    /// The recorded time of the last input, in ms since the engine started.
    pub until_ms: u64,
    /// Time passes by itself.
    pub playing: bool,
    /// How fast, in percent of the recorded speed.
    pub speed: u32,
    /// What the recorded front end looked at, where there was one.
    pub looked_at: Option<Interest>,
    /// What the journal lacks, for people.
    pub lacks: Option<String>,
}

/// How a replay is steered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReplayOp {
    /// One input on.
    Next,
    /// One input back.
    Previous,
    /// On to where a session stopped next.
    NextStop,
    /// Back to where a session stopped before.
    PreviousStop,
    /// Before the first input.
    Start,
    /// After the last one.
    End,
    /// Let time pass, or hold it.
    Play,
    /// Play twice as fast.
    Faster,
    /// Play half as fast.
    Slower,
}
