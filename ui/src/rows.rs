//! Flattens what the snapshot holds into the rows of each list: the tree, the stack, the
//! variables. `update` counts them for the cursors, the views paint a slice of them. Nothing is
//! kept: a row borrows from the snapshot.

use crate::state::{SourceKey, UiState};
use crate::windows::Windows;
use daptree_model::{
    Breakpoint, ExceptionFilter, Follow, Frame, Inspect, Page, Place, Row, RowId, RowState, Scope,
    Snapshot, Thread, Variable,
};
use std::collections::BTreeMap;

/// A row of the session tree.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeRow {
    /// Which.
    pub id: RowId,
    /// How deep it stands, from 0.
    pub depth: usize,
    /// For each level above, whether the line goes on below this row; the last is its own.
    pub guides: Vec<bool>,
    /// Whether it has rows below it, and how many are folded away.
    pub below: usize,
    /// Those are folded away.
    pub folded: bool,
}

/// The rows of the tree pane.
pub fn tree(state: &UiState, snapshot: &Snapshot) -> Vec<TreeRow> {
    let all = snapshot.preorder();
    let mut out: Vec<TreeRow> = Vec::with_capacity(all.len());
    let mut hidden_below: Option<usize> = None;
    for (id, depth) in all {
        while let Some(at) = hidden_below {
            if depth > at {
                break;
            }
            hidden_below = None;
        }
        if hidden_below.is_some() {
            if let Some(last) = out.last_mut() {
                last.below += 1;
            }
            continue;
        }
        let folded = state.tree.folded.contains(&id);
        if folded {
            hidden_below = Some(depth);
        }
        out.push(TreeRow {
            id,
            depth,
            guides: Vec::new(),
            below: 0,
            folded,
        });
    }
    // From the end: which levels still have a row further down.
    let mut open: Vec<bool> = Vec::new();
    let mut next_depth = 0;
    for row in out.iter_mut().rev() {
        open.resize(row.depth + 1, false);
        if !row.folded && next_depth > row.depth {
            row.below = 1;
        }
        row.guides = open.iter().skip(1).copied().collect();
        if let Some(level) = open.last_mut() {
            *level = true;
        }
        next_depth = row.depth;
    }
    out
}

/// Whether a row is one that the focus may rest on.
pub fn takes_focus(row: &Row) -> bool {
    row.follow == Follow::Adopted
}

/// What the stack and variables panes show of the focus session.
pub struct Seen<'a> {
    /// The session's row.
    pub row: &'a Row,
    /// The stop looked at.
    pub inspect: &'a Inspect,
    /// It is the stop at which the session stands; else one that is over.
    pub fresh: bool,
}

impl<'a> Seen<'a> {
    /// The present stop of the focus session if it is known, else the last one.
    pub fn of(state: &UiState, snapshot: &'a Snapshot, windows: &'a Windows) -> Option<Self> {
        let id = state.focus?;
        let row = snapshot.rows.get(&id)?.as_ref();
        if row.is_paused()
            && let Some(inspect) = snapshot.inspects.get(&id)
            && inspect.stop == row.stop
            && !inspect.stacks.is_empty()
        {
            return Some(Self {
                row,
                inspect,
                fresh: true,
            });
        }
        let inspect = windows.latest(id)?;
        Some(Self {
            row,
            inspect,
            fresh: false,
        })
    }

    /// The thread whose stack is shown.
    pub fn thread(&self, state: &UiState) -> Option<i64> {
        let stacks = &self.inspect.stacks;
        let known = |id: &i64| stacks.contains_key(id);
        let stopped = self.row.stopped.as_ref().and_then(|stop| stop.thread);
        state
            .thread
            .or(stopped)
            .filter(known)
            .or_else(|| stacks.keys().next().copied())
    }

    /// The frames of that thread.
    pub fn frames(&self, state: &UiState) -> &'a [Frame] {
        self.thread(state)
            .and_then(|id| self.inspect.stacks.get(&id))
            .map_or(&[], |stack| stack.frames.as_slice())
    }

    /// The selected frame.
    pub fn frame(&self, state: &UiState) -> Option<&'a Frame> {
        self.frames(state).get(state.frame)
    }
}

/// A row of the stack pane.
#[derive(Clone, Copy, Debug)]
pub enum StackRow<'a> {
    /// A thread; whether its stack is shown.
    Thread(&'a Thread, bool),
    /// A frame of the thread above, by its number.
    Frame(usize, &'a Frame),
    /// So many frames are not here.
    More(u32),
}

/// The rows of the stack pane.
pub fn stack<'a>(state: &UiState, seen: &Seen<'a>) -> Vec<StackRow<'a>> {
    let shown = seen.thread(state);
    let threads = &seen.inspect.threads;
    let mut out = Vec::new();
    let frames = |out: &mut Vec<StackRow<'a>>| {
        let all = seen.frames(state);
        out.extend(all.iter().enumerate().map(|(at, f)| StackRow::Frame(at, f)));
        let total = shown
            .and_then(|id| seen.inspect.stacks.get(&id))
            .and_then(|stack| stack.total)
            .unwrap_or(0);
        let missing = total.saturating_sub(all.len() as u32);
        if missing > 0 {
            out.push(StackRow::More(missing));
        }
    };
    if threads.len() < 2 {
        frames(&mut out);
        return out;
    }
    for thread in threads {
        let is_shown = Some(thread.id) == shown;
        out.push(StackRow::Thread(thread, is_shown));
        if is_shown {
            frames(&mut out);
        }
    }
    out
}

/// What a row of the variables pane is.
#[derive(Clone, Copy, Debug)]
pub enum VarKind<'a> {
    /// A scope.
    Scope(&'a Scope),
    /// A variable.
    Variable(&'a Variable),
    /// There are more children; Enter fetches them.
    More,
    /// Not fetched yet.
    Loading,
    /// They could not be read.
    Failed(&'a str),
}

/// A row of the variables pane.
#[derive(Clone, Copy, Debug)]
pub struct VarRow<'a> {
    /// What it is.
    pub kind: VarKind<'a>,
    /// How deep it stands.
    pub depth: usize,
    /// The row of its container.
    pub parent: Option<usize>,
    /// Unfolded or not; `None`: it has no children.
    pub open: Option<bool>,
    /// Its value is not that of the stop before.
    pub changed: bool,
}

impl VarRow<'_> {
    /// The name under which it is found again.
    pub fn name(&self) -> &str {
        match self.kind {
            VarKind::Scope(scope) => &scope.name,
            VarKind::Variable(variable) => &variable.name,
            VarKind::More => "\u{0}more",
            VarKind::Loading | VarKind::Failed(_) => "\u{0}",
        }
    }
}

/// The path of a variable's row.
pub fn var_path(rows: &[VarRow<'_>], index: usize) -> Vec<String> {
    let mut path = Vec::new();
    let mut at = Some(index);
    while let Some(row) = at.and_then(|index| rows.get(index)) {
        path.push(row.name().to_owned());
        at = row.parent;
    }
    path.reverse();
    path
}

/// Whether a row has this path.
pub fn has_path(rows: &[VarRow<'_>], index: usize, path: &[String]) -> bool {
    let mut at = Some(index);
    for name in path.iter().rev() {
        let Some(row) = at.and_then(|index| rows.get(index)) else {
            return false;
        };
        if row.name() != name {
            return false;
        }
        at = row.parent;
    }
    at.is_none()
}

/// The rows of the variables pane for the selected frame; empty while nothing is known of it.
/// `stale` is set where they belong to the stop before, shown until the new ones are here.
pub struct Variables<'a> {
    /// The rows.
    pub rows: Vec<VarRow<'a>>,
    /// They are of a stop that is over.
    pub stale: bool,
}

/// Flattens the scopes of the selected frame.
pub fn variables<'a>(
    state: &UiState,
    snapshot: &'a Snapshot,
    windows: &'a Windows,
) -> Option<Variables<'a>> {
    let seen = Seen::of(state, snapshot, windows)?;
    let frame = seen.frame(state)?;
    let known = |inspect: &'a Inspect, frame: &Frame| inspect.scopes.get(&frame.id);
    let (inspect, scopes, old) = if let Some(scopes) = known(seen.inspect, frame) {
        (seen.inspect, scopes, !seen.fresh)
    } else {
        let latest = windows.latest(seen.row.id)?;
        let old = Seen {
            row: seen.row,
            inspect: latest,
            fresh: false,
        };
        let old_frame = old.frame(state)?;
        if old_frame.name != frame.name {
            return None;
        }
        (latest, known(latest, old_frame)?, true)
    };
    let before = windows
        .before(seen.row.id)
        .filter(|before| before.stop < inspect.stop);
    let before_scopes = before.and_then(|before| {
        let old = Seen {
            row: seen.row,
            inspect: before,
            fresh: false,
        };
        let old_frame = old.frame(state)?;
        (old_frame.name == frame.name)
            .then(|| before.scopes.get(&old_frame.id))
            .flatten()
    });
    let mut rows = Vec::new();
    let mut path: Vec<String> = Vec::new();
    let first = scopes.iter().position(|scope| !scope.expensive);
    for (index, scope) in scopes.iter().enumerate() {
        let opened = state
            .variables
            .open
            .contains_key(std::slice::from_ref(&scope.name));
        // The engine fetches the first scope unasked; others are the user's to open.
        let folded = state.variables.folded.contains(&scope.name);
        let open = !folded && (first == Some(index) || opened);
        let at = rows.len();
        rows.push(VarRow {
            kind: VarKind::Scope(scope),
            depth: 0,
            parent: None,
            open: Some(open),
            changed: false,
        });
        if !open {
            continue;
        }
        let old = before.and_then(|before| {
            let old = before_scopes?.iter().find(|old| old.name == scope.name)?;
            Some((before, old.reference))
        });
        path.push(scope.name.clone());
        let walk = Walk { state, inspect };
        walk.children(&mut rows, &mut path, at, scope.reference, old);
        path.pop();
    }
    Some(Variables { rows, stale: old })
}

/// Whether it is no variable but a group of some, such as debugpy's `special variables`.
pub fn is_group(variable: &Variable) -> bool {
    let untyped = variable.type_name.as_deref().is_none_or(str::is_empty);
    variable.reference > 0 && variable.value.is_empty() && untyped
}

struct Walk<'a, 's> {
    state: &'s UiState,
    inspect: &'a Inspect,
}

/// Deeper than this nothing is unfolded: the path is a cycle.
const DEEPEST: usize = 64;

impl<'a> Walk<'a, '_> {
    fn children(
        &self,
        rows: &mut Vec<VarRow<'a>>,
        path: &mut Vec<String>,
        parent: usize,
        reference: i64,
        old: Option<(&'a Inspect, i64)>,
    ) {
        let depth = path.len();
        let push = |rows: &mut Vec<VarRow<'a>>, kind, open, changed| {
            rows.push(VarRow {
                kind,
                depth,
                parent: Some(parent),
                open,
                changed,
            });
        };
        let Some(page) = self.inspect.pages.get(&reference) else {
            push(rows, VarKind::Loading, None, false);
            return;
        };
        if let Some(error) = &page.error {
            push(rows, VarKind::Failed(error), None, false);
        }
        let old_page = old.and_then(|(inspect, old)| Some((inspect, inspect.pages.get(&old)?)));
        let old_names: BTreeMap<&str, &Variable> = old_page
            .iter()
            .flat_map(|(_, page): &(&Inspect, &Page)| &page.variables)
            .map(|variable| (variable.name.as_str(), variable))
            .collect();
        let (groups, own): (Vec<_>, Vec<_>) = page.variables.iter().partition(|v| is_group(v));
        for variable in own.into_iter().chain(groups) {
            let was = old_names.get(variable.name.as_str());
            let changed = match (old_page, was) {
                (Some(_), Some(was)) => was.value != variable.value,
                (Some((_, page)), None) => !page.more,
                (None, _) => false,
            };
            let at = rows.len();
            if variable.reference == 0 || depth >= DEEPEST {
                push(rows, VarKind::Variable(variable), None, changed);
                continue;
            }
            path.push(variable.name.clone());
            let open = self.state.variables.open.contains_key(path);
            push(rows, VarKind::Variable(variable), Some(open), changed);
            if open {
                let old = old_page
                    .zip(was)
                    .map(|((inspect, _), was)| (inspect, was.reference));
                self.children(rows, path, at, variable.reference, old);
            }
            path.pop();
        }
        if page.more {
            push(rows, VarKind::More, None, false);
        }
    }
}

/// What the source pane shows: the source, and the line in it (from 1) to which the cursor goes.
pub fn shown_source(
    state: &UiState,
    snapshot: &Snapshot,
    windows: &Windows,
) -> Option<(SourceKey, u32)> {
    if let Some(key) = &state.source.opened {
        return Some((key.clone(), 0));
    }
    frame_source(state, snapshot, windows)
}

/// The source of the selected frame, else of the last stop, else of the program.
pub fn frame_source(
    state: &UiState,
    snapshot: &Snapshot,
    windows: &Windows,
) -> Option<(SourceKey, u32)> {
    let row = snapshot.rows.get(&state.focus?)?;
    let top_place = |place: &Place| (SourceKey::file(place.path.clone()), place.line);
    let seen = Seen::of(state, snapshot, windows);
    if let Some(seen) = &seen
        && (seen.fresh || !row.is_paused())
        && let Some(frame) = seen.frame(state)
    {
        let reference = (frame.source_reference > 0).then_some((row.id, frame.source_reference));
        let path = frame.path.clone().unwrap_or_else(|| frame.source.clone());
        return Some((SourceKey { path, reference }, frame.line));
    }
    let stopped = row.stopped.as_ref().and_then(|stop| stop.place.as_ref());
    stopped
        .or(row.last_place.as_ref())
        .map(top_place)
        .or_else(|| Some((SourceKey::file(row.program.clone()?), 0)))
}

/// Breakpoints of a source that stand on a line (from 1).
pub fn breakpoints_at<'a>(
    snapshot: &'a Snapshot,
    path: &'a str,
    line: u32,
) -> impl Iterator<Item = &'a Breakpoint> {
    snapshot
        .breakpoints
        .iter()
        .map(AsRef::as_ref)
        .filter(move |b: &&Breakpoint| {
            b.spec.at.path() == Some(path) && b.shown_line() == Some(line)
        })
}

/// An exception as a traceback ends with it.
pub fn raised_text(type_name: &str, message: &str) -> String {
    if message.is_empty() {
        type_name.to_owned()
    } else {
        format!("{type_name}: {message}")
    }
}

/// The exception filters of the session in focus, or of the first that has some, each with
/// whether it is on.
pub fn filters<'a>(state: &UiState, snapshot: &'a Snapshot) -> Vec<(&'a ExceptionFilter, bool)> {
    let focus = state.focus.and_then(|row| snapshot.rows.get(&row));
    let row = focus
        .into_iter()
        .chain(snapshot.rows.values())
        .find(|row| !row.exception_filters.is_empty());
    let Some(row) = row else {
        return Vec::new();
    };
    let on = snapshot
        .exception_filters
        .as_ref()
        .unwrap_or(&row.filters_on);
    row.exception_filters
        .iter()
        .map(|filter| (filter, on.contains(&filter.filter)))
        .collect()
}

/// How many rows of the forest are there, stopped, running and over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All rows.
    pub all: usize,
    /// Sessions at a stop of their own.
    pub stopped: usize,
    /// Sessions that a group paused.
    pub held: usize,
    /// Processes that run or are being set up.
    pub running: usize,
    /// Processes that are over.
    pub ended: usize,
}

/// A number with its noun, such as `1 session` and `2 sessions`.
pub fn counted(count: usize, noun: &str) -> String {
    let plural = match noun {
        _ if count == 1 => noun.to_owned(),
        "process" => "processes".to_owned(),
        _ => format!("{noun}s"),
    };
    format!("{count} {plural}")
}

/// How many processes of a row and below it are alive.
pub fn alive_below(snapshot: &Snapshot, top: RowId) -> usize {
    let is_below = |row: &Row| snapshot.upward(row.id).any(|above| above.id == top);
    let rows = snapshot.rows.values();
    let lives = |row: &Row| !row.is_ended() && (row.process.is_some() || row.is_session());
    rows.filter(|row| lives(row) && is_below(row)).count()
}

/// Counts the rows.
pub fn counts(snapshot: &Snapshot) -> Counts {
    let mut made = Counts::default();
    for row in snapshot.rows.values() {
        made.all += 1;
        match row.state {
            RowState::Paused if row.held => made.held += 1,
            RowState::Paused => made.stopped += 1,
            RowState::Ended => made.ended += 1,
            RowState::Created => {}
            _ => made.running += 1,
        }
    }
    made
}
