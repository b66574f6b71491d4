//! The state of all trees at one moment, shared and immutable. Front ends draw from it and
//! answer from it; they never change it.

use crate::{Breakpoint, Inspect, ReplayView, Row, RowId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Everything the engine publishes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// Grows with each published change.
    pub revision: u64,
    /// When it was made, in ms since the engine started.
    pub at_ms: u64,
    /// The trees, oldest first.
    pub trees: Vec<TreeView>,
    /// All rows, in the order in which they were seen.
    pub rows: BTreeMap<RowId, Arc<Row>>,
    /// Breakpoints, oldest first.
    pub breakpoints: Vec<Arc<Breakpoint>>,
    /// Exception filters that somebody chose for every session; `None`: nobody did, and each row
    /// says which are on in it.
    pub exception_filters: Option<Vec<String>>,
    /// What was fetched for the interests of the front ends, and the last stop of each session that
    /// ended at one.
    pub inspects: BTreeMap<RowId, Arc<Inspect>>,
    /// Grows whenever output was added anywhere.
    pub output_revision: u64,
    /// Output lines of each row so far, dropped ones counted.
    pub output_lines: BTreeMap<RowId, u64>,
    /// The newest warnings and errors, oldest first, at most 100.
    pub notices: Vec<Arc<Notice>>,
    /// How far a replay has come; `None`: this is no replay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayView>,
}

impl Snapshot {
    /// The rows of the forest in pre-order, each with its depth; siblings in the order in which
    /// they were seen, so that rows keep their place.
    pub fn preorder(&self) -> Vec<(RowId, usize)> {
        let mut children: BTreeMap<Option<RowId>, Vec<RowId>> = BTreeMap::new();
        for row in self.rows.values() {
            let parent = row.parent.filter(|id| self.rows.contains_key(id));
            children.entry(parent).or_default().push(row.id);
        }
        let mut out = Vec::with_capacity(self.rows.len());
        let mut stack: Vec<(RowId, usize)> = Vec::new();
        stack.extend(
            children
                .get(&None)
                .into_iter()
                .flatten()
                .rev()
                .map(|id| (*id, 0)),
        );
        while let Some((id, depth)) = stack.pop() {
            out.push((id, depth));
            let below = children.get(&Some(id)).into_iter().flatten().rev();
            stack.extend(below.map(|child| (*child, depth + 1)));
        }
        out
    }

    /// A row and the rows above it, upward.
    pub fn upward(&self, from: RowId) -> impl Iterator<Item = &Row> {
        let above = |row: &&Arc<Row>| self.rows.get(&row.parent?);
        std::iter::successors(self.rows.get(&from), above).map(AsRef::as_ref)
    }

    /// The tree a row belongs to.
    pub fn tree_of(&self, row: RowId) -> Option<&TreeView> {
        let root = self.rows.get(&row)?.root;
        self.trees.iter().find(|tree| tree.root == root)
    }

    /// Whether any process of any tree is alive, as far as is known.
    pub fn is_live(&self) -> bool {
        self.trees.iter().any(|tree| tree.state.is_live())
    }
}

/// One tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TreeView {
    /// Its root row.
    pub root: RowId,
    /// What the user typed, for a title.
    pub title: String,
    /// The program's working folder.
    pub cwd: String,
    /// What it does now.
    pub state: TreeState,
    /// The adapter, such as `debugpy 1.8.22`; empty until known.
    pub adapter: String,
    /// How many children were released in this run: beyond the cap, or after a failed adoption.
    pub children_released: u32,
    /// Rows that ended and were dropped to keep the list short.
    pub rows_dropped: u32,
    /// The program has a terminal that can be typed into.
    pub has_terminal: bool,
    /// How often it was started.
    pub runs: u32,
    /// Only the user's own code is debugged.
    pub just_my_code: bool,
    /// The whole tree stops as one.
    pub stop_the_world: bool,
    /// Where its root comes from.
    #[serde(default)]
    pub origin: TreeOrigin,
}

/// Where the root of a tree comes from, which decides what closing it means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TreeOrigin {
    /// daptree started it: closing ends it, and it can be restarted.
    #[default]
    Launched,
    /// It ran already, or came by itself: closing lets it go.
    Attached,
}

/// What a tree does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TreeState {
    /// The interpreter, debugpy or the adapter are being found or started: what, in words.
    Preparing(String),
    /// It could not be started: why and what to do.
    Failed(String),
    /// It runs.
    Running,
    /// It is being ended.
    Ending,
    /// All of its sessions are over.
    Ended,
    /// It was let go and lives on.
    Detached,
}

impl TreeState {
    /// Whether processes of it may be alive.
    pub fn is_live(&self) -> bool {
        matches!(self, Self::Preparing(_) | Self::Running | Self::Ending)
    }
}

/// A warning or an error for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Notice {
    /// Counts the notices of the engine.
    pub seq: u64,
    /// A word for programs, such as `released`.
    pub code: String,
    /// A sentence for people.
    pub message: String,
    /// The row it is about.
    pub row: Option<RowId>,
    /// Something failed, rather than something to know.
    pub is_error: bool,
    /// When, in ms since the engine started.
    pub at_ms: u64,
}
