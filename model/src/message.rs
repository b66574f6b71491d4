//! The two enums that a front end hangs on: [`ToEngine`] and [`FromEngine`].
//! They must stay plain data: the same values go through a channel or over a socket.

use crate::{
    AttachRequest, BreakpointId, BreakpointSpec, CommandId, EndStatus, Evaluation, Exception,
    Interest, LaunchRequest, Notice, OutputWindow, Page, ProcessOffer, Refusal, ReplayOp, Row,
    RowId, RowState, Snapshot, Stack, Stop, StopNumber, Stream, Thread,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a front end says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ToEngine {
    /// Do something; exactly one [`Reply`] comes back.
    Command(Command),
    /// Give up waiting for a command; it is answered with [`EngineError::Cancelled`]. Nothing
    /// that an adapter was already asked is undone.
    Cancel(CommandId),
    /// Read something; exactly one [`Reply`] comes back.
    Read(Read),
    /// What to keep fetched; replaces what this front end said before.
    Interest(Vec<Interest>),
    /// Keyboard bytes for the terminal of a tree's root.
    TerminalInput {
        /// The root.
        root: RowId,
        /// What was typed, as a terminal would send it.
        bytes: Vec<u8>,
    },
    /// The size at which the terminal of a tree's root is shown.
    TerminalSize {
        /// The root.
        root: RowId,
        /// Cells across.
        columns: u16,
        /// Cells down.
        rows: u16,
    },
    /// Send [`FromEngine::Terminal`] for this root from now on, the present screen first.
    TerminalWatch(RowId),
    /// Steers a replay; an engine that runs programs ignores it.
    Replay(ReplayOp),
}

/// A command with the stop it was decided on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Command {
    /// Chosen by the front end, unique among its own.
    pub id: CommandId,
    /// The stop number of the session it was decided on; a wrong one gets
    /// [`EngineError::StaleStop`] and nothing is done.
    pub expect: Option<StopNumber>,
    /// What to do.
    pub op: Op,
}

/// What can be done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Op {
    /// Start a program as the root of a new tree.
    Launch(Box<LaunchRequest>),
    /// Attach to a program that runs already, as the root of a new tree.
    Attach(Box<AttachRequest>),
    /// Attach to a live process of a tree that is not debugged.
    Adopt(RowId),
    /// End the run of a root and start it again with the same settings and breakpoints.
    Restart(RowId),
    /// Let a session run on.
    Continue(RowId),
    /// Step over a line (DAP: `next`), in the thread given or the one that stopped.
    Next(RowId, Option<i64>),
    /// Step into a call (DAP: `stepIn`).
    StepIn(RowId, Option<i64>),
    /// Run to the end of the function (DAP: `stepOut`).
    StepOut(RowId, Option<i64>),
    /// Stop a running session.
    Pause(RowId),
    /// Let every paused session of the subtree run on.
    ContinueAll(RowId),
    /// Stop every running session of the subtree.
    PauseAll(RowId),
    /// Whether the subtree stops as one: when one of its sessions stops, the others are held until
    /// it goes on.
    StopTheWorld(RowId, bool),
    /// End the processes of the subtree and remove its rows; an attach root is released instead.
    Close(RowId),
    /// End the processes of the subtree; the rows stay.
    Terminate(RowId),
    /// Let a root and all of its descendants live on without us.
    Detach(RowId),
    /// Add a breakpoint, or change the one at the same place.
    SetBreakpoint(BreakpointSpec),
    /// Change a breakpoint, its place as well; its counts stay.
    EditBreakpoint(BreakpointId, BreakpointSpec),
    /// Take up what [`crate::Breakpoint::out_of_reach`] offers.
    AcceptOffer(BreakpointId),
    /// Remove a breakpoint.
    RemoveBreakpoint(BreakpointId),
    /// Switch a breakpoint on or off.
    EnableBreakpoint(BreakpointId, bool),
    /// Which exceptions stop, by the adapter's names.
    SetExceptionFilters(Vec<String>),
    /// Change a variable, named in its container (DAP: `setVariable`).
    SetVariable {
        /// The session.
        row: RowId,
        /// Reference of the scope or variable that holds it.
        container: i64,
        /// Its name.
        name: String,
        /// The new value, as an expression.
        value: String,
    },
    /// Answered when the session or a descendant stops or the session ends.
    WaitForStop {
        /// The session.
        row: RowId,
        /// How long, in ms.
        timeout_ms: u64,
    },
    /// End every tree; answered when nothing is left, or with what is.
    Shutdown,
}

impl Op {
    /// The row that it is about, where it is about one.
    pub fn row(&self) -> Option<RowId> {
        match self {
            Self::Restart(row)
            | Self::Continue(row)
            | Self::Next(row, _)
            | Self::StepIn(row, _)
            | Self::StepOut(row, _)
            | Self::Pause(row)
            | Self::ContinueAll(row)
            | Self::PauseAll(row)
            | Self::StopTheWorld(row, _)
            | Self::Close(row)
            | Self::Terminate(row)
            | Self::Detach(row)
            | Self::Adopt(row)
            | Self::SetVariable { row, .. }
            | Self::WaitForStop { row, .. } => Some(*row),
            Self::Launch(_)
            | Self::Attach(_)
            | Self::SetBreakpoint(_)
            | Self::EditBreakpoint(..)
            | Self::AcceptOffer(_)
            | Self::RemoveBreakpoint(_)
            | Self::EnableBreakpoint(..)
            | Self::SetExceptionFilters(_)
            | Self::Shutdown => None,
        }
    }

    /// Its name, for logs: what it holds may be an environment.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Launch(_) => "launch",
            Self::Attach(_) => "attach",
            Self::Adopt(_) => "adopt",
            Self::Restart(_) => "restart",
            Self::Continue(_) => "continue",
            Self::Next(..) => "next",
            Self::StepIn(..) => "stepIn",
            Self::StepOut(..) => "stepOut",
            Self::Pause(_) => "pause",
            Self::ContinueAll(_) => "continueAll",
            Self::PauseAll(_) => "pauseAll",
            Self::StopTheWorld(..) => "stopTheWorld",
            Self::Close(_) => "close",
            Self::Terminate(_) => "terminate",
            Self::Detach(_) => "detach",
            Self::SetBreakpoint(_) => "setBreakpoint",
            Self::EditBreakpoint(..) => "editBreakpoint",
            Self::AcceptOffer(_) => "acceptOffer",
            Self::RemoveBreakpoint(_) => "removeBreakpoint",
            Self::EnableBreakpoint(..) => "enableBreakpoint",
            Self::SetExceptionFilters(_) => "setExceptionFilters",
            Self::SetVariable { .. } => "setVariable",
            Self::WaitForStop { .. } => "waitForStop",
            Self::Shutdown => "shutdown",
        }
    }
}

/// A read of one stop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Read {
    /// Shares the numbers of commands.
    pub id: CommandId,
    /// What to read.
    pub what: ReadOp,
}

/// What can be read. Where a stop is named, an answer of another stop is never given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReadOp {
    /// The threads of a session.
    Threads(RowId),
    /// Frames of a thread.
    Stack {
        /// The session.
        row: RowId,
        /// The stop.
        stop: StopNumber,
        /// The thread; `None`: the one that stopped.
        thread: Option<i64>,
        /// From which frame, 0 = top.
        start: u32,
        /// How many; 0: all.
        levels: u32,
    },
    /// Children of a scope or variable.
    Variables {
        /// The session.
        row: RowId,
        /// The stop.
        stop: StopNumber,
        /// The reference.
        reference: i64,
        /// From which child.
        start: u32,
        /// How many.
        count: u32,
    },
    /// The value of an expression.
    Evaluate {
        /// The session.
        row: RowId,
        /// The stop; `None`: evaluated without a frame, also while it runs.
        stop: Option<StopNumber>,
        /// The frame; `None`: the top frame of the thread that stopped, or none.
        frame: Option<i64>,
        /// In the program's language.
        expression: String,
        /// DAP's `context`: `watch`, `repl`, `hover`.
        context: String,
    },
    /// What was raised at a stop.
    ExceptionInfo {
        /// The session.
        row: RowId,
        /// The stop.
        stop: StopNumber,
    },
    /// The processes that could be attached to, and why others could not.
    Processes,
    /// The text of a source file.
    File(String),
    /// The text of a source that only the adapter has.
    Source {
        /// The session.
        row: RowId,
        /// DAP's `sourceReference`.
        reference: i64,
    },
    /// Lines of output from `from` on.
    Output {
        /// Whose; `None`: the merged view of all.
        row: Option<RowId>,
        /// The first line wanted, from 0.
        from: u64,
        /// How many at most.
        count: u32,
    },
}

/// What the engine says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FromEngine {
    /// The state of everything; the latest is the only one that counts.
    Snapshot(Arc<Snapshot>),
    /// The answer to a command or read.
    Reply(Reply),
    /// Something happened; numbers have no gaps.
    Event {
        /// Counts the events of the engine.
        seq: u64,
        /// What.
        event: Event,
    },
    /// Bytes of a root's terminal, for an emulator.
    Terminal {
        /// The root.
        root: RowId,
        /// A fresh emulator of this size (columns, rows) is meant; `None`: the bytes follow on.
        reset: Option<(u16, u16)>,
        /// What the program wrote, or what draws the present screen.
        bytes: Vec<u8>,
    },
}

/// The one answer to a command or read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Reply {
    /// Of which command.
    pub id: CommandId,
    /// What came of it.
    pub result: Result<Answer, EngineError>,
}

/// What came of a command or read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Answer {
    /// It was done.
    Done,
    /// A root was made; it is being started.
    Launched(RowId),
    /// A breakpoint was set.
    Breakpoint(BreakpointId),
    /// How many sessions were told.
    Told(u32),
    /// A wait is over.
    Stopped(WaitAnswer),
    /// Sessions were closed or ended.
    Closed {
        /// How many descendants were closed with it.
        children_closed: u32,
        /// Its own process was ended.
        process_ended: bool,
        /// It was let go instead.
        released: bool,
        /// Processes that outlived everything that was tried, by pid.
        survivors: Vec<u32>,
    },
    /// A root was let go.
    Detached {
        /// How many descendants were let go with it.
        children_released: u32,
    },
    /// A root runs again.
    Restarted {
        /// How many descendants of the last run were closed.
        children_closed: u32,
    },
    /// Threads of a session.
    Threads(Vec<Thread>),
    /// Frames of a thread.
    Stack(Stack),
    /// Children of a variable.
    Variables(Page),
    /// The value of an expression.
    Evaluation(Evaluation),
    /// What was raised.
    Exception(Exception),
    /// The text of a source.
    Source {
        /// Path, or the adapter's name for it.
        path: String,
        /// Its text, shared.
        text: Arc<str>,
    },
    /// Lines of output.
    Output(OutputWindow),
    /// Processes, those that can be attached to first.
    Processes(Vec<ProcessOffer>),
}

/// How a wait ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WaitAnswer {
    /// The session that was chosen.
    pub row: RowId,
    /// Its state: paused, failed or ended.
    pub state: RowState,
    /// The number of its stop.
    pub stop: StopNumber,
    /// All descendant sessions of the one waited on, in pre-order.
    pub children: Vec<ChildState>,
    /// How many others are paused.
    pub others_paused: u32,
}

/// One descendant in a [`WaitAnswer`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChildState {
    /// Its id.
    pub session_id: RowId,
    /// Its name.
    pub name: String,
    /// Its state.
    pub state: RowState,
    /// The nearest session above.
    pub parent_session_id: Option<RowId>,
}

/// Something that happened, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Event {
    /// A tree takes a while to start: what is being done, such as fetching debugpy.
    Progress {
        /// Its root.
        root: RowId,
        /// One line for people.
        text: String,
    },
    /// A row appeared, or what it is called, follows or runs changed.
    Row(Arc<Row>),
    /// A session answered to a breakpoint at a line.
    Breakpoint {
        /// The session.
        row: RowId,
        /// The source.
        path: String,
        /// The line it is on now.
        line: u32,
        /// Whether it is in place.
        verified: bool,
        /// The adapter's word.
        message: Option<String>,
    },
    /// A session stopped.
    Stopped {
        /// The session.
        row: RowId,
        /// Its stop number.
        stop: StopNumber,
        /// Why and where, so that the event stands alone.
        at: Box<Stop>,
    },
    /// A session runs on.
    Continued(RowId),
    /// A row ended.
    Ended {
        /// The row.
        row: RowId,
        /// How, by the kernel.
        status: EndStatus,
        /// Who ended it, in words, where it did not end by itself.
        cause: Option<String>,
    },
    /// A warning or an error.
    Notice(Arc<Notice>),
    /// A session, or the adapter, said something on its console.
    Console {
        /// The session.
        row: RowId,
        /// To which stream the text belongs.
        stream: Stream,
        /// The text.
        text: String,
    },
    /// All sessions of a tree are over.
    TreeEnded {
        /// Its root.
        root: RowId,
        /// How the root ended.
        status: EndStatus,
        /// Its processes that are still alive, by pid.
        left: Vec<u32>,
    },
    /// A tree could not be started: why and what to do.
    LaunchFailed {
        /// Its root.
        root: RowId,
        /// For people.
        message: String,
    },
}

/// Why a command or read was not done. Nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase")]
pub enum EngineError {
    /// There is no such row.
    #[error("there is no session {0}")]
    UnknownSession(RowId),
    /// There is no such breakpoint.
    #[error("there is no breakpoint {0}")]
    UnknownBreakpoint(BreakpointId),
    /// The row is not debugged.
    #[error("{0} is not debugged: {1}")]
    NotASession(RowId, String),
    /// The session is in a state in which this makes no sense.
    #[error("{row} is {state:?}: {what} needs a session that is {wanted}")]
    WrongState {
        /// The session.
        row: RowId,
        /// Its state.
        state: RowState,
        /// What was asked.
        what: String,
        /// In which state it could be done.
        wanted: String,
    },
    /// The session has stopped again, or gone on, since the command was decided.
    #[error("{row} is at stop {now}, not at {expected}: look again before you go on")]
    StaleStop {
        /// The session.
        row: RowId,
        /// On which stop it was decided.
        expected: StopNumber,
        /// The present one.
        now: StopNumber,
    },
    /// Only roots can be started, restarted, attached, detached or exposed.
    #[error("{what} works on a root, and {row} is a child: use the root {root}")]
    NotARoot {
        /// The child.
        row: RowId,
        /// Its root.
        root: RowId,
        /// What was asked.
        what: String,
    },
    /// The root is not ours to do this to.
    #[error(
        "{row} was attached, not started by daptree: it cannot be {what}; close or detach lets it \
         go, and it runs on"
    )]
    NotOurs {
        /// The root.
        row: RowId,
        /// What was asked, as a participle.
        what: String,
    },
    /// A process cannot be attached to.
    #[error("{target} cannot be attached to: {refusal}")]
    CannotAttach {
        /// Which.
        target: String,
        /// Why, and what to do.
        refusal: Refusal,
    },
    /// Another launch-shaped operation is under way.
    #[error("{row} is busy: {what}")]
    Busy {
        /// The session.
        row: RowId,
        /// With what.
        what: String,
    },
    /// The adapter said no.
    #[error("{row}: {command} was refused: {message}")]
    Refused {
        /// The session.
        row: RowId,
        /// DAP's command.
        command: String,
        /// The adapter's words.
        message: String,
    },
    /// No answer in time.
    #[error("{what} was not answered within {after_ms} ms")]
    TimedOut {
        /// What was waited for.
        what: String,
        /// How long.
        after_ms: u64,
    },
    /// The session or its connection ended before the answer.
    #[error("{0} ended before it could answer")]
    Gone(RowId),
    /// A front end gave up.
    #[error("the command was cancelled")]
    Cancelled,
    /// A replay was asked for what the recorded run never did.
    #[error("{0} is not recorded: a replay shows what was, and nothing else")]
    NotRecorded(String),
    /// A file or the system said no.
    #[error("{0}")]
    Failed(String),
}
