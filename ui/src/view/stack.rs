//! Threads and stack of the focus session.

use super::Scene;
use crate::commands::Pane;
use crate::paint::{Pen, cut, cut_middle, place, width};
use crate::rows::{self, Seen, StackRow};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Columns in which a name can still be told from others.
const SHORT_NAME: u16 = 8;

pub(super) fn title(scene: &Scene<'_>, room: u16) -> String {
    let Some(seen) = Seen::of(scene.state, scene.snapshot, scene.windows) else {
        return String::new();
    };
    let threads = match seen.inspect.threads.len() {
        0 | 1 => String::new(),
        count => format!(" · {count} threads"),
    };
    let ended_here = seen.row.ended_at == Some(seen.inspect.stop);
    let over = if seen.fresh {
        String::new()
    } else if ended_here {
        format!(" · last stop {}", seen.inspect.stop)
    } else {
        format!(" · stop {} (over)", seen.inspect.stop)
    };
    let name = &seen.row.name;
    let long = format!("{name}{threads}{over}");
    if width(&long) <= room {
        return long;
    }
    // That a stop is over matters more than how many threads there were.
    let over = match room.checked_sub(width(&over)) {
        Some(rest) if rest >= SHORT_NAME => over.as_str(),
        _ if seen.fresh => "",
        _ if ended_here => " · last stop",
        _ => " · over",
    };
    cut_middle(name, room.saturating_sub(width(over))) + over
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
        None if scene.state.ran => "",
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
            } else if fresh {
                theme.text
            } else {
                theme.dim
            };
            pen.put(&thread.name, style).mark_cut(theme.dim);
        }
        StackRow::Frame(number, frame) => {
            let chosen = *number == scene.state.frame;
            pen.put(if chosen { ">" } else { " " }, theme.key);
            let file = super::file_name(&frame.source);
            let room = super::place_room(file, frame.line, width(&frame.name), pen.left());
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
            pen.put(&place(file, frame.line, room), theme.dim);
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
