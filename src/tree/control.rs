//! Commands of front ends: what is checked first, and which request each becomes.

use super::requests::Asked;
use super::settle::Wait;
use super::{Asker, Tree};
use crate::dap::message::Response;
use daptree_model::{
    Answer, ClientId, Command, EngineError, Op, RowId, RowState, StopNumber, ToEngine,
};
use serde_json::json;

impl Tree {
    pub(super) fn client_said(&mut self, client: ClientId, message: ToEngine) {
        match message {
            ToEngine::Command(command) => {
                self.open_commands.insert((client, command.id), "command");
                self.command(client, command);
            }
            ToEngine::Read(read) => {
                self.open_commands.insert((client, read.id), "read");
                self.read((client, read.id), read.what);
            }
            ToEngine::Cancel(id) => {
                let asker = (client, id);
                self.waits.retain(|wait| wait.asker != asker);
                self.reply(asker, Err(EngineError::Cancelled));
            }
            ToEngine::Interest(interests) => self.interest_changed(client, interests),
            // Terminals belong to the shell, replays to the replayer.
            ToEngine::TerminalInput { .. }
            | ToEngine::TerminalSize { .. }
            | ToEngine::TerminalWatch(_)
            | ToEngine::Replay(_) => {}
        }
    }

    fn command(&mut self, client: ClientId, command: Command) {
        let asker = (client, command.id);
        let expect = command.expect;
        if let Some(row) = command.op.row() {
            self.touch(row);
        }
        tracing::debug!(command = %command.id, %client, op = command.op.name(), "received");
        let done = match command.op {
            Op::Launch(request) => {
                self.launch(asker, *request);
                return;
            }
            Op::Attach(request) => return self.attach(asker, *request),
            Op::Adopt(row) => return self.adopt_live(asker, row),
            Op::Restart(row) => return self.restart(asker, row),
            Op::Close(row) if self.is_attach_root(row) => return self.let_root_go(asker, row),
            Op::Close(row) => return self.end_subtree(asker, row, super::ending::Then::Remove),
            Op::Terminate(row) if self.is_attach_root(row) => Err(not_ours(row, "terminated")),
            Op::Terminate(row) => return self.end_subtree(asker, row, super::ending::Then::Keep),
            Op::Detach(row) => return self.detach(asker, row),
            Op::Shutdown => return self.shutdown(asker),
            Op::WaitForStop { row, timeout_ms } => return self.wait(asker, row, timeout_ms),
            Op::SetVariable {
                row,
                container,
                name,
                value,
            } => {
                let stale = expect.map(|stop| self.check_stop(row, stop));
                if let Some(Err(error)) = stale {
                    self.reply(asker, Err(error));
                    return;
                }
                return self.set_variable(asker, row, container, &name, &value);
            }
            Op::Continue(row) => return self.resume(asker, row, expect, "continue", None),
            Op::Next(row, thread) => return self.resume(asker, row, expect, "next", thread),
            Op::StepIn(row, thread) => return self.resume(asker, row, expect, "stepIn", thread),
            Op::StepOut(row, thread) => return self.resume(asker, row, expect, "stepOut", thread),
            Op::Pause(row) => self.pause(row).map(|()| Answer::Done),
            Op::ContinueAll(row) => self.continue_all(row),
            Op::PauseAll(row) => self.pause_all(row),
            Op::StopTheWorld(row, on) => self.stop_the_world(row, on),
            Op::SetBreakpoint(spec) => self.set_breakpoint(spec).map(Answer::Breakpoint),
            Op::EditBreakpoint(id, spec) => self.edit_breakpoint(id, spec).map(|()| Answer::Done),
            Op::AcceptOffer(id) => self.accept_offer(id).map(|()| Answer::Done),
            Op::RemoveBreakpoint(id) => self.remove_breakpoint(id).map(|()| Answer::Done),
            Op::EnableBreakpoint(id, on) => self.enable_breakpoint(id, on).map(|()| Answer::Done),
            Op::SetExceptionFilters(filters) => {
                Ok(Answer::Told(self.set_exception_filters(filters)))
            }
        };
        self.reply(asker, done);
    }

    /// Continue or step a paused session.
    fn resume(
        &mut self,
        asker: Asker,
        row: RowId,
        expect: Option<StopNumber>,
        command: &'static str,
        thread: Option<i64>,
    ) {
        let checked = self.check_session(row).and_then(|()| {
            let view = self.view(row).ok_or(EngineError::UnknownSession(row))?;
            match expect {
                Some(stop) => self.check_stop(row, stop),
                None if view.is_paused() => Ok(()),
                None => Err(wrong_state(row, view.state, command, "paused")),
            }
        });
        if let Err(error) = checked {
            self.reply(asker, Err(error));
            return;
        }
        if command == "continue" && self.goes_on_with_its_world(row) {
            self.reply(asker, Ok(Answer::Done));
            return;
        }
        self.send_resume(row, command, thread, Some(asker));
    }

    pub(super) fn send_resume(
        &mut self,
        row: RowId,
        command: &'static str,
        thread: Option<i64>,
        asker: Option<Asker>,
    ) {
        let Some(view) = self.view(row) else {
            return;
        };
        let stop = view.stop;
        let thread = thread.or_else(|| view.stopped.as_ref().and_then(|stopped| stopped.thread));
        let arguments = json!({ "threadId": thread });
        let what = Asked::Resume { stop };
        // Running from here on, so that a second key press is not a second request.
        if let Some(data) = self.rows.get_mut(&row) {
            data.resuming = data.view.stopped.clone().map(|stopped| (stop, stopped));
            data.stepping = command != "continue";
            if !data.stepping {
                data.stands_since = None;
            }
        }
        self.resumed(row);
        if let Some(connection) = self.rows.get(&row).and_then(|data| data.connection) {
            // What was to be read of this stop cannot be any more.
            let now = StopNumber(stop.0 + 1);
            let stale = EngineError::StaleStop {
                row,
                expected: stop,
                now,
            };
            self.give_up_waiting(connection, row, &stale);
        }
        self.ask_row(row, command, arguments, what, asker);
    }

    pub(super) fn resume_answered(
        &mut self,
        row: RowId,
        stop: StopNumber,
        asker: Option<Asker>,
        result: Result<&Response, EngineError>,
    ) {
        let stopped = self
            .rows
            .get_mut(&row)
            .and_then(|data| data.resuming.take_if(|(of, _)| *of == stop));
        if let (Ok(_), Some(data)) = (&result, self.rows.get_mut(&row)) {
            // A pause that had not come through was overtaken.
            data.freed = false;
        }
        let refused = matches!(result, Err(EngineError::Refused { .. }));
        let same = self
            .view(row)
            .is_some_and(|view| view.stop == stop && view.state == RowState::Running);
        if let Some((_, stopped)) = stopped.filter(|_| refused && same) {
            // It never ran on.
            if let Some(data) = self.rows.get_mut(&row) {
                data.stepping = false;
            }
            self.change_row(row, |view| {
                view.state = RowState::Paused;
                view.stopped = Some(stopped);
            });
        }
        if let Some(asker) = asker {
            self.reply(asker, result.map(|_| Answer::Done));
        }
    }

    fn wait(&mut self, asker: Asker, row: RowId, timeout_ms: u64) {
        if self.view(row).is_none() {
            self.reply(asker, Err(EngineError::UnknownSession(row)));
            return;
        }
        self.last_operation += 1;
        let number = self.last_operation;
        let deadline = self.now.after(timeout_ms);
        self.waits.push(Wait {
            number,
            asker,
            row,
            timeout_ms,
        });
        self.timers
            .set(deadline, super::timers::Timer::Wait(number));
    }

    /// Tells the front ends that something is not possible.
    pub(super) fn only_roots(&self, row: RowId, what: &str) -> Result<(), EngineError> {
        let view = self.view(row).ok_or(EngineError::UnknownSession(row))?;
        if view.root == row {
            return Ok(());
        }
        Err(EngineError::NotARoot {
            row,
            root: view.root,
            what: what.to_owned(),
        })
    }
}

/// What cannot be done to a root that daptree did not start.
pub(super) fn not_ours(row: RowId, what: &str) -> EngineError {
    let what = what.to_owned();
    EngineError::NotOurs { row, what }
}

fn wrong_state(row: RowId, state: RowState, what: &str, wanted: &str) -> EngineError {
    EngineError::WrongState {
        row,
        state,
        what: what.to_owned(),
        wanted: wanted.to_owned(),
    }
}
