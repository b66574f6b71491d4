//! What the core keeps of a row beyond what front ends see.

use super::{ConnectionId, Millis};
use crate::adapter::Report;
use daptree_model::{BreakpointId, Inspect, Place, Row, Stop, StopNumber};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A row with its session's inner state.
#[derive(Debug)]
pub(super) struct RowData {
    /// What front ends see.
    pub view: Arc<Row>,
    /// Its session's connection.
    pub connection: Option<ConnectionId>,
    /// The report that it is, or was, adopted by.
    pub report: Option<Report>,
    /// By when it has to be adopted.
    pub adopt_by: Option<Millis>,
    /// It is being let go: what is not done by `adopt_by` ends it.
    pub releasing: bool,
    /// The adapter said that the session is over.
    pub terminated: bool,
    /// How often its process was found alive and unchanged since then.
    pub found_alive: u32,
    /// The program itself named it.
    pub named: bool,
    /// The name was asked for and not answered yet.
    pub naming: bool,
    /// How often the program was asked for its name.
    pub unnamed: usize,
    /// Its next stop is the one at entry.
    pub entering: bool,
    /// A stop whose place is not known yet.
    pub arriving: Option<Stop>,
    /// The exception of that stop is how something ends, and no fault.
    pub exits: bool,
    /// What is fetched for the present stop.
    pub inspect: Inspect,
    /// What of it front ends see: complete, so that nothing flickers.
    pub shown: Option<Arc<Inspect>>,
    /// What was asked of the adapter for this stop.
    pub asked: BTreeSet<Fetch>,
    /// Requests for `inspect` that are not answered yet.
    pub in_flight: u32,
    /// The stop that a resume under way left, in case it is refused.
    pub resuming: Option<(StopNumber, Stop)>,
    /// An exit that is being passed, by the number of the pass, in case that is refused.
    pub passing: Option<(u64, Stop)>,
    /// The pause that was asked for is a group's.
    pub hold: bool,
    /// Where it stood when its session ended.
    pub fell_at: Option<Place>,
    /// The adapter's ids of our breakpoints.
    pub adapter_breakpoints: BTreeMap<i64, BreakpointId>,
    /// What its session was told of breakpoints.
    pub told: super::breakpoints::Told,
    /// How often it was asked whether each file is loaded.
    pub looks: BTreeMap<String, u32>,
    /// It is about to be asked.
    pub looking: bool,
    /// Why we ended it.
    pub cause: Option<String>,
}

/// A piece of an [`Inspect`], asked for once per stop.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fetch {
    Threads,
    /// All frames of a thread.
    Stack(i64),
    Scopes(i64),
    /// Children of a reference, so many.
    Page(i64, u32),
    /// An expression in a frame.
    Watch(i64, String),
}

impl RowData {
    pub(super) fn new(view: Row) -> Self {
        Self {
            view: Arc::new(view),
            connection: None,
            report: None,
            adopt_by: None,
            releasing: false,
            terminated: false,
            found_alive: 0,
            named: false,
            naming: false,
            unnamed: 0,
            entering: false,
            arriving: None,
            exits: false,
            inspect: Inspect::default(),
            shown: None,
            asked: BTreeSet::new(),
            in_flight: 0,
            resuming: None,
            passing: None,
            hold: false,
            fell_at: None,
            adapter_breakpoints: BTreeMap::new(),
            told: BTreeMap::new(),
            looks: BTreeMap::new(),
            looking: false,
            cause: None,
        }
    }

    /// Whether its process may be alive.
    pub(super) fn is_live(&self) -> bool {
        !self.view.is_ended()
    }
}
