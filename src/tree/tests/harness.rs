//! A tree with a scripted adapter that speaks as debugpy does, and a process table of its own.
//! Everything happens at once unless a test holds it back. It must not judge the rules: it only
//! asserts what holds for every test (invariants, one reply a command, no word on a closed
//! connection).

mod adapter;
mod findings;
mod processes;

pub use processes::seen;

use crate::adapter::debugpy::Debugpy;
use crate::dap::message::{Message, Request};
use crate::tree::{ConnectionId, Effect, Input, Millis, Prepared, Run, Seen, Tree, invariants};
use daptree_model::{
    Answer, AttachRequest, AttachTarget, BreakpointSpec, ClientId, Command, CommandId, EngineError,
    Event, Interest, LaunchRequest, Op, Read, ReadOp, Refusal, Reply, RowId, Stdio, StopNumber,
    ToEngine,
};
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
    /// Where a root says that it runs; `here` is our machine.
    pub place: &'static str,
    /// Processes that the adapter does not know yet.
    pub unknown: BTreeSet<u32>,
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
    /// What the processes say of files that are looked for: how each is loaded, and as what.
    pub loaded: BTreeMap<&'static str, (&'static str, &'static str)>,
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
            place: "here",
            unknown: BTreeSet::new(),
            opens: true,
            spawns: true,
            kills: true,
            immortal: BTreeSet::new(),
            names: BTreeMap::new(),
            loaded: BTreeMap::new(),
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

    /// Attaches to a target; its adapter is up at once. `main.py` runs already.
    pub fn attach_with(
        &mut self,
        target: AttachTarget,
        change: impl FnOnce(&mut AttachRequest),
    ) -> RowId {
        if !self.processes.contains_key(&ROOT_PID) {
            self.process(ROOT_PID, 1, &["python", "main.py"]);
        }
        let mut request = attach_request(target);
        change(&mut request);
        let root = match self.command(Op::Attach(Box::new(request))) {
            Ok(Answer::Launched(root)) => root,
            other => panic!("not attached: {other:?}"),
        };
        self.adapter_up(root);
        root
    }

    /// A tree whose root `main.py` waited at a port.
    pub fn attached() -> (Self, RowId) {
        let mut bench = Self::empty();
        let root = bench.attach_with(listening(), |_| {});
        assert_eq!(bench.row(root).state, daptree_model::RowState::Running);
        (bench, root)
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
            Effect::Examine(operation, pid) => {
                let seen = self.processes.get(pid).cloned();
                let result = seen.ok_or(Refusal::Gone);
                self.queue.push_front(Input::Examined(*operation, result));
            }
            Effect::Locate(run, whereabouts) => {
                let mut seen = Vec::new();
                if whereabouts.place == "here -" {
                    seen = self.with_ancestors(whereabouts.pid);
                }
                self.queue.push_front(Input::Located(*run, seen));
            }
            Effect::Scan(run, processes) => {
                let seen = self.below(processes);
                self.queue.push_back(Input::Scanned(*run, seen));
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
        exceptions: Some(Vec::new()),
        stop_on_entry: false,
        stop_the_world: false,
        max_children: 0,
        breakpoints: Vec::new(),
    }
}

/// A program that waits at a port.
pub fn listening() -> AttachTarget {
    AttachTarget::Listening {
        host: "127.0.0.1".to_owned(),
        port: 5678,
    }
}

/// An attach with nothing set.
pub fn attach_request(target: AttachTarget) -> AttachRequest {
    AttachRequest {
        target,
        just_my_code: true,
        exceptions: Vec::new(),
        max_children: 0,
        breakpoints: Vec::new(),
        path_maps: Vec::new(),
        python: None,
        cwd: "/p".into(),
        env: Vec::new(),
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

/// A plain breakpoint in `/p/main.py`.
pub fn at_line(line: u32) -> BreakpointSpec {
    BreakpointSpec::line("/p/main.py", line)
}
