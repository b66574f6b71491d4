//! The help page, made from the table of commands.

use super::Scene;
use super::dialog::Line;
use crate::commands::{COMMANDS, keys_text};
use crate::paint::width;

/// Columns of the keys.
const KEYS: usize = 16;

pub(super) fn lines(scene: &Scene<'_>) -> Vec<Line> {
    let theme = scene.theme;
    let mut out: Vec<Line> = COMMANDS
        .iter()
        .map(|info| {
            let keys = keys_text(info, " ");
            let blank = KEYS.saturating_sub(usize::from(width(&keys)));
            let place = info
                .pane
                .map(|pane| format!(" (in {})", pane.name()))
                .unwrap_or_default();
            vec![
                (format!("{keys}{}", " ".repeat(blank)), theme.key),
                (" ".to_owned(), theme.text),
                (info.help.to_owned(), theme.text),
                (place, theme.dim),
            ]
        })
        .collect();
    out.push(vec![]);
    let signs = [
        (scene.sign('‖', 'S'), "stopped"),
        (scene.sign('▶', 'R'), "running"),
        (scene.sign('…', '~'), "starting"),
        (scene.sign('✓', '+'), "exit 0"),
        (scene.sign('✗', 'x'), "ended badly"),
        (scene.sign('■', '#'), "ended, unknown how"),
        (scene.sign('·', '.'), "not debugged"),
        (scene.sign('↗', '^'), "let go"),
        ('!', "connection broke"),
    ];
    let marks = [
        (scene.sign('●', 'B'), "breakpoint"),
        (scene.sign('◐', 'b'), "verified in some sessions"),
        (scene.sign('○', 'o'), "pending"),
        (scene.sign('◆', '?'), "conditional"),
        (scene.sign('◇', 'L'), "log point"),
        (scene.sign('◌', '-'), "off"),
        (scene.sign('⊘', '!'), "refused"),
    ];
    for (title, group) in [("processes", &signs[..]), ("breakpoints", &marks[..])] {
        for (index, part) in group.chunks(3).enumerate() {
            let head = if index == 0 { title } else { "" };
            let text: Vec<String> = part.iter().map(|(s, w)| format!("{s} {w}")).collect();
            out.push(vec![
                (format!("{head:<KEYS$} "), theme.key),
                (text.join("   "), theme.text),
            ]);
        }
    }
    out
}
