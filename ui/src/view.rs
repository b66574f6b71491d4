//! Draws a frame: a pure function of the state, the snapshot and what was read. It sees no
//! clock, environment or channel and asks for no more lines than fit.

use crate::commands::Pane;
use crate::layout::{Layout, Slot, fits, layout};
use crate::paint::{self, Pen};
use crate::rows;
use crate::state::UiState;
use crate::theme::Theme;
use crate::windows::Windows;
use daptree_model::{EndStatus, Follow, Row, RowState, Snapshot};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

mod breakpoints;
mod dialog;
mod help;
mod output;
mod program;
mod source;
mod stack;
mod status;
mod tree;
mod variables;

pub(crate) use dialog::furthest;

/// How things look, and what drawing derives: nothing that a decision hangs on.
#[derive(Clone, Debug, Default)]
pub struct Painted {
    /// The colours.
    pub theme: Theme,
    /// Letters and dashes instead of signs.
    pub ascii: bool,
    /// Where the terminal's cursor stands; hidden if nowhere.
    pub cursor: Option<(u16, u16)>,
}

/// What the panes draw from.
struct Scene<'a> {
    state: &'a UiState,
    snapshot: &'a Snapshot,
    windows: &'a Windows,
    theme: &'a Theme,
    ascii: bool,
}

impl Scene<'_> {
    /// One of two signs.
    fn sign(&self, sign: char, ascii: char) -> char {
        if self.ascii { ascii } else { sign }
    }

    fn is_focused(&self, pane: Pane) -> bool {
        self.state.pane() == pane
    }

    /// The style of a row under the cursor of a pane.
    fn selection(&self, pane: Pane) -> Style {
        if self.is_focused(pane) {
            self.theme.selected
        } else {
            self.theme.selected_idle
        }
    }

    /// The sign of a row's state; it means the same without colours.
    fn glyph(&self, row: &Row) -> (char, Style) {
        let theme = self.theme;
        match row.state {
            RowState::Created => (self.sign('○', 'o'), theme.dim),
            RowState::Starting | RowState::Adopting => (self.sign('…', '~'), theme.starting),
            RowState::Paused => (self.sign('‖', 'S'), theme.stopped),
            RowState::Failed => ('!', theme.failed),
            RowState::Running if row.follow == Follow::Adopted => {
                (self.sign('▶', 'R'), theme.running)
            }
            RowState::Running => (self.sign('·', '.'), theme.dim),
            RowState::Ended => match row.end.as_ref().map(|end| (end.status, end.released)) {
                Some((_, true)) => (self.sign('↗', '^'), theme.dim),
                Some((EndStatus::Exited(0), _)) => (self.sign('✓', '+'), theme.ended),
                Some((EndStatus::Unknown, _)) | None => (self.sign('■', '#'), theme.ended),
                Some(_) => (self.sign('✗', 'x'), theme.failed),
            },
        }
    }

    /// A path as short as its tree's folder allows.
    fn short<'p>(&self, path: &'p str) -> &'p str {
        self.snapshot
            .trees
            .iter()
            .find_map(|tree| path.strip_prefix(&tree.cwd)?.strip_prefix('/'))
            .unwrap_or(path)
    }
}

/// The last part of a path.
fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Columns for the place of something whose name takes so many of those that are left: all it
/// needs if both fit, else its share, and the line number in any case.
fn place_room(file: &str, line: u32, name: u16, left: u16) -> u16 {
    let whole = paint::width(&paint::place(file, line, u16::MAX));
    let least = paint::width(&paint::place("", line, 0)) + 2;
    let spare = left.saturating_sub(name + 1);
    whole.min(spare.max(left / 2).max(least)).min(left)
}

/// How a row ended, in a word or two.
fn end_text(row: &Row) -> Option<String> {
    let end = row.end.as_ref()?;
    if end.released {
        return Some("released".to_owned());
    }
    Some(match end.status {
        EndStatus::Exited(code) => format!("exit {code}"),
        EndStatus::Signaled(number) => daptree_model::signal_name(number),
        EndStatus::Unknown => "ended".to_owned(),
    })
}

/// Draws everything into `area` of the buffer, which the caller hands over empty.
pub fn view(
    state: &UiState,
    painted: &mut Painted,
    snapshot: &Snapshot,
    windows: &Windows,
    area: Rect,
    buffer: &mut Buffer,
) {
    painted.cursor = None;
    let area = area.intersection(buffer.area);
    if !fits((area.width, area.height)) {
        too_small(&painted.theme, area, buffer);
        return;
    }
    let made = layout(state, snapshot.breakpoints.len(), area);
    let scene = Scene {
        state,
        snapshot,
        windows,
        theme: &painted.theme,
        ascii: painted.ascii,
    };
    let mut cursor = None;
    for (x, y, rows) in &made.lines {
        for row in 0..*rows {
            let line = Rect::new(*x, y + row, 1, 1);
            let sign = scene.sign('│', '|');
            Pen::new(buffer, line, 0).fill(sign, scene.theme.rule);
        }
    }
    for slot in &made.slots {
        title(&scene, slot, buffer);
        let body = slot.body();
        match slot.shown {
            Pane::Tree => tree::draw(&scene, body, buffer),
            Pane::Source => source::draw(&scene, body, buffer),
            Pane::Stack => stack::draw(&scene, body, buffer),
            Pane::Variables => variables::draw(&scene, body, buffer),
            Pane::Output => output::draw(&scene, body, buffer),
            Pane::Breakpoints => breakpoints::draw(&scene, body, buffer),
            Pane::Terminal => cursor = program::draw(&scene, body, buffer),
        }
    }
    let typed = status::draw(&scene, &made, buffer);
    dialog::draw(&scene, body_of(&made, area), buffer);
    painted.cursor = typed.or(cursor).filter(|_| state.dialog.is_none());
}

fn body_of(made: &Layout, area: Rect) -> Rect {
    Rect {
        height: area.height.saturating_sub(made.status.height),
        ..area
    }
}

fn too_small(theme: &Theme, area: Rect, buffer: &mut Buffer) {
    let least = crate::layout::SMALLEST;
    let (columns, rows) = (area.width, area.height);
    let text = format!(
        "daptree needs {}x{}, this is {columns}x{rows}; q quits",
        least.0, least.1
    );
    let lines = help::wrap(&text, usize::from(columns));
    for (row, line) in (0..rows).zip(&lines) {
        Pen::new(buffer, area, row).put(line, theme.text);
    }
}

/// The line over a pane: its number and name, those of its tabs, and what it says of itself.
/// The line is heavy over the pane that has the keyboard.
fn title(scene: &Scene<'_>, slot: &Slot, buffer: &mut Buffer) {
    let focused = scene.is_focused(slot.shown);
    let theme = scene.theme;
    let (rule, style) = if focused {
        (scene.sign('━', '='), theme.rule_focused)
    } else {
        (scene.sign('─', '-'), theme.rule)
    };
    let mut pen = Pen::new(buffer, slot.area, 0);
    pen.put(&rule.to_string(), style);
    let name = format!(" {} {} ", slot.shown.number(), slot.shown.name());
    let name_style = if focused {
        theme.title_focused
    } else {
        theme.title
    };
    pen.put(&name, name_style);
    let others: Vec<Pane> = slot
        .tabs
        .iter()
        .copied()
        .filter(|p| *p != slot.shown)
        .collect();
    let few = others.len() <= 2;
    let tab = |pane: &Pane| {
        if few {
            format!(" {} {} ", pane.number(), pane.name())
        } else {
            pane.number().to_string()
        }
    };
    let tabs = others.iter().map(tab).collect::<Vec<_>>().concat();
    let gap = if tabs.is_empty() { 1 } else { 2 };
    let room = pen.left().saturating_sub(paint::width(&tabs) + gap);
    if room > 4 {
        let about = match slot.shown {
            Pane::Tree => tree::title(scene, room),
            Pane::Source => source::title(scene, room),
            Pane::Stack => stack::title(scene, room),
            Pane::Variables => variables::title(scene, room),
            Pane::Output => output::title(scene, room),
            Pane::Breakpoints => breakpoints::title(scene),
            Pane::Terminal => program::title(scene, room),
        };
        if !about.is_empty() {
            pen.put(&paint::cut(&about, room), name_style);
            pen.put(" ", style);
        }
    }
    if tabs.is_empty() {
        pen.fill(rule, style);
        return;
    }
    let reserved = paint::width(&tabs) + 1;
    pen.reserve(reserved);
    pen.fill(rule, style);
    pen.release(reserved);
    pen.put(&tabs, theme.dim);
    pen.fill(rule, style);
}

/// A line in the middle of an empty pane.
fn empty(scene: &Scene<'_>, area: Rect, buffer: &mut Buffer, text: &str) {
    let columns = usize::from(area.width.saturating_sub(2));
    let first = u16::from(area.height > 3);
    for (row, line) in (first..area.height).zip(help::wrap(text, columns)) {
        let mut pen = Pen::new(buffer, area, row);
        pen.put(" ", scene.theme.dim).put(&line, scene.theme.dim);
    }
}

/// Signs of the breakpoints on a line: the strongest one is shown.
fn breakpoint_sign(scene: &Scene<'_>, b: &daptree_model::Breakpoint) -> (char, Style) {
    use daptree_model::BreakpointStatus;
    let theme = scene.theme;
    let (good, asked) = b.verified();
    let refused = b
        .sessions
        .values()
        .filter(|status| matches!(status, BreakpointStatus::Refused { .. }))
        .count();
    if !b.enabled {
        (scene.sign('◌', '-'), theme.breakpoint_off)
    } else if asked > 0 && refused == asked {
        (scene.sign('⊘', '!'), theme.failed)
    } else if good == 0 {
        (scene.sign('○', 'o'), theme.breakpoint_off)
    } else if b.spec.log_message.is_some() {
        (scene.sign('◇', 'L'), theme.breakpoint)
    } else if b.spec.condition.is_some() || b.spec.hit_condition.is_some() {
        (scene.sign('◆', '?'), theme.breakpoint)
    } else if good < asked {
        (scene.sign('◐', 'b'), theme.breakpoint)
    } else {
        (scene.sign('●', 'B'), theme.breakpoint)
    }
}

/// Other sessions that stand in a source: line and names.
fn others_at<'a>(scene: &Scene<'a>, path: &str) -> Vec<(u32, &'a Row)> {
    scene
        .snapshot
        .rows
        .values()
        .filter(|row| Some(row.id) != scene.state.focus && rows::takes_focus(row))
        .filter_map(|row| {
            let place = row.stopped.as_ref()?.place.as_ref()?;
            (place.path == path).then(|| (place.line, row.as_ref()))
        })
        .collect()
}
