//! The help page, made from the table of commands.

use super::Scene;
use super::dialog::Line;
use crate::commands::{COMMANDS, keys_text};
use crate::paint::width;

/// The lines in so many columns: keys or a heading, and what they mean.
fn texts(ascii: bool, columns: u16) -> Vec<(String, String)> {
    let named = COMMANDS.iter().map(|info| (keys_text(info, " "), info));
    let keys: Vec<_> = named.collect();
    let head = keys.iter().map(|(keys, _)| width(keys)).max().unwrap_or(0) + 1;
    let room = usize::from(columns.saturating_sub(head)).max(12);
    let mut out: Vec<(String, String)> = Vec::new();
    let mut put = |first: &str, text: &str| {
        for (index, part) in wrap(text, room).into_iter().enumerate() {
            let first = if index == 0 { first } else { "" };
            let blank = usize::from(head.saturating_sub(width(first)));
            out.push((format!("{first}{}", " ".repeat(blank)), part));
        }
    };
    for (keys, info) in keys {
        let place = info
            .pane
            .map_or(String::new(), |pane| format!(" (in {})", pane.name()));
        put(&keys, &format!("{}{place}", info.help));
    }
    let sign = |sign: char, letter: char| if ascii { letter } else { sign };
    let signs = [
        (sign('‖', 'S'), "stopped"),
        (sign('▶', 'R'), "running"),
        (sign('…', '~'), "starting"),
        (sign('✓', '+'), "exit 0"),
        (sign('✗', 'x'), "ended badly"),
        (sign('■', '#'), "ended, unknown how"),
        (sign('·', '.'), "not debugged"),
        (sign('↗', '^'), "let go"),
        ('!', "connection broke"),
        (sign('⊞', 'W'), "stops as one with what is below it"),
    ];
    let marks = [
        (sign('●', 'B'), "breakpoint"),
        (sign('◐', 'b'), "verified in some sessions"),
        (sign('○', 'o'), "pending"),
        (sign('◆', '?'), "conditional"),
        (sign('◇', 'L'), "log point"),
        (sign('◌', '-'), "off"),
        (sign('⊘', '!'), "refused"),
    ];
    for (title, group) in [("processes", &signs[..]), ("breakpoints", &marks[..])] {
        // A no-break space keeps a sign with its word.
        let text: Vec<String> = group
            .iter()
            .map(|(sign, word)| format!("{sign} {word}  ").replace(' ', "\u{a0}"))
            .collect();
        put(title, &text.join(" "));
    }
    for (_, text) in &mut out {
        *text = text.replace('\u{a0}', " ");
    }
    out
}

pub(super) fn lines(scene: &Scene<'_>, columns: u16) -> Vec<Line> {
    let styled = |(head, text)| vec![(head, scene.theme.key), (text, scene.theme.text)];
    let all = texts(scene.ascii, columns);
    all.into_iter().map(styled).collect()
}

/// How many lines the page has in so many columns.
pub(super) fn count(columns: u16) -> usize {
    texts(false, columns).len()
}

/// Breaks a text between words, and words that are longer than a line.
pub(super) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for word in text.split(is_gap).filter(|word| !word.is_empty()) {
        match out.last_mut() {
            Some(line) if usize::from(width(line) + 1 + width(word)) <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => out.extend(pieces(word, columns)),
        }
    }
    out
}

fn is_gap(char: char) -> bool {
    char.is_whitespace() && char != '\u{a0}'
}

fn pieces(word: &str, columns: usize) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut used = 0;
    for char in word.chars() {
        let wide = usize::from(width(char.encode_utf8(&mut [0; 4])));
        if used > 0 && used + wide > columns {
            out.push(String::new());
            used = 0;
        }
        used += wide;
        if let Some(line) = out.last_mut() {
            line.push(char);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_wider_than_its_room() {
        for (text, columns, lines) in [
            ("step over the line", 10, vec!["step over", "the line"]),
            (
                "/a/long/path is gone",
                7,
                vec!["/a/long", "/path", "is gone"],
            ),
            ("漢字漢字", 5, vec!["漢字", "漢字"]),
            ("漢", 1, vec!["漢"]),
            (" \n ", 5, vec![]),
        ] {
            assert_eq!(wrap(text, columns), lines, "{text}");
        }
        for columns in [36, 76, 116] {
            for (head, text) in texts(false, columns) {
                assert!(width(&head) + width(&text) <= columns, "{head}{text}");
            }
        }
    }
}
