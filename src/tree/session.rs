//! What adapters say: events and answers of a session's connection, and the connection's end.

use super::adoption::NAMES;
use super::requests::{Asked, Pending};
use super::timers::Timer;
use super::{Connection, ConnectionId, ConnectionRole, Effect, Phase, Run, Seen, Tree};
use crate::dap::message::{Event as DapEvent, Message, Response};
use crate::dap::types::{Capabilities, OutputEvent, StackTraceResponse, StoppedEvent};
use daptree_model::{
    EngineError, Event, ExceptionFilter, Follow, Place, RowId, RowState, Stop, StopNumber, Stream,
};
use serde_json::json;

/// How long a stop waits for its place before it is shown without, in ms.
const ARRIVAL: u64 = 2_000;
/// How long after the end of its session a process may still live before it is looked at, in ms.
const LINGER: u64 = 1_500;
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
        let Some((policy, settings)) = self.trees.get(&run.root).and_then(|tree| {
            let settings = crate::adapter::SessionSettings {
                just_my_code: tree.request.just_my_code,
            };
            tree.policy.clone().map(|policy| (policy, settings))
        }) else {
            self.close(connection);
            return;
        };
        let attach = match &report {
            Some(report) => policy.adopt(report, &settings),
            None => policy.await_root(&settings),
        };
        let limit = super::requests::ANSWER;
        self.ask(
            connection,
            "initialize",
            policy.initialize(),
            Asked::Initialize,
            limit,
            None,
        );
        // The root's attach is answered when its process has joined, which may take a while.
        let limit = if report.is_some() { limit } else { 60_000 };
        self.ask(connection, "attach", attach, Asked::Attach, limit, None);
    }

    pub(super) fn adapter_said(&mut self, connection: ConnectionId, message: Message) {
        let Some((row, run)) = self
            .connections
            .get(&connection)
            .map(|data| (data.row, data.run))
        else {
            return;
        };
        let policy = self.policy_of(run.root);
        let report = policy.as_ref().and_then(|policy| policy.report(&message));
        match message {
            Message::Response(response) => self.response(connection, &response),
            Message::Request(request) => {
                if let Some(report) = report {
                    self.reported(connection, Some(request), report);
                } else {
                    let reason = format!("daptree does not do `{}`", request.command);
                    self.answer(connection, &request, Err(&reason));
                }
            }
            Message::Event(event) => {
                if let Some(report) = report {
                    self.reported(connection, None, report);
                } else if let Some((host, port)) =
                    policy.and_then(|policy| policy.root_endpoint(&event))
                {
                    if row == run.root && self.rows.get(&row).is_some_and(|d| d.report.is_none()) {
                        self.root_wanted(run, host, port);
                    }
                } else {
                    self.event_said(connection, row, &event);
                }
            }
        }
    }

    fn event_said(&mut self, connection: ConnectionId, row: RowId, event: &DapEvent) {
        let current = self
            .rows
            .get(&row)
            .is_some_and(|data| data.connection == Some(connection));
        match event.event.as_str() {
            "initialized" => self.configure(connection),
            "stopped" if current => match event.body_as::<StoppedEvent>() {
                Ok(body) => self.stop_arrives(row, body),
                Err(error) => tracing::warn!(%row, "a stop could not be read: {error}"),
            },
            "continued" if current => {
                // It may run on before its stop was shown.
                self.arrive(row);
                self.resumed(row);
            }
            "terminated" => self.session_over(connection, row),
            "output" => {
                if let Ok(body) = event.body_as::<OutputEvent>() {
                    self.output_said(row, &body);
                }
            }
            "breakpoint" if current => self.breakpoint_changed(row, event),
            "invalidated" if current => self.drop_inspect(row),
            _ => {}
        }
    }

    fn output_said(&mut self, row: RowId, body: &OutputEvent) {
        let stream = match body.category.as_deref().unwrap_or("console") {
            "stdout" => Stream::Stdout,
            "stderr" => Stream::Stderr,
            "telemetry" => return,
            _ => Stream::Console,
        };
        if !body.output.is_empty() {
            self.effect(Effect::Said(row, stream, body.output.clone()));
            self.event(Event::Console {
                row,
                stream,
                text: body.output.clone(),
            });
        }
    }

    /// `initialized`: everything that the session needs goes out in one burst.
    fn configure(&mut self, connection: ConnectionId) {
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
        let mut filters = Vec::new();
        if stops {
            filters.clone_from(&self.exception_filters);
            self.send_all_breakpoints(row, connection);
        }
        let limit = super::requests::ANSWER;
        let arguments = json!({ "filters": filters });
        let what = Asked::ExceptionFilters;
        self.ask(
            connection,
            "setExceptionBreakpoints",
            arguments,
            what,
            limit,
            None,
        );
        let entry = row == run.root
            && self.view(row).is_some_and(|view| view.execs == 0)
            && self
                .trees
                .get(&run.root)
                .is_some_and(|tree| tree.request.stop_on_entry);
        if entry {
            // An attach has no stop at entry: a pause that is asked for before the program runs
            // is one.
            let arguments = json!({ "threadId": 1 });
            self.ask(connection, "pause", arguments, Asked::Pause, limit, None);
        }
        self.let_child_go(row, run, connection, stops);
    }

    pub(super) fn answered(
        &mut self,
        connection: ConnectionId,
        row: RowId,
        pending: Pending,
        result: Result<&Response, EngineError>,
    ) {
        let result = result.and_then(|response| match response.failure() {
            None => Ok(response),
            Some(message) => {
                let command = pending.command.to_owned();
                Err(EngineError::Refused {
                    row,
                    command,
                    message,
                })
            }
        });
        // What the session before an exec answers says nothing of the one after it.
        let of_another = self
            .rows
            .get(&row)
            .and_then(|data| data.connection)
            .is_some_and(|now| now != connection);
        match pending.what {
            Asked::Breakpoints { .. } | Asked::Name if of_another => {}
            Asked::Initialize => match result {
                Ok(response) => self.capable(connection, row, response),
                Err(EngineError::Gone(_)) => {}
                // A session that works is not given up for an answer that got lost.
                Err(_) if self.phase(connection) >= Some(Phase::Live) => {}
                Err(error) => self.attach_failed(connection, &reason(&error)),
            },
            Asked::Attach => match result {
                Ok(_) => self.attached(connection, row),
                Err(EngineError::Gone(_)) => {}
                Err(error) => self.attach_failed(connection, &reason(&error)),
            },
            Asked::Breakpoints { path, ids } => {
                self.breakpoints_answered(row, &path, &ids, result);
            }
            Asked::ExceptionFilters => {
                if let Err(error @ EngineError::Refused { .. }) = &result {
                    self.notice("exceptions", error.to_string(), Some(row), true);
                }
            }
            Asked::Pause => {
                if result.is_err() && !of_another {
                    self.pause_failed(row);
                }
            }
            Asked::Streams => self.streams_taken(connection, row, &result),
            Asked::ConfigurationDone | Asked::Disconnect | Asked::Nothing => {}
            Asked::Resume { stop } => self.resume_answered(row, stop, pending.asker, result),
            Asked::Name => {
                let value = result.ok().and_then(|response| {
                    response
                        .body
                        .as_ref()?
                        .get("result")?
                        .as_str()
                        .map(str::to_owned)
                });
                self.name_answered(row, value.as_deref());
            }
            Asked::Arrival { stop, thread } => self.arrived(row, stop, thread, result.ok()),
            Asked::Raised { stop } => self.raised(row, stop, result.ok()),
            what => self.fetched(row, what, pending.asker, result),
        }
    }

    fn capable(&mut self, connection: ConnectionId, row: RowId, response: &Response) {
        let filters: Vec<ExceptionFilter> = response
            .body_as::<Capabilities>()
            .ok()
            .and_then(|body| body.exception_breakpoint_filters)
            .unwrap_or_default()
            .into_iter()
            .map(|filter| ExceptionFilter {
                filter: filter.filter,
                label: filter.label,
                default: filter.default.unwrap_or(false),
            })
            .collect();
        if let Some(data) = self.connections.get_mut(&connection) {
            data.filters.clone_from(&filters);
        }
        let known: Vec<&str> = filters
            .iter()
            .map(|filter| filter.filter.as_str())
            .collect();
        if self
            .view(row)
            .is_some_and(|view| view.id == view.root && view.execs == 0)
        {
            for filter in self.exception_filters.clone() {
                if !known.contains(&filter.as_str()) {
                    let message = format!(
                        "the adapter knows no exception filter `{filter}`: it has {}",
                        known.join(", ")
                    );
                    self.notice("exceptions", message, Some(row), true);
                }
            }
        }
        self.change_row(row, |view| view.exception_filters = filters);
    }

    /// `attach` was answered: the session lives and its process is let go.
    fn attached(&mut self, connection: ConnectionId, row: RowId) {
        let Some(role) = self.connections.get(&connection).map(|data| data.role) else {
            return;
        };
        if self.phase(connection) != Some(Phase::Configuring) {
            // Answered without `initialized`: the adapter does not know the process any more.
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

    fn stop_arrives(&mut self, row: RowId, body: StoppedEvent) {
        if self
            .view(row)
            .is_none_or(|view| view.is_ended() || view.is_paused())
        {
            return;
        }
        let stop = Stop {
            reason: body.reason,
            text: body.description.or(body.text),
            thread: body.thread_id,
            place: None,
            breakpoints: Vec::new(),
            exception: None,
            since_ms: self.now.0,
        };
        let Some(data) = self.rows.get_mut(&row) else {
            return;
        };
        // One that was overtaken before it was shown keeps its number.
        let overtaken = data.arriving.as_ref().map_or(0, |_| data.inspect.stop.0);
        let number = StopNumber(data.view.stop.0.max(overtaken) + 1);
        let raised = stop.reason == "exception";
        let thread = stop.thread;
        data.arriving = Some(stop);
        data.begin_inspect(number);
        let connection = data.connection;
        if let Some(known) = connection.and_then(|id| self.connections.get_mut(&id)) {
            known.lane.reopen();
        }
        let Some(thread) = thread else {
            self.arrive(row);
            return;
        };
        self.timers
            .set(self.now.after(ARRIVAL), Timer::Arrival(row, number.0));
        if raised {
            let what = Asked::Raised { stop: number };
            self.ask_row(
                row,
                "exceptionInfo",
                json!({ "threadId": thread }),
                what,
                None,
            );
        }
        let interested = self.interests_in(row).next().is_some();
        let levels = if interested {
            super::inspect::LEVELS
        } else {
            1
        };
        let arguments = json!({ "threadId": thread, "startFrame": 0, "levels": levels });
        let what = Asked::Arrival {
            stop: number,
            thread,
        };
        self.ask_row(row, "stackTrace", arguments, what, None);
        self.fetch_threads(row);
        self.ask_name(row);
    }

    /// The frames of a stop are there.
    fn arrived(
        &mut self,
        row: RowId,
        number: StopNumber,
        thread: i64,
        response: Option<&Response>,
    ) {
        let Some(data) = self.rows.get(&row) else {
            return;
        };
        if data.inspect.stop != number {
            return;
        }
        let root = data.view.root;
        if let Some(body) = response.and_then(|r| r.body_as::<StackTraceResponse>().ok()) {
            let policy = self.policy_of(root);
            let stack = super::reads::stack_of(body, policy.as_deref());
            let place = stack.frames.first().map(|frame| Place {
                path: frame.path.clone().unwrap_or_else(|| frame.source.clone()),
                line: frame.line,
                function: frame.name.clone(),
            });
            if let Some(data) = self.rows.get_mut(&row) {
                data.inspect.stacks.insert(thread, stack);
                if let Some(stop) = &mut data.arriving {
                    stop.place = place;
                }
            }
        }
        self.arrive(row);
    }

    pub(super) fn arrival_timed_out(&mut self, row: RowId, stop: u32) {
        let waits = self
            .rows
            .get(&row)
            .is_some_and(|data| data.arriving.is_some() && data.inspect.stop.0 == stop);
        if waits {
            self.arrive(row);
        }
    }

    /// Makes the stop visible: from here on the session is paused.
    pub(super) fn arrive(&mut self, row: RowId) {
        if self.pass_exit(row) {
            return;
        }
        let Some(mut stop) = self
            .rows
            .get_mut(&row)
            .and_then(|data| data.arriving.take())
        else {
            return;
        };
        if let Some(place) = stop.place.as_ref().filter(|_| stop.reason == "breakpoint") {
            stop.breakpoints = self.hit_breakpoints(row, place);
        }
        let number = self.rows.get(&row).map(|data| data.inspect.stop);
        let number = number.unwrap_or_default();
        let held = self
            .rows
            .get_mut(&row)
            .is_some_and(|data| std::mem::take(&mut data.hold) && stop.reason == "pause");
        self.change_row(row, |view| {
            view.state = RowState::Paused;
            view.stop = number;
            view.pausing = false;
            view.held = held;
            view.last_place.clone_from(&stop.place);
            view.stopped = Some(stop.clone());
        });
        self.event(Event::Stopped {
            row,
            stop: number,
            at: Box::new(stop),
        });
        self.fetch(row);
    }

    /// A program that ends by an exception made for it (`sys.exit`) is not stopped, unless every
    /// raise was asked for. Says whether it was let go.
    fn pass_exit(&mut self, row: RowId) -> bool {
        let Some(data) = self.rows.get(&row).filter(|data| data.is_live()) else {
            return false;
        };
        let Some(stop) = data
            .arriving
            .as_ref()
            .filter(|stop| stop.reason == "exception")
        else {
            return false;
        };
        let asked_for = self
            .exception_filters
            .iter()
            .any(|filter| filter == "raised");
        let policy = self.policy_of(data.view.root);
        let is_exit = stop
            .exception
            .as_ref()
            .zip(policy)
            .is_some_and(|(raised, policy)| policy.is_exit(&raised.type_name));
        if asked_for || !is_exit {
            return false;
        }
        let arguments = json!({ "threadId": stop.thread });
        let stop = data.view.stop;
        if let Some(data) = self.rows.get_mut(&row) {
            data.arriving = None;
            data.begin_inspect(stop);
        }
        self.ask_row(row, "continue", arguments, Asked::Resume { stop }, None);
        true
    }

    fn raised(&mut self, row: RowId, number: StopNumber, response: Option<&Response>) {
        let Some(data) = self.rows.get(&row) else {
            return;
        };
        let policy = self.policy_of(data.view.root);
        if data.inspect.stop != number {
            return;
        }
        let Some(exception) =
            response.and_then(|r| super::reads::exception_of(r, policy.as_deref()))
        else {
            return;
        };
        if let Some(stop) = self
            .rows
            .get_mut(&row)
            .and_then(|data| data.arriving.as_mut())
        {
            stop.exception = Some(exception);
            return;
        }
        self.change_row(row, |view| {
            if let Some(stop) = &mut view.stopped {
                stop.exception = Some(exception);
            }
        });
    }

    /// The session runs on, by whoever's doing.
    pub(super) fn resumed(&mut self, row: RowId) {
        let was = self.view(row).is_some_and(daptree_model::Row::is_paused);
        if !was {
            return;
        }
        self.change_row(row, |view| {
            view.state = RowState::Running;
            view.stopped = None;
            view.held = false;
        });
        self.event(Event::Continued(row));
    }

    /// `terminated`: the session is over. The process is over when the kernel says so.
    fn session_over(&mut self, connection: ConnectionId, row: RowId) {
        let Some(data) = self.rows.get_mut(&row) else {
            return;
        };
        if data.connection != Some(connection) {
            self.leave(connection, false);
            return;
        }
        data.terminated = true;
        self.arrive(row);
        self.fell(row);
        self.resumed(row);
        let keeps_adapter = self.view(row).is_some_and(|view| view.id == view.root);
        if !keeps_adapter {
            self.leave(connection, false);
        }
        self.timers
            .set(self.now.after(LINGER), Timer::Linger(row, connection));
    }

    /// Remembers where a session stands that is about to end.
    pub(super) fn fell(&mut self, row: RowId) {
        if let Some(data) = self.rows.get_mut(&row).filter(|data| data.view.is_paused()) {
            data.fell_at.clone_from(&data.view.last_place);
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

    /// A live process lost its session without notice: it may have ended, or the adapter has.
    pub(super) fn lost_session(&mut self, row: RowId, why: &str) {
        if self.view(row).is_none_or(daptree_model::Row::is_ended) {
            return;
        }
        tracing::info!(%row, "the session's connection is lost: {why}");
        self.arrive(row);
        self.fell(row);
        let why = format!("its debug session broke: {why}");
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

fn reason(error: &EngineError) -> String {
    match error {
        EngineError::Refused { message, .. } => message.clone(),
        other => other.to_string(),
    }
}
