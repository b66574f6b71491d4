//! daptree: a terminal debugger for process trees. This is the engine as a library; `main.rs`
//! reads the command line and picks the front ends, the package `daptree-ui` is the terminal
//! front end, and `daptree-model` is what engine and front ends say to each other.
//!
//! # Map
//!
//! | module | what it is | what it must not know |
//! |---|---|---|
//! | [`dap`] | the protocol: framing, messages, types | sockets, sessions |
//! | [`adapter`] | what differs between adapters, as data | connections, processes, time |
//! | [`tree`] | every rule of the tree: `Tree::handle(now, Input) -> Vec<Effect>` | clocks, sockets, processes |
//! | [`engine`] | the shell: runs effects, feeds inputs | the rules |
//! | [`process`] | processes: table, start, terminal, end, reaper, keeper | adapters, sessions |
//! | [`output`] | what processes wrote, bounded, by cursor | where it came from |
//! | [`launch`] | what was typed → what to start or attach to; interpreters, debugpy | sessions |
//! | [`record`] | the journal of a run: written, read, replayed | how a tree is debugged |
//! | [`trace`], [`run`], [`replay`], [`demo`], [`doctor`] | the commands | adapters |
//! | [`cli`], [`settings`], [`logs`] | flags, `.daptree.toml`, folders, logs | everything else |
//!
//! Arrows: `model ← ui ← main` and `model, dap ← adapter ← tree ← engine ← main`. Cargo keeps the
//! first chain, the test `purity` the second.
//!
//! # What always holds
//!
//! - The core is a function: no clock, no socket, no process in [`tree`]; time is an argument.
//! - One writer: the engine's task. Front ends hold a pair of channels and an `Arc<Snapshot>`.
//! - Every command and every read gets exactly one reply.
//! - Every report of a parked child is answered, then the child is adopted or released, once.
//!   Nothing stays parked: after five seconds it is released, and the keeper sees to it when
//!   daptree itself is gone.
//! - What daptree did not start it never ends: a root that was attached to is let go, by a close,
//!   a shutdown and daptree's own death alike.
//! - No reply carries values of another stop.
//! - A process is told by pid and start time; nothing is ever sent to a pid alone.

pub mod adapter;
pub mod cli;
pub mod dap;
pub mod demo;
pub mod doctor;
pub mod engine;
pub mod launch;
pub mod logs;
pub mod output;
pub mod process;
pub mod record;
pub mod replay;
pub mod run;
pub mod settings;
pub mod trace;
pub mod tree;

use daptree_model::Stdio;

/// The terminal that a root gets before a front end has shown it: that of daptree itself.
fn launch_size() -> Stdio {
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stdout()).ok();
    let (columns, rows) = size.map_or((80, 24), |size| (size.ws_col.max(2), size.ws_row.max(1)));
    Stdio::Terminal { columns, rows }
}
