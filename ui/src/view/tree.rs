//! The session tree: one row a process, in the order in which they were seen, so that rows keep
//! their place.

use super::{Scene, end_text, file_name};
use crate::commands::Pane;
use crate::paint::{self, Pen, cut, cut_middle, width};
use crate::rows::{self, TreeRow};
use daptree_model::{Follow, Row, RowState, TreeState};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::fmt::Write as _;

pub(super) fn title(scene: &Scene<'_>, room: u16) -> String {
    let counts = rows::counts(scene.snapshot);
    let dropped: u32 = scene
        .snapshot
        .trees
        .iter()
        .map(|tree| tree.rows_dropped)
        .sum();
    let parts = [
        (counts.stopped, "stopped", scene.sign('‖', 'S')),
        (counts.held, "held", 'h'),
        (counts.running, "running", scene.sign('▶', 'R')),
        (counts.ended, "ended", scene.sign('■', '#')),
        (dropped as usize, "older not shown", '-'),
    ];
    let mut long = counts.all.to_string();
    let mut short = long.clone();
    for (count, word, sign) in parts.into_iter().filter(|part| part.0 > 0) {
        let _ = write!(long, " · {count} {word}");
        let _ = write!(short, " {sign}{count}");
    }
    if scene.snapshot.trees.iter().any(|tree| tree.stop_the_world) {
        long.push_str(" · stop the world");
        short.push_str(" W");
    }
    if width(&long) <= room { long } else { short }
}

pub(super) fn draw(scene: &Scene<'_>, area: Rect, buffer: &mut Buffer) {
    let all = rows::tree(scene.state, scene.snapshot);
    if all.is_empty() {
        let text = scene
            .snapshot
            .trees
            .iter()
            .find_map(|tree| match &tree.state {
                TreeState::Preparing(what) => Some(what.as_str()),
                _ => None,
            });
        let without = if scene.state.ran {
            super::status::CLOSED
        } else {
            "starting …"
        };
        super::empty(scene, area, buffer, text.unwrap_or(without));
        return;
    }
    let visible = all.iter().skip(scene.state.tree.top);
    for (line, row) in (0..area.height).zip(visible) {
        if let Some(known) = scene.snapshot.rows.get(&row.id) {
            draw_row(scene, row, known, area, line, buffer);
        }
    }
}

fn draw_row(
    scene: &Scene<'_>,
    shown: &TreeRow,
    row: &Row,
    area: Rect,
    line: u16,
    buffer: &mut Buffer,
) {
    let theme = scene.theme;
    let focused = scene.state.focus == Some(row.id);
    let selected = scene.state.tree.selected == Some(row.id);
    let quiet = row.follow != Follow::Adopted || row.is_ended();
    let (words, place) = place_of(row);
    let mut pen = Pen::new(buffer, area, line);
    pen.put(if focused { ">" } else { " " }, theme.key);
    let levels = shown.guides.len();
    // Deep trees give up levels, never the name.
    let skip = levels.saturating_sub(usize::from(area.width) / 6);
    if skip > 0 {
        pen.put("…", theme.rule);
    }
    for (level, goes_on) in shown.guides.iter().enumerate().skip(skip) {
        let own = level + 1 == levels;
        let text = match (own, *goes_on, scene.ascii) {
            (true, true, false) => "├ ",
            (true, false, false) => "└ ",
            (false, true, false) => "│ ",
            (true, _, true) => "|-",
            (false, true, true) => "| ",
            (false, false, _) => "  ",
        };
        pen.put(text, theme.rule);
    }
    let (glyph, glyph_style) = scene.glyph(row);
    pen.put(&glyph.to_string(), glyph_style);
    pen.put(" ", theme.text);
    let name_style = if selected {
        scene.selection(Pane::Tree)
    } else if focused {
        theme.key
    } else if quiet {
        theme.dim
    } else {
        theme.text
    };
    let pid = row
        .process
        .map_or(String::new(), |process| process.pid.to_string());
    let mut name = row.name.clone();
    if row.execs > 0 {
        // It replaced itself and is the same process all the same.
        name.push(scene.sign('↻', '@'));
    }
    if row.stops_world && row.parent.is_some() {
        name.push(scene.sign('⊞', 'W'));
    }
    if shown.folded && shown.below > 0 {
        let _ = write!(name, " +{}", shown.below);
    }
    let place_room = match place {
        Some((file, at)) => super::place_room(file, at, width(&name) + width(&words), pen.left()),
        None => 0,
    };
    let place = place.map_or(String::new(), |(file, at)| {
        paint::place(file, at, place_room)
    });
    let spare = pen.left().saturating_sub(width(&name) + 1);
    let most = (pen.left() / 2).max(spare).max(place_room);
    let place = cut(&(words + &place), most);
    let place_room = width(&place);
    let room = pen.left().saturating_sub(place_room + 1);
    let pid_room = width(&pid) + 1;
    let fits_pid = !pid.is_empty() && width(&name) + pid_room <= room;
    let name = cut_middle(&name, if fits_pid { room - pid_room } else { room });
    pen.put(&name, name_style);
    if fits_pid {
        pen.put(" ", theme.text).put(&pid, theme.dim);
    }
    if place_room > 0 {
        pen.reserve(place_room);
        pen.fill(' ', theme.text);
        pen.release(place_room);
        let style = match row.state {
            RowState::Paused if !row.held => theme.stopped,
            RowState::Failed => theme.failed,
            RowState::Ended => glyph_style,
            _ => theme.dim,
        };
        pen.put(&place, style);
    }
}

/// What it does or how it ended, and the file and line where it stands.
fn place_of(row: &Row) -> (String, Option<(&str, u32)>) {
    if let Some(end) = end_text(row) {
        return (end, None);
    }
    let words = match row.state {
        RowState::Paused => {
            let place = row.stopped.as_ref().and_then(|stop| stop.place.as_ref());
            let place = place.map(|place| (file_name(&place.path), place.line));
            return match (row.held, place) {
                (true, None) => ("held".to_owned(), None),
                (true, place) => ("held ".to_owned(), place),
                (false, place) => (String::new(), place),
            };
        }
        RowState::Created => "not started",
        RowState::Starting => "starting",
        RowState::Adopting => "joining",
        RowState::Failed => "connection broke",
        RowState::Running if row.pausing => "pausing",
        RowState::Running | RowState::Ended => match row.follow {
            Follow::Helper => "helper",
            Follow::Released => "released",
            Follow::Adopted | Follow::Unfollowed => "",
        },
    };
    (words.to_owned(), None)
}
