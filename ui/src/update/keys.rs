//! Carries out the commands of the table on the pane that has the keyboard and the session that
//! has the focus. Lists are moved in `cursor`, dialogs and prompts are read elsewhere.

use super::{Context, breakpoints, cursor, dialog, focus, lifecycle, search, shown};
use crate::commands::{Act, Pane, key_of, lookup};
use crate::keyboard;
use crate::rows::{self, StackRow, VarKind};
use crate::state::{Action, Dialog, Leave, Lifecycle, Prompt, PromptKind, SourceKey, UiState};
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use daptree_model::{
    BreakpointAt, BreakpointId, BreakpointSpec, Op, PAGE, ReplayOp, Row, RowId, RowState, Snapshot,
    StopNumber,
};

/// Columns that a pane is scrolled sideways at once.
const SIDEWAYS: usize = 8;

/// A key was pressed.
pub(super) fn press(
    state: &mut UiState,
    at: &Context<'_>,
    key: KeyEvent,
    actions: &mut Vec<Action>,
) {
    if key.kind == KeyEventKind::Release {
        return;
    }
    if state.dialog.is_some() {
        dialog::press(state, at, key, actions);
    } else if state.prompt.is_some() {
        search::type_key(state, at, key, actions);
    } else if state.locked {
        type_into_terminal(state, at, key, actions);
    } else if let Some(act) = lookup(key, state.pane()) {
        state.message = None;
        carry_out(state, at, act, actions);
    } else {
        state.hint("this key does nothing here; ? lists the keys");
    }
}

/// Text was pasted: into the prompt or the program, never as commands.
pub(super) fn paste(state: &mut UiState, at: &Context<'_>, text: &str, actions: &mut Vec<Action>) {
    if state.dialog.is_some() {
        return;
    }
    if let Some(prompt) = &mut state.prompt {
        let line = text.lines().next().unwrap_or_default();
        prompt.text.extend(line.chars().filter(|c| !c.is_control()));
        search::typed(state, at);
        return;
    }
    if let (true, Some(root)) = (state.locked, terminal_root(state, at.snapshot)) {
        let bracketed = at
            .windows
            .screen(root)
            .is_some_and(vt100::Screen::bracketed_paste);
        actions.push(Action::Type(root, keyboard::paste(text, bracketed)));
        return;
    }
    state.hint("pasted text is for the terminal: t gives it the keyboard");
}

/// The root whose terminal is shown.
pub(crate) fn terminal_root(state: &UiState, snapshot: &Snapshot) -> Option<RowId> {
    let own = state.focus.and_then(|row| snapshot.tree_of(row));
    own.filter(|tree| tree.has_terminal)
        .or_else(|| snapshot.trees.iter().find(|tree| tree.has_terminal))
        .map(|tree| tree.root)
}

fn type_into_terminal(
    state: &mut UiState,
    at: &Context<'_>,
    key: KeyEvent,
    actions: &mut Vec<Action>,
) {
    // Ctrl-] arrives as Ctrl-5 where the terminal has no better protocol.
    let gives_back = key.modifiers.contains(KeyModifiers::CONTROL)
        && matches!(key.code, KeyCode::Char(']' | '5'));
    let root = terminal_root(state, at.snapshot);
    match root {
        Some(root) if !gives_back => {
            let screen = at.windows.screen(root);
            let application = screen.is_some_and(vt100::Screen::application_cursor);
            let bytes = keyboard::encode(key, application);
            if !bytes.is_empty() {
                actions.push(Action::Type(root, bytes));
            }
        }
        _ => state.locked = false,
    }
}

/// Whether a command would change the programs that are debugged.
fn changes(act: Act) -> bool {
    matches!(
        act,
        Act::Continue
            | Act::Next
            | Act::StepIn
            | Act::StepOut
            | Act::Pause
            | Act::ContinueAll
            | Act::PauseAll
            | Act::StopTheWorld
            | Act::StopSubtree
            | Act::Terminate
            | Act::Close
            | Act::Detach
            | Act::ToggleBreakpoint
            | Act::RemoveBreakpoint
            | Act::EnableBreakpoint
            | Act::Restart
            | Act::LockTerminal
    )
}

fn carry_out(state: &mut UiState, at: &Context<'_>, act: Act, actions: &mut Vec<Action>) {
    let snapshot = at.snapshot;
    let pane = state.pane();
    let replays = snapshot.replay.is_some();
    let act = match act {
        // In a replay the keys of breakpoints are those of the replay.
        Act::EnableBreakpoint if replays => Act::Replay(ReplayOp::Play),
        act => act,
    };
    if replays && changes(act) {
        let next = key_of(Act::Replay(ReplayOp::NextStop));
        state.hint(format!(
            "this is a replay: nothing can be changed; {next} shows the next stop"
        ));
        return;
    }
    match act {
        Act::Replay(op) if replays => actions.push(Action::Replay(op)),
        Act::Replay(_) => state.hint("this key is for replays: daptree replay FILE"),
        Act::Continue => {
            if focus::leave_step(state, snapshot) {
                return;
            }
            if let Some((row, stop)) = stopped_focus(state, snapshot, "goes on only from a stop") {
                actions.push(command(Some(stop), Op::Continue(row)));
                if snapshot
                    .rows
                    .get(&row)
                    .is_some_and(|row| row.held && lifecycle::is_of_world(snapshot, row))
                {
                    focus::all_go_on(state, snapshot);
                } else {
                    focus::go_on(state, snapshot, row, stop);
                }
            }
        }
        Act::Next | Act::StepIn | Act::StepOut => {
            if let Some((row, stop)) = stopped_focus(state, snapshot, "steps only from a stop") {
                let thread = state.thread;
                let op = match act {
                    Act::Next => Op::Next(row, thread),
                    Act::StepIn => Op::StepIn(row, thread),
                    _ => Op::StepOut(row, thread),
                };
                actions.push(command(Some(stop), op));
                focus::step(state, row, stop);
            }
        }
        Act::Pause => pause(state, snapshot, actions),
        Act::ContinueAll => {
            let root = focus_row(state, snapshot).map(|row| row.root);
            match root {
                Some(root) if snapshot.rows.values().any(|row| focus::stands(state, row)) => {
                    actions.push(command(None, Op::ContinueAll(root)));
                    focus::all_go_on(state, snapshot);
                }
                _ => state.hint("nothing is stopped"),
            }
        }
        Act::ToggleBreakpoint => toggle_breakpoint(state, at, actions),
        Act::PauseAll | Act::StopTheWorld | Act::StopSubtree => {
            lifecycle::group(state, snapshot, act, actions);
        }
        Act::Restart => lifecycle::ask(state, snapshot, Lifecycle::Restart, actions),
        Act::Terminate => lifecycle::ask(state, snapshot, Lifecycle::Terminate, actions),
        Act::Close => lifecycle::ask(state, snapshot, Lifecycle::Close, actions),
        Act::Detach => lifecycle::ask(state, snapshot, Lifecycle::Detach, actions),
        Act::NextSession => focus::cycle(state, snapshot, true, false),
        Act::PreviousSession => focus::cycle(state, snapshot, false, false),
        Act::NextStopped => focus::cycle(state, snapshot, true, true),
        Act::PreviousStopped => focus::cycle(state, snapshot, false, true),
        Act::FrameUp => select_frame(state, at, state.frame + 1),
        Act::FrameDown => match state.frame.checked_sub(1) {
            Some(frame) => select_frame(state, at, frame),
            None => state.hint("this is the innermost frame"),
        },
        Act::NextPane | Act::PreviousPane => {
            let here = usize::from(pane.number()) - 1;
            let step = if act == Act::NextPane {
                1
            } else {
                Pane::ALL.len() - 1
            };
            let next = Pane::ALL.get((here + step) % Pane::ALL.len());
            state.show(next.copied().unwrap_or(Pane::Tree));
        }
        Act::ShowPane(pane) => state.show(pane),
        Act::Zoom => state.zoom = !state.zoom,
        Act::Up | Act::Down | Act::PageUp | Act::PageDown | Act::Top | Act::Bottom => {
            cursor::travel(state, at, act);
        }
        Act::Left | Act::Right => sideways(state, at, act == Act::Right),
        Act::Open => open(state, at),
        Act::Search => {
            state.prompt = Some(Prompt {
                kind: PromptKind::Search(pane),
                text: String::new(),
            });
        }
        Act::SearchNext => search::again(state, at, true),
        Act::SearchPrevious => search::again(state, at, false),
        Act::GoToLine => {
            let to = if pane == Pane::Output {
                pane
            } else {
                Pane::Source
            };
            state.show(to);
            state.prompt = Some(Prompt {
                kind: PromptKind::Line(to),
                text: String::new(),
            });
        }
        Act::WholeTree => {
            state.output.whole_tree = !state.output.whole_tree;
            state.output.top = None;
            state.output.found = None;
            state.output.scan = None;
            state.show(Pane::Output);
        }
        Act::LockTerminal => lock(state, snapshot),
        Act::AddFunction
        | Act::RemoveBreakpoint
        | Act::EnableBreakpoint
        | Act::EditCondition
        | Act::EditHits
        | Act::EditMessage
        | Act::EditScope
        | Act::Once
        | Act::AcceptOffer => breakpoints::carry_out(state, snapshot, act, actions),
        Act::Exceptions => state.dialog = Some(Dialog::Exceptions(0)),
        Act::Reload => {
            if let Some(key) = shown(state, at) {
                actions.push(Action::Reload(key));
            }
        }
        Act::Redraw => actions.push(Action::Redraw),
        Act::Notices => state.dialog = Some(Dialog::Notices(0)),
        Act::Help => state.dialog = Some(Dialog::Help(0)),
        Act::Quit => quit(state, snapshot, actions),
        Act::Escape => state.zoom = false,
    }
}

pub(super) fn command(expect: Option<StopNumber>, op: Op) -> Action {
    Action::Command { expect, op }
}

pub(super) fn focus_row<'a>(state: &UiState, snapshot: &'a Snapshot) -> Option<&'a Row> {
    Some(snapshot.rows.get(&state.focus?)?.as_ref())
}

/// The focus session and its stop; says why there is none.
fn stopped_focus(
    state: &mut UiState,
    snapshot: &Snapshot,
    why: &str,
) -> Option<(RowId, StopNumber)> {
    let Some(row) = focus_row(state, snapshot) else {
        state.hint("there is no session yet");
        return None;
    };
    if focus::stands(state, row) {
        return Some((row.id, row.stop));
    }
    let name = &row.name;
    let what = match row.state {
        _ if !row.is_session() => format!("{name} is not debugged"),
        RowState::Ended => format!("{name} has ended"),
        RowState::Failed => format!("the connection to {name} broke"),
        _ if state.moves.stepping => format!("{name} is still stepping"),
        RowState::Created | RowState::Starting | RowState::Adopting => format!("{name} starts"),
        RowState::Running | RowState::Paused => format!("{name} runs"),
    };
    let others = snapshot
        .rows
        .values()
        .filter(|row| focus::stands(state, row) && !row.held && rows::takes_focus(row))
        .count();
    if others > 0 {
        state.hint(format!(
            "{what}: it {why}; }} shows the next of {others} stopped"
        ));
    } else {
        state.hint(format!("{what}: it {why}"));
    }
    None
}

fn pause(state: &mut UiState, snapshot: &Snapshot, actions: &mut Vec<Action>) {
    let Some(row) = focus_row(state, snapshot) else {
        state.hint("there is no session yet");
        return;
    };
    let left = state.moves.left.contains_key(&row.id);
    match row.state {
        RowState::Running | RowState::Paused if row.state == RowState::Running || left => {
            actions.push(command(Some(row.stop), Op::Pause(row.id)));
        }
        RowState::Paused => state.hint(format!("{} is stopped already", row.name)),
        _ => state.hint(format!("{} does not run: it cannot be stopped", row.name)),
    }
}

fn toggle_breakpoint(state: &mut UiState, at: &Context<'_>, actions: &mut Vec<Action>) {
    let Some(key) = shown(state, at) else {
        state.hint("no source is shown: a breakpoint needs a line");
        return;
    };
    if key.reference.is_some() {
        state.hint("this source is no file: breakpoints need one");
        return;
    }
    if at.windows.text(&key).is_none() {
        state.hint(format!(
            "{} is not shown: a breakpoint needs a line",
            key.path
        ));
        return;
    }
    let line = state.source.cursor as u32 + 1;
    let there: Vec<BreakpointId> = rows::breakpoints_at(at.snapshot, &key.path, line)
        .map(|b| b.id)
        .collect();
    if there.is_empty() {
        let spec = BreakpointSpec::line(key.path, line);
        actions.push(command(None, Op::SetBreakpoint(spec)));
    }
    actions.extend(
        there
            .into_iter()
            .map(|id| command(None, Op::RemoveBreakpoint(id))),
    );
}

fn select_frame(state: &mut UiState, at: &Context<'_>, frame: usize) {
    let frames =
        rows::Seen::of(state, at.snapshot, at.windows).map_or(0, |seen| seen.frames(state).len());
    if frame >= frames {
        state.hint(if frames == 0 {
            "there is no stack"
        } else {
            "this is the outermost frame"
        });
        return;
    }
    state.frame = frame;
    state.stack.cursor = usize::MAX;
    state.source.opened = None;
    state.source.followed = None;
}

fn sideways(state: &mut UiState, at: &Context<'_>, right: bool) {
    let pane = state.pane();
    match pane {
        Pane::Tree => return fold_tree(state, at, !right),
        Pane::Variables => return fold_variable(state, at, !right),
        Pane::Source | Pane::Output => {}
        Pane::Stack | Pane::Breakpoints | Pane::Terminal => return,
    }
    let widest = cursor::widest(state, at, pane);
    let left = match pane {
        Pane::Source => &mut state.source.left,
        _ => &mut state.output.left,
    };
    if right {
        // Nobody gets lost where there is no text.
        *left = (*left + SIDEWAYS).min(widest.saturating_sub(SIDEWAYS));
    } else {
        *left = left.saturating_sub(SIDEWAYS);
    }
}

fn fold_tree(state: &mut UiState, at: &Context<'_>, fold: bool) {
    let Some(selected) = state.tree.selected else {
        return;
    };
    let all = rows::tree(state, at.snapshot);
    let has_below = all.iter().any(|row| row.id == selected && row.below > 0);
    if !fold {
        state.tree.folded.remove(&selected);
    } else if has_below && !state.tree.folded.contains(&selected) {
        state.tree.folded.insert(selected);
    } else if let Some(parent) = at.snapshot.rows.get(&selected).and_then(|row| row.parent) {
        state.tree.selected = Some(parent);
    }
}

fn fold_variable(state: &mut UiState, at: &Context<'_>, fold: bool) {
    let Some(shown) = rows::variables(state, at.snapshot, at.windows) else {
        return;
    };
    let cursor = state.variables.list.cursor;
    let Some(row) = shown.rows.get(cursor) else {
        return;
    };
    match (row.open, fold) {
        (Some(true), true) => set_open(state, &shown.rows, cursor, false),
        (Some(false), false) => set_open(state, &shown.rows, cursor, true),
        (_, true) => {
            if let Some(parent) = row.parent {
                state.variables.list.cursor = parent;
                state.variables.path = rows::var_path(&shown.rows, parent);
            }
        }
        (_, false) => {}
    }
}

fn set_open(state: &mut UiState, all: &[rows::VarRow<'_>], index: usize, open: bool) {
    let path = rows::var_path(all, index);
    if let Some(VarKind::Scope(scope)) = all.get(index).map(|row| row.kind) {
        if open {
            state.variables.folded.remove(&scope.name);
        } else {
            state.variables.folded.insert(scope.name.clone());
        }
        let first = all.iter().find_map(|row| match row.kind {
            VarKind::Scope(first) if !first.expensive => Some(&first.name),
            _ => None,
        });
        if first == Some(&scope.name) {
            return;
        }
    }
    if open {
        state.variables.unfold(&path);
    } else {
        state.variables.open.remove(&path);
    }
}

fn open(state: &mut UiState, at: &Context<'_>) {
    match state.pane() {
        Pane::Tree => {
            let row = state.tree.selected.and_then(|id| at.snapshot.rows.get(&id));
            if let Some(row) = row {
                focus::set(state, row.id);
                if let Some(reason) = &row.reason {
                    state.hint(format!("{} is not debugged: {reason}", row.name));
                }
            }
        }
        Pane::Source => {
            state.source.opened = None;
            state.source.followed = None;
        }
        Pane::Stack => {
            let Some(seen) = rows::Seen::of(state, at.snapshot, at.windows) else {
                return;
            };
            match rows::stack(state, &seen).get(state.stack.cursor) {
                Some(StackRow::Thread(thread, _)) => {
                    state.thread = Some(thread.id);
                    state.frame = 0;
                    state.source.opened = None;
                    state.source.followed = None;
                }
                Some(StackRow::Frame(frame, _)) => select_frame(state, at, *frame),
                Some(StackRow::More(_)) | None => {}
            }
        }
        Pane::Variables => open_variable(state, at),
        Pane::Output => cursor::travel(state, at, Act::Bottom),
        Pane::Breakpoints => {
            let chosen = at
                .snapshot
                .breakpoints
                .iter()
                .find(|b| Some(b.id) == state.breakpoints.selected);
            match chosen.map(|b| (&b.spec.at, b.shown_line())) {
                Some((BreakpointAt::Line { path, .. }, line)) => {
                    state.source.opened = Some(SourceKey::file(path.clone()));
                    state.source.cursor = (line.unwrap_or(1) as usize).saturating_sub(1);
                    state.show(Pane::Source);
                }
                Some((at @ BreakpointAt::Function(_), _)) => {
                    state.hint(format!("{at} is wherever a function is called so"));
                }
                None => {}
            }
        }
        Pane::Terminal => lock(state, at.snapshot),
    }
}

fn open_variable(state: &mut UiState, at: &Context<'_>) {
    let Some(shown) = rows::variables(state, at.snapshot, at.windows) else {
        return;
    };
    let cursor = state.variables.list.cursor;
    let Some(row) = shown.rows.get(cursor) else {
        return;
    };
    match (row.kind, row.open) {
        (VarKind::More, _) => {
            if let Some(parent) = row.parent {
                let path = rows::var_path(&shown.rows, parent);
                *state.variables.open.entry(path).or_insert(PAGE) += PAGE;
            }
        }
        (_, Some(open)) => set_open(state, &shown.rows, cursor, !open),
        (_, None) => {}
    }
}

fn lock(state: &mut UiState, snapshot: &Snapshot) {
    let root = terminal_root(state, snapshot);
    if snapshot.replay.is_some() {
        state.show(Pane::Terminal);
        state.hint("this is a replay: nobody reads what is typed");
    } else if root.is_some() && !snapshot.is_live() {
        state.show(Pane::Terminal);
        state.hint("all has ended: nobody reads what is typed");
    } else if root.is_some() {
        state.show(Pane::Terminal);
        state.locked = true;
    } else {
        state.hint("the program has no terminal");
    }
}

fn quit(state: &mut UiState, snapshot: &Snapshot, actions: &mut Vec<Action>) {
    if snapshot.replay.is_some() {
        actions.push(Action::Leave(Leave::Quit { ended: true }));
    } else if snapshot.is_live() {
        state.dialog = Some(Dialog::Quit);
    } else if snapshot.trees.is_empty() {
        dialog::end(state, actions);
    } else {
        actions.push(Action::Leave(Leave::Quit { ended: true }));
    }
}
