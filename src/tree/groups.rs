//! Groups: subtrees that are paused and continued as one, and worlds: subtrees in which one stop
//! holds all others. A world stands as long as one of its sessions stands by itself or steps; when
//! none does, those that it held run on. It must not know why a session stopped.

use super::requests::Asked;
use super::row::{Hold, RowData};
use super::{Phase, Tree};
use daptree_model::{Answer, EngineError, Follow, RowId, RowState, TreeState};
use serde_json::json;

impl Tree {
    /// Stops one session; a group that was about to is not asked any more.
    pub(super) fn pause(&mut self, row: RowId) -> Result<(), EngineError> {
        if self.pausable(row)? {
            self.ask_pause(row, None);
        } else if let Some(data) = self.rows.get_mut(&row) {
            data.hold = None;
        }
        Ok(())
    }

    /// Whether a running session has to be asked to stop, or is about to stop already.
    fn pausable(&self, row: RowId) -> Result<bool, EngineError> {
        self.check_session(row)?;
        let data = self
            .rows
            .get(&row)
            .ok_or(EngineError::UnknownSession(row))?;
        let view = &data.view;
        if view.follow == Follow::Helper {
            let why = "it serves a library's machinery and never stops".to_owned();
            return Err(EngineError::NotASession(row, why));
        }
        if view.state != RowState::Running {
            return Err(EngineError::WrongState {
                row,
                state: view.state,
                what: "pause".to_owned(),
                wanted: "running".to_owned(),
            });
        }
        Ok(data.arriving.is_none() && !view.pausing)
    }

    fn ask_pause(&mut self, row: RowId, hold: Option<Hold>) {
        if let Some(data) = self.rows.get_mut(&row) {
            data.hold = hold;
            data.freed = false;
        }
        self.change_row(row, |view| view.pausing = true);
        // Any thread will do: the adapter stops them all, and reports the one that stopped.
        let arguments = json!({ "threadId": 1 });
        self.ask_row(row, "pause", arguments, Asked::Pause, None);
    }

    /// A pause was refused or not answered: nothing is on its way.
    pub(super) fn pause_failed(&mut self, row: RowId) {
        if let Some(data) = self.rows.get_mut(&row) {
            data.unheld |= data.hold.take() == Some(Hold::World);
            data.freed = false;
            data.entering = false;
        }
        if self.view(row).is_some_and(|view| view.pausing) {
            self.change_row(row, |view| view.pausing = false);
        }
    }

    pub(super) fn pause_all(&mut self, row: RowId) -> Result<Answer, EngineError> {
        self.view(row).ok_or(EngineError::UnknownSession(row))?;
        let mut told: u32 = 0;
        for id in self.subtree(row) {
            match self.pausable(id) {
                Ok(true) => self.ask_pause(id, Some(Hold::Group)),
                Ok(false) => {}
                Err(_) => continue,
            }
            told += 1;
        }
        Ok(Answer::Told(told))
    }

    /// Forgets who wanted a session to stop, or to step: it is over, or lost.
    pub(super) fn forget_pause(&mut self, row: RowId) {
        if let Some(data) = self.rows.get_mut(&row) {
            data.forget_pause();
        }
        self.change_row(row, |view| {
            view.held = false;
            view.pausing = false;
        });
    }

    /// Lets a subtree run on: what stands, and what was about to. Of a world, all of it.
    pub(super) fn continue_all(&mut self, row: RowId) -> Result<Answer, EngineError> {
        self.view(row).ok_or(EngineError::UnknownSession(row))?;
        let members = self.subtree(self.world_of(row).unwrap_or(row));
        let mut told: u32 = 0;
        for id in members {
            if let Some(data) = self.rows.get_mut(&id) {
                // A step that is still under way does not keep the others any more.
                data.stepping = false;
                told += u32::from(self.let_run(id, |_| true));
            }
        }
        Ok(Answer::Told(told))
    }

    /// Lets a session run on that stands, or that is about to be paused, if it is one of `those`.
    fn let_run(&mut self, row: RowId, those: impl FnOnce(&RowData) -> bool) -> bool {
        let Some(data) = self.rows.get_mut(&row) else {
            return false;
        };
        if !data.is_live() || !those(data) {
            return false;
        }
        if data.view.is_paused() {
            self.send_resume(row, "continue", None, None);
            return true;
        }
        if !data.view.pausing {
            return false;
        }
        let held_stop = data.arriving.as_ref().is_some_and(|stop| {
            let of_entry = data.entering && stop.reason == "step";
            data.hold.is_some() && (stop.reason == "pause" || of_entry)
        });
        if data.arriving.is_some() && !held_stop {
            // It stops by itself.
            data.hold = None;
            return false;
        }
        data.hold = None;
        let shown = data.view.stop;
        let stop = if held_stop {
            data.begin_inspect(shown);
            data.entering = false;
            data.arriving.take()
        } else {
            None
        };
        self.change_row(row, |view| view.pausing = false);
        if let Some(stop) = stop {
            self.pass(row, stop);
            return true;
        }
        // A `continue` that takes the pause back could run past a breakpoint that is hit meanwhile.
        if let Some(data) = self.rows.get_mut(&row) {
            data.freed = true;
        }
        true
    }

    // --- worlds

    /// Whether a row's subtree stops as one by itself.
    pub(super) fn stops_as_one(&self, row: RowId) -> bool {
        self.view(row).is_some_and(|view| view.stops_world)
    }

    /// Makes a subtree stop as one, or not any more.
    pub(super) fn stop_the_world(&mut self, row: RowId, on: bool) -> Result<Answer, EngineError> {
        self.view(row).ok_or(EngineError::UnknownSession(row))?;
        self.change_row(row, |view| view.stops_world = on);
        self.announce(row);
        if !on {
            for id in self.subtree(row) {
                if self.world_of(id).is_none() {
                    self.let_run(id, RowData::is_held_by_world);
                }
            }
        }
        Ok(Answer::Done)
    }

    /// The topmost row above, or this one, whose subtree stops as one.
    pub(super) fn world_of(&self, row: RowId) -> Option<RowId> {
        let (mut at, mut world) = (Some(row), None);
        while let Some(id) = at {
            let view = self.view(id)?;
            if view.stops_world {
                world = Some(id);
            }
            at = view.parent;
        }
        world
    }

    /// The worlds of trees that run.
    pub(super) fn worlds(&self) -> Vec<RowId> {
        let marked = self.rows.iter().filter(|(_, data)| data.view.stops_world);
        marked
            .filter(|(id, data)| {
                let tree = self.trees.get(&data.view.root);
                tree.is_some_and(|tree| tree.state == TreeState::Running)
                    && self.world_of(**id) == Some(**id)
            })
            .map(|(id, _)| *id)
            .collect()
    }

    /// Brings every world in line with the stops in it: when one of its sessions stands by itself
    /// the others are held, and when none does any more, they are let go.
    pub(super) fn settle_worlds(&mut self) {
        for world in self.worlds() {
            let members = self.subtree(world);
            if self.any(&members, RowData::stands_alone) {
                for id in members {
                    if self.should_be_held(id) {
                        self.ask_pause(id, Some(Hold::World));
                    }
                }
            } else if !self.any(&members, RowData::steps) {
                for id in members {
                    self.let_run(id, RowData::is_held_by_world);
                    if let Some(data) = self.rows.get_mut(&id) {
                        data.unheld = false;
                    }
                }
            }
        }
    }

    pub(super) fn any(&self, members: &[RowId], is: impl Fn(&RowData) -> bool) -> bool {
        members.iter().any(|id| self.rows.get(id).is_some_and(&is))
    }

    /// Whether a session runs that its world holds, and can be asked to stop.
    pub(super) fn should_be_held(&self, row: RowId) -> bool {
        let Some(data) = self.rows.get(&row) else {
            return false;
        };
        let phase = data.connection.and_then(|id| self.phase(id));
        phase == Some(Phase::Live)
            && data.view.follow == Follow::Adopted
            && data.view.state == RowState::Running
            && !(data.view.pausing || data.arriving.is_some() || data.entering)
            && !(data.stepping || data.terminated || data.unheld)
    }

    /// Whether a session that is being adopted has to be held before its first line.
    pub(super) fn is_born_held(&self, row: RowId) -> bool {
        let stands = |data: &RowData| data.view.is_paused() || data.stands_alone();
        self.world_of(row)
            .is_some_and(|world| self.any(&self.subtree(world), stands))
    }

    /// A session that is to be continued while others of its world stand by themselves goes on with
    /// them; one that its world holds goes on with all. Says whether it is so.
    pub(super) fn goes_on_with_its_world(&mut self, row: RowId) -> bool {
        let Some(world) = self.world_of(row) else {
            return false;
        };
        if self.view(row).is_some_and(|view| view.held) {
            return self.continue_all(world).is_ok();
        }
        let mut others = self.subtree(world);
        others.retain(|id| *id != row);
        if !self.any(&others, |data| data.stands_alone() || data.steps()) {
            return false;
        }
        if let Some(data) = self.rows.get_mut(&row) {
            data.of_world = true;
        }
        self.change_row(row, |view| view.held = true);
        true
    }
}

impl RowData {
    /// Nobody wants it to stop or to step any more.
    pub(super) fn forget_pause(&mut self) {
        self.hold = None;
        self.of_world = false;
        self.freed = false;
        self.unheld = false;
        self.stepping = false;
    }

    /// It stands, or is about to, and no group made it.
    pub(super) fn stands_alone(&self) -> bool {
        let Some(stop) = &self.arriving else {
            return self.view.is_paused() && !self.view.held;
        };
        match stop.reason.as_str() {
            // What it is, and whether the program only ends, is not known yet.
            "exception" => false,
            "pause" => self.hold.is_none() && !self.entering,
            _ => !self.entering,
        }
    }

    /// It was told to step and has not come back.
    pub(super) fn steps(&self) -> bool {
        self.stepping && !self.terminated && self.view.state == RowState::Running
    }

    /// It stands, or is to be paused, because others of its world stand.
    pub(super) fn is_held_by_world(&self) -> bool {
        self.of_world || self.hold == Some(Hold::World)
    }
}
