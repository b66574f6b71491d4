//! Reads of front ends, and how DAP's bodies become the model's types. An answer of another stop
//! is never given.

use super::requests::{ANSWER, Asked, Wanted};
use super::{Asker, Tree};
use crate::adapter::Policy;
use crate::dap::message::Response;
use crate::dap::types::{
    EvaluateResponse, ExceptionInfoResponse, Scope as DapScope, SourceResponse, StackTraceResponse,
    ThreadsResponse, VariablesResponse,
};
use daptree_model::{
    Answer, EngineError, Evaluation, Exception, Frame, Page, PathMap, ReadOp, RowId, Scope, Stack,
    StopNumber, Thread, Variable,
};
use serde_json::json;

impl Tree {
    /// Takes a read; its reply follows when the adapter has answered.
    pub(super) fn read(&mut self, asker: Asker, what: ReadOp) {
        if let Some(kept) = self.kept(&what) {
            self.reply(asker, Ok(kept));
            return;
        }
        // What is typed at a prompt is a statement as often as an expression.
        let changes = matches!(&what, ReadOp::Evaluate { context, .. } if context == "repl");
        let (row, stop, command, arguments, wanted) = match what {
            ReadOp::Threads(row) => (row, None, "threads", json!({}), Wanted::Threads),
            ReadOp::Stack {
                row,
                stop,
                thread,
                start,
                levels,
            } => {
                let thread = thread.or_else(|| self.stopped_thread(row));
                let arguments =
                    json!({ "threadId": thread, "startFrame": start, "levels": levels });
                (row, Some(stop), "stackTrace", arguments, Wanted::Stack)
            }
            ReadOp::Variables {
                row,
                stop,
                reference,
                start,
                count,
            } => {
                let arguments =
                    json!({ "variablesReference": reference, "start": start, "count": count });
                (
                    row,
                    Some(stop),
                    "variables",
                    arguments,
                    Wanted::Variables { count },
                )
            }
            ReadOp::Evaluate {
                row,
                stop,
                frame,
                expression,
                context,
            } => {
                let frame = frame.or_else(|| stop.and_then(|_| self.top_frame(row)));
                let mut arguments = json!({ "expression": expression, "context": context });
                if let (Some(frame), Some(fields)) = (frame, arguments.as_object_mut()) {
                    fields.insert("frameId".to_owned(), json!(frame));
                }
                (row, stop, "evaluate", arguments, Wanted::Evaluation)
            }
            ReadOp::ExceptionInfo { row, stop } => {
                let arguments = json!({ "threadId": self.stopped_thread(row) });
                (
                    row,
                    Some(stop),
                    "exceptionInfo",
                    arguments,
                    Wanted::Exception,
                )
            }
            ReadOp::Source { row, reference } => {
                let arguments = json!({
                    "sourceReference": reference, "source": { "sourceReference": reference },
                });
                let name = format!("source {reference} of {row}");
                (row, None, "source", arguments, Wanted::Source { name })
            }
            ReadOp::File(_) | ReadOp::Output { .. } | ReadOp::Processes => {
                let what = "files, output and processes are read by the engine's shell".to_owned();
                self.reply(asker, Err(EngineError::Failed(what)));
                return;
            }
        };
        self.touch(row);
        if let Err(error) = self.check_session(row).and_then(|()| match stop {
            Some(stop) => self.check_stop(row, stop),
            None => Ok(()),
        }) {
            self.reply(asker, Err(error));
            return;
        }
        let purpose = Asked::Read {
            wanted,
            stop,
            changes,
        };
        if !self.ask_row(row, command, arguments, purpose, Some(asker)) {
            self.reply(asker, Err(EngineError::Gone(row)));
        }
    }

    /// What was fetched of the last stop of a session that ended at it.
    fn kept(&self, what: &ReadOp) -> Option<Answer> {
        let of = |row: RowId| {
            let data = self.rows.get(&row)?;
            let stop = data.view.ended_at?;
            let kept = data.shown.as_deref()?;
            (kept.stop == stop).then_some(kept)
        };
        match *what {
            ReadOp::Threads(row) => Some(Answer::Threads(of(row)?.threads.clone())),
            ReadOp::Stack {
                row,
                stop,
                thread,
                start: 0,
                ..
            } => {
                let kept = of(row).filter(|kept| kept.stop == stop)?;
                let stack = match thread {
                    Some(thread) => kept.stacks.get(&thread),
                    None => kept.stacks.values().next(),
                };
                Some(Answer::Stack(stack?.clone()))
            }
            ReadOp::Variables {
                row,
                stop,
                reference,
                start: 0,
                ..
            } => {
                let kept = of(row).filter(|kept| kept.stop == stop)?;
                Some(Answer::Variables(kept.pages.get(&reference)?.clone()))
            }
            _ => None,
        }
    }

    fn stopped_thread(&self, row: RowId) -> Option<i64> {
        self.view(row)?.stopped.as_ref()?.thread
    }

    fn top_frame(&self, row: RowId) -> Option<i64> {
        let thread = self.stopped_thread(row)?;
        let stack = self.rows.get(&row)?.inspect.stacks.get(&thread)?;
        stack.frames.first().map(|frame| frame.id)
    }

    /// The row is a session with a connection.
    pub(super) fn check_session(&self, row: RowId) -> Result<(), EngineError> {
        let data = self
            .rows
            .get(&row)
            .ok_or(EngineError::UnknownSession(row))?;
        let view = &data.view;
        if view.is_ended() {
            return Err(EngineError::Gone(row));
        }
        if !view.is_session() {
            let why = view
                .reason
                .clone()
                .unwrap_or_else(|| "not followed".to_owned());
            return Err(EngineError::NotASession(row, why));
        }
        if data.connection.is_none() {
            return Err(EngineError::Gone(row));
        }
        Ok(())
    }

    /// The session stands at this stop.
    pub(super) fn check_stop(&self, row: RowId, stop: StopNumber) -> Result<(), EngineError> {
        let view = self.view(row).ok_or(EngineError::UnknownSession(row))?;
        if view.stop == stop && view.is_paused() {
            Ok(())
        } else {
            Err(EngineError::StaleStop {
                row,
                expected: stop,
                now: view.stop,
            })
        }
    }

    pub(super) fn read_answered(
        &mut self,
        row: RowId,
        wanted: &Wanted,
        asker: Option<Asker>,
        result: Result<&Response, EngineError>,
    ) {
        let Some(asker) = asker else {
            return;
        };
        let policy = self
            .view(row)
            .map(|view| view.root)
            .and_then(|root| self.policy_of(root));
        let policy = policy.as_deref();
        let answer = match wanted {
            Wanted::Evaluation => Ok(Answer::Evaluation(match result {
                // The adapter's own word is a value of sorts; that there is none is not.
                Ok(_) | Err(EngineError::Refused { .. }) => evaluation_of(result),
                Err(error) => {
                    self.reply(asker, Err(error));
                    return;
                }
            })),
            _ => result.and_then(|response| {
                answer_of(response, wanted, policy, &self.maps)
                    .ok_or_else(|| unreadable(row, &response.command))
            }),
        };
        self.reply(asker, answer);
    }

    /// Changes a variable (DAP: `setVariable`).
    pub(super) fn set_variable(
        &mut self,
        asker: Asker,
        row: RowId,
        container: i64,
        name: &str,
        value: &str,
    ) {
        let stop = self.view(row).map(|view| view.stop).unwrap_or_default();
        let checked = self
            .check_session(row)
            .and_then(|()| self.check_stop(row, stop));
        if let Err(error) = checked {
            self.reply(asker, Err(error));
            return;
        }
        let arguments = json!({ "variablesReference": container, "name": name, "value": value });
        let connection = self.rows.get(&row).and_then(|data| data.connection);
        if let Some(connection) = connection {
            let what = Asked::SetVariable { stop };
            self.ask(
                connection,
                "setVariable",
                arguments,
                what,
                ANSWER,
                Some(asker),
            );
        }
    }

    pub(super) fn variable_set(
        &mut self,
        row: RowId,
        stop: StopNumber,
        asker: Asker,
        result: Result<&Response, EngineError>,
    ) {
        let answer = result.map(|response| Answer::Evaluation(evaluation_of(Ok(response))));
        if self.check_stop(row, stop).is_ok() {
            self.drop_inspect(row);
        }
        self.reply(asker, answer);
    }
}

fn unreadable(row: RowId, command: &str) -> EngineError {
    EngineError::Refused {
        row,
        command: command.to_owned(),
        message: "the adapter's answer does not fit the protocol".to_owned(),
    }
}

fn answer_of(
    response: &Response,
    wanted: &Wanted,
    policy: Option<&dyn Policy>,
    maps: &[PathMap],
) -> Option<Answer> {
    match wanted {
        Wanted::Threads => {
            let body = response.body_as::<ThreadsResponse>().ok()?;
            let threads = body.threads.into_iter();
            Some(Answer::Threads(
                threads
                    .map(|t| Thread {
                        id: t.id,
                        name: t.name,
                    })
                    .collect(),
            ))
        }
        Wanted::Stack => {
            let body = response.body_as::<StackTraceResponse>().ok()?;
            Some(Answer::Stack(stack_of(body, policy, maps)))
        }
        Wanted::Variables { count } => Some(Answer::Variables(page_of(response, *count))),
        Wanted::Evaluation => Some(Answer::Evaluation(evaluation_of(Ok(response)))),
        Wanted::Exception => exception_of(response, policy).map(Answer::Exception),
        Wanted::Source { name } => {
            let body = response.body_as::<SourceResponse>().ok()?;
            Some(Answer::Source {
                path: name.clone(),
                text: body.content.into(),
            })
        }
    }
}

/// Frames as the model has them.
pub(super) fn stack_of(
    body: StackTraceResponse,
    policy: Option<&dyn Policy>,
    maps: &[PathMap],
) -> Stack {
    let frames = body
        .stack_frames
        .into_iter()
        .map(|frame| {
            let source = frame.source.unwrap_or_default();
            let name = policy.map_or(frame.name.as_str(), |p| p.function_name(&frame.name));
            let subtle = frame.presentation_hint.as_deref() == Some("subtle")
                || source.presentation_hint.as_deref() == Some("deemphasize");
            let reference = source.source_reference.unwrap_or(0);
            Frame {
                id: frame.id,
                name: name.to_owned(),
                source: source
                    .name
                    .clone()
                    .or_else(|| source.path.clone())
                    .unwrap_or_else(|| "?".to_owned()),
                path: source
                    .path
                    .filter(|_| reference == 0)
                    .map(|path| super::breakpoints::shown_path(maps, path)),
                source_reference: reference,
                line: u32::try_from(frame.line).unwrap_or(0),
                subtle,
            }
        })
        .collect();
    let total = body
        .total_frames
        .and_then(|total| u32::try_from(total).ok());
    Stack { frames, total }
}

/// A scope as the model has it.
pub(super) fn scope_of(scope: DapScope) -> Scope {
    Scope {
        name: scope.name,
        reference: scope.variables_reference,
        expensive: scope.expensive,
    }
}

/// A page of children as the model has it.
pub(super) fn page_of(response: &Response, limit: u32) -> Page {
    match response.body_as::<VariablesResponse>() {
        Err(error) => Page {
            error: Some(error.to_string()),
            ..Page::default()
        },
        Ok(body) => {
            let more = limit > 0 && body.variables.len() >= limit as usize;
            let variables = body
                .variables
                .into_iter()
                .map(|variable| Variable {
                    name: variable.name,
                    value: variable.value,
                    type_name: variable.type_name,
                    reference: variable.variables_reference,
                    children: variable
                        .indexed_variables
                        .or(variable.named_variables)
                        .and_then(|count| u32::try_from(count).ok()),
                    evaluate_name: variable.evaluate_name,
                })
                .collect();
            Page {
                variables,
                more,
                error: None,
            }
        }
    }
}

/// The value of an expression, or why it has none.
pub(super) fn evaluation_of(result: Result<&Response, EngineError>) -> Evaluation {
    let failed = |message: String| Evaluation {
        value: Err(message),
        type_name: None,
        reference: 0,
    };
    match result {
        Err(EngineError::Refused { message, .. }) => failed(message),
        Err(error) => failed(error.to_string()),
        Ok(response) => {
            // `setVariable` answers with `value`, `evaluate` with `result`.
            let set = response
                .body
                .as_ref()
                .and_then(|body| body.get("value")?.as_str());
            match response.body_as::<EvaluateResponse>() {
                Err(error) => failed(error.to_string()),
                Ok(body) => Evaluation {
                    value: Ok(set.map_or(body.result, str::to_owned)),
                    type_name: body.type_name,
                    reference: body.variables_reference,
                },
            }
        }
    }
}

/// What was raised, as the model has it.
pub(super) fn exception_of(response: &Response, policy: Option<&dyn Policy>) -> Option<Exception> {
    let body = response.body_as::<ExceptionInfoResponse>().ok()?;
    let type_name = policy.map_or_else(
        || body.exception_id.clone(),
        |p| p.exception_type(&body.exception_id),
    );
    Some(Exception {
        type_name,
        message: body.description.unwrap_or_default(),
        mode: body.break_mode,
        chain: policy
            .zip(body.details.and_then(|details| details.stack_trace))
            .map(|(policy, trace)| policy.exception_chain(&trace))
            .unwrap_or_default(),
    })
}
