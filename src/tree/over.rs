//! When something is over by itself: a process is gone, a tree has nothing left that it waits for,
//! rows leave. It must not end anything that lives, but for what would stay parked.

use super::timers::Timer;
use super::{ConnectionId, ConnectionRole, Effect, Run, Seen, Tree};
use daptree_model::{
    End, EndStatus, EngineError, Event, ProcessKey, Row, RowId, RowState, TreeState,
};

/// How long a connection stays open after its process is gone, for last words, in ms.
const LAST_WORDS: u64 = 300;
/// How soon a tree that waits for a late report is looked at again, in ms.
const AGAIN: u64 = 250;
/// How long a late report is waited for, in ms.
const LATE: u64 = 5_000;
/// Ended rows that a tree keeps; beyond it the oldest that ended well go.
const KEPT: usize = 500;

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

    pub(super) fn row_ended(&mut self, row: RowId, status: EndStatus) {
        if self.ended_while_attaching(row) {
            return;
        }
        self.answer_adopter(row, Err(EngineError::Gone(row)));
        self.arrive_late(row);
        self.fell(row);
        self.forget_pause(row);
        let at_ms = self.now.0;
        let Some(data) = self.rows.get_mut(&row) else {
            return;
        };
        data.adopt_by = None;
        data.releasing = false;
        data.report = None;
        let connection = data.connection;
        // Who stands at a stop does not end by itself. A program whose connection broke is let run
        // by its own side, and one that then ends with a status ran on to there.
        let failed = data.view.state == RowState::Failed;
        let ran_on = failed && matches!(status, EndStatus::Exited(_));
        let fall = data.fell_at.take().filter(|_| !ran_on);
        let cause = self.cause_of(row, status, fall.as_ref());
        if let Some(fall) = &fall {
            self.keep_last_stop(row, fall);
        }
        let end = End {
            status,
            cause: cause.clone(),
            at_ms,
            released: false,
        };
        let Some(data) = self.rows.get(&row) else {
            return;
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
        self.ended_with(row);
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
    pub(super) fn tree_over(&mut self, run: Run, left: Vec<u32>) {
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
            self.listen_again(run.root);
        }
    }

    /// Removes a row and everything below it.
    pub(super) fn remove_subtree(&mut self, top: RowId) {
        for id in self.subtree(top).into_iter().rev() {
            self.remove_row(id);
        }
        if self.trees.remove(&top).is_some() {
            self.dirty = true;
        }
    }

    pub(super) fn remove_row(&mut self, id: RowId) {
        self.answer_adopter(id, Err(EngineError::Gone(id)));
        let known = self.rows.get(&id);
        let parked = known.is_some_and(|data| data.adopt_by.is_some());
        let process = known
            .filter(|data| data.is_live() || parked)
            .and_then(|data| data.view.process);
        if let Some(process) = process {
            if parked && !self.is_of_attach(id) {
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
        let gone = self.rows.remove(&id);
        let above = gone.and_then(|data| data.view.parent);
        if let Some(above) = above.and_then(|id| self.rows.get_mut(&id)) {
            above.below.retain(|below| *below != id);
        }
        self.output.remove(&id);
        self.dirty = true;
    }
}
