//! What stands over the panes: the question at the end, the help page, the messages.

use super::{Scene, help};
use crate::layout::STATUS;
use crate::paint::{Pen, width};
use crate::rows;
use crate::state::{Confirm, Dialog, Lifecycle, UiState};
use daptree_model::{Snapshot, TreeOrigin};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// A line of a dialog: pieces with their styles.
pub(super) type Line = Vec<(String, Style)>;

pub(super) fn draw(scene: &Scene<'_>, area: Rect, buffer: &mut Buffer) {
    let theme = scene.theme;
    match scene.state.dialog {
        None => {}
        Some(Dialog::Quit) => {
            let counts = rows::counts(scene.snapshot);
            let live = counts.stopped + counts.held + counts.running;
            let what = match live {
                0 => "The tree is still alive.".to_owned(),
                1 => "1 process of the tree is alive.".to_owned(),
                _ => format!("{live} processes of the tree are alive."),
            };
            let lines = vec![
                vec![(what, theme.text)],
                vec![],
                vec![
                    ("e".to_owned(), theme.key),
                    (
                        format!(" {} and quit    ", parting(scene.snapshot)),
                        theme.text,
                    ),
                    ("Esc".to_owned(), theme.key),
                    (" cancel".to_owned(), theme.text),
                ],
            ];
            framed(scene, "quit", &lines, 0, area, buffer);
        }
        Some(Dialog::Ending) => {
            let lines = vec![
                vec![("ending the tree …".to_owned(), theme.text)],
                vec![],
                vec![
                    ("q".to_owned(), theme.key),
                    (" leave without waiting".to_owned(), theme.text),
                ],
            ];
            framed(scene, "quit", &lines, 0, area, buffer);
        }
        Some(Dialog::Exceptions(cursor)) => {
            let (lines, at) = exceptions(scene, cursor, inside(area).width);
            let room = usize::from(inside(area).height);
            let top = (at + 2).saturating_sub(room);
            framed(scene, "exceptions", &lines, top, area, buffer);
        }
        Some(Dialog::Confirm(asked)) => {
            let (title, lines) = question(scene, asked, inside(area).width);
            framed(scene, title, &lines, 0, area, buffer);
        }
        Some(Dialog::Help(top)) => {
            let lines = help::lines(scene, inside(area).width);
            framed(scene, "help", &lines, top, area, buffer);
        }
        Some(Dialog::Notices(back)) => {
            let lines = notices(scene, inside(area).width);
            let room = usize::from(inside(area).height);
            let top = lines.len().saturating_sub(room).saturating_sub(back);
            framed(scene, "messages", &lines, top, area, buffer);
        }
    }
}

/// The filters, with the exception that the focus stands at before them; and the line of the
/// cursor.
fn exceptions(scene: &Scene<'_>, cursor: usize, columns: u16) -> (Vec<Line>, usize) {
    let theme = scene.theme;
    let room = usize::from(columns.max(12));
    let mut lines: Vec<Line> = Vec::new();
    let row = scene
        .state
        .focus
        .and_then(|id| scene.snapshot.rows.get(&id));
    let stop = row.and_then(|row| row.stopped.as_ref());
    if let Some(raised) = stop.and_then(|stop| stop.exception.as_ref()) {
        let own = rows::raised_text(&raised.type_name, &raised.message);
        let chain = raised.chain.iter().map(|cause| {
            let word = if cause.is_direct {
                "caused by"
            } else {
                "while handling"
            };
            let cause = rows::raised_text(&cause.type_name, &cause.message);
            format!("{word} {cause}")
        });
        for (index, text) in std::iter::once(own).chain(chain).enumerate() {
            let style = if index == 0 { theme.failed } else { theme.text };
            let parts = help::wrap(&text, room);
            lines.extend(parts.into_iter().map(|part| vec![(part, style)]));
        }
        lines.push(Vec::new());
    }
    let all = rows::filters(scene.state, scene.snapshot);
    let mut at = lines.len();
    if all.is_empty() {
        let text = "no adapter has said yet which filters it has".to_owned();
        lines.push(vec![(text, theme.dim)]);
    }
    for (index, (filter, on)) in all.iter().enumerate() {
        let style = if index == cursor {
            at = lines.len();
            theme.selected
        } else {
            theme.text
        };
        let mark = if *on { "[x]" } else { "[ ]" };
        let text = format!("{mark} {}: {}", filter.filter, filter.label);
        let parts = help::wrap(&text, room).into_iter();
        lines.extend(parts.map(|part| vec![(part, style)]));
        let about = filter.description.as_deref().unwrap_or_default();
        let parts = help::wrap(about, room.saturating_sub(4)).into_iter();
        lines.extend(parts.map(|part| vec![(format!("    {part}"), theme.dim)]));
    }
    lines.push(Vec::new());
    let of = if scene.snapshot.exception_filters.is_some() {
        "chosen for every session"
    } else {
        "what each program suggests"
    };
    lines.push(vec![
        ("Space".to_owned(), theme.key),
        (" on/off  ".to_owned(), theme.text),
        ("Esc".to_owned(), theme.key),
        (" back  ".to_owned(), theme.text),
        (of.to_owned(), theme.dim),
    ]);
    (lines, at)
}

/// What will happen, and the keys that let it.
fn question(scene: &Scene<'_>, asked: Confirm, columns: u16) -> (&'static str, Vec<Line>) {
    let snapshot = scene.snapshot;
    let Confirm { what, row } = asked;
    let known = snapshot.rows.get(&row);
    let name = known.map_or_else(String::new, |known| format!("{} {row}", known.name));
    let root = known.map_or(row, |known| known.root);
    let own = known.is_some_and(|known| !known.is_ended());
    let attached = snapshot
        .tree_of(row)
        .is_some_and(|tree| tree.origin == TreeOrigin::Attached);
    let below = rows::alive_below(snapshot, row).saturating_sub(usize::from(own));
    let all = rows::alive_below(snapshot, root);
    let with = match below {
        0 => String::new(),
        count => format!(" and {} below it", rows::counted(count, "process")),
    };
    let (title, text) = match what {
        Lifecycle::Terminate => ("end", format!("{name}{with}: ended, the rows stay.")),
        Lifecycle::Close if attached && row == root => (
            "close",
            format!("{name}{with}: let go, they live on; the rows go."),
        ),
        Lifecycle::Close => ("close", format!("{name}{with}: ended, the rows go.")),
        Lifecycle::Restart => (
            "restart",
            format!("{name}{with}: ended and started again. Breakpoints stay."),
        ),
        Lifecycle::Detach => (
            "detach",
            format!("{name}{with}: live on without a debugger."),
        ),
    };
    let theme = scene.theme;
    let mut lines: Vec<Line> = help::wrap(&text, usize::from(columns))
        .into_iter()
        .map(|part| vec![(part, theme.text)])
        .collect();
    lines.push(vec![]);
    let mut keys = vec![("Enter", " do it".to_owned())];
    if row != root {
        keys = vec![
            ("Enter", " this one".to_owned()),
            ("t", format!(" the tree ({all})")),
        ];
    }
    keys.push(("Esc", " cancel".to_owned()));
    let pieces = keys
        .into_iter()
        .map(|(key, text)| vec![(key.to_owned(), theme.key), (text, theme.text)]);
    let in_one: Line = pieces
        .clone()
        .collect::<Vec<_>>()
        .join(&("   ".to_owned(), theme.text));
    let wide: u16 = in_one.iter().map(|(text, _)| width(text)).sum();
    if wide <= columns {
        lines.push(in_one);
    } else {
        lines.extend(pieces);
    }
    (title, lines)
}

/// How far the help page or the list of messages can be scrolled on a screen.
pub(crate) fn furthest(state: &UiState, snapshot: &Snapshot) -> usize {
    let area = Rect::new(0, 0, state.size.0, state.size.1.saturating_sub(STATUS));
    let lines = match state.dialog {
        Some(Dialog::Help(_)) => help::count(inside(area).width),
        Some(Dialog::Notices(_)) => messages(state, snapshot, inside(area).width).len(),
        Some(Dialog::Quit | Dialog::Ending | Dialog::Confirm(_) | Dialog::Exceptions(_)) | None => {
            0
        }
    };
    lines.saturating_sub(usize::from(inside(area).height))
}

/// Where the text of a dialog can be at most.
fn inside(area: Rect) -> Rect {
    Rect {
        x: area.x.saturating_add(2),
        y: area.y.saturating_add(1),
        width: area.width.saturating_sub(4),
        height: area.height.saturating_sub(2),
    }
}

/// The lines of all messages: whether one begins, its text, whether something failed.
fn messages(state: &UiState, snapshot: &Snapshot, columns: u16) -> Vec<(bool, String, bool)> {
    let mut texts: Vec<(String, bool)> = Vec::new();
    for notice in &snapshot.notices {
        let name = notice
            .row
            .and_then(|row| snapshot.rows.get(&row))
            .map(|row| format!("{}: ", row.name))
            .unwrap_or_default();
        texts.push((format!("{name}{}", notice.message), notice.is_error));
    }
    let own = state.log.iter();
    texts.extend(own.map(|message| (message.text.clone(), message.is_error)));
    if texts.is_empty() {
        texts.push(("no messages".to_owned(), false));
    }
    let room = usize::from(columns.saturating_sub(2).max(10));
    let mut out = Vec::new();
    for (text, is_error) in texts {
        let parts = help::wrap(&text, room).into_iter().enumerate();
        out.extend(parts.map(|(index, part)| (index == 0, part, is_error)));
    }
    out
}

/// What leaving does to the trees that live: what daptree did not start is never ended.
fn parting(snapshot: &Snapshot) -> &'static str {
    let live = || snapshot.trees.iter().filter(|tree| tree.state.is_live());
    let attached = live().filter(|tree| tree.origin == TreeOrigin::Attached);
    match (attached.count(), live().count()) {
        (0, _) => "end it",
        (some, all) if some < all => "end what was started, let the rest go",
        _ => "let it go",
    }
}

fn notices(scene: &Scene<'_>, columns: u16) -> Vec<Line> {
    let styled = |(first, text, is_error)| {
        let (mark, style) = if is_error {
            (scene.sign('✗', 'x'), scene.theme.failed)
        } else {
            (scene.sign('·', '-'), scene.theme.text)
        };
        let mark = if first { mark } else { ' ' };
        vec![(format!("{mark} "), style), (text, style)]
    };
    let all = messages(scene.state, scene.snapshot, columns);
    all.into_iter().map(styled).collect()
}

fn framed(
    scene: &Scene<'_>,
    title: &str,
    lines: &[Line],
    top: usize,
    area: Rect,
    buffer: &mut Buffer,
) {
    let theme = scene.theme;
    let columns = |line: &Line| line.iter().map(|(text, _)| width(text)).sum::<u16>();
    let widest = lines.iter().map(columns).max().unwrap_or(0);
    let wide = (widest + 4).clamp(24.min(area.width), area.width);
    let high = (lines.len() as u16).saturating_add(2).min(area.height);
    let frame = Rect::new(
        area.x + (area.width - wide) / 2,
        area.y + (area.height - high) / 2,
        wide,
        high,
    );
    let inner = usize::from(high.saturating_sub(2));
    let top = top.min(lines.len().saturating_sub(inner));
    let (side, flat) = (scene.sign('┃', '|').to_string(), scene.sign('━', '='));
    for row in 0..high {
        let mut pen = Pen::new(buffer, frame, row);
        if row == 0 || row + 1 == high {
            let (left, right) = match (row == 0, scene.ascii) {
                (_, true) => ("+", "+"),
                (true, false) => ("┏", "┓"),
                (false, false) => ("┗", "┛"),
            };
            pen.put(left, theme.rule_focused);
            if row == 0 {
                pen.put(&format!(" {title} "), theme.title_focused);
            } else if lines.len() > inner {
                let dash = scene.sign('–', '-');
                let text = format!(" {}{dash}{} of {} ", top + 1, top + inner, lines.len());
                pen.put(&text, theme.dim);
                pen.put(&flat.to_string(), theme.rule_focused);
                pen.put(" PgDn PgUp Esc ", theme.dim);
            }
            pen.reserve(1);
            pen.fill(flat, theme.rule_focused);
            pen.release(1);
            pen.put(right, theme.rule_focused);
            continue;
        }
        pen.put(&side, theme.rule_focused).put(" ", theme.text);
        pen.reserve(1);
        if let Some(line) = lines.get(top + usize::from(row) - 1) {
            for (text, style) in line {
                pen.put(text, *style);
            }
        }
        pen.fill(' ', theme.text);
        pen.release(1);
        pen.put(&side, theme.rule_focused);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn what_leaving_does_is_said_of_what_lives() {
        let mut snapshot = fixture::snapshot([]);
        assert_eq!(parting(&snapshot), "end it");
        let mut attached = snapshot.trees[0].clone();
        attached.origin = TreeOrigin::Attached;
        snapshot.trees.push(attached);
        assert_eq!(parting(&snapshot), "end what was started, let the rest go");
        snapshot.trees.remove(0);
        assert_eq!(parting(&snapshot), "let it go");
    }
}
