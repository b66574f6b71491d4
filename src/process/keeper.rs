//! The keeper: a small process of the same binary that outlives the engine, however that ends,
//! and sees to it that nothing of a tree stays parked. This side runs in the keeper; it must not
//! know of adapters or sessions, only of processes to end or to let go on.
//!
//! It reads one JSON message a line from standard input, a socket whose other end the engine alone
//! holds. `bye` ends it; the end of input without `bye` means that the engine is dead. Then it
//! ends what was launched to be ended (SIGTERM, then SIGKILL, within [`WITHIN`]), with all
//! descendants and all processes that carry the tree's mark, and continues the rest. Whichever way
//! the engine ended, the keeper stays while those that were let go write to what they were given.

use super::pidfd::{self, Signal};
use super::{ProcessKey, ending, kernel, table};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;
use streams::Inbox;

pub mod client;
mod streams;

pub use client::{KeeperCommand, KeeperHandle};

/// Within this time of the engine's death nothing is left to be ended.
pub const WITHIN: Duration = Duration::from_secs(5);

/// Left of [`WITHIN`] for noticing and for starting.
const LIMIT: Duration = Duration::from_millis(4500);

/// What the engine tells the keeper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum Message {
    /// Look after a process.
    Add {
        /// Its pid.
        pid: u32,
        /// Its start time, as in [`ProcessKey`].
        start: u64,
        /// Whether it ends with the engine; else it is continued.
        end: bool,
    },
    /// Forget a process.
    Remove {
        /// Its pid.
        pid: u32,
        /// Its start time.
        start: u64,
    },
    /// Look after every process with this mark in its environment.
    Mark {
        /// The value of `DAPTREE_TREE`.
        mark: String,
        /// Whether they end with the engine; else they are continued.
        end: bool,
    },
    /// Forget a mark: its processes were let go.
    Unmark {
        /// The value of `DAPTREE_TREE`.
        mark: String,
    },
    /// Read the streams that come with it, once the engine is gone.
    Hold,
    /// The engine ends in order: there is nothing to end.
    Bye,
}

/// What the keeper was told and not told to forget.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Kept {
    processes: BTreeMap<ProcessKey, bool>,
    marks: BTreeMap<String, bool>,
}

impl Kept {
    /// Applies a message; true when it was `bye`.
    pub fn apply(&mut self, message: Message) -> bool {
        match message {
            Message::Add { pid, start, end } => {
                self.processes.insert(ProcessKey { pid, start }, end);
            }
            Message::Remove { pid, start } => {
                self.processes.remove(&ProcessKey { pid, start });
            }
            Message::Mark { mark, end } => {
                self.marks.insert(mark, end);
            }
            Message::Unmark { mark } => {
                self.marks.remove(&mark);
            }
            Message::Hold => {}
            Message::Bye => return true,
        }
        false
    }

    /// The messages that tell all of it to a new keeper.
    pub fn replay(&self) -> Vec<Message> {
        let marks = self.marks.iter().map(|(mark, end)| Message::Mark {
            mark: mark.clone(),
            end: *end,
        });
        let processes = self.processes.iter().map(|(key, end)| Message::Add {
            pid: key.pid,
            start: key.start,
            end: *end,
        });
        marks.chain(processes).collect()
    }

    fn named(&self, end: bool) -> Vec<ProcessKey> {
        let listed = self
            .processes
            .iter()
            .filter(|(_, it)| **it == end)
            .map(|(key, _)| *key);
        let marked = self.marks.iter().filter(|(_, it)| **it == end);
        let mut found: Vec<ProcessKey> = listed.collect();
        found.extend(marked.flat_map(|(mark, _)| table::marked(mark)));
        found
    }

    /// Those to end; what was listed as kept is spared, whatever its mark.
    fn to_end(&self) -> Vec<ProcessKey> {
        let us = std::process::id();
        let mut found = self.named(true);
        found.retain(|key| key.pid != us && self.processes.get(key) != Some(&false));
        found
    }

    /// The engine is dead: continues what goes on, ends what ends. Returns what would not end.
    async fn release(&self) -> Vec<ProcessKey> {
        for key in self.named(false) {
            if self.processes.get(&key) != Some(&true) {
                // Gone already, or another user's: nothing can be done for it.
                let _ = pidfd::signal(key, Signal::CONT);
            }
        }
        ending::end_all(|| self.to_end(), ending::GRACE, LIMIT).await
    }
}

/// The keeper's `main`: returns its exit status, 0 when nothing is left that should have ended.
/// Call it first of all in the process: it closes every descriptor above 2.
pub fn keeper_main() -> i32 {
    kernel::close_from(3);
    kernel::ignore_ending_signals();
    let mut kept = Kept::default();
    let mut inbox = Inbox::new(rustix::stdio::stdin());
    // A line that is no message is of another version: the others still count.
    let bye = loop {
        let Some(line) = inbox.line() else {
            break false;
        };
        if serde_json::from_slice(&line).is_ok_and(|message| kept.apply(message)) {
            break true;
        }
    };
    let left = if bye {
        Some(0)
    } else {
        end_what_is_left(&kept)
    };
    streams::read_to_their_ends(inbox.into_streams());
    i32::from(left != Some(0))
}

/// Does the work of [`Kept::release`]; gives how many would not end.
fn end_what_is_left(kept: &Kept) -> Option<usize> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let left = runtime.map(|runtime| runtime.block_on(kept.release()));
    left.ok().map(|left| left.len())
}

#[cfg(test)]
mod tests;
