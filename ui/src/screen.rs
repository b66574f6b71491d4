//! Turns frames into bytes: only the cells that changed, inside synchronized-update marks, in
//! one write a frame. Nothing is written for a frame that equals the last one.

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::queue;
use crossterm::style::{Attribute, SetAttribute};
use crossterm::terminal::{BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate};
use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::io::{self, Write};

/// Room for a full repaint of a large screen.
const CAPACITY: usize = 64 << 10;

/// What the terminal shows, and the way to it.
pub(crate) struct Screen<W: Write> {
    out: W,
    shown: Buffer,
    next: Buffer,
    cursor: Option<(u16, u16)>,
    bytes: Vec<u8>,
    anew: bool,
}

impl<W: Write> Screen<W> {
    pub(crate) fn new(out: W, size: (u16, u16)) -> Self {
        let area = Rect::new(0, 0, size.0, size.1);
        Self {
            out,
            shown: Buffer::empty(area),
            next: Buffer::empty(area),
            cursor: None,
            bytes: Vec::with_capacity(CAPACITY),
            anew: true,
        }
    }

    /// The next frame paints every cell.
    pub(crate) fn forget(&mut self) {
        self.anew = true;
    }

    /// Draws a frame; gives the number of bytes that were written.
    pub(crate) fn draw(
        &mut self,
        size: (u16, u16),
        paint: impl FnOnce(&mut Buffer) -> Option<(u16, u16)>,
    ) -> io::Result<usize> {
        let area = Rect::new(0, 0, size.0, size.1);
        if self.next.area != area {
            self.next.resize(area);
            self.shown.resize(area);
            self.anew = true;
        }
        self.next.reset();
        let cursor = paint(&mut self.next);
        self.bytes.clear();
        queue!(self.bytes, BeginSynchronizedUpdate)?;
        let head = self.bytes.len();
        if std::mem::take(&mut self.anew) {
            queue!(
                self.bytes,
                Hide,
                SetAttribute(Attribute::Reset),
                Clear(ClearType::All)
            )?;
            self.shown.reset();
            self.cursor = None;
        }
        let changed = self.shown.diff(&self.next);
        if !changed.is_empty() {
            if self.cursor.take().is_some() {
                queue!(self.bytes, Hide)?;
            }
            CrosstermBackend::new(&mut self.bytes).draw(changed.into_iter())?;
        }
        if cursor != self.cursor {
            match cursor {
                Some((x, y)) => queue!(self.bytes, MoveTo(x, y), Show)?,
                None => queue!(self.bytes, Hide)?,
            }
            self.cursor = cursor;
        }
        std::mem::swap(&mut self.shown, &mut self.next);
        if self.bytes.len() == head {
            return Ok(0);
        }
        queue!(self.bytes, EndSynchronizedUpdate)?;
        self.out.write_all(&self.bytes)?;
        self.out.flush()?;
        Ok(self.bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::style::Style;

    struct Counting<'a>(&'a mut Vec<Vec<u8>>);

    impl Write for Counting<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn one_write_a_frame_and_none_for_the_same_frame() {
        let mut writes = Vec::new();
        let mut screen = Screen::new(Counting(&mut writes), (20, 3));
        let mut sizes = Vec::new();
        for text in ["abc", "abc", "abd", "abd"] {
            let size = screen.draw((20, 3), |buffer| {
                buffer.set_string(0, 0, text, Style::new());
                None
            });
            sizes.push(size.unwrap());
        }
        screen.forget();
        screen.draw((20, 3), |_| Some((1, 1))).unwrap();
        assert!(sizes[0] > 0 && sizes[2] > 0);
        assert_eq!((sizes[1], sizes[3]), (0, 0));
        assert_eq!(writes.len(), 3);
        for write in &writes {
            assert!(write.starts_with(b"\x1b[?2026h") && write.ends_with(b"\x1b[?2026l"));
        }
        let last = String::from_utf8(writes.pop().unwrap()).unwrap();
        assert!(last.contains("\u{1b}[2J") && last.contains("\u{1b}[?25h"));
    }

    #[test]
    fn any_size_can_follow_any_other() {
        let mut out = Vec::new();
        let mut screen = Screen::new(&mut out, (0, 0));
        for size in [(0, 0), (1, 1), (200, 60), (10, 3), (0, 5), (80, 24)] {
            screen
                .draw(size, |buffer| {
                    assert_eq!((buffer.area.width, buffer.area.height), size);
                    None
                })
                .unwrap();
        }
    }
}
