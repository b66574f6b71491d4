//! The scripted adapter: what it says by itself, and what it does with a request, as debugpy would.
//! It must not judge what it is asked.

use super::Bench;
use crate::dap::message::{Event as DapEvent, Message, Request, Response};
use crate::tree::{ConnectionId, Input};
use daptree_model::{EndStatus, RowId};
use serde_json::{Value, json};
use std::fmt::Write as _;

impl Bench {
    /// An event on a connection.
    pub fn say(&mut self, connection: ConnectionId, event: &str, body: Value) {
        self.seq += 1;
        let event = DapEvent::new(self.seq, event, Some(body));
        self.feed(Input::Dap(connection, Message::Event(event)));
    }

    /// A session stops, by the adapter's word.
    pub fn stop(&mut self, row: RowId, reason: &str, path: &str, line: u32) {
        let connection = self.connection(row);
        self.places.insert(connection, (path.to_owned(), line));
        self.say(
            connection,
            "stopped",
            json!({ "reason": reason, "threadId": 1 }),
        );
    }

    /// A session ends, by the adapter's word.
    pub fn terminated(&mut self, row: RowId) {
        let connection = self.connection(row);
        self.say(connection, "terminated", json!({}));
    }

    /// Answers the oldest request of this command that was held back.
    pub fn answer(&mut self, command: &str, result: Result<Value, &str>) {
        let at = self
            .sent
            .iter()
            .position(|(connection, request)| {
                let key = (*connection, request.seq);
                request.command == command && self.tree.pending.contains_key(&key)
            })
            .unwrap_or_else(|| panic!("`{command}` is not open"));
        let (connection, request) = self.sent[at].clone();
        self.respond(connection, &request, result);
        self.run_queue();
    }

    /// Answers the attach of a connection that was held back.
    pub fn answer_attach(&mut self, connection: ConnectionId) {
        if let Some(attach) = self.attaching.remove(&connection) {
            self.respond(connection, &attach, Ok(json!({})));
            self.run_queue();
        }
    }

    /// The connection breaks.
    pub fn breaks(&mut self, connection: ConnectionId) {
        self.closed.insert(connection);
        self.feed(Input::Closed(connection, None));
    }

    pub(super) fn respond(
        &mut self,
        connection: ConnectionId,
        request: &Request,
        result: Result<Value, &str>,
    ) {
        self.seq += 1;
        let response = match result {
            Ok(body) => Response::ok(self.seq, request, Some(body)),
            Err(words) => Response::err(self.seq, request, words),
        };
        let message = Message::Response(response);
        self.queue.push_back(Input::Dap(connection, message));
    }

    pub(super) fn event_later(&mut self, connection: ConnectionId, event: &str, body: Value) {
        self.seq += 1;
        let event = DapEvent::new(self.seq, event, Some(body));
        let message = Message::Event(event);
        self.queue.push_back(Input::Dap(connection, message));
    }

    /// What debugpy does with a request.
    pub(super) fn requested(&mut self, connection: ConnectionId, request: &Request) {
        let command = request.command.as_str();
        if self.silent.contains(command) {
            return;
        }
        if let Some(words) = self.refuses.get(command).copied() {
            self.respond(connection, request, Err(words));
            return;
        }
        let arguments = request.arguments.clone().unwrap_or_default();
        let body = match command {
            "attach" => {
                self.attaching.insert(connection, request.clone());
                if arguments.get("listen").is_some() {
                    self.waiting_root = Some(connection);
                    let body = json!({ "host": "127.0.0.1", "port": 5679 });
                    self.event_later(connection, "debugpyWaitingForServer", body);
                } else if arguments["subProcessId"]
                    .as_u64()
                    .is_some_and(|pid| self.unknown.contains(&(pid as u32)))
                {
                    // As debugpy does: the client is not to complain.
                    self.attaching.remove(&connection);
                    self.respond(connection, request, Ok(json!({})));
                    self.event_later(connection, "terminated", json!({}));
                } else {
                    self.event_later(connection, "initialized", json!({}));
                }
                return;
            }
            "initialize" => json!({
                "supportsFunctionBreakpoints": true,
                "exceptionBreakpointFilters": [
                { "filter": "raised", "label": "Raised" },
                { "filter": "uncaught", "label": "Uncaught", "default": true },
                { "filter": "userUnhandled", "label": "User" },
            ] }),
            "setFunctionBreakpoints" => {
                let names = arguments["breakpoints"].as_array().unwrap().iter();
                let set = names
                    .enumerate()
                    .map(|(at, _)| json!({ "id": 900 + at, "verified": true }));
                json!({ "breakpoints": set.collect::<Vec<_>>() })
            }
            "setBreakpoints" => {
                let lines = arguments["breakpoints"].as_array().unwrap().iter();
                let set = lines.map(|bp| {
                    let line = bp["line"].as_i64().unwrap();
                    json!({ "id": line, "verified": true, "line": line })
                });
                json!({ "breakpoints": set.collect::<Vec<_>>() })
            }
            "stackTrace" => self.stack(connection),
            "threads" => json!({ "threads": [{ "id": 1, "name": "MainThread" }] }),
            "scopes" => {
                let scopes = self.scopes.iter().map(|(name, reference, expensive)| {
                    json!({ "name": name, "variablesReference": reference, "expensive": expensive })
                });
                json!({ "scopes": scopes.collect::<Vec<_>>() })
            }
            "variables" => {
                let reference = arguments["variablesReference"].as_i64().unwrap();
                let count = arguments["count"].as_u64().unwrap_or(0) as usize;
                let all = self.variables.get(&reference).cloned().unwrap_or_default();
                let children = all.iter().take(count).map(|(name, reference)| {
                    json!({ "name": name, "value": "14", "variablesReference": reference })
                });
                json!({ "variables": children.collect::<Vec<_>>() })
            }
            "evaluate" if arguments["expression"].to_string().contains("'asked'") => {
                let all: Vec<_> = self
                    .loaded
                    .iter()
                    .map(|(path, (how, other))| json!([path, how, other]))
                    .collect();
                let text = json!(all).to_string();
                let mut hex = String::new();
                for byte in text.bytes() {
                    write!(hex, "{byte:02x}").unwrap();
                }
                json!({ "result": format!("'{hex}'") })
            }
            "evaluate" if request_holds(&arguments, "boot_id") => {
                let place = self.place;
                json!({ "result": format!("'100 {place} - 1.8.22'") })
            }
            "evaluate" => {
                let naming = arguments.get("frameId").is_none();
                let process = self.tree.connections[&connection].row;
                let pid = self.row(process).process.map_or(0, |process| process.pid);
                let name = self.names.get(&pid).filter(|_| naming);
                json!({ "result": name.map_or("''".to_owned(), |name| format!("'{name}'")) })
            }
            "exceptionInfo" => json!({
                "exceptionId": "builtins.ValueError", "description": "no", "breakMode": "always",
            }),
            _ => json!({}),
        };
        self.respond(connection, request, Ok(body));
        match command {
            "configurationDone" => {
                if let Some(attach) = self.attaching.remove(&connection) {
                    self.respond(connection, &attach, Ok(json!({})));
                }
            }
            "disconnect" => {
                let row = self.tree.connections[&connection].row;
                if arguments["terminateDebuggee"] == json!(true) {
                    let process = self.tree.view(row).and_then(|view| view.process);
                    let seen = process.and_then(|process| self.processes.remove(&process.pid));
                    if let Some(seen) = seen {
                        let status = EndStatus::Exited(0);
                        self.queue.push_back(Input::Gone(seen.process, status));
                    }
                }
                self.event_later(connection, "terminated", json!({}));
            }
            _ => {}
        }
    }

    fn stack(&self, connection: ConnectionId) -> Value {
        let (path, line) = self
            .places
            .get(&connection)
            .cloned()
            .unwrap_or_else(|| ("/p/main.py".to_owned(), 1));
        json!({ "totalFrames": 1, "stackFrames": [{
            "id": 7, "name": "f (Current frame)", "line": line, "column": 1,
            "source": { "path": path, "name": "main.py" },
        }] })
    }
}

fn request_holds(arguments: &Value, text: &str) -> bool {
    let expression = arguments["expression"].as_str().unwrap_or_default();
    expression.contains(text)
}
