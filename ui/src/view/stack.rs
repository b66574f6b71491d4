//! Threads and stack of the focus session.

use super::Scene;
use crate::commands::Pane;
use crate::paint::{Pen, cut, width};
use crate::rows::{self, Seen, StackRow};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::fmt::Write as _;

pub(super) fn title(scene: &Scene<'_>) -> String {
    let Some(seen) = Seen::of(scene.state, scene.snapshot, scene.windows) else {
        return String::new();
    };
    let threads = seen.inspect.threads.len();
    let mut out = seen.row.name.clone();
    if threads > 1 {
        let _ = write!(out, " · {threads} threads");
    }
    if !seen.fresh {
        let _ = write!(out, " · stop {} (over)", seen.inspect.stop);
    }
    out
}

pub(super) fn draw(scene: &Scene<'_>, area: Rect, buffer: &mut Buffer) {
    let Some(seen) = Seen::of(scene.state, scene.snapshot, scene.windows) else {
        super::empty(scene, area, buffer, nothing(scene));
        return;
    };
    let all = rows::stack(scene.state, &seen);
    let visible = all.iter().enumerate().skip(scene.state.stack.top);
    for (line, (index, row)) in (0..area.height).zip(visible) {
        let selected = index == scene.state.stack.cursor;
        draw_row(scene, row, seen.fresh, selected, area, line, buffer);
    }
}

/// What an empty pane of the focus session says.
pub(super) fn nothing(scene: &Scene<'_>) -> &'static str {
    let row = scene
        .state
        .focus
        .and_then(|focus| scene.snapshot.rows.get(&focus));
    match row {
        None => "starting …",
        Some(row) if !row.is_session() => "this process is not debugged",
        Some(row) if row.is_paused() => "reading …",
        Some(row) if row.is_ended() => "it ended and never stopped",
        Some(_) => "running: p stops it",
    }
}

fn draw_row(
    scene: &Scene<'_>,
    row: &StackRow<'_>,
    fresh: bool,
    selected: bool,
    area: Rect,
    line: u16,
    buffer: &mut Buffer,
) {
    let theme = scene.theme;
    let mut pen = Pen::new(buffer, area, line);
    match row {
        StackRow::Thread(thread, shown) => {
            let sign = if *shown {
                scene.sign('▾', 'v')
            } else {
                scene.sign('▸', '>')
            };
            pen.put(&format!("{sign} "), theme.dim);
            let style = if selected {
                scene.selection(Pane::Stack)
            } else {
                theme.text
            };
            pen.put(&thread.name, style);
        }
        StackRow::Frame(number, frame) => {
            let chosen = *number == scene.state.frame;
            pen.put(if chosen { ">" } else { " " }, theme.key);
            let place = format!("{}:{}", super::file_name(&frame.source), frame.line);
            let room = width(&place).min(pen.left() / 2);
            let name = cut(&frame.name, pen.left().saturating_sub(room + 1));
            let style = if selected {
                scene.selection(Pane::Stack)
            } else if frame.subtle || !fresh {
                theme.dim
            } else if chosen {
                theme.key
            } else {
                theme.text
            };
            pen.put(&name, style);
            pen.reserve(room);
            pen.fill(' ', theme.text);
            pen.release(room);
            pen.put(&cut(&place, room), theme.dim);
        }
        StackRow::More(count) => {
            let style = if selected {
                scene.selection(Pane::Stack)
            } else {
                theme.dim
            };
            pen.put(&format!("  … {count} more frames"), style);
        }
    }
}
