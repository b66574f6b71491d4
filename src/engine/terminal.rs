//! A root's terminal: its handle while the root runs, its screen for those who join later, and
//! who watches it. It is there before the root is, since front ends ask for it as soon as they
//! hear of the tree, and stays over the root's runs.

use crate::process::pty::TerminalHandle;
use daptree_model::ClientId;
use std::collections::BTreeSet;

/// The terminal of a root.
pub(super) struct Terminal {
    handle: Option<TerminalHandle>,
    screen: vt100::Parser,
    /// Columns and rows, once somebody said so.
    size: Option<(u16, u16)>,
    watchers: BTreeSet<ClientId>,
}

impl std::fmt::Debug for Terminal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terminal")
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

impl Default for Terminal {
    fn default() -> Self {
        Self {
            handle: None,
            screen: vt100::Parser::new(24, 80, 0),
            size: None,
            watchers: BTreeSet::new(),
        }
    }
}

impl Terminal {
    /// The size a front end shows it at, or else `size`: columns, rows.
    pub(super) fn size_or(&self, size: (u16, u16)) -> (u16, u16) {
        self.size.unwrap_or_else(|| sane(size))
    }

    /// A root was started on it, at this size: an empty screen.
    pub(super) fn start(&mut self, handle: TerminalHandle, size: (u16, u16)) {
        let (columns, rows) = sane(size);
        self.handle = Some(handle);
        self.screen = vt100::Parser::new(rows, columns, 0);
        self.size = Some((columns, rows));
    }

    pub(super) fn handle(&self) -> Option<&TerminalHandle> {
        self.handle.as_ref()
    }

    /// A program wrote.
    pub(super) fn said(&mut self, bytes: &[u8]) {
        self.screen.process(bytes);
    }

    /// Somebody typed.
    pub(super) fn input(&self, bytes: &[u8]) {
        let Some(handle) = &self.handle else {
            return;
        };
        if let Err(error) = handle.write(bytes) {
            tracing::warn!("the program does not read its terminal: {error}");
        }
    }

    pub(super) fn resize(&mut self, columns: u16, rows: u16) {
        let (columns, rows) = sane((columns, rows));
        if self.size == Some((columns, rows)) {
            return;
        }
        self.size = Some((columns, rows));
        self.screen.screen_mut().set_size(rows, columns);
        if let Some(Err(error)) = self
            .handle
            .as_ref()
            .map(|handle| handle.resize(columns, rows))
        {
            tracing::debug!("the terminal could not be resized: {error}");
        }
    }

    pub(super) fn watch(&mut self, client: ClientId) {
        self.watchers.insert(client);
    }

    /// What makes an emulator show the present screen: its size, and what draws it.
    pub(super) fn screen(&self) -> ((u16, u16), Vec<u8>) {
        let (rows, columns) = self.screen.screen().size();
        ((columns, rows), self.screen.screen().state_formatted())
    }

    pub(super) fn unwatch(&mut self, client: ClientId) {
        self.watchers.remove(&client);
    }

    pub(super) fn watchers(&self) -> impl Iterator<Item = &ClientId> {
        self.watchers.iter()
    }
}

/// The emulator takes no terminal without cells: wide characters need two columns, and a line that
/// wraps needs a second row.
fn sane((columns, rows): (u16, u16)) -> (u16, u16) {
    (columns.max(2), rows.max(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_can_be_watched_and_sized_before_there_is_a_program() {
        let mut terminal = Terminal::default();
        terminal.watch(ClientId(1));
        terminal.resize(0, 0);
        assert_eq!(terminal.size_or((80, 24)), (2, 2));
        terminal.said("wide \u{6f22}\r\n".as_bytes());
        assert_eq!(terminal.screen().0, (2, 2));
        assert_eq!(terminal.watchers().count(), 1);
        terminal.unwatch(ClientId(1));
        assert_eq!(terminal.watchers().count(), 0);
    }
}
