//! Writes cut, cleaned text into a buffer. Every view paints through it, so that no control
//! character, tab or wide character of a program can leave its cell range.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::UnicodeWidthChar;

/// A row of cells that is written from the left to the right.
pub struct Pen<'b> {
    buffer: &'b mut Buffer,
    x: u16,
    y: u16,
    end: u16,
    skip: usize,
    column: usize,
}

impl<'b> Pen<'b> {
    /// Writes into the row `y` of `area`, counted from its top.
    pub fn new(buffer: &'b mut Buffer, area: Rect, row: u16) -> Self {
        let area = area.intersection(buffer.area);
        let inside = row < area.height;
        Self {
            x: area.x,
            y: area.y.saturating_add(row),
            end: if inside { area.right() } else { area.x },
            buffer,
            skip: 0,
            column: 0,
        }
    }

    /// What is written from here on is scrolled to the left by so many columns.
    pub fn scrolled(&mut self, columns: usize) {
        self.skip = columns;
        self.column = 0;
    }

    /// Cells that are left.
    pub fn left(&self) -> u16 {
        self.end.saturating_sub(self.x)
    }

    /// Keeps so many cells at the end free.
    pub fn reserve(&mut self, cells: u16) {
        self.end = self.end.saturating_sub(cells).max(self.x);
    }

    /// Gives reserved cells back.
    pub fn release(&mut self, cells: u16) {
        self.end = self.end.saturating_add(cells).min(self.buffer.area.right());
    }

    /// Writes text; tabs become spaces, other control characters a dot.
    pub fn put(&mut self, text: &str, style: Style) -> &mut Self {
        for char in text.chars() {
            if self.x >= self.end {
                break;
            }
            match char {
                '\t' => {
                    for _ in 0..8 - self.column % 8 {
                        self.cell(' ', 1, style);
                    }
                }
                '\r' => {}
                '\n' => self.cell('↵', 1, style),
                char => match char.width() {
                    None => self.cell('·', 1, style),
                    Some(0) => self.combine(char),
                    Some(width) => self.cell(char, width as u16, style),
                },
            }
        }
        self
    }

    fn cell(&mut self, char: char, width: u16, style: Style) {
        let at = self.column;
        self.column += usize::from(width);
        if at < self.skip || self.x >= self.end {
            return;
        }
        if self.left() < width {
            self.x = self.end;
            return;
        }
        for offset in 0..width {
            if let Some(cell) = self.buffer.cell_mut((self.x + offset, self.y)) {
                cell.reset();
                if offset == 0 {
                    cell.set_char(char);
                }
                cell.set_style(style);
            }
        }
        self.x += width;
    }

    fn combine(&mut self, mark: char) {
        if self.column <= self.skip
            || matches!(mark, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}')
        {
            return;
        }
        let before = self.x.checked_sub(1);
        if let Some(cell) = before.and_then(|x| self.buffer.cell_mut((x, self.y)))
            && cell.symbol().len() < 16
            && cell.symbol() != " "
        {
            let joined = format!("{}{mark}", cell.symbol());
            cell.set_symbol(&joined);
        }
    }

    /// Writes the same cells until the end.
    pub fn fill(&mut self, char: char, style: Style) -> &mut Self {
        while self.x < self.end {
            self.skip = 0;
            self.cell(char, 1, style);
        }
        self
    }
}

/// Columns that text takes.
pub fn width(text: &str) -> u16 {
    let columns: usize = text.chars().filter_map(UnicodeWidthChar::width).sum();
    columns.min(usize::from(u16::MAX)) as u16
}

/// Text cut to so many columns, with an ellipsis where something was cut.
pub fn cut(text: &str, columns: u16) -> String {
    let room = usize::from(columns);
    let mut out = String::new();
    let mut used = 0;
    for char in text.chars() {
        let wide = char.width().unwrap_or(1);
        if used + wide > room {
            while used + 1 > room {
                let Some(gone) = out.pop() else { break };
                used -= gone.width().unwrap_or(1);
            }
            if room > 0 {
                out.push('…');
            }
            return out;
        }
        used += wide;
        out.push(char);
    }
    out
}

/// Text cut in its middle: of names such as `SpawnProcess-12` both ends tell.
pub fn cut_middle(text: &str, columns: u16) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let tail = columns / 3;
    let mut end = cut_start(text, tail + 1);
    if tail == 0 {
        end.clear();
    }
    let room = columns.saturating_sub(width(&end));
    let mut used = 0;
    let start: String = text
        .chars()
        .take_while(|char| {
            used += char.width().unwrap_or(1) as u16;
            used <= room
        })
        .collect();
    start + &end
}

/// The end of a text where it does not fit: of a path the file counts most.
pub fn cut_start(text: &str, columns: u16) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let room = usize::from(columns).saturating_sub(1);
    let mut used = 0;
    let mut from = text.len();
    for (at, char) in text.char_indices().rev() {
        used += char.width().unwrap_or(1);
        if used > room {
            break;
        }
        from = at;
    }
    if columns == 0 {
        return String::new();
    }
    format!("…{}", text.get(from..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::buffer::Cell;

    fn painted(text: &str, skip: usize) -> String {
        let area = Rect::new(0, 0, 6, 1);
        let mut buffer = Buffer::empty(area);
        let mut pen = Pen::new(&mut buffer, area, 0);
        pen.scrolled(skip);
        pen.put(text, Style::new());
        let line: String = buffer.content().iter().map(Cell::symbol).collect();
        line
    }

    #[test]
    fn text_stays_in_its_cells() {
        for (text, skip, shown) in [
            ("abc", 0, "abc   "),
            ("abcdefgh", 0, "abcdef"),
            ("abcdefgh", 3, "defgh "),
            ("\tx", 0, "      "),
            ("a\u{7}\u{1b}b", 0, "a··b  "),
            ("漢字漢字", 0, "漢 字 漢 "),
            ("a漢字漢字", 0, "a漢 字  "),
            ("a\r\nb", 0, "a↵b   "),
        ] {
            assert_eq!(painted(text, skip), shown, "{text:?}");
        }
    }

    #[test]
    fn a_row_outside_is_not_written() {
        let area = Rect::new(0, 0, 4, 2);
        let mut buffer = Buffer::empty(area);
        Pen::new(&mut buffer, area, 2).put("abc", Style::new());
        Pen::new(&mut buffer, Rect::new(3, 1, 9, 9), 0).put("abc", Style::new());
        let line: String = buffer.content().iter().map(Cell::symbol).collect();
        assert_eq!(line, "       a");
    }

    #[test]
    fn cutting_marks_what_is_gone() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("漢字漢", 4), "漢…");
        assert_eq!(cut("abc", 0), "");
        assert_eq!(cut_middle("SpawnProcess-12", 9), "Spawn…-12");
        assert_eq!(cut_middle("gw1", 3), "gw1");
        assert_eq!(cut_middle("漢字漢字", 5), "漢字…");
        assert_eq!(cut_middle("abcdef", 2), "ab");
        assert_eq!(cut_start("/a/b/file.py", 8), "…file.py");
        assert_eq!(cut_start("x.py", 8), "x.py");
        assert_eq!(cut_start("x.py", 0), "");
    }
}
