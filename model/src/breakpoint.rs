//! Breakpoints of a tree: where they are, in which processes, and their status in each session.
//! It must not know how an adapter is told of them.

use crate::{BreakpointId, PathMap, RowId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// What a user asks for: a place, with conditions and the processes it is meant for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BreakpointSpec {
    /// The place.
    pub at: BreakpointAt,
    /// Stops only where this holds, in the program's language.
    pub condition: Option<String>,
    /// DAP's `hitCondition`, counted in each process on its own.
    pub hit_condition: Option<String>,
    /// A logpoint: prints this and does not stop.
    pub log_message: Option<String>,
    /// In which processes.
    pub scope: BreakpointScope,
    /// For one stop of the whole tree: the first process that comes by stops, and then it is gone
    /// everywhere.
    pub once: bool,
}

/// The place of a breakpoint.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BreakpointAt {
    /// A line of a source.
    Line {
        /// Absolute path of the source.
        path: String,
        /// Line, from 1.
        line: u32,
    },
    /// The entry of every function of this name (DAP: `FunctionBreakpoint`).
    Function(String),
}

impl BreakpointAt {
    /// The source, for a line.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Line { path, .. } => Some(path),
            Self::Function(_) => None,
        }
    }
}

impl fmt::Display for BreakpointAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { path, line } => write!(f, "{path}:{line}"),
            Self::Function(name) => write!(f, "{name}()"),
        }
    }
}

/// The processes that a breakpoint is meant for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BreakpointScope {
    /// Every session of every tree.
    #[default]
    Everywhere,
    /// A row and all below it, also those that come.
    Subtree(RowId),
    /// One row.
    Session(RowId),
    /// Every session whose name, module, program's file name or path matches this glob.
    Program(String),
}

impl BreakpointScope {
    /// Whether it means the same in another run of daptree, where rows have other ids.
    pub fn is_lasting(&self) -> bool {
        matches!(self, Self::Everywhere | Self::Program(_))
    }
}

impl fmt::Display for BreakpointScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everywhere => f.write_str("everywhere"),
            Self::Subtree(row) => write!(f, "{row} and below"),
            Self::Session(row) => write!(f, "{row}"),
            Self::Program(pattern) => f.write_str(pattern),
        }
    }
}

impl BreakpointSpec {
    /// A plain breakpoint at a line, in every process.
    pub fn line(path: impl Into<String>, line: u32) -> Self {
        Self::at(BreakpointAt::Line {
            path: path.into(),
            line,
        })
    }

    /// A plain breakpoint at the entry of a function, in every process.
    pub fn function(name: impl Into<String>) -> Self {
        Self::at(BreakpointAt::Function(name.into()))
    }

    fn at(at: BreakpointAt) -> Self {
        Self {
            at,
            condition: None,
            hit_condition: None,
            log_message: None,
            scope: BreakpointScope::Everywhere,
            once: false,
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
    /// The same by session; kept while it is off.
    pub hits_in: BTreeMap<RowId, u32>,
    /// What each session that was asked answered. Those out of scope were not.
    pub sessions: BTreeMap<RowId, BreakpointStatus>,
    /// What was found of its source in the sessions, where it was looked for.
    pub reach: BTreeMap<RowId, Reach>,
    /// What became of it since it was kept: its line moved, its file is gone. For people.
    pub note: Option<String>,
}

impl Breakpoint {
    /// One that no session was told of.
    pub fn new(id: BreakpointId, spec: BreakpointSpec) -> Self {
        Self {
            id,
            spec,
            enabled: true,
            hits: 0,
            hits_in: BTreeMap::new(),
            sessions: BTreeMap::new(),
            reach: BTreeMap::new(),
            note: None,
        }
    }

    /// The line it really stands on: that of the first session that moved it, else as asked;
    /// `None` for a function.
    pub fn shown_line(&self) -> Option<u32> {
        let BreakpointAt::Line { line: asked, .. } = self.spec.at else {
            return None;
        };
        let moved = self.sessions.values().find_map(|status| match status {
            BreakpointStatus::Moved { line, .. } => Some(*line),
            _ => None,
        });
        Some(moved.unwrap_or(asked))
    }

    /// How many sessions verified it (also where it moved) and can reach it, as far as is known,
    /// and how many were asked.
    pub fn verified(&self) -> (usize, usize) {
        let good = self
            .sessions
            .iter()
            .filter(|(row, status)| {
                let verified = matches!(
                    status,
                    BreakpointStatus::Verified | BreakpointStatus::Moved { .. }
                );
                verified && !matches!(self.reach.get(row), Some(Reach::Never { .. }))
            })
            .count();
        (good, self.sessions.len())
    }

    /// The first session in which it can never be hit: which one, why, and what would help.
    pub fn out_of_reach(&self) -> Option<(RowId, &str, Option<&PathMap>)> {
        self.reach.iter().find_map(|(row, reach)| match reach {
            Reach::Never { reason, offer } => Some((*row, reason.as_str(), offer.as_ref())),
            Reach::Loaded | Reach::NotYet => None,
        })
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

/// What was found of a breakpoint's source in a process, whatever the adapter said of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Reach {
    /// The process has loaded it under the breakpoint's path.
    Loaded,
    /// It was not loaded when it was last looked for; it may be later.
    NotYet,
    /// The process runs this code, but never stops here.
    Never {
        /// Why, for people.
        reason: String,
        /// A path map that would help; `Op::AcceptOffer` takes it.
        offer: Option<PathMap>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_take_whole_names_of_folders() {
        let map = PathMap {
            local: "/home/a/shop/".to_owned(),
            remote: "/app".to_owned(),
        };
        for (local, remote) in [
            ("/home/a/shop/x.py", Some("/app/x.py")),
            ("/home/a/shop", Some("/app")),
            ("/home/a/shopping/x.py", None),
            ("/home/a", None),
        ] {
            assert_eq!(map.to_remote(local).as_deref(), remote, "{local}");
            if let Some(remote) = remote {
                assert_eq!(map.to_local(remote).as_deref(), Some(local));
            }
        }
        assert_eq!(map.to_local("/application/x.py"), None);
    }

    #[test]
    fn a_session_that_cannot_reach_it_is_not_counted_as_verified() {
        let mut made = Breakpoint::new(BreakpointId(1), BreakpointSpec::line("/p/a.py", 3));
        made.sessions.insert(RowId(1), BreakpointStatus::Verified);
        made.sessions.insert(RowId(2), BreakpointStatus::Verified);
        made.reach.insert(RowId(1), Reach::NotYet);
        assert_eq!(made.verified(), (2, 2));
        let reason = "it runs a copy".to_owned();
        let never = Reach::Never {
            reason,
            offer: None,
        };
        made.reach.insert(RowId(2), never);
        assert_eq!(made.verified(), (1, 2));
        assert_eq!(
            made.out_of_reach(),
            Some((RowId(2), "it runs a copy", None))
        );
    }
}
