//! Stack frames, scopes and variables with paging. It must not know which of them are on screen.

use super::{Source, ValueFormat, or_default, requests};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The protocol's `StackTraceArguments`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StackTraceArguments {
    pub thread_id: i64,
    pub start_frame: Option<i64>,
    /// The most frames to give; absent or 0 means all.
    pub levels: Option<i64>,
    pub format: Option<StackFrameFormat>,
}

/// The protocol's `StackFrameFormat`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StackFrameFormat {
    pub hex: Option<bool>,
    pub parameters: Option<bool>,
    pub parameter_types: Option<bool>,
    pub parameter_names: Option<bool>,
    pub parameter_values: Option<bool>,
    pub line: Option<bool>,
    pub module: Option<bool>,
    pub include_all: Option<bool>,
}

/// The protocol's `StackFrame`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StackFrame {
    pub id: i64,
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    pub source: Option<Source>,
    /// 0 when there is no source.
    #[serde(default, deserialize_with = "or_default")]
    pub line: i64,
    #[serde(default, deserialize_with = "or_default")]
    pub column: i64,
    pub end_line: Option<i64>,
    pub end_column: Option<i64>,
    pub can_restart: Option<bool>,
    pub instruction_pointer_reference: Option<String>,
    /// A number or a string.
    pub module_id: Option<Value>,
    /// `normal`, `label` (no frame at all, such as "async") or `subtle`.
    pub presentation_hint: Option<String>,
}

/// The body of the protocol's `StackTraceResponse`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StackTraceResponse {
    #[serde(default, deserialize_with = "or_default")]
    pub stack_frames: Vec<StackFrame>,
    /// Absent, or larger than what was given: there may be more frames.
    pub total_frames: Option<i64>,
}

/// The protocol's `ScopesArguments`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScopesArguments {
    pub frame_id: i64,
}

/// The protocol's `Scope`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Scope {
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    pub presentation_hint: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub variables_reference: i64,
    pub named_variables: Option<i64>,
    pub indexed_variables: Option<i64>,
    /// Fetch it only when a person opens it.
    #[serde(default, deserialize_with = "or_default")]
    pub expensive: bool,
    pub source: Option<Source>,
    pub line: Option<i64>,
    pub column: Option<i64>,
    pub end_line: Option<i64>,
    pub end_column: Option<i64>,
}

/// The body of the protocol's `ScopesResponse`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScopesResponse {
    #[serde(default, deserialize_with = "or_default")]
    pub scopes: Vec<Scope>,
}

/// The protocol's `VariablesArguments`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VariablesArguments {
    pub variables_reference: i64,
    /// [`VariablesArguments::INDEXED`] or [`VariablesArguments::NAMED`]; absent means both.
    pub filter: Option<String>,
    pub start: Option<i64>,
    /// Absent or 0 means all.
    pub count: Option<i64>,
    pub format: Option<ValueFormat>,
}

impl VariablesArguments {
    /// Filter: the elements of a list or array.
    pub const INDEXED: &str = "indexed";
    /// Filter: everything with a name.
    pub const NAMED: &str = "named";
}

/// The protocol's `Variable`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Variable {
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    #[serde(default, deserialize_with = "or_default")]
    pub value: String,
    #[serde(rename = "type")]
    pub type_name: Option<String>,
    pub presentation_hint: Option<VariablePresentationHint>,
    /// The expression that gives this variable in its frame.
    pub evaluate_name: Option<String>,
    /// 0: it has no children.
    #[serde(default, deserialize_with = "or_default")]
    pub variables_reference: i64,
    pub named_variables: Option<i64>,
    pub indexed_variables: Option<i64>,
    pub memory_reference: Option<String>,
    pub declaration_location_reference: Option<i64>,
    pub value_location_reference: Option<i64>,
}

/// The protocol's `VariablePresentationHint`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VariablePresentationHint {
    pub kind: Option<String>,
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub attributes: Vec<String>,
    pub visibility: Option<String>,
    /// The value is had only by fetching the one child, at a cost.
    pub lazy: Option<bool>,
}

/// The body of the protocol's `VariablesResponse`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VariablesResponse {
    #[serde(default, deserialize_with = "or_default")]
    pub variables: Vec<Variable>,
}

/// The protocol's `ExceptionInfoArguments`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExceptionInfoArguments {
    pub thread_id: i64,
}

/// The body of the protocol's `ExceptionInfoResponse`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExceptionInfoResponse {
    #[serde(default, deserialize_with = "or_default")]
    pub exception_id: String,
    pub description: Option<String>,
    /// `never`, `always`, `unhandled` or `userUnhandled`.
    #[serde(default, deserialize_with = "or_default")]
    pub break_mode: String,
    pub details: Option<ExceptionDetails>,
}

/// The protocol's `ExceptionDetails`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExceptionDetails {
    pub message: Option<String>,
    pub type_name: Option<String>,
    pub full_type_name: Option<String>,
    pub evaluate_name: Option<String>,
    pub stack_trace: Option<String>,
    #[serde(
        default,
        deserialize_with = "or_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub inner_exception: Vec<ExceptionDetails>,
}

requests! {
    StackTraceArguments: "stackTrace" -> StackTraceResponse,
    ScopesArguments: "scopes" -> ScopesResponse,
    VariablesArguments: "variables" -> VariablesResponse,
    ExceptionInfoArguments: "exceptionInfo" -> ExceptionInfoResponse,
}
