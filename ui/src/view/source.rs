//! The source of the selected frame: syntax colours, breakpoint marks, the current line, and
//! where the other stopped sessions stand. Only the lines that fit are looked at.

use super::{Scene, breakpoint_sign, others_at};
use crate::commands::Pane;
use crate::paint::{Pen, cut_middle, cut_start, width};
use crate::rows::{self, Seen};
use crate::state::{PromptKind, SourceKey};
use crate::windows::{Source, SourceText};
use daptree_model::Row;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// The part of the columns that the names of other sessions take at most.
const NAMES: u16 = 6;

pub(super) fn title(scene: &Scene<'_>, room: u16) -> String {
    let shown = rows::shown_source(scene.state, scene.snapshot, scene.windows);
    let Some((key, _)) = shown else {
        return String::new();
    };
    let scrolled = match scene.state.source.left {
        0 => String::new(),
        left => format!(" · column {}", left + 1),
    };
    let room = room.saturating_sub(width(&scrolled));
    cut_start(scene.short(&key.path), room) + &scrolled
}

pub(super) fn draw(scene: &Scene<'_>, area: Rect, buffer: &mut Buffer) {
    let shown = rows::shown_source(scene.state, scene.snapshot, scene.windows);
    let Some((key, _)) = shown else {
        let text = if scene.snapshot.rows.is_empty() && scene.state.ran {
            ""
        } else if scene.snapshot.rows.is_empty() {
            "starting …"
        } else {
            "no source: the session has not stopped yet"
        };
        super::empty(scene, area, buffer, text);
        return;
    };
    match scene.windows.source(&key) {
        Some(Source::Text(text)) if text.is_empty() => {
            super::empty(scene, area, buffer, "the file is empty");
        }
        Some(Source::Text(text)) => lines(scene, &key, text, area, buffer),
        Some(Source::Missing(why)) => {
            let text = format!("{} cannot be shown: {why}", key.path);
            super::empty(scene, area, buffer, &text);
        }
        Some(Source::Loading) | None => super::empty(scene, area, buffer, "reading …"),
    }
}

/// The line (from 1) that the selected frame stands on in this source, whether it is the top
/// frame, and whether the session still stands there.
fn current(scene: &Scene<'_>, key: &SourceKey) -> Option<(u32, bool, bool)> {
    let (frame_key, line) = rows::frame_source(scene.state, scene.snapshot, scene.windows)?;
    if frame_key != *key || line == 0 {
        return None;
    }
    let row = scene.snapshot.rows.get(&scene.state.focus?)?;
    let stands = row.is_paused();
    let known = Seen::of(scene.state, scene.snapshot, scene.windows).is_some();
    let stood = known || row.last_place.is_some();
    (stands || stood).then_some((line, scene.state.frame == 0, stands))
}

fn lines(scene: &Scene<'_>, key: &SourceKey, text: &SourceText, area: Rect, buffer: &mut Buffer) {
    let state = &scene.state.source;
    let others = others_at(scene, &key.path);
    let most = (area.width / NAMES).max(8);
    let names = others
        .iter()
        .map(|(line, _)| other_names(&at_line(&others, *line), most))
        .map(|names| width(&names) + 1)
        .max()
        .unwrap_or(0);
    let digits = text.len().to_string().len().max(2);
    let current = current(scene, key);
    for line in 0..area.height {
        let index = state.top + usize::from(line);
        let Some(content) = text.line(index) else {
            break;
        };
        let number = index as u32 + 1;
        let mut pen = Pen::new(buffer, area, line);
        let mark = rows::breakpoints_at(scene.snapshot, &key.path, number)
            .map(|b| breakpoint_sign(scene, b))
            .next();
        match mark {
            Some((sign, style)) => pen.put(&sign.to_string(), style),
            None => pen.put(" ", scene.theme.text),
        };
        pen.put(" ", scene.theme.text);
        if names > 0 {
            let here = other_names(&at_line(&others, number), most);
            let blank = " ".repeat(usize::from(names.saturating_sub(width(&here))));
            pen.put(&here, scene.theme.other_stop);
            pen.put(&blank, scene.theme.text);
        }
        let is_cursor = index == state.cursor;
        let number_style = if is_cursor {
            scene.theme.cursor_line
        } else {
            scene.theme.line_number
        };
        pen.put(&format!("{number:>digits$}"), number_style);
        let here = current.filter(|(at, ..)| *at == number);
        let (arrow, whole) = match here {
            Some((_, true, true)) => (scene.sign('▶', '>'), Some(scene.theme.current_line)),
            Some((_, false, true)) => (scene.sign('▷', '^'), Some(scene.theme.frame_line)),
            Some((.., false)) => (scene.sign('▷', '.'), None),
            None => (' ', None),
        };
        pen.put(&format!(" {arrow} "), scene.theme.stopped);
        pen.scrolled(state.left);
        code(scene, text, index, content, whole, &mut pen);
        pen.mark_cut(whole.unwrap_or(scene.theme.dim));
        if let Some(style) = whole {
            pen.fill(' ', style);
        }
    }
}

fn at_line<'a>(others: &[(u32, &'a Row)], line: u32) -> Vec<&'a Row> {
    let here = others.iter().filter(|(at, _)| *at == line);
    here.map(|(_, row)| *row).collect()
}

/// Such as `gw1 +3`: who else stands on a line, in so many columns.
fn other_names(here: &[&Row], columns: u16) -> String {
    let Some(first) = here.first() else {
        return String::new();
    };
    let tail = match here.len() - 1 {
        0 => String::new(),
        more => format!(" +{more}"),
    };
    let room = columns.saturating_sub(width(&tail));
    cut_middle(&first.name, room) + &tail
}

fn code(
    scene: &Scene<'_>,
    text: &SourceText,
    index: usize,
    content: &str,
    whole: Option<Style>,
    pen: &mut Pen<'_>,
) {
    let plain = scene.theme.text;
    let searching = scene
        .state
        .prompt
        .as_ref()
        .is_some_and(|prompt| prompt.kind == PromptKind::Search(Pane::Source));
    if searching && index == scene.state.source.cursor {
        let wanted = &scene.state.searched;
        if let Some((before, hit, after)) = split_match(content, wanted) {
            pen.put(before, whole.unwrap_or(plain));
            pen.put(hit, scene.theme.found);
            pen.put(after, whole.unwrap_or(plain));
            return;
        }
    }
    let (None, Some(pieces)) = (whole, text.pieces(index)) else {
        pen.put(content, whole.unwrap_or(plain));
        return;
    };
    let mut rest = content;
    for (length, token) in pieces.iter() {
        let Some((piece, after)) = rest.split_at_checked(*length as usize) else {
            break;
        };
        pen.put(piece, scene.theme.token(*token));
        rest = after;
    }
    pen.put(rest, plain);
}

/// The first match in a line, with what stands before and after it.
pub(super) fn split_match<'t>(text: &'t str, wanted: &str) -> Option<(&'t str, &'t str, &'t str)> {
    if wanted.is_empty() {
        return None;
    }
    let at = text.find(wanted).or_else(|| {
        let lower = text.to_ascii_lowercase();
        lower.find(&wanted.to_ascii_lowercase())
    })?;
    let (before, rest) = text.split_at_checked(at)?;
    let (hit, after) = rest.split_at_checked(wanted.len())?;
    Some((before, hit, after))
}
