//! Output: of the focus session, or of the whole tree with a coloured name before each line.

use super::Scene;
use crate::ansi;
use crate::paint::{Pen, cut_middle, width};
use crate::theme::Theme;
use daptree_model::{OutputLine, OutputWindow, RowId, Stream};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::fmt::Write as _;

/// Columns that a name takes at most.
const NAMES: u16 = 12;

pub(super) fn title(scene: &Scene<'_>, room: u16) -> String {
    let state = &scene.state.output;
    let name = |row: RowId| scene.snapshot.rows.get(&row).map(|row| row.name.as_str());
    let whose = if state.whole_tree {
        "whole tree"
    } else {
        scene.state.focus.and_then(name).unwrap_or("")
    };
    let mut out = String::new();
    if state.scan.is_some() {
        out += " · searching";
    }
    if let Some(top) = state.top {
        let total = window(scene).map_or(0, |window| window.total);
        let _ = write!(out, " · line {} of {total}", top + 1);
    }
    if let Some(dropped) = window(scene).map(|w| w.dropped).filter(|d| *d > 0) {
        let _ = write!(out, " · {dropped} dropped");
    }
    if state.left > 0 {
        let _ = write!(out, " · column {}", state.left + 1);
    }
    let room = room.saturating_sub(width(&out)).max(room / 2);
    cut_middle(whose, room) + &out
}

fn window<'a>(scene: &Scene<'a>) -> Option<&'a OutputWindow> {
    let row = if scene.state.output.whole_tree {
        None
    } else {
        Some(scene.state.focus?)
    };
    scene.windows.output.get(&row)
}

pub(super) fn draw(scene: &Scene<'_>, area: Rect, buffer: &mut Buffer) {
    let Some(window) = window(scene) else {
        super::empty(scene, area, buffer, "no output yet");
        return;
    };
    if window.total == 0 {
        let text = if scene.state.output.whole_tree {
            "no output yet"
        } else {
            "this session has printed nothing; T shows the whole tree's output"
        };
        super::empty(scene, area, buffer, text);
        return;
    }
    let height = u64::from(area.height);
    let end = window.lines.last().map_or(0, |line| line.number + 1);
    let top = scene
        .state
        .output
        .top
        .unwrap_or_else(|| end.saturating_sub(height));
    let name_columns = name_columns(scene, window);
    for line in &window.lines {
        let Some(row) = line.number.checked_sub(top).filter(|row| *row < height) else {
            continue;
        };
        let mut pen = Pen::new(buffer, area, row as u16);
        draw_line(scene, line, name_columns, &mut pen);
    }
}

fn name_columns(scene: &Scene<'_>, window: &OutputWindow) -> u16 {
    if !scene.state.output.whole_tree {
        return 0;
    }
    // Of all that ever wrote, so that the text does not jump when lines scroll away.
    let writers = scene.snapshot.output_lines.keys();
    writers
        .chain(window.lines.iter().map(|line| &line.row))
        .filter_map(|row| scene.snapshot.rows.get(row))
        .map(|row| width(&row.name))
        .max()
        .unwrap_or(2)
        .min(NAMES)
}

fn draw_line(scene: &Scene<'_>, line: &OutputLine, name_columns: u16, pen: &mut Pen<'_>) {
    let theme = scene.theme;
    if name_columns > 0 {
        let known = scene.snapshot.rows.get(&line.row);
        let name = known.map_or_else(|| line.row.to_string(), |row| row.name.clone());
        let name = cut_middle(&name, name_columns);
        let blank = usize::from(name_columns.saturating_sub(width(&name)));
        pen.put(&name, Theme::session(line.row));
        pen.put(&" ".repeat(blank), theme.text);
        pen.put(&format!(" {} ", scene.sign('│', '|')), theme.rule);
    }
    let found = scene.state.output.found == Some(line.number);
    let base = match line.stream {
        _ if found => theme.found,
        Stream::Stdout | Stream::Terminal => theme.text,
        Stream::Stderr => theme.stderr,
        Stream::Console => theme.console,
    };
    pen.scrolled(scene.state.output.left);
    ansi::runs(&line.text, base, |text, style| {
        pen.put(text, style);
    });
    pen.mark_cut(theme.dim);
}
