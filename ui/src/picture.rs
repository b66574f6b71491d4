//! A frame as an SVG picture on an exact grid: every cell has its own place, whatever the font,
//! and lines of box-drawing characters are drawn, since fonts leave gaps between them. It must not
//! know what the frame shows.

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use std::fmt::Write as _;

const CELL: (f32, f32) = (8.4, 18.0);
const FONT: f32 = 14.0;
/// Widths of light and heavy lines.
const STROKES: [f32; 2] = [1.0, 2.0];
const DIM: &str = " opacity=\"0.6\"";
const INK: &str = "#d8dee9";
const PAPER: &str = "#1d2129";
const PALETTE: [&str; 16] = [
    "#3b4252", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#d8dee9",
    "#727d92", "#ff8b92", "#b5e890", "#ffd68a", "#82c4ff", "#e0a3f0", "#7fdbe6", "#ffffff",
];

/// The frame as SVG text.
pub fn svg(buffer: &Buffer) -> String {
    let (columns, rows) = (buffer.area.width, buffer.area.height);
    let (width, height) = (
        f32::from(columns) * CELL.0 + 16.0,
        f32::from(rows) * CELL.1 + 16.0,
    );
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"DejaVu Sans Mono, Menlo, Consolas, \
         monospace\" font-size=\"{FONT}\" xml:space=\"preserve\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"6\" fill=\"{PAPER}\"/>\n"
    );
    for row in 0..rows {
        let cells: Vec<&Cell> = (0..columns)
            .filter_map(|x| buffer.cell((buffer.area.x + x, buffer.area.y + row)))
            .collect();
        grounds(&mut out, &cells, row);
        inks(&mut out, &cells, row);
    }
    out.push_str("</svg>\n");
    out
}

/// Equal backgrounds beside each other are one rectangle, else seams show.
fn grounds(out: &mut String, cells: &[&Cell], row: u16) {
    let mut at = 0;
    for run in cells.chunk_by(|one, other| colours(one).1 == colours(other).1) {
        let ground = run.first().map(|cell| colours(cell).1);
        if let Some(ground) = ground.filter(|ground| ground != PAPER) {
            let _ = writeln!(
                out,
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{ground}\"/>",
                x(at),
                y(row),
                run.len() as f32 * CELL.0,
                CELL.1
            );
        }
        at += run.len();
    }
}

/// What is written: a style at a time.
fn inks(out: &mut String, cells: &[&Cell], row: u16) {
    let mut at = 0;
    for run in cells.chunk_by(|one, other| look(one) == look(other)) {
        let from = at;
        at += run.len();
        let inked = run
            .iter()
            .enumerate()
            .map(|(index, cell)| (from + index, cell.symbol()))
            .filter(|(_, symbol)| !symbol.trim().is_empty());
        let (lines, letters): (Vec<_>, Vec<_>) =
            inked.partition(|(_, symbol)| arms(symbol).is_some());
        if let Some(first) = run.first() {
            strokes(out, &lines, row, first);
            texts(out, &letters, row, first);
        }
    }
}

fn texts(out: &mut String, letters: &[(usize, &str)], row: u16, look: &Cell) {
    let style = style(look);
    let base = y(row) + CELL.1 * 0.75;
    let mut write = |letters: &[(usize, &str)]| {
        let places: Vec<String> = letters
            .iter()
            .map(|(at, _)| format!("{:.1}", x(*at)))
            .collect();
        let text: String = letters.iter().map(|(_, symbol)| escape(symbol)).collect();
        let places = places.join(" ");
        let _ = writeln!(
            out,
            "<text x=\"{places}\" y=\"{base:.1}\"{style}>{text}</text>"
        );
    };
    if letters.is_empty() {
        return;
    }
    // A place for each character: a symbol of several would shift the rest.
    if letters
        .iter()
        .all(|(_, symbol)| symbol.chars().count() == 1)
    {
        write(letters);
    } else {
        letters.chunks(1).for_each(write);
    }
}

/// Which arms a box-drawing character has (up, right, down, left), and whether they are heavy.
fn arms(symbol: &str) -> Option<([bool; 4], bool)> {
    let arms = match symbol {
        "─" | "━" => [false, true, false, true],
        "│" | "┃" => [true, false, true, false],
        "├" => [true, true, true, false],
        "└" | "┗" => [true, true, false, false],
        "┏" => [false, true, true, false],
        "┓" => [false, false, true, true],
        "┛" => [true, false, false, true],
        _ => return None,
    };
    Some((arms, !matches!(symbol, "─" | "│" | "├" | "└")))
}

/// Lines go to the borders of their cells; a row of them is one stroke.
fn strokes(out: &mut String, lines: &[(usize, &str)], row: u16, look: &Cell) {
    let alike = |one: &(usize, &str), other: &(usize, &str)| {
        one.1 == other.1 && one.0 + 1 == other.0 && matches!(one.1, "─" | "━")
    };
    let (top, bottom) = (y(row), y(row) + CELL.1);
    let middle = top + CELL.1 / 2.0;
    let mut paths = [String::new(), String::new()];
    for run in lines.chunk_by(alike) {
        let Some(((at, _), (arms, heavy))) =
            run.first().and_then(|first| Some((first, arms(first.1)?)))
        else {
            continue;
        };
        let [up, right, down, left] = arms;
        let (from, to) = (x(*at), x(at + run.len()));
        let centre = from + CELL.0 / 2.0;
        let [light, thick] = &mut paths;
        let path = if heavy { thick } else { light };
        if left || right {
            let from = if left { from } else { centre };
            let to = if right { to } else { centre };
            let _ = write!(path, "M{from:.1} {middle:.1}H{to:.1}");
        }
        if up || down {
            let from = if up { top } else { middle };
            let to = if down { bottom } else { middle };
            let _ = write!(path, "M{centre:.1} {from:.1}V{to:.1}");
        }
    }
    let ink = colours(look).0;
    let dim = if look.modifier.contains(Modifier::DIM) {
        DIM
    } else {
        ""
    };
    for (path, width) in paths.iter().zip(STROKES) {
        if !path.is_empty() {
            let _ = writeln!(
                out,
                "<path d=\"{path}\" stroke=\"{ink}\" stroke-width=\"{width}\"{dim}/>"
            );
        }
    }
}

fn x(column: usize) -> f32 {
    column as f32 * CELL.0 + 8.0
}

fn y(row: u16) -> f32 {
    f32::from(row) * CELL.1 + 8.0
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

fn look(cell: &Cell) -> (Color, Color, Modifier) {
    (cell.fg, cell.bg, cell.modifier)
}

fn style(cell: &Cell) -> String {
    let mut out = format!(" fill=\"{}\"", colours(cell).0);
    for (flag, text) in [
        (Modifier::BOLD, " font-weight=\"bold\""),
        (Modifier::ITALIC, " font-style=\"italic\""),
        (Modifier::DIM, DIM),
        (Modifier::UNDERLINED, " text-decoration=\"underline\""),
    ] {
        if cell.modifier.contains(flag) {
            out.push_str(text);
        }
    }
    out
}

/// Ink and ground of a cell.
fn colours(cell: &Cell) -> (String, String) {
    let ink = css(cell.fg).unwrap_or_else(|| INK.to_owned());
    let ground = css(cell.bg).unwrap_or_else(|| PAPER.to_owned());
    if cell.modifier.contains(Modifier::REVERSED) {
        (ground, ink)
    } else {
        (ink, ground)
    }
}

fn css(color: Color) -> Option<String> {
    let index = match color {
        Color::Reset => return None,
        Color::Rgb(r, g, b) => return Some(format!("#{r:02x}{g:02x}{b:02x}")),
        Color::Indexed(index) => index,
        Color::Black => 0,
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::DarkGray => 8,
        Color::LightRed => 9,
        Color::LightGreen => 10,
        Color::LightYellow => 11,
        Color::LightBlue => 12,
        Color::LightMagenta => 13,
        Color::LightCyan => 14,
        Color::White => 15,
    };
    if let Some(named) = PALETTE.get(usize::from(index)) {
        return Some((*named).to_owned());
    }
    if index >= 232 {
        let level = 8 + 10 * (index - 232);
        return Some(format!("#{level:02x}{level:02x}{level:02x}"));
    }
    let level = |part: u8| if part == 0 { 0 } else { 55 + 40 * part };
    let cube = index - 16;
    let (r, g, b) = (level(cube / 36), level(cube / 6 % 6), level(cube % 6));
    Some(format!("#{r:02x}{g:02x}{b:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::layout::Rect;
    use ratatui::style::Style;

    #[test]
    fn each_cell_has_its_place() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 6, 1));
        buffer.set_string(0, 0, "a<", Style::new().bg(Color::Red));
        buffer.set_string(3, 0, "é", Style::new().fg(Color::Indexed(196)));
        let picture = svg(&buffer);
        assert!(picture.contains("<text x=\"8.0 16.4\" y=\"21.5\" fill=\"#d8dee9\">a&lt;</text>"));
        assert!(picture.contains("width=\"16.8\" height=\"18.0\" fill=\"#e06c75\""));
        assert!(picture.contains("<text x=\"33.2\" y=\"21.5\" fill=\"#ff0000\">é</text>"));
    }

    #[test]
    fn lines_are_drawn_to_the_borders_of_their_cells() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 7, 2));
        buffer.set_string(0, 0, "──x━│", Style::new());
        buffer.set_string(0, 1, "└ a", Style::new());
        let picture = svg(&buffer);
        let ink = "stroke=\"#d8dee9\" stroke-width";
        for line in [
            format!("<path d=\"M8.0 17.0H24.8M45.8 8.0V26.0\" {ink}=\"1\"/>"),
            format!("<path d=\"M33.2 17.0H41.6\" {ink}=\"2\"/>"),
            format!("<path d=\"M12.2 35.0H16.4M12.2 26.0V35.0\" {ink}=\"1\"/>"),
            "<text x=\"24.8\" y=\"21.5\" fill=\"#d8dee9\">x</text>".to_owned(),
        ] {
            assert!(picture.contains(&line), "{line}\n{picture}");
        }
        assert!(!picture.contains(['─', '━', '│', '└']));
    }

    #[test]
    fn all_indexed_colours_have_a_value() {
        for index in 0..=255 {
            let text = css(Color::Indexed(index)).unwrap();
            assert!(text.len() == 7 && text.starts_with('#'), "{index}: {text}");
        }
        assert_eq!(css(Color::Indexed(231)).unwrap(), "#ffffff");
        assert_eq!(css(Color::Indexed(255)).unwrap(), "#eeeeee");
    }
}
