//! Writes cut, cleaned text into a buffer. Every view paints through it, so that no control
//! character, tab or wide character of a program can leave its cell range.

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns from one tab stop to the next.
const TAB: usize = 8;
/// Bytes of a character with all its marks.
const MARKS: usize = 16;

/// A row of cells that is written from the left to the right.
pub struct Pen<'b> {
    buffer: &'b mut Buffer,
    x: u16,
    y: u16,
    end: u16,
    skip: usize,
    column: usize,
    /// Tabs go to their stops; else they are one space.
    stops: bool,
    /// Something that can be seen did not fit.
    cut: bool,
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
            stops: false,
            cut: false,
        }
    }

    /// What is written from here on is a line of text, scrolled to the left by so many columns.
    pub fn scrolled(&mut self, columns: usize) {
        self.skip = columns;
        self.column = 0;
        self.stops = true;
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
        for (at, char) in text.char_indices() {
            let columns = char.width();
            if columns == Some(0) {
                self.combine(char);
                continue;
            }
            if self.x >= self.end {
                let rest = text.get(at..).unwrap_or_default();
                self.cut |= !rest.trim().is_empty();
                break;
            }
            match char {
                '\t' => {
                    let blank = if self.stops {
                        TAB - self.column % TAB
                    } else {
                        1
                    };
                    for _ in 0..blank {
                        self.cell(' ', 1, style);
                    }
                }
                '\r' => {}
                '\n' => self.cell('↵', 1, style),
                char => match columns {
                    None => self.cell('·', 1, style),
                    Some(width) => self.cell(char, width as u16, style),
                },
            }
        }
        self
    }

    /// Marks in the last cell that something did not fit, if so.
    pub fn mark_cut(&mut self, style: Style) {
        let Some(last) = self.end.checked_sub(1).filter(|_| self.cut) else {
            return;
        };
        // The first half of a wide character cannot stay without the second.
        if let Some(before) = last.checked_sub(1).map(|x| (x, self.y))
            && let Some(cell) = self.buffer.cell_mut(before)
            && cell.symbol().width() > 1
        {
            cell.set_char(' ');
        }
        if let Some(cell) = self.buffer.cell_mut((last, self.y)) {
            // The background of a marked line goes on under the sign.
            cell.set_char('…').set_style(style);
        }
    }

    fn cell(&mut self, char: char, width: u16, style: Style) {
        let at = self.column;
        self.column += usize::from(width);
        if self.column <= self.skip {
            return;
        }
        if at < self.skip {
            // Half of a wide character is scrolled away: what follows keeps its column.
            self.set(' ', 1, style);
            return;
        }
        if self.left() < width {
            self.cut |= char != ' ';
            self.x = self.end;
            return;
        }
        self.set(char, width, style);
    }

    fn set(&mut self, char: char, width: u16, style: Style) {
        for offset in 0..width.min(self.left()) {
            if let Some(cell) = self.buffer.cell_mut((self.x + offset, self.y)) {
                cell.reset();
                if offset == 0 {
                    cell.set_char(char);
                }
                cell.set_style(style);
            }
        }
        self.x = self.x.saturating_add(width).min(self.end);
    }

    /// Puts a mark on the character before it, if that stays as wide as it is: terminals and
    /// our count of columns must agree.
    fn combine(&mut self, mark: char) {
        if self.column <= self.skip
            || matches!(mark, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}')
        {
            return;
        }
        for back in 1..=2 {
            let Some(x) = self.x.checked_sub(back) else {
                return;
            };
            let Some(cell) = self.buffer.cell_mut((x, self.y)) else {
                return;
            };
            let wide = usize::from(back);
            if cell.symbol() == " " || cell.symbol().width() != wide {
                continue;
            }
            let joined = format!("{}{mark}", cell.symbol());
            if joined.len() <= MARKS && joined.width() == wide {
                cell.set_symbol(&joined);
            }
            return;
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

/// Columns that a character takes where a [`Pen`] writes it outside a line of text.
fn columns_of(char: char) -> usize {
    if char == '\r' {
        0
    } else {
        char.width().unwrap_or(1)
    }
}

/// Columns that text takes.
pub fn width(text: &str) -> u16 {
    let columns: usize = text.chars().map(columns_of).sum();
    columns.min(usize::from(u16::MAX)) as u16
}

/// Columns that a line of text takes, tabs at their stops.
pub fn line_width(text: &str) -> usize {
    text.chars().fold(0, |at, char| match char {
        '\t' => at + TAB - at % TAB,
        char => at + columns_of(char),
    })
}

/// Removes from cells that others drew what would shift the cells after them: wide characters
/// that reach over the edge or into a cell that is taken.
pub fn mend(area: Rect, buffer: &mut Buffer) {
    let area = area.intersection(buffer.area);
    for y in area.top()..area.bottom() {
        for x in area.left()..area.right() {
            let Some(cell) = buffer.cell((x, y)) else {
                continue;
            };
            let symbol = cell.symbol();
            let fits = match symbol.width() {
                1 => !symbol.chars().any(char::is_control),
                2 => {
                    let next = buffer.cell((x + 1, y)).map(Cell::symbol);
                    x + 1 < area.right() && matches!(next, Some(" " | ""))
                }
                _ => false,
            };
            if !fits && let Some(cell) = buffer.cell_mut((x, y)) {
                cell.set_char(' ');
            }
        }
    }
}

/// Text cut to so many columns, with an ellipsis where something was cut.
pub fn cut(text: &str, columns: u16) -> String {
    let room = usize::from(columns);
    let mut out = String::new();
    let mut used = 0;
    for char in text.chars() {
        let wide = columns_of(char);
        if used + wide > room {
            while used + 1 > room {
                let Some(gone) = out.pop() else { break };
                used -= columns_of(gone);
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
    if columns < 4 {
        return cut(text, columns);
    }
    let end = cut_start(text, columns / 3 + 1);
    let room = columns.saturating_sub(width(&end));
    let mut used = 0;
    let start: String = text
        .chars()
        .take_while(|char| {
            used += columns_of(*char) as u16;
            used <= room
        })
        .collect();
    start + &end
}

/// A file name and a line in so many columns: the name gives way in its middle, the line never.
pub fn place(file: &str, line: u32, columns: u16) -> String {
    let tail = format!(":{line}");
    let room = columns.saturating_sub(width(&tail));
    format!("{}{tail}", cut_middle(file, room))
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
        used += columns_of(char);
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
    use proptest::prelude::*;

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
    fn what_does_not_fit_is_marked() {
        for (text, skip, shown) in [
            ("abcdef", 0, "abcdef"),
            ("abcdef  \r", 0, "abcdef"),
            ("abcdefg", 0, "abcde…"),
            ("abcdefgh", 3, "defgh "),
            ("漢字漢字", 0, "漢 字  …"),
            ("a漢字漢", 0, "a漢 字 …"),
            ("漢字ab", 1, " 字 ab "),
            ("abcdee\u{301}", 0, "abcdee\u{301}"),
        ] {
            let area = Rect::new(0, 0, 6, 1);
            let mut buffer = Buffer::empty(area);
            let mut pen = Pen::new(&mut buffer, area, 0);
            pen.scrolled(skip);
            pen.put(text, Style::new()).mark_cut(Style::new());
            let line: String = buffer.content().iter().map(Cell::symbol).collect();
            assert_eq!(line, shown, "{text:?}");
        }
    }

    #[test]
    fn marks_never_make_a_character_wider() {
        for (text, shown) in [
            ("\u{2764}\u{fe0f}x", "\u{2764}x    "),
            ("漢\u{301}x", "漢\u{301} x   "),
            ("\u{301}x", "x     "),
        ] {
            assert_eq!(painted(text, 0), shown, "{text:?}");
        }
    }

    #[test]
    fn cells_of_others_are_mended_at_the_edge() {
        let area = Rect::new(0, 0, 6, 1);
        let mut buffer = Buffer::empty(area);
        for (x, symbol) in ["漢", " ", "漢", "x", "\u{7}", "漢"].iter().enumerate() {
            buffer[(x as u16, 0)].set_symbol(symbol);
        }
        mend(area, &mut buffer);
        let line: String = buffer.content().iter().map(Cell::symbol).collect();
        assert_eq!(line, "漢  x  ");
    }

    proptest! {
        #[test]
        fn any_text_keeps_the_grid(text in any::<String>(), skip in 0..9_usize, cells in 1..40_u16) {
            let area = Rect::new(0, 0, cells + 1, 1);
            let mut buffer = Buffer::empty(area);
            let inner = Rect::new(0, 0, cells, 1);
            let mut pen = Pen::new(&mut buffer, inner, 0);
            pen.scrolled(skip);
            pen.put(&text, Style::new()).mark_cut(Style::new());
            let mut mended = buffer.clone();
            mend(inner, &mut mended);
            prop_assert_eq!(&buffer, &mended);
            prop_assert_eq!(buffer[(cells, 0)].symbol(), " ");
        }
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
        assert_eq!(cut_middle("abcdef", 2), "a…");
        assert_eq!(place("test_sum.py", 126, 20), "test_sum.py:126");
        assert_eq!(place("test_sum.py", 126, 12), "test_…py:126");
        assert_eq!(place("test_sum.py", 126, 4), ":126");
        assert_eq!(width("a\t\u{7}b\r"), 4);
        assert_eq!(line_width("a\tb漢"), 11);
        assert_eq!(cut_start("/a/b/file.py", 8), "…file.py");
        assert_eq!(cut_start("x.py", 8), "x.py");
        assert_eq!(cut_start("x.py", 0), "");
    }
}
