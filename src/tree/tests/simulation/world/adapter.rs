//! The world's adapters: as debugpy's, but slow, forgetful or dead by chance. Messages of one
//! connection keep their order.

use super::{Happening, State, World};
use crate::dap::message::{Event, Message, Request, Response};
use crate::tree::{ConnectionId, Input, Run};
use daptree_model::{EndStatus, ProcessKey};
use serde_json::{Value, json};

/// An adapter of a run.
#[derive(Debug)]
pub struct Adapter {
    run: Run,
    alive: bool,
}

impl Adapter {
    pub fn new(run: Run) -> Self {
        Self { run, alive: true }
    }
}

/// A connection, as its adapter sees it.
#[derive(Debug)]
pub struct Conn {
    port: u16,
    open: bool,
    /// The root's connection waits for its process.
    listens: bool,
    /// The process that it took.
    target: Option<ProcessKey>,
    attach: Option<Request>,
    /// When the last message to the core, and to the adapter, arrives.
    to_core: u64,
    to_adapter: u64,
}

impl World {
    // --- what the core does with connections

    pub fn connect(&mut self, connection: ConnectionId, port: u16) -> Result<(), String> {
        if self.connections.contains_key(&connection) {
            return Err(format!("{connection} is opened twice"));
        }
        let alive = self.adapters.get(&port).is_some_and(|a| a.alive);
        let broken = self.random.permille(self.faults.broken);
        let conn = Conn {
            port,
            open: alive && !broken,
            listens: false,
            target: None,
            attach: None,
            to_core: self.now,
            to_adapter: self.now,
        };
        let open = conn.open;
        self.connections.insert(connection, conn);
        if open {
            self.tell(connection, Input::Opened(connection));
        } else {
            let why = Some("connection refused".to_owned());
            self.tell(connection, Input::Closed(connection, why));
        }
        Ok(())
    }

    pub fn closed_by_core(&mut self, connection: ConnectionId) -> Result<(), String> {
        if !self.silent.insert(connection) {
            return Err(format!("{connection} is closed twice"));
        }
        self.asked.retain(|(on, _), _| *on != connection);
        self.drop_connection(connection);
        Ok(())
    }

    pub fn requested(&mut self, connection: ConnectionId, request: Request) -> Result<(), String> {
        if self.silent.contains(&connection) {
            return Err(format!("{connection} is closed and is sent {request:?}"));
        }
        let wait = self.delay();
        let Some(conn) = self.connections.get_mut(&connection) else {
            return Err(format!("{connection} was never opened"));
        };
        conn.to_adapter = conn.to_adapter.max(self.now + wait);
        let at = conn.to_adapter;
        self.at(at, Happening::Request(connection, request));
        Ok(())
    }

    /// The core answers a report.
    pub fn answered(
        &mut self,
        connection: ConnectionId,
        response: &Response,
    ) -> Result<(), String> {
        let Some(pid) = self.asked.remove(&(connection, response.request_seq)) else {
            return Err(format!("{connection}: an answer to nothing: {response:?}"));
        };
        if !response.success {
            let held = self.processes.get(&pid).and_then(|p| p.session).is_some();
            if !held && self.serves(connection, pid) {
                self.runs_on(pid);
            }
        }
        Ok(())
    }

    // --- what the core hears

    /// Keeps the world's books of what the core hears.
    pub fn heard(&mut self, input: &Input) {
        match input {
            Input::Closed(connection, _) => {
                self.silent.insert(*connection);
                self.asked.retain(|(on, _), _| on != connection);
            }
            Input::Dap(connection, message) => {
                let known = !self.silent.contains(connection);
                let pid = match message {
                    Message::Request(request) => reported(request.arguments.as_ref(), true),
                    Message::Event(event) if event.event == "debugpyAttach" => {
                        reported(event.body.as_ref(), false)
                    }
                    _ => None,
                };
                let Some(pid) = pid else {
                    return;
                };
                let serves = self.serves(*connection, pid);
                if !known && serves {
                    // The spawner's session is over: the adapter lets the child run.
                    self.runs_on(pid);
                } else if let (true, Message::Request(request)) = (known, message) {
                    self.asked.insert((*connection, request.seq), pid);
                }
                let now = self.now;
                if let Some(process) = self.processes.get_mut(&pid).filter(|_| known && serves) {
                    process.told_at = Some(now);
                    self.told.insert(pid);
                }
            }
            _ => {}
        }
    }

    /// Whether a pid is that of a process which the adapter of a connection knows: it may belong
    /// to one of another tree by now.
    fn serves(&self, connection: ConnectionId, pid: u32) -> bool {
        let adapter = self.connections.get(&connection).map(|conn| conn.port);
        let adapter = adapter.and_then(|port| self.adapters.get(&port));
        let process = self.processes.get(&pid);
        adapter.map(|adapter| adapter.run) == process.map(|process| process.run)
    }

    /// Every report was answered with the input that brought it.
    pub fn check_answered(&self) -> Result<(), String> {
        match self.asked.first_key_value() {
            Some(((connection, seq), pid)) => Err(format!(
                "the report {seq} of pid {pid} on {connection} was not answered at once"
            )),
            None => Ok(()),
        }
    }

    // --- adapters

    fn tell(&mut self, connection: ConnectionId, input: Input) {
        let wait = self.delay();
        let Some(conn) = self.connections.get_mut(&connection) else {
            return;
        };
        conn.to_core = conn.to_core.max(self.now + wait);
        let at = conn.to_core;
        if let Input::Dap(_, message) = &input
            && self.random.permille(self.faults.twice)
        {
            self.seq += 1;
            let again = message.clone().with_seq(self.seq);
            let again = Input::Dap(connection, again);
            self.at(at, Happening::Input(input));
            self.at(at, Happening::Input(again));
        } else {
            self.at(at, Happening::Input(input));
        }
    }

    fn is_open(&self, connection: ConnectionId) -> bool {
        self.connections
            .get(&connection)
            .is_some_and(|conn| conn.open && self.adapters.get(&conn.port).is_some_and(|a| a.alive))
    }

    pub(super) fn say_later(&mut self, connection: ConnectionId, event: &str, body: Value) {
        if self.is_open(connection) {
            self.seq += 1;
            let message = Message::Event(Event::new(self.seq, event, Some(body)));
            self.tell(connection, Input::Dap(connection, message));
        }
    }

    fn respond(&mut self, connection: ConnectionId, request: &Request, body: Result<Value, &str>) {
        if !self.is_open(connection) {
            return;
        }
        self.seq += 1;
        let mut response = match body {
            Ok(body) => Response::ok(self.seq, request, Some(body)),
            Err(words) => Response::err(self.seq, request, words),
        };
        if self.random.permille(self.faults.wrong) {
            match self.random.between(0, 4) {
                0 => response.body = None,
                1 => response.body = Some(json!({ "breakpoints": 7, "threads": "none" })),
                2 => response.body = Some(json!([[], 1])),
                3 => response.request_seq -= 1,
                _ => response.request_seq += 1,
            }
        }
        self.tell(
            connection,
            Input::Dap(connection, Message::Response(response)),
        );
    }

    /// The adapter's end of a connection breaks; the core hears of it.
    pub(super) fn break_connection(&mut self, connection: ConnectionId) {
        if self.is_open(connection) {
            self.drop_connection(connection);
            self.tell(connection, Input::Closed(connection, None));
        }
    }

    /// A connection is over: what it held runs on undebugged.
    fn drop_connection(&mut self, connection: ConnectionId) {
        let Some(conn) = self.connections.get_mut(&connection) else {
            return;
        };
        conn.open = false;
        let Some(key) = conn.target.take() else {
            return;
        };
        let Some(process) = self.process_of(key) else {
            return;
        };
        let held = process.session == Some(connection);
        if held {
            process.session = None;
        }
        let stands = matches!(process.state, State::Parked | State::Stopped);
        // After an exec the old connection holds nothing of the new program.
        if held && !std::mem::take(&mut process.replaced) && stands {
            self.runs_on(key.pid);
        }
    }

    fn runs_on(&mut self, pid: u32) {
        let Some(process) = self.processes.get_mut(&pid) else {
            return;
        };
        let key = process.seen.process;
        process.told_at = None;
        self.told.remove(&pid);
        if process.state != State::Running {
            let begins = process.state == State::Parked;
            process.state = State::Running;
            if begins && process.to_pause && process.session.is_some() {
                process.to_pause = false;
                self.stops(key, "pause");
                return;
            }
            process.to_pause = false;
            self.act_later(key);
        }
    }

    pub(super) fn adapter_dies(&mut self, run: Run) {
        for adapter in self.adapters.values_mut() {
            if adapter.run == run {
                adapter.alive = false;
            }
        }
        let dead: Vec<ConnectionId> = self
            .connections
            .iter()
            .filter(|(_, conn)| conn.open && !self.adapters[&conn.port].alive)
            .map(|(id, _)| *id)
            .collect();
        for connection in dead {
            self.drop_connection(connection);
            self.tell(connection, Input::Closed(connection, None));
        }
    }

    /// A process under the debugger is up: the root joins, a child is reported and parked.
    pub(super) fn joins(&mut self, key: ProcessKey) {
        let Some(process) = self.process_of(key).filter(|p| p.state == State::Starting) else {
            return;
        };
        process.state = State::Parked;
        let (run, parent, own) = (process.run, process.seen.parent, process.session);
        let listening = self
            .connections
            .iter()
            .find(|(id, conn)| {
                conn.listens && self.is_open(**id) && self.adapters[&conn.port].run == run
            })
            .map(|(id, _)| *id);
        if parent == 1 && process_is_root(&self.processes[&key.pid].seen.command) {
            match listening {
                Some(connection) => self.take(connection, key),
                None => self.ends(key, EndStatus::Exited(1)),
            }
            return;
        }
        let mut reporter = None;
        let mut at = parent;
        while let Some(above) = self.processes.get(&at) {
            reporter = above.session.filter(|id| self.is_open(*id));
            if reporter.is_some() {
                break;
            }
            at = above.seen.parent;
        }
        let Some(reporter) = reporter.or(own).filter(|id| self.is_open(*id)) else {
            self.runs_on(key.pid);
            return;
        };
        let port = self.connections[&reporter].port;
        let configuration = json!({
            "subProcessId": key.pid, "connect": { "host": "127.0.0.1", "port": port },
        });
        if self.random.permille(100) {
            self.say_later(reporter, "debugpyAttach", configuration);
        } else {
            self.seq += 1;
            let arguments = Some(json!({ "configuration": configuration }));
            let request = Request::new(self.seq, "startDebugging", arguments);
            self.tell(reporter, Input::Dap(reporter, request.into()));
        }
    }

    /// A connection takes a process and asks to be configured.
    fn take(&mut self, connection: ConnectionId, key: ProcessKey) {
        if let Some(conn) = self.connections.get_mut(&connection) {
            conn.listens = false;
            conn.target = Some(key);
        }
        if let Some(process) = self.process_of(key) {
            process.session = Some(connection);
        }
        self.say_later(connection, "initialized", json!({}));
    }

    pub(super) fn stops(&mut self, key: ProcessKey, reason: &str) {
        let running = self.process_of(key).filter(|p| p.state == State::Running);
        let Some(session) = running.and_then(|p| p.session) else {
            return;
        };
        self.stops += 1;
        let stop = self.stops;
        if let Some(process) = self.process_of(key) {
            process.state = State::Stopped;
            process.stop = stop;
        }
        let reason = if self.random.permille(100) {
            "exception"
        } else {
            reason
        };
        let mut body = json!({ "reason": reason, "text": mark(stop) });
        if !self.random.permille(30) {
            body["threadId"] = json!(1);
        }
        self.say_later(session, "stopped", body);
    }

    /// What an adapter does with a request.
    pub(super) fn adapter_hears(&mut self, connection: ConnectionId, request: &Request) {
        if !self.is_open(connection) {
            return;
        }
        if self.random.permille(self.faults.broken) {
            self.break_connection(connection);
            return;
        }
        if self.random.permille(self.faults.lost) {
            return;
        }
        if self.random.permille(self.faults.refused) {
            self.respond(connection, request, Err("not today"));
            return;
        }
        let values = [
            "stackTrace",
            "scopes",
            "variables",
            "evaluate",
            "exceptionInfo",
        ];
        if values.contains(&request.command.as_str()) && self.random.permille(self.faults.tardy) {
            let at = self.now + self.random.between(1, 3_000);
            self.at(at, Happening::Request(connection, request.clone()));
            return;
        }
        let target = self.connections[&connection].target;
        let arguments = request.arguments.clone().unwrap_or_default();
        match request.command.as_str() {
            "attach" => {
                self.attach(connection, request, &arguments);
                return;
            }
            "configurationDone" => {
                self.respond(connection, request, Ok(json!({})));
                let attach = self
                    .connections
                    .get_mut(&connection)
                    .and_then(|c| c.attach.take());
                if let Some(attach) = attach {
                    let parked = target
                        .and_then(|key| self.process_of(key))
                        .filter(|process| process.state == State::Parked)
                        .map(|process| process.seen.process.pid);
                    if let Some(pid) = parked {
                        self.runs_on(pid);
                    }
                    self.respond(connection, &attach, Ok(json!({})));
                }
                return;
            }
            "disconnect" => {
                self.respond(connection, request, Ok(json!({})));
                let terminates = arguments["terminateDebuggee"] == json!(true);
                if let Some(key) = target.filter(|_| terminates) {
                    self.soon(Happening::Ends(key, EndStatus::Exited(0)));
                }
                self.say_later(connection, "terminated", json!({}));
                self.break_connection(connection);
                return;
            }
            "continue" | "next" | "stepIn" | "stepOut" => {
                self.respond(connection, request, Ok(json!({})));
                let stopped = target.and_then(|key| {
                    let process = self.process_of(key)?;
                    (process.state == State::Stopped).then_some(key)
                });
                if let Some(key) = stopped {
                    self.runs_on(key.pid);
                    if self.random.permille(500) {
                        self.say_later(connection, "continued", json!({ "threadId": 1 }));
                    }
                    if request.command != "continue" {
                        self.stops(key, "step");
                    }
                }
                return;
            }
            "pause" => {
                self.respond(connection, request, Ok(json!({})));
                // At once, or when it comes back from a call or is let go.
                let at_once = self.random.permille(700);
                if let Some(process) = target.and_then(|key| self.process_of(key)) {
                    let key = process.seen.process;
                    if at_once && process.state == State::Running {
                        self.stops(key, "pause");
                    } else {
                        process.to_pause = true;
                    }
                }
                return;
            }
            _ => {}
        }
        // A debugger that answers while its program runs tells of the stop before.
        let stop = match target.map(|key| self.process_of(key)) {
            Some(Some(process)) => process.stop,
            Some(None) => {
                self.respond(connection, request, Err("the process is gone"));
                return;
            }
            None => 0,
        };
        let body = self.values(request, &arguments, &mark(stop));
        self.respond(connection, request, Ok(body));
        if self.random.permille(self.faults.lost) {
            // Twice is once too often.
            self.respond(connection, request, Ok(json!({})));
            self.say_later(connection, "invalidated", json!({}));
        }
    }

    /// What an adapter answers to who asks for values. They carry the mark of their stop.
    fn values(&mut self, request: &Request, arguments: &Value, mark: &str) -> Value {
        match request.command.as_str() {
            "stackTrace" => json!({ "totalFrames": 1, "stackFrames": [{
                "id": 7, "name": mark, "line": 3, "source": { "path": "/p/main.py" },
            }] }),
            "threads" => json!({ "threads": [{ "id": 1, "name": "MainThread" }] }),
            "scopes" => json!({ "scopes": [{ "name": "Locals", "variablesReference": 10 }] }),
            "variables" => json!({ "variables": [
                { "name": "n", "value": mark, "variablesReference": self.random.between(0, 12) },
            ] }),
            "evaluate" if arguments["expression"] == json!("n") => json!({ "result": mark }),
            "evaluate" => json!({ "result": "'Process-1'" }),
            "setVariable" => json!({ "value": mark }),
            "setBreakpoints" => {
                let verified = self.random.permille(800);
                json!({ "breakpoints": [{ "id": 1, "verified": verified, "line": 3 }] })
            }
            "exceptionInfo" => {
                let id = self.random.pick(&["E", "SystemExit"]).unwrap();
                json!({ "exceptionId": id, "description": mark, "breakMode": "always" })
            }
            // An answer that does not fit.
            _ => json!({ "breakpoints": 7 }),
        }
    }

    fn attach(&mut self, connection: ConnectionId, request: &Request, arguments: &Value) {
        let Some(conn) = self.connections.get_mut(&connection) else {
            return;
        };
        conn.attach = Some(request.clone());
        if arguments.get("listen").is_some() {
            conn.listens = true;
            let body = json!({ "host": "127.0.0.1", "port": 6_000 });
            self.say_later(connection, "debugpyWaitingForServer", body);
            return;
        }
        let pid = arguments["subProcessId"].as_u64().unwrap_or(0) as u32;
        let serves = self.serves(connection, pid);
        let known = self
            .processes
            .get(&pid)
            .filter(|_| serves)
            .map(|p| (p.seen.process, p.session.filter(|id| self.is_open(*id))));
        let refusal = match known {
            None => "no known debuggee",
            Some((_, Some(_))) => "Server is already being debugged.",
            Some((key, None)) => {
                self.take(connection, key);
                return;
            }
        };
        self.respond(connection, request, Err(refusal));
    }
}

/// What all values of a stop are marked with.
fn mark(stop: u64) -> String {
    format!("stop-{stop}")
}

/// The pid that a report names.
fn reported(arguments: Option<&Value>, nested: bool) -> Option<u32> {
    let mut value = arguments?;
    if nested {
        value = value.get("configuration")?;
    }
    Some(value.get("subProcessId")?.as_u64()? as u32)
}

fn process_is_root(command: &[String]) -> bool {
    command.last().is_some_and(|word| word == "main.py")
}
