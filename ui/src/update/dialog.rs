//! Keys while something stands over the panes.

use super::{Context, breakpoints};
use crate::commands::{Act, lookup};
use crate::rows;
use crate::state::{Action, Confirm, Dialog, Leave, UiState};
use crossterm::event::{KeyCode, KeyEvent};
use daptree_model::{Op, Snapshot};

/// Lines that a page of a dialog moves.
const PAGE_LINES: usize = 10;

/// Ends every tree and shows that it is done.
pub(super) fn end(state: &mut UiState, actions: &mut Vec<Action>) {
    state.dialog = Some(Dialog::Ending);
    actions.push(Action::Command {
        expect: None,
        op: Op::Shutdown,
    });
}

/// Keeps what is scrolled within what there is.
pub(super) fn settle(state: &mut UiState, snapshot: &Snapshot) {
    let furthest = crate::view::furthest(state, snapshot);
    if let Some(Dialog::Confirm(asked)) = state.dialog
        && !snapshot.rows.contains_key(&asked.row)
    {
        state.dialog = None;
        state.hint(format!("{} is gone", asked.row));
    }
    if let Some(Dialog::Help(lines) | Dialog::Notices(lines)) = &mut state.dialog {
        *lines = (*lines).min(furthest);
    }
}

pub(super) fn press(
    state: &mut UiState,
    at: &Context<'_>,
    key: KeyEvent,
    actions: &mut Vec<Action>,
) {
    let act = lookup(key, state.pane());
    match state.dialog {
        Some(Dialog::Quit) => match key.code {
            _ if act == Some(Act::Quit) && key.code != KeyCode::Char('q') => end(state, actions),
            KeyCode::Char('e' | 'y') | KeyCode::Enter => end(state, actions),
            KeyCode::Char('c' | 'n') | KeyCode::Esc => state.dialog = None,
            _ => {}
        },
        Some(Dialog::Ending) if act == Some(Act::Quit) => {
            actions.push(Action::Leave(Leave::Quit { ended: false }));
        }
        Some(Dialog::Exceptions(cursor)) => {
            let last = rows::filters(state, at.snapshot).len().saturating_sub(1);
            let next = match (key.code, act) {
                (KeyCode::Char(' '), _) => {
                    breakpoints::toggle_filter(state, at.snapshot, cursor, actions);
                    cursor
                }
                (_, Some(Act::Up)) => cursor.saturating_sub(1),
                (_, Some(Act::Down)) => (cursor + 1).min(last),
                _ => return close(state, act, Act::Exceptions),
            };
            state.dialog = Some(Dialog::Exceptions(next));
        }
        Some(Dialog::Confirm(Confirm { what, row })) => {
            let root = at.snapshot.rows.get(&row).map_or(row, |row| row.root);
            let chosen = match key.code {
                KeyCode::Enter | KeyCode::Char('y') => row,
                KeyCode::Char('t') => root,
                KeyCode::Esc | KeyCode::Char('n' | 'q') => {
                    state.dialog = None;
                    return;
                }
                _ => return,
            };
            state.dialog = None;
            actions.push(Action::Command {
                expect: None,
                op: what.op(chosen),
            });
        }
        Some(Dialog::Help(top)) => {
            let next = match act {
                Some(Act::Up) => top.saturating_sub(1),
                Some(Act::Down) => top.saturating_add(1),
                Some(Act::PageUp) => top.saturating_sub(PAGE_LINES),
                Some(Act::PageDown) => top.saturating_add(PAGE_LINES),
                Some(Act::Top) => 0,
                Some(Act::Bottom) => usize::MAX,
                _ => return close(state, act, Act::Help),
            };
            state.dialog = Some(Dialog::Help(next));
        }
        Some(Dialog::Notices(back)) => {
            let next = match act {
                Some(Act::Up) => back.saturating_add(1),
                Some(Act::Down) => back.saturating_sub(1),
                Some(Act::PageUp) => back.saturating_add(PAGE_LINES),
                Some(Act::Top) => usize::MAX,
                Some(Act::PageDown) => back.saturating_sub(PAGE_LINES),
                Some(Act::Bottom) => 0,
                _ => return close(state, act, Act::Notices),
            };
            state.dialog = Some(Dialog::Notices(next));
        }
        Some(Dialog::Ending) | None => {}
    }
}

fn close(state: &mut UiState, act: Option<Act>, own: Act) {
    if act == Some(own) || matches!(act, Some(Act::Escape | Act::Quit | Act::Open)) {
        state.dialog = None;
    }
}
