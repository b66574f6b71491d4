//! What the engine and its front ends say to each other: ids, the snapshot, commands and
//! events. Plain data with serde; it must not know of I/O, async, terminals or DAP connections.

pub mod process;

pub use process::{EndStatus, ProcessKey};
