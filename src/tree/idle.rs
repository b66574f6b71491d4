//! The idle policy of engines without a person: a session with which nothing was done for long is
//! closed by the rules of close. What is done with a session counts for those above it, and who waits
//! keeps what is waited on. It must not know how a subtree is ended.

use super::ending::Then;
use super::timers::Timer;
use super::{Asker, Millis, Tree};
use daptree_model::{ClientId, CommandId, Follow, Row, RowId};

/// Asked for nothing: answers to it are dropped.
const NOBODY: Asker = (ClientId(0), CommandId(0));

/// When sessions count as idle.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Idle {
    /// After how long, in ms; `None`: never.
    after: Option<u64>,
    /// When is looked next.
    look_at: Option<Millis>,
}

impl Idle {
    pub(super) fn after(ms: u64) -> Self {
        Self {
            after: Some(ms),
            look_at: None,
        }
    }
}

impl Tree {
    /// Something was done with a row, or by it.
    pub(super) fn touch(&mut self, row: RowId) {
        let Some(after) = self.idle.after else {
            return;
        };
        let mut at = Some(row);
        while let Some(data) = at.and_then(|id| self.rows.get_mut(&id)) {
            data.touched = self.now;
            at = data.view.parent;
        }
        self.look_for_idle(self.now.after(after));
    }

    /// A wait is over: what it kept has its time from now on.
    pub(super) fn touch_all_below(&mut self, top: RowId) {
        if self.idle.after.is_some() {
            for row in self.subtree(top) {
                self.touch(row);
            }
            self.touch(top);
        }
    }

    fn look_for_idle(&mut self, at: Millis) {
        if self.idle.look_at.is_none_or(|known| at < known) {
            if let Some(known) = self.idle.look_at {
                self.timers.cancel(known, Timer::Idle);
            }
            self.idle.look_at = Some(at);
            self.timers.set(at, Timer::Idle);
        }
    }

    /// Closes what is idle, topmost first: what is below is idle as well.
    pub(super) fn close_idle(&mut self) {
        self.idle.look_at = None;
        let Some(after) = self.idle.after else {
            return;
        };
        let mut next: Option<Millis> = None;
        let roots: Vec<RowId> = self.trees.keys().copied().collect();
        for root in roots {
            for row in self.subtree(root) {
                if self
                    .view(row)
                    .is_none_or(|view| view.follow != Follow::Adopted)
                    || self.is_ending(row)
                {
                    continue;
                }
                let due = if self.is_waited_on(row) {
                    self.now.after(after)
                } else {
                    self.rows
                        .get(&row)
                        .map_or(self.now, |data| data.touched.after(after))
                };
                if due <= self.now {
                    self.close_for_idleness(row, after);
                } else {
                    next = Some(next.map_or(due, |known| known.min(due)));
                }
            }
        }
        if let Some(next) = next {
            self.look_for_idle(next);
        }
    }

    /// Whether somebody waits on a row, above it, or below it: what is above goes with it.
    fn is_waited_on(&self, row: RowId) -> bool {
        self.waits
            .iter()
            .any(|wait| self.is_above(wait.row, row) || self.is_above(row, wait.row))
    }

    fn is_above(&self, above: RowId, row: RowId) -> bool {
        let mut at = Some(row);
        while let Some(id) = at {
            if id == above {
                return true;
            }
            at = self.view(id).and_then(|view: &Row| view.parent);
        }
        false
    }

    fn close_for_idleness(&mut self, row: RowId, after: u64) {
        let name = self.view(row).map_or("", |view| view.name.as_str());
        let message = format!(
            "{name} ({row}) was closed: nothing was done with it for {} s",
            after as f64 / 1_000.0
        );
        self.notice("idle", message, Some(row), false);
        if self.is_attach_root(row) {
            self.let_root_go(NOBODY, row);
        } else {
            self.begin_ending(None, row, Then::Remove);
        }
    }
}
