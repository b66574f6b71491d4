//! How daptree parts from its trees: a detach lets one live on, a shutdown ends them all. Nothing
//! stays parked behind it. It must not know how processes are ended.

use super::ending::Then;
use super::requests::{ANSWER, Asked};
use super::whereabouts::Place;
use super::{Asker, ConnectionId, ConnectionRole, Effect, Run, Tree};
use daptree_model::{Answer, End, EndStatus, EngineError, ProcessKey, RowId, RowState, TreeState};
use serde_json::json;

/// A root that is being let go: its adapter ends, if it is ours, once all sessions have left.
#[derive(Debug)]
pub(super) struct Parting {
    run: Run,
    /// Who asked for it to be closed: its rows go too.
    closer: Option<Asker>,
    children: u32,
    /// The root had a process that was let go.
    released: bool,
}

impl Parting {
    /// Who is told.
    pub(super) fn asker(&self) -> Option<Asker> {
        self.closer
    }
}

impl Tree {
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
        let children_released = self.part(run);
        if self.is_attach_root(row) {
            self.partings.push(Parting {
                run,
                closer: None,
                children: children_released,
                released: true,
            });
        }
        self.reply(asker, Ok(Answer::Detached { children_released }));
    }

    /// Closes a root that daptree did not start: it and all of its descendants are let go, then
    /// the rows leave.
    pub(super) fn let_root_go(&mut self, asker: Asker, root: RowId) {
        let Some(run) = self.run_of(root) else {
            return;
        };
        if self
            .partings
            .iter()
            .any(|parting| parting.asker().is_some() && parting.run == run)
        {
            let what = "it is being closed already".to_owned();
            self.reply(asker, Err(EngineError::Busy { row: root, what }));
            return;
        }
        let below = self.subtree(root).into_iter().skip(1);
        let sessions =
            below.filter(|id| self.view(*id).is_some_and(daptree_model::Row::is_session));
        let children = u32::try_from(sessions.count()).unwrap_or(u32::MAX);
        let released = self
            .view(root)
            .is_some_and(|view| !view.is_ended() && view.process.is_some());
        self.part(run);
        self.partings.push(Parting {
            run,
            closer: Some(asker),
            children,
            released,
        });
    }

    /// Finishes every parting whose sessions have all left.
    pub(super) fn partings_advance(&mut self) {
        let under_way: Vec<Run> = self.partings.iter().map(|parting| parting.run).collect();
        for run in under_way {
            let parked = |data: &super::row::RowData| data.view.root == run.root && data.releasing;
            // Children go first, also those that are only now let go.
            if !self.rows.values().any(parked) {
                for id in self.subtree(run.root).into_iter().rev() {
                    self.leave_ended(id);
                }
            }
        }
        let left = |tree: &Self, run: Run| {
            let open = tree.connections.values().any(|data| data.run == run);
            let parked = |data: &super::row::RowData| data.view.root == run.root && data.releasing;
            !open && !tree.rows.values().any(parked)
        };
        while let Some(at) = self
            .partings
            .iter()
            .position(|parting| left(self, parting.run))
        {
            let parting = self.partings.remove(at);
            self.effect(Effect::StopAdapter(parting.run));
            if let Some(asker) = parting.closer {
                self.remove_subtree(parting.run.root);
                let answer = Answer::Closed {
                    children_closed: parting.children,
                    process_ended: false,
                    released: parting.released,
                    survivors: Vec::new(),
                };
                self.reply(asker, Ok(answer));
            }
            self.shutdown_advance(&[]);
        }
    }

    /// A child of somebody else's program that no adapter lets go: it is not ours to end.
    pub(super) fn left_parked(&mut self, row: RowId, name: &str, process: ProcessKey) {
        let connections: Vec<ConnectionId> = self
            .connections
            .iter()
            .filter(|(_, data)| data.row == row)
            .map(|(connection, _)| *connection)
            .collect();
        for connection in connections {
            self.close(connection);
        }
        let pid = process.pid;
        let message = format!(
            "{name} ({process}) stands still: its adapter would not let it run, and it is not \
             daptree's to end; `kill {pid}` ends it"
        );
        self.notice("parked", message, Some(row), true);
        self.shutdown_advance(&[]);
    }

    /// A program that has just connected stands still until its session is set up: it is not to be
    /// left so.
    fn go_on_before(&mut self, run: Run, connection: ConnectionId) {
        let unknown = self
            .tree_of(run)
            .is_some_and(|tree| tree.place == Place::Unknown);
        if unknown && self.phase(connection) == Some(super::Phase::Configuring) {
            self.configuration_done(connection);
        }
    }

    /// Has the children that a process starts from now on run without the debugger: the adapter
    /// that they would connect to ends.
    fn stop_following(&mut self, run: Run, connection: ConnectionId) {
        let theirs = self
            .tree_of(run)
            .and_then(|tree| tree.origin.target())
            .is_some_and(|target| matches!(target, daptree_model::AttachTarget::Listening { .. }));
        let ready = self.phase(connection) >= Some(super::Phase::Configuring);
        let expression = self
            .policy_of(run.root)
            .filter(|_| ready && !theirs)
            .and_then(|policy| policy.parting_expression());
        if let Some(expression) = expression {
            let arguments = json!({ "expression": expression, "context": "repl" });
            self.ask(
                connection,
                "evaluate",
                arguments,
                Asked::Nothing,
                ANSWER,
                None,
            );
        }
    }

    /// Lets all of a run's live rows go, deepest first. Gives how many of them are sessions, the
    /// root left out.
    fn part(&mut self, run: Run) -> u32 {
        let row = run.root;
        let mut released = 0;
        let at_ms = self.now.0;
        for id in self.subtree(row).into_iter().rev() {
            self.answer_adopter(id, Err(EngineError::Cancelled));
            let Some(data) = self.rows.get(&id).filter(|data| data.is_live()) else {
                if !self.is_attach_root(row) {
                    self.leave_ended(id);
                }
                continue;
            };
            let (connection, process) = (data.connection, data.view.process);
            // Who is attached to while it runs does not wait for anything.
            let parked = data.adopt_by.is_some() && !data.injected;
            self.arrive_late(id);
            self.forget_pause(id);
            let Some(data) = self.rows.get(&id) else {
                continue;
            };
            if id != row && data.view.is_session() {
                released += 1;
            }
            if let Some(data) = self.rows.get_mut(&id).filter(|_| !parked) {
                data.adopt_by = None;
                data.report = None;
            }
            if parked {
                self.adopt_to_release(id);
            } else {
                if let Some(connection) = connection {
                    self.go_on_before(run, connection);
                    self.stop_following(run, connection);
                    self.leave(connection, false);
                }
                if let Some(process) = process {
                    self.effect(Effect::Forget(process));
                }
            }
            self.forget_pause(id);
            self.change_row(id, |view| {
                view.state = RowState::Ended;
                view.stopped = None;
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
        if !self.is_attach_root(row) {
            let rows = self.subtree(row);
            self.effect(Effect::LetLive(run, rows));
        }
        self.dirty = true;
        released
    }

    /// Leaves the session that outlived its process: a root's stays open for its children.
    fn leave_ended(&mut self, row: RowId) {
        let over: Vec<ConnectionId> = self
            .connections
            .iter()
            .filter(|(_, data)| data.row == row && data.role == ConnectionRole::Session)
            .map(|(connection, _)| *connection)
            .collect();
        for connection in over {
            self.leave(connection, false);
        }
    }

    /// Ends a root, or lets it go that is not ours to end.
    fn end_or_part(&mut self, root: RowId) {
        let Some(run) = self.run_of(root).filter(|_| self.is_attach_root(root)) else {
            self.begin_ending(None, root, Then::Keep);
            return;
        };
        let children = self.part(run);
        self.partings.push(Parting {
            run,
            closer: None,
            children,
            released: true,
        });
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
            if !self.endings.values().any(|ending| ending.is_of(root)) {
                self.end_or_part(root);
            }
        }
        self.shutdown_advance(&[]);
    }

    pub(super) fn shutdown_advance(&mut self, survivors: &[u32]) {
        if self.shutdowns.is_empty() {
            return;
        }
        self.shutdown_survivors.extend_from_slice(survivors);
        let over = self.endings.is_empty()
            && self.partings.is_empty()
            && !self.trees.values().any(|t| t.state.is_live());
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
                        && !self.endings.values().any(|ending| ending.is_of(**root))
                })
                .map(|(root, _)| *root)
                .collect();
            for root in again {
                self.end_or_part(root);
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
