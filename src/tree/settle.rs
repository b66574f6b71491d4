//! When a wait is over. First match wins: the session itself paused or failed; else the first
//! paused or failed live descendant, depth first in adoption order; else the session ended. A root
//! whose debugged descendants outlive it counts as running until the last of them is over.
//! Nothing is consumed: the state is read again after each input.

use super::{Asker, Tree};
use daptree_model::{
    Answer, ChildState, EngineError, Follow, Row, RowId, RowState, TreeState, WaitAnswer,
};
use std::collections::BTreeSet;

/// A front end that waits for a stop.
#[derive(Debug)]
pub(super) struct Wait {
    pub number: u64,
    pub asker: Asker,
    pub row: RowId,
    pub timeout_ms: u64,
}

fn stands(view: &Row) -> bool {
    matches!(view.state, RowState::Paused | RowState::Failed) && view.follow == Follow::Adopted
}

impl Tree {
    pub(super) fn settle_waits(&mut self) {
        if self.waits.is_empty() {
            return;
        }
        let standing = self.standing();
        let mut over = Vec::new();
        for wait in &self.waits {
            let (asker, row) = (wait.asker, wait.row);
            let Some(view) = self.view(row) else {
                over.push((asker, row, Err(EngineError::UnknownSession(row))));
                continue;
            };
            // Most waits go on at most inputs: those are told without a look at their subtree.
            if (view.is_ended() || standing.contains(&row))
                && let Some(chosen) = self.settled(row)
            {
                over.push((asker, row, Ok(self.wait_answer(row, chosen))));
            }
        }
        for (asker, row, result) in over {
            self.waits.retain(|wait| wait.asker != asker);
            self.touch_all_below(row);
            self.reply(asker, result.map(Answer::Stopped));
        }
    }

    /// The rows in or below which a session stands.
    fn standing(&self) -> BTreeSet<RowId> {
        let mut standing = BTreeSet::new();
        for (id, data) in self.rows.iter().filter(|(_, data)| stands(&data.view)) {
            standing.insert(*id);
            let mut above = data.view.parent;
            while let Some(id) = above.filter(|id| standing.insert(*id)) {
                above = self.view(id).and_then(|view| view.parent);
            }
        }
        standing
    }

    /// The session that a wait on `row` is answered with, if it is over.
    fn settled(&self, row: RowId) -> Option<RowId> {
        let mut held = None;
        for id in self.subtree(row) {
            let Some(data) = self.rows.get(&id).filter(|data| stands(&data.view)) else {
                continue;
            };
            if !data.view.held {
                return Some(id);
            }
            // What its world holds goes on with it.
            if !data.of_world {
                held = held.or(Some(id));
            }
        }
        // A session that a group holds counts only when no other of the subtree stands by itself.
        held.or_else(|| self.is_over(row).then_some(row))
    }

    /// Whether nothing more is to be waited for: the session ended, and where it is a root, its
    /// tree did. The next stop of what it left behind would be missed otherwise.
    pub(super) fn is_over(&self, row: RowId) -> bool {
        let ended = self.view(row).is_some_and(Row::is_ended);
        let tree_runs = self
            .trees
            .get(&row)
            .is_some_and(|tree| tree.state == TreeState::Running);
        ended && !(tree_runs && self.holds_its_tree(row))
    }

    fn wait_answer(&self, row: RowId, chosen: RowId) -> WaitAnswer {
        let below = self.subtree(row);
        let children = below
            .iter()
            .filter(|id| **id != row)
            .filter_map(|id| self.view(*id))
            .filter(|view| view.is_session())
            .map(|view| ChildState {
                session_id: view.id,
                name: view.name.clone(),
                state: view.state,
                parent_session_id: view.parent_session,
            })
            .collect();
        let paused = below
            .iter()
            .filter(|id| **id != chosen)
            .filter(|id| self.view(**id).is_some_and(Row::is_paused))
            .count();
        let (state, stop) = self
            .view(chosen)
            .map_or((RowState::Ended, daptree_model::StopNumber(0)), |view| {
                (view.state, view.stop)
            });
        WaitAnswer {
            row: chosen,
            state,
            stop,
            children,
            others_paused: u32::try_from(paused).unwrap_or(u32::MAX),
        }
    }

    pub(super) fn wait_timed_out(&mut self, number: u64) {
        let Some(at) = self.waits.iter().position(|wait| wait.number == number) else {
            return;
        };
        let wait = self.waits.remove(at);
        self.touch_all_below(wait.row);
        let what = format!("a stop of {} or below", wait.row);
        let error = EngineError::TimedOut {
            what,
            after_ms: wait.timeout_ms,
        };
        self.reply(wait.asker, Err(error));
    }
}
