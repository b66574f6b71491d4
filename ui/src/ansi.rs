//! Colour sequences (SGR) in lines of output become styles. Every other sequence was taken out
//! by the engine; what is left of one is dropped here too, so that nothing reaches the terminal.

use ratatui::style::{Color, Modifier, Style};

/// Calls `piece` with each run of text and its style, on top of `base`.
pub fn runs<'a>(text: &'a str, base: Style, mut piece: impl FnMut(&'a str, Style)) {
    let mut style = base;
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        let (before, sequence) = rest.split_at(at);
        if !before.is_empty() {
            piece(before, style);
        }
        let body = sequence.get(1..).unwrap_or_default();
        let Some(parameters) = body.strip_prefix('[') else {
            rest = body;
            continue;
        };
        let end = parameters.find(|c: char| ('\u{40}'..='\u{7e}').contains(&c));
        let Some(end) = end else {
            return;
        };
        let (numbers, after) = parameters.split_at(end);
        if after.starts_with('m') {
            style = apply(style, base, numbers);
        }
        rest = after.get(1..).unwrap_or_default();
    }
    if !rest.is_empty() {
        piece(rest, style);
    }
}

fn apply(mut style: Style, base: Style, numbers: &str) -> Style {
    let mut codes = numbers
        .split([';', ':'])
        .map(|number| number.parse::<u8>().unwrap_or(0));
    while let Some(code) = codes.next() {
        style = match code {
            0 => base,
            1 => style.add_modifier(Modifier::BOLD),
            2 => style.add_modifier(Modifier::DIM),
            3 => style.add_modifier(Modifier::ITALIC),
            4 => style.add_modifier(Modifier::UNDERLINED),
            7 => style.add_modifier(Modifier::REVERSED),
            9 => style.add_modifier(Modifier::CROSSED_OUT),
            22 => style.remove_modifier(Modifier::BOLD | Modifier::DIM),
            23 => style.remove_modifier(Modifier::ITALIC),
            24 => style.remove_modifier(Modifier::UNDERLINED),
            27 => style.remove_modifier(Modifier::REVERSED),
            29 => style.remove_modifier(Modifier::CROSSED_OUT),
            30..=37 => style.fg(Color::Indexed(code - 30)),
            90..=97 => style.fg(Color::Indexed(code - 82)),
            40..=47 => style.bg(Color::Indexed(code - 40)),
            100..=107 => style.bg(Color::Indexed(code - 92)),
            39 => style.fg(base.fg.unwrap_or(Color::Reset)),
            49 => style.bg(base.bg.unwrap_or(Color::Reset)),
            38 => extended(&mut codes).map_or(style, |color| style.fg(color)),
            48 => extended(&mut codes).map_or(style, |color| style.bg(color)),
            _ => style,
        };
    }
    style
}

fn extended(codes: &mut impl Iterator<Item = u8>) -> Option<Color> {
    match codes.next()? {
        5 => Some(Color::Indexed(codes.next()?)),
        2 => Some(Color::Rgb(codes.next()?, codes.next()?, codes.next()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<(String, Style)> {
        let mut out = Vec::new();
        runs(text, Style::new(), |piece, style| {
            out.push((piece.to_owned(), style));
        });
        out
    }

    #[test]
    fn colours_are_kept_and_end() {
        assert_eq!(
            all("a\u{1b}[1;31mb\u{1b}[0mc"),
            [
                ("a".to_owned(), Style::new()),
                (
                    "b".to_owned(),
                    Style::new()
                        .fg(Color::Indexed(1))
                        .add_modifier(Modifier::BOLD)
                ),
                ("c".to_owned(), Style::new()),
            ]
        );
        assert_eq!(
            all("\u{1b}[38;5;178mx\u{1b}[48;2;1;2;3my")[1].1,
            Style::new().fg(Color::Indexed(178)).bg(Color::Rgb(1, 2, 3))
        );
    }

    #[test]
    fn other_sequences_and_broken_ones_leave_no_trace() {
        for (text, left) in [
            ("a\u{1b}[2Jb", "ab"),
            ("a\u{1b}[38;5", "a"),
            ("a\u{1b}", "a"),
            ("\u{1b}[38;9mx", "x"),
            ("\u{1b}[999mx", "x"),
        ] {
            let joined: String = all(text).into_iter().map(|run| run.0).collect();
            assert_eq!(joined, left, "{text:?}");
        }
    }
}
