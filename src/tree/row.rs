//! What the core keeps of a row beyond what front ends see.

use super::causes::Fall;
use super::{Asker, ConnectionId, Millis};
use crate::adapter::Report;
use daptree_model::{BreakpointId, Inspect, Row, RowId, Stop, StopNumber};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A row with its session's inner state.
#[derive(Debug)]
pub(super) struct RowData {
    /// What front ends see.
    pub view: Arc<Row>,
    /// The rows whose parent it is, in the order in which they were seen.
    pub below: Vec<RowId>,
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
    /// Whose the pause is that was asked for, where it is not the session's own.
    pub hold: Option<Hold>,
    /// It stands because others of its world do, or is done with its own stop and waits for theirs.
    pub of_world: bool,
    /// The pause that was asked for is not wanted any more: its stop is passed.
    pub freed: bool,
    /// The adapter would not hold it for its world.
    pub unheld: bool,
    /// It was told to step and has not stopped since.
    pub stepping: bool,
    /// Where it stood when its session ended.
    pub fell_at: Option<Fall>,
    /// The stop that it left without being told to.
    pub broke_away: Option<Fall>,
    /// Since when it stands, or steps from stop to stop.
    pub stands_since: Option<Millis>,
    /// Its stop is fetched although nobody looks at it, to be read after its end.
    pub keeps: bool,
    /// When something was last done with it, or by it.
    pub touched: Millis,
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
    /// The debugger was put into it while it ran: its children are not reported.
    pub injected: bool,
    /// What ran below it before that was seen.
    pub surveyed: bool,
    /// It ran under the debugger already when that was.
    pub followed: bool,
    /// No one reported it: it was found below one that is `injected`.
    pub unreported: bool,
    /// Who asked for its attach and is not answered.
    pub adopter: Option<Asker>,
    /// What the adapter said while it was attached to.
    pub said: String,
}

/// Who had a session paused, where it did not stop by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    /// Somebody paused the whole group.
    Group,
    /// Another session of its world stopped.
    World,
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
            below: Vec::new(),
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
            hold: None,
            of_world: false,
            freed: false,
            unheld: false,
            stepping: false,
            fell_at: None,
            broke_away: None,
            stands_since: None,
            keeps: false,
            touched: Millis::default(),
            adapter_breakpoints: BTreeMap::new(),
            told: BTreeMap::new(),
            looks: BTreeMap::new(),
            looking: false,
            cause: None,
            injected: false,
            surveyed: false,
            followed: false,
            unreported: false,
            adopter: None,
            said: String::new(),
        }
    }

    /// Whether its process may be alive.
    pub(super) fn is_live(&self) -> bool {
        !self.view.is_ended()
    }
}
