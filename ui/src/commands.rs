//! The one table of what keys do: it makes the key map, the help page and the README's table.
//! It must not know how a command is carried out; `update` does that.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use daptree_model::ReplayOp;
use std::fmt::Write as _;

/// A pane of the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Pane {
    /// The processes.
    Tree,
    /// The source of the selected frame.
    Source,
    /// Threads and stack of the focus session.
    Stack,
    /// Variables of the selected frame.
    Variables,
    /// Output.
    Output,
    /// Breakpoints of all trees.
    Breakpoints,
    /// The terminal of the root.
    Terminal,
}

impl Pane {
    /// All panes in the order of their numbers, from 1.
    pub const ALL: [Self; 7] = [
        Self::Tree,
        Self::Source,
        Self::Stack,
        Self::Variables,
        Self::Output,
        Self::Breakpoints,
        Self::Terminal,
    ];

    /// The number that selects it.
    pub fn number(self) -> u8 {
        match self {
            Self::Tree => 1,
            Self::Source => 2,
            Self::Stack => 3,
            Self::Variables => 4,
            Self::Output => 5,
            Self::Breakpoints => 6,
            Self::Terminal => 7,
        }
    }

    /// Its name in titles and help.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Source => "source",
            Self::Stack => "stack",
            Self::Variables => "variables",
            Self::Output => "output",
            Self::Breakpoints => "breakpoints",
            Self::Terminal => "terminal",
        }
    }
}

/// What a key can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Act {
    /// Let the focus session run on.
    Continue,
    /// Step over.
    Next,
    /// Step into.
    StepIn,
    /// Step out.
    StepOut,
    /// Stop the focus session.
    Pause,
    /// Let everything that is stopped run on.
    ContinueAll,
    /// Stop everything that runs.
    PauseAll,
    /// Whether the whole tree stops as one.
    StopTheWorld,
    /// Whether what is below the selected row stops with it as one.
    StopSubtree,
    /// Set or remove a breakpoint at the cursor of the source.
    ToggleBreakpoint,
    /// Start the root again.
    Restart,
    /// End processes; their rows stay.
    Terminate,
    /// End processes; their rows go.
    Close,
    /// Let the root and everything below it live on alone.
    Detach,
    /// Previous session.
    PreviousSession,
    /// Next session.
    NextSession,
    /// Previous stopped session.
    PreviousStopped,
    /// Next stopped session.
    NextStopped,
    /// To the caller.
    FrameUp,
    /// To the callee.
    FrameDown,
    /// Next pane.
    NextPane,
    /// Previous pane.
    PreviousPane,
    /// A pane by its number.
    ShowPane(Pane),
    /// The pane alone on the screen, or all of them again.
    Zoom,
    /// One row up.
    Up,
    /// One row down.
    Down,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// First row.
    Top,
    /// Last row.
    Bottom,
    /// Fold, or scroll left.
    Left,
    /// Unfold, or scroll right.
    Right,
    /// Open what is selected.
    Open,
    /// Search in the pane.
    Search,
    /// Next match.
    SearchNext,
    /// Previous match.
    SearchPrevious,
    /// Ask for a line to go to.
    GoToLine,
    /// Output of the whole tree, or of the focus session alone.
    WholeTree,
    /// Give the keyboard to the program's terminal.
    LockTerminal,
    /// Remove the selected breakpoint.
    RemoveBreakpoint,
    /// Switch the selected breakpoint on or off.
    EnableBreakpoint,
    /// Ask for a function to stop in.
    AddFunction,
    /// Change the condition of the selected breakpoint.
    EditCondition,
    /// Change at which hits it stops.
    EditHits,
    /// Change what it prints in place of stopping.
    EditMessage,
    /// Change the processes it is meant for.
    EditScope,
    /// Make it one for a single stop of the whole tree, or for all.
    Once,
    /// Take up the path map that is offered for it.
    AcceptOffer,
    /// Which exceptions stop.
    Exceptions,
    /// Read the source file again.
    Reload,
    /// Paint everything anew.
    Redraw,
    /// Steer a replay.
    Replay(ReplayOp),
    /// The list of messages.
    Notices,
    /// The help page.
    Help,
    /// Leave.
    Quit,
    /// Leave a dialog; forget a message.
    Escape,
}

/// A row of the table.
pub struct CommandInfo {
    /// What it does.
    pub act: Act,
    /// A word or two, for hints.
    pub title: &'static str,
    /// Keys, the first one is named in hints.
    pub keys: &'static [(KeyCode, KeyModifiers)],
    /// The pane in which the keys mean this; `None`: everywhere.
    pub pane: Option<Pane>,
    /// A line for the help page.
    pub help: &'static str,
}

const NONE: KeyModifiers = KeyModifiers::NONE;
const SHIFT: KeyModifiers = KeyModifiers::SHIFT;
const CTRL: KeyModifiers = KeyModifiers::CONTROL;

const fn char(key: char) -> (KeyCode, KeyModifiers) {
    (KeyCode::Char(key), NONE)
}

const fn ctrl(key: char) -> (KeyCode, KeyModifiers) {
    (KeyCode::Char(key), CTRL)
}

const fn f(number: u8) -> (KeyCode, KeyModifiers) {
    (KeyCode::F(number), NONE)
}

const fn plain(code: KeyCode) -> (KeyCode, KeyModifiers) {
    (code, NONE)
}

macro_rules! table {
    ($($act:expr, $title:literal, [$($key:expr),*], $pane:expr, $help:literal;)*) => {
        &[$(CommandInfo { act: $act, title: $title, keys: &[$($key),*], pane: $pane, help: $help },)*]
    };
}

/// All commands, in the order of the help page.
pub const COMMANDS: &[CommandInfo] = table! {
    Act::Continue, "continue", [char('c'), f(5)], None, "let the focus session run on; the focus goes to the next stopped one";
    Act::Next, "over", [char('n'), f(10)], None, "step over the line";
    Act::StepIn, "into", [char('s'), f(11)], None, "step into the call";
    Act::StepOut, "out", [char('o'), (KeyCode::F(11), SHIFT), f(23)], None, "run to the end of the function";
    Act::Pause, "pause", [char('p'), f(6)], None, "stop the focus session";
    Act::ContinueAll, "continue all", [char('C')], None, "let every stopped session of the tree run on";
    Act::PauseAll, "pause all", [char('P')], None, "stop every session of the tree that runs";
    Act::StopTheWorld, "stop the world", [char('W')], None, "whether one stop holds the whole tree; c and C let all go on as one";
    Act::StopSubtree, "as one", [char('w')], Some(Pane::Tree), "whether a stop holds the selected session and what is below it";
    Act::ToggleBreakpoint, "breakpoint", [char('b'), f(9)], None, "set or remove a breakpoint at the cursor of the source";
    Act::AddFunction, "function", [char('B')], None, "set a breakpoint at the entry of a function, by its name";
    Act::Exceptions, "exceptions", [char('E')], None, "which exceptions stop; the one that stopped, and what led to it";
    Act::Restart, "restart", [char('r')], None, "end the tree and start it again; breakpoints stay, and it asks first";
    Act::Terminate, "end", [char('x')], None, "end a session with what is below it, or the tree; rows stay";
    Act::Close, "close", [char('X')], None, "end a session with what is below it, or the tree; rows go";
    Act::Detach, "detach", [char('D')], None, "let the tree live on without a debugger";
    Act::NextStopped, "next stopped", [char('}')], None, "focus on the next stopped session";
    Act::PreviousStopped, "previous stopped", [char('{')], None, "focus on the previous stopped session";
    Act::NextSession, "next session", [char(']')], None, "focus on the next session";
    Act::PreviousSession, "previous session", [char('[')], None, "focus on the previous session";
    Act::FrameUp, "frame up", [char('u')], None, "select the caller's frame";
    Act::RemoveBreakpoint, "remove", [char('d'), plain(KeyCode::Delete)], Some(Pane::Breakpoints), "remove the selected breakpoint";
    Act::EnableBreakpoint, "on/off", [char(' ')], Some(Pane::Breakpoints), "switch the selected breakpoint on or off";
    Act::EditCondition, "if", [char('i')], Some(Pane::Breakpoints), "stop only where an expression holds";
    Act::EditHits, "hits", [char('=')], Some(Pane::Breakpoints), "stop only at some hits of a process: 3, >= 3, % 3";
    Act::EditMessage, "message", [char('m')], Some(Pane::Breakpoints), "print a message in place of stopping; {x} is the value of x";
    Act::EditScope, "where", [char('w')], Some(Pane::Breakpoints), "in which processes: all, s3, s3+ with those below, or a pattern such as gw* or worker.py";
    Act::Once, "once", [char('f')], Some(Pane::Breakpoints), "for a single stop: the first process that comes by stops, then it is gone everywhere";
    Act::AcceptOffer, "accept", [char('a')], Some(Pane::Breakpoints), "take up the path map that is offered where it can never be hit";
    Act::FrameDown, "frame down", [char('d')], None, "select the called frame";
    Act::Open, "open", [plain(KeyCode::Enter)], None, "focus on the session, show the frame or breakpoint, unfold the variable, give the keyboard to the terminal";
    Act::NextPane, "pane", [plain(KeyCode::Tab)], None, "next pane";
    Act::PreviousPane, "previous pane", [plain(KeyCode::BackTab), (KeyCode::BackTab, SHIFT)], None, "previous pane";
    Act::ShowPane(Pane::Tree), "tree", [char('1')], None, "the session tree";
    Act::ShowPane(Pane::Source), "source", [char('2')], None, "the source";
    Act::ShowPane(Pane::Stack), "stack", [char('3')], None, "threads and stack";
    Act::ShowPane(Pane::Variables), "variables", [char('4')], None, "variables";
    Act::ShowPane(Pane::Output), "output", [char('5')], None, "output";
    Act::ShowPane(Pane::Breakpoints), "breakpoints", [char('6')], None, "breakpoints";
    Act::ShowPane(Pane::Terminal), "terminal", [char('7')], None, "the program's terminal";
    Act::Zoom, "zoom", [char('z')], None, "this pane alone on the screen, or all of them again";
    Act::Up, "up", [plain(KeyCode::Up), char('k')], None, "up";
    Act::Down, "down", [plain(KeyCode::Down), char('j')], None, "down";
    Act::PageUp, "page up", [plain(KeyCode::PageUp), ctrl('b')], None, "a page up";
    Act::PageDown, "page down", [plain(KeyCode::PageDown), ctrl('f')], None, "a page down";
    Act::Top, "top", [plain(KeyCode::Home), char('g')], None, "to the first line";
    Act::Bottom, "follow", [plain(KeyCode::End), char('G')], None, "to the last line; output is followed again";
    Act::Left, "fold", [plain(KeyCode::Left), char('h')], None, "fold, or scroll to the left";
    Act::Right, "unfold", [plain(KeyCode::Right), char('l')], None, "unfold, or scroll to the right";
    Act::Search, "search", [char('/')], None, "search in the pane; Enter or Down goes on, Up goes back, Esc leaves";
    Act::SearchNext, "next match", [ctrl('n')], None, "next match of the last search";
    Act::SearchPrevious, "previous match", [ctrl('p')], None, "previous match of the last search";
    Act::GoToLine, "line", [char(':')], None, "go to a line of the source or of the output";
    Act::WholeTree, "own/tree output", [char('T')], None, "output of the focus session alone, or of the whole tree";
    Act::LockTerminal, "type", [char('t')], None, "give the keyboard to the program's terminal; Ctrl-] takes it back";
    Act::Reload, "reload", [ctrl('r')], None, "read the source file again";
    Act::Redraw, "redraw", [ctrl('l')], None, "paint everything anew";
    Act::Replay(ReplayOp::Play), "play", [char(' ')], None, "in a replay: let time pass, or hold it";
    Act::Replay(ReplayOp::Next), "next", [char('.')], None, "in a replay: one step of the engine on";
    Act::Replay(ReplayOp::Previous), "previous", [char(',')], None, "in a replay: one step of the engine back";
    Act::Replay(ReplayOp::NextStop), "next stop", [char('>')], None, "in a replay: on to where a session stopped next";
    Act::Replay(ReplayOp::PreviousStop), "previous stop", [char('<')], None, "in a replay: back to where a session stopped before";
    Act::Replay(ReplayOp::Start), "start", [char('(')], None, "in a replay: to the start";
    Act::Replay(ReplayOp::End), "end", [char(')')], None, "in a replay: to the end";
    Act::Replay(ReplayOp::Faster), "faster", [char('+')], None, "in a replay: play twice as fast";
    Act::Replay(ReplayOp::Slower), "slower", [char('-')], None, "in a replay: play half as fast";
    Act::Notices, "messages", [char('!')], None, "the list of messages";
    Act::Help, "help", [char('?'), f(1)], None, "this page";
    Act::Escape, "back", [plain(KeyCode::Esc)], None, "leave a dialog, forget a message";
    Act::Quit, "quit", [char('q'), ctrl('c')], None, "leave; asks what to do with a live tree";
};

/// The command of a key in a pane; a pane's own meaning goes first.
pub fn lookup(key: KeyEvent, pane: Pane) -> Option<Act> {
    let wanted = normal(key);
    let find = |scope: Option<Pane>| {
        COMMANDS
            .iter()
            .find(|info| info.pane == scope && info.keys.contains(&wanted))
            .map(|info| info.act)
    };
    find(Some(pane)).or_else(|| find(None))
}

/// Capital letters and signs carry their shift already; terminals differ in telling it.
fn normal(key: KeyEvent) -> (KeyCode, KeyModifiers) {
    let mut modifiers = key.modifiers & (SHIFT | CTRL | KeyModifiers::ALT);
    if matches!(key.code, KeyCode::Char(_)) {
        modifiers -= SHIFT;
    }
    (key.code, modifiers)
}

/// The row of a command.
pub fn info(act: Act) -> Option<&'static CommandInfo> {
    COMMANDS.iter().find(|info| info.act == act)
}

/// The first key of a command as people write it, such as `F5` or `Ctrl-l`.
pub fn key_of(act: Act) -> String {
    info(act)
        .and_then(|info| info.keys.first())
        .map(|key| key_name(*key))
        .unwrap_or_default()
}

/// A key as people write it.
pub fn key_name((code, modifiers): (KeyCode, KeyModifiers)) -> String {
    let name = match code {
        KeyCode::Char(' ') => "Space".to_owned(),
        KeyCode::Char(key) => key.to_string(),
        KeyCode::F(number) => format!("F{number}"),
        KeyCode::BackTab => return "Shift-Tab".to_owned(),
        KeyCode::PageUp => "PgUp".to_owned(),
        KeyCode::PageDown => "PgDn".to_owned(),
        KeyCode::Left => "←".to_owned(),
        KeyCode::Right => "→".to_owned(),
        KeyCode::Up => "↑".to_owned(),
        KeyCode::Down => "↓".to_owned(),
        other => format!("{other:?}"),
    };
    let mut out = String::new();
    for (flag, word) in [
        (CTRL, "Ctrl-"),
        (KeyModifiers::ALT, "Alt-"),
        (SHIFT, "Shift-"),
    ] {
        if modifiers.contains(flag) {
            out.push_str(word);
        }
    }
    out + &name
}

/// All keys of a command, as people write them, each once. `F23` is how some terminals send
/// Shift-F11.
pub fn keys_text(info: &CommandInfo, between: &str) -> String {
    let mut names: Vec<String> = Vec::new();
    for key in info.keys.iter().filter(|key| key.0 != KeyCode::F(23)) {
        let name = key_name(*key);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(between)
}

/// The table of keys for the README.
pub fn keys_markdown() -> String {
    let mut out = String::from("| key | what it does |\n|---|---|\n");
    for info in COMMANDS {
        let keys = keys_text(info, "` `");
        let place = info
            .pane
            .map(|pane| format!(" (in {})", pane.name()))
            .unwrap_or_default();
        let _ = writeln!(out, "| `{keys}`{place} | {} |", info.help);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn press(code: KeyCode, modifiers: KeyModifiers) -> KeyEvent {
        KeyEvent::new(code, modifiers)
    }

    #[test]
    fn no_key_means_two_things_in_one_place() {
        let mut seen = HashSet::new();
        for info in COMMANDS {
            for key in info.keys {
                assert!(seen.insert((info.pane, *key)), "{}", key_name(*key));
            }
        }
    }

    #[test]
    fn keys_of_the_issue() {
        for (code, modifiers, act) in [
            (KeyCode::F(5), NONE, Act::Continue),
            (KeyCode::Char('c'), NONE, Act::Continue),
            (KeyCode::F(10), NONE, Act::Next),
            (KeyCode::F(11), NONE, Act::StepIn),
            (KeyCode::F(11), SHIFT, Act::StepOut),
            (KeyCode::F(6), NONE, Act::Pause),
            (KeyCode::F(9), NONE, Act::ToggleBreakpoint),
            (KeyCode::Char('C'), SHIFT, Act::ContinueAll),
            (KeyCode::Char('}'), SHIFT, Act::NextStopped),
            (KeyCode::BackTab, SHIFT, Act::PreviousPane),
            (KeyCode::Char('c'), CTRL, Act::Quit),
            (KeyCode::Char('d'), NONE, Act::FrameDown),
        ] {
            assert_eq!(lookup(press(code, modifiers), Pane::Source), Some(act));
        }
        assert_eq!(
            lookup(press(KeyCode::Char('d'), NONE), Pane::Breakpoints),
            Some(Act::RemoveBreakpoint)
        );
        assert_eq!(lookup(press(KeyCode::Char('y'), NONE), Pane::Source), None);
    }

    #[test]
    fn the_table_for_the_readme_names_each_command_once() {
        let table = keys_markdown();
        assert_eq!(table.lines().count(), COMMANDS.len() + 2);
        assert!(table.contains("| `o` `Shift-F11` | run to the end of the function |"));
        assert!(table.contains("| `d` `Delete` (in breakpoints) |"));
    }
}
