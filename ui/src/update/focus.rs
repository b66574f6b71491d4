//! The focus rules: which session the keys act on, and when that changes by itself. After
//! `continue` it goes to the next stopped session, while stepping it stays, a focus session that
//! runs gives way to the next stop when nothing else stood already, and nothing else moves it.

use crate::rows::takes_focus;
use crate::state::UiState;
use daptree_model::{Interest, Op, Row, RowId, Snapshot, StopNumber};

/// Whether a session stands at a stop that it was not told to leave.
pub(super) fn stands(state: &UiState, row: &Row) -> bool {
    row.is_paused() && state.moves.left.get(&row.id) != Some(&row.stop)
}

/// Stopped sessions in tree order, those after `from` first, `from` itself last.
fn stopped_after(state: &UiState, snapshot: &Snapshot, from: Option<RowId>) -> Vec<RowId> {
    let stops = |row: &Row| takes_focus(row) && !row.held && stands(state, row);
    ring(snapshot, from, stops)
}

/// Rows that fit, in tree order, those after `from` first, `from` itself last.
fn ring(snapshot: &Snapshot, from: Option<RowId>, fits: impl Fn(&Row) -> bool) -> Vec<RowId> {
    let order = snapshot.preorder();
    let at = order
        .iter()
        .position(|(id, _)| Some(*id) == from)
        .map_or(0, |at| at + 1);
    let (before, after) = order.split_at(at.min(order.len()));
    after
        .iter()
        .chain(before)
        .map(|(id, _)| *id)
        .filter(|id| snapshot.rows.get(id).is_some_and(|row| fits(row)))
        .collect()
}

/// Puts the focus on a session; the selection follows.
pub(super) fn set(state: &mut UiState, row: RowId) {
    if state.focus != Some(row) {
        state.focus = Some(row);
        state.output.top = None;
        state.output.found = None;
        state.output.scan = None;
    }
    state.moves.stepping = false;
    state.moves.missed = None;
    state.tree.selected = Some(row);
    to_top_frame(state);
}

fn to_top_frame(state: &mut UiState) {
    state.thread = None;
    state.frame = 0;
    state.source.opened = None;
    state.source.followed = None;
    state.stack.cursor = usize::MAX;
}

/// The focus session was told to step from a stop.
pub(super) fn step(state: &mut UiState, row: RowId, stop: StopNumber) {
    state.moves.left.insert(row, stop);
    state.moves.stepping = true;
}

/// The focus session was told to go on from a stop.
pub(super) fn go_on(state: &mut UiState, snapshot: &Snapshot, row: RowId, stop: StopNumber) {
    state.moves.left.insert(row, stop);
    state.moves.stepping = false;
    if let Some(next) = stopped_after(state, snapshot, state.focus).first() {
        set(state, *next);
    }
}

/// A step that has not come back is not waited for any more: the session runs already, so the
/// focus goes to the next stopped session. Says whether there was such a step.
pub(super) fn leave_step(state: &mut UiState, snapshot: &Snapshot) -> bool {
    if !state.moves.stepping {
        return false;
    }
    let others = stopped_after(state, snapshot, state.focus);
    let Some(next) = others.first().filter(|next| Some(**next) != state.focus) else {
        return false;
    };
    state.moves.stepping = false;
    set(state, *next);
    true
}

/// Every stopped session was told to go on.
pub(super) fn all_go_on(state: &mut UiState, snapshot: &Snapshot) {
    for row in snapshot.rows.values().filter(|row| row.is_paused()) {
        state.moves.left.insert(row.id, row.stop);
    }
    state.moves.stepping = false;
}

/// A command was refused: what it was about still stands where it stood.
pub(super) fn refused(state: &mut UiState, op: &Op, expect: Option<StopNumber>) {
    let row = match op {
        Op::Continue(row) | Op::Next(row, _) | Op::StepIn(row, _) | Op::StepOut(row, _) => *row,
        Op::ContinueAll(_) => {
            state.moves.left.clear();
            return;
        }
        _ => return,
    };
    if state.moves.left.get(&row).copied() == expect {
        state.moves.left.remove(&row);
    }
    if state.focus == Some(row) {
        state.moves.stepping = false;
    }
}

/// The next or previous session, or stopped session, in tree order.
pub(super) fn cycle(state: &mut UiState, snapshot: &Snapshot, forward: bool, stopped: bool) {
    let mut found = if stopped {
        stopped_after(state, snapshot, state.focus)
    } else {
        ring(snapshot, state.focus, takes_focus)
    };
    found.retain(|id| Some(*id) != state.focus);
    let next = if forward { found.first() } else { found.last() };
    match next {
        Some(next) => set(state, *next),
        None if stopped => state.hint("no other session is stopped"),
        None => state.hint("there is no other session"),
    }
}

/// Looks at a new snapshot.
pub(super) fn observe(state: &mut UiState, snapshot: &Snapshot) {
    state.moves.left.retain(|id, stop| {
        let row = snapshot.rows.get(id);
        // One that its world holds after its own stop does not run.
        row.is_some_and(|row| row.is_paused() && row.stop == *stop && !row.held)
    });
    let fresh: Vec<RowId> = snapshot
        .rows
        .values()
        .filter(|row| row.is_paused() && state.moves.seen.get(&row.id) != Some(&row.stop))
        .map(|row| row.id)
        .collect();
    let stood_before = snapshot.rows.values().any(|row| {
        Some(row.id) != state.focus
            && takes_focus(row)
            && !row.held
            && stands(state, row)
            && !fresh.contains(&row.id)
    });
    state.moves.seen = snapshot
        .rows
        .values()
        .filter(|row| row.is_paused())
        .map(|row| (row.id, row.stop))
        .collect();

    let present = state.focus.and_then(|id| snapshot.rows.get(&id));
    let Some(present) = present else {
        state.focus = None;
        let stopped = stopped_after(state, snapshot, None);
        let first = stopped.first().copied().or_else(|| first_session(snapshot));
        if let Some(row) = first {
            set(state, row);
        }
        return;
    };
    if fresh.contains(&present.id) {
        state.moves.stepping = false;
        state.moves.missed = None;
        to_top_frame(state);
        return;
    }
    if stands(state, present) {
        return;
    }
    if present.is_ended() || !takes_focus(present) {
        state.moves.stepping = false;
    }
    let gives_way = present.is_ended() || !stood_before;
    if state.moves.stepping || !gives_way {
        return;
    }
    let next = stopped_after(state, snapshot, state.focus)
        .into_iter()
        .find(|id| fresh.contains(id));
    if let Some(next) = next {
        if state.is_typing() {
            state.moves.missed.get_or_insert(next);
        } else {
            set(state, next);
        }
    }
}

/// Looks where the recorded front end of a replay looked, whenever that has changed.
pub(super) fn follow(state: &mut UiState, snapshot: &Snapshot, looked_at: &Interest) {
    let followed = state.moves.followed.as_ref() == Some(looked_at);
    if followed || !snapshot.rows.contains_key(&looked_at.row) {
        return;
    }
    state.moves.followed = Some(looked_at.clone());
    if state.focus != Some(looked_at.row) {
        set(state, looked_at.row);
    }
    if (state.thread, state.frame) != (looked_at.thread, looked_at.frame) {
        to_top_frame(state);
        (state.thread, state.frame) = (looked_at.thread, looked_at.frame);
    }
    let open = looked_at.open.iter();
    state.variables.open = open.map(|open| (open.path.clone(), open.limit)).collect();
}

/// A stop that came while something was typed takes the focus afterwards, if it still would.
pub(super) fn take_missed(state: &mut UiState, snapshot: &Snapshot) {
    let Some(missed) = state.moves.missed.take() else {
        return;
    };
    let still = snapshot
        .rows
        .get(&missed)
        .is_some_and(|row| stands(state, row) && !row.held);
    let present = state.focus.and_then(|id| snapshot.rows.get(&id));
    let busy = present.is_some_and(|row| stands(state, row)) || state.moves.stepping;
    if still && !busy {
        set(state, missed);
    }
}

fn first_session(snapshot: &Snapshot) -> Option<RowId> {
    let order = snapshot.preorder();
    let session = order
        .iter()
        .find(|(id, _)| snapshot.rows.get(id).is_some_and(|row| takes_focus(row)));
    session.or(order.first()).map(|(id, _)| *id)
}
