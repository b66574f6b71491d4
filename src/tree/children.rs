//! The rows of children: where in the tree a process belongs, what it is, and how it is called. It
//! must not know how a child is adopted or let go.

use super::requests::Asked;
use super::{Run, Seen, Tree};
use crate::adapter::{Identity, Role};
use daptree_model::{Follow, ProcessKey, Row, RowId, RowState};
use serde_json::json;

/// When a name that the program had not given yet is asked for again, in ms after the adoption.
pub(super) const NAMES: [u64; 3] = [600, 1_500, 4_000];

impl Tree {
    /// The live row of a process.
    pub(super) fn live_row_of(&self, process: ProcessKey) -> Option<RowId> {
        self.rows
            .iter()
            .find(|(_, data)| data.is_live() && data.view.process == Some(process))
            .map(|(id, _)| *id)
    }

    pub(super) fn live_sessions(&self, root: RowId) -> usize {
        self.rows
            .values()
            .filter(|data| {
                data.view.root == root && data.is_live() && data.view.follow == Follow::Adopted
            })
            .count()
    }

    /// The row under which a child belongs: its nearest ancestor that has one. What lies between
    /// gets rows of its own; where no ancestor is known any more, it is the reporter.
    pub(super) fn parent_for(&mut self, reporter: RowId, run: Run, seen: &[Seen]) -> RowId {
        let ancestors = seen.get(1..).unwrap_or_default();
        let known = ancestors
            .iter()
            .enumerate()
            .find_map(|(at, seen)| self.live_row_of(seen.process).map(|row| (at, row)));
        let Some((at, mut parent)) = known else {
            return reporter;
        };
        if self.view(parent).is_none_or(|view| view.root != run.root) {
            return reporter;
        }
        for between in ancestors.get(..at).unwrap_or_default().iter().rev() {
            parent = self.add_unfollowed(parent, between);
        }
        parent
    }

    /// A row for a process that is not debugged, for now: not Python.
    pub(super) fn add_unfollowed(&mut self, parent: RowId, seen: &Seen) -> RowId {
        let name = seen
            .command
            .first()
            .and_then(|word| word.rsplit('/').next())
            .filter(|name| !name.is_empty())
            .unwrap_or(&seen.short_name)
            .to_owned();
        let row = self.add_row(Some(parent), |id| Row {
            follow: Follow::Unfollowed,
            reason: Some("not Python".to_owned()),
            state: RowState::Running,
            language: None,
            ..blank(id, seen, name)
        });
        self.watch(row, seen.process);
        self.announce(row);
        row
    }

    pub(super) fn add_child(
        &mut self,
        parent: RowId,
        seen: &Seen,
        identity: Identity,
        language: &str,
    ) -> RowId {
        let above = self.view(parent);
        // A fork has its parent's command line: it is what its parent is.
        let fork = above.filter(|row| row.process.is_some() && row.command == identity.command);
        let (name, program, role) = match fork {
            Some(above) => (
                format!("{} (fork)", above.name),
                above.program.clone(),
                Role::Program,
            ),
            None => (
                identity.name,
                absolute(identity.program, seen.cwd.as_deref()),
                identity.role,
            ),
        };
        let helper = role != Role::Program;
        self.add_row(Some(parent), |id| Row {
            program,
            command: identity.command,
            language: Some(language.to_owned()),
            follow: if helper {
                Follow::Helper
            } else {
                Follow::Adopted
            },
            reason: (role == Role::Tracker).then(|| "a library's tracker, let go".to_owned()),
            state: RowState::Adopting,
            ..blank(id, seen, name)
        })
    }

    /// Asks the program for the name it gave to a process.
    pub(super) fn ask_name(&mut self, row: RowId) {
        let Some(data) = self.rows.get(&row) else {
            return;
        };
        if data.named || data.naming || !data.is_live() || data.view.follow != Follow::Adopted {
            return;
        }
        let root = data.view.root;
        if row == root && data.view.execs == 0 {
            return;
        }
        let expression = self
            .policy_of(root)
            .and_then(|policy| policy.name_expression());
        if let Some(expression) = expression {
            let arguments = json!({ "expression": expression, "context": "watch" });
            let sent = self.ask_row(row, "evaluate", arguments, Asked::Name, None);
            if let Some(data) = self.rows.get_mut(&row) {
                data.naming = sent;
            }
        }
    }

    pub(super) fn name_answered(&mut self, row: RowId, value: Option<&str>) {
        let Some(data) = self.rows.get_mut(&row) else {
            return;
        };
        data.naming = false;
        data.unnamed += 1;
        let root = data.view.root;
        let name = value
            .zip(self.policy_of(root))
            .and_then(|(value, policy)| policy.name_in(value));
        if let Some(name) = name {
            if let Some(data) = self.rows.get_mut(&row) {
                data.named = true;
            }
            if self.view(row).is_some_and(|view| view.name != name) {
                self.change_row(row, |view| view.name = name);
                self.announce(row);
            }
        }
        self.name_settled(row);
    }
}

/// A row of a process that was just seen.
fn blank(id: RowId, seen: &Seen, name: String) -> Row {
    Row {
        process: Some(seen.process),
        command: seen.command.clone(),
        ..Row::new(id, name)
    }
}

/// A program's path as its process sees it, made absolute.
pub(super) fn absolute(program: Option<String>, cwd: Option<&str>) -> Option<String> {
    let program = program?;
    if program.starts_with('/') {
        return Some(program);
    }
    let relative = program.strip_prefix("./").unwrap_or(&program);
    cwd.map(|cwd| format!("{}/{relative}", cwd.trim_end_matches('/')))
}
