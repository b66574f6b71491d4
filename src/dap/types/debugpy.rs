//! Events of debugpy outside the protocol. It must not know of debugpy's levers; those are the
//! adapter's.

use super::{EventBody, or_default};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The body of `debugpyWaitingForServer`: an `attach` with `listen` waits here for a debuggee.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DebugpyWaitingForServerEvent {
    pub host: String,
    pub port: u16,
}

/// The body of `debugpySockets`: all sockets that the adapter listens on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DebugpySocketsEvent {
    #[serde(default, deserialize_with = "or_default")]
    pub sockets: Vec<DebugpySocket>,
}

/// One socket of [`DebugpySocketsEvent`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DebugpySocket {
    pub host: String,
    pub port: u16,
    /// For debuggees, not for clients.
    #[serde(default, deserialize_with = "or_default")]
    pub internal: bool,
}

/// The body of `debugpyAttach`: a parked child, as the `attach` arguments that adopt it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DebugpyAttachEvent {
    /// The arguments as they came.
    #[serde(flatten)]
    pub configuration: Map<String, Value>,
}

impl EventBody for DebugpyWaitingForServerEvent {
    const EVENT: &'static str = "debugpyWaitingForServer";
}

impl EventBody for DebugpySocketsEvent {
    const EVENT: &'static str = "debugpySockets";
}

impl EventBody for DebugpyAttachEvent {
    const EVENT: &'static str = "debugpyAttach";
}
