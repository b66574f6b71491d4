//! What the front end itself knows: focus, cursors, scroll offsets, open sets, dialogs. It must
//! never hold a copy of engine data; whatever is shown is looked up in the snapshot by id.

use crate::commands::Pane;
use daptree_model::{BreakpointId, Interest, Op, PAGE, ReadOp, ReplayOp, RowId, StopNumber};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Messages that are kept for the list.
const LOG: usize = 100;

/// All state of the front end.
#[derive(Clone, Debug, Default)]
pub struct UiState {
    /// Cells across and down.
    pub size: (u16, u16),
    /// Panes by when they had the keyboard, the present one first.
    pub recent: Vec<Pane>,
    /// The pane alone on the screen.
    pub zoom: bool,
    /// The session that keys act on.
    pub focus: Option<RowId>,
    /// A thread that was chosen; `None`: the one that stopped.
    pub thread: Option<i64>,
    /// The selected frame, 0 = top.
    pub frame: usize,
    /// How the focus moves by itself.
    pub moves: Moves,
    /// The tree pane.
    pub tree: TreeState,
    /// The source pane.
    pub source: SourceState,
    /// The stack pane.
    pub stack: ListState,
    /// The variables pane.
    pub variables: VariablesState,
    /// The output pane.
    pub output: OutputState,
    /// The breakpoints pane.
    pub breakpoints: BreakpointsState,
    /// The keyboard belongs to the program's terminal.
    pub locked: bool,
    /// What is being typed into the status bar.
    pub prompt: Option<Prompt>,
    /// The text last searched for.
    pub searched: String,
    /// What stands over the panes.
    pub dialog: Option<Dialog>,
    /// A message in the status bar.
    pub message: Option<Message>,
    /// Messages of the front end itself, oldest first.
    pub log: VecDeque<Message>,
    /// Notices of the engine up to this number were shown.
    pub notices_seen: u64,
    /// Whether any process of any tree ever ran.
    pub ran: bool,
}

/// What decides where the focus goes by itself.
#[derive(Clone, Debug, Default)]
pub struct Moves {
    /// Sessions that were told to go on from a stop; until the snapshot says more they count as
    /// running.
    pub left: BTreeMap<RowId, StopNumber>,
    /// The focus session steps: only its own stop counts.
    pub stepping: bool,
    /// Stops that were seen, by session.
    pub seen: BTreeMap<RowId, StopNumber>,
    /// A stop that would have taken the focus while something was being typed.
    pub missed: Option<RowId>,
    /// What the recorded front end of a replay looked at when this one last followed it.
    pub followed: Option<Interest>,
}

/// The tree pane.
#[derive(Clone, Debug, Default)]
pub struct TreeState {
    /// The selected row.
    pub selected: Option<RowId>,
    /// Rows whose descendants are folded away.
    pub folded: BTreeSet<RowId>,
    /// The first row shown.
    pub top: usize,
}

/// A cursor in a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListState {
    /// The selected row.
    pub cursor: usize,
    /// The first row shown.
    pub top: usize,
}

/// Names a source.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceKey {
    /// Absolute path, or the adapter's name.
    pub path: String,
    /// Session and `sourceReference` of a source that only the adapter has.
    pub reference: Option<(RowId, i64)>,
}

impl SourceKey {
    /// A file.
    pub fn file(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            reference: None,
        }
    }

    /// How it is read.
    pub fn read(&self) -> ReadOp {
        match self.reference {
            Some((row, reference)) => ReadOp::Source { row, reference },
            None => ReadOp::File(self.path.clone()),
        }
    }
}

/// A place that the cursor of the source was set to by a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Followed {
    /// The source.
    pub key: SourceKey,
    /// The line, from 1.
    pub line: u32,
    /// The stop that the frame belongs to.
    pub stop: Option<(RowId, StopNumber)>,
}

/// The source pane.
#[derive(Clone, Debug, Default)]
pub struct SourceState {
    /// A source opened by hand; it goes when the frame changes.
    pub opened: Option<SourceKey>,
    /// The line under the cursor, from 0.
    pub cursor: usize,
    /// The first line shown, from 0.
    pub top: usize,
    /// Columns scrolled to the left.
    pub left: usize,
    /// The place that the cursor was last set to by a frame.
    pub followed: Option<Followed>,
}

/// The variables pane.
#[derive(Clone, Debug, Default)]
pub struct VariablesState {
    /// Cursor and scroll offset.
    pub list: ListState,
    /// The path under the cursor, by which it is found again after a step.
    pub path: Vec<String>,
    /// What is unfolded, and how many children of it are wanted.
    pub open: BTreeMap<Vec<String>, u32>,
    /// Scopes that were folded by hand.
    pub folded: BTreeSet<String>,
}

impl VariablesState {
    /// Unfolds a path.
    pub fn unfold(&mut self, path: &[String]) {
        self.open.entry(path.to_vec()).or_insert(PAGE);
    }
}

/// The output pane.
#[derive(Clone, Debug, Default)]
pub struct OutputState {
    /// Of the whole tree rather than of the focus session.
    pub whole_tree: bool,
    /// The first line shown; `None`: the end is followed.
    pub top: Option<u64>,
    /// Columns scrolled to the left.
    pub left: usize,
    /// A line that a search found.
    pub found: Option<u64>,
    /// A search under way.
    pub scan: Option<Scan>,
}

/// A search through the output, piece by piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scan {
    /// What is looked for.
    pub text: String,
    /// Towards the end.
    pub forward: bool,
    /// The first line to look at.
    pub at: u64,
}

/// The breakpoints pane.
#[derive(Clone, Copy, Debug, Default)]
pub struct BreakpointsState {
    /// Cursor and scroll offset.
    pub list: ListState,
    /// The selected one.
    pub selected: Option<BreakpointId>,
}

/// What is being typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompt {
    /// For what.
    pub kind: PromptKind,
    /// The text so far.
    pub text: String,
}

/// What a prompt asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptKind {
    /// A text to search for in a pane.
    Search(Pane),
    /// A line to go to.
    Line(Pane),
    /// The function of a new breakpoint.
    Function,
    /// The condition of a breakpoint.
    Condition(BreakpointId),
    /// Its hit condition.
    Hits(BreakpointId),
    /// What it prints.
    Message(BreakpointId),
    /// The processes it is meant for.
    Scope(BreakpointId),
}

/// What stands over the panes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialog {
    /// Asks what to do with a live tree.
    Quit,
    /// Waits for the end of all trees.
    Ending,
    /// The exception filters; the one under the cursor.
    Exceptions(usize),
    /// Asks before something ends or is let go.
    Confirm(Confirm),
    /// The keys; the first line shown.
    Help(usize),
    /// The messages; how many lines scrolled up from the end.
    Notices(usize),
}

/// What is asked before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Confirm {
    /// What is to be done.
    pub what: Lifecycle,
    /// With which row and everything below it.
    pub row: RowId,
}

/// What ends a row or lets it go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifecycle {
    /// Its processes end, the rows stay.
    Terminate,
    /// Its processes end, the rows go.
    Close,
    /// The root ends and starts again.
    Restart,
    /// The root and all below it live on.
    Detach,
}

impl Lifecycle {
    /// Only a root can be asked for it.
    pub fn is_of_roots(self) -> bool {
        matches!(self, Self::Restart | Self::Detach)
    }

    /// The command for a row.
    pub fn op(self, row: RowId) -> Op {
        match self {
            Self::Terminate => Op::Terminate(row),
            Self::Close => Op::Close(row),
            Self::Restart => Op::Restart(row),
            Self::Detach => Op::Detach(row),
        }
    }
}

/// A message for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The sentence.
    pub text: String,
    /// Something failed.
    pub is_error: bool,
}

/// What the loop is asked to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Send a command.
    Command {
        /// The stop it was decided on.
        expect: Option<StopNumber>,
        /// What to do.
        op: Op,
    },
    /// Bytes for the terminal of a root.
    Type(RowId, Vec<u8>),
    /// Steer a replay.
    Replay(ReplayOp),
    /// Forget a source, so that it is read again.
    Reload(SourceKey),
    /// Paint every cell anew.
    Redraw,
    /// Leave the front end.
    Leave(Leave),
}

/// Why the front end is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leave {
    /// As asked; whether every tree had ended.
    Quit {
        /// Nothing of any tree is left.
        ended: bool,
    },
    /// The tree could not be started: why and what to do.
    LaunchFailed(String),
}

impl UiState {
    /// The state before anything is known.
    pub fn new() -> Self {
        Self {
            recent: vec![
                Pane::Tree,
                Pane::Source,
                Pane::Stack,
                Pane::Variables,
                Pane::Output,
                Pane::Breakpoints,
                Pane::Terminal,
            ],
            ..Self::default()
        }
    }

    /// The pane that has the keyboard.
    pub fn pane(&self) -> Pane {
        self.recent.first().copied().unwrap_or(Pane::Tree)
    }

    /// Gives the keyboard to a pane.
    pub fn show(&mut self, pane: Pane) {
        self.recent.retain(|other| *other != pane);
        self.recent.insert(0, pane);
    }

    /// Whether keys go into something other than the panes, so that the focus must not move.
    pub fn is_typing(&self) -> bool {
        self.locked || self.prompt.is_some() || self.dialog.is_some()
    }

    /// Shows a message and keeps it for the list.
    pub fn say(&mut self, text: impl Into<String>, is_error: bool) {
        let message = Message {
            text: text.into(),
            is_error,
        };
        if self.log.len() >= LOG {
            self.log.pop_front();
        }
        self.log.push_back(message.clone());
        self.message = Some(message);
    }

    /// Shows a message that is not worth keeping.
    pub fn hint(&mut self, text: impl Into<String>) {
        self.message = Some(Message {
            text: text.into(),
            is_error: false,
        });
    }
}
