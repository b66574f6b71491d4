//! Letting children go that are not debugged, so that nothing stays parked: over a throwaway
//! connection, or, when even that fails, by ending them. It must not know what makes a child one.

use super::timers::Timer;
use super::{ConnectionRole, Effect, Seen, Tree};
use crate::adapter::Report;
use daptree_model::{End, EndStatus, Follow, RowId, RowState};

/// How long a release may take before the process is ended rather than left parked, in ms.
const RELEASE: u64 = 3_000;

impl Tree {
    /// A child of a tree that was detached a moment ago: it lives on like the rest.
    pub(super) fn release_detached(&mut self, above: RowId, child: &Seen, report: &Report) {
        let known = self
            .rows
            .iter()
            .find(|(_, data)| data.view.process == Some(child.process))
            .map(|(row, _)| *row);
        let Some(policy) = self
            .view(above)
            .map(|view| view.root)
            .and_then(|root| self.policy_of(root))
        else {
            return;
        };
        let row = known.unwrap_or_else(|| {
            let identity = policy.identify(&child.command);
            self.add_child(above, child, identity, policy.language())
        });
        let at_ms = self.now.0;
        self.change_row(row, |view| {
            view.state = RowState::Ended;
            view.end = Some(End {
                status: EndStatus::Unknown,
                cause: None,
                at_ms,
                released: true,
            });
        });
        self.watch(row, child.process);
        self.announce(row);
        self.let_go(row, report);
    }

    pub(super) fn count_released(&mut self, row: RowId, why: &str) {
        let Some(run) = self.run_of(row) else {
            return;
        };
        let closing = self.is_ending(row);
        if let Some(tree) = self.tree_of(run).filter(|_| !closing) {
            tree.children_released += 1;
        }
        self.change_row(row, |view| {
            view.follow = Follow::Released;
            view.reason = Some(why.to_owned());
            view.state = RowState::Running;
            view.language = None;
        });
        let what = self.view(row).map(|view| {
            let pid = view.process.map_or(0, |process| process.pid);
            format!(
                "{} (pid {pid}) runs on without the debugger: {why}",
                view.name
            )
        });
        self.notice("released", what.unwrap_or_default(), Some(row), false);
    }

    /// Takes a parked child over a throwaway connection and leaves it at once.
    pub(super) fn let_go(&mut self, row: RowId, report: &Report) {
        let Some(run) = self.run_of(row) else {
            return;
        };
        let by = self.now.after(RELEASE);
        if let Some(data) = self.rows.get_mut(&row) {
            data.adopt_by = Some(by);
            data.releasing = true;
            data.report = Some(report.clone());
        }
        self.timers.set(by, Timer::Adoption(row));
        let new = self.connect(
            row,
            run,
            ConnectionRole::Release,
            report.host.clone(),
            report.port,
        );
        self.leave_others(row, new);
    }

    /// Turns an adoption under way into a release: its session ends as soon as it is there.
    pub(super) fn adopt_to_release(&mut self, row: RowId) {
        let by = self.now.after(RELEASE);
        let Some(data) = self.rows.get_mut(&row) else {
            return;
        };
        data.releasing = true;
        data.adopt_by = Some(by);
        let session = data.connection.take();
        self.timers.set(by, Timer::Adoption(row));
        if let Some(data) = session.and_then(|session| self.connections.get_mut(&session)) {
            data.role = ConnectionRole::Release;
        }
    }

    /// The release went through.
    pub(super) fn released(&mut self, row: RowId) {
        let Some(data) = self.rows.get_mut(&row) else {
            return;
        };
        data.adopt_by = None;
        data.releasing = false;
        data.report = None;
        let (root, process, detached) = (data.view.root, data.view.process, !data.is_live());
        if let Some(process) = process.filter(|_| detached) {
            self.effect(Effect::Forget(process));
        }
        self.check_over(root);
        self.shutdown_advance(&[]);
    }

    pub(super) fn end_parked(&mut self, row: RowId) {
        let Some(process) = self.view(row).and_then(|view| view.process) else {
            return;
        };
        if let Some(data) = self.rows.get_mut(&row) {
            data.adopt_by = None;
            data.releasing = false;
            data.report = None;
            data.cause = Some("ended by daptree: the adapter would not let it go".to_owned());
        }
        let name = self
            .view(row)
            .map(|view| view.name.clone())
            .unwrap_or_default();
        if self.is_of_attach(row) {
            self.left_parked(row, &name, process);
            return;
        }
        let message = format!("{name} ({process}) was ended: its adapter would not let it run");
        self.notice("ended", message, Some(row), true);
        self.end_processes(vec![process]);
        self.shutdown_advance(&[]);
    }
}
