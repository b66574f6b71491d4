//! The screen of the program's own terminal.

use super::Scene;
use crate::commands::{Act, key_of};
use crate::paint::{cut_middle, mend, width};
use crate::update::terminal_root;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget;
use tui_term::widget::{Cursor, PseudoTerminal};

pub(super) fn title(scene: &Scene<'_>, room: u16) -> String {
    let name = terminal_root(scene.state, scene.snapshot)
        .and_then(|root| scene.snapshot.rows.get(&root))
        .map_or("", |row| row.name.as_str());
    let about = if scene.state.locked {
        " · typing, Ctrl-] ends it".to_owned()
    } else if !scene.snapshot.is_live() {
        " · ended".to_owned()
    } else {
        format!(" · {} types into it", key_of(Act::LockTerminal))
    };
    match room.checked_sub(width(&about)) {
        Some(rest) if width(name) <= rest => format!("{name}{about}"),
        _ => cut_middle(name, room),
    }
}

/// Draws the screen; gives the place of its cursor while the keyboard is the program's.
pub(super) fn draw(scene: &Scene<'_>, area: Rect, buffer: &mut Buffer) -> Option<(u16, u16)> {
    let root = terminal_root(scene.state, scene.snapshot);
    let Some(root) = root else {
        let text = "the program has no terminal; its output is in pane 5";
        super::empty(scene, area, buffer, text);
        return None;
    };
    let Some(screen) = scene.windows.screen(root) else {
        super::empty(scene, area, buffer, "nothing yet");
        return None;
    };
    if area.width < 2 || area.height < 2 {
        return None;
    }
    let mut cursor = Cursor::default();
    cursor.hide();
    PseudoTerminal::new(screen)
        .cursor(cursor)
        .render(area, buffer);
    mend(area, buffer);
    let (row, column) = screen.cursor_position();
    let seen = scene.state.locked && !screen.hide_cursor();
    (seen && row < area.height && column < area.width).then_some((area.x + column, area.y + row))
}
