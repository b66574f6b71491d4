//! How daptree parts from its trees: a detach lets one live on, a shutdown ends them all. Nothing
//! stays parked behind it. It must not know how processes are ended.

use super::ending::Then;
use super::{Asker, Effect, Tree};
use daptree_model::{Answer, End, EndStatus, EngineError, RowId, RowState, TreeState};

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
        let mut released = 0;
        let at_ms = self.now.0;
        for id in self.subtree(row).into_iter().rev() {
            let Some(data) = self.rows.get(&id).filter(|data| data.is_live()) else {
                continue;
            };
            let (connection, process) = (data.connection, data.view.process);
            let parked = data.adopt_by.is_some();
            self.arrive_late(id);
            self.forget_pause(id);
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
            if !self.endings.values().any(|ending| ending.is_of(root)) {
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
                        && !self.endings.values().any(|ending| ending.is_of(**root))
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
