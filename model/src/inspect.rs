//! What a front end looks at: its interest, and what the engine fetched for it.
//! References and frame ids are the adapter's and live for one stop.

use crate::{RowId, StopNumber};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a front end wants to see of one session. The engine fetches for it at each stop.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Interest {
    /// The session.
    pub row: RowId,
    /// The thread, `None`: the one that stopped.
    pub thread: Option<i64>,
    /// Which frame of that thread, 0 = top. Kept over steps.
    pub frame: usize,
    /// Variables that are unfolded. The first scope that is not expensive counts as open.
    pub open: Vec<OpenPath>,
    /// Expressions evaluated in the frame at each stop.
    pub watches: Vec<String>,
}

/// An unfolded variable, named from its scope down, so that it stays open over steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenPath {
    /// Scope name, then variable names.
    pub path: Vec<String>,
    /// How many of its children are wanted; a front end raises it to page on.
    pub limit: u32,
}

/// How many children of a variable are fetched unless a front end asks for more.
pub const PAGE: u32 = 100;

/// What the engine knows of one session at one stop. Dropped at the next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Inspect {
    /// The session.
    pub row: RowId,
    /// The stop that all of this belongs to.
    pub stop: StopNumber,
    /// Its threads.
    pub threads: Vec<Thread>,
    /// Frames by thread, top first.
    pub stacks: BTreeMap<i64, Stack>,
    /// Scopes by frame id.
    pub scopes: BTreeMap<i64, Vec<Scope>>,
    /// Children by variables reference.
    pub pages: BTreeMap<i64, Page>,
    /// Watches of the frame: expression → result.
    pub watches: BTreeMap<String, Evaluation>,
}

/// A thread (DAP: `Thread`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Thread {
    /// The adapter's id.
    pub id: i64,
    /// Its name.
    pub name: String,
}

/// The frames of a thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stack {
    /// Top first; maybe not all.
    pub frames: Vec<Frame>,
    /// How many there are in all, where the adapter tells.
    pub total: Option<u32>,
}

/// A stack frame (DAP: `StackFrame`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Frame {
    /// The adapter's id, good for this stop.
    pub id: i64,
    /// The function.
    pub name: String,
    /// Absolute path of its source, where there is a file.
    pub path: Option<String>,
    /// The source's name for people.
    pub source: String,
    /// DAP's `sourceReference`, for sources that only the adapter has (else 0).
    pub source_reference: i64,
    /// Line, from 1; 0 unknown.
    pub line: u32,
    /// Not the user's code (DAP: `presentationHint` subtle or deemphasize).
    pub subtle: bool,
}

/// A scope of a frame (DAP: `Scope`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Scope {
    /// Its name, such as `Locals`.
    pub name: String,
    /// Reference of its variables.
    pub reference: i64,
    /// Costly to read: fetched only when opened.
    pub expensive: bool,
}

/// The children of a scope or variable, from the first on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Page {
    /// The children fetched so far.
    pub variables: Vec<Variable>,
    /// Whether there are more.
    pub more: bool,
    /// Why they could not be read.
    pub error: Option<String>,
}

/// A variable (DAP: `Variable`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value as the adapter shows it.
    pub value: String,
    /// Its type.
    pub type_name: Option<String>,
    /// Reference of its children; 0: none.
    pub reference: i64,
    /// DAP's `indexedVariables` or `namedVariables`, where told.
    pub children: Option<u32>,
    /// The expression that gives it (DAP: `evaluateName`).
    pub evaluate_name: Option<String>,
}

/// The answer to an expression.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Evaluation {
    /// The value as the adapter shows it, or its error in words.
    pub value: Result<String, String>,
    /// Its type.
    pub type_name: Option<String>,
    /// Reference of its children; 0: none.
    pub reference: i64,
}
