//! The status bar: what has the focus, and what the next keys do; a message or a prompt takes
//! the second line.

use super::{Scene, end_text, file_name};
use crate::commands::{Act, Pane, info, key_of};
use crate::layout::Layout;
use crate::paint::{Pen, cut, width};
use crate::rows;
use crate::state::PromptKind;
use daptree_model::{Exception, ReplayOp, ReplayView, Row, RowState, TreeState};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::fmt::Write as _;

/// Draws both lines; gives the place of the cursor of a prompt.
pub(super) fn draw(scene: &Scene<'_>, made: &Layout, buffer: &mut Buffer) -> Option<(u16, u16)> {
    let area = made.status;
    focus_line(scene, area, buffer);
    if scene.state.prompt.is_some() {
        return prompt_line(scene, area, buffer);
    }
    let theme = scene.theme;
    let mut pen = Pen::new(buffer, area, 1);
    match &scene.state.message {
        Some(message) => {
            let style = if message.is_error {
                theme.error
            } else {
                theme.message
            };
            let text = if width(&message.text) > pen.left() {
                format!(
                    "{} (! shows all)",
                    cut(&message.text, pen.left().saturating_sub(15))
                )
            } else {
                message.text.clone()
            };
            pen.put(&text, style);
        }
        None => hints(scene, &mut pen),
    }
    None
}

fn focus_line(scene: &Scene<'_>, area: Rect, buffer: &mut Buffer) {
    let theme = scene.theme;
    let style = if scene.state.locked {
        theme.locked
    } else {
        theme.status
    };
    let mut pen = Pen::new(buffer, area, 0);
    if scene.state.locked {
        pen.put(" KEYS GO TO THE PROGRAM · Ctrl-] takes them back · ", style);
    }
    if let Some(replay) = &scene.snapshot.replay {
        pen.put(&position(replay), style);
    }
    let others = scene
        .snapshot
        .rows
        .values()
        .filter(|row| Some(row.id) != scene.state.focus)
        .filter(|row| row.is_paused() && !row.held && rows::takes_focus(row))
        .count();
    let tail = match others {
        count if count > 0 && area.width < 60 => format!(" +{count} stopped "),
        0 => String::new(),
        1 => " 1 other stopped ".to_owned(),
        count => format!(" {count} others stopped "),
    };
    let row = scene
        .state
        .focus
        .and_then(|id| scene.snapshot.rows.get(&id));
    let text = row.map_or_else(|| starting(scene), |row| about(scene, row));
    let room = pen.left().saturating_sub(width(&tail) + 1);
    pen.put(" ", style).put(&cut(&text, room), style);
    pen.reserve(width(&tail));
    pen.fill(' ', style);
    pen.release(width(&tail));
    pen.put(&tail, style);
}

/// Such as ` REPLAY 12/340 · 3.2 of 61.0 s · playing × 2 ·`.
fn position(replay: &ReplayView) -> String {
    let seconds = |ms: u64| ms as f64 / 1_000.0;
    let mut text = format!(
        " REPLAY {}/{} · {:.1} of {:.1} s ·",
        replay.at,
        replay.of,
        seconds(replay.at_ms),
        seconds(replay.until_ms)
    );
    if replay.playing {
        text.push_str(" playing");
    }
    if replay.playing || replay.speed != 100 {
        let _ = write!(text, " × {} ·", f64::from(replay.speed) / 100.0);
    }
    if let Some(lacks) = &replay.lacks {
        let _ = write!(text, " {lacks} ·");
    }
    text
}

/// What is said where there was a tree.
pub(super) const CLOSED: &str = "every tree was closed; q quits";

fn starting(scene: &Scene<'_>) -> String {
    let state = scene.snapshot.trees.first().map(|tree| &tree.state);
    match state {
        Some(TreeState::Preparing(what)) => what.clone(),
        Some(TreeState::Failed(why)) => why.clone(),
        None if scene.state.ran => CLOSED.to_owned(),
        _ => "starting …".to_owned(),
    }
}

/// Such as `‖ gw1 s3 · stopped 4: breakpoint · test_sum.py:6 test_b`.
fn about(scene: &Scene<'_>, row: &Row) -> String {
    let mut parts = vec![format!("{} {} {}", scene.glyph(row).0, row.name, row.id)];
    let left = scene.state.moves.left.get(&row.id) == Some(&row.stop);
    match row.state {
        RowState::Paused if left && scene.state.moves.stepping => parts.push("stepping".to_owned()),
        RowState::Paused if left => parts.push("running".to_owned()),
        RowState::Paused => {
            let stop = row.stopped.as_ref();
            if let Some(place) = stop.and_then(|stop| stop.place.as_ref()) {
                let file = file_name(&place.path);
                parts.push(format!("{file}:{} {}", place.line, place.function));
            }
            let reason = stop.map_or("", |stop| stop.reason.as_str());
            let exception = stop.and_then(|stop| stop.exception.as_ref());
            let text = stop.and_then(|stop| stop.text.as_deref());
            parts.push(match (exception, text) {
                (Some(raised), _) => raised_text(raised),
                (None, Some(text)) => text.to_owned(),
                (None, None) => reason.to_owned(),
            });
            let held = if row.held { ", held" } else { "" };
            parts.push(format!("stop {}{held}", row.stop));
        }
        RowState::Running if row.pausing => parts.push("pausing".to_owned()),
        RowState::Running if row.is_session() => {
            let step = scene.state.moves.stepping;
            parts.push(if step { "stepping" } else { "running" }.to_owned());
        }
        RowState::Running => parts.push(match &row.reason {
            Some(reason) => format!("not debugged: {reason}"),
            None => "not debugged".to_owned(),
        }),
        RowState::Created => parts.push("not started".to_owned()),
        RowState::Starting | RowState::Adopting => parts.push("starting".to_owned()),
        RowState::Failed => parts.push("its connection broke".to_owned()),
        RowState::Ended => {
            parts.extend(end_text(row));
            parts.extend(row.end.as_ref().and_then(|end| end.cause.clone()));
            if !scene.snapshot.is_live() {
                parts.push("all has ended".to_owned());
            }
        }
    }
    parts.join(" · ")
}

/// Such as `ValueError: no (from KeyError: 'k')`.
fn raised_text(raised: &Exception) -> String {
    let mut out = rows::raised_text(&raised.type_name, &raised.message);
    if let Some(cause) = raised.chain.first() {
        let word = if cause.is_direct { "from" } else { "after" };
        let cause = rows::raised_text(&cause.type_name, &cause.message);
        let _ = write!(out, " ({word} {cause})");
    }
    out
}

fn hints(scene: &Scene<'_>, pen: &mut Pen<'_>) {
    let state = scene.state;
    let row = state.focus.and_then(|id| scene.snapshot.rows.get(&id));
    let stands =
        row.is_some_and(|row| row.is_paused() && state.moves.left.get(&row.id) != Some(&row.stop));
    let others = scene
        .snapshot
        .rows
        .values()
        .any(|row| row.is_paused() && !row.held && Some(row.id) != state.focus);
    let mut acts: Vec<Act> = Vec::new();
    if state.locked {
        pen.put("Ctrl-]", scene.theme.key);
        pen.put(" takes the keys back", scene.theme.hint);
        return;
    }
    let replays = scene.snapshot.replay.is_some();
    if replays {
        let ops = [
            ReplayOp::Play,
            ReplayOp::NextStop,
            ReplayOp::PreviousStop,
            ReplayOp::Next,
            ReplayOp::Previous,
            ReplayOp::Faster,
            ReplayOp::Start,
            ReplayOp::End,
        ];
        acts.extend(ops.map(Act::Replay));
    } else if stands {
        acts.extend([Act::Continue, Act::Next, Act::StepIn, Act::StepOut]);
    } else if row.is_some_and(|row| row.state == RowState::Running && row.is_session()) {
        acts.push(Act::Pause);
    } else if !scene.snapshot.trees.is_empty() && !scene.snapshot.is_live() {
        acts.push(Act::Restart);
    }
    if others {
        acts.push(Act::NextStopped);
    }
    acts.extend(match state.pane() {
        Pane::Tree | Pane::Variables => &[Act::Open, Act::Right][..],
        Pane::Source => &[Act::ToggleBreakpoint, Act::GoToLine],
        Pane::Stack => &[Act::Open, Act::FrameUp, Act::FrameDown],
        Pane::Output => &[Act::WholeTree, Act::Bottom],
        Pane::Breakpoints => &[
            Act::EditCondition,
            Act::EditScope,
            Act::Once,
            Act::EnableBreakpoint,
            Act::RemoveBreakpoint,
            Act::Open,
            Act::EditHits,
            Act::EditMessage,
        ],
        Pane::Terminal => &[Act::LockTerminal],
    });
    if !stands && !replays {
        acts.push(Act::ToggleBreakpoint);
    }
    acts.extend([Act::Search, Act::NextPane, Act::Zoom]);
    let last = [Act::Help, Act::Quit];
    let hint = |act: Act| info(act).map(|info| (key_of(act), info.title));
    let size = |(key, title): &(String, &str)| width(key) + width(title) + 3;
    let tail: Vec<_> = last.into_iter().filter_map(hint).collect();
    let mut room = pen.left().saturating_sub(tail.iter().map(size).sum());
    let mut shown: Vec<Act> = Vec::new();
    for act in acts {
        let Some(made) = hint(act) else { continue };
        if shown.contains(&act) || size(&made) > room {
            continue;
        }
        room -= size(&made);
        shown.push(act);
    }
    for act in shown.into_iter().chain(last) {
        if let Some((key, title)) = hint(act) {
            pen.put(&key, scene.theme.key).put(" ", scene.theme.hint);
            pen.put(title, scene.theme.hint).put("  ", scene.theme.hint);
        }
    }
}

fn prompt_line(scene: &Scene<'_>, area: Rect, buffer: &mut Buffer) -> Option<(u16, u16)> {
    let prompt = scene.state.prompt.as_ref()?;
    let theme = scene.theme;
    let (sign, about) = match prompt.kind {
        PromptKind::Search(pane) => ("/", format!("search in {}", pane.name())),
        PromptKind::Line(pane) => (":", format!("line of {}", pane.name())),
        PromptKind::Function => ("in ", "the name of a function".to_owned()),
        PromptKind::Condition(_) => ("if ", "an expression; empty: always".to_owned()),
        PromptKind::Hits(_) => ("hits ", "3, >= 3, % 3; empty: each".to_owned()),
        PromptKind::Message(_) => ("print ", "{x} is a value; empty: stop".to_owned()),
        PromptKind::Scope(_) => ("where ", "all, s3, s3+, or a pattern".to_owned()),
    };
    let mut pen = Pen::new(buffer, area, 1);
    let about = match &scene.state.message {
        Some(message) => message.text.clone(),
        None => about,
    };
    let about = cut(&about, pen.left() / 2);
    pen.put(sign, theme.key);
    let room = pen.left().saturating_sub(width(&about) + 2);
    let text = crate::paint::cut_start(&prompt.text, room);
    pen.put(&text, theme.text);
    let cursor = (area.right().saturating_sub(pen.left()), area.y + 1);
    pen.reserve(width(&about));
    pen.fill(' ', theme.text);
    pen.release(width(&about));
    pen.put(&about, theme.hint);
    Some(cursor)
}
