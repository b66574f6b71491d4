//! What the core hears and what it wants done: the only way in and the only way out.
//! Plain data; it must not know how an effect is carried out.

use super::breakpoints::Kept;
use super::origin::Origin;
use crate::adapter::{Policy, Whereabouts};
use crate::dap::message::Message;
use daptree_model::{
    ClientId, EndStatus, Event, PathMap, ProcessKey, Refusal, Reply, RowId, ToEngine,
};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Milliseconds since the engine started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub u64);

impl Millis {
    /// This much later.
    #[must_use]
    pub fn after(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }
}

/// A connection to an adapter, counted by the core.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct ConnectionId(pub u64);

impl fmt::Display for ConnectionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// One run of a root: what belongs to an earlier run is not heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Run {
    /// The root.
    pub root: RowId,
    /// Counts its runs, from 1.
    pub number: u32,
}

/// What happened. A journal keeps it, so that a run can be replayed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Input {
    /// A front end connected.
    ClientOpened(ClientId),
    /// A front end is gone.
    ClientClosed(ClientId),
    /// A front end said something.
    Client(ClientId, ToEngine),
    /// Starting a root takes a while: what is being done, for people.
    Progress(Run, String),
    /// The adapter of a run is up.
    AdapterReady(Run, Prepared),
    /// The adapter could not be started: why and what to do.
    StartFailed(Run, String),
    /// The adapter's process ended: its last words.
    AdapterGone(Run, String),
    /// The root's process was started.
    Spawned(Run, ProcessKey),
    /// A connection is open.
    Opened(ConnectionId),
    /// A connection is over, or could not be opened.
    Closed(ConnectionId, Option<String>),
    /// An adapter said something.
    Dap(ConnectionId, Message),
    /// What was seen of a process that [`Effect::Describe`] asked for: itself, then its ancestors
    /// upward; empty when it is gone.
    Described(u32, Vec<Seen>),
    /// A watched process ended.
    Gone(ProcessKey, EndStatus),
    /// [`Effect::EndProcesses`] is over: who is still alive.
    ProcessesEnded(u64, Vec<ProcessKey>),
    /// The live processes of a tree, asked for by [`Effect::Survey`].
    Surveyed(Run, Vec<Seen>),
    /// What [`Effect::Locate`] found: the process; empty when it runs elsewhere.
    Located(Run, Vec<Seen>),
    /// What [`Effect::Examine`] found, by the operation's number.
    Examined(u64, Result<Seen, Refusal>),
    /// The processes asked for by [`Effect::Scan`] and all below them, parents first.
    Scanned(Run, Vec<Seen>),
    /// Output was added: the store's revision and the line counts that changed.
    OutputGrew(u64, Vec<(RowId, u64)>),
    /// The streams that [`Effect::OpenStreams`] asked for, by the key of what each stands in for.
    StreamsOpened(RowId, Vec<StreamOffer>),
    /// What was kept of the workspace, before anything else; and what is to be said about it.
    Restored(Kept, Option<String>),
    /// What is to be kept could not be, or something else came of keeping it: for people.
    NotKept(String),
    /// Path maps that were given: they replace those from before.
    Maps(Vec<PathMap>),
    /// The time of [`Effect::WakeAt`] has come.
    Wake,
}

/// What the engine found for a launch, once its adapter is up.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Prepared {
    /// How the adapter is spoken to.
    #[serde(with = "crate::adapter::by_id")]
    pub policy: Arc<dyn Policy>,
    /// The adapter for people, such as `debugpy 1.8.22`.
    pub adapter: String,
    /// What the root is called.
    pub name: String,
    /// Absolute path of its main file, where it has one.
    pub program: Option<String>,
    /// Its command line, as typed.
    pub command: Vec<String>,
    /// Whether children get output streams of their own.
    pub own_streams: bool,
    /// Where the adapter listens.
    pub host: String,
    /// Port of `host`.
    pub port: u16,
}

/// A stream of its own for a process, in the place of one that it inherited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamOffer {
    /// `dev:ino:rdev` of the inherited one.
    pub inherited: String,
    /// Where the process can open its own.
    pub path: String,
}

/// A process as the process table shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Seen {
    /// The process.
    pub process: ProcessKey,
    /// Its parent's pid.
    pub parent: u32,
    /// Its command line.
    pub command: Vec<String>,
    /// The kernel's short name for it.
    pub short_name: String,
    /// Its working folder.
    pub cwd: Option<String>,
}

/// What is to be done.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Find out what to start and bring the adapter up.
    Start(Run, Origin),
    /// Start the root's process so that it joins the adapter here.
    Spawn(Run, String, u16),
    /// End the adapter of a run.
    StopAdapter(Run),
    /// Open a connection, called so in logs.
    Connect {
        /// The connection.
        connection: ConnectionId,
        /// Its name in logs, such as `s3#2`.
        name: String,
        /// Host.
        host: String,
        /// Port.
        port: u16,
    },
    /// Send a message.
    Send(ConnectionId, Message),
    /// Close a connection after what was sent.
    Close(ConnectionId),
    /// Look a process and its ancestors up.
    Describe(u32),
    /// Tell when this process ends; and keep the keeper told of it.
    Watch(RowId, ProcessKey),
    /// Tell when this process ends, and leave it alone whatever happens: it is not ours.
    Observe(RowId, ProcessKey),
    /// Find out whether a program that was attached to runs on this machine.
    Locate(Run, Whereabouts),
    /// Find out whether a process can be attached to: the operation's number and the pid.
    Examine(u64, u32),
    /// List these processes and all below them.
    Scan(Run, Vec<ProcessKey>),
    /// The run's processes live on, whatever becomes of us; what these rows write to is read on.
    LetLive(Run, Vec<RowId>),
    /// This process is no longer ours to end.
    Forget(ProcessKey),
    /// End processes, asking first: with the operation's number.
    EndProcesses {
        /// The operation, for [`Input::ProcessesEnded`].
        operation: u64,
        /// Those meant, and their descendants.
        processes: Vec<ProcessKey>,
        /// Also every process that carries this run's mark.
        whole: Option<Run>,
    },
    /// List the live processes of a run, and those below the given ones.
    Survey(Run, Vec<ProcessKey>),
    /// Open output streams for a child, in the place of those that these rows handed down.
    OpenStreams(RowId, Vec<RowId>),
    /// The child has opened its streams, or never will.
    StreamsTaken(RowId),
    /// Something an adapter said on a session's console or output.
    Said(RowId, daptree_model::Stream, String),
    /// Answer a front end.
    Reply(ClientId, Reply),
    /// Tell every front end.
    Event(Event),
    /// This is to be kept of the workspace.
    Keep(Kept),
    /// Send [`Input::Wake`] at this time; replaces the last one.
    WakeAt(Millis),
}
