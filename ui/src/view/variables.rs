//! Scopes and variables of the selected frame. Values that changed since the last stop are
//! marked; those of a stop that is over are dim.

use super::Scene;
use crate::commands::Pane;
use crate::paint::{Pen, cut_middle};
use crate::rows::{self, Seen, VarKind, VarRow};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

pub(super) fn title(scene: &Scene<'_>, room: u16) -> String {
    Seen::of(scene.state, scene.snapshot, scene.windows)
        .and_then(|seen| seen.frame(scene.state))
        .map(|frame| cut_middle(&frame.name, room))
        .unwrap_or_default()
}

pub(super) fn draw(scene: &Scene<'_>, area: Rect, buffer: &mut Buffer) {
    let Some(shown) = rows::variables(scene.state, scene.snapshot, scene.windows) else {
        super::empty(scene, area, buffer, super::stack::nothing(scene));
        return;
    };
    let list = scene.state.variables.list;
    let visible = shown.rows.iter().enumerate().skip(list.top);
    for (line, (index, row)) in (0..area.height).zip(visible) {
        let mut pen = Pen::new(buffer, area, line);
        draw_row(scene, row, shown.stale, index == list.cursor, &mut pen);
    }
}

fn draw_row(scene: &Scene<'_>, row: &VarRow<'_>, stale: bool, selected: bool, pen: &mut Pen<'_>) {
    let theme = scene.theme;
    let either = |style| if stale { theme.dim } else { style };
    let mark = if row.changed {
        scene.sign('•', '*')
    } else {
        ' '
    };
    pen.put(&mark.to_string(), either(theme.changed));
    pen.put(&"  ".repeat(row.depth.min(24)), theme.text);
    let fold = match row.open {
        Some(true) => scene.sign('▾', 'v'),
        Some(false) => scene.sign('▸', '>'),
        None => ' ',
    };
    pen.put(&fold.to_string(), theme.dim);
    pen.put(" ", theme.text);
    let picked = |style| {
        if selected {
            scene.selection(Pane::Variables)
        } else {
            style
        }
    };
    match row.kind {
        VarKind::Scope(scope) => {
            pen.put(&scope.name, picked(either(theme.key)));
        }
        VarKind::Variable(group) if rows::is_group(group) => {
            pen.put(&group.name, picked(theme.dim));
        }
        VarKind::Variable(variable) => {
            pen.put(&variable.name, picked(either(theme.name)));
            if let Some(type_name) = variable.type_name.as_deref().filter(|t| !t.is_empty()) {
                pen.put(": ", theme.dim).put(type_name, theme.type_name);
            }
            pen.put(" = ", theme.dim);
            let shade = either(if row.changed {
                theme.changed
            } else {
                theme.text
            });
            pen.put(&variable.value, shade);
        }
        VarKind::More => {
            pen.put("… more (Enter)", picked(theme.dim));
        }
        VarKind::Loading => {
            pen.put("…", picked(theme.dim));
        }
        VarKind::Failed(why) => {
            pen.put(why, picked(theme.failed));
        }
    }
    pen.mark_cut(theme.dim);
}
