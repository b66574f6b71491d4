//! What the engine and its front ends say to each other: ids, the [`Snapshot`], commands and
//! events. Plain data with serde; it must not know of I/O, async, terminals or DAP connections.

pub mod attach;
pub mod breakpoint;
pub mod id;
pub mod inspect;
pub mod launch;
pub mod message;
pub mod output;
pub mod process;
pub mod replay;
pub mod row;
pub mod snapshot;

pub use attach::{AttachRequest, AttachTarget, PathMap, ProcessOffer, Refusal, address};
pub use breakpoint::{
    Breakpoint, BreakpointAt, BreakpointScope, BreakpointSpec, BreakpointStatus, Reach,
};
pub use id::{BreakpointId, ClientId, CommandId, NotARowId, RowId, StopNumber};
pub use inspect::{
    Evaluation, Frame, Inspect, Interest, OpenPath, PAGE, Page, Scope, Stack, Thread, Variable,
};
pub use launch::{LaunchRequest, Stdio};
pub use message::{
    Answer, ChildState, Command, EngineError, Event, FromEngine, Op, Read, ReadOp, Reply, ToEngine,
    WaitAnswer,
};
pub use output::{OutputLine, OutputWindow, Stream};
pub use process::{EndStatus, ProcessKey, signal_name};
pub use replay::{ReplayOp, ReplayView};
pub use row::{Cause, End, Exception, ExceptionFilter, Follow, Place, Row, RowState, Stop};
pub use snapshot::{Notice, Snapshot, TreeOrigin, TreeState, TreeView};
