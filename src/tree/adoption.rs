//! Children: from an adapter's report to a session, or to a release. Whatever fails on the way,
//! the child is let go; nothing stays parked.

use super::timers::Timer;
use super::{ConnectionId, ConnectionRole, Effect, Phase, Run, Seen, Tree};
use crate::adapter::{Identity, Report, Role};
use crate::dap::message::Request;
use daptree_model::{End, EndStatus, Follow, Row, RowId, RowState, StopNumber, TreeState};
use serde_json::json;

/// What is not adopted this long after its report is released, in ms.
const ADOPTION: u64 = 5_000;
/// How long a release may take before the process is ended rather than left parked, in ms.
const RELEASE: u64 = 3_000;
/// How soon an attach is tried again that the adapter refused because of the time before an exec.
const AGAIN: u64 = 30;
/// When a name that the program had not given yet is asked for again, in ms after the adoption.
pub(super) const NAMES: [u64; 3] = [600, 1_500, 4_000];

/// A report whose process is being looked up.
#[derive(Debug)]
pub(super) struct Reported {
    connection: ConnectionId,
    /// The reverse request to answer; none for the event form.
    request: Option<Request>,
    report: Report,
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
        let earlier = self.reports.insert(
            pid,
            Reported {
                connection,
                request,
                report,
            },
        );
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

    fn acknowledge(&mut self, reported: &Reported) {
        if let Some(request) = &reported.request {
            self.answer(reported.connection, request, Ok(()));
        }
    }

    fn decide(&mut self, reported: Reported, seen: &[Seen]) {
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
        let (Some(policy), cap) = (tree.policy.clone(), tree.request.max_children) else {
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
        self.effect(Effect::Watch(row, child.process));
        self.announce(row);
    }

    /// A child of a tree that was detached a moment ago: it lives on like the rest.
    fn release_detached(&mut self, above: RowId, child: &Seen, report: &Report) {
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
        self.effect(Effect::Watch(row, child.process));
        self.announce(row);
        self.let_go(row, report);
    }

    /// Says no to a report, so that the adapter lets the child run.
    fn refuse(&mut self, reported: &Reported, row: Option<RowId>) {
        if let Some(request) = &reported.request {
            self.answer(reported.connection, request, Err("not debugged"));
        } else if let Some(row) = row {
            self.let_go(row, &reported.report);
        }
    }

    /// The live row of a process.
    pub(super) fn live_row_of(&self, process: daptree_model::ProcessKey) -> Option<RowId> {
        self.rows
            .iter()
            .find(|(_, data)| data.is_live() && data.view.process == Some(process))
            .map(|(id, _)| *id)
    }

    fn live_sessions(&self, root: RowId) -> usize {
        self.rows
            .values()
            .filter(|data| {
                data.view.root == root && data.is_live() && data.view.follow == Follow::Adopted
            })
            .count()
    }

    /// The row under which a child belongs: its nearest ancestor that has one. What lies between
    /// gets rows of its own; where no ancestor is known any more, it is the reporter.
    fn parent_for(&mut self, reporter: RowId, run: Run, seen: &[Seen]) -> RowId {
        let ancestors = seen.get(1..).unwrap_or_default();
        let known = ancestors
            .iter()
            .enumerate()
            .find_map(|(at, seen)| self.live_row_of(seen.process).map(|row| (at, row)));
        let Some((at, mut parent)) = known else {
            return reporter;
        };
        if self.view(parent).is_none_or(|view| view.root != run.root) {
            return reporter;
        }
        for between in ancestors.get(..at).unwrap_or_default().iter().rev() {
            parent = self.add_unfollowed(parent, between);
        }
        parent
    }

    fn add_unfollowed(&mut self, parent: RowId, seen: &Seen) -> RowId {
        let name = seen
            .command
            .first()
            .and_then(|word| word.rsplit('/').next())
            .filter(|name| !name.is_empty())
            .unwrap_or(&seen.short_name)
            .to_owned();
        let row = self.add_row(Some(parent), |id| Row {
            follow: Follow::Unfollowed,
            reason: Some("not Python".to_owned()),
            state: RowState::Running,
            language: None,
            ..blank(id, seen, name)
        });
        self.effect(Effect::Watch(row, seen.process));
        self.announce(row);
        row
    }

    fn add_child(
        &mut self,
        parent: RowId,
        seen: &Seen,
        identity: Identity,
        language: &str,
    ) -> RowId {
        let above = self.view(parent);
        // A fork has its parent's command line: it is what its parent is.
        let fork = above.filter(|row| row.process.is_some() && row.command == identity.command);
        let (name, program, role) = match fork {
            Some(above) => (
                format!("{} (fork)", above.name),
                above.program.clone(),
                Role::Program,
            ),
            None => (
                identity.name,
                absolute(identity.program, seen.cwd.as_deref()),
                identity.role,
            ),
        };
        let helper = role != Role::Program;
        self.add_row(Some(parent), |id| Row {
            program,
            command: identity.command,
            language: Some(language.to_owned()),
            follow: if helper {
                Follow::Helper
            } else {
                Follow::Adopted
            },
            reason: (role == Role::Tracker).then(|| "a library's tracker, let go".to_owned()),
            state: RowState::Adopting,
            ..blank(id, seen, name)
        })
    }

    /// Opens the session of a parked child.
    fn adopt(&mut self, row: RowId, run: Run, report: Report) {
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
    fn replaced(&mut self, row: RowId, reported: Reported, identity: Identity, seen: &Seen) {
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
    fn leave_others(&mut self, row: RowId, new: ConnectionId) {
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
            if known {
                self.lost_session(row, why);
            } else {
                let message = format!("the adapter refused the program's session: {why}");
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
        // It may have stopped before its attach was answered.
        self.arrive(row);
        self.resumed(row);
        self.count_released(row, why);
        self.announce(row);
        if let Some(report) = report {
            self.let_go(row, &report);
        }
        if let Some(old) = old {
            self.leave(old, false);
        }
    }

    fn count_released(&mut self, row: RowId, why: &str) {
        let Some(run) = self.run_of(row) else {
            return;
        };
        if let Some(tree) = self.tree_of(run) {
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
    fn let_go(&mut self, row: RowId, report: &Report) {
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

    fn end_parked(&mut self, row: RowId) {
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
        let message = format!("{name} ({process}) was ended: its adapter would not let it run");
        self.notice("ended", message, Some(row), true);
        self.end_processes(vec![process]);
        self.shutdown_advance(&[]);
    }

    /// Asks the program for the name it gave to a process.
    pub(super) fn ask_name(&mut self, row: RowId) {
        let Some(data) = self.rows.get(&row) else {
            return;
        };
        if data.named || data.naming || !data.is_live() || data.view.follow != Follow::Adopted {
            return;
        }
        let root = data.view.root;
        if row == root && data.view.execs == 0 {
            return;
        }
        let expression = self
            .policy_of(root)
            .and_then(|policy| policy.name_expression());
        if let Some(expression) = expression {
            let arguments = json!({ "expression": expression, "context": "watch" });
            let sent = self.ask_row(
                row,
                "evaluate",
                arguments,
                super::requests::Asked::Name,
                None,
            );
            if let Some(data) = self.rows.get_mut(&row) {
                data.naming = sent;
            }
        }
    }

    pub(super) fn name_answered(&mut self, row: RowId, value: Option<&str>) {
        let Some(data) = self.rows.get_mut(&row) else {
            return;
        };
        data.naming = false;
        let root = data.view.root;
        let name = value
            .zip(self.policy_of(root))
            .and_then(|(value, policy)| policy.name_in(value));
        if let Some(name) = name {
            if let Some(data) = self.rows.get_mut(&row) {
                data.named = true;
            }
            if self.view(row).is_some_and(|view| view.name != name) {
                self.change_row(row, |view| view.name = name);
                self.announce(row);
            }
        }
    }
}

/// A row of a process that was just seen.
fn blank(id: RowId, seen: &Seen, name: String) -> Row {
    Row {
        id,
        parent: None,
        parent_session: None,
        root: id,
        process: Some(seen.process),
        name,
        program: None,
        command: seen.command.clone(),
        language: None,
        follow: Follow::Adopted,
        reason: None,
        state: RowState::Running,
        stop: StopNumber(0),
        stopped: None,
        last_place: None,
        held: false,
        pausing: false,
        end: None,
        execs: 0,
        since_ms: 0,
        exception_filters: Vec::new(),
    }
}

/// A program's path as its process sees it, made absolute.
fn absolute(program: Option<String>, cwd: Option<&str>) -> Option<String> {
    let program = program?;
    if program.starts_with('/') {
        return Some(program);
    }
    let relative = program.strip_prefix("./").unwrap_or(&program);
    cwd.map(|cwd| format!("{}/{relative}", cwd.trim_end_matches('/')))
}
