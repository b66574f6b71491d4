//! Children: from an adapter's report to a session. Whatever fails on the way, the child is let go.
//! It must not know what a connection says meanwhile.

use super::children::absolute;
use super::timers::Timer;
use super::{ConnectionId, ConnectionRole, Effect, Phase, Run, Seen, Tree};
use crate::adapter::{Identity, Report, Role};
use crate::dap::message::Request;
use daptree_model::{Follow, RowId, RowState, TreeState};

/// What is not adopted this long after its report is released, in ms.
const ADOPTION: u64 = 5_000;
/// How soon an attach is tried again that the adapter refused because of the time before an exec.
const AGAIN: u64 = 30;

/// A report whose process is being looked up.
#[derive(Debug)]
pub(super) struct Reported {
    pub connection: ConnectionId,
    /// The reverse request to answer; none for the event form.
    pub request: Option<Request>,
    pub report: Report,
}

impl Reported {
    /// The connection it came on.
    pub(super) fn connection(&self) -> ConnectionId {
        self.connection
    }
}

impl Tree {
    /// An adapter says that a child is parked. The answer follows as soon as the process has been
    /// looked up, which the shell does before it hears anything else.
    pub(super) fn reported(
        &mut self,
        connection: ConnectionId,
        request: Option<Request>,
        report: Report,
    ) {
        let pid = report.pid;
        let Some((reported, is_here)) = self.placed(connection, request, report) else {
            return;
        };
        if !is_here {
            self.decide_elsewhere(reported);
            return;
        }
        let earlier = self.reports.insert(pid, reported);
        if let Some(earlier) = earlier {
            // The same process was reported again before it was looked at: the newer one counts.
            self.acknowledge(&earlier);
        }
        self.effect(Effect::Describe(pid));
    }

    pub(super) fn process_described(&mut self, pid: u32, seen: &[Seen]) {
        match self.reports.remove(&pid) {
            Some(reported) => self.decide(reported, seen),
            None => self.looked_again(pid, seen),
        }
    }

    pub(super) fn acknowledge(&mut self, reported: &Reported) {
        if let Some(request) = &reported.request {
            self.answer(reported.connection, request, Ok(()));
        }
    }

    pub(super) fn decide(&mut self, reported: Reported, seen: &[Seen]) {
        let Some((above, run)) = self
            .connections
            .get(&reported.connection)
            .map(|data| (data.row, data.run))
        else {
            return;
        };
        let Some(child) = seen.first() else {
            self.acknowledge(&reported);
            return;
        };
        let Some(tree) = self.tree_of(run) else {
            return;
        };
        let state = tree.state.clone();
        if state == TreeState::Detached {
            self.acknowledge(&reported);
            self.release_detached(above, child, &reported.report);
            return;
        }
        if !state.is_live() || self.is_ending(above) {
            // It must neither stay parked nor outlive what it belongs to.
            self.refuse(&reported, None);
            if state.is_live() {
                self.end_processes(vec![child.process]);
            }
            return;
        }
        let Some(tree) = self.tree_of(run) else {
            return;
        };
        let (Some(policy), cap) = (tree.policy.clone(), tree.origin.max_children()) else {
            return;
        };
        let identity = policy.identify(&child.command);
        if let Some(row) = self.live_row_of(child.process) {
            self.replaced(row, reported, identity, child);
            return;
        }
        let parent = self.parent_for(above, run, seen);
        let live = self.live_sessions(run.root);
        let row = self.add_child(parent, child, identity, policy.language());
        if self
            .view(row)
            .is_some_and(|view| view.follow == Follow::Helper)
            && policy.identify(&child.command).role == Role::Tracker
        {
            self.refuse(&reported, Some(row));
            self.change_row(row, |view| view.state = RowState::Running);
        } else if cap != 0 && live >= cap as usize {
            let why = format!("more than {cap} sessions (--max-children)");
            self.refuse(&reported, Some(row));
            self.count_released(row, &why);
        } else {
            self.acknowledge(&reported);
            self.adopt(row, run, reported.report);
        }
        self.watch(row, child.process);
        self.announce(row);
    }

    /// Says no to a report, so that the adapter lets the child run.
    fn refuse(&mut self, reported: &Reported, row: Option<RowId>) {
        if let Some(request) = &reported.request {
            self.answer(reported.connection, request, Err("not debugged"));
        } else if let Some(row) = row {
            self.let_go(row, &reported.report);
        }
    }

    /// Opens the session of a parked child.
    pub(super) fn adopt(&mut self, row: RowId, run: Run, report: Report) {
        let by = self.now.after(ADOPTION);
        let (host, port) = (report.host.clone(), report.port);
        if let Some(data) = self.rows.get_mut(&row) {
            data.report = Some(report);
            data.adopt_by = Some(by);
        }
        self.timers.set(by, Timer::Adoption(row));
        self.connect(row, run, ConnectionRole::Session, host, port);
    }

    /// A process that has a row is reported again: it replaced itself. The old session is let go,
    /// the row stays.
    pub(super) fn replaced(
        &mut self,
        row: RowId,
        reported: Reported,
        identity: Identity,
        seen: &Seen,
    ) {
        self.acknowledge(&reported);
        let run = self.run_of(row).unwrap_or(Run {
            root: row,
            number: 0,
        });
        let by = self.now.after(ADOPTION);
        if let Some(data) = self.rows.get_mut(&row) {
            data.reset_session();
            data.report = Some(reported.report.clone());
            data.adopt_by = Some(by);
        }
        let program = absolute(identity.program, seen.cwd.as_deref());
        let language = self
            .policy_of(run.root)
            .map(|policy| policy.language().to_owned());
        self.change_row(row, |view| {
            view.execs += 1;
            view.name = identity.name;
            view.program = program;
            view.command = identity.command;
            view.language = language;
            view.follow = if identity.role == Role::Program {
                Follow::Adopted
            } else {
                Follow::Helper
            };
            view.reason = None;
            view.state = RowState::Adopting;
            view.stopped = None;
            view.held = false;
            view.pausing = false;
        });
        self.announce(row);
        self.timers.set(by, Timer::Adoption(row));
        // A second client of the adapter before the first leaves: an adapter without clients ends.
        let report = reported.report;
        let new = self.connect(row, run, ConnectionRole::Session, report.host, report.port);
        self.leave_others(row, new);
    }

    /// Leaves every connection of a row but this one: what they say of it is out of date.
    pub(super) fn leave_others(&mut self, row: RowId, new: ConnectionId) {
        let earlier: Vec<ConnectionId> = self
            .connections
            .iter()
            .filter(|(id, data)| data.row == row && **id != new)
            .map(|(id, _)| *id)
            .collect();
        for old in earlier {
            self.leave(old, false);
        }
    }

    /// Takes a refused attach up again.
    pub(super) fn attach_again(&mut self, row: RowId) {
        let Some(data) = self.rows.get(&row) else {
            return;
        };
        let (Some(report), Some(_), None) = (data.report.clone(), data.adopt_by, data.connection)
        else {
            return;
        };
        let role = if data.releasing {
            ConnectionRole::Release
        } else {
            ConnectionRole::Session
        };
        let tried = self
            .connections
            .values()
            .any(|data| data.row == row && data.role == role && data.phase != Phase::Leaving);
        if let Some(run) = self.run_of(row).filter(|_| !tried) {
            self.connect(row, run, role, report.host, report.port);
        }
    }

    /// The attach of a session was refused, or its connection broke before it was live.
    pub(super) fn attach_failed(&mut self, connection: ConnectionId, why: &str) {
        let Some((row, run, role)) = self
            .connections
            .get(&connection)
            .map(|data| (data.row, data.run, data.role))
        else {
            return;
        };
        let current = self
            .rows
            .get(&row)
            .is_some_and(|data| data.connection == Some(connection));
        if role == ConnectionRole::Release || current {
            self.close(connection);
            self.not_attached(row, run, role, why);
        }
    }

    /// A session, or a release, did not come about and its connection is gone.
    pub(super) fn not_attached(&mut self, row: RowId, run: Run, role: ConnectionRole, why: &str) {
        let releasing = self.rows.get(&row).is_some_and(|data| data.releasing);
        if role == ConnectionRole::Release && !releasing {
            // It has been taken up again since, or is gone.
            return;
        }
        let is_root = row == run.root
            && self
                .rows
                .get(&row)
                .is_some_and(|data| data.report.is_none());
        if is_root {
            let known = self.view(row).is_some_and(|view| view.process.is_some());
            let preparing = self
                .tree_of(run)
                .is_some_and(|tree| matches!(tree.state, TreeState::Preparing(_)));
            if known && !preparing {
                self.lost_session(row, why);
            } else {
                let message = self.start_trouble(run, why);
                self.start_failed(run, message);
            }
            return;
        }
        let held = self
            .policy_of(run.root)
            .is_some_and(|policy| policy.is_still_held(why));
        let in_time = self
            .rows
            .get(&row)
            .and_then(|data| data.adopt_by)
            .is_some_and(|by| self.now.after(AGAIN) < by);
        if held && in_time {
            self.timers.set(self.now.after(AGAIN), Timer::Attach(row));
        } else if role == ConnectionRole::Session {
            self.adoption_failed(row, why);
        }
    }

    pub(super) fn adoption_timed_out(&mut self, row: RowId) {
        let Some(data) = self.rows.get(&row) else {
            return;
        };
        let Some(by) = data.adopt_by else {
            return;
        };
        if by > self.now || !(data.is_live() || data.releasing) {
            return;
        }
        if data.releasing {
            // Letting it go did not work either: it would stay parked, and its parent with it.
            self.end_parked(row);
        } else {
            let seconds = ADOPTION / 1_000;
            self.adoption_failed(
                row,
                &format!("its session was not ready within {seconds} s"),
            );
        }
    }

    /// A child that could not be adopted is let go.
    fn adoption_failed(&mut self, row: RowId, why: &str) {
        let Some(data) = self.rows.get_mut(&row) else {
            return;
        };
        data.adopt_by = None;
        let (old, report, live) = (data.connection.take(), data.report.clone(), data.is_live());
        if !live {
            return;
        }
        if self.attach_given_up(row, why) {
            if let Some(old) = old {
                self.leave(old, false);
            }
            return;
        }
        // It may have stopped before its attach was answered.
        self.arrive_late(row);
        self.resumed(row);
        self.forget_pause(row);
        self.count_released(row, why);
        self.announce(row);
        if let Some(report) = report {
            self.let_go(row, &report);
        }
        if let Some(old) = old {
            self.leave(old, false);
        }
    }
}
