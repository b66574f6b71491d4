//! Groups, and what ends rows or lets them go: which row a key means, whether it asks first, and what
//! is said of the answers. It must not draw the question.

use super::keys::{command, focus_row};
use crate::commands::{Act, Pane};
use crate::rows;
use crate::state::{Action, Confirm, Dialog, Lifecycle, UiState};
use daptree_model::{Answer, Op, Row, RowId, Snapshot, TreeOrigin};

/// The row that a key is about: the selected one in the tree, else the focus session.
fn meant<'a>(state: &UiState, snapshot: &'a Snapshot) -> Option<&'a Row> {
    if state.pane() == Pane::Tree
        && let Some(row) = state.tree.selected.and_then(|id| snapshot.rows.get(&id))
    {
        return Some(row);
    }
    focus_row(state, snapshot)
}

/// Whether a row lies in a subtree that stops as one.
pub(super) fn is_of_world(snapshot: &Snapshot, row: &Row) -> bool {
    snapshot.upward(row.id).any(|above| above.stops_world)
}

/// Pauses all, or makes a tree or subtree stop as one.
pub(super) fn group(state: &mut UiState, snapshot: &Snapshot, act: Act, actions: &mut Vec<Action>) {
    let Some(row) = meant(state, snapshot) else {
        state.hint("there is no session yet");
        return;
    };
    let op = match act {
        Act::PauseAll => Op::PauseAll(row.root),
        Act::StopSubtree => Op::StopTheWorld(row.id, !row.stops_world),
        _ => {
            let on = snapshot
                .rows
                .get(&row.root)
                .is_some_and(|root| root.stops_world);
            Op::StopTheWorld(row.root, !on)
        }
    };
    actions.push(command(None, op));
}

/// Asks before something ends or is let go; where nothing is alive there is nothing to ask.
pub(super) fn ask(
    state: &mut UiState,
    snapshot: &Snapshot,
    what: Lifecycle,
    actions: &mut Vec<Action>,
) {
    let Some(row) = meant(state, snapshot) else {
        state.hint("there is no session yet");
        return;
    };
    let row = if what.is_of_roots() { row.root } else { row.id };
    let alive = rows::alive_below(snapshot, row);
    let tree = snapshot.tree_of(row);
    let tree_lives = tree.is_some_and(|tree| tree.state.is_live());
    let not_ours = tree.is_some_and(|tree| tree.root == row && tree.origin == TreeOrigin::Attached);
    if not_ours && matches!(what, Lifecycle::Terminate | Lifecycle::Restart) {
        // The engine says why not.
        actions.push(command(None, what.op(row)));
        return;
    }
    if alive > 0 || (tree_lives && snapshot.trees.iter().any(|tree| tree.root == row)) {
        state.dialog = Some(Dialog::Confirm(Confirm { what, row }));
        return;
    }
    match what {
        Lifecycle::Terminate | Lifecycle::Detach => {
            let name = name_of(snapshot, row);
            state.hint(format!("{name} has ended, and nothing below it is alive"));
        }
        Lifecycle::Close | Lifecycle::Restart => actions.push(command(None, what.op(row))),
    }
}

fn name_of(snapshot: &Snapshot, row: RowId) -> String {
    let known = snapshot.rows.get(&row);
    known.map_or_else(
        || row.to_string(),
        |known| format!("{} ({row})", known.name),
    )
}

/// Says what came of a command.
pub(super) fn told(state: &mut UiState, snapshot: &Snapshot, op: &Op, answer: &Answer) {
    let Some(row) = op.row() else {
        return;
    };
    let name = name_of(snapshot, row);
    let text = match answer {
        Answer::Closed {
            children_closed,
            process_ended,
            released,
            survivors,
        } => {
            let verb = if *released {
                "was let go"
            } else if *process_ended {
                "was ended"
            } else {
                "was closed"
            };
            let below = with_below(*children_closed);
            if !survivors.is_empty() {
                let pids: Vec<String> = survivors.iter().map(u32::to_string).collect();
                let text = format!("{name} {verb}{below}; still alive: pid {}", pids.join(", "));
                state.say(text, true);
                return;
            }
            format!("{name} {verb}{below}")
        }
        Answer::Restarted { children_closed } => {
            format!("{name} starts again{}", closed_before(*children_closed))
        }
        Answer::Detached { children_released } => {
            format!("{name} lives on{}", with_below(*children_released))
        }
        Answer::Told(0) => match op {
            Op::PauseAll(_) => "no session runs".to_owned(),
            _ => return,
        },
        Answer::Told(count) => match op {
            Op::PauseAll(_) => format!("pausing {}", rows::counted(*count as usize, "session")),
            _ => return,
        },
        Answer::Done => match op {
            Op::StopTheWorld(_, true) => format!("one stop holds all of {name}"),
            Op::StopTheWorld(_, false) => format!("a stop of {name} holds nobody else"),
            _ => return,
        },
        _ => return,
    };
    state.say(text, false);
}

fn with_below(count: u32) -> String {
    match count {
        0 => String::new(),
        count => format!(
            " with {} below it",
            rows::counted(count as usize, "session")
        ),
    }
}

fn closed_before(count: u32) -> String {
    match count {
        0 => String::new(),
        count => format!(
            "; {} of the last run closed",
            rows::counted(count as usize, "session")
        ),
    }
}
