//! The bodies of the protocol's events. It must not know what follows from one.

use super::{Breakpoint, Capabilities, EventBody, Module, Source, or_default};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The body of the protocol's `InitializedEvent`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InitializedEvent {}

/// The body of the protocol's `StoppedEvent`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoppedEvent {
    /// Such as [`StoppedEvent::BREAKPOINT`]; adapters have more.
    pub reason: String,
    pub description: Option<String>,
    pub thread_id: Option<i64>,
    pub preserve_focus_hint: Option<bool>,
    pub text: Option<String>,
    pub all_threads_stopped: Option<bool>,
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub hit_breakpoint_ids: Vec<i64>,
}

impl StoppedEvent {
    /// Reason: a step ended.
    pub const STEP: &str = "step";
    /// Reason: a breakpoint was hit.
    pub const BREAKPOINT: &str = "breakpoint";
    /// Reason: an exception that a filter asked for.
    pub const EXCEPTION: &str = "exception";
    /// Reason: a `pause` request.
    pub const PAUSE: &str = "pause";
    /// Reason: the program's entry, or a child's.
    pub const ENTRY: &str = "entry";
    /// Reason: a `goto` request.
    pub const GOTO: &str = "goto";
    /// Reason: a function breakpoint was hit.
    pub const FUNCTION_BREAKPOINT: &str = "function breakpoint";
    /// Reason: a data breakpoint was hit.
    pub const DATA_BREAKPOINT: &str = "data breakpoint";
    /// Reason: an instruction breakpoint was hit.
    pub const INSTRUCTION_BREAKPOINT: &str = "instruction breakpoint";
}

/// The body of the protocol's `ContinuedEvent`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContinuedEvent {
    pub thread_id: Option<i64>,
    /// Absent means false, other than in [`super::ContinueResponse`].
    pub all_threads_continued: Option<bool>,
}

/// The body of the protocol's `ExitedEvent`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExitedEvent {
    pub exit_code: i64,
}

/// The body of the protocol's `TerminatedEvent`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminatedEvent {
    /// Anything but absent, `null` and `false`: run again with this as `__restart`.
    pub restart: Option<Value>,
}

/// The body of the protocol's `ThreadEvent`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadEvent {
    /// `started` or `exited`.
    pub reason: String,
    pub thread_id: i64,
}

/// The body of the protocol's `OutputEvent`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OutputEvent {
    /// Such as [`OutputEvent::STDOUT`]; absent means [`OutputEvent::CONSOLE`].
    pub category: Option<String>,
    /// A piece of output, not a line.
    #[serde(default, deserialize_with = "or_default")]
    pub output: String,
    /// `start`, `startCollapsed` or `end`.
    pub group: Option<String>,
    pub variables_reference: Option<i64>,
    pub source: Option<Source>,
    pub line: Option<i64>,
    pub column: Option<i64>,
    pub data: Option<Value>,
    pub location_reference: Option<i64>,
}

impl OutputEvent {
    /// Category: the adapter's own words.
    pub const CONSOLE: &str = "console";
    /// Category: the adapter's own words that a person must see.
    pub const IMPORTANT: &str = "important";
    /// Category: the program's standard output.
    pub const STDOUT: &str = "stdout";
    /// Category: the program's standard error.
    pub const STDERR: &str = "stderr";
    /// Category: never shown.
    pub const TELEMETRY: &str = "telemetry";
}

/// The body of the protocol's `BreakpointEvent`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BreakpointEvent {
    /// `changed`, `new` or `removed`.
    pub reason: String,
    pub breakpoint: Breakpoint,
}

/// The body of the protocol's `ModuleEvent`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModuleEvent {
    /// `new`, `changed` or `removed`.
    pub reason: String,
    pub module: Module,
}

/// The body of the protocol's `LoadedSourceEvent`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadedSourceEvent {
    /// `new`, `changed` or `removed`.
    pub reason: String,
    pub source: Source,
}

/// The body of the protocol's `ProcessEvent`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessEvent {
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    /// In the debuggee's pid namespace.
    pub system_process_id: Option<i64>,
    pub is_local_process: Option<bool>,
    /// `launch`, `attach` or `attachForSuspendedLaunch`.
    pub start_method: Option<String>,
    /// In bits.
    pub pointer_size: Option<i64>,
}

/// The body of the protocol's `CapabilitiesEvent`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CapabilitiesEvent {
    /// Only what changed; see [`Capabilities::merge`].
    #[serde(default, deserialize_with = "or_default")]
    pub capabilities: Capabilities,
}

/// The body of the protocol's `InvalidatedEvent`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InvalidatedEvent {
    /// Of `all`, `stacks`, `threads`, `variables`; empty means all.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub areas: Vec<String>,
    pub thread_id: Option<i64>,
    pub stack_frame_id: Option<i64>,
}

/// The body of the protocol's `MemoryEvent`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MemoryEvent {
    pub memory_reference: String,
    #[serde(default, deserialize_with = "or_default")]
    pub offset: i64,
    #[serde(default, deserialize_with = "or_default")]
    pub count: i64,
}

/// The body of the protocol's `ProgressStartEvent`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgressStartEvent {
    pub progress_id: String,
    #[serde(default, deserialize_with = "or_default")]
    pub title: String,
    pub request_id: Option<i64>,
    pub cancellable: Option<bool>,
    pub message: Option<String>,
    /// 0 to 100; absent means unknown.
    pub percentage: Option<f64>,
}

/// The body of the protocol's `ProgressUpdateEvent`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgressUpdateEvent {
    pub progress_id: String,
    pub message: Option<String>,
    pub percentage: Option<f64>,
}

/// The body of the protocol's `ProgressEndEvent`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProgressEndEvent {
    pub progress_id: String,
    pub message: Option<String>,
}

macro_rules! events {
    ($($body:ident: $name:literal),+ $(,)?) => {
        $(impl EventBody for $body {
            const EVENT: &'static str = $name;
        })+
    };
}

events! {
    InitializedEvent: "initialized",
    StoppedEvent: "stopped",
    ContinuedEvent: "continued",
    ExitedEvent: "exited",
    TerminatedEvent: "terminated",
    ThreadEvent: "thread",
    OutputEvent: "output",
    BreakpointEvent: "breakpoint",
    ModuleEvent: "module",
    LoadedSourceEvent: "loadedSource",
    ProcessEvent: "process",
    CapabilitiesEvent: "capabilities",
    InvalidatedEvent: "invalidated",
    MemoryEvent: "memory",
    ProgressStartEvent: "progressStart",
    ProgressUpdateEvent: "progressUpdate",
    ProgressEndEvent: "progressEnd",
}
