//! Breakpoints of every kind, and the exception filters. It must not know when they are set.

use super::{Source, or_default, requests};
use serde::{Deserialize, Serialize};

/// The protocol's `SourceBreakpoint`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceBreakpoint {
    pub line: i64,
    pub column: Option<i64>,
    pub condition: Option<String>,
    pub hit_condition: Option<String>,
    pub log_message: Option<String>,
    pub mode: Option<String>,
}

/// The protocol's `SetBreakpointsArguments`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetBreakpointsArguments {
    pub source: Source,
    /// Replaces all breakpoints of the source; an empty list clears them.
    #[serde(default, deserialize_with = "or_default")]
    pub breakpoints: Vec<SourceBreakpoint>,
    pub lines: Option<Vec<i64>>,
    pub source_modified: Option<bool>,
}

/// The body of the protocol's `SetBreakpointsResponse`, and of the other `set…Breakpoints`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetBreakpointsResponse {
    /// One for each breakpoint asked for, in the same order.
    #[serde(default, deserialize_with = "or_default")]
    pub breakpoints: Vec<Breakpoint>,
}

/// The protocol's `Breakpoint`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Breakpoint {
    pub id: Option<i64>,
    #[serde(default, deserialize_with = "or_default")]
    pub verified: bool,
    pub message: Option<String>,
    pub source: Option<Source>,
    pub line: Option<i64>,
    pub column: Option<i64>,
    pub end_line: Option<i64>,
    pub end_column: Option<i64>,
    pub instruction_reference: Option<String>,
    pub offset: Option<i64>,
    /// [`Breakpoint::PENDING`] or [`Breakpoint::FAILED`].
    pub reason: Option<String>,
}

impl Breakpoint {
    /// It may be verified later, such as when its module is loaded.
    pub const PENDING: &str = "pending";
    /// It will not be verified without a change.
    pub const FAILED: &str = "failed";
}

/// The protocol's `BreakpointLocationsArguments`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BreakpointLocationsArguments {
    pub source: Source,
    pub line: i64,
    pub column: Option<i64>,
    pub end_line: Option<i64>,
    pub end_column: Option<i64>,
}

/// The protocol's `BreakpointLocation`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BreakpointLocation {
    pub line: i64,
    pub column: Option<i64>,
    pub end_line: Option<i64>,
    pub end_column: Option<i64>,
}

/// The body of the protocol's `BreakpointLocationsResponse`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BreakpointLocationsResponse {
    #[serde(default, deserialize_with = "or_default")]
    pub breakpoints: Vec<BreakpointLocation>,
}

/// The protocol's `FunctionBreakpoint`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FunctionBreakpoint {
    pub name: String,
    pub condition: Option<String>,
    pub hit_condition: Option<String>,
}

/// The protocol's `SetFunctionBreakpointsArguments`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetFunctionBreakpointsArguments {
    #[serde(default, deserialize_with = "or_default")]
    pub breakpoints: Vec<FunctionBreakpoint>,
}

/// The protocol's `SetExceptionBreakpointsArguments`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetExceptionBreakpointsArguments {
    #[serde(default, deserialize_with = "or_default")]
    pub filters: Vec<String>,
    pub filter_options: Option<Vec<ExceptionFilterOptions>>,
    pub exception_options: Option<Vec<ExceptionOptions>>,
}

/// The protocol's `ExceptionFilterOptions`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExceptionFilterOptions {
    pub filter_id: String,
    pub condition: Option<String>,
    pub mode: Option<String>,
}

/// The protocol's `ExceptionOptions`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExceptionOptions {
    pub path: Option<Vec<ExceptionPathSegment>>,
    /// `never`, `always`, `unhandled` or `userUnhandled`.
    pub break_mode: String,
}

/// The protocol's `ExceptionPathSegment`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExceptionPathSegment {
    pub negate: Option<bool>,
    #[serde(default, deserialize_with = "or_default")]
    pub names: Vec<String>,
}

/// The protocol's `DataBreakpointInfoArguments`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DataBreakpointInfoArguments {
    pub variables_reference: Option<i64>,
    pub name: String,
    pub frame_id: Option<i64>,
    pub bytes: Option<i64>,
    pub as_address: Option<bool>,
    pub mode: Option<String>,
}

/// The body of the protocol's `DataBreakpointInfoResponse`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DataBreakpointInfoResponse {
    /// `None`: no data breakpoint is possible, `description` says why.
    pub data_id: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub description: String,
    /// Of `read`, `write`, `readWrite`.
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub access_types: Vec<String>,
    pub can_persist: Option<bool>,
}

/// The protocol's `DataBreakpoint`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DataBreakpoint {
    pub data_id: String,
    pub access_type: Option<String>,
    pub condition: Option<String>,
    pub hit_condition: Option<String>,
}

/// The protocol's `SetDataBreakpointsArguments`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetDataBreakpointsArguments {
    #[serde(default, deserialize_with = "or_default")]
    pub breakpoints: Vec<DataBreakpoint>,
}

/// The protocol's `InstructionBreakpoint`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InstructionBreakpoint {
    pub instruction_reference: String,
    pub offset: Option<i64>,
    pub condition: Option<String>,
    pub hit_condition: Option<String>,
    pub mode: Option<String>,
}

/// The protocol's `SetInstructionBreakpointsArguments`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetInstructionBreakpointsArguments {
    #[serde(default, deserialize_with = "or_default")]
    pub breakpoints: Vec<InstructionBreakpoint>,
}

/// The body of the protocol's `SetExceptionBreakpointsResponse`; many adapters send none.
pub type SetExceptionBreakpointsResponse = SetBreakpointsResponse;

requests! {
    SetBreakpointsArguments: "setBreakpoints" -> SetBreakpointsResponse,
    BreakpointLocationsArguments: "breakpointLocations" -> BreakpointLocationsResponse,
    SetFunctionBreakpointsArguments: "setFunctionBreakpoints" -> SetBreakpointsResponse,
    SetExceptionBreakpointsArguments: "setExceptionBreakpoints" -> SetExceptionBreakpointsResponse,
    DataBreakpointInfoArguments: "dataBreakpointInfo" -> DataBreakpointInfoResponse,
    SetDataBreakpointsArguments: "setDataBreakpoints" -> SetBreakpointsResponse,
    SetInstructionBreakpointsArguments: "setInstructionBreakpoints" -> SetBreakpointsResponse,
}
