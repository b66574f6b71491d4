//! The prompt of the status bar: searching in a pane and going to a line. Lists and sources are
//! searched at once; output is searched piece by piece, as it is read.

use super::Context;
use crate::commands::Pane;
use crate::rows::{self, Seen, StackRow, VarKind};
use crate::state::{Action, Prompt, PromptKind, Scan, SourceKey, UiState};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use daptree_model::{EngineError, OutputWindow};

/// Lines of output read at a time while searching.
pub(crate) const SCAN_LINES: u32 = 2_000;

/// A key while the prompt is open.
pub(super) fn type_key(
    state: &mut UiState,
    at: &Context<'_>,
    key: KeyEvent,
    actions: &mut Vec<Action>,
) {
    let Some(prompt) = state.prompt.as_mut() else {
        return;
    };
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let search = matches!(prompt.kind, PromptKind::Search(_));
    let goes = search || matches!(prompt.kind, PromptKind::Line(_));
    match key.code {
        KeyCode::Esc => state.prompt = None,
        KeyCode::Char('c' | 'g') if control => state.prompt = None,
        KeyCode::Char('n') if control && search => again(state, at, true),
        KeyCode::Char('p') if control && search => again(state, at, false),
        KeyCode::Char('u') if control => prompt.text.clear(),
        KeyCode::Enter | KeyCode::Down if search => {
            if prompt.text.is_empty() {
                state.prompt = None;
            } else {
                again(state, at, true);
            }
        }
        KeyCode::Up if search => again(state, at, false),
        KeyCode::Enter if goes => go_to_line(state, at),
        KeyCode::Enter => super::breakpoints::typed(state, at, actions),
        KeyCode::Backspace if goes && prompt.text.is_empty() => state.prompt = None,
        KeyCode::Backspace => drop(prompt.text.pop()),
        KeyCode::Char(char) if !control => {
            prompt.text.push(char);
            typed(state, at);
        }
        _ => {}
    }
}

/// The text of the prompt grew: the first match from here on is shown.
pub(super) fn typed(state: &mut UiState, at: &Context<'_>) {
    let Some(Prompt { kind, text }) = state.prompt.clone() else {
        return;
    };
    if let PromptKind::Search(pane) = kind {
        state.searched = text;
        find(state, at, pane, true, true);
    }
}

/// The next or previous match of the last search.
pub(super) fn again(state: &mut UiState, at: &Context<'_>, forward: bool) {
    let pane = match state.prompt {
        Some(Prompt {
            kind: PromptKind::Search(pane),
            ..
        }) => pane,
        _ => state.pane(),
    };
    if state.searched.is_empty() {
        state.hint("nothing was searched for yet: / starts a search");
        return;
    }
    find(state, at, pane, forward, false);
}

fn find(state: &mut UiState, at: &Context<'_>, pane: Pane, forward: bool, here: bool) {
    state.message = None;
    let text = state.searched.clone();
    let matches = |candidate: &str| contains(candidate, &text);
    match pane {
        Pane::Tree => {
            let all = rows::tree(state, at.snapshot);
            let from = all
                .iter()
                .position(|row| Some(row.id) == state.tree.selected);
            let hit = around(all.len(), from.unwrap_or(0), forward, here, |index| {
                let row = all.get(index).and_then(|row| at.snapshot.rows.get(&row.id));
                row.is_some_and(|row| {
                    matches(&row.name)
                        || matches(&row.command.join(" "))
                        || row.process.is_some_and(|p| p.pid.to_string() == text)
                })
            });
            match hit.and_then(|index| all.get(index)) {
                Some(row) => state.tree.selected = Some(row.id),
                None => not_found(state),
            }
        }
        Pane::Source => {
            let source = super::shown(state, at).and_then(|key| at.windows.text(&key));
            let Some(source) = source else {
                return not_found(state);
            };
            let hit = around(source.len(), state.source.cursor, forward, here, |index| {
                source.line(index).is_some_and(matches)
            });
            match hit {
                Some(line) => state.source.cursor = line,
                None => not_found(state),
            }
        }
        Pane::Stack => {
            let Some(seen) = Seen::of(state, at.snapshot, at.windows) else {
                return not_found(state);
            };
            let all = rows::stack(state, &seen);
            let hit = around(
                all.len(),
                state.stack.cursor,
                forward,
                here,
                |index| match all.get(index) {
                    Some(StackRow::Thread(thread, _)) => matches(&thread.name),
                    Some(StackRow::Frame(_, frame)) => {
                        matches(&frame.name) || matches(&frame.source)
                    }
                    Some(StackRow::More(_)) | None => false,
                },
            );
            match hit {
                Some(row) => state.stack.cursor = row,
                None => not_found(state),
            }
        }
        Pane::Variables => {
            let Some(shown) = rows::variables(state, at.snapshot, at.windows) else {
                return not_found(state);
            };
            let all = &shown.rows;
            let cursor = state.variables.list.cursor;
            let hit = around(all.len(), cursor, forward, here, |index| {
                match all.get(index).map(|row| row.kind) {
                    Some(VarKind::Variable(variable)) => {
                        matches(&variable.name) || matches(&variable.value)
                    }
                    _ => false,
                }
            });
            match hit {
                Some(row) => {
                    state.variables.list.cursor = row;
                    state.variables.path = rows::var_path(all, row);
                }
                None => not_found(state),
            }
        }
        Pane::Breakpoints => {
            let all = &at.snapshot.breakpoints;
            let cursor = state.breakpoints.list.cursor;
            let hit = around(all.len(), cursor, forward, here, |index| {
                all.get(index)
                    .is_some_and(|b| matches(&b.spec.at.to_string()))
            });
            match hit.and_then(|index| all.get(index)) {
                Some(b) => state.breakpoints.selected = Some(b.id),
                None => not_found(state),
            }
        }
        Pane::Output => {
            let (_, total) = super::cursor::output_range(state, (at.snapshot, at.windows));
            let last = state.output.found.or(state.output.top).unwrap_or(total);
            let from = match (forward, here) {
                (true, true) => last.min(total.saturating_sub(1)),
                (true, false) => last.saturating_add(1),
                (false, _) => last,
            };
            state.output.scan = Some(Scan {
                text,
                forward,
                at: from,
            });
        }
        Pane::Terminal => state.hint("the terminal is not searched: 5 shows its output"),
    }
}

/// The first row that fits, from `from` on in a direction and once around.
fn around(
    len: usize,
    from: usize,
    forward: bool,
    here: bool,
    fits: impl Fn(usize) -> bool,
) -> Option<usize> {
    if len == 0 {
        return None;
    }
    let from = from.min(len - 1);
    let skip = usize::from(!here);
    (skip..len + skip)
        .map(|step| {
            let step = step % len;
            if forward {
                (from + step) % len
            } else {
                (from + len - step) % len
            }
        })
        .find(|index| fits(*index))
}

/// Whether a text holds what is searched for; capitals count only where some were typed.
pub(crate) fn contains(text: &str, wanted: &str) -> bool {
    if wanted.is_empty() {
        return false;
    }
    if wanted.chars().any(char::is_uppercase) {
        return text.contains(wanted);
    }
    if text.is_ascii() && wanted.is_ascii() {
        let wanted = wanted.as_bytes();
        return text
            .as_bytes()
            .windows(wanted.len())
            .any(|part| part.eq_ignore_ascii_case(wanted));
    }
    text.to_lowercase().contains(wanted)
}

fn not_found(state: &mut UiState) {
    let text = state.searched.clone();
    state.hint(format!("`{text}` is not found"));
}

/// A piece of output has come for the search.
pub(super) fn scanned(state: &mut UiState, result: Result<OutputWindow, EngineError>) {
    let Some(scan) = state.output.scan.clone() else {
        return;
    };
    let window = match result {
        Ok(window) => window,
        Err(error) => {
            state.output.scan = None;
            state.say(format!("search: {error}"), true);
            return;
        }
    };
    let fits = |line: &&daptree_model::OutputLine| {
        let right_side = if scan.forward {
            line.number >= scan.at
        } else {
            line.number < scan.at
        };
        right_side && contains(&line.text, &scan.text)
    };
    let hit = if scan.forward {
        window.lines.iter().find(fits)
    } else {
        window.lines.iter().rev().find(fits)
    };
    if let Some(line) = hit {
        state.output.scan = None;
        state.output.found = Some(line.number);
        state.output.top = Some(line.number.saturating_sub(2));
        return;
    }
    let next = if scan.forward {
        window.lines.last().map(|line| line.number + 1)
    } else {
        window.lines.first().map(|line| line.number)
    };
    let goes_on = if scan.forward {
        next.filter(|next| *next < window.total)
    } else {
        next.filter(|next| *next > window.dropped)
    };
    if let Some(at) = goes_on {
        state.output.scan = Some(Scan { at, ..scan });
    } else {
        state.output.scan = None;
        let side = if scan.forward { "below" } else { "above" };
        state.hint(format!("`{}` is not found {side}", scan.text));
    }
}

fn go_to_line(state: &mut UiState, at: &Context<'_>) {
    let Some(prompt) = state.prompt.take() else {
        return;
    };
    let PromptKind::Line(pane) = prompt.kind else {
        return;
    };
    let words = prompt.text.trim();
    let (path, number) = match words.rsplit_once(':') {
        Some((path, number)) => (Some(path), number),
        None => (None, words),
    };
    let Ok(line) = number.parse::<u64>() else {
        state.hint(format!(
            "`{words}` is no line: type a number, or a path and `:` before it"
        ));
        return;
    };
    if pane == Pane::Output {
        state.output.top = Some(line.saturating_sub(1));
        return;
    }
    if let Some(path) = path {
        let folder = state
            .focus
            .and_then(|row| at.snapshot.tree_of(row))
            .map_or("", |tree| tree.cwd.as_str());
        let full = std::path::Path::new(folder).join(path);
        state.source.opened = Some(SourceKey::file(full.to_string_lossy()));
    }
    state.source.cursor = usize::try_from(line)
        .unwrap_or(usize::MAX)
        .saturating_sub(1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn around_goes_once_and_stops() {
        let hits = [2, 5];
        let find =
            |from, forward, here| around(8, from, forward, here, |index| hits.contains(&index));
        assert_eq!(find(2, true, true), Some(2));
        assert_eq!(find(2, true, false), Some(5));
        assert_eq!(find(5, true, false), Some(2));
        assert_eq!(find(2, false, false), Some(5));
        assert_eq!(find(99, true, true), Some(2));
        assert_eq!(around(3, 0, true, true, |_| false), None);
        assert_eq!(around(0, 0, true, true, |_| true), None);
        assert_eq!(around(1, 0, true, false, |_| true), Some(0));
    }

    #[test]
    fn capitals_count_where_they_are_typed() {
        for (text, wanted, found) in [
            ("ValueError", "valueerror", true),
            ("ValueError", "Value", true),
            ("valueerror", "Value", false),
            ("Straße", "straße", true),
            ("abc", "", false),
            ("ab", "abc", false),
        ] {
            assert_eq!(contains(text, wanted), found, "{text} {wanted}");
        }
    }
}
