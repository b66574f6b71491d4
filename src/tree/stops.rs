//! A stop from the adapter's word to the moment it is over: it is numbered, its place is waited for,
//! it is shown, and the session runs on. It must not know who asked for what follows.

use super::requests::Asked;
use super::row::Hold;
use super::timers::Timer;
use super::{Phase, Tree};
use crate::dap::message::Response;
use crate::dap::types::{ExceptionInfoResponse, StackTraceResponse, StoppedEvent};
use daptree_model::{Event, Place, RowId, RowState, Stop, StopNumber};
use serde_json::json;

/// How long a stop waits for its place before it is shown without, in ms.
const ARRIVAL: u64 = 2_000;

impl Tree {
    pub(super) fn stop_arrives(&mut self, row: RowId, body: StoppedEvent) {
        if self
            .view(row)
            .is_none_or(|view| view.is_ended() || view.is_paused())
        {
            return;
        }
        self.touch(row);
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
        data.stepping = false;
        if data.broke_away.take().is_some() {
            data.stands_since = None;
        }
        let of_pause = stop.reason == "pause" || (data.entering && stop.reason == "step");
        if data.freed && of_pause {
            // Of a pause that was taken back meanwhile.
            data.freed = false;
            data.entering = false;
            self.pass(row, stop);
            return;
        }
        // One that was overtaken before it was shown keeps its number.
        let overtaken = data.arriving.as_ref().map_or(0, |_| data.inspect.stop.0);
        let number = StopNumber(data.view.stop.0.max(overtaken) + 1);
        let raised = stop.reason == "exception";
        let thread = stop.thread;
        data.arriving = Some(stop);
        data.exits = false;
        data.passing = None;
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
    pub(super) fn arrived(
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
            let stack = super::reads::stack_of(body, policy.as_deref(), &self.maps);
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
        if self.enters(row) || self.asks_whether_expected(row, number, thread) {
            return;
        }
        self.arrive(row);
    }

    /// Under a test runner an exception may be what a test waits for: asks before the stop is
    /// shown. Says whether there is an answer to wait for.
    fn asks_whether_expected(&mut self, row: RowId, stop: StopNumber, thread: i64) -> bool {
        let Some(data) = self.rows.get(&row) else {
            return false;
        };
        let raised = data.arriving.as_ref();
        let raised = raised.is_some_and(|stop| stop.reason == "exception");
        let all = data.view.filters_on.iter().any(|filter| filter == "raised");
        if !raised || all || self.filters_were_typed() || self.suggested_filters(row).is_empty() {
            return false;
        }
        let frame = data.inspect.stacks.get(&thread);
        let frame = frame.and_then(|stack| stack.frames.first());
        let expression = self
            .policy_of(data.view.root)
            .and_then(|policy| policy.expected_expression());
        let (Some(frame), Some(expression)) = (frame, expression) else {
            return false;
        };
        let arguments =
            json!({ "expression": expression, "frameId": frame.id, "context": "watch" });
        self.ask_row(row, "evaluate", arguments, Asked::Expected { stop }, None)
    }

    /// The session said whether a test waits for its exception.
    pub(super) fn expected_answered(&mut self, row: RowId, stop: StopNumber, value: Option<&str>) {
        let Some(data) = self.rows.get(&row) else {
            return;
        };
        if data.arriving.is_none() || data.inspect.stop != stop {
            return;
        }
        let policy = self.policy_of(data.view.root);
        let expected = policy
            .zip(value)
            .is_some_and(|(policy, value)| policy.is_expected(value));
        if let Some(data) = self.rows.get_mut(&row) {
            data.exits |= expected;
        }
        self.arrive(row);
    }

    /// Makes the pause at entry a stop at the first line. Python 3.11 pauses before it, on a line 0
    /// that nobody wrote: one step more. Says whether there is such a step to wait for.
    fn enters(&mut self, row: RowId) -> bool {
        let Some(data) = self.rows.get_mut(&row).filter(|data| data.entering) else {
            return false;
        };
        let shown = data.view.stop;
        let Some(stop) = &mut data.arriving else {
            return false;
        };
        if !matches!(stop.reason.as_str(), "pause" | "step") {
            data.entering = false;
            return false;
        }
        let before_all =
            stop.reason == "pause" && stop.place.as_ref().is_some_and(|at| at.line == 0);
        if !before_all {
            data.entering = false;
            // A session that its world holds before its first line did not stop there by itself.
            let reason = if data.hold.is_some() {
                "pause"
            } else {
                "entry"
            };
            reason.clone_into(&mut stop.reason);
            return false;
        }
        let arguments = json!({ "threadId": stop.thread });
        data.arriving = None;
        data.begin_inspect(shown);
        self.ask_row(row, "next", arguments, Asked::Nothing, None);
        true
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
        match self.take_exit(row).or_else(|| self.take_late(row)) {
            Some(stop) => self.pass(row, stop),
            None => self.show_stop(row),
        }
    }

    /// Makes a stop visible that is over already: its session ran on, or ends.
    pub(super) fn arrive_late(&mut self, row: RowId) {
        if self.take_exit(row).is_none() && self.take_late(row).is_none() {
            self.show_stop(row);
        }
    }

    fn show_stop(&mut self, row: RowId) {
        let Some(mut stop) = self
            .rows
            .get_mut(&row)
            .and_then(|data| data.arriving.take())
        else {
            return;
        };
        stop.breakpoints = self.hit_breakpoints(row, &stop);
        let hit = stop.breakpoints.clone();
        let number = self.rows.get(&row).map(|data| data.inspect.stop);
        let number = number.unwrap_or_default();
        let mut held = false;
        if let Some(data) = self.rows.get_mut(&row) {
            let by = data.hold.take();
            held = by.is_some() && stop.reason == "pause";
            data.of_world = held && by == Some(Hold::World);
            // It stopped before the pause reached it, which may come yet.
            data.freed |= by.is_some() && !held;
        }
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
        self.spend(&hit);
        self.fetch(row);
        self.start_watchdog(row);
        let keep = Timer::Keep(row, number.0);
        self.timers.set(self.now.after(super::inspect::KEEP), keep);
    }

    /// A program that ends by an exception made for it (`sys.exit`) is not stopped, unless every
    /// raise was asked for. Takes the stop that such a one makes.
    fn take_exit(&mut self, row: RowId) -> Option<Stop> {
        let data = self.rows.get(&row)?;
        let stop = data.arriving.as_ref()?;
        let asked_for = data.view.filters_on.iter().any(|filter| filter == "raised");
        let is_exit = stop.reason == "exception" && data.exits;
        if asked_for || !is_exit {
            return None;
        }
        let data = self.rows.get_mut(&row)?;
        let shown = data.view.stop;
        data.begin_inspect(shown);
        data.arriving.take()
    }

    /// Lets a session run on from a stop that nobody is to see, as far as it still stands.
    pub(super) fn pass(&mut self, row: RowId, stop: Stop) {
        let stands = self.rows.get(&row).is_some_and(|data| {
            let phase = data.connection.and_then(|id| self.phase(id));
            data.is_live()
                && !data.terminated
                && matches!(phase, Some(Phase::Configuring | Phase::Live))
        });
        if !stands {
            return;
        }
        self.last_operation += 1;
        let pass = self.last_operation;
        let arguments = json!({ "threadId": stop.thread });
        if let Some(data) = self.rows.get_mut(&row) {
            data.passing = Some((pass, stop));
        }
        self.ask_row(row, "continue", arguments, Asked::Pass(pass), None);
    }

    /// The `continue` past a stop was answered; refused, the program stands there after all.
    pub(super) fn exit_passed(&mut self, row: RowId, pass: u64, refused: bool) {
        let Some(data) = self.rows.get_mut(&row) else {
            return;
        };
        let Some((_, stop)) = data.passing.take_if(|(of, _)| *of == pass) else {
            return;
        };
        if !refused || !data.is_live() || data.terminated || data.view.is_paused() {
            return;
        }
        data.begin_inspect(StopNumber(data.view.stop.0 + 1));
        data.arriving = Some(stop);
        self.show_stop(row);
    }

    pub(super) fn raised(&mut self, row: RowId, number: StopNumber, response: Option<&Response>) {
        let Some(data) = self.rows.get(&row) else {
            return;
        };
        let policy = self.policy_of(data.view.root);
        if data.inspect.stop != number {
            return;
        }
        let minds_tests = !self.filters_were_typed();
        let body = response.and_then(|r| r.body_as::<ExceptionInfoResponse>().ok());
        let exits = body.zip(policy.as_ref()).is_some_and(|(body, policy)| {
            let trace = body.details.and_then(|details| details.stack_trace);
            policy.is_exit(&body.exception_id)
                || (minds_tests && policy.ends_a_test(&trace.unwrap_or_default()))
        });
        if let Some(data) = self.rows.get_mut(&row) {
            data.exits = exits;
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

    /// `continued`: the session runs on by itself, maybe before its stop was shown.
    pub(super) fn ran_on(&mut self, row: RowId) {
        self.arrive_late(row);
        self.broke_away(row);
        if let Some(data) = self.rows.get_mut(&row) {
            data.passing = None;
        }
        self.resumed(row);
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
        if let Some(data) = self.rows.get_mut(&row) {
            data.of_world = false;
        }
        self.event(Event::Continued(row));
    }
}
