//! Ending a subtree because somebody closes, terminates or restarts it: ask, then force, then answer
//! when every process is accounted for. Children go before their parents. It must not know signals:
//! the shell ends processes.

use super::requests::{ANSWER, Asked};
use super::timers::Timer;
use super::{Asker, Effect, Phase, Run, Tree};
use daptree_model::{Answer, EngineError, ProcessKey, Row, RowId, RowState, TreeState};
use serde_json::json;

/// How long a child's own session may take to end its process, in ms.
const ASKED: u64 = 700;
/// How long a process that is being started is waited for, in ms.
const SPAWNING: u64 = 5_000;
/// How long the kernel's word may lag behind the end of all processes, in ms.
const LAG: u64 = 500;
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

    /// Ends the run of a root and starts it again.
    pub(super) fn restart(&mut self, asker: Asker, row: RowId) {
        if let Err(error) = self.only_roots(row, "restart") {
            self.reply(asker, Err(error));
            return;
        }
        if self.is_attach_root(row) {
            let error = super::control::not_ours(row, "restarted");
            self.reply(asker, Err(error));
            return;
        }
        self.end_subtree(asker, row, Then::Restart);
    }

    pub(super) fn begin_ending(&mut self, asker: Option<Asker>, top: RowId, then: Then) -> u64 {
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
    pub(super) fn endings_advance(&mut self) {
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
}
