//! The protocol's own types (schema 1.71) under its own names, each file one theme. Reading is
//! tolerant: what the protocol calls optional may be absent or `null`, lists may be `null`, open
//! enumerations are strings, unknown fields are ignored, or kept where they must be echoed.
//! A `…Response` or `…Event` here is the `body` of the protocol's type of that name.
//! It must not know how messages are framed, numbered or answered, or what daptree makes of them.

// A field's name and meaning are the protocol's; it is said here only where there is a trap.
#![allow(missing_docs, clippy::struct_field_names)]

mod breakpoints;
mod capabilities;
mod debugpy;
mod evaluate;
mod events;
mod execution;
mod memory;
mod reverse;
mod sources;
mod stack;
#[cfg(test)]
mod tests;

pub use breakpoints::*;
pub use capabilities::*;
pub use debugpy::*;
pub use evaluate::*;
pub use events::*;
pub use execution::*;
pub use memory::*;
pub use reverse::*;
pub use sources::*;
pub use stack::*;

use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// The body of a response that says no more than that the request was done.
pub type NoBody = IgnoredAny;

/// The arguments of one request.
pub trait Arguments: Serialize {
    /// The request's command.
    const COMMAND: &'static str;
    /// What the body of a successful response holds.
    type Response: DeserializeOwned;
}

/// The body of one event.
pub trait EventBody: DeserializeOwned {
    /// The event's name.
    const EVENT: &'static str;
}

/// Ties arguments to their command and the body of its response.
macro_rules! requests {
    ($($arguments:ident: $command:literal -> $response:ty),+ $(,)?) => {
        $(impl super::Arguments for $arguments {
            const COMMAND: &'static str = $command;
            type Response = $response;
        })+
    };
}
use requests;

/// Reads `null` as the default: Go adapters write an empty list so.
fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// The body of the protocol's `ErrorResponse`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ErrorResponse {
    pub error: Option<ErrorMessage>,
}

/// The protocol's `Message`: an error for a person.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorMessage {
    #[serde(default, deserialize_with = "or_default")]
    pub id: i64,
    /// Text with variables in braces; [`ErrorMessage::text`] fills them in.
    #[serde(default, deserialize_with = "or_default")]
    pub format: String,
    pub variables: Option<Map<String, Value>>,
    pub send_telemetry: Option<bool>,
    pub show_user: Option<bool>,
    pub url: Option<String>,
    pub url_label: Option<String>,
}

impl ErrorMessage {
    /// The format with its variables filled in; an unknown variable stays as it is written.
    pub fn text(&self) -> String {
        let Some(variables) = &self.variables else {
            return self.format.clone();
        };
        let mut text = String::with_capacity(self.format.len());
        let mut rest = self.format.as_str();
        while let Some((before, opened)) = rest.split_once('{') {
            text.push_str(before);
            let value = opened
                .split_once('}')
                .and_then(|(name, after)| Some((variables.get(name)?, after)));
            if let Some((value, after)) = value {
                match value {
                    Value::String(value) => text.push_str(value),
                    other => text.push_str(&other.to_string()),
                }
                rest = after;
            } else {
                text.push('{');
                rest = opened;
            }
        }
        text.push_str(rest);
        text
    }
}

/// The protocol's `CancelArguments`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CancelArguments {
    pub request_id: Option<i64>,
    pub progress_id: Option<String>,
}

/// The protocol's `ValueFormat`.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ValueFormat {
    pub hex: Option<bool>,
}

impl Arguments for CancelArguments {
    const COMMAND: &'static str = "cancel";
    type Response = NoBody;
}
