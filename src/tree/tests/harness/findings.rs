//! What tests assert on: rows as front ends see them, and what the core sent and did. It must not
//! change anything.

use super::Bench;
use crate::tree::{ConnectionId, Effect};
use daptree_model::{Row, RowId, TreeState};
use serde_json::Value;

impl Bench {
    /// A row as front ends see it.
    pub fn row(&self, row: RowId) -> &Row {
        self.tree
            .view(row)
            .unwrap_or_else(|| panic!("{row} is gone"))
    }

    /// How far a tree has come.
    pub fn state(&self, root: RowId) -> TreeState {
        self.tree.trees[&root].state.clone()
    }

    /// The newest row of a process.
    pub fn row_of(&self, pid: u32) -> Option<RowId> {
        let known = self.tree.rows.iter().rev();
        known
            .filter(|(_, data)| data.view.process.is_some_and(|p| p.pid == pid))
            .map(|(id, _)| *id)
            .next()
    }

    /// The session's connection.
    pub fn connection(&self, row: RowId) -> ConnectionId {
        self.tree.rows[&row]
            .connection
            .unwrap_or_else(|| panic!("{row} has no connection"))
    }

    /// Commands sent on a connection, in order.
    pub fn commands_on(&self, connection: ConnectionId) -> Vec<&str> {
        let on = self.sent.iter().filter(|(id, _)| *id == connection);
        on.map(|(_, request)| request.command.as_str()).collect()
    }

    /// The arguments of the last request of a command.
    pub fn last(&self, command: &str) -> &Value {
        let sent = self.sent.iter().rev();
        let request = sent
            .map(|(_, request)| request)
            .find(|request| request.command == command);
        let request = request.unwrap_or_else(|| panic!("`{command}` was not sent"));
        request.arguments.as_ref().unwrap()
    }

    /// How often a command was sent.
    pub fn count(&self, command: &str) -> usize {
        let sent = self.sent.iter();
        sent.filter(|(_, request)| request.command == command)
            .count()
    }

    /// Whether a process was asked to be ended, and by which effect.
    pub fn was_ended(&self, pid: u32) -> bool {
        self.effects.iter().any(|effect| {
            matches!(effect, Effect::EndProcesses { processes, .. }
                if processes.iter().any(|process| process.pid == pid))
        })
    }

    /// The codes of all notices.
    pub fn notices(&self) -> Vec<&str> {
        let notices = self.tree.notices.iter();
        notices.map(|notice| notice.code.as_str()).collect()
    }
}
