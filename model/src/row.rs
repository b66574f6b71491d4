//! One row of the tree: a process, debugged or not, what it does and how it ended.
//! It must not hold anything of a DAP connection.

use crate::{BreakpointId, EndStatus, ProcessKey, RowId, StopNumber};
use serde::{Deserialize, Serialize};

/// A process of the tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// Its id, for life.
    pub id: RowId,
    /// The row of the process that started it; `None` for a root.
    pub parent: Option<RowId>,
    /// The nearest session above; `None` for a root.
    pub parent_session: Option<RowId>,
    /// The root of its tree (itself for a root).
    pub root: RowId,
    /// The process, once there is one.
    pub process: Option<ProcessKey>,
    /// What a person would call it: multiprocessing's process name, pytest's worker id, else the
    /// script or module, else the command name.
    pub name: String,
    /// Absolute path of the main file, where there is one.
    pub program: Option<String>,
    /// The command line as the process table shows it, without what the debugger added.
    pub command: Vec<String>,
    /// `python`, `javascript`, `native`; `None` when it is not debugged.
    pub language: Option<String>,
    /// Whether and how it is debugged.
    pub follow: Follow,
    /// Why it is not debugged, in words; `None` for a session.
    pub reason: Option<String>,
    /// What it does now.
    pub state: RowState,
    /// The number of its last stop.
    pub stop: StopNumber,
    /// The stop it stands at; `None` unless paused.
    pub stopped: Option<Stop>,
    /// The last stop's place, kept after the end for reading.
    pub last_place: Option<Place>,
    /// Paused by a group, not by itself: takes no focus.
    pub held: bool,
    /// Its subtree stops as one.
    pub stops_world: bool,
    /// A pause was asked for and has not happened yet.
    pub pausing: bool,
    /// How it ended.
    pub end: Option<End>,
    /// The stop at which it stood when it ended: what was fetched of it can still be read.
    pub ended_at: Option<StopNumber>,
    /// How many times it replaced itself through `exec`.
    pub execs: u32,
    /// When its process was seen first, in ms since the engine started.
    pub since_ms: u64,
    /// Exception filters its adapter offers.
    pub exception_filters: Vec<ExceptionFilter>,
    /// Those of them that are on, by the adapter's names.
    pub filters_on: Vec<String>,
}

impl Row {
    /// A root row of its own that runs under the debugger and has not stopped: what else is known
    /// of it is filled in.
    pub fn new(id: RowId, name: impl Into<String>) -> Self {
        Self {
            id,
            parent: None,
            parent_session: None,
            root: id,
            process: None,
            name: name.into(),
            program: None,
            command: Vec::new(),
            language: None,
            follow: Follow::Adopted,
            reason: None,
            state: RowState::Running,
            stop: StopNumber(0),
            stopped: None,
            last_place: None,
            held: false,
            stops_world: false,
            pausing: false,
            end: None,
            ended_at: None,
            execs: 0,
            since_ms: 0,
            exception_filters: Vec::new(),
            filters_on: Vec::new(),
        }
    }

    /// Whether it has, or had, a debug session.
    pub fn is_session(&self) -> bool {
        matches!(self.follow, Follow::Adopted | Follow::Helper)
    }

    /// Whether it stands at a stop.
    pub fn is_paused(&self) -> bool {
        self.state == RowState::Paused
    }

    /// Whether it is over.
    pub fn is_ended(&self) -> bool {
        self.state == RowState::Ended
    }
}

/// Whether and how a row is debugged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Follow {
    /// Debugged.
    Adopted,
    /// Serves a library's machinery (a tracker, a fork server): never stops, may be folded away.
    Helper,
    /// Could be debugged, was let go.
    Released,
    /// Seen in the process table only.
    Unfollowed,
}

/// What a row does. MCP says created, initializing, running, paused, stopped, error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum RowState {
    /// A root that has not been started.
    Created,
    /// A root whose adapter or process is being started.
    Starting,
    /// A parked child whose session is being set up.
    Adopting,
    /// It runs.
    Running,
    /// It stands at a stop.
    Paused,
    /// It is over.
    Ended,
    /// It lives, but its connection broke.
    Failed,
}

/// Why and where a session stands still.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stop {
    /// DAP's `reason` of the `stopped` event: `breakpoint`, `step`, `exception`, `pause` …
    pub reason: String,
    /// DAP's `description` or `text`, for people.
    pub text: Option<String>,
    /// The thread that stopped.
    pub thread: Option<i64>,
    /// Its top frame; `None` until the adapter has told it.
    pub place: Option<Place>,
    /// The tree's breakpoints that it stands at.
    pub breakpoints: Vec<BreakpointId>,
    /// What was raised, when an exception stopped it.
    pub exception: Option<Exception>,
    /// When it stopped, in ms since the engine started.
    pub since_ms: u64,
}

/// A place in a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// Absolute path, or the adapter's name for a source without a file.
    pub path: String,
    /// Line, from 1.
    pub line: u32,
    /// The function's name.
    pub function: String,
}

/// A raised exception.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Exception {
    /// The bare type name, such as `ZeroDivisionError`.
    pub type_name: String,
    /// Its message.
    pub message: String,
    /// DAP's `breakMode`.
    pub mode: String,
    /// What led to it, the nearest first.
    pub chain: Vec<Cause>,
}

/// An exception that led to another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cause {
    /// Its type as the adapter shows it, with its module where it is not built in.
    pub type_name: String,
    /// Its message.
    pub message: String,
    /// Named as the cause (Python: `__cause__`), rather than being handled when the next one was
    /// raised (`__context__`).
    pub is_direct: bool,
}

/// How a row ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct End {
    /// What the kernel says.
    pub status: EndStatus,
    /// Who ended it, in words, where it did not end by itself.
    pub cause: Option<String>,
    /// When, in ms since the engine started.
    pub at_ms: u64,
    /// It was let go by us and lives on.
    pub released: bool,
}

/// An exception filter of an adapter (DAP: `ExceptionBreakpointsFilter`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExceptionFilter {
    /// The adapter's own name, such as `userUnhandled`.
    pub filter: String,
    /// Its label for people.
    pub label: String,
    /// What it does, where the adapter says.
    pub description: Option<String>,
    /// On unless somebody says otherwise.
    pub default: bool,
}
