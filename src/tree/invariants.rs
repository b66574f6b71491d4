//! What must hold after every step of the core. Checked in debug builds and in simulation.

use super::Tree;
use super::row::RowData;
use super::timers::Timer;
use daptree_model::{RowId, RowState, TreeState};

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
        adoption(tree, *id)?;
        if view.is_ended() && (data.arriving.is_some() || view.held || view.pausing) {
            return Err(format!("{id} ended and still stops"));
        }
        let shown = data.shown.as_ref().map_or(0, |shown| shown.stop.0);
        let fetched = data.inspect.stop.0;
        if shown > view.stop.0 || (fetched > view.stop.0 && data.arriving.is_none()) {
            return Err(format!("{id} is looked at past its stop {}", view.stop));
        }
        if data.arriving.is_some() && fetched <= view.stop.0 {
            return Err(format!("{id} stops again at its stop {fetched}"));
        }
    }
    for (connection, data) in &tree.connections {
        if !tree.rows.contains_key(&data.row) {
            return Err(format!("{connection} serves {}, which is gone", data.row));
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
    for (root, data) in &tree.trees {
        let ending = tree.endings.values().any(|ending| ending.is_of(*root));
        if data.state == TreeState::Ending && !ending {
            return Err(format!("the tree of {root} is being ended by nobody"));
        }
    }
    worlds(tree)?;
    commands(tree)
}

/// Nobody runs in a world that stands, and nobody stands in one that runs.
fn worlds(tree: &Tree) -> Result<(), String> {
    for world in tree.worlds() {
        let members = tree.subtree(world);
        let alone = tree.any(&members, RowData::stands_alone);
        let steps = tree.any(&members, RowData::steps);
        for id in members {
            if alone && tree.should_be_held(id) {
                return Err(format!("{id} runs while the world of {world} stands"));
            }
            let held = tree.rows.get(&id).is_some_and(RowData::is_held_by_world);
            if held && !alone && !steps {
                return Err(format!("{id} is held and the world of {world} runs"));
            }
        }
    }
    Ok(())
}

/// Who is parked has a deadline, and nobody else has one.
fn adoption(tree: &Tree, id: RowId) -> Result<(), String> {
    let Some(data) = tree.rows.get(&id) else {
        return Ok(());
    };
    match data.adopt_by {
        None if data.releasing => Err(format!("{id} is being let go without a deadline")),
        None if data.view.state == RowState::Adopting => {
            Err(format!("{id} is being adopted without a deadline"))
        }
        Some(_) if data.view.is_ended() && !data.releasing => {
            Err(format!("{id} ended and still waits for its adoption"))
        }
        Some(by) if !tree.timers.holds(by, &Timer::Adoption(id)) => {
            Err(format!("nothing happens to {id} when its adoption is late"))
        }
        _ => Ok(()),
    }
}

/// Every command that is not answered has somebody who will answer it, and nobody waits for what
/// is there already.
fn commands(tree: &Tree) -> Result<(), String> {
    for asker in tree.open_commands.keys() {
        let served = tree.waits.iter().any(|wait| wait.asker == *asker)
            || tree.pending.values().any(|p| p.asker == Some(*asker))
            || tree
                .connections
                .values()
                .any(|c| c.lane.askers().any(|waits| waits == *asker))
            || tree.endings.values().any(|e| e.asker() == Some(*asker))
            || tree.shutdowns.contains(asker)
            || tree.examinations.values().any(|e| e.asker() == *asker)
            || tree.partings.iter().any(|p| p.asker() == Some(*asker))
            || tree.rows.values().any(|row| row.adopter == Some(*asker));
        if !served {
            return Err(format!("nobody will answer {} of {}", asker.1, asker.0));
        }
    }
    for wait in &tree.waits {
        if !tree.open_commands.contains_key(&wait.asker) {
            return Err(format!("a wait on {} is nobody's command", wait.row));
        }
        if tree.settled(wait.row).is_some() {
            return Err(format!("a wait on {} is over and goes on", wait.row));
        }
    }
    Ok(())
}

/// Walking up from a row comes to a root of its own tree and never back.
fn forest(tree: &Tree, start: RowId) -> Result<(), String> {
    let mut at = start;
    for _ in 0..=tree.rows.len() {
        let Some(data) = tree.rows.get(&at) else {
            return Err(format!("{start} hangs on {at}, which is gone"));
        };
        match data.view.parent {
            Some(parent) => at = parent,
            None if data.view.root == at => return Ok(()),
            None => return Err(format!("{at} has no parent and is no root")),
        }
    }
    Err(format!("{start} is its own ancestor"))
}
