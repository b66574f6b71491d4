//! A connection to an adapter: opened, made a session or a release by the handshake, left in order,
//! closed, or broken. It must not know why somebody wants one.

use super::children::NAMES;
use super::requests::Asked;
use super::row::{Hold, RowData};
use super::timers::Timer;
use super::{Connection, ConnectionId, ConnectionRole, Effect, Phase, Run, Tree};
use daptree_model::{Follow, RowId, RowState};
use serde_json::json;

/// How long a connection that was left may stay open, in ms.
const CUT: u64 = 1_000;

impl Tree {
    pub(super) fn connection_opened(&mut self, connection: ConnectionId) {
        let Some(data) = self.connections.get_mut(&connection) else {
            return;
        };
        if data.phase != Phase::Opening {
            return;
        }
        data.phase = Phase::Attaching;
        let (row, run) = (data.row, data.run);
        let report = self.rows.get(&row).and_then(|data| data.report.clone());
        if row != run.root && report.is_none() {
            // Its process ended, or was let go, while this was being opened.
            self.close(connection);
            return;
        }
        let Some((policy, settings, target)) = self.trees.get(&run.root).and_then(|tree| {
            let settings = tree.origin.session_settings();
            let target = tree.origin.target().cloned();
            tree.policy.clone().map(|policy| (policy, settings, target))
        }) else {
            self.close(connection);
            return;
        };
        let attach = match (&report, &target) {
            (Some(report), _) => policy.adopt(report, &settings),
            (None, Some(target)) => policy.attach_root(target, &settings),
            (None, None) => policy.await_root(&settings),
        };
        let (limit, joining) = super::attach::limits(report.as_ref(), target.as_ref());
        self.ask(
            connection,
            "initialize",
            policy.initialize(),
            Asked::Initialize,
            limit,
            None,
        );
        // The root's attach is answered when its process has joined, which may take a while.
        self.ask(connection, "attach", attach, Asked::Attach, joining, None);
    }

    /// `initialized`: everything that the session needs goes out in one burst.
    pub(super) fn configure(&mut self, connection: ConnectionId) {
        let Some(data) = self.connections.get_mut(&connection) else {
            return;
        };
        if data.phase != Phase::Attaching {
            return;
        }
        data.phase = Phase::Configuring;
        let (row, run, role) = (data.row, data.run, data.role);
        let stops = role == ConnectionRole::Session
            && self
                .view(row)
                .is_some_and(|view| view.follow == Follow::Adopted);
        let limit = super::requests::ANSWER;
        if stops {
            self.tell_anew(row, connection);
            self.send_filters(row, connection);
        } else {
            self.ask_filters(connection, &[]);
        }
        let entry = row == run.root
            && self.view(row).is_some_and(|view| view.execs == 0)
            && self
                .trees
                .get(&run.root)
                .is_some_and(|tree| tree.origin.stop_on_entry());
        let held = stops && row != run.root && self.is_born_held(row);
        // One that has ended meanwhile stops nowhere any more.
        let live = self.rows.get(&row).is_some_and(RowData::is_live);
        if live && (entry || held) {
            // An attach has no stop at entry: a pause that is asked for before the program runs
            // is one.
            if let Some(data) = self.rows.get_mut(&row) {
                data.entering = true;
                data.hold = held.then_some(Hold::World);
            }
            self.change_row(row, |view| view.pausing |= held);
            let arguments = json!({ "threadId": 1 });
            self.ask(connection, "pause", arguments, Asked::Pause, limit, None);
        }
        if row == run.root && self.asks_whereabouts(run, connection) {
            return;
        }
        self.let_child_go(row, run, connection, stops);
    }

    /// `attach` was answered: the session lives and its process is let go.
    pub(super) fn attached(&mut self, connection: ConnectionId, row: RowId) {
        let Some(role) = self.connections.get(&connection).map(|data| data.role) else {
            return;
        };
        if self.phase(connection) != Some(Phase::Configuring) {
            // Answered without `initialized`: the adapter does not know the process any more, or
            // not yet.
            self.not_known(connection, row, role);
            return;
        }
        if role == ConnectionRole::Release {
            self.released(row);
            self.leave(connection, false);
            return;
        }
        self.set_phase(connection, Phase::Live);
        if let Some(data) = self.rows.get_mut(&row) {
            data.adopt_by = None;
        }
        self.joined(row);
        self.change_row(row, |view| {
            if matches!(view.state, RowState::Starting | RowState::Adopting) {
                view.state = RowState::Running;
            }
        });
        self.ask_name(row);
        for after in NAMES {
            self.timers.set(self.now.after(after), Timer::Name(row));
        }
    }

    /// Leaves a connection in order: `disconnect`, then close.
    pub(super) fn leave(&mut self, connection: ConnectionId, terminate: bool) {
        match self.phase(connection) {
            None | Some(Phase::Leaving) => return,
            Some(Phase::Opening) => {
                self.close(connection);
                return;
            }
            Some(_) => {}
        }
        let arguments = json!({ "terminateDebuggee": terminate, "restart": false });
        let limit = super::requests::ANSWER;
        self.ask(
            connection,
            "disconnect",
            arguments,
            Asked::Disconnect,
            limit,
            None,
        );
        self.set_phase(connection, Phase::Leaving);
        self.timers.set(self.now.after(CUT), Timer::Cut(connection));
    }

    pub(super) fn cut(&mut self, connection: ConnectionId) {
        if self.phase(connection).is_some() {
            self.close(connection);
        }
    }

    /// Closes a connection and gives up what was asked on it.
    pub(super) fn close(&mut self, connection: ConnectionId) {
        if let Some((data, _)) = self.unlink(connection) {
            self.drop_pending(connection, data.row, data.lane);
            self.effect(Effect::Close(connection));
        }
    }

    /// Takes a connection out of the tree; says also whether it was its row's session.
    fn unlink(&mut self, connection: ConnectionId) -> Option<(Connection, bool)> {
        let data = self.connections.remove(&connection)?;
        let link = self.rows.get_mut(&data.row).map(|row| &mut row.connection);
        let current = link.filter(|link| **link == Some(connection));
        let was_current = current.is_some();
        if let Some(link) = current {
            *link = None;
        }
        Some((data, was_current))
    }

    pub(super) fn close_connections(&mut self, run: Run) {
        let all: Vec<_> = self
            .connections
            .iter()
            .filter(|(_, data)| data.run == run)
            .map(|(id, _)| *id)
            .collect();
        for connection in all {
            self.close(connection);
        }
    }

    /// The other end closed a connection, or it could not be opened.
    pub(super) fn connection_closed(&mut self, connection: ConnectionId, error: Option<String>) {
        let Some((data, current)) = self.unlink(connection) else {
            return;
        };
        let (row, run, role, phase) = (data.row, data.run, data.role, data.phase);
        self.drop_pending(connection, row, data.lane);
        let why = error.unwrap_or_else(|| "the adapter closed the connection".to_owned());
        if phase < Phase::Live && (current || role == ConnectionRole::Release) {
            self.not_attached(row, run, role, &why);
        }
        if role == ConnectionRole::Release || !current || phase < Phase::Live {
            return;
        }
        let terminated = self.rows.get(&row).is_some_and(|data| data.terminated);
        if phase == Phase::Leaving || terminated || self.tree_of(run).is_none() {
            return;
        }
        self.lost_session(row, &why);
    }
}
