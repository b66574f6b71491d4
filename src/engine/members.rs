//! Who belongs to a tree, by the process table. It must not know of rows or sessions.

use crate::process::{ProcessKey, table};
use crate::tree::Seen;
use std::collections::BTreeSet;

/// How far up a process's ancestors are looked at.
const ANCESTORS: usize = 64;

/// How the processes of a tree, or of a part of it, are found; asked again and again while they
/// are being ended.
#[derive(Clone, Debug)]
pub(super) struct Members {
    /// Those known.
    pub processes: Vec<ProcessKey>,
    /// What the environment of every process of the tree holds.
    pub mark: Option<String>,
    /// Also everything below this process but `spared`: orphans with a cleaned environment that
    /// were handed to us.
    pub orphans: bool,
    /// Our own, with all below them: adapters and the keeper.
    pub spared: BTreeSet<u32>,
    /// Our own, but what is below them is the tree's: the leaders of the terminals.
    pub leaders: BTreeSet<ProcessKey>,
}

impl Members {
    /// Those that are there now.
    pub(super) fn find(&self) -> Vec<ProcessKey> {
        let alive: Vec<ProcessKey> = self
            .processes
            .iter()
            .copied()
            .filter(|key| table::is_alive(*key))
            .collect();
        let mut found: BTreeSet<ProcessKey> = alive.iter().copied().collect();
        if let Some(mark) = &self.mark {
            found.extend(table::marked(mark));
        }
        let roots: Vec<u32> = found.iter().map(|key| key.pid).collect();
        found.extend(table::descendants(&roots));
        if self.orphans {
            let spared: Vec<u32> = self.spared.iter().copied().collect();
            let ours: BTreeSet<ProcessKey> = table::descendants(&spared).into_iter().collect();
            let below = table::descendants(&[std::process::id()]);
            found.extend(below.into_iter().filter(|key| !ours.contains(key)));
        }
        found.retain(|key| {
            let ours = self.spared.contains(&key.pid) || self.leaders.contains(key);
            !ours && key.pid != std::process::id()
        });
        found
            .into_iter()
            .filter(|key| table::is_alive(*key))
            .collect()
    }

    /// The same, described.
    pub(super) fn seen(&self) -> Vec<Seen> {
        self.find()
            .into_iter()
            .filter_map(|key| seen(key.pid))
            .collect()
    }
}

/// A process and its ancestors upward, up to this process or the leader of a terminal; empty when
/// it is gone.
pub(super) fn with_ancestors(pid: u32, leaders: &BTreeSet<ProcessKey>) -> Vec<Seen> {
    let mut out = Vec::new();
    let mut next = pid;
    while out.len() < ANCESTORS && next > 1 && next != std::process::id() {
        let Some(found) = seen(next).filter(|found| !leaders.contains(&found.process)) else {
            break;
        };
        next = found.parent;
        out.push(found);
    }
    out
}

/// These processes, as far as they live, and all below them; parents first.
pub(super) fn with_descendants(processes: &[ProcessKey], spared: &BTreeSet<u32>) -> Vec<Seen> {
    let alive = processes
        .iter()
        .copied()
        .filter(|key| table::is_alive(*key));
    let mut found: Vec<ProcessKey> = alive.collect();
    let roots: Vec<u32> = found.iter().map(|key| key.pid).collect();
    found.extend(table::descendants(&roots));
    found.retain(|key| !spared.contains(&key.pid));
    found.into_iter().filter_map(|key| seen(key.pid)).collect()
}

pub(super) fn seen_of(found: table::Described) -> Seen {
    Seen {
        process: found.key,
        parent: found.ppid,
        command: found.argv,
        short_name: found.comm,
        cwd: found.cwd.map(|path| path.to_string_lossy().into_owned()),
    }
}

fn seen(pid: u32) -> Option<Seen> {
    table::describe(pid).map(seen_of)
}
