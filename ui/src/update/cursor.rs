//! Moves the cursor of each pane and keeps cursors and scroll offsets within what is there.
//! It runs after every input, so that the views only read.

use super::Context;
use crate::commands::{Act, Pane};
use crate::layout::layout;
use crate::paint::line_width;
use crate::rows::{self, Seen, StackRow};
use crate::state::{Followed, ListState, UiState};
use ratatui::layout::Rect;

/// Lines seen around the current one where there is room.
const MARGIN: usize = 3;

fn height(state: &UiState, at: &Context<'_>, pane: Pane) -> usize {
    let area = Rect::new(0, 0, state.size.0, state.size.1);
    layout(state, at.snapshot.breakpoints.len(), area)
        .place(pane)
        .map_or(1, |body| usize::from(body.height.max(1)))
}

/// How many lines of output there are, and how many of them are gone, in the view shown.
pub(crate) fn output_range(
    state: &UiState,
    at: (&daptree_model::Snapshot, &crate::Windows),
) -> (u64, u64) {
    let row = if state.output.whole_tree {
        None
    } else {
        state.focus
    };
    if row.is_none() && !state.output.whole_tree {
        return (0, 0);
    }
    let window = at.1.output.get(&row);
    let counted = row.and_then(|row| at.0.output_lines.get(&row)).copied();
    let total = window.map_or(0, |w| w.total).max(counted.unwrap_or(0));
    (window.map_or(0, |w| w.dropped).min(total), total)
}

/// Columns of the widest line that the source or the output shows.
pub(super) fn widest(state: &UiState, at: &Context<'_>, pane: Pane) -> usize {
    let height = height(state, at, pane);
    let columns = if pane == Pane::Source {
        let text = super::shown(state, at).and_then(|key| at.windows.text(&key));
        let lines = (state.source.top..).take(height);
        lines
            .map_while(|line| text?.line(line))
            .map(line_width)
            .max()
    } else {
        let row = state.focus.filter(|_| !state.output.whole_tree);
        let window = at.windows.output.get(&row);
        let lines = window.map(|window| window.lines.as_slice());
        lines
            .unwrap_or_default()
            .iter()
            .map(|line| line_width(&line.text))
            .max()
    };
    columns.unwrap_or(0)
}

/// Moves in the pane that has the keyboard.
pub(super) fn travel(state: &mut UiState, at: &Context<'_>, act: Act) {
    let pane = state.pane();
    let screenful = height(state, at, pane).saturating_sub(1).max(1);
    let moved = |cursor: usize, len: usize| {
        let last = len.saturating_sub(1);
        let next = match act {
            Act::Up => cursor.saturating_sub(1),
            Act::Down => cursor.saturating_add(1),
            Act::PageUp => cursor.saturating_sub(screenful),
            Act::PageDown => cursor.saturating_add(screenful),
            Act::Top => 0,
            _ => last,
        };
        next.min(last)
    };
    match pane {
        Pane::Tree => {
            let all = rows::tree(state, at.snapshot);
            let here = all.iter().position(|r| Some(r.id) == state.tree.selected);
            let next = all.get(moved(here.unwrap_or(0), all.len()));
            state.tree.selected = next.map(|row| row.id);
        }
        Pane::Source => {
            let len = super::shown(state, at)
                .and_then(|key| at.windows.text(&key))
                .map_or(0, crate::windows::SourceText::len);
            if len > 0 {
                state.source.cursor = moved(state.source.cursor, len);
            }
        }
        Pane::Stack => {
            let len = Seen::of(state, at.snapshot, at.windows)
                .map_or(0, |seen| rows::stack(state, &seen).len());
            state.stack.cursor = moved(state.stack.cursor, len);
        }
        Pane::Variables => {
            if let Some(shown) = rows::variables(state, at.snapshot, at.windows) {
                let next = moved(state.variables.list.cursor, shown.rows.len());
                state.variables.list.cursor = next;
                state.variables.path = rows::var_path(&shown.rows, next);
            }
        }
        Pane::Output => {
            let (dropped, total) = output_range(state, (at.snapshot, at.windows));
            let end = total.saturating_sub(height(state, at, pane) as u64);
            let top = state.output.top.unwrap_or(end);
            let next = match act {
                Act::Up => top.saturating_sub(1),
                Act::Down => top + 1,
                Act::PageUp => top.saturating_sub(screenful as u64),
                Act::PageDown => top + screenful as u64,
                Act::Top => 0,
                _ => u64::MAX,
            };
            state.output.top = (next < end).then_some(next.max(dropped));
            state.output.scan = None;
        }
        Pane::Breakpoints => {
            let all = &at.snapshot.breakpoints;
            let next = moved(state.breakpoints.list.cursor, all.len());
            state.breakpoints.list.cursor = next;
            state.breakpoints.selected = all.get(next).map(|b| b.id);
        }
        Pane::Terminal => {}
    }
}

/// Brings every cursor and offset into range.
pub(super) fn settle(state: &mut UiState, at: &Context<'_>) {
    settle_tree(state, at);
    settle_stack(state, at);
    settle_source(state, at);
    settle_variables(state, at);
    let all = &at.snapshot.breakpoints;
    let mut list = state.breakpoints.list;
    let chosen = all
        .iter()
        .position(|b| Some(b.id) == state.breakpoints.selected);
    list.cursor = chosen.unwrap_or(list.cursor);
    clamp(&mut list, all.len(), height(state, at, Pane::Breakpoints));
    state.breakpoints.list = list;
    state.breakpoints.selected = all.get(list.cursor).map(|b| b.id);

    let (dropped, total) = output_range(state, (at.snapshot, at.windows));
    let end = total.saturating_sub(height(state, at, Pane::Output) as u64);
    if let Some(top) = &mut state.output.top {
        *top = (*top).clamp(dropped.min(end), end.max(dropped));
    }
    if state.locked && super::keys::terminal_root(state, at.snapshot).is_none() {
        state.locked = false;
        state.hint("the program's terminal is gone: the keys are daptree's again");
    }
}

fn clamp(list: &mut ListState, len: usize, height: usize) {
    list.cursor = list.cursor.min(len.saturating_sub(1));
    list.top = offset(list.top, list.cursor, len, height, 0);
}

/// The first row shown, so that the cursor is seen with so many rows around it.
fn offset(top: usize, cursor: usize, len: usize, height: usize, margin: usize) -> usize {
    let margin = margin.min(height.saturating_sub(1) / 2);
    let least = (cursor + margin + 1).saturating_sub(height);
    let most = cursor.saturating_sub(margin);
    top.max(least).min(most).min(len.saturating_sub(height))
}

fn settle_tree(state: &mut UiState, at: &Context<'_>) {
    let all = rows::tree(state, at.snapshot);
    let mut selected = state.tree.selected.or(state.focus);
    let mut cursor = None;
    // A row that is folded away or gone hands the selection to the nearest row above.
    for _ in 0..=at.snapshot.rows.len() {
        cursor = all.iter().position(|row| Some(row.id) == selected);
        if cursor.is_some() {
            break;
        }
        let row = selected.and_then(|id| at.snapshot.rows.get(&id));
        selected = row.and_then(|row| row.parent);
    }
    let mut list = ListState {
        cursor: cursor.unwrap_or(0),
        top: state.tree.top,
    };
    clamp(&mut list, all.len(), height(state, at, Pane::Tree));
    state.tree.top = list.top;
    state.tree.selected = all.get(list.cursor).map(|row| row.id);
    state
        .tree
        .folded
        .retain(|id| at.snapshot.rows.contains_key(id));
}

fn settle_stack(state: &mut UiState, at: &Context<'_>) {
    let Some(seen) = Seen::of(state, at.snapshot, at.windows) else {
        state.stack.top = 0;
        return;
    };
    let frames = seen.frames(state).len();
    if frames > 0 {
        state.frame = state.frame.min(frames - 1);
    }
    let all = rows::stack(state, &seen);
    if state.stack.cursor == usize::MAX {
        let chosen = all
            .iter()
            .position(|row| matches!(row, StackRow::Frame(frame, _) if *frame == state.frame));
        match chosen {
            Some(chosen) => state.stack.cursor = chosen,
            None => return,
        }
    }
    let height = height(state, at, Pane::Stack);
    clamp(&mut state.stack, all.len(), height);
}

fn settle_source(state: &mut UiState, at: &Context<'_>) {
    let height = height(state, at, Pane::Source);
    if state.source.opened.is_none()
        && let Some((key, line)) = rows::frame_source(state, at.snapshot, at.windows)
    {
        let stop = state
            .focus
            .and_then(|id| at.snapshot.rows.get(&id))
            .map(|row| (row.id, row.stop));
        let place = Followed { key, line, stop };
        if state.source.followed.as_ref() != Some(&place) {
            let other_file = state
                .source
                .followed
                .as_ref()
                .is_none_or(|f| f.key != place.key);
            let cursor = (line as usize).saturating_sub(1);
            let seen =
                state.source.top + MARGIN..(state.source.top + height).saturating_sub(MARGIN);
            if other_file {
                state.source.left = 0;
            }
            if other_file || !seen.contains(&cursor) {
                state.source.top = cursor.saturating_sub(height / 2);
            }
            state.source.cursor = cursor;
            state.source.followed = Some(place);
        }
    }
    let text = super::shown(state, at).and_then(|key| at.windows.text(&key));
    if let Some(text) = text {
        let last = text.len().saturating_sub(1);
        state.source.cursor = state.source.cursor.min(last);
        state.source.top = offset(
            state.source.top,
            state.source.cursor,
            text.len(),
            height,
            MARGIN,
        );
    }
}

fn settle_variables(state: &mut UiState, at: &Context<'_>) {
    let Some(shown) = rows::variables(state, at.snapshot, at.windows) else {
        return;
    };
    let all = &shown.rows;
    let mut list = state.variables.list;
    if !rows::has_path(all, list.cursor, &state.variables.path) {
        let found = (0..all.len()).find(|at| rows::has_path(all, *at, &state.variables.path));
        list.cursor = found.unwrap_or(list.cursor);
    }
    clamp(&mut list, all.len(), height(state, at, Pane::Variables));
    state.variables.list = list;
    // Kept when the name is gone for a while: it may be back after the next step.
    if state.variables.path.is_empty() {
        state.variables.path = rows::var_path(all, list.cursor);
    }
}
