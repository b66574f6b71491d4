//! How things end: a process is gone, a tree is over, somebody closes, terminates, restarts,
//! detaches or shuts down. Children go before their parents; nothing stays parked.

use super::requests::{ANSWER, Asked};
use super::timers::Timer;
use super::{Asker, ConnectionId, ConnectionRole, Effect, Phase, Run, Seen, Tree};
use daptree_model::{
    Answer, End, EndStatus, EngineError, Event, ProcessKey, Row, RowId, RowState, TreeState,
};
use serde_json::json;

/// How long a child's own session may take to end its process, in ms.
const ASKED: u64 = 700;
/// How long a process that is being started is waited for, in ms.
const SPAWNING: u64 = 5_000;
/// How long the kernel's word may lag behind the end of all processes, in ms.
const LAG: u64 = 500;
/// How long a connection stays open after its process is gone, for last words, in ms.
const LAST_WORDS: u64 = 300;
/// How soon a tree that waits for a late report is looked at again, in ms.
const AGAIN: u64 = 250;
/// How long a late report is waited for, in ms.
const LATE: u64 = 5_000;
/// Ended rows that a tree keeps; beyond it the oldest that ended well go.
const KEPT: usize = 500;
/// Who ended it.
const BY_US: &str = "ended by daptree";

/// What becomes of a subtree once its processes have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// Its rows stay.
    Keep,
    /// Its rows go.
    Remove,
    /// Its root is started again.
    Restart,
}

/// A subtree that is being ended.
#[derive(Debug)]
pub(super) struct Ending {
    top: RowId,
    asker: Option<Asker>,
    then: Then,
    children: u32,
    process_ended: bool,
    /// Set once [`Effect::EndProcesses`] is over.
    survivors: Option<Vec<ProcessKey>>,
    /// The effect was sent.
    forced: bool,
}

impl Ending {
    /// Whether it ends this row with all below it.
    pub(super) fn is_of(&self, row: RowId) -> bool {
        self.top == row
    }

    /// Who is told.
    pub(super) fn asker(&self) -> Option<Asker> {
        self.asker
    }
}

impl Tree {
    /// The kernel says that a process is gone.
    pub(super) fn process_gone(&mut self, process: ProcessKey, status: EndStatus) {
        if let Some(row) = self.live_row_of(process) {
            self.row_ended(row, status);
            return;
        }
        let parked = self
            .rows
            .iter()
            .find(|(_, data)| data.releasing && data.view.process == Some(process))
            .map(|(row, _)| *row);
        if let Some(row) = parked {
            self.released(row);
        }
    }

    fn row_ended(&mut self, row: RowId, status: EndStatus) {
        self.arrive(row);
        self.fell(row);
        let at_ms = self.now.0;
        let Some(data) = self.rows.get_mut(&row) else {
            return;
        };
        data.adopt_by = None;
        data.releasing = false;
        data.report = None;
        let connection = data.connection;
        // Who stands at a stop does not end by itself.
        let stood = data.fell_at.take().map(|place| {
            let file = place.path.rsplit('/').next().unwrap_or(&place.path);
            format!("ended while stopped at {file}:{}", place.line)
        });
        let cause = data.cause.clone().or(stood);
        let end = End {
            status,
            cause: cause.clone(),
            at_ms,
            released: false,
        };
        let root = data.view.root;
        let was_paused = data.view.is_paused();
        self.change_row(row, |view| {
            view.state = RowState::Ended;
            view.stopped = None;
            view.held = false;
            view.pausing = false;
            view.end = Some(end);
        });
        if was_paused {
            self.event(Event::Continued(row));
        }
        self.event(Event::Ended { row, status, cause });
        if let Some(connection) = connection.filter(|_| row != root) {
            self.timers
                .set(self.now.after(LAST_WORDS), Timer::Cut(connection));
        }
        // A throwaway connection for it has nothing left to let go.
        let releasing: Vec<ConnectionId> = self
            .connections
            .iter()
            .filter(|(_, data)| data.row == row && data.role == ConnectionRole::Release)
            .map(|(id, _)| *id)
            .collect();
        for connection in releasing {
            self.close(connection);
        }
        if self.rows.get(&row).is_some_and(|data| data.remove_at_end) {
            self.remove_subtree(row);
        }
        self.prune(root);
        self.endings_advance();
        self.check_over(root);
    }

    /// Keeps a long-lived tree short: of its ended rows the oldest that ended well go.
    fn prune(&mut self, root: RowId) {
        let ended: Vec<RowId> = self
            .rows
            .iter()
            .filter(|(id, data)| **id != root && data.view.root == root && data.view.is_ended())
            .map(|(id, _)| *id)
            .collect();
        if ended.len() <= KEPT {
            return;
        }
        let parents: std::collections::BTreeSet<RowId> = self
            .rows
            .values()
            .filter_map(|data| data.view.parent)
            .collect();
        let well = |view: &Row| {
            view.end
                .as_ref()
                .is_some_and(|end| end.status == EndStatus::Exited(0))
        };
        let gone = ended
            .iter()
            .find(|id| !parents.contains(id) && self.view(**id).is_some_and(well))
            .or_else(|| ended.iter().find(|id| !parents.contains(id)))
            .copied();
        if let Some(row) = gone {
            self.remove_subtree(row);
            if let Some(tree) = self.trees.get_mut(&root) {
                tree.rows_dropped += 1;
            }
        }
    }

    /// Whether all of a tree is over; asks the process table before it is said.
    pub(super) fn check_over(&mut self, root: RowId) {
        let Some(tree) = self.trees.get(&root) else {
            return;
        };
        if tree.state != TreeState::Running || tree.surveying || tree.ended_said {
            return;
        }
        let run = Run {
            root,
            number: tree.run,
        };
        let root_gone = self.view(root).is_some_and(Row::is_ended);
        let lives = self.holds_its_tree(root);
        let reports = self.reports.values().any(|reported| {
            self.connections
                .get(&reported.connection())
                .is_some_and(|data| data.run == run)
        });
        if !root_gone || lives || reports {
            return;
        }
        if let Some(tree) = self.trees.get_mut(&root) {
            tree.surveying = true;
        }
        let known = self.live_processes(root);
        self.effect(Effect::Survey(run, known));
    }

    /// Whether a tree has a live session, or a process that is not let go yet.
    pub(super) fn holds_its_tree(&self, root: RowId) -> bool {
        self.rows.values().any(|data| {
            data.view.root == root
                && data.is_live()
                && (data.view.is_session() || data.adopt_by.is_some())
        })
    }

    fn live_processes(&self, root: RowId) -> Vec<ProcessKey> {
        self.rows
            .values()
            .filter(|data| data.view.root == root && data.is_live())
            .filter_map(|data| data.view.process)
            .collect()
    }

    pub(super) fn survey_again(&mut self, run: Run) {
        if self.tree_of(run).is_some() {
            self.check_over(run.root);
        }
    }

    pub(super) fn surveyed(&mut self, run: Run, alive: &[Seen]) {
        let now = self.now;
        let Some(tree) = self.tree_of(run) else {
            return;
        };
        tree.surveying = false;
        if tree.state != TreeState::Running || tree.ended_said {
            return;
        }
        let policy = tree.policy.clone();
        let adapter_up = tree.endpoint.is_some();
        let late_until = tree.late_until;
        // What has a row was reported, and let go.
        let has_row = |seen: &Seen| {
            let process = Some(seen.process);
            self.rows.values().any(|data| data.view.process == process)
        };
        let late = policy.is_some_and(|policy| {
            let mut new = alive.iter().filter(|seen| !has_row(seen));
            new.any(|seen| policy.will_report(&seen.command))
        });
        if late && adapter_up {
            // It starts up under the debugger and has not reported yet.
            let until = late_until.unwrap_or(now.after(LATE));
            if let Some(tree) = self.tree_of(run) {
                tree.late_until = Some(until);
            }
            if now < until {
                self.timers.set(now.after(AGAIN), Timer::Survey(run));
                return;
            }
        }
        if self.holds_its_tree(run.root) {
            return;
        }
        let left = alive.iter().map(|seen| seen.process.pid).collect();
        self.tree_over(run, left);
    }

    /// All sessions of a tree are over: says so, and lets its adapter go.
    fn tree_over(&mut self, run: Run, left: Vec<u32>) {
        let Some(tree) = self.tree_of(run) else {
            return;
        };
        tree.state = TreeState::Ended;
        tree.endpoint = None;
        let said = std::mem::replace(&mut tree.ended_said, true);
        self.close_connections(run);
        self.effect(Effect::StopAdapter(run));
        let status = self
            .view(run.root)
            .and_then(|view| view.end.as_ref())
            .map_or(EndStatus::Unknown, |end| end.status);
        if !said {
            self.event(Event::TreeEnded {
                root: run.root,
                status,
                left,
            });
        }
    }

    /// Ends the processes of a subtree: asks, then forces.
    pub(super) fn end_subtree(&mut self, asker: Asker, top: RowId, then: Then) {
        let Some(view) = self.view(top) else {
            self.reply(asker, Err(EngineError::UnknownSession(top)));
            return;
        };
        if self.endings.values().any(|ending| ending.top == view.root) {
            let what = "it is being ended already".to_owned();
            self.reply(asker, Err(EngineError::Busy { row: top, what }));
            return;
        }
        self.begin_ending(Some(asker), top, then);
    }

    fn begin_ending(&mut self, asker: Option<Asker>, top: RowId, then: Then) -> u64 {
        let rows = self.subtree(top);
        let children = rows
            .iter()
            .filter(|id| **id != top && self.view(**id).is_some_and(Row::is_session))
            .count();
        for id in &rows {
            if let Some(data) = self.rows.get_mut(id).filter(|data| data.is_live()) {
                data.cause.get_or_insert_with(|| BY_US.to_owned());
            }
        }
        self.last_operation += 1;
        let operation = self.last_operation;
        let live = self
            .view(top)
            .is_some_and(|view| !view.is_ended() && view.process.is_some());
        let ending = Ending {
            top,
            asker,
            then,
            children: u32::try_from(children).unwrap_or(u32::MAX),
            process_ended: live,
            survivors: None,
            forced: false,
        };
        self.endings.insert(operation, ending);
        let run = self.run_of(top);
        match run.filter(|run| run.root == top) {
            Some(run) => self.end_root(operation, run),
            None => self.end_child(operation, &rows),
        }
        self.endings_advance();
        operation
    }

    /// Whether a row belongs to what is being ended.
    pub(super) fn is_ending(&self, row: RowId) -> bool {
        let mut at = Some(row);
        while let Some(id) = at {
            if self.endings.values().any(|ending| ending.top == id) {
                return true;
            }
            at = self.view(id).and_then(|view| view.parent);
        }
        false
    }

    /// Ends processes that nobody waits for.
    pub(super) fn end_processes(&mut self, processes: Vec<ProcessKey>) {
        self.last_operation += 1;
        let operation = self.last_operation;
        self.effect(Effect::EndProcesses {
            operation,
            processes,
            whole: None,
        });
    }

    fn end_root(&mut self, operation: u64, run: Run) {
        let Some(tree) = self.tree_of(run) else {
            return;
        };
        if tree.state == TreeState::Ended {
            // What it left behind belongs to it all the same.
            self.force_end(operation);
            return;
        }
        if !tree.state.is_live() {
            // Nothing of it runs, or it runs on its own.
            if let Some(ending) = self.endings.get_mut(&operation) {
                ending.survivors = Some(Vec::new());
            }
            return;
        }
        let preparing = matches!(tree.state, TreeState::Preparing(_));
        let spawning = preparing && tree.spawning;
        tree.state = TreeState::Ending;
        self.dirty = true;
        if spawning {
            // Its process is on its way: it is ended when it is there.
            self.timers
                .set(self.now.after(SPAWNING), Timer::Force(operation));
            return;
        }
        if preparing
            && self
                .view(run.root)
                .is_some_and(|view| view.process.is_none())
        {
            self.change_row(run.root, |row| row.state = RowState::Ended);
        }
        self.force_end(operation);
    }

    /// The process of a root that is to be ended came, or will not come.
    pub(super) fn end_spawned(&mut self, root: RowId) {
        let waiting: Vec<u64> = self
            .endings
            .iter()
            .filter(|(_, ending)| ending.top == root && !ending.forced)
            .map(|(operation, _)| *operation)
            .collect();
        for operation in waiting {
            self.force_end(operation);
        }
    }

    /// A child is asked over its own session first, deepest first.
    fn end_child(&mut self, operation: u64, rows: &[RowId]) {
        let mut asked = false;
        for id in rows.iter().rev() {
            let connection = self
                .rows
                .get(id)
                .filter(|data| data.is_live())
                .and_then(|data| data.connection)
                .filter(|connection| self.phase(*connection) == Some(Phase::Live));
            if let Some(connection) = connection {
                let arguments = json!({ "terminateDebuggee": true });
                let what = Asked::Disconnect;
                self.ask(connection, "disconnect", arguments, what, ANSWER, None);
                self.set_phase(connection, Phase::Leaving);
                asked = true;
            }
        }
        if asked {
            self.timers
                .set(self.now.after(ASKED), Timer::Force(operation));
        } else {
            self.force_end(operation);
        }
    }

    /// Ends what has not ended by itself; the second time it is over whatever is left.
    pub(super) fn force_end(&mut self, operation: u64) {
        let Some(ending) = self.endings.get_mut(&operation) else {
            return;
        };
        if ending.survivors.is_some() {
            self.finish_ending(operation);
            return;
        }
        if std::mem::replace(&mut ending.forced, true) {
            return;
        }
        let top = ending.top;
        let processes: Vec<ProcessKey> = self
            .subtree(top)
            .into_iter()
            .filter_map(|id| self.view(id))
            .filter(|view| !view.is_ended())
            .filter_map(|view| view.process)
            .collect();
        let whole = self.run_of(top).filter(|run| run.root == top);
        self.effect(Effect::EndProcesses {
            operation,
            processes,
            whole,
        });
    }

    pub(super) fn processes_ended(&mut self, operation: u64, left: &[ProcessKey]) {
        let Some(ending) = self.endings.get_mut(&operation) else {
            return;
        };
        ending.survivors = Some(left.to_vec());
        if !left.is_empty() {
            let pids: Vec<String> = left.iter().map(|process| process.pid.to_string()).collect();
            let message = format!(
                "these processes did not end, not even when killed: {}; look at them with ps",
                pids.join(", ")
            );
            let top = ending.top;
            self.notice("survivors", message, Some(top), true);
        }
        self.endings_advance();
        if self.endings.contains_key(&operation) {
            self.timers
                .set(self.now.after(LAG), Timer::Force(operation));
        }
    }

    /// Finishes every ending whose processes are all accounted for.
    fn endings_advance(&mut self) {
        let ready: Vec<u64> =
            self.endings
                .iter()
                .filter(|(_, ending)| {
                    let accounted = |id: &RowId| {
                        self.view(*id).is_none_or(|view| {
                            view.is_ended()
                                || view.process.is_none()
                                || ending.survivors.as_ref().is_some_and(|left| {
                                    left.iter().any(|p| view.process == Some(*p))
                                })
                        })
                    };
                    let is_root = self
                        .view(ending.top)
                        .is_none_or(|view| view.root == ending.top);
                    (ending.survivors.is_some() || (!is_root && !ending.forced))
                        && self.subtree(ending.top).iter().all(accounted)
                })
                .map(|(operation, _)| *operation)
                .collect();
        for operation in ready {
            self.finish_ending(operation);
        }
    }

    fn finish_ending(&mut self, operation: u64) {
        let Some(ending) = self.endings.remove(&operation) else {
            return;
        };
        let top = ending.top;
        let survivors: Vec<u32> = ending
            .survivors
            .iter()
            .flatten()
            .map(|process| process.pid)
            .collect();
        let run = self.run_of(top).filter(|run| run.root == top);
        if let Some(run) = run {
            let ended = self
                .tree_of(run)
                .is_some_and(|tree| matches!(tree.state, TreeState::Ending | TreeState::Running));
            if ended {
                self.tree_over(run, survivors.clone());
            }
        }
        let closed = Answer::Closed {
            children_closed: ending.children,
            process_ended: ending.process_ended,
            released: false,
            survivors: survivors.clone(),
        };
        let answer = match ending.then {
            Then::Keep => closed,
            Then::Remove => {
                self.remove_subtree(top);
                closed
            }
            Then::Restart if !self.shutdowns.is_empty() => {
                if let Some(asker) = ending.asker {
                    self.reply(asker, Err(EngineError::Cancelled));
                }
                closed
            }
            Then::Restart => {
                for child in self.subtree(top).into_iter().skip(1) {
                    self.remove_row(child);
                }
                self.start_run(top);
                Answer::Restarted {
                    children_closed: ending.children,
                }
            }
        };
        if let Some(asker) = ending.asker {
            self.reply(asker, Ok(answer));
        }
        self.shutdown_advance(&survivors);
    }

    /// Removes a row and everything below it.
    fn remove_subtree(&mut self, top: RowId) {
        for id in self.subtree(top).into_iter().rev() {
            self.remove_row(id);
        }
        if self.trees.remove(&top).is_some() {
            self.dirty = true;
        }
    }

    fn remove_row(&mut self, id: RowId) {
        let known = self.rows.get(&id);
        let parked = known.is_some_and(|data| data.adopt_by.is_some());
        let process = known
            .filter(|data| data.is_live() || parked)
            .and_then(|data| data.view.process);
        if let Some(process) = process {
            if parked {
                // Nobody would let it go any more.
                self.end_processes(vec![process]);
            }
            self.effect(Effect::Forget(process));
        }
        let connections: Vec<ConnectionId> = self
            .connections
            .iter()
            .filter(|(_, data)| data.row == id)
            .map(|(connection, _)| *connection)
            .collect();
        for connection in connections {
            self.close(connection);
        }
        self.forget_breakpoint_answers(id);
        self.rows.remove(&id);
        self.output.remove(&id);
        self.dirty = true;
    }

    /// Ends the run of a root and starts it again.
    pub(super) fn restart(&mut self, asker: Asker, row: RowId) {
        if let Err(error) = self.only_roots(row, "restart") {
            self.reply(asker, Err(error));
            return;
        }
        self.end_subtree(asker, row, Then::Restart);
    }

    /// Lets a root and all of its descendants live on without us, children first.
    pub(super) fn detach(&mut self, asker: Asker, row: RowId) {
        if let Err(error) = self.only_roots(row, "detach") {
            self.reply(asker, Err(error));
            return;
        }
        let Some(run) = self.run_of(row) else {
            return;
        };
        let running = self
            .tree_of(run)
            .is_some_and(|tree| tree.state == TreeState::Running);
        if !running {
            let what = "it is not running".to_owned();
            self.reply(asker, Err(EngineError::Busy { row, what }));
            return;
        }
        let mut released = 0;
        let at_ms = self.now.0;
        for id in self.subtree(row).into_iter().rev() {
            let Some(data) = self.rows.get(&id).filter(|data| data.is_live()) else {
                continue;
            };
            let (connection, process) = (data.connection, data.view.process);
            let parked = data.adopt_by.is_some();
            self.arrive(id);
            let Some(data) = self.rows.get(&id) else {
                continue;
            };
            if id != row && data.view.is_session() {
                released += 1;
            }
            if parked {
                self.adopt_to_release(id);
            } else {
                if let Some(connection) = connection {
                    self.leave(connection, false);
                }
                if let Some(process) = process {
                    self.effect(Effect::Forget(process));
                }
            }
            self.change_row(id, |view| {
                view.state = RowState::Ended;
                view.stopped = None;
                view.held = false;
                view.pausing = false;
                view.end = Some(End {
                    status: EndStatus::Unknown,
                    cause: None,
                    at_ms,
                    released: true,
                });
            });
        }
        if let Some(tree) = self.tree_of(run) {
            tree.state = TreeState::Detached;
            tree.ended_said = true;
        }
        self.reply(
            asker,
            Ok(Answer::Detached {
                children_released: released,
            }),
        );
    }

    /// Ends every tree; answered when nothing is left.
    pub(super) fn shutdown(&mut self, asker: Asker) {
        let roots: Vec<RowId> = self
            .trees
            .iter()
            .filter(|(_, tree)| tree.state.is_live())
            .map(|(root, _)| *root)
            .collect();
        self.shutdowns.push(asker);
        for root in roots {
            if !self.endings.values().any(|ending| ending.top == root) {
                self.begin_ending(None, root, Then::Keep);
            }
        }
        self.shutdown_advance(&[]);
    }

    pub(super) fn shutdown_advance(&mut self, survivors: &[u32]) {
        if self.shutdowns.is_empty() {
            return;
        }
        self.shutdown_survivors.extend_from_slice(survivors);
        let over = self.endings.is_empty() && !self.trees.values().any(|t| t.state.is_live());
        if over
            && self
                .rows
                .values()
                .any(|data| data.releasing && !data.is_live())
        {
            // A tree was detached a moment ago: what was parked is not let go yet.
            return;
        }
        if !over {
            let again: Vec<RowId> = self
                .trees
                .iter()
                .filter(|(root, tree)| {
                    tree.state.is_live()
                        && !self.endings.values().any(|ending| ending.top == **root)
                })
                .map(|(root, _)| *root)
                .collect();
            for root in again {
                self.begin_ending(None, root, Then::Keep);
            }
            return;
        }
        let survivors = std::mem::take(&mut self.shutdown_survivors);
        for asker in std::mem::take(&mut self.shutdowns) {
            let answer = Answer::Closed {
                children_closed: 0,
                process_ended: true,
                released: false,
                survivors: survivors.clone(),
            };
            self.reply(asker, Ok(answer));
        }
    }
}
