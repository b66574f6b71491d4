//! What must hold after every step of the core. Checked in debug builds and in simulation.

use super::Tree;
use daptree_model::{RowId, RowState};
use std::collections::BTreeSet;

/// Says which invariant is broken, if one is.
pub fn check(tree: &Tree) -> Result<(), String> {
    for (id, data) in &tree.rows {
        let view = &data.view;
        if view.id != *id {
            return Err(format!("{id} says that it is {}", view.id));
        }
        forest(tree, *id)?;
        if view.is_paused() != view.stopped.is_some() {
            return Err(format!(
                "{id} is {:?} with stop {:?}",
                view.state, view.stopped
            ));
        }
        if view.state == RowState::Paused && view.stop.0 == 0 {
            return Err(format!("{id} is paused and was never stopped"));
        }
        if let Some(connection) = data.connection {
            let Some(known) = tree.connections.get(&connection) else {
                return Err(format!("{id} names {connection}, which is closed"));
            };
            if known.row != *id {
                return Err(format!("{id} names {connection}, which is {}'s", known.row));
            }
        }
        if view.is_ended() && data.adopt_by.is_some() {
            return Err(format!("{id} ended and still waits for its adoption"));
        }
    }
    for (key, pending) in &tree.pending {
        if !tree.connections.contains_key(&key.0) {
            return Err(format!(
                "{} waits on {}, which is closed",
                pending.command, key.0
            ));
        }
    }
    for root in tree.trees.keys() {
        if !tree.rows.contains_key(root) {
            return Err(format!("the tree of {root} has no root"));
        }
    }
    for wait in &tree.waits {
        if !tree.open_commands.contains_key(&wait.asker) {
            return Err(format!("a wait on {} is nobody's command", wait.row));
        }
    }
    Ok(())
}

/// Walking up from a row comes to a root of its own tree and never back.
fn forest(tree: &Tree, start: RowId) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    let mut at = start;
    loop {
        if !seen.insert(at) {
            return Err(format!("{start} is its own ancestor"));
        }
        let Some(data) = tree.rows.get(&at) else {
            return Err(format!("{start} hangs on {at}, which is gone"));
        };
        match data.view.parent {
            Some(parent) => at = parent,
            None if data.view.root == at => return Ok(()),
            None => return Err(format!("{at} has no parent and is no root")),
        }
    }
}
