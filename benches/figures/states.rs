//! The core alone with many sessions: how long it takes to show the state after an input. No
//! process is started; an adapter that answers at once is played.

use anyhow::{Context, Result};
use daptree::adapter::debugpy::Debugpy;
use daptree::dap::message::{Event, Message, Request, Response};
use daptree::tree::{ConnectionId, Effect, Input, Millis, Prepared, Seen, Tree};
use daptree_model::{
    BreakpointSpec, ClientId, Command, CommandId, Interest, LaunchRequest, Op, ProcessKey, RowId,
    Snapshot, Stdio, ToEngine,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

const FRONT: ClientId = ClientId(1);
const ROOT: u32 = 100;

/// Makes a tree of so many sessions, lets one after the other stop and run on, and gives the times
/// of the state after each of the inputs that this takes.
pub fn snapshots(sessions: usize, rounds: usize) -> Result<Vec<Duration>> {
    let mut played = Played::default();
    played.launch(sessions)?;
    let rows: Vec<(RowId, ConnectionId)> = played
        .shown
        .rows
        .keys()
        .copied()
        .zip(played.opened.iter().copied())
        .collect();
    played.times.clear();
    for _ in 0..rounds {
        for (row, connection) in &rows {
            let body = json!({ "reason": "breakpoint", "threadId": 1 });
            played.event(*connection, "stopped", body);
            played.run();
            played.command(Op::Continue(*row));
            played.run();
        }
    }
    Ok(played.times)
}

/// A tree with its adapter and its front end.
#[derive(Default)]
struct Played {
    tree: Tree,
    queue: VecDeque<Input>,
    opened: Vec<ConnectionId>,
    attaching: BTreeMap<ConnectionId, Request>,
    seq: i64,
    /// As a front end keeps it.
    shown: Arc<Snapshot>,
    times: Vec<Duration>,
}

impl Played {
    fn launch(&mut self, sessions: usize) -> Result<()> {
        self.queue.push_back(Input::ClientOpened(FRONT));
        let spec = BreakpointSpec::line("/p/main.py", 3);
        let request = LaunchRequest {
            words: vec!["main.py".into()],
            cwd: "/p".into(),
            env: Vec::new(),
            python: None,
            stdio: Stdio::Pipes,
            just_my_code: true,
            exceptions: None,
            stop_on_entry: false,
            stop_the_world: false,
            max_children: 0,
            breakpoints: vec![spec],
        };
        self.command(Op::Launch(Box::new(request)));
        self.run();
        let root = *self.opened.first().context("the root has no connection")?;
        for pid in (ROOT + 1..).take(sessions.saturating_sub(1)) {
            self.seq += 1;
            let arguments = json!({ "request": "attach", "configuration": {
                "name": "child", "subProcessId": pid,
                "connect": { "host": "127.0.0.1", "port": 5678 },
            } });
            let report = Request::new(self.seq, "startDebugging", Some(arguments));
            self.queue
                .push_back(Input::Dap(root, Message::Request(report)));
            self.run();
        }
        let watched = self.shown.rows.keys().map(|row| Interest {
            row: *row,
            ..Interest::default()
        });
        let interests = ToEngine::Interest(watched.collect());
        self.queue.push_back(Input::Client(FRONT, interests));
        self.run();
        let live = self.shown.rows.len();
        anyhow::ensure!(live == sessions, "{live} sessions instead of {sessions}");
        Ok(())
    }

    fn command(&mut self, op: Op) {
        self.seq += 1;
        let id = CommandId(self.seq.unsigned_abs());
        let expect = None;
        let command = ToEngine::Command(Command { id, expect, op });
        self.queue.push_back(Input::Client(FRONT, command));
    }

    fn event(&mut self, on: ConnectionId, event: &str, body: Value) {
        self.seq += 1;
        let event = Event::new(self.seq, event, Some(body));
        self.queue.push_back(Input::Dap(on, Message::Event(event)));
    }

    fn answer(&mut self, on: ConnectionId, request: &Request, body: Value) {
        self.seq += 1;
        let response = Response::ok(self.seq, request, Some(body));
        let message = Message::Response(response);
        self.queue.push_back(Input::Dap(on, message));
    }

    fn run(&mut self) {
        while let Some(input) = self.queue.pop_front() {
            for effect in self.tree.handle(Millis(1_000), input) {
                self.carry_out(effect);
            }
            if self.tree.is_dirty() {
                let began = Instant::now();
                let shown = self.tree.snapshot();
                self.times.push(began.elapsed());
                self.shown = shown;
            }
        }
    }

    fn carry_out(&mut self, effect: Effect) {
        match effect {
            Effect::Start(run, _) => {
                let prepared = Prepared {
                    policy: Arc::new(Debugpy::default()),
                    adapter: "debugpy".to_owned(),
                    name: "main.py".to_owned(),
                    program: Some("/p/main.py".to_owned()),
                    command: vec!["main.py".to_owned()],
                    own_streams: false,
                    host: "127.0.0.1".to_owned(),
                    port: 5678,
                };
                self.queue.push_back(Input::AdapterReady(run, prepared));
            }
            Effect::Spawn(run, ..) => {
                self.queue.push_back(Input::Spawned(run, key(ROOT)));
                if let Some(root) = self.opened.first().copied() {
                    self.event(root, "initialized", json!({}));
                }
            }
            Effect::Connect { connection, .. } => {
                self.opened.push(connection);
                self.queue.push_back(Input::Opened(connection));
            }
            Effect::Describe(pid) => {
                let seen = [pid, ROOT].map(|pid| Seen {
                    process: key(pid),
                    parent: if pid == ROOT { 1 } else { ROOT },
                    command: vec!["python".to_owned(), "main.py".to_owned()],
                    short_name: "python".to_owned(),
                    cwd: Some("/p".to_owned()),
                });
                self.queue.push_front(Input::Described(pid, seen.to_vec()));
            }
            Effect::Send(on, Message::Request(request)) => self.requested(on, request),
            _ => {}
        }
    }

    fn requested(&mut self, on: ConnectionId, request: Request) {
        let arguments = request.arguments.clone().unwrap_or_default();
        let body = match request.command.as_str() {
            "attach" => {
                self.attaching.insert(on, request);
                if arguments.get("listen").is_some() {
                    let body = json!({ "host": "127.0.0.1", "port": 5679 });
                    self.event(on, "debugpyWaitingForServer", body);
                } else {
                    self.event(on, "initialized", json!({}));
                }
                return;
            }
            "setBreakpoints" => json!({ "breakpoints": [{ "verified": true, "line": 3 }] }),
            "threads" => json!({ "threads": [{ "id": 1, "name": "MainThread" }] }),
            "stackTrace" => json!({ "totalFrames": 1, "stackFrames": [{
                "id": 7, "name": "f", "line": 3, "column": 1, "source": { "path": "/p/main.py" },
            }] }),
            "scopes" => json!({ "scopes": [
                { "name": "Locals", "variablesReference": 10, "expensive": false },
            ] }),
            "variables" => {
                let variable = json!({ "name": "n", "value": "14", "variablesReference": 0 });
                json!({ "variables": vec![variable; 20] })
            }
            "evaluate" => json!({ "result": "''", "variablesReference": 0 }),
            _ => json!({}),
        };
        self.answer(on, &request, body);
        if request.command == "configurationDone"
            && let Some(attach) = self.attaching.remove(&on)
        {
            self.answer(on, &attach, json!({}));
        }
    }
}

fn key(pid: u32) -> ProcessKey {
    ProcessKey { pid, start: 1 }
}
