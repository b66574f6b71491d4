//! Children that no adapter reports: those of a process that the debugger was put into by its pid.
//! They are looked for in the process table, time and again, and attached to as they turn up. It
//! must not know how a session is set up.

use super::adoption::Reported;
use super::timers::Timer;
use super::{Effect, Run, Seen, Tree};
use crate::adapter::Role;
use daptree_model::{Follow, ProcessKey, Row, RowId, RowState, TreeState};
use std::collections::{BTreeMap, BTreeSet};

/// How often children are looked for, in ms.
const EVERY: u64 = 300;
/// How soon again when one was seen that may be about to become something else, in ms.
const SOON: u64 = 60;
/// How long a child may take from its first sight to its session, in ms.
const UNREPORTED: u64 = 30_000;

impl Tree {
    /// Looks for children, if the tree has a process whose children are not reported.
    pub(super) fn scan(&mut self, run: Run) {
        let roots: Vec<ProcessKey> = self.injected(run.root).collect();
        let Some(tree) = self.tree_of(run) else {
            return;
        };
        let live = matches!(tree.state, TreeState::Preparing(_) | TreeState::Running)
            && tree.policy.is_some();
        if roots.is_empty() || !live || std::mem::replace(&mut tree.scanning, true) {
            return;
        }
        self.effect(Effect::Scan(run, roots));
    }

    fn injected(&self, root: RowId) -> impl Iterator<Item = ProcessKey> {
        let of_root = self
            .rows
            .values()
            .filter(move |data| data.view.root == root && data.is_live() && data.injected);
        of_root.filter_map(|data| data.view.process)
    }

    /// What a scan found, parents first.
    pub(super) fn scanned(&mut self, run: Run, seen: &[Seen]) {
        let Some(tree) = self.tree_of(run) else {
            return;
        };
        tree.scanning = false;
        let earlier = std::mem::take(&mut tree.fresh);
        if !matches!(tree.state, TreeState::Preparing(_) | TreeState::Running) {
            return;
        }
        let by_pid: BTreeMap<u32, &Seen> = seen.iter().map(|one| (one.process.pid, one)).collect();
        let mut before: BTreeSet<RowId> = self
            .rows
            .iter()
            .filter(|(_, data)| data.view.root == run.root && data.injected && !data.surveyed)
            .map(|(row, _)| *row)
            .collect();
        let mut fresh = BTreeSet::new();
        for one in seen {
            if let Some(row) = self.live_row_of(one.process) {
                self.seen_again(row, one, before.contains(&row));
            } else if !self.has_row(one.process)
                && self.found(run, one, &by_pid, &mut before, &earlier) == Found::Later
            {
                fresh.insert(one.process);
            }
        }
        for row in before {
            if let Some(data) = self.rows.get_mut(&row) {
                data.surveyed = true;
            }
        }
        let next = if fresh.is_empty() { EVERY } else { SOON };
        if let Some(tree) = self.tree_of(run) {
            tree.fresh = fresh;
        }
        if self.injected(run.root).next().is_some() {
            self.timers.set(self.now.after(next), Timer::Scan(run));
        }
    }

    fn has_row(&self, process: ProcessKey) -> bool {
        self.rows
            .values()
            .any(|data| data.view.process == Some(process))
    }

    /// A process without a row.
    fn found(
        &mut self,
        run: Run,
        one: &Seen,
        by_pid: &BTreeMap<u32, &Seen>,
        before: &mut BTreeSet<RowId>,
        earlier: &BTreeSet<ProcessKey>,
    ) -> Found {
        let Some(policy) = self
            .policy_of(run.root)
            .filter(|policy| policy.speaks(&one.command, &one.short_name))
        else {
            return Found::Done;
        };
        let Some((mut above, between)) = self.row_above(run.root, one, by_pid) else {
            return Found::Done;
        };
        let Some(data) = self.rows.get(&above) else {
            return Found::Done;
        };
        let (injected, session) = (data.injected, data.view.is_session());
        if session && !injected {
            // It is reported, or it is not to be followed.
            return Found::Done;
        }
        let was_there = before.contains(&above);
        let fork = policy.identify(&one.command).command == data.view.command;
        let follows = policy.will_report(&one.command);
        if injected && !was_there && between.is_empty() && (follows || fork) {
            if !follows && !earlier.contains(&one.process) {
                // A fork, or a process that is about to become a program.
                return Found::Later;
            }
            self.adopt_unreported(run, above, one);
            return Found::Done;
        }
        if !was_there && !earlier.contains(&one.process) {
            return Found::Later;
        }
        for one in between.into_iter().rev() {
            above = self.add_unfollowed(above, one);
        }
        let how = format!("attach to it too: daptree attach --pid {}", one.process.pid);
        let reason = if was_there {
            format!("ran before the attach; {how}")
        } else {
            format!("started without the debugger; {how}")
        };
        let identity = policy.identify(&one.command);
        let row = self.add_child(above, one, identity, policy.language());
        self.change_row(row, |view| {
            view.follow = Follow::Unfollowed;
            view.language = None;
            view.state = RowState::Running;
            view.reason = Some(reason);
        });
        self.watch(row, one.process);
        self.announce(row);
        if was_there {
            // What is below it was there as well.
            before.insert(row);
        }
        Found::Done
    }

    /// The nearest row above a process, and what lies between, from below.
    fn row_above<'a>(
        &self,
        root: RowId,
        one: &Seen,
        by_pid: &BTreeMap<u32, &'a Seen>,
    ) -> Option<(RowId, Vec<&'a Seen>)> {
        let (mut parent, mut between) = (one.parent, Vec::new());
        loop {
            let above = *by_pid.get(&parent)?;
            if let Some(row) = self.live_row_of(above.process) {
                let of_tree = self.view(row).is_some_and(|view| view.root == root);
                return of_tree.then_some((row, between));
            }
            between.push(above);
            parent = above.parent;
            if between.len() > by_pid.len() {
                return None;
            }
        }
    }

    /// A child that waits at the adapter, or soon will.
    fn adopt_unreported(&mut self, run: Run, above: RowId, one: &Seen) {
        let Some(tree) = self.tree_of(run) else {
            return;
        };
        let cap = tree.origin.max_children();
        let (Some(policy), Some((host, port))) = (tree.policy.clone(), tree.endpoint.clone())
        else {
            return;
        };
        let report = policy.unreported(one.process.pid, &host, port);
        let identity = policy.identify(&one.command);
        let role = identity.role;
        let live = self.live_sessions(run.root);
        let row = self.add_child(above, one, identity, policy.language());
        if let Some(data) = self.rows.get_mut(&row) {
            data.unreported = true;
            data.followed = policy.will_report(&one.command);
        }
        self.watch(row, one.process);
        if role == Role::Tracker {
            self.change_row(row, |view| view.state = RowState::Running);
            self.let_go(row, &report);
        } else if cap != 0 && live >= cap as usize {
            let why = format!("more than {cap} sessions (--max-children)");
            self.count_released(row, &why);
            self.let_go(row, &report);
        } else {
            self.adopt(row, run, report);
        }
        // It counts from its first sight: it may still be starting up.
        let by = self.now.after(UNREPORTED);
        if let Some(data) = self.rows.get_mut(&row) {
            data.adopt_by = Some(by);
        }
        self.timers.set(by, Timer::Adoption(row));
        self.announce(row);
    }

    /// A process with a row is still there: maybe as another program.
    fn seen_again(&mut self, row: RowId, one: &Seen, first: bool) {
        let Some(data) = self.rows.get(&row) else {
            return;
        };
        let Some(policy) = self.policy_of(data.view.root) else {
            return;
        };
        let follows = policy.will_report(&one.command);
        if first {
            if let Some(data) = self.rows.get_mut(&row) {
                data.followed = follows;
            }
            return;
        }
        if data.injected && follows && !data.followed && data.view.state != RowState::Adopting {
            // It replaced itself, and waits at the adapter as a child would.
            self.replaced_unreported(row, one);
        } else if data.unreported && data.adopt_by.is_some() && follows != data.followed {
            let identity = policy.identify(&one.command);
            if let Some(data) = self.rows.get_mut(&row) {
                data.followed = follows;
            }
            let program = super::children::absolute(identity.program, one.cwd.as_deref());
            self.change_row(row, |view: &mut Row| {
                view.name = identity.name;
                view.command = identity.command;
                view.program = program;
            });
            self.announce(row);
        }
    }

    fn replaced_unreported(&mut self, row: RowId, one: &Seen) {
        let Some(data) = self.rows.get(&row) else {
            return;
        };
        let tree = self.trees.get(&data.view.root);
        let (Some(connection), Some((policy, (host, port)))) = (
            data.connection,
            tree.and_then(|tree| Some((tree.policy.clone()?, tree.endpoint.clone()?))),
        ) else {
            return;
        };
        if let Some(data) = self.rows.get_mut(&row) {
            data.injected = false;
            data.unreported = true;
            data.followed = true;
        }
        let reported = Reported {
            connection,
            request: None,
            report: policy.unreported(one.process.pid, &host, port),
        };
        let identity = policy.identify(&one.command);
        self.replaced(row, reported, identity, one);
    }
}

/// What became of a process without a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// It was dealt with, or nothing has to be done.
    Done,
    /// It is looked at again when it is seen once more.
    Later,
}
