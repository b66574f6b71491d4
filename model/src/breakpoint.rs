//! Breakpoints of a tree and their status in each session.

use crate::{BreakpointId, RowId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a user asks for: a line, with conditions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BreakpointSpec {
    /// Absolute path of the source.
    pub path: String,
    /// Line, from 1.
    pub line: u32,
    /// Stops only where this holds, in the program's language.
    pub condition: Option<String>,
    /// DAP's `hitCondition`.
    pub hit_condition: Option<String>,
    /// A logpoint: prints this and does not stop.
    pub log_message: Option<String>,
}

impl BreakpointSpec {
    /// A plain breakpoint at a line.
    pub fn line(path: impl Into<String>, line: u32) -> Self {
        Self {
            path: path.into(),
            line,
            condition: None,
            hit_condition: None,
            log_message: None,
        }
    }
}

/// A breakpoint of the engine's trees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Breakpoint {
    /// Its id.
    pub id: BreakpointId,
    /// Where and when.
    pub spec: BreakpointSpec,
    /// Whether it is sent to the adapters.
    pub enabled: bool,
    /// How often a session stopped at it.
    pub hits: u32,
    /// What each session that was asked answered.
    pub sessions: BTreeMap<RowId, BreakpointStatus>,
}

impl Breakpoint {
    /// The line it really stands on: that of the first session that moved it, else as asked.
    pub fn shown_line(&self) -> u32 {
        self.sessions
            .values()
            .find_map(|status| match status {
                BreakpointStatus::Moved { line, .. } => Some(*line),
                _ => None,
            })
            .unwrap_or(self.spec.line)
    }

    /// How many sessions verified it (also where it moved), and how many were asked.
    pub fn verified(&self) -> (usize, usize) {
        let good = self
            .sessions
            .values()
            .filter(|s| {
                matches!(
                    s,
                    BreakpointStatus::Verified | BreakpointStatus::Moved { .. }
                )
            })
            .count();
        (good, self.sessions.len())
    }
}

/// What one session says of a breakpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BreakpointStatus {
    /// Sent, not answered yet.
    Pending,
    /// In place.
    Verified,
    /// In place on another line.
    Moved {
        /// The line the adapter took.
        line: u32,
        /// The adapter's word on it.
        message: Option<String>,
    },
    /// The adapter would not set it.
    Refused {
        /// Why, in its words.
        message: String,
    },
}
