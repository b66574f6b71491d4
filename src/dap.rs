//! The Debug Adapter Protocol as data: framing, messages and the protocol's own types.
//! It must not know of sockets, clocks, files, adapters or sessions; bytes go in, values come out.

pub mod codec;
pub mod message;
pub mod types;

pub use codec::{CodecError, Decoder};
pub use message::{BodyError, Event, Message, MessageError, Request, Response};
