//! The core: every rule of the tree, as one pure function from inputs to effects.
//! It must not know of clocks, sockets, processes or front ends' screens; time is an argument.
//!
//! [`Tree::handle`] takes one [`Input`] and gives the [`Effect`]s that follow; [`Tree::snapshot`]
//! shows the state. What must always hold is written down in [`invariants`] and checked after
//! every step in debug builds.

mod adoption;
mod attach;
mod breakpoints;
mod causes;
mod children;
mod connections;
mod control;
mod ending;
mod groups;
mod idle;
mod input;
mod inspect;
pub mod invariants;
mod launch;
mod lingering;
mod origin;
mod over;
mod parting;
mod reads;
mod release;
mod requests;
mod row;
mod scan;
mod session;
mod settle;
mod snapshot;
mod stops;
mod streams;
mod timers;
mod watchdogs;
mod whereabouts;

#[cfg(test)]
mod tests;

pub use breakpoints::{Kept, KeptBreakpoint};
pub use input::{ConnectionId, Effect, Input, Millis, Prepared, Run, Seen, StreamOffer};
pub use origin::Origin;

use crate::adapter::Policy;
use daptree_model::{
    Answer, Breakpoint, BreakpointId, ClientId, CommandId, EngineError, Event, Interest, Notice,
    PathMap, ProcessKey, Reply, Row, RowId, Snapshot, TreeState,
};
use requests::Pending;
use row::RowData;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use timers::Timers;

/// How many notices a snapshot carries.
const NOTICES: usize = 100;

/// All trees of an engine, with their sessions, breakpoints and front ends.
#[derive(Debug, Default)]
pub struct Tree {
    now: Millis,
    rows: BTreeMap<RowId, RowData>,
    trees: BTreeMap<RowId, TreeData>,
    connections: BTreeMap<ConnectionId, Connection>,
    pending: BTreeMap<(ConnectionId, i64), Pending>,
    timers: Timers,
    breakpoints: BTreeMap<BreakpointId, Arc<Breakpoint>>,
    /// What of the breakpoints no front end sees.
    aside: breakpoints::Aside,
    /// Chosen for every session; `None`: each program's own.
    exception_filters: Option<Vec<String>>,
    /// Those that somebody chose by hand, and that are kept.
    kept_filters: Option<Vec<String>>,
    /// What makes the program's paths of ours, given or accepted.
    maps: Vec<PathMap>,
    /// Those of them that were accepted, and are kept.
    accepted: Vec<PathMap>,
    /// Something changed that is kept.
    keep: bool,
    /// What is kept is wanted by somebody.
    keeps: bool,
    clients: BTreeMap<ClientId, Client>,
    /// Commands that are answered later. The value says for what.
    open_commands: BTreeMap<(ClientId, CommandId), &'static str>,
    waits: Vec<settle::Wait>,
    endings: BTreeMap<u64, ending::Ending>,
    /// Processes that are being looked at before they are attached to.
    examinations: BTreeMap<u64, attach::Examination>,
    /// Roots that are being let go.
    partings: Vec<parting::Parting>,
    /// Front ends that wait for everything to end.
    shutdowns: Vec<Asker>,
    shutdown_survivors: Vec<u32>,
    /// Reports whose processes are being looked up, by pid.
    reports: BTreeMap<u32, adoption::Reported>,
    notices: VecDeque<Arc<Notice>>,
    output: BTreeMap<RowId, u64>,
    output_revision: u64,
    effects: Vec<Effect>,
    revision: u64,
    dirty: bool,
    /// Somebody waits for what changed: the values of a stop are there.
    urgent: bool,
    last_row: u32,
    last_connection: u64,
    last_breakpoint: u32,
    last_operation: u64,
    last_notice: u64,
    idle: idle::Idle,
}

/// One tree: a root's slot with its present run.
#[derive(Debug)]
struct TreeData {
    run: u32,
    origin: Origin,
    state: TreeState,
    policy: Option<Arc<dyn Policy>>,
    adapter: String,
    own_streams: bool,
    /// Where the adapter listens, once it is up.
    endpoint: Option<(String, u16)>,
    /// The root's process was asked for.
    spawning: bool,
    children_released: u32,
    rows_dropped: u32,
    /// A survey is under way that decides whether the tree is over.
    surveying: bool,
    /// Where its processes run.
    place: whereabouts::Place,
    /// The root as it was before it was attached to.
    seen: Option<Seen>,
    /// Reports that came before that was known.
    held: Vec<adoption::Reported>,
    /// Processes that a scan has seen once.
    fresh: BTreeSet<ProcessKey>,
    /// A scan is under way.
    scanning: bool,
    /// Until when a process that is about to be reported is waited for.
    late_until: Option<Millis>,
    /// Who wants to know that the launch succeeded or failed.
    ended_said: bool,
}

/// A connection to an adapter.
#[derive(Debug)]
struct Connection {
    row: RowId,
    run: Run,
    role: ConnectionRole,
    phase: Phase,
    next_seq: i64,
    lane: requests::Lane,
    /// The adapter's `initialize` answer names these.
    filters: Vec<daptree_model::ExceptionFilter>,
    /// It takes function breakpoints; `None` until it said so.
    functions: Option<bool>,
}

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectionRole {
    /// A session.
    Session,
    /// A throwaway one that takes a parked child in order to let it go.
    Release,
}

/// How far a connection has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Opening,
    /// `initialize` and `attach` are sent.
    Attaching,
    /// `initialized` came; breakpoints and `configurationDone` are sent.
    Configuring,
    /// The attach was answered.
    Live,
    /// `disconnect` was sent.
    Leaving,
}

/// A front end.
#[derive(Debug, Default)]
struct Client {
    interests: Vec<Interest>,
}

/// Who asked for something.
type Asker = (ClientId, CommandId);

impl Tree {
    /// An engine without trees.
    pub fn new() -> Self {
        Self::default()
    }

    /// An engine that closes sessions with which nothing was done for so long, in ms.
    #[must_use]
    pub fn closing_idle(after_ms: u64) -> Self {
        Self {
            idle: idle::Idle::after(after_ms),
            ..Self::default()
        }
    }

    /// Takes one input and gives what has to be done for it, in order.
    pub fn handle(&mut self, now: Millis, input: Input) -> Vec<Effect> {
        self.now = self.now.max(now);
        match input {
            Input::ClientOpened(client) => {
                self.clients.insert(client, Client::default());
                self.dirty = true;
            }
            Input::ClientClosed(client) => self.client_closed(client),
            Input::Client(client, message) => self.client_said(client, message),
            Input::Progress(run, text) => self.start_progress(run, text),
            Input::AdapterReady(run, prepared) => self.adapter_ready(run, prepared),
            Input::StartFailed(run, message) => self.start_failed(run, message),
            Input::AdapterGone(run, message) => self.adapter_gone(run, &message),
            Input::Spawned(run, process) => self.root_spawned(run, process),
            Input::Opened(connection) => self.connection_opened(connection),
            Input::Closed(connection, error) => self.connection_closed(connection, error),
            Input::Dap(connection, message) => self.adapter_said(connection, message),
            Input::Described(pid, seen) => self.process_described(pid, &seen),
            Input::Gone(process, status) => self.process_gone(process, status),
            Input::ProcessesEnded(operation, left) => self.processes_ended(operation, &left),
            Input::Surveyed(run, alive) => self.surveyed(run, &alive),
            Input::Located(run, seen) => self.located(run, seen.first()),
            Input::Examined(operation, result) => self.examined(operation, result),
            Input::Scanned(run, seen) => self.scanned(run, &seen),
            Input::OutputGrew(revision, lines) => {
                self.output_revision = revision;
                for (row, count) in lines {
                    if self.rows.contains_key(&row) {
                        self.output.insert(row, count);
                        self.touch(row);
                    }
                }
                self.dirty = true;
            }
            Input::StreamsOpened(row, offers) => self.streams_opened(row, &offers),
            Input::Restored(kept, trouble) => self.restored(kept, trouble),
            Input::NotKept(trouble) => self.notice("breakpoints", trouble, None, true),
            Input::Maps(maps) => self.maps = maps,
            Input::Wake => {}
        }
        self.partings_advance();
        // What is there in time is not late.
        self.settle_worlds();
        self.settle_waits();
        self.fire_due_timers();
        self.partings_advance();
        self.settle_worlds();
        self.settle_waits();
        self.keep_changes();
        if let Some(at) = self.timers.changed_next() {
            self.effects.push(Effect::WakeAt(at));
        }
        // The core's own tests check it themselves, and fail.
        #[cfg(all(debug_assertions, not(test)))]
        if let Err(broken) = invariants::check(self) {
            tracing::error!("an invariant of the tree does not hold: {broken}");
        }
        std::mem::take(&mut self.effects)
    }

    /// Whether the state changed since the last snapshot.
    pub fn is_dirty(&self) -> bool {
        self.dirty
    }

    /// The live processes of all trees and their rows.
    pub fn rows_by_process(&self) -> BTreeMap<ProcessKey, RowId> {
        let live = self.rows.iter().filter(|(_, data)| data.is_live());
        live.filter_map(|(row, data)| Some((data.view.process?, *row)))
            .collect()
    }

    /// Whether somebody waits for the next snapshot: the values of a stop are in it.
    pub fn is_urgent(&self) -> bool {
        self.urgent
    }

    /// The state of everything.
    pub fn snapshot(&mut self) -> Arc<Snapshot> {
        if self.dirty {
            self.revision += 1;
            self.dirty = false;
            self.urgent = false;
        }
        Arc::new(snapshot::make(self))
    }

    /// The state of everything, without counting it as published.
    pub fn at_present(&self) -> Snapshot {
        snapshot::make(self)
    }

    fn effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    fn event(&mut self, event: Event) {
        self.dirty = true;
        self.effects.push(Effect::Event(event));
    }

    /// Answers a command. A second answer to the same command is a fault and is dropped.
    fn reply(&mut self, asker: Asker, result: Result<Answer, EngineError>) {
        if self.open_commands.remove(&asker).is_none() {
            return;
        }
        self.dirty = true;
        self.effects.push(Effect::Reply(
            asker.0,
            Reply {
                id: asker.1,
                result,
            },
        ));
    }

    fn notice(&mut self, code: &str, message: String, row: Option<RowId>, is_error: bool) {
        self.last_notice += 1;
        let notice = Arc::new(Notice {
            seq: self.last_notice,
            code: code.to_owned(),
            message,
            row,
            is_error,
            at_ms: self.now.0,
        });
        self.notices.push_back(Arc::clone(&notice));
        while self.notices.len() > NOTICES {
            self.notices.pop_front();
        }
        self.event(Event::Notice(notice));
    }

    /// A new row; it joins the tree of `parent`, or makes one of its own.
    fn add_row(&mut self, parent: Option<RowId>, build: impl FnOnce(RowId) -> Row) -> RowId {
        self.last_row += 1;
        let id = RowId(self.last_row);
        let mut row = build(id);
        row.parent = parent;
        row.since_ms = self.now.0;
        if let Some(above) = parent.and_then(|id| self.rows.get(&id)) {
            row.root = above.view.root;
            row.parent_session = if above.view.is_session() {
                parent
            } else {
                above.view.parent_session
            };
        }
        self.rows.insert(id, RowData::new(row));
        if let Some(above) = parent.and_then(|id| self.rows.get_mut(&id)) {
            above.below.push(id);
        }
        self.touch(id);
        self.dirty = true;
        id
    }

    /// Changes a row and tells the front ends when something changed that names it.
    fn change_row(&mut self, id: RowId, change: impl FnOnce(&mut Row)) {
        if let Some(data) = self.rows.get_mut(&id) {
            change(Arc::make_mut(&mut data.view));
            self.dirty = true;
        }
    }

    /// Tells the front ends how a row looks now.
    fn announce(&mut self, id: RowId) {
        if let Some(data) = self.rows.get(&id) {
            let view = Arc::clone(&data.view);
            self.event(Event::Row(view));
        }
    }

    fn view(&self, id: RowId) -> Option<&Row> {
        self.rows.get(&id).map(|data| data.view.as_ref())
    }

    /// The root's run of a row, as it is now.
    fn run_of(&self, row: RowId) -> Option<Run> {
        let root = self.view(row)?.root;
        self.trees.get(&root).map(|tree| Run {
            root,
            number: tree.run,
        })
    }

    /// The tree of a run, unless it has been started again since.
    fn tree_of(&mut self, run: Run) -> Option<&mut TreeData> {
        self.trees
            .get_mut(&run.root)
            .filter(|tree| tree.run == run.number)
    }

    /// A row and all rows below it, in pre-order.
    fn subtree(&self, top: RowId) -> Vec<RowId> {
        let (mut out, mut stack) = (Vec::new(), vec![top]);
        while let Some(id) = stack.pop() {
            if let Some(data) = self.rows.get(&id) {
                out.push(id);
                stack.extend(data.below.iter().rev());
            }
        }
        out
    }

    fn client_closed(&mut self, client: ClientId) {
        self.clients.remove(&client);
        self.waits.retain(|wait| wait.asker.0 != client);
        self.open_commands.retain(|asker, _| asker.0 != client);
        for pending in self.pending.values_mut() {
            if pending.asker.is_some_and(|asker| asker.0 == client) {
                pending.asker = None;
            }
        }
    }
}
