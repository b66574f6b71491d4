//! The three kinds of protocol messages, read with tolerance and written exactly.
//! It must not know which requests exist or what a body means; that is `types` and the adapters.

use super::types::{Arguments, ErrorResponse};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

#[cfg(test)]
mod tests;

/// The protocol's `ProtocolMessage`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, try_from = "Value")]
pub enum Message {
    /// `type: "request"`
    Request(Request),
    /// `type: "response"`
    Response(Response),
    /// `type: "event"`
    Event(Event),
}

/// The protocol's `Request`. An adapter sends some too (`startDebugging`, `runInTerminal`).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename = "request")]
pub struct Request {
    /// The sender's running number; 0 when it sent none.
    pub seq: i64,
    /// What is asked for, such as `setBreakpoints`.
    pub command: String,
    /// The arguments as sent; absent and `null` are the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// Fields that the protocol does not know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The protocol's `Response`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename = "response")]
pub struct Response {
    /// The sender's running number; 0 when it sent none.
    pub seq: i64,
    /// `seq` of the request that this answers.
    pub request_seq: i64,
    /// Whether the request was done.
    pub success: bool,
    /// The command answered; empty when the adapter left it out.
    pub command: String,
    /// Of a failure: the raw error in short form, such as `cancelled` or `notStopped`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The result, or the details of a failure; absent and `null` are the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// Fields that the protocol does not know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The protocol's `Event`.
#[expect(clippy::struct_field_names, reason = "the protocol's name")]
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename = "event")]
pub struct Event {
    /// The sender's running number; 0 when it sent none.
    pub seq: i64,
    /// What happened, such as `stopped`.
    pub event: String,
    /// What there is to say about it; absent and `null` are the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// Fields that the protocol does not know.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Why a frame's body is not a protocol message.
#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    /// The body is not JSON (or nested deeper than 127 levels): the stream cannot be trusted.
    #[error("a frame does not hold JSON ({0}): something else writes to this stream")]
    NotJson(#[source] serde_json::Error),
    /// The body is JSON, but not an object.
    #[error("a message is {found}, expected an object: report it to the adapter's authors")]
    NotAnObject {
        /// The JSON type found.
        found: &'static str,
    },
    /// A field that has to be there is not.
    #[error("{kind} has no field `{field}`: report it to the adapter's authors")]
    MissingField {
        /// The kind of message, with its article.
        kind: &'static str,
        /// The field's name.
        field: &'static str,
    },
    /// A field has another type than the protocol says.
    #[error(
        "the field `{field}` of {kind} is {found}, expected {expected}: report it to the \
         adapter's authors"
    )]
    WrongType {
        /// The kind of message, with its article.
        kind: &'static str,
        /// The field's name.
        field: &'static str,
        /// The JSON type expected, with its article.
        expected: &'static str,
        /// The JSON type found, with its article.
        found: &'static str,
    },
    /// `type` is none of the three.
    #[error("a message has the type {found:?}, expected request, response or event")]
    UnknownType {
        /// The type found.
        found: String,
    },
}

/// Why a message's arguments or body could not be had as a type.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    /// The other end refused the request.
    #[error("`{command}` was refused: {reason}")]
    Refused {
        /// The request's command.
        command: String,
        /// The reason given, as a sentence for a person.
        reason: String,
    },
    /// A field is missing or has another type than the protocol says.
    #[error("could not read the {part} of `{name}` at `{path}`: {error}")]
    Shape {
        /// `arguments` or `body`.
        part: &'static str,
        /// The command or event.
        name: String,
        /// The path of the field, such as `stackFrames[2].line`; `.` is the whole.
        path: String,
        /// What was expected there.
        error: serde_json::Error,
    },
}

impl Message {
    /// Reads the body of one frame.
    pub fn from_slice(body: &[u8]) -> Result<Self, MessageError> {
        let value: Value = serde_json::from_slice(body).map_err(MessageError::NotJson)?;
        Self::try_from(value)
    }

    /// The sender's running number.
    pub fn seq(&self) -> i64 {
        match self {
            Self::Request(request) => request.seq,
            Self::Response(response) => response.seq,
            Self::Event(event) => event.seq,
        }
    }

    /// The same message with another running number.
    #[must_use]
    pub fn with_seq(mut self, number: i64) -> Self {
        match &mut self {
            Self::Request(request) => request.seq = number,
            Self::Response(response) => response.seq = number,
            Self::Event(event) => event.seq = number,
        }
        self
    }
}

impl TryFrom<Value> for Message {
    type Error = MessageError;

    fn try_from(value: Value) -> Result<Self, MessageError> {
        let Value::Object(map) = value else {
            return Err(MessageError::NotAnObject {
                found: json_type(&value),
            });
        };
        let mut fields = Fields {
            kind: "a message",
            map,
        };
        let kind = fields.required("type", Fields::string)?;
        match kind.as_str() {
            "request" => {
                fields.kind = "a request";
                Ok(Self::Request(Request {
                    seq: fields.integer("seq")?.unwrap_or(0),
                    command: fields.required("command", Fields::string)?,
                    arguments: fields.value("arguments"),
                    extra: fields.map,
                }))
            }
            "response" => {
                fields.kind = "a response";
                Ok(Self::Response(Response {
                    seq: fields.integer("seq")?.unwrap_or(0),
                    request_seq: fields.required("request_seq", Fields::integer)?,
                    success: fields.required("success", Fields::boolean)?,
                    command: fields.string("command")?.unwrap_or_default(),
                    message: fields.string("message")?,
                    body: fields.value("body"),
                    extra: fields.map,
                }))
            }
            "event" => {
                fields.kind = "an event";
                Ok(Self::Event(Event {
                    seq: fields.integer("seq")?.unwrap_or(0),
                    event: fields.required("event", Fields::string)?,
                    body: fields.value("body"),
                    extra: fields.map,
                }))
            }
            _ => Err(MessageError::UnknownType { found: kind }),
        }
    }
}

impl From<Request> for Message {
    fn from(request: Request) -> Self {
        Self::Request(request)
    }
}

impl From<Response> for Message {
    fn from(response: Response) -> Self {
        Self::Response(response)
    }
}

impl From<Event> for Message {
    fn from(event: Event) -> Self {
        Self::Event(event)
    }
}

impl Request {
    /// A request with arguments as they are.
    pub fn new(seq: i64, command: impl Into<String>, arguments: Option<Value>) -> Self {
        Self {
            seq,
            command: command.into(),
            arguments,
            extra: Map::new(),
        }
    }

    /// A request whose command follows from the type of its arguments.
    pub fn of<A: Arguments>(seq: i64, arguments: &A) -> Self {
        // The argument types write strings, numbers and maps keyed by strings: this cannot fail.
        // Should it ever, the adapter refuses the request by name.
        Self::new(seq, A::COMMAND, serde_json::to_value(arguments).ok())
    }

    /// The arguments as a type; absent ones are an empty object.
    pub fn arguments_as<T: DeserializeOwned>(&self) -> Result<T, BodyError> {
        read("arguments", &self.command, self.arguments.as_ref())
    }
}

impl Response {
    /// The answer that `request` was done.
    pub fn ok(seq: i64, request: &Request, body: Option<Value>) -> Self {
        Self {
            seq,
            request_seq: request.seq,
            success: true,
            command: request.command.clone(),
            message: None,
            body,
            extra: Map::new(),
        }
    }

    /// The answer that `request` is refused, with the reason for a person.
    pub fn err(seq: i64, request: &Request, reason: impl Into<String>) -> Self {
        Self {
            success: false,
            message: Some(reason.into()),
            ..Self::ok(seq, request, None)
        }
    }

    /// The body as a type whether the request was done or not; an absent one is an empty object.
    pub fn body_as<T: DeserializeOwned>(&self) -> Result<T, BodyError> {
        read("body", &self.command, self.body.as_ref())
    }

    /// The body of a success as a type; a failure is [`BodyError::Refused`].
    pub fn result_as<T: DeserializeOwned>(&self) -> Result<T, BodyError> {
        match self.failure() {
            None => self.body_as(),
            Some(reason) => Err(BodyError::Refused {
                command: self.command.clone(),
                reason,
            }),
        }
    }

    /// Why the request was refused, for a person; `None` when it was done. The formatted message
    /// of the body wins over the short `message`, as the protocol asks.
    pub fn failure(&self) -> Option<String> {
        if self.success {
            return None;
        }
        let detailed = self
            .body_as::<ErrorResponse>()
            .ok()
            .and_then(|body| body.error)
            .map(|error| error.text())
            .filter(|text| !text.is_empty());
        let short = || self.message.clone().filter(|text| !text.is_empty());
        Some(
            detailed
                .or_else(short)
                .unwrap_or_else(|| "the adapter gave no reason".to_owned()),
        )
    }
}

impl Event {
    /// An event.
    pub fn new(seq: i64, event: impl Into<String>, body: Option<Value>) -> Self {
        Self {
            seq,
            event: event.into(),
            body,
            extra: Map::new(),
        }
    }

    /// The body as a type; an absent one is an empty object.
    pub fn body_as<T: DeserializeOwned>(&self) -> Result<T, BodyError> {
        read("body", &self.event, self.body.as_ref())
    }
}

fn read<T: DeserializeOwned>(
    part: &'static str,
    name: &str,
    value: Option<&Value>,
) -> Result<T, BodyError> {
    let empty;
    let value = if let Some(value) = value {
        value
    } else {
        empty = Value::Object(Map::new());
        &empty
    };
    // Finding the path costs on every field, so it is looked for only once reading has failed.
    T::deserialize(value).or_else(|_| {
        serde_path_to_error::deserialize(value).map_err(|error| BodyError::Shape {
            part,
            name: name.to_owned(),
            path: error.path().to_string(),
            error: error.into_inner(),
        })
    })
}

/// The fields of a message not read yet.
struct Fields {
    kind: &'static str,
    map: Map<String, Value>,
}

impl Fields {
    fn value(&mut self, field: &str) -> Option<Value> {
        self.map.remove(field).filter(|value| !value.is_null())
    }

    fn string(&mut self, field: &'static str) -> Result<Option<String>, MessageError> {
        match self.value(field) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong_type(field, "a string", &other)),
        }
    }

    fn boolean(&mut self, field: &'static str) -> Result<Option<bool>, MessageError> {
        match self.value(field) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(other) => Err(self.wrong_type(field, "a boolean", &other)),
        }
    }

    fn integer(&mut self, field: &'static str) -> Result<Option<i64>, MessageError> {
        let Some(value) = self.value(field) else {
            return Ok(None);
        };
        match value.as_i64() {
            Some(number) => Ok(Some(number)),
            None => Err(self.wrong_type(field, "an integer", &value)),
        }
    }

    fn required<T>(
        &mut self,
        field: &'static str,
        read: fn(&mut Self, &'static str) -> Result<Option<T>, MessageError>,
    ) -> Result<T, MessageError> {
        let kind = self.kind;
        read(self, field)?.ok_or(MessageError::MissingField { kind, field })
    }

    fn wrong_type(
        &self,
        field: &'static str,
        expected: &'static str,
        found: &Value,
    ) -> MessageError {
        MessageError::WrongType {
            kind: self.kind,
            field,
            expected,
            found: json_type(found),
        }
    }
}

fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
