//! What stands over the panes: the question at the end, the help page, the messages.

use super::{Scene, help};
use crate::paint::{Pen, width};
use crate::rows;
use crate::state::Dialog;
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
            let live = counts.stopped + counts.running;
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
                    (" end it and quit    ".to_owned(), theme.text),
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
        Some(Dialog::Help(top)) => {
            let lines = help::lines(scene, area.width.saturating_sub(4));
            framed(scene, "help", &lines, top, area, buffer);
        }
        Some(Dialog::Notices(back)) => {
            let lines = notices(scene, area.width.saturating_sub(6));
            let room = usize::from(area.height.saturating_sub(2));
            let top = lines.len().saturating_sub(room).saturating_sub(back);
            framed(scene, "messages", &lines, top, area, buffer);
        }
    }
}

fn notices(scene: &Scene<'_>, columns: u16) -> Vec<Line> {
    let mut texts: Vec<(String, bool)> = Vec::new();
    for notice in &scene.snapshot.notices {
        let name = notice
            .row
            .and_then(|row| scene.snapshot.rows.get(&row))
            .map(|row| format!("{}: ", row.name))
            .unwrap_or_default();
        texts.push((format!("{name}{}", notice.message), notice.is_error));
    }
    let own = scene.state.log.iter();
    texts.extend(own.map(|message| (message.text.clone(), message.is_error)));
    if texts.is_empty() {
        texts.push(("no messages".to_owned(), false));
    }
    let room = usize::from(columns.max(10)) - 2;
    let mut out = Vec::new();
    for (text, is_error) in texts {
        let (mark, style) = if is_error {
            (scene.sign('✗', 'x'), scene.theme.failed)
        } else {
            (scene.sign('·', '-'), scene.theme.text)
        };
        let chars: Vec<char> = text.chars().collect();
        for (index, part) in chars.chunks(room).enumerate() {
            let head = if index == 0 { mark } else { ' ' };
            out.push(vec![
                (format!("{head} "), style),
                (part.iter().collect(), style),
            ]);
        }
    }
    out
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
                let text = format!(" {}–{} of {} ", top + 1, top + inner, lines.len());
                pen.put(&text, theme.dim);
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
