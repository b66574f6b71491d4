//! The engine's one task: inputs in, effects out, snapshots to the front ends. It owns everything
//! that has to be touched, and must not know a rule of the tree.

mod attaching;
mod effects;
pub(super) mod roots;

use super::EngineConfig;
use super::connection::{Connection, ConnectionEvent, ConnectionEventKind};
use super::front::Front;
use super::handed::HandedStreams;
use super::kept::{Keeping, KeptFile};
use super::launching::{LastWords, Workshop};
use super::leaders::Leaders;
use super::streams::Output;
use super::terminal::Terminal;
use crate::launch::Launch;
use crate::launch::debugpy::Debugpy;
use crate::process::ProcessKey;
use crate::process::keeper::KeeperHandle;
use crate::process::reaper::Reaper;
use crate::record::{Entry, Recorder};
use crate::tree::{ConnectionId, Input, Millis, Origin, Prepared, Run, Tree};
use daptree_model::{ClientId, FromEngine, ReadOp, Reply, RowId, Snapshot, ToEngine};
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
    /// What is to be started; none for a root that runs already.
    pub program: Option<Program>,
    pub adapter: ProcessKey,
    pub words: LastWords,
}

/// A program that is to be started as a root.
#[derive(Debug)]
pub(super) struct Program {
    pub launch: Launch,
    /// What runs the program under debugpy as Python itself would.
    pub launcher: PathBuf,
    pub debugpy: Debugpy,
}

/// What the shell keeps of a run.
#[derive(Debug)]
struct RunData {
    program: Option<Program>,
    origin: Option<Origin>,
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
    origins: BTreeMap<Run, Origin>,
    /// Adapters that were killed and may not be gone yet.
    leaving: Vec<ProcessKey>,
    runs: BTreeMap<Run, RunData>,
    leaders: Leaders,
    terminals: BTreeMap<RowId, Terminal>,
    handed: HandedStreams,
    output: Output,
    keeping: Option<Keeping>,
    events: u64,
    wake: Option<Millis>,
    published: Option<Instant>,
    /// What effects fed back, before anything else is heard.
    next: VecDeque<Input>,
    record: Option<Recorder>,
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
        let output = Output::new(config.raw_output, inputs.clone(), config.record.clone());
        let mut next = VecDeque::from([Input::Maps(config.maps)]);
        let keeping = config.workspace.map(|workspace| {
            let opened = KeptFile::open(&config.folders.state, &workspace);
            next.push_back(Input::Restored(opened.kept, opened.trouble));
            let inputs = inputs.clone();
            Keeping::start(opened.file, move |input| {
                let inputs = inputs.clone();
                tokio::spawn(async move {
                    let _ = inputs.send(ShellInput::Core(input)).await;
                });
            })
        });
        let workshop = Workshop {
            folders: config.folders,
            settings_python: config.settings_python,
            reaper: Arc::new(reaper),
            inputs,
        };
        let tree = config.idle.map_or_else(Tree::new, |after| {
            Tree::closing_idle(u64::try_from(after.as_millis()).unwrap_or(u64::MAX))
        });
        Self {
            tree,
            started: config
                .record
                .as_ref()
                .map_or_else(Instant::now, Recorder::began),
            workshop,
            keeper,
            sole: config.sole,
            connections: BTreeMap::new(),
            connection_events,
            connection_inbox: Some(connection_inbox),
            fronts: BTreeMap::new(),
            origins: BTreeMap::new(),
            leaving: Vec::new(),
            runs: BTreeMap::new(),
            leaders: Leaders::default(),
            terminals: BTreeMap::new(),
            handed: HandedStreams::default(),
            output,
            keeping,
            events: 0,
            wake: None,
            published: None,
            next,
            record: config.record,
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
        let snapshot = self.snapshot();
        self.published = Some(Instant::now());
        for front in self.fronts.values() {
            front.publish(Arc::clone(&snapshot));
        }
    }

    fn snapshot(&mut self) -> Arc<Snapshot> {
        let snapshot = self.tree.snapshot();
        self.keep(|| Entry::Published(snapshot.revision));
        snapshot
    }

    /// Keeps an entry for the journal, where there is one.
    fn keep(&self, entry: impl FnOnce() -> Entry) {
        if let Some(record) = &self.record {
            record.record_now(entry());
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
                front.publish(self.snapshot());
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
                self.keep(|| Entry::Screen {
                    root,
                    columns,
                    rows,
                    fresh: false,
                });
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
                ReadOp::Processes => self.read_processes(client, read.id),
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
            if let Some(record) = &self.record {
                record.record(now, Entry::Input(input.clone()));
            }
            for effect in self.tree.handle(now, input) {
                self.run_effect(effect);
            }
        }
    }

    /// Ends what is left: adapters, connections, leaders, the keeper.
    async fn finish(mut self) {
        self.connections.clear();
        if let Some(keeping) = self.keeping.take() {
            keeping.finish().await;
        }
        let runs: Vec<Run> = self.runs.keys().copied().collect();
        let mut ours: Vec<ProcessKey> = self.leaders.keys().into_iter().collect();
        for run in runs {
            ours.extend(self.runs.get(&run).map(|data| data.adapter));
            self.stop_adapter(run);
        }
        self.leaders.end(None, self.keeper.as_ref());
        let stay = self.leaders.keys();
        ours.retain(|key| !stay.contains(key));
        let ends: Vec<_> = ours
            .into_iter()
            .map(|key| self.workshop.reaper.watch(key))
            .collect();
        for ended in ends {
            let _ = tokio::time::timeout(Duration::from_secs(1), ended).await;
        }
        if let Some(keeper) = self.keeper.take() {
            keeper.bye().await;
        }
    }
}

async fn pause(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}
