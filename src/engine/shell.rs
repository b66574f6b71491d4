//! The engine's one task: inputs in, effects out. It owns everything that has to be touched.

use super::EngineConfig;
use super::connection::{Connection, ConnectionEvent, ConnectionEventKind};
use super::front::Front;
use super::handed::HandedStreams;
use super::launching::{LastWords, Workshop, with_words};
use super::members::Members;
use super::streams::Output;
use super::terminal::Terminal;
use crate::launch::debugpy::Debugpy;
use crate::launch::{self, Launch};
use crate::process::keeper::KeeperHandle;
use crate::process::pidfd::{self, Signal};
use crate::process::reaper::Reaper;
use crate::process::spawn::{self, SpawnPlan, Spawned, StdinSource, Stdio};
use crate::process::{ProcessKey, ending};
use crate::tree::{ConnectionId, Effect, Input, Millis, Prepared, Run, Tree};
use daptree_model::{
    ClientId, EngineError, Event, FromEngine, LaunchRequest, ReadOp, Reply, RowId,
    Stdio as WantedStdio, ToEngine,
};
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Snapshots are at least this far apart, but for those that somebody waits for.
const PUBLISH: Duration = Duration::from_millis(4);
/// How many inputs are taken before a snapshot is published.
const BATCH: usize = 256;

/// What the engine's task hears.
#[derive(Debug)]
pub(super) enum ShellInput {
    /// For the core.
    Core(Input),
    /// A front end connects.
    Front(ClientId, mpsc::Sender<FromEngine>),
    /// A front end said something.
    Said(ClientId, ToEngine),
    /// The adapter of a run is up.
    Ready(Run, Box<Ready>),
    /// A root's terminal said something.
    TerminalSaid(RowId, Vec<u8>),
    /// End the engine.
    Stop,
}

/// An adapter that is up, and what its root is to be.
#[derive(Debug)]
pub(super) struct Ready {
    pub prepared: Prepared,
    pub launch: Launch,
    /// What runs the program under debugpy as Python itself would.
    pub launcher: PathBuf,
    pub debugpy: Debugpy,
    pub adapter: ProcessKey,
    pub words: LastWords,
}

/// What the shell keeps of a run.
#[derive(Debug)]
struct RunData {
    launch: Launch,
    launcher: PathBuf,
    debugpy: Debugpy,
    request: Option<Arc<LaunchRequest>>,
    adapter: ProcessKey,
}

#[derive(Debug)]
pub(super) struct Shell {
    tree: Tree,
    started: Instant,
    workshop: Workshop,
    keeper: Option<KeeperHandle>,
    sole: bool,
    connections: BTreeMap<ConnectionId, Connection>,
    connection_events: mpsc::Sender<ConnectionEvent>,
    connection_inbox: Option<mpsc::Receiver<ConnectionEvent>>,
    fronts: BTreeMap<ClientId, Front>,
    requests: BTreeMap<Run, Arc<LaunchRequest>>,
    runs: BTreeMap<Run, RunData>,
    terminals: BTreeMap<RowId, Terminal>,
    handed: HandedStreams,
    output: Output,
    events: u64,
    wake: Option<Millis>,
    published: Option<Instant>,
    /// What effects fed back, before anything else is heard.
    next: VecDeque<Input>,
}

impl Shell {
    pub(super) fn new(
        config: EngineConfig,
        reaper: Reaper,
        inputs: mpsc::Sender<ShellInput>,
    ) -> Self {
        let (connection_events, connection_inbox) = mpsc::channel(1_024);
        let keeper = config.keeper.as_deref().and_then(|binary| {
            KeeperHandle::start(binary)
                .inspect_err(|error| tracing::error!("the keeper could not be started: {error}"))
                .ok()
        });
        let output = Output::new(config.raw_output, inputs.clone());
        let workshop = Workshop {
            folders: config.folders,
            settings_python: config.settings_python,
            reaper: Arc::new(reaper),
            inputs,
        };
        Self {
            tree: Tree::new(),
            started: Instant::now(),
            workshop,
            keeper,
            sole: config.sole,
            connections: BTreeMap::new(),
            connection_events,
            connection_inbox: Some(connection_inbox),
            fronts: BTreeMap::new(),
            requests: BTreeMap::new(),
            runs: BTreeMap::new(),
            terminals: BTreeMap::new(),
            handed: HandedStreams::default(),
            output,
            events: 0,
            wake: None,
            published: None,
            next: VecDeque::new(),
        }
    }

    /// Runs until told to stop.
    pub(super) async fn run(mut self, mut inbox: mpsc::Receiver<ShellInput>) {
        let Some(mut connections) = self.connection_inbox.take() else {
            return;
        };
        loop {
            let wake = self.wake_in();
            let publish = self.publish_in();
            tokio::select! {
                biased;
                event = connections.recv() => {
                    if let Some(event) = event {
                        self.connection_said(event);
                    }
                }
                input = inbox.recv() => match input {
                    Some(ShellInput::Stop) | None => break,
                    Some(input) => self.take(input),
                },
                () = pause(wake) => self.feed(Input::Wake),
                () = pause(publish) => self.publish(),
            }
            let mut stop = false;
            for _ in 0..BATCH {
                if let Ok(event) = connections.try_recv() {
                    self.connection_said(event);
                } else {
                    match inbox.try_recv() {
                        Ok(ShellInput::Stop) => {
                            stop = true;
                            break;
                        }
                        Ok(input) => self.take(input),
                        Err(_) => break,
                    }
                }
            }
            if stop {
                break;
            }
            if self.publish_in().is_some_and(|wait| wait.is_zero()) {
                self.publish();
            }
        }
        self.finish().await;
    }

    fn now(&self) -> Millis {
        Millis(u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    fn wake_in(&self) -> Option<Duration> {
        self.wake.map(|at| {
            let due = self.started + Duration::from_millis(at.0);
            due.saturating_duration_since(Instant::now())
        })
    }

    /// How long until a snapshot is due, when one is.
    fn publish_in(&self) -> Option<Duration> {
        if !self.tree.is_dirty() {
            return None;
        }
        if self.tree.is_urgent() {
            return Some(Duration::ZERO);
        }
        let since = self.published.map_or(PUBLISH, |at| at.elapsed());
        Some(PUBLISH.saturating_sub(since))
    }

    fn publish(&mut self) {
        let snapshot = self.tree.snapshot();
        self.published = Some(Instant::now());
        for front in self.fronts.values() {
            front.publish(Arc::clone(&snapshot));
        }
    }

    fn connection_said(&mut self, event: ConnectionEvent) {
        let connection = ConnectionId(event.connection);
        let input = match event.kind {
            ConnectionEventKind::Opened => Input::Opened(connection),
            ConnectionEventKind::Message(message) => Input::Dap(connection, message),
            ConnectionEventKind::Closed { error } => {
                self.connections.remove(&connection);
                Input::Closed(connection, error)
            }
        };
        self.feed(input);
    }

    fn take(&mut self, input: ShellInput) {
        match input {
            ShellInput::Core(input) => {
                if let Input::ClientClosed(client) = &input {
                    self.fronts.remove(client);
                    for terminal in self.terminals.values_mut() {
                        terminal.unwatch(*client);
                    }
                }
                if let (Input::Gone(process, _), Some(keeper)) = (&input, &self.keeper) {
                    keeper.remove(*process);
                }
                self.feed(input);
            }
            ShellInput::Front(client, channel) => {
                let front = Front::new(channel);
                front.publish(self.tree.snapshot());
                self.fronts.insert(client, front);
                self.feed(Input::ClientOpened(client));
            }
            ShellInput::Said(client, message) => self.front_said(client, message),
            ShellInput::Ready(run, ready) => self.adapter_up(run, *ready),
            ShellInput::TerminalSaid(root, bytes) => {
                if let Some(terminal) = self.terminals.get_mut(&root) {
                    terminal.said(&bytes);
                    for client in terminal.watchers() {
                        if let Some(front) = self.fronts.get(client) {
                            let bytes = bytes.clone();
                            front.send(FromEngine::Terminal {
                                root,
                                reset: None,
                                bytes,
                            });
                        }
                    }
                }
            }
            ShellInput::Stop => {}
        }
    }

    /// What a front end says goes to the core, but for terminals, files and output.
    fn front_said(&mut self, client: ClientId, message: ToEngine) {
        match message {
            ToEngine::TerminalInput { root, bytes } => {
                if let Some(terminal) = self.terminals.get(&root) {
                    terminal.input(&bytes);
                }
            }
            ToEngine::TerminalSize {
                root,
                columns,
                rows,
            } => {
                self.handed.resize(root, columns, rows);
                self.terminals
                    .entry(root)
                    .or_default()
                    .resize(columns, rows);
            }
            ToEngine::TerminalWatch(root) => {
                let terminal = self.terminals.entry(root).or_default();
                terminal.watch(client);
                if terminal.handle().is_some() {
                    self.show_terminal(root);
                }
            }
            ToEngine::Read(read) => match read.what {
                ReadOp::File(path) => self.read_file(client, read.id, path),
                ReadOp::Output { row, from, count } => {
                    let answer = self.output.window(row, from, count);
                    let reply = Reply {
                        id: read.id,
                        result: Ok(answer),
                    };
                    if let Some(front) = self.fronts.get(&client) {
                        front.send(FromEngine::Reply(reply));
                    }
                }
                _ => self.feed(Input::Client(client, ToEngine::Read(read))),
            },
            other => self.feed(Input::Client(client, other)),
        }
    }

    fn read_file(&self, client: ClientId, id: daptree_model::CommandId, path: String) {
        let Some(front) = self.fronts.get(&client).map(Front::sender) else {
            return;
        };
        tokio::task::spawn_blocking(move || {
            let result = super::files::read(&path);
            front.send(FromEngine::Reply(Reply { id, result }));
        });
    }

    /// Runs the core on an input, and on what its effects feed back.
    fn feed(&mut self, input: Input) {
        self.next.push_back(input);
        while let Some(input) = self.next.pop_front() {
            if matches!(input, Input::Wake) {
                self.wake = None;
            }
            let now = self.now();
            for effect in self.tree.handle(now, input) {
                self.run_effect(effect);
            }
        }
    }

    fn run_effect(&mut self, effect: Effect) {
        match effect {
            Effect::Start(run, request) => {
                self.requests.insert(run, Arc::clone(&request));
                tokio::spawn(self.workshop.clone().prepare(run, request));
            }
            Effect::Spawn(run, host, port) => {
                let input = match self.spawn_root(run, &host, port) {
                    Ok(process) => Input::Spawned(run, process),
                    Err(message) => Input::StartFailed(run, message),
                };
                self.next.push_back(input);
            }
            Effect::StopAdapter(run) => self.stop_adapter(run),
            Effect::Connect {
                connection,
                name,
                host,
                port,
            } => {
                let events = self.connection_events.clone();
                let opened = Connection::connect(connection.0, name, &host, port, events);
                self.connections.insert(connection, opened);
            }
            Effect::Send(connection, message) => {
                let sent = self
                    .connections
                    .get(&connection)
                    .is_some_and(|c| c.send(message));
                if !sent {
                    tracing::debug!(%connection, "a message was not sent: the connection is closed");
                }
            }
            Effect::Close(connection) => {
                if let Some(mut open) = self.connections.remove(&connection) {
                    open.close();
                }
            }
            Effect::Describe(pid) => {
                self.next
                    .push_front(Input::Described(pid, super::members::with_ancestors(pid)));
            }
            Effect::Watch(row, process) => self.watch(row, process),
            Effect::Forget(process) => {
                if let Some(keeper) = &self.keeper {
                    keeper.remove(process);
                }
            }
            Effect::EndProcesses {
                operation,
                processes,
                whole,
            } => {
                let members = self.members(&processes, whole);
                let inputs = self.workshop.inputs.clone();
                tokio::spawn(async move {
                    let find = move || members.find();
                    let left = ending::end_all(find, ending::GRACE, ending::LIMIT).await;
                    let input = Input::ProcessesEnded(operation, left);
                    let _ = inputs.send(ShellInput::Core(input)).await;
                });
            }
            Effect::Survey(run, known) => {
                let members = self.members(&known, Some(run));
                let inputs = self.workshop.inputs.clone();
                tokio::task::spawn_blocking(move || {
                    let input = Input::Surveyed(run, members.seen());
                    let _ = inputs.blocking_send(ShellInput::Core(input));
                });
            }
            Effect::OpenStreams(row, above) => {
                let root = above.last().copied().unwrap_or(row);
                let terminal = self.terminals.get(&root).and_then(Terminal::handle);
                let (streams, offers) = self.handed.open(row, &above, terminal);
                let screen = terminal.map(|_| root);
                for stream in streams {
                    self.output.read(row, stream, screen);
                }
                self.next.push_front(Input::StreamsOpened(row, offers));
            }
            Effect::StreamsTaken(row) => self.handed.taken(row),
            Effect::Said(row, stream, text) => self.output.append(row, stream, text.as_bytes()),
            Effect::Reply(client, reply) => {
                match &reply.result {
                    Ok(_) => tracing::debug!(command = %reply.id, %client, "finished"),
                    Err(error @ EngineError::TimedOut { .. }) => {
                        tracing::debug!(command = %reply.id, %client, "timed out: {error}");
                    }
                    Err(error) => tracing::debug!(command = %reply.id, %client, "failed: {error}"),
                }
                if let Some(front) = self.fronts.get(&client) {
                    front.send(FromEngine::Reply(reply));
                }
            }
            Effect::Event(event) => {
                if let Event::Ended { row, .. } = &event {
                    self.handed.forget(*row);
                }
                self.events += 1;
                for front in self.fronts.values() {
                    front.send(FromEngine::Event {
                        seq: self.events,
                        event: event.clone(),
                    });
                }
            }
            Effect::WakeAt(at) => self.wake = Some(at),
        }
    }

    fn adapter_up(&mut self, run: Run, ready: Ready) {
        let Ready {
            prepared,
            launch,
            launcher,
            debugpy,
            adapter,
            words,
        } = ready;
        let ended = self.workshop.reaper.watch(adapter);
        let inputs = self.workshop.inputs.clone();
        tokio::spawn(async move {
            let status = ended.await;
            let how = match status {
                daptree_model::EndStatus::Exited(code) => format!("with status {code}"),
                daptree_model::EndStatus::Signaled(number) => {
                    format!("by {}", daptree_model::signal_name(number))
                }
                daptree_model::EndStatus::Unknown => "for an unknown reason".to_owned(),
            };
            let message = with_words(format!("the debug adapter ended {how}"), &words);
            let input = Input::AdapterGone(run, message);
            let _ = inputs.send(ShellInput::Core(input)).await;
        });
        if let Some(keeper) = &self.keeper {
            keeper.add(adapter, true);
        }
        let request = self.requests.get(&run).cloned();
        self.runs.insert(
            run,
            RunData {
                launch,
                launcher,
                debugpy,
                request,
                adapter,
            },
        );
        self.feed(Input::AdapterReady(run, prepared));
    }

    fn spawn_root(&mut self, run: Run, host: &str, port: u16) -> Result<ProcessKey, String> {
        let data = self.runs.get(&run).ok_or("its adapter is gone")?;
        let launch = &data.launch;
        let launcher = Some(data.launcher.as_path());
        let folder = &data.debugpy.folder;
        let argv = launch::debuggee_command(launch, launcher, folder, host, port);
        let mut env = launch.env.clone();
        env.retain(|(name, _)| name != "DAPTREE_TREE");
        env.push(("DAPTREE_TREE".into(), mark(run).into()));
        // Without it, children on 3.11 write warnings of pydevd to their own standard error.
        if !env
            .iter()
            .any(|(name, _)| name == "PYDEVD_DISABLE_FILE_VALIDATION")
        {
            env.push(("PYDEVD_DISABLE_FILE_VALIDATION".into(), "1".into()));
        }
        let wanted = data
            .request
            .as_ref()
            .map_or(WantedStdio::Pipes, |request| request.stdio);
        let stdio = match wanted {
            WantedStdio::Terminal { columns, rows } => {
                let terminal = self.terminals.entry(run.root).or_default();
                let (columns, rows) = terminal.size_or((columns, rows));
                Stdio::Pty { columns, rows }
            }
            WantedStdio::Pipes => Stdio::Pipes {
                stdin: StdinSource::Null,
            },
            WantedStdio::PipesInherit => Stdio::Pipes {
                stdin: StdinSource::Inherit,
            },
        };
        // A Ctrl-C is for daptree, which ends the tree in order.
        let plan = SpawnPlan {
            argv,
            cwd: launch.cwd.clone(),
            env,
            stdio,
            own_session: true,
        };
        if let Some(keeper) = &self.keeper {
            keeper.mark(&mark(run), true);
        }
        let spawned = spawn::spawn(&plan).map_err(|error| error.to_string())?;
        let Spawned {
            key,
            streams,
            terminal,
        } = spawned;
        let has_terminal = terminal.is_some();
        if let (Some(handle), Stdio::Pty { columns, rows }) = (terminal, stdio) {
            self.terminals
                .entry(run.root)
                .or_default()
                .start(handle, (columns, rows));
            self.show_terminal(run.root);
        }
        self.handed.root(run.root, &streams);
        for stream in streams {
            self.output
                .read(run.root, stream, has_terminal.then_some(run.root));
        }
        Ok(key)
    }

    /// Gives everybody who watches a terminal its present screen.
    fn show_terminal(&self, root: RowId) {
        let Some(terminal) = self.terminals.get(&root) else {
            return;
        };
        let (size, bytes) = terminal.screen();
        for front in terminal
            .watchers()
            .filter_map(|client| self.fronts.get(client))
        {
            let bytes = bytes.clone();
            front.send(FromEngine::Terminal {
                root,
                reset: Some(size),
                bytes,
            });
        }
    }

    fn watch(&mut self, row: RowId, process: ProcessKey) {
        if let Some(keeper) = &self.keeper {
            keeper.add(process, true);
        }
        let ended = self.workshop.reaper.watch(process);
        let inputs = self.workshop.inputs.clone();
        tokio::spawn(async move {
            let status = ended.await;
            tracing::debug!(%row, %process, ?status, "ended");
            let _ = inputs
                .send(ShellInput::Core(Input::Gone(process, status)))
                .await;
        });
    }

    fn stop_adapter(&mut self, run: Run) {
        self.requests.remove(&run);
        if let Some(data) = self.runs.remove(&run) {
            let _ = pidfd::signal(data.adapter, Signal::KILL);
            if let Some(keeper) = &self.keeper {
                keeper.remove(data.adapter);
            }
        }
    }

    fn members(&self, processes: &[ProcessKey], whole: Option<Run>) -> Members {
        let spared = self
            .runs
            .values()
            .map(|data| data.adapter.pid)
            .chain(
                self.keeper
                    .as_ref()
                    .and_then(KeeperHandle::key)
                    .map(|key| key.pid),
            )
            .collect();
        let others = whole.map_or(0, |run| {
            self.runs.keys().filter(|known| **known != run).count()
        });
        Members {
            processes: processes.to_vec(),
            mark: whole.map(mark),
            orphans: self.sole && whole.is_some() && others == 0,
            spared,
        }
    }

    /// Ends what is left: adapters, connections, the keeper.
    async fn finish(mut self) {
        self.connections.clear();
        let runs: Vec<Run> = self.runs.keys().copied().collect();
        let mut adapters = Vec::new();
        for run in runs {
            if let Some(data) = self.runs.get(&run) {
                adapters.push(self.workshop.reaper.watch(data.adapter));
            }
            self.stop_adapter(run);
        }
        for ended in adapters {
            let _ = tokio::time::timeout(Duration::from_secs(1), ended).await;
        }
        if let Some(keeper) = self.keeper.take() {
            keeper.bye().await;
        }
    }
}

/// The value of `DAPTREE_TREE` in the environment of a run's processes.
fn mark(run: Run) -> String {
    format!("{}.{}.{}", std::process::id(), run.root, run.number)
}

async fn pause(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}
