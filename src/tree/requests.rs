//! Requests in flight: each has a row in `pending` with what it is for and a deadline; an answer
//! finds it or is dropped. It must not know what the answers mean to the tree beyond routing.

use super::timers::Timer;
use super::{Asker, ConnectionId, Effect, Millis, Phase, Tree};
use crate::dap::message::{Message, Request, Response};
use daptree_model::{BreakpointId, EngineError, RowId, StopNumber};
use serde_json::Value;
use std::collections::VecDeque;

/// How long an adapter may take to answer, in ms.
pub(super) const ANSWER: u64 = 15_000;
/// How long an expression may take, in ms.
pub(super) const EVALUATION: u64 = 30_000;

/// A request that was sent and not answered.
#[derive(Debug)]
pub(super) struct Pending {
    pub what: Asked,
    pub command: &'static str,
    pub deadline: Millis,
    pub sent: Millis,
    /// The command or read that is answered with it.
    pub asker: Option<Asker>,
}

/// Requests that the adapter carries out one at a time.
#[derive(Debug, Default)]
pub(super) struct Lane {
    /// The one that is not answered yet.
    taken_by: Option<i64>,
    /// Those that wait for it.
    waiting: VecDeque<Waiting>,
}

impl Lane {
    /// Whoever asked what was asked before a new stop, the thread takes requests again.
    pub(super) fn reopen(&mut self) {
        self.taken_by = None;
    }

    /// Who waits.
    pub(super) fn askers(&self) -> impl Iterator<Item = Asker> + '_ {
        self.waiting.iter().filter_map(|waiting| waiting.asker)
    }
}

#[derive(Debug)]
struct Waiting {
    what: Asked,
    command: &'static str,
    arguments: Value,
    limit: u64,
    asker: Option<Asker>,
}

/// What a request is for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Asked {
    Initialize,
    Attach,
    Breakpoints {
        /// The file; `None`: functions.
        path: Option<String>,
        ids: Vec<BreakpointId>,
    },
    /// How files are loaded.
    Look {
        files: Vec<String>,
    },
    ExceptionFilters,
    ConfigurationDone,
    /// Resume or step; refused, the session is paused as before.
    Resume {
        stop: StopNumber,
    },
    /// Past an exit that nobody wants to stop at; refused, the session stands there.
    Pass(u64),
    Pause,
    Disconnect,
    Name,
    /// What was asked is not wanted any more.
    Nothing,
    /// The child takes its own output streams; it is let go after that.
    Streams,
    /// Where the root runs; it is let go after that.
    Whereabouts,
    /// The frames of a stop that arrives.
    Arrival {
        stop: StopNumber,
        thread: i64,
    },
    Raised {
        stop: StopNumber,
    },
    /// Whether a test waits for what was raised.
    Expected {
        stop: StopNumber,
    },
    Threads {
        stop: StopNumber,
    },
    Stack {
        stop: StopNumber,
        thread: i64,
    },
    Scopes {
        stop: StopNumber,
        frame: i64,
    },
    Page {
        stop: StopNumber,
        reference: i64,
        limit: u32,
    },
    Watch {
        stop: StopNumber,
        expression: String,
    },
    /// A read of a front end.
    Read {
        wanted: Wanted,
        /// The stop that it is a read of.
        stop: Option<StopNumber>,
        /// It may have changed what it reads.
        changes: bool,
    },
    SetVariable {
        stop: StopNumber,
    },
}

impl Asked {
    /// Whether it is asked for an inspection.
    pub(super) fn is_fetch(&self) -> bool {
        matches!(
            self,
            Self::Threads { .. }
                | Self::Stack { .. }
                | Self::Scopes { .. }
                | Self::Page { .. }
                | Self::Watch { .. }
        )
    }
}

/// What a front end's read makes of the answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Wanted {
    Threads,
    Stack,
    Variables { count: u32 },
    Evaluation,
    Exception,
    Source { name: String },
}

impl Tree {
    /// Sends a request on a connection; its answer comes to [`Tree::answered`].
    pub(super) fn ask(
        &mut self,
        connection: ConnectionId,
        command: &'static str,
        arguments: Value,
        what: Asked,
        limit: u64,
        asker: Option<Asker>,
    ) {
        let Some(data) = self.connections.get(&connection) else {
            return;
        };
        let in_lane = self
            .policy_of(data.run.root)
            .is_some_and(|policy| policy.is_one_at_a_time(command, &arguments));
        let Some(data) = self.connections.get_mut(&connection) else {
            return;
        };
        if in_lane && data.lane.taken_by.is_some() {
            let waiting = Waiting {
                what,
                command,
                arguments,
                limit,
                asker,
            };
            data.lane.waiting.push_back(waiting);
            return;
        }
        let seq = data.next_seq;
        data.next_seq += 1;
        if in_lane {
            data.lane.taken_by = Some(seq);
        }
        let deadline = self.now.after(limit);
        self.timers.set(deadline, Timer::Request(connection, seq));
        let pending = Pending {
            what,
            command,
            deadline,
            sent: self.now,
            asker,
        };
        self.pending.insert((connection, seq), pending);
        if let Some((client, id)) = asker {
            tracing::debug!(command = %id, %client, request = command, seq, "started");
        }
        let message = Message::Request(Request::new(seq, command, Some(arguments)));
        self.effect(Effect::Send(connection, message));
    }

    /// Sends a request on a session's connection, when it has one.
    pub(super) fn ask_row(
        &mut self,
        row: RowId,
        command: &'static str,
        arguments: Value,
        what: Asked,
        asker: Option<Asker>,
    ) -> bool {
        let Some(connection) = self.rows.get(&row).and_then(|data| data.connection) else {
            return false;
        };
        let limit = if command == "evaluate" {
            EVALUATION
        } else {
            ANSWER
        };
        self.ask(connection, command, arguments, what, limit, asker);
        true
    }

    /// Answers a reverse request, at once.
    pub(super) fn answer(
        &mut self,
        connection: ConnectionId,
        request: &Request,
        result: Result<(), &str>,
    ) {
        let Some(data) = self.connections.get_mut(&connection) else {
            return;
        };
        let seq = data.next_seq;
        data.next_seq += 1;
        let response = match result {
            Ok(()) => Response::ok(seq, request, Some(Value::Object(serde_json::Map::new()))),
            Err(reason) => Response::err(seq, request, reason),
        };
        self.effect(Effect::Send(connection, Message::Response(response)));
    }

    pub(super) fn response(&mut self, connection: ConnectionId, response: &Response) {
        let key = (connection, response.request_seq);
        let Some(row) = self.connections.get(&connection).map(|data| data.row) else {
            return;
        };
        // One that names another command is none: its number is wrong. Some leave the name out.
        let names =
            |pending: &Pending| response.command.is_empty() || response.command == pending.command;
        let known = self.pending.get(&key).is_some_and(names);
        let Some(pending) = known.then(|| self.pending.remove(&key)).flatten() else {
            let (seq, command) = (response.request_seq, &response.command);
            tracing::debug!(%connection, seq, command, "an answer to nothing was dropped");
            return;
        };
        self.timers
            .cancel(pending.deadline, Timer::Request(connection, key.1));
        self.answered(connection, row, pending, Ok(response));
        self.lane_free(connection, key.1);
    }

    /// A request was answered or given up: the next that waited for it goes out.
    fn lane_free(&mut self, connection: ConnectionId, seq: i64) {
        let Some(data) = self.connections.get_mut(&connection) else {
            return;
        };
        if data.lane.taken_by != Some(seq) {
            return;
        }
        data.lane.taken_by = None;
        if let Some(next) = data.lane.waiting.pop_front() {
            let Waiting {
                what,
                command,
                arguments,
                limit,
                asker,
            } = next;
            self.ask(connection, command, arguments, what, limit, asker);
        }
    }

    /// Answers what still waits on a connection with an error: it would come too late.
    pub(super) fn give_up_waiting(
        &mut self,
        connection: ConnectionId,
        row: RowId,
        error: &EngineError,
    ) {
        let lane = self
            .connections
            .get_mut(&connection)
            .map(|data| std::mem::take(&mut data.lane.waiting))
            .unwrap_or_default();
        self.answer_waiting(connection, row, lane, error);
    }

    fn answer_waiting(
        &mut self,
        connection: ConnectionId,
        row: RowId,
        waiting: VecDeque<Waiting>,
        error: &EngineError,
    ) {
        for Waiting {
            what,
            command,
            asker,
            ..
        } in waiting
        {
            let (deadline, sent) = (self.now, self.now);
            let pending = Pending {
                what,
                command,
                deadline,
                sent,
                asker,
            };
            self.answered(connection, row, pending, Err(error.clone()));
        }
    }

    pub(super) fn request_timed_out(&mut self, connection: ConnectionId, seq: i64) {
        let Some(pending) = self.pending.remove(&(connection, seq)) else {
            return;
        };
        let row = self
            .connections
            .get(&connection)
            .map(|data| data.row)
            .unwrap_or_default();
        let after_ms = self.now.0.saturating_sub(pending.sent.0);
        let what = format!("{row}: {}", pending.command);
        tracing::warn!(%connection, "{what} was not answered within {after_ms} ms");
        self.fell_silent(row, &pending, after_ms);
        self.answered(
            connection,
            row,
            pending,
            Err(EngineError::TimedOut { what, after_ms }),
        );
        self.lane_free(connection, seq);
    }

    /// Says that what changes how a session runs was not answered: nobody knows what it does now.
    fn fell_silent(&mut self, row: RowId, pending: &Pending, after_ms: u64) {
        let changes = matches!(
            pending.what,
            Asked::Resume { .. } | Asked::Pause | Asked::Breakpoints { .. }
        );
        let Some(view) = self.view(row).filter(|view| changes && !view.is_ended()) else {
            return;
        };
        let (name, command, seconds) = (&view.name, pending.command, after_ms / 1_000);
        let message = format!(
            "{name} ({row}): no answer to {command} for {seconds} s: its debug adapter hangs, or \
             the program is in a call that lets nothing else run; wait, or terminate it"
        );
        self.notice("silent", message, Some(row), true);
    }

    /// Gives up every request of a connection that is over. Nobody names the connection any more,
    /// so that no answer leads to another request on it.
    pub(super) fn drop_pending(&mut self, connection: ConnectionId, row: RowId, lane: Lane) {
        let low = (connection, i64::MIN);
        let high = (connection, i64::MAX);
        let keys: Vec<_> = self
            .pending
            .range(low..=high)
            .map(|(key, _)| *key)
            .collect();
        for key in keys {
            if let Some(pending) = self.pending.remove(&key) {
                self.timers
                    .cancel(pending.deadline, Timer::Request(connection, key.1));
                self.answered(connection, row, pending, Err(EngineError::Gone(row)));
            }
        }
        self.answer_waiting(connection, row, lane.waiting, &EngineError::Gone(row));
    }

    pub(super) fn phase(&self, connection: ConnectionId) -> Option<Phase> {
        self.connections.get(&connection).map(|data| data.phase)
    }

    pub(super) fn set_phase(&mut self, connection: ConnectionId, phase: Phase) {
        if let Some(data) = self.connections.get_mut(&connection) {
            data.phase = phase;
        }
    }
}
