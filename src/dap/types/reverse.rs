//! What an adapter asks of its client. It must not know how a process or a session is started.

use super::{NoBody, or_default, requests};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The protocol's `StartDebuggingRequestArguments`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StartDebuggingRequestArguments {
    /// The `launch` or `attach` arguments of the new session, as they came: adapters hide fields of
    /// their own here.
    #[serde(default, deserialize_with = "or_default")]
    pub configuration: Map<String, Value>,
    /// `launch` or `attach`.
    pub request: String,
    /// `separate` or `mergeWithParent`.
    pub output_presentation: Option<String>,
}

/// The protocol's `RunInTerminalRequestArguments`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunInTerminalRequestArguments {
    /// `integrated` or `external`.
    pub kind: Option<String>,
    pub title: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    pub cwd: String,
    #[serde(default, deserialize_with = "or_default")]
    pub args: Vec<String>,
    /// Added to the environment; `None` removes the variable.
    pub env: Option<BTreeMap<String, Option<String>>>,
    pub args_can_be_interpreted_by_shell: Option<bool>,
}

/// The body of the protocol's `RunInTerminalResponse`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunInTerminalResponse {
    pub process_id: Option<i64>,
    pub shell_process_id: Option<i64>,
}

requests! {
    StartDebuggingRequestArguments: "startDebugging" -> NoBody,
    RunInTerminalRequestArguments: "runInTerminal" -> RunInTerminalResponse,
}
