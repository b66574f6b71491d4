//! What adapters say on a session's connection: events, reports and answers, each handed to what it
//! concerns. It must not know how a stop, a child or an end is dealt with.

use super::requests::{Asked, Pending};
use super::{ConnectionId, Effect, Phase, Tree};
use crate::dap::message::{Event as DapEvent, Message, Response};
use crate::dap::types::{Capabilities, OutputEvent, StoppedEvent};
use daptree_model::{EngineError, Event, ExceptionFilter, RowId, Stream};

impl Tree {
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
            "continued" if current => self.ran_on(row),
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
        if self.said_while_attaching(row, &body.output) {
            return;
        }
        if !body.output.is_empty() {
            self.touch(row);
            self.effect(Effect::Said(row, stream, body.output.clone()));
            self.event(Event::Console {
                row,
                stream,
                text: body.output.clone(),
            });
        }
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
            Asked::Breakpoints { .. }
            | Asked::Name
            | Asked::Look { .. }
            | Asked::Pass(_)
            | Asked::Arrival { .. }
            | Asked::Expected { .. }
            | Asked::Raised { .. }
                if of_another => {}
            ref what if of_another && what.is_fetch() => {}
            // Its stops have the numbers of the new one's.
            what @ (Asked::Read { .. } | Asked::SetVariable { .. }) if of_another => {
                let gone = Err(EngineError::Gone(row));
                self.fetched(row, what, pending.asker, gone);
            }
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
                self.breakpoints_answered(row, path.as_deref(), &ids, result);
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
            Asked::Whereabouts => self.whereabouts_answered(connection, row, &result),
            Asked::ConfigurationDone | Asked::Disconnect | Asked::Nothing => {}
            Asked::Pass(pass) => {
                let refused = matches!(result, Err(EngineError::Refused { .. }));
                self.exit_passed(row, pass, refused);
            }
            Asked::Resume { stop } => self.resume_answered(row, stop, pending.asker, result),
            Asked::Name => {
                let value = result.ok().and_then(value_of);
                self.name_answered(row, value);
            }
            Asked::Look { files } => {
                let value = result.ok().and_then(value_of);
                self.looked(row, &files, value);
            }
            Asked::Arrival { stop, thread } => self.arrived(row, stop, thread, result.ok()),
            Asked::Expected { stop } => {
                let value = result.ok().and_then(value_of);
                self.expected_answered(row, stop, value);
            }
            Asked::Raised { stop } => self.raised(row, stop, result.ok()),
            what => self.fetched(row, what, pending.asker, result),
        }
    }

    fn capable(&mut self, connection: ConnectionId, row: RowId, response: &Response) {
        let body = response.body_as::<Capabilities>().unwrap_or_default();
        let functions = body.supports_function_breakpoints.unwrap_or(false);
        let filters: Vec<ExceptionFilter> = body
            .exception_breakpoint_filters
            .unwrap_or_default()
            .into_iter()
            .map(|filter| ExceptionFilter {
                filter: filter.filter,
                label: filter.label,
                description: filter.description,
                default: filter.default.unwrap_or(false),
            })
            .collect();
        if let Some(data) = self.connections.get_mut(&connection) {
            data.filters.clone_from(&filters);
            data.functions = Some(functions);
        }
        let known: Vec<&str> = filters
            .iter()
            .map(|filter| filter.filter.as_str())
            .collect();
        if self
            .view(row)
            .is_some_and(|view| view.id == view.root && view.execs == 0)
        {
            for filter in self.exception_filters.clone().unwrap_or_default() {
                if !known.contains(&filter.as_str()) {
                    let message = if known.is_empty() {
                        format!("the adapter has no exception filters: `{filter}` does nothing")
                    } else {
                        format!(
                            "the adapter knows no exception filter `{filter}`: it has {}",
                            known.join(", ")
                        )
                    };
                    self.notice("exceptions", message, Some(row), true);
                }
            }
        }
        self.change_row(row, |view| view.exception_filters = filters);
    }
}

/// The value that an evaluation gave.
fn value_of(response: &Response) -> Option<&str> {
    response.body.as_ref()?.get("result")?.as_str()
}

fn reason(error: &EngineError) -> String {
    match error {
        EngineError::Refused { message, .. } => message.clone(),
        other => other.to_string(),
    }
}
