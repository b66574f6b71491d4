//! What must hold after every step of the core. Checked in debug builds and in simulation.

use super::row::RowData;
use super::timers::Timer;
use super::{Asker, Tree};
use daptree_model::{Follow, RowId, RowState, TreeState};
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
    below(tree)?;
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
    if !tree.open_commands.is_empty() {
        let served = served(tree);
        if let Some(asker) = tree.open_commands.keys().find(|a| !served.contains(a)) {
            return Err(format!("nobody will answer {} of {}", asker.1, asker.0));
        }
    }
    if tree.waits.is_empty() {
        return Ok(());
    }
    let standing = standing(tree);
    for wait in &tree.waits {
        if !tree.open_commands.contains_key(&wait.asker) {
            return Err(format!("a wait on {} is nobody's command", wait.row));
        }
        let over = !tree.rows.contains_key(&wait.row) || tree.is_over(wait.row);
        if over || standing.contains(&wait.row) {
            return Err(format!("a wait on {} is over and goes on", wait.row));
        }
    }
    Ok(())
}

/// Those whom something that is under way will answer.
fn served(tree: &Tree) -> BTreeSet<Asker> {
    let lanes = tree.connections.values().flat_map(|c| c.lane.askers());
    let waits = tree.waits.iter().map(|wait| wait.asker);
    let pending = tree.pending.values().filter_map(|p| p.asker);
    let endings = tree
        .endings
        .values()
        .filter_map(super::ending::Ending::asker);
    let shutdowns = tree.shutdowns.iter().copied();
    let examinations = tree
        .examinations
        .values()
        .map(super::attach::Examination::asker);
    let partings = tree
        .partings
        .iter()
        .filter_map(super::parting::Parting::asker);
    let adopters = tree.rows.values().filter_map(|row| row.adopter);
    lanes
        .chain(waits)
        .chain(pending)
        .chain(endings)
        .chain(shutdowns)
        .chain(examinations)
        .chain(partings)
        .chain(adopters)
        .collect()
}

/// The rows in or below which a session stands.
fn standing(tree: &Tree) -> BTreeSet<RowId> {
    let mut standing = BTreeSet::new();
    for (id, data) in &tree.rows {
        let view = &data.view;
        let stands = matches!(view.state, RowState::Paused | RowState::Failed)
            && view.follow == Follow::Adopted
            // What its world holds goes on with it.
            && !(view.held && data.of_world);
        let mut at = Some(*id).filter(|_| stands);
        while let Some(above) = at.filter(|above| standing.insert(*above)) {
            at = tree.rows.get(&above).and_then(|data| data.view.parent);
        }
    }
    standing
}

/// Each row knows those below it, and no others.
fn below(tree: &Tree) -> Result<(), String> {
    let mut known = 0;
    for (id, data) in &tree.rows {
        for child in &data.below {
            let parent = tree.rows.get(child).map(|data| data.view.parent);
            if parent != Some(Some(*id)) {
                return Err(format!(
                    "{child} is said to be below {id} and is gone from there"
                ));
            }
        }
        known += data.below.len();
    }
    let hanging = tree.rows.values().filter(|data| data.view.parent.is_some());
    if hanging.count() == known {
        Ok(())
    } else {
        Err("a row is not known to the one that it hangs on".to_owned())
    }
}

/// Walking up from a row comes to a root of its own tree and never back.
fn forest(tree: &Tree, start: RowId) -> Result<(), String> {
    let Some(data) = tree.rows.get(&start) else {
        return Err(format!("{start} is gone"));
    };
    let root = data.view.root;
    let mut at = (start, data.view.parent);
    for _ in 0..=tree.rows.len() {
        let Some(above) = at.1 else {
            if root == at.0 {
                return Ok(());
            }
            let top = at.0;
            return Err(format!(
                "{top} is above {start}, has no parent and is no root"
            ));
        };
        let Some(data) = tree.rows.get(&above) else {
            return Err(format!("{start} hangs on {above}, which is gone"));
        };
        // What is older was looked at before: its own way up is known to be good.
        if above < start && data.view.root == root {
            return Ok(());
        }
        at = (above, data.view.parent);
    }
    Err(format!("{start} is its own ancestor"))
}
