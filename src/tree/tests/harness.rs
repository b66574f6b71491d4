//! A tree with a scripted adapter that speaks as debugpy does, and a process table of its own.
//! Everything happens at once unless a test holds it back. It must not judge the rules: it only
//! asserts what holds for every test (invariants, one reply a command, no word on a closed
//! connection).

use crate::adapter::debugpy::Debugpy;
use crate::dap::message::{Event as DapEvent, Message, Request, Response};
use crate::tree::{ConnectionId, Effect, Input, Millis, Prepared, Run, Seen, Tree, invariants};
use daptree_model::{
    Answer, BreakpointSpec, ClientId, Command, CommandId, EndStatus, EngineError, Event, Interest,
    LaunchRequest, Op, ProcessKey, Read, ReadOp, Reply, Row, RowId, Stdio, StopNumber, ToEngine,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// The root's pid in every test.
pub const ROOT_PID: u32 = 100;
/// The front end that gives the commands.
pub const CLIENT: ClientId = ClientId(1);

/// What came of a command.
pub type Outcome = Result<Answer, EngineError>;

/// A tree under test.
pub struct Bench {
    pub tree: Tree,
    pub now: u64,
    /// The live processes by pid.
    pub processes: BTreeMap<u32, Seen>,
    /// Requests that the core sent, in order.
    pub sent: Vec<(ConnectionId, Request)>,
    /// Answers of the core to reverse requests: whether it said yes.
    pub acks: Vec<bool>,
    pub replies: BTreeMap<CommandId, Outcome>,
    pub events: Vec<Event>,
    /// Effects that start, end or watch something.
    pub effects: Vec<Effect>,
    /// Commands that the adapter does not answer.
    pub silent: BTreeSet<&'static str>,
    /// Commands that the adapter refuses, with its words.
    pub refuses: BTreeMap<&'static str, &'static str>,
    /// Connections are opened at once.
    pub opens: bool,
    /// The root's process is started at once.
    pub spawns: bool,
    /// Processes end when they are told to, and this is said.
    pub kills: bool,
    /// These do not end, whatever is done.
    pub immortal: BTreeSet<u32>,
    /// What the naming expression gives, by pid.
    pub names: BTreeMap<u32, &'static str>,
    /// Children of references.
    pub variables: BTreeMap<i64, Vec<(&'static str, i64)>>,
    /// How many scopes a frame has.
    pub scopes: Vec<(&'static str, i64, bool)>,
    /// Where each connection's process stands.
    places: BTreeMap<ConnectionId, (String, u32)>,
    attaching: BTreeMap<ConnectionId, Request>,
    closed: BTreeSet<ConnectionId>,
    waiting_root: Option<ConnectionId>,
    queue: VecDeque<Input>,
    wake: Option<Millis>,
    next_command: u64,
    seq: i64,
}

impl Bench {
    /// An engine with one front end and no tree.
    pub fn empty() -> Self {
        let mut bench = Self {
            tree: Tree::new(),
            now: 1_000,
            processes: BTreeMap::new(),
            sent: Vec::new(),
            acks: Vec::new(),
            replies: BTreeMap::new(),
            events: Vec::new(),
            effects: Vec::new(),
            silent: BTreeSet::new(),
            refuses: BTreeMap::new(),
            opens: true,
            spawns: true,
            kills: true,
            immortal: BTreeSet::new(),
            names: BTreeMap::new(),
            variables: BTreeMap::from([(10, vec![("n", 0)])]),
            scopes: vec![("Locals", 10, false)],
            places: BTreeMap::new(),
            attaching: BTreeMap::new(),
            closed: BTreeSet::new(),
            waiting_root: None,
            queue: VecDeque::new(),
            wake: None,
            next_command: 0,
            seq: 1_000,
        };
        bench.feed(Input::ClientOpened(CLIENT));
        bench
    }

    /// A tree whose root `main.py` runs.
    pub fn launched() -> (Self, RowId) {
        Self::launched_with(|_| {})
    }

    /// The same with other settings.
    pub fn launched_with(change: impl FnOnce(&mut LaunchRequest)) -> (Self, RowId) {
        let mut bench = Self::empty();
        let root = bench.launch_with(change);
        assert_eq!(bench.row(root).state, daptree_model::RowState::Running);
        (bench, root)
    }

    /// Launches a program; its adapter comes up at once.
    pub fn launch_with(&mut self, change: impl FnOnce(&mut LaunchRequest)) -> RowId {
        let mut request = request();
        change(&mut request);
        let root = match self.command(Op::Launch(Box::new(request))) {
            Ok(Answer::Launched(root)) => root,
            other => panic!("not launched: {other:?}"),
        };
        self.adapter_up(root);
        root
    }

    /// The adapter of a root's present run is up.
    pub fn adapter_up(&mut self, root: RowId) {
        let run = self.run(root);
        self.feed(Input::AdapterReady(run, prepared()));
    }

    /// The present run of a root.
    pub fn run(&self, root: RowId) -> Run {
        self.tree.run_of(root).unwrap()
    }

    // --- the process table

    /// A process that starts; it says nothing yet.
    pub fn process(&mut self, pid: u32, parent: u32, command: &[&str]) -> ProcessKey {
        let seen = seen(pid, parent, command);
        let process = seen.process;
        self.processes.insert(pid, seen);
        process
    }

    /// A child of a session is reported; `child-PID.py` unless the process is known already.
    pub fn report(&mut self, parent: RowId, pid: u32) -> RowId {
        let connection = self.connection(parent);
        if !self.processes.contains_key(&pid) {
            let above = self.row(parent).process.unwrap().pid;
            let name = format!("child-{pid}.py");
            self.process(pid, above, &["python", &name]);
        }
        self.report_on(connection, pid);
        self.row_of(pid)
            .unwrap_or_else(|| panic!("pid {pid} got no row"))
    }

    /// A report in the form of a request.
    pub fn report_on(&mut self, connection: ConnectionId, pid: u32) {
        self.seq += 1;
        let arguments = json!({ "request": "attach", "configuration": configuration(pid) });
        let request = Request::new(self.seq, "startDebugging", Some(arguments));
        self.feed(Input::Dap(connection, Message::Request(request)));
    }

    /// A report in the form of an event.
    pub fn report_by_event(&mut self, connection: ConnectionId, pid: u32) {
        self.say(connection, "debugpyAttach", configuration(pid));
    }

    /// A process ends by itself.
    pub fn end(&mut self, pid: u32, status: EndStatus) {
        let seen = self.processes.remove(&pid).unwrap();
        self.feed(Input::Gone(seen.process, status));
    }

    // --- the adapter

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

    // --- front ends

    /// Gives a command that is answered at once.
    pub fn command(&mut self, op: Op) -> Outcome {
        let id = self.ask(op, None);
        self.reply(id)
            .unwrap_or_else(|| panic!("{id} was not answered"))
    }

    /// Gives a command that was decided on a stop.
    pub fn command_at(&mut self, op: Op, stop: u32) -> Outcome {
        let id = self.ask(op, Some(StopNumber(stop)));
        self.reply(id)
            .unwrap_or_else(|| panic!("{id} was not answered"))
    }

    /// Gives a command that may be answered later.
    pub fn ask(&mut self, op: Op, expect: Option<StopNumber>) -> CommandId {
        self.next_command += 1;
        let id = CommandId(self.next_command);
        let command = Command { id, expect, op };
        self.feed(Input::Client(CLIENT, ToEngine::Command(command)));
        id
    }

    /// Asks to read something.
    pub fn read(&mut self, what: ReadOp) -> CommandId {
        self.next_command += 1;
        let id = CommandId(self.next_command);
        self.feed(Input::Client(CLIENT, ToEngine::Read(Read { id, what })));
        id
    }

    /// Declares what is looked at.
    pub fn interest(&mut self, interests: Vec<Interest>) {
        self.feed(Input::Client(CLIENT, ToEngine::Interest(interests)));
    }

    /// The reply to a command, once it is there.
    pub fn reply(&self, id: CommandId) -> Option<Outcome> {
        self.replies.get(&id).cloned()
    }

    // --- what is asserted on

    /// A row as front ends see it.
    pub fn row(&self, row: RowId) -> &Row {
        self.tree
            .view(row)
            .unwrap_or_else(|| panic!("{row} is gone"))
    }

    /// The newest row of a process.
    pub fn row_of(&self, pid: u32) -> Option<RowId> {
        let known = self.tree.rows.iter().rev();
        known
            .filter(|(_, data)| data.view.process.is_some_and(|p| p.pid == pid))
            .map(|(id, _)| *id)
            .next()
    }

    /// The session's connection.
    pub fn connection(&self, row: RowId) -> ConnectionId {
        self.tree.rows[&row]
            .connection
            .unwrap_or_else(|| panic!("{row} has no connection"))
    }

    /// Commands sent on a connection, in order.
    pub fn commands_on(&self, connection: ConnectionId) -> Vec<&str> {
        let on = self.sent.iter().filter(|(id, _)| *id == connection);
        on.map(|(_, request)| request.command.as_str()).collect()
    }

    /// Forgets what was sent and done so far.
    pub fn forget(&mut self) {
        self.sent.clear();
        self.effects.clear();
        self.events.clear();
        self.acks.clear();
    }

    /// Forgets the events so far.
    pub fn forget_events(&mut self) {
        self.events.clear();
    }

    /// The arguments of the last request of a command.
    pub fn last(&self, command: &str) -> &Value {
        let sent = self.sent.iter().rev();
        let request = sent
            .map(|(_, request)| request)
            .find(|request| request.command == command);
        let request = request.unwrap_or_else(|| panic!("`{command}` was not sent"));
        request.arguments.as_ref().unwrap()
    }

    /// How often a command was sent.
    pub fn count(&self, command: &str) -> usize {
        let sent = self.sent.iter();
        sent.filter(|(_, request)| request.command == command)
            .count()
    }

    /// Whether a process was asked to be ended, and by which effect.
    pub fn was_ended(&self, pid: u32) -> bool {
        self.effects.iter().any(|effect| {
            matches!(effect, Effect::EndProcesses { processes, .. }
                if processes.iter().any(|process| process.pid == pid))
        })
    }

    /// The codes of all notices.
    pub fn notices(&self) -> Vec<&str> {
        let notices = self.tree.notices.iter();
        notices.map(|notice| notice.code.as_str()).collect()
    }

    /// Lets time pass; the core is woken when it wants to be.
    pub fn pass(&mut self, ms: u64) {
        let until = self.now + ms;
        while let Some(at) = self.wake.filter(|at| at.0 <= until) {
            self.now = self.now.max(at.0);
            self.wake = None;
            self.feed(Input::Wake);
        }
        self.now = until;
        self.feed(Input::Wake);
    }

    // --- the world's part

    /// Gives the core an input and carries out what follows, until nothing does.
    pub fn feed(&mut self, input: Input) {
        self.queue.push_back(input);
        self.run_queue();
    }

    fn run_queue(&mut self) {
        while let Some(input) = self.queue.pop_front() {
            let told = format!("{input:?}");
            for effect in self.tree.handle(Millis(self.now), input) {
                self.carry_out(effect);
            }
            if let Err(broken) = invariants::check(&self.tree) {
                panic!("after {told}: {broken}");
            }
        }
    }

    fn carry_out(&mut self, effect: Effect) {
        match &effect {
            Effect::Send(connection, message) => {
                assert!(
                    !self.closed.contains(connection),
                    "{connection} is closed and is sent {message:?}"
                );
                match message {
                    Message::Request(request) => {
                        self.sent.push((*connection, request.clone()));
                        self.requested(*connection, request);
                    }
                    Message::Response(response) => self.acks.push(response.success),
                    Message::Event(_) => panic!("the core sent an event"),
                }
            }
            Effect::Connect { connection, .. } => {
                if self.opens {
                    self.queue.push_back(Input::Opened(*connection));
                }
                self.effects.push(effect);
            }
            Effect::Close(connection) => {
                assert!(
                    self.closed.insert(*connection),
                    "{connection} is closed twice"
                );
                self.effects.push(effect);
            }
            Effect::Describe(pid) => {
                let seen = self.with_ancestors(*pid);
                self.queue.push_front(Input::Described(*pid, seen));
            }
            Effect::Spawn(run, ..) => {
                if self.spawns {
                    let run = *run;
                    self.root_joins(run);
                }
                self.effects.push(effect);
            }
            Effect::EndProcesses {
                operation,
                processes,
                whole,
            } => {
                if self.kills {
                    self.kill(processes, whole.is_some());
                    let left = self.processes.values().map(|seen| seen.process);
                    let left = left.filter(|p| processes.contains(p)).collect();
                    self.queue
                        .push_back(Input::ProcessesEnded(*operation, left));
                }
                self.effects.push(effect);
            }
            Effect::Survey(run, _) => {
                let alive = self.processes.values().cloned().collect();
                self.queue.push_back(Input::Surveyed(*run, alive));
                self.effects.push(effect);
            }
            Effect::Reply(client, Reply { id, result }) => {
                assert_eq!(*client, CLIENT);
                let before = self.replies.insert(*id, result.clone());
                assert!(before.is_none(), "{id} was answered twice");
            }
            Effect::Event(event) => self.events.push(event.clone()),
            Effect::WakeAt(at) => self.wake = Some(*at),
            _ => self.effects.push(effect),
        }
    }

    /// The root's process starts and connects to the adapter that waits for it.
    pub fn root_joins(&mut self, run: Run) {
        let process = self.process(ROOT_PID, 1, &["python", "main.py"]);
        self.queue.push_back(Input::Spawned(run, process));
        if let Some(connection) = self.waiting_root.take() {
            self.event_later(connection, "initialized", json!({}));
        }
    }

    fn kill(&mut self, processes: &[ProcessKey], whole: bool) {
        let mut pids: BTreeSet<u32> = processes.iter().map(|process| process.pid).collect();
        if whole {
            pids.extend(self.processes.keys());
        }
        for _ in 0..self.processes.len() {
            let below = self
                .processes
                .values()
                .filter(|seen| pids.contains(&seen.parent));
            let below: Vec<u32> = below.map(|seen| seen.process.pid).collect();
            pids.extend(below);
        }
        for pid in pids.difference(&self.immortal) {
            if let Some(seen) = self.processes.remove(pid) {
                let status = EndStatus::Signaled(15);
                self.queue.push_back(Input::Gone(seen.process, status));
            }
        }
    }

    fn with_ancestors(&self, pid: u32) -> Vec<Seen> {
        let mut out = Vec::new();
        let mut at = pid;
        while let Some(seen) = self.processes.get(&at) {
            out.push(seen.clone());
            at = seen.parent;
        }
        out
    }

    fn respond(
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

    fn event_later(&mut self, connection: ConnectionId, event: &str, body: Value) {
        self.seq += 1;
        let event = DapEvent::new(self.seq, event, Some(body));
        let message = Message::Event(event);
        self.queue.push_back(Input::Dap(connection, message));
    }

    /// What debugpy does with a request.
    fn requested(&mut self, connection: ConnectionId, request: &Request) {
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
                } else {
                    self.event_later(connection, "initialized", json!({}));
                }
                return;
            }
            "initialize" => json!({ "exceptionBreakpointFilters": [
                { "filter": "raised", "label": "Raised" },
                { "filter": "uncaught", "label": "Uncaught", "default": true },
                { "filter": "userUnhandled", "label": "User" },
            ] }),
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

/// The launch of `python main.py` with nothing set.
pub fn request() -> LaunchRequest {
    LaunchRequest {
        words: vec!["python".into(), "main.py".into()],
        cwd: "/p".into(),
        env: Vec::new(),
        python: None,
        stdio: Stdio::Pipes,
        just_my_code: true,
        exceptions: Vec::new(),
        stop_on_entry: false,
        max_children: 0,
        breakpoints: Vec::new(),
    }
}

/// What the engine finds for it.
pub fn prepared() -> Prepared {
    Prepared {
        own_streams: false,
        policy: Arc::new(Debugpy),
        adapter: "debugpy 1.8.22".to_owned(),
        name: "main.py".to_owned(),
        program: Some("/p/main.py".to_owned()),
        command: vec!["python".to_owned(), "main.py".to_owned()],
        host: "127.0.0.1".to_owned(),
        port: 5678,
    }
}

/// A process as the process table shows it.
pub fn seen(pid: u32, parent: u32, command: &[&str]) -> Seen {
    Seen {
        process: ProcessKey {
            pid,
            start: u64::from(pid) + 1,
        },
        parent,
        command: command.iter().map(|word| (*word).to_owned()).collect(),
        short_name: "python".to_owned(),
        cwd: Some("/p".to_owned()),
    }
}

/// The attach configuration of a report.
pub fn configuration(pid: u32) -> Value {
    json!({
        "type": "python", "subProcessId": pid, "name": format!("Subprocess {pid}"),
        "connect": { "host": "127.0.0.1", "port": 5678 },
    })
}

/// A plain breakpoint in `/p/main.py`.
pub fn at_line(line: u32) -> BreakpointSpec {
    BreakpointSpec::line("/p/main.py", line)
}
