//! Expressions, assignments and completions. It must not know who asks.

use super::{Source, ValueFormat, VariablePresentationHint, or_default, requests};
use serde::{Deserialize, Serialize};

/// The protocol's `EvaluateArguments`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EvaluateArguments {
    pub expression: String,
    pub frame_id: Option<i64>,
    pub line: Option<i64>,
    pub column: Option<i64>,
    pub source: Option<Source>,
    /// `watch`, `repl`, `hover`, `clipboard` or `variables`.
    pub context: Option<String>,
    pub format: Option<ValueFormat>,
}

/// The body of the protocol's `EvaluateResponse`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EvaluateResponse {
    #[serde(default, deserialize_with = "or_default")]
    pub result: String,
    #[serde(rename = "type")]
    pub type_name: Option<String>,
    pub presentation_hint: Option<VariablePresentationHint>,
    #[serde(default, deserialize_with = "or_default")]
    pub variables_reference: i64,
    pub named_variables: Option<i64>,
    pub indexed_variables: Option<i64>,
    pub memory_reference: Option<String>,
    pub value_location_reference: Option<i64>,
}

/// The protocol's `SetVariableArguments`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetVariableArguments {
    pub variables_reference: i64,
    pub name: String,
    pub value: String,
    pub format: Option<ValueFormat>,
}

/// The body of the protocol's `SetVariableResponse`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetVariableResponse {
    #[serde(default, deserialize_with = "or_default")]
    pub value: String,
    #[serde(rename = "type")]
    pub type_name: Option<String>,
    pub variables_reference: Option<i64>,
    pub named_variables: Option<i64>,
    pub indexed_variables: Option<i64>,
    pub memory_reference: Option<String>,
    pub value_location_reference: Option<i64>,
}

/// The protocol's `SetExpressionArguments`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetExpressionArguments {
    pub expression: String,
    pub value: String,
    pub frame_id: Option<i64>,
    pub format: Option<ValueFormat>,
}

/// The body of the protocol's `SetExpressionResponse`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetExpressionResponse {
    #[serde(default, deserialize_with = "or_default")]
    pub value: String,
    #[serde(rename = "type")]
    pub type_name: Option<String>,
    pub presentation_hint: Option<VariablePresentationHint>,
    pub variables_reference: Option<i64>,
    pub named_variables: Option<i64>,
    pub indexed_variables: Option<i64>,
    pub memory_reference: Option<String>,
    pub value_location_reference: Option<i64>,
}

/// The protocol's `CompletionsArguments`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompletionsArguments {
    pub frame_id: Option<i64>,
    pub text: String,
    /// In UTF-16 code units, from 1 unless the client said otherwise.
    pub column: i64,
    pub line: Option<i64>,
}

/// The protocol's `CompletionItem`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompletionItem {
    pub label: String,
    /// What to insert; absent means the label.
    pub text: Option<String>,
    pub sort_text: Option<String>,
    pub detail: Option<String>,
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Where the replaced text begins, in UTF-16 code units.
    pub start: Option<i64>,
    pub length: Option<i64>,
    pub selection_start: Option<i64>,
    pub selection_length: Option<i64>,
}

/// The body of the protocol's `CompletionsResponse`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompletionsResponse {
    #[serde(default, deserialize_with = "or_default")]
    pub targets: Vec<CompletionItem>,
}

requests! {
    EvaluateArguments: "evaluate" -> EvaluateResponse,
    SetVariableArguments: "setVariable" -> SetVariableResponse,
    SetExpressionArguments: "setExpression" -> SetExpressionResponse,
    CompletionsArguments: "completions" -> CompletionsResponse,
}
