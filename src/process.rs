//! Operating-system processes: the table of them, starting a program as typed, its terminal or
//! pipes, how it ended, ending a whole tree, and the keeper that outlives the engine. It must not
//! know of debug adapters, sessions or front ends: a process here is a [`ProcessKey`], no more.
//!
//! | file | what it owns |
//! |---|---|
//! | `kernel` | the only `unsafe` of the crate |
//! | `table` | what `/proc` says about a process |
//! | `pidfd` | a handle that can never mean another process |
//! | `children` | which child belongs to whom, so that nobody reaps another's |
//! | `leader` | what stands between daptree and a program on a terminal |
//! | `limits` | how many descriptors may be open |
//! | `exit`, `reaper` | how a process ended |
//! | `resolve`, `spawn` | argv → file, and its start |
//! | `stream`, `pty` | reading output, terminals |
//! | `ending` | ask, then kill, until none is left |
//! | `keeper` | the small process that cleans up after a dead engine |
//!
//! Written for Linux (`/proc`, pidfds); only `stream`, `pty` and `resolve` are portable.

pub use daptree_model::{EndStatus, ProcessKey};

#[cfg(target_os = "linux")]
pub mod children;
#[cfg(target_os = "linux")]
pub mod ending;
#[cfg(target_os = "linux")]
pub mod exit;
#[cfg(target_os = "linux")]
pub mod keeper;
#[cfg(unix)]
mod kernel;
#[cfg(target_os = "linux")]
mod leader;
#[cfg(unix)]
pub mod limits;
#[cfg(target_os = "linux")]
pub mod pidfd;
#[cfg(unix)]
pub mod pty;
#[cfg(target_os = "linux")]
pub mod reaper;
#[cfg(unix)]
pub mod resolve;
#[cfg(target_os = "linux")]
pub mod spawn;
#[cfg(unix)]
pub mod stream;
#[cfg(target_os = "linux")]
pub mod table;

#[cfg(test)]
#[cfg(target_os = "linux")]
pub(crate) mod testing;
