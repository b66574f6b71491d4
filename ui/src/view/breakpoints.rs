//! Breakpoints of the trees: where, under which condition, and what the sessions say of each.

use super::{Scene, breakpoint_sign, file_name};
use crate::commands::Pane;
use crate::paint::{Pen, cut, place, width};
use daptree_model::{Breakpoint, BreakpointStatus};
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
    let file = file_name(&b.spec.path);
    let name_style = if selected {
        scene.selection(Pane::Breakpoints)
    } else if b.enabled {
        theme.text
    } else {
        theme.dim
    };
    let mut conditions = String::new();
    for (word, text) in [
        ("if", &b.spec.condition),
        ("hit", &b.spec.hit_condition),
        ("log", &b.spec.log_message),
    ] {
        if let Some(text) = text {
            let _ = write!(conditions, " {word} {text}");
        }
    }
    let name = width(&place(file, b.shown_line(), u16::MAX)) + 1;
    let fits = |status: &String| name + width(&conditions) + width(status) <= pen.left();
    let status = Some(status(b)).filter(fits).unwrap_or_else(|| short(b));
    let room = super::place_room(file, b.shown_line(), width(&status), pen.left());
    pen.put(&place(file, b.shown_line(), room), name_style);
    // What was found to be wrong is longer than any pane: it may be cut, the conditions first.
    let room = pen.left().saturating_sub(width(&status) + 1);
    pen.put(&cut(&conditions, room), theme.name);
    pen.put(" ", theme.text).put(&status, theme.dim);
    pen.mark_cut(theme.dim);
}

/// Such as `verified in 3 of 5, hit 12`, with the adapter's word where something is wrong.
fn status(b: &Breakpoint) -> String {
    let (good, asked) = b.verified();
    let mut out = match (b.enabled, good, asked) {
        (false, ..) => "off".to_owned(),
        (true, _, 0) => "pending".to_owned(),
        (true, 1, 1) => "verified".to_owned(),
        (true, good, asked) if good == 0 && refusal(b).is_none() => format!("pending in {asked}"),
        (true, good, asked) => format!("verified in {good} of {asked}"),
    };
    if b.hits > 0 {
        let _ = write!(out, ", hit {}", b.hits);
    }
    if b.shown_line() != b.spec.line {
        let _ = write!(out, ", moved from {}", b.spec.line);
    }
    if let Some(why) = refusal(b) {
        let _ = write!(out, ", refused: {why}");
    }
    out
}

/// The same where there is less room, such as `3/5 · 12 hits`.
fn short(b: &Breakpoint) -> String {
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
    if b.shown_line() != b.spec.line {
        let _ = write!(out, " · from {}", b.spec.line);
    }
    if let Some(why) = refusal(b) {
        let _ = write!(out, " · {why}");
    }
    out
}

fn refusal(b: &Breakpoint) -> Option<&str> {
    b.sessions.values().find_map(|status| match status {
        BreakpointStatus::Refused { message } => Some(message.as_str()),
        _ => None,
    })
}
