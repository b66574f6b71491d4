//! The state's one way to change: a pure function of an input. It sees no clock and no channel,
//! and says what is to be done as [`Action`]s.

use crate::state::{Action, Leave, SourceKey, UiState};
use crate::windows::Windows;
use crossterm::event::KeyEvent;
use daptree_model::{
    Answer, EngineError, Op, OutputWindow, RowId, Snapshot, StopNumber, TreeState,
};

mod breakpoints;
mod cursor;
mod dialog;
mod focus;
mod keys;
mod lifecycle;
mod search;

pub(crate) use cursor::output_range;
pub(crate) use keys::terminal_root;
pub(crate) use search::SCAN_LINES;

/// What happened.
#[derive(Clone, Debug)]
pub enum Input {
    /// A key was pressed.
    Key(KeyEvent),
    /// Text was pasted.
    Paste(String),
    /// The screen has another size, in cells.
    Resize(u16, u16),
    /// There is a new snapshot: the one given.
    Snapshot,
    /// A source, output or screen was read.
    Windows,
    /// A command of ours was answered.
    Replied {
        /// What was asked.
        op: Op,
        /// On which stop it was decided.
        expect: Option<StopNumber>,
        /// What came of it.
        result: Result<Answer, EngineError>,
    },
    /// The lines that a search through the output asked for.
    Scanned(Result<OutputWindow, EngineError>),
    /// A tree could not be started.
    LaunchFailed {
        /// Its root.
        root: Option<RowId>,
        /// For people.
        message: String,
    },
    /// Something that the front end itself wants to say.
    Trouble(String),
}

/// Applies an input.
pub fn update(
    state: &mut UiState,
    snapshot: &Snapshot,
    windows: &Windows,
    input: Input,
) -> Vec<Action> {
    let mut actions = Vec::new();
    let at = Context { snapshot, windows };
    match input {
        Input::Key(key) => keys::press(state, &at, key, &mut actions),
        Input::Paste(text) => keys::paste(state, &at, &text, &mut actions),
        Input::Resize(columns, rows) => state.size = (columns, rows),
        Input::Snapshot => {
            take_notices(state, snapshot);
            notice_runs(state, snapshot, &mut actions);
            focus::observe(state, snapshot);
            let replay = snapshot.replay.as_ref();
            if let Some(looked_at) = replay.and_then(|replay| replay.looked_at.as_ref()) {
                focus::follow(state, snapshot, looked_at);
            }
        }
        Input::Windows => {}
        Input::Replied { op, expect, result } => {
            replied(state, snapshot, &op, expect, result, &mut actions);
        }
        Input::Scanned(result) => search::scanned(state, result),
        Input::LaunchFailed { root, message } => {
            let earlier = root.and_then(|root| snapshot.trees.iter().find(|t| t.root == root));
            if state.ran || earlier.is_some_and(|tree| tree.runs > 1) {
                state.say(message, true);
            } else {
                actions.push(Action::Leave(Leave::LaunchFailed(message)));
            }
        }
        Input::Trouble(text) => state.say(text, true),
    }
    if !state.is_typing() {
        focus::take_missed(state, snapshot);
    }
    cursor::settle(state, &at);
    dialog::settle(state, snapshot);
    actions
}

/// What an update may look at.
struct Context<'a> {
    snapshot: &'a Snapshot,
    windows: &'a Windows,
}

fn take_notices(state: &mut UiState, snapshot: &Snapshot) {
    for notice in &snapshot.notices {
        if notice.seq > state.notices_seen {
            state.notices_seen = notice.seq;
            state.message = Some(crate::state::Message {
                text: notice.message.clone(),
                is_error: notice.is_error,
            });
        }
    }
}

/// A tree that fails before anything ran has nothing to show: the shell's prompt is the place
/// for its message.
fn notice_runs(state: &mut UiState, snapshot: &Snapshot, actions: &mut Vec<Action>) {
    let ran = |tree: &daptree_model::TreeView| {
        !matches!(tree.state, TreeState::Preparing(_) | TreeState::Failed(_))
    };
    state.ran |= snapshot.trees.iter().any(ran) || snapshot.replay.is_some();
    if state.ran {
        return;
    }
    let failed = snapshot.trees.iter().find_map(|tree| match &tree.state {
        TreeState::Failed(why) => Some(why.clone()),
        _ => None,
    });
    if let Some(why) = failed {
        actions.push(Action::Leave(Leave::LaunchFailed(why)));
    }
}

fn replied(
    state: &mut UiState,
    snapshot: &Snapshot,
    op: &Op,
    expect: Option<StopNumber>,
    result: Result<Answer, EngineError>,
    actions: &mut Vec<Action>,
) {
    match (op, result) {
        (Op::Shutdown, Ok(answer)) => {
            let survivors = match answer {
                Answer::Closed { survivors, .. } => survivors,
                _ => Vec::new(),
            };
            let ended = survivors.is_empty();
            actions.push(Action::Leave(Leave::Quit { ended }));
        }
        (Op::Shutdown, Err(error)) => {
            state.dialog = None;
            state.say(format!("the trees could not be ended: {error}"), true);
        }
        (Op::Launch(_) | Op::Attach(_), Err(error)) if !state.ran => {
            actions.push(Action::Leave(Leave::LaunchFailed(error.to_string())));
        }
        (op, Err(error)) => {
            focus::refused(state, op, expect);
            state.say(error.to_string(), true);
        }
        (Op::Pause(_), Ok(_)) => state.hint("pausing"),
        (op, Ok(answer)) => lifecycle::told(state, snapshot, op, &answer),
    }
}

/// The source that is shown, if there is one.
fn shown(state: &UiState, at: &Context<'_>) -> Option<SourceKey> {
    crate::rows::shown_source(state, at.snapshot, at.windows).map(|(key, _)| key)
}

#[cfg(test)]
mod tests;
