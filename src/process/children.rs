//! Which child of this process belongs to whom. The kernel tells a parent of every child alike;
//! whoever waits takes the status from all others. It must not wait itself: it only answers
//! whether one may.

use super::{ProcessKey, table};
use procfs::process::Stat;
use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    /// Started by `spawn`: its watch reaps it.
    Ours,
    /// A library waits for it.
    Elsewhere,
}

/// Held for reading by whoever starts a child until the child is written down, for writing by
/// the reaper while it decides: a child that ends at once is never taken for an orphan.
static GATE: RwLock<()> = RwLock::new(());
static OWNERS: Mutex<Option<HashMap<ProcessKey, Owner>>> = Mutex::new(None);

fn owners<T>(use_them: impl FnOnce(&mut HashMap<ProcessKey, Owner>) -> T) -> T {
    let mut guard: MutexGuard<'_, _> = OWNERS.lock().unwrap_or_else(PoisonError::into_inner);
    use_them(guard.get_or_insert_default())
}

/// Starts a child that another part waits for (`tokio::process`, `std::process`): `spawn` starts
/// it, `pid` names it. The reaper leaves it alone for good. Blocks while the reaper decides.
pub fn spawn_elsewhere<T>(
    spawn: impl FnOnce() -> io::Result<T>,
    pid: impl FnOnce(&T) -> Option<u32>,
) -> io::Result<T> {
    spawn_as(Owner::Elsewhere, spawn, pid)
}

/// As [`spawn_elsewhere`], for a child that is reaped by the watch on it.
pub(super) fn spawn_ours<T>(
    spawn: impl FnOnce() -> io::Result<T>,
    pid: impl FnOnce(&T) -> Option<u32>,
) -> io::Result<T> {
    spawn_as(Owner::Ours, spawn, pid)
}

fn spawn_as<T>(
    owner: Owner,
    spawn: impl FnOnce() -> io::Result<T>,
    pid: impl FnOnce(&T) -> Option<u32>,
) -> io::Result<T> {
    let _gate = GATE.read().unwrap_or_else(PoisonError::into_inner);
    let spawned = spawn()?;
    if let Some(key) = pid(&spawned).and_then(table::key_of) {
        owners(|map| map.insert(key, owner));
    }
    Ok(spawned)
}

/// Forgets a child that has been reaped.
pub(super) fn forget(key: ProcessKey) {
    owners(|map| map.remove(&key));
}

/// Whether the watch on `key` may reap it. `was_elsewhere`: at the start of the watch it was the
/// child of another process, so that it can only have been handed to us as an orphan.
pub(super) fn may_reap(key: ProcessKey, was_elsewhere: bool) -> bool {
    match owners(|map| map.get(&key).copied()) {
        Some(Owner::Ours) => true,
        Some(Owner::Elsewhere) => false,
        None => was_elsewhere || table::stat(key.pid).is_some_and(|stat| in_foreign_session(&stat)),
    }
}

/// Children that ended, that nobody waits for and that nobody started here: orphans. One that
/// shares our session cannot be told from a child that some library started without saying so;
/// it is left alone unless somebody watches it. Calls `take` while no child can be started.
pub(super) fn each_orphan(mut take: impl FnMut(ProcessKey)) {
    let _gate = GATE.write().unwrap_or_else(PoisonError::into_inner);
    let ended = table::own_children()
        .into_iter()
        .filter(|stat| table::has_ended(stat.state) && in_foreign_session(stat))
        .filter_map(|stat| table::key_in(&stat));
    for key in ended {
        if owners(|map| !map.contains_key(&key)) {
            take(key);
        }
    }
    prune();
}

/// Children reaped by their own library are never announced: drop what is gone.
fn prune() {
    owners(|map| {
        if map.len() > 64 {
            map.retain(|key, _| table::key_of(key.pid) == Some(*key));
        }
    });
}

/// Our own session is asked of the process table too: it is 0 for whoever was started into a new
/// pid namespace by a process outside of it (`bwrap`, `unshare`), and no `getsid` says that.
fn in_foreign_session(stat: &Stat) -> bool {
    table::stat(std::process::id()).is_some_and(|ours| ours.session != stat.session)
}
