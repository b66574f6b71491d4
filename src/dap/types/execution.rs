//! Threads and what makes them run, stop and end. It must not know of stacks and values.

use super::{NoBody, Source, or_default, requests};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The protocol's `Thread`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Thread {
    pub id: i64,
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
}

/// The arguments of the protocol's `ThreadsRequest`: none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadsArguments {}

/// The body of the protocol's `ThreadsResponse`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadsResponse {
    #[serde(default, deserialize_with = "or_default")]
    pub threads: Vec<Thread>,
}

/// The protocol's `ContinueArguments`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContinueArguments {
    pub thread_id: i64,
    pub single_thread: Option<bool>,
}

/// The body of the protocol's `ContinueResponse`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContinueResponse {
    /// Absent means true.
    pub all_threads_continued: Option<bool>,
}

/// The protocol's `NextArguments`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NextArguments {
    pub thread_id: i64,
    pub single_thread: Option<bool>,
    /// `statement`, `line` or `instruction`.
    pub granularity: Option<String>,
}

/// The protocol's `StepInArguments`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepInArguments {
    pub thread_id: i64,
    pub single_thread: Option<bool>,
    pub target_id: Option<i64>,
    /// `statement`, `line` or `instruction`.
    pub granularity: Option<String>,
}

/// The protocol's `StepOutArguments`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepOutArguments {
    pub thread_id: i64,
    pub single_thread: Option<bool>,
    /// `statement`, `line` or `instruction`.
    pub granularity: Option<String>,
}

/// The protocol's `StepBackArguments`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepBackArguments {
    pub thread_id: i64,
    pub single_thread: Option<bool>,
    /// `statement`, `line` or `instruction`.
    pub granularity: Option<String>,
}

/// The protocol's `ReverseContinueArguments`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReverseContinueArguments {
    pub thread_id: i64,
    pub single_thread: Option<bool>,
}

/// The protocol's `PauseArguments`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PauseArguments {
    pub thread_id: i64,
}

/// The protocol's `RestartFrameArguments`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RestartFrameArguments {
    pub frame_id: i64,
}

/// The protocol's `StepInTargetsArguments`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepInTargetsArguments {
    pub frame_id: i64,
}

/// The protocol's `StepInTarget`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepInTarget {
    pub id: i64,
    #[serde(default, deserialize_with = "or_default")]
    pub label: String,
    pub line: Option<i64>,
    pub column: Option<i64>,
    pub end_line: Option<i64>,
    pub end_column: Option<i64>,
}

/// The body of the protocol's `StepInTargetsResponse`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepInTargetsResponse {
    #[serde(default, deserialize_with = "or_default")]
    pub targets: Vec<StepInTarget>,
}

/// The protocol's `GotoTargetsArguments`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GotoTargetsArguments {
    pub source: Source,
    pub line: i64,
    pub column: Option<i64>,
}

/// The protocol's `GotoTarget`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GotoTarget {
    pub id: i64,
    #[serde(default, deserialize_with = "or_default")]
    pub label: String,
    #[serde(default, deserialize_with = "or_default")]
    pub line: i64,
    pub column: Option<i64>,
    pub end_line: Option<i64>,
    pub end_column: Option<i64>,
    pub instruction_pointer_reference: Option<String>,
}

/// The body of the protocol's `GotoTargetsResponse`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GotoTargetsResponse {
    #[serde(default, deserialize_with = "or_default")]
    pub targets: Vec<GotoTarget>,
}

/// The protocol's `GotoArguments`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GotoArguments {
    pub thread_id: i64,
    pub target_id: i64,
}

/// The protocol's `DisconnectArguments`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DisconnectArguments {
    pub restart: Option<bool>,
    /// Absent leaves it to the adapter: a launched program ends, an attached one lives on.
    pub terminate_debuggee: Option<bool>,
    pub suspend_debuggee: Option<bool>,
}

/// The protocol's `TerminateArguments`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminateArguments {
    pub restart: Option<bool>,
}

/// The protocol's `TerminateThreadsArguments`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminateThreadsArguments {
    pub thread_ids: Option<Vec<i64>>,
}

/// The protocol's `RestartArguments`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RestartArguments {
    /// The `launch` or `attach` arguments of the new run.
    pub arguments: Option<Value>,
}

requests! {
    ThreadsArguments: "threads" -> ThreadsResponse,
    ContinueArguments: "continue" -> ContinueResponse,
    NextArguments: "next" -> NoBody,
    StepInArguments: "stepIn" -> NoBody,
    StepOutArguments: "stepOut" -> NoBody,
    StepBackArguments: "stepBack" -> NoBody,
    ReverseContinueArguments: "reverseContinue" -> NoBody,
    PauseArguments: "pause" -> NoBody,
    RestartFrameArguments: "restartFrame" -> NoBody,
    StepInTargetsArguments: "stepInTargets" -> StepInTargetsResponse,
    GotoTargetsArguments: "gotoTargets" -> GotoTargetsResponse,
    GotoArguments: "goto" -> NoBody,
    DisconnectArguments: "disconnect" -> NoBody,
    TerminateArguments: "terminate" -> NoBody,
    TerminateThreadsArguments: "terminateThreads" -> NoBody,
    RestartArguments: "restart" -> NoBody,
}
