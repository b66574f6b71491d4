//! The process table: what `/proc` says about a process now. It must not know which processes
//! matter, nor keep anything: each call looks again.

use super::ProcessKey;
use procfs::process::{Process, Stat};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::PathBuf;

/// The environment variable that marks every process of a tree; its value names the tree.
pub const MARK_VARIABLE: &str = "DAPTREE_TREE";

/// One process as it was when it was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// Its identity.
    pub key: ProcessKey,
    /// The pid of its parent now (an orphan's changes).
    pub ppid: u32,
    /// Its arguments, invalid UTF-8 replaced; empty for a zombie and for kernel threads.
    pub argv: Vec<String>,
    /// The file it runs, where we may know.
    pub exe: Option<PathBuf>,
    /// Its working folder, where we may know.
    pub cwd: Option<PathBuf>,
    /// Its short name, at most 15 bytes.
    pub comm: String,
    /// The letter of its state: `R`, `S`, `D`, `T` (stopped), `t` (traced), `Z` (zombie) …
    pub state: char,
}

/// `/proc/PID/stat`, or `None` when there is no such process.
pub(super) fn stat(pid: u32) -> Option<Stat> {
    Process::new(i32::try_from(pid).ok()?).ok()?.stat().ok()
}

pub(super) fn key_in(stat: &Stat) -> Option<ProcessKey> {
    Some(ProcessKey {
        pid: u32::try_from(stat.pid).ok()?,
        start: stat.starttime,
    })
}

/// The letter of a process that has ended and only waits to be reaped.
pub(super) fn has_ended(state: char) -> bool {
    matches!(state, 'Z' | 'X' | 'x')
}

/// What is known about process `pid`; `None` when there is none.
pub fn describe(pid: u32) -> Option<Described> {
    let process = Process::new(i32::try_from(pid).ok()?).ok()?;
    let stat = process.stat().ok()?;
    let raw = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    Some(Described {
        key: key_in(&stat)?,
        ppid: u32::try_from(stat.ppid).unwrap_or(0),
        argv: arguments(&raw),
        exe: process.exe().ok(),
        cwd: process.cwd().ok(),
        comm: stat.comm,
        state: stat.state,
    })
}

/// Every process that there is, as far as we may know.
pub fn every() -> Vec<Described> {
    every_stat()
        .filter_map(|stat| describe(u32::try_from(stat.pid).ok()?))
        .collect()
}

fn arguments(raw: &[u8]) -> Vec<String> {
    let ended = raw.strip_suffix(b"\0").unwrap_or(raw);
    if raw.is_empty() {
        return Vec::new();
    }
    ended
        .split(|byte| *byte == 0)
        .map(|part| String::from_utf8_lossy(part).into_owned())
        .collect()
}

/// The identity of process `pid`, zombies included; `None` when there is none.
pub fn key_of(pid: u32) -> Option<ProcessKey> {
    key_in(&stat(pid)?)
}

/// Whether this very process still runs (or is stopped). A zombie has ended.
pub fn is_alive(key: ProcessKey) -> bool {
    stat(key.pid).is_some_and(|stat| stat.starttime == key.start && !has_ended(stat.state))
}

/// The living descendants of `roots`, the roots themselves left out, parents before children.
/// One pass over `/proc`; a zombie between is walked through.
pub fn descendants(roots: &[u32]) -> Vec<ProcessKey> {
    let mut below: HashMap<u32, Vec<(ProcessKey, bool)>> = HashMap::new();
    for stat in every_stat() {
        let (Ok(parent), Some(key)) = (u32::try_from(stat.ppid), key_in(&stat)) else {
            continue;
        };
        below
            .entry(parent)
            .or_default()
            .push((key, !has_ended(stat.state)));
    }
    let mut seen: HashSet<u32> = roots.iter().copied().collect();
    let mut open: Vec<u32> = roots.to_vec();
    let mut found = Vec::new();
    while !open.is_empty() {
        let mut next = Vec::new();
        for parent in open {
            for (key, alive) in below.remove(&parent).unwrap_or_default() {
                // A root below another root is no descendant of itself, but its children are.
                if !seen.insert(key.pid) {
                    continue;
                }
                if alive {
                    found.push(key);
                }
                next.push(key.pid);
            }
        }
        open = next;
    }
    found
}

/// The living processes whose environment holds exactly `DAPTREE_TREE=<mark>`, as far as we may
/// read it. The environment is the one a process was started with.
pub fn marked(mark: &str) -> Vec<ProcessKey> {
    let wanted = format!("{MARK_VARIABLE}={mark}").into_bytes();
    let Ok(all) = procfs::process::all_processes() else {
        return Vec::new();
    };
    all.flatten()
        .filter(|process| {
            fs::read(format!("/proc/{}/environ", process.pid))
                .is_ok_and(|raw| raw.split(|byte| *byte == 0).any(|entry| entry == wanted))
        })
        .filter_map(|process| process.stat().ok())
        .filter(|stat| !has_ended(stat.state))
        .filter_map(|stat| key_in(&stat))
        .collect()
}

/// The living processes of the session that `leader` leads or has led, the leader left out.
pub fn led_by(leader: ProcessKey) -> Vec<ProcessKey> {
    session(leader.pid)
        .filter(|stat| !has_ended(stat.state))
        .filter_map(|stat| key_in(&stat))
        .collect()
}

/// The program that the leader of a terminal started: its one child, zombies included.
pub(super) fn program_of(leader: u32) -> Option<ProcessKey> {
    let child = children_of(leader).into_iter().next();
    // A leader that was killed has no child any more, but its session is still known by it.
    let child = child.or_else(|| session(leader).find(|stat| stat.pgrp == stat.pid));
    key_in(&child?)
}

fn session(leader: u32) -> impl Iterator<Item = Stat> {
    let of_leader = move |pid: i32| u32::try_from(pid) == Ok(leader);
    every_stat().filter(move |stat| of_leader(stat.session) && !of_leader(stat.pid))
}

/// The children of this process, zombies included.
pub(super) fn own_children() -> Vec<Stat> {
    children_of(std::process::id())
}

fn children_of(parent: u32) -> Vec<Stat> {
    let tasks = fs::read_dir(format!("/proc/{parent}/task")).ok();
    let listed = tasks.and_then(|tasks| {
        let mut pids: Vec<u32> = Vec::new();
        for task in tasks.flatten() {
            let text = fs::read_to_string(task.path().join("children")).ok()?;
            pids.extend(
                text.split_ascii_whitespace()
                    .filter_map(|pid| pid.parse::<u32>().ok()),
            );
        }
        Some(pids)
    });
    // Kernels built without the `children` files, and a thread that ended while we read.
    let Some(pids) = listed else {
        return every_stat()
            .filter(|stat| u32::try_from(stat.ppid) == Ok(parent))
            .collect();
    };
    pids.into_iter().filter_map(stat).collect()
}

fn every_stat() -> impl Iterator<Item = Stat> {
    procfs::process::all_processes()
        .into_iter()
        .flatten()
        .filter_map(|process| process.ok()?.stat().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::testing::{Piped, wait_until};

    #[test]
    fn arguments_keep_empty_ones_and_replace_what_is_not_text() {
        assert_eq!(arguments(b""), Vec::<String>::new());
        assert_eq!(arguments(b"a\0\0b c\0"), ["a", "", "b c"]);
        assert_eq!(arguments(b"a\xff\0"), ["a\u{fffd}"]);
    }

    #[test]
    fn this_process_is_described() {
        let me = describe(std::process::id()).unwrap();
        assert_eq!(me.exe, std::env::current_exe().ok());
        assert_eq!(me.cwd, std::env::current_dir().ok());
        assert_eq!(me.argv.first(), std::env::args().next().as_ref());
        assert!(is_alive(me.key));
        assert!(!is_alive(ProcessKey {
            start: me.key.start + 1,
            ..me.key
        }));
    }

    #[test]
    fn no_process_is_none_of_it() {
        for pid in [0, u32::MAX, i32::MAX as u32] {
            assert_eq!(describe(pid), None);
            assert_eq!(key_of(pid), None);
        }
        assert_eq!(descendants(&[u32::MAX]), []);
        assert_eq!(marked("no tree has this mark"), []);
    }

    #[test]
    fn descendants_come_parents_first_and_zombies_do_not_count() {
        let mut sh = Piped::start(&[
            "sh",
            "-c",
            "exec 3<&0; sh -c 'echo $$; cat <&3; true' & true & echo $$; cat; true",
        ]);
        let (a, b) = (sh.number(), sh.number());
        let child = if a == sh.pid() { b } else { a };
        wait_until("both cats run", || descendants(&[sh.pid()]).len() == 3);
        let found = descendants(&[sh.pid()]);
        let place = |pid: u32| found.iter().position(|key| key.pid == pid);
        let below = descendants(&[child]);
        assert_eq!(below.len(), 1);
        assert!(place(child) < place(below[0].pid));
        assert_eq!(place(sh.pid()), None);
        assert!(found.iter().all(|key| is_alive(*key)));
    }

    #[test]
    fn the_mark_is_compared_whole() {
        let mut marked_one = Piped::start_with(&["sh", "-c", "echo $$; cat; true"], |command| {
            command.env(MARK_VARIABLE, "table-test-17");
        });
        let pid = marked_one.number();
        let pids = |mark: &str| marked(mark).iter().map(|key| key.pid).collect::<Vec<_>>();
        assert!(pids("table-test-17").contains(&pid));
        assert_eq!(pids("table-test-1"), [] as [u32; 0]);
        assert_eq!(pids(""), [] as [u32; 0]);
    }

    #[test]
    fn a_zombie_is_not_alive() {
        let mut child = Piped::start(&["sh", "-c", "echo $$"]);
        let key = key_of(child.number()).unwrap();
        wait_until("it is a zombie", || {
            describe(key.pid).is_some_and(|it| it.state == 'Z')
        });
        assert!(!is_alive(key));
        assert_eq!(key_of(key.pid), Some(key));
        assert_eq!(describe(key.pid).unwrap().argv, Vec::<String>::new());
    }
}
