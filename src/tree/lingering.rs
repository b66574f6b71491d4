//! A session that is over while its process may live on: the adapter said so or the connection broke,
//! and after a while the process is looked at. It must not end processes: the kernel says when one is
//! gone.

use super::timers::Timer;
use super::{ConnectionId, Effect, Seen, Tree};
use daptree_model::{EndStatus, Follow, RowId, RowState};

/// How long after the end of its session a process may still live before it is looked at, in ms.
const LINGER: u64 = 1_500;
/// So often a process has to be found alive and unchanged before it counts as running on: under a
/// debugger the end of a process takes long on a machine that is busy.
const LOOKS: u32 = 4;

impl Tree {
    /// `terminated`: the session is over. The process is over when the kernel says so.
    pub(super) fn session_over(&mut self, connection: ConnectionId, row: RowId) {
        let Some(data) = self.rows.get_mut(&row) else {
            return;
        };
        if data.connection != Some(connection) {
            self.leave(connection, false);
            return;
        }
        data.terminated = true;
        self.arrive_late(row);
        self.fell(row);
        self.resumed(row);
        self.forget_pause(row);
        if self.is_elsewhere(row) {
            // No kernel of ours tells more.
            self.row_ended(row, EndStatus::Unknown);
            return;
        }
        let keeps_adapter = self.view(row).is_some_and(|view| view.id == view.root);
        if !keeps_adapter {
            self.leave(connection, false);
        }
        self.timers
            .set(self.now.after(LINGER), Timer::Linger(row, connection));
    }

    /// A live process lost its session without notice: it may have ended, or the adapter has.
    pub(super) fn lost_session(&mut self, row: RowId, why: &str) {
        if self.view(row).is_none_or(daptree_model::Row::is_ended) {
            return;
        }
        tracing::info!(%row, "the session's connection is lost: {why}");
        self.arrive_late(row);
        let adapter_up = self
            .run_of(row)
            .and_then(|run| self.tree_of(run))
            .is_some_and(|tree| tree.endpoint.is_some());
        if adapter_up {
            self.fell(row);
        }
        self.forget_pause(row);
        let why = format!("its debug session broke: {why}");
        if self.is_elsewhere(row) {
            if let Some(data) = self.rows.get_mut(&row) {
                data.cause = Some(why);
            }
            self.row_ended(row, EndStatus::Unknown);
            return;
        }
        self.change_row(row, |view| {
            view.state = RowState::Failed;
            view.stopped = None;
            view.pausing = false;
            view.reason = Some(why);
        });
        self.announce(row);
        // Its process may be gone already, or a different program by now.
        self.timers
            .set(self.now.after(LINGER), Timer::Linger(row, ConnectionId(0)));
    }

    /// The session ended a while ago and the process still lives: see what it is now.
    pub(super) fn lingered(&mut self, row: RowId, _connection: ConnectionId) {
        let Some(data) = self.rows.get(&row) else {
            return;
        };
        let over = data.terminated || data.view.state == RowState::Failed;
        if !data.is_live() || !over || data.adopt_by.is_some() {
            return;
        }
        if let Some(process) = data.view.process {
            self.effect(Effect::Describe(process.pid));
        }
    }

    /// A process whose session is over was looked at: it lives on as something else, or undebugged.
    pub(super) fn looked_again(&mut self, pid: u32, seen: &[Seen]) {
        let Some(now) = seen.first() else {
            return;
        };
        let Some(row) = self
            .live_row_of(now.process)
            .filter(|_| now.process.pid == pid)
        else {
            return;
        };
        let Some(view) = self.view(row) else {
            return;
        };
        let root = view.root;
        let Some(policy) = self.policy_of(root) else {
            return;
        };
        let identity = policy.identify(&now.command);
        if identity.command == view.command {
            if view.state == RowState::Failed {
                return;
            }
            if let Some(data) = self.rows.get_mut(&row) {
                data.found_alive += 1;
                if data.found_alive < LOOKS {
                    let again = Timer::Linger(row, ConnectionId(0));
                    self.timers.set(self.now.after(LINGER), again);
                    return;
                }
            }
            self.change_row(row, |view| {
                view.follow = Follow::Released;
                view.reason = Some("its debug session is over, it runs on".to_owned());
            });
        } else if policy.will_report(&now.command) {
            return;
        } else {
            let word = now
                .command
                .first()
                .map_or(now.short_name.as_str(), String::as_str);
            let name = word.rsplit('/').next().unwrap_or(word).to_owned();
            let reason = format!("replaced itself with {name}, which is not debugged");
            self.change_row(row, |view| {
                view.execs += 1;
                view.name = name;
                view.program = None;
                view.command.clone_from(&now.command);
                view.language = None;
                view.follow = Follow::Unfollowed;
                view.reason = Some(reason);
                view.state = RowState::Running;
            });
        }
        self.announce(row);
        self.check_over(root);
    }
}
