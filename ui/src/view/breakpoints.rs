//! Breakpoints of the trees: where, under which condition, and what the sessions say of each.

use super::{Scene, breakpoint_sign, file_name};
use crate::commands::Pane;
use crate::paint::{Pen, cut, place, width};
use daptree_model::{Breakpoint, BreakpointAt, BreakpointScope, BreakpointStatus, Reach, RowId};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::fmt::Write as _;

pub(super) fn title(scene: &Scene<'_>) -> String {
    match scene.snapshot.breakpoints.len() {
        0 => String::new(),
        count => count.to_string(),
    }
}

pub(super) fn draw(scene: &Scene<'_>, area: Rect, buffer: &mut Buffer) {
    let all = &scene.snapshot.breakpoints;
    if all.is_empty() {
        let text = "none: b sets one at the cursor of the source";
        super::empty(scene, area, buffer, text);
        return;
    }
    let list = scene.state.breakpoints.list;
    let visible = all.iter().enumerate().skip(list.top);
    for (line, (index, b)) in (0..area.height).zip(visible) {
        let mut pen = Pen::new(buffer, area, line);
        draw_row(scene, b, index == list.cursor, &mut pen);
    }
}

fn draw_row(scene: &Scene<'_>, b: &Breakpoint, selected: bool, pen: &mut Pen<'_>) {
    let theme = scene.theme;
    let (sign, style) = breakpoint_sign(scene, b);
    pen.put(&sign.to_string(), style).put(" ", theme.text);
    let name_style = if selected {
        scene.selection(Pane::Breakpoints)
    } else if b.enabled {
        theme.text
    } else {
        theme.dim
    };
    let conditions = conditions(scene, b);
    let full = name(b, u16::MAX);
    let fits =
        |status: &String| width(&full) + 1 + width(&conditions) + width(status) <= pen.left();
    let status = Some(status(scene, b))
        .filter(fits)
        .unwrap_or_else(|| short(scene, b));
    let room = match &b.spec.at {
        BreakpointAt::Line { path, line } => {
            let line = b.shown_line().unwrap_or(*line);
            super::place_room(file_name(path), line, width(&status), pen.left())
        }
        BreakpointAt::Function(_) => pen.left().saturating_sub(width(&status) + 1).max(8),
    };
    pen.put(&name(b, room), name_style);
    // What was found to be wrong is longer than any pane: it may be cut, the conditions first.
    let room = pen.left().saturating_sub(width(&status) + 1);
    pen.put(&cut(&conditions, room), theme.name);
    pen.put(" ", theme.text).put(&status, theme.dim);
    pen.mark_cut(theme.dim);
}

/// Such as `main.py:9` or `cube()`.
fn name(b: &Breakpoint, room: u16) -> String {
    match &b.spec.at {
        BreakpointAt::Line { path, line } => {
            place(file_name(path), b.shown_line().unwrap_or(*line), room)
        }
        BreakpointAt::Function(name) => cut(&format!("{name}()"), room),
    }
}

/// Such as ` if x > 3 hit % 2 in gw1 once`.
fn conditions(scene: &Scene<'_>, b: &Breakpoint) -> String {
    let mut out = String::new();
    for (word, text) in [
        ("if", &b.spec.condition),
        ("hit", &b.spec.hit_condition),
        ("log", &b.spec.log_message),
    ] {
        if let Some(text) = text {
            let _ = write!(out, " {word} {text}");
        }
    }
    let called = |row: &RowId| match scene.snapshot.rows.get(row) {
        Some(known) => format!("{} {row}", known.name),
        None => format!("{row} (gone)"),
    };
    match &b.spec.scope {
        BreakpointScope::Everywhere => {}
        BreakpointScope::Session(row) => {
            let _ = write!(out, " in {}", called(row));
        }
        BreakpointScope::Subtree(row) => {
            let _ = write!(out, " in {} and below", called(row));
        }
        BreakpointScope::Program(pattern) => {
            let _ = write!(out, " in {pattern}");
        }
    }
    if b.spec.once {
        out.push_str(" once");
    }
    out
}

/// Such as `verified in 3 of 5, hit 12`, with the adapter's word where something is wrong.
fn status(scene: &Scene<'_>, b: &Breakpoint) -> String {
    let (good, asked) = b.verified();
    let never = never(b);
    let mut out = match (b.enabled, good, asked) {
        (false, ..) => "off".to_owned(),
        (true, _, 0) => "pending".to_owned(),
        (true, 1, 1) => "verified".to_owned(),
        (true, 0, asked) if never > 0 => format!("out of reach in {never} of {asked}"),
        (true, 0, asked) if refusal(b).is_none() => format!("pending in {asked}"),
        (true, good, asked) => format!("verified in {good} of {asked}"),
    };
    if b.hits > 0 {
        let _ = write!(out, ", hit {}", b.hits);
    }
    if let Some((from, _)) = moved_from(b) {
        let _ = write!(out, ", moved from {from}");
    }
    let (waiting, missed) = not_loaded(scene, b);
    if waiting > 0 {
        let _ = write!(out, ", not loaded yet in {waiting}");
    }
    if missed > 0 {
        let _ = write!(out, ", not loaded in {missed} ended");
    }
    if let Some((row, reason, offer)) = b.out_of_reach() {
        if good > 0 {
            let _ = write!(out, ", out of reach in {never}");
        }
        let _ = write!(out, ": {row}: {reason}");
        if let Some(map) = offer {
            let _ = write!(out, "; a maps {} to {}", map.local, map.remote);
        }
    }
    if let Some(why) = refusal(b) {
        let _ = write!(out, ", refused: {why}");
    }
    if let Some(note) = &b.note {
        let _ = write!(out, ", {note}");
    }
    out
}

/// The same where there is less room, such as `3/5 · 12 hits`.
fn short(scene: &Scene<'_>, b: &Breakpoint) -> String {
    let (good, asked) = b.verified();
    let mut out = match (b.enabled, asked) {
        (false, _) => "off".to_owned(),
        (true, 0) => "pending".to_owned(),
        (true, asked) => format!("{good}/{asked}"),
    };
    match b.hits {
        0 => {}
        1 => out += " · 1 hit",
        hits => {
            let _ = write!(out, " · {hits} hits");
        }
    }
    if let Some((from, _)) = moved_from(b) {
        let _ = write!(out, " · from {from}");
    }
    if let Some((_, reason, offer)) = b.out_of_reach() {
        let accept = if offer.is_some() { "a accepts: " } else { "" };
        let _ = write!(out, " · {accept}{reason}");
    } else if let (1.., _) | (_, 1..) = not_loaded(scene, b) {
        out += " · not loaded";
    }
    if let Some(why) = refusal(b).or(b.note.as_deref()) {
        let _ = write!(out, " · {why}");
    }
    out
}

/// The line that was asked for and the one it stands on, where they differ.
fn moved_from(b: &Breakpoint) -> Option<(u32, u32)> {
    match (&b.spec.at, b.shown_line()) {
        (BreakpointAt::Line { line, .. }, Some(shown)) if *line != shown => Some((*line, shown)),
        _ => None,
    }
}

/// In how many sessions it can never be hit.
fn never(b: &Breakpoint) -> usize {
    let is_never = |reach: &&Reach| matches!(reach, Reach::Never { .. });
    b.reach.values().filter(is_never).count()
}

/// In how many live sessions its file is not loaded yet, and in how many it was not when they
/// ended.
fn not_loaded(scene: &Scene<'_>, b: &Breakpoint) -> (usize, usize) {
    let (mut waiting, mut missed) = (0, 0);
    for (row, reach) in &b.reach {
        match scene.snapshot.rows.get(row) {
            Some(known) if *reach == Reach::NotYet && known.is_ended() => missed += 1,
            Some(_) if *reach == Reach::NotYet => waiting += 1,
            _ => {}
        }
    }
    (waiting, missed)
}

fn refusal(b: &Breakpoint) -> Option<&str> {
    b.sessions.iter().find_map(|(row, status)| match status {
        BreakpointStatus::Refused { message } if !b.reach.contains_key(row) => {
            Some(message.as_str())
        }
        _ => None,
    })
}
