//! The help page, made from the table of commands.

use super::Scene;
use super::dialog::Line;
use crate::commands::{COMMANDS, keys_text};
use crate::paint::width;

/// Columns of the keys.
const KEYS: usize = 16;

pub(super) fn lines(scene: &Scene<'_>, columns: u16) -> Vec<Line> {
    let theme = scene.theme;
    let room = usize::from(columns).saturating_sub(KEYS + 1).max(12);
    let mut out: Vec<Line> = Vec::new();
    for info in COMMANDS {
        let place = info
            .pane
            .map_or(String::new(), |pane| format!(" (in {})", pane.name()));
        let keys = keys_text(info, " ");
        let text = format!("{}{place}", info.help);
        for (index, part) in wrap(&text, room).into_iter().enumerate() {
            let head = if index == 0 { keys.as_str() } else { "" };
            let blank = KEYS.saturating_sub(usize::from(width(head)));
            out.push(vec![
                (format!("{head}{} ", " ".repeat(blank)), theme.key),
                (part, theme.text),
            ]);
        }
    }
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

/// Breaks a text between words.
pub(super) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match out.last_mut() {
            Some(line) if usize::from(width(line) + 1 + width(word)) <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => out.push(word.to_owned()),
        }
    }
    out
}
