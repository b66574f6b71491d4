//! "Verified, but can never be hit here": what a process says of the files that breakpoints are in,
//! looked for a moment after they were set, once a file or twice while it is not loaded, never at
//! a stop. It must not know how the process is asked.

use super::super::requests::Asked;
use super::super::timers::Timer;
use super::super::{Phase, Tree};
use crate::adapter::{Found, LoadedAs};
use daptree_model::{BreakpointAt, BreakpointStatus, Event, Follow, PathMap, Reach, RowId};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

/// When a file is looked for after it was told, in ms.
const FIRST: u64 = 1_000;
/// When it is looked for once more while it is not loaded, in ms.
const SECOND: u64 = 4_000;
/// How often it is looked for.
const LOOKS: u32 = 2;

impl Tree {
    /// A session was told of a file.
    pub(super) fn look_later(&mut self, row: RowId) {
        let Some(data) = self.rows.get_mut(&row).filter(|data| !data.looking) else {
            return;
        };
        data.looking = true;
        self.timers.set(self.now.after(FIRST), Timer::Look(row));
    }

    /// Asks a session for the files that were not looked for often enough.
    pub(in super::super) fn look(&mut self, row: RowId) {
        let files = self.unseen(row);
        let Some(data) = self.rows.get_mut(&row) else {
            return;
        };
        data.looking = false;
        let live = data.is_live() && data.view.follow == Follow::Adopted;
        let (connection, root) = (data.connection, data.view.root);
        let ready = connection.and_then(|id| self.phase(id)) == Some(Phase::Live);
        if !live || !ready || files.is_empty() {
            return;
        }
        let told: Vec<String> = files
            .iter()
            .flat_map(|file| self.told_paths(file))
            .collect();
        let expression = self
            .policy_of(root)
            .and_then(|policy| policy.loaded_expression(&told));
        let Some(expression) = expression else {
            return;
        };
        let arguments = json!({ "expression": expression, "context": "watch" });
        let files = files.into_iter().collect();
        self.ask_row(row, "evaluate", arguments, Asked::Look { files }, None);
    }

    /// Files of this session's breakpoints that are worth a look.
    fn unseen(&self, row: RowId) -> BTreeSet<String> {
        let Some(data) = self.rows.get(&row) else {
            return BTreeSet::new();
        };
        self.breakpoints
            .values()
            .filter(|known| {
                let told = known.sessions.get(&row);
                told.is_some_and(|status| *status != BreakpointStatus::Pending)
                    && !matches!(
                        known.reach.get(&row),
                        Some(Reach::Loaded | Reach::Never { .. })
                    )
            })
            .filter_map(|known| known.spec.at.path())
            .filter(|path| {
                let looks = data.looks.get(*path).copied().unwrap_or_default();
                looks < LOOKS
            })
            .map(str::to_owned)
            .collect()
    }

    /// A session says how the files are loaded.
    pub(in super::super) fn looked(&mut self, row: RowId, files: &[String], value: Option<&str>) {
        let policy = self.view(row).and_then(|view| self.policy_of(view.root));
        let all = policy
            .zip(value)
            .and_then(|(policy, value)| policy.loaded_in(value));
        let Some(all) = all else {
            return;
        };
        let mut again = false;
        for file in files {
            let names = self.told_paths(file);
            let of_file: Vec<&Found> = all
                .iter()
                .filter(|found| names.contains(&found.path))
                .collect();
            let reach = reach_of(file, &of_file);
            if let Some(data) = self.rows.get_mut(&row) {
                let looks = data.looks.entry(file.clone()).or_default();
                *looks += 1;
                again |= reach == Reach::NotYet && *looks < LOOKS;
            }
            self.reaches(row, file, &reach);
        }
        if again {
            if let Some(data) = self.rows.get_mut(&row) {
                data.looking = true;
            }
            self.timers.set(self.now.after(SECOND), Timer::Look(row));
        }
    }

    fn reaches(&mut self, row: RowId, file: &str, reach: &Reach) {
        let mut told = Vec::new();
        for known in self.breakpoints.values_mut() {
            let BreakpointAt::Line { path, line } = &known.spec.at else {
                continue;
            };
            let status = known.sessions.get(&row);
            if path != file || status.is_none() || known.reach.get(&row) == Some(reach) {
                continue;
            }
            if let (Some(BreakpointStatus::Verified), Reach::Never { reason, .. }) = (status, reach)
            {
                told.push(Event::Breakpoint {
                    row,
                    path: path.clone(),
                    line: *line,
                    verified: false,
                    message: Some(reason.clone()),
                });
            }
            Arc::make_mut(known).reach.insert(row, reach.clone());
            self.dirty = true;
        }
        for event in told {
            self.event(event);
        }
    }
}

/// What the answers for a file, under each of its names, come to.
fn reach_of(file: &str, found: &[&Found]) -> Reach {
    if found.iter().any(|found| found.how == LoadedAs::Itself) {
        return Reach::Loaded;
    }
    let never = found.iter().find_map(|found| match &found.how {
        LoadedAs::Copy(other) => Some(Reach::Never {
            reason: format!("it runs a copy of this file, {other}"),
            offer: Some(map_between(file, other)),
        }),
        LoadedAs::Code(other) => Some(Reach::Never {
            reason: format!("its code was compiled as {other}"),
            offer: Some(map_between(file, other)),
        }),
        LoadedAs::Lost(other) => Some(Reach::Never {
            reason: format!(
                "its code was compiled as {other}, which is not there: remove the compiled file, \
                 or compile it again in its place"
            ),
            offer: None,
        }),
        LoadedAs::Itself | LoadedAs::Nothing => None,
    });
    never.unwrap_or(Reach::NotYet)
}

/// The map that makes one file of the other: of the folders where more than the name is the same.
fn map_between(local: &str, remote: &str) -> PathMap {
    let (mut here, mut there) = (local, remote);
    // The lowest common folder stays in the map, so that it takes in no more than it must.
    while let (Some((above, last)), Some((other, theirs))) =
        (here.rsplit_once('/'), there.rsplit_once('/'))
    {
        let further = above
            .rsplit_once('/')
            .zip(other.rsplit_once('/'))
            .is_some_and(|(a, b)| !a.1.is_empty() && a.1 == b.1);
        if last != theirs || !further {
            break;
        }
        (here, there) = (above, other);
    }
    PathMap {
        local: here.to_owned(),
        remote: there.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_takes_in_what_both_paths_share() {
        for (local, remote, wanted) in [
            (
                "/w/shop/pkg/sub/a.py",
                "/w/shop/build/lib/pkg/sub/a.py",
                ("/w/shop/pkg", "/w/shop/build/lib/pkg"),
            ),
            ("/w/a.py", "/v/a.py", ("/w/a.py", "/v/a.py")),
            ("/w/a.py", "/old/b.py", ("/w/a.py", "/old/b.py")),
            ("/w/p/a.py", "/v/p/a.py", ("/w/p", "/v/p")),
        ] {
            let map = map_between(local, remote);
            assert_eq!((map.local.as_str(), map.remote.as_str()), wanted, "{local}");
            assert_eq!(map.to_remote(local).as_deref(), Some(remote));
        }
    }
}
