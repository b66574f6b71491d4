//! A root's terminal: its handle, its screen for those who join later, and who watches it.

use crate::process::pty::TerminalHandle;
use daptree_model::ClientId;
use std::collections::BTreeSet;

/// The terminal of a root.
pub(super) struct Terminal {
    handle: TerminalHandle,
    screen: vt100::Parser,
    size: (u16, u16),
    watchers: BTreeSet<ClientId>,
}

impl std::fmt::Debug for Terminal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terminal").field("size", &self.size).finish_non_exhaustive()
    }
}

impl Terminal {
    /// Size: columns, rows.
    pub(super) fn new(handle: TerminalHandle, size: (u16, u16)) -> Self {
        let (columns, rows) = sane(size);
        Self {
            handle,
            screen: vt100::Parser::new(rows, columns, 0),
            size: (columns, rows),
            watchers: BTreeSet::new(),
        }
    }

    pub(super) fn size(&self) -> (u16, u16) {
        self.size
    }

    /// The program wrote.
    pub(super) fn said(&mut self, bytes: &[u8]) {
        self.screen.process(bytes);
    }

    /// Somebody typed.
    pub(super) fn input(&self, bytes: &[u8]) {
        if let Err(error) = self.handle.write(bytes) {
            tracing::warn!("the program does not read its terminal: {error}");
        }
    }

    pub(super) fn resize(&mut self, columns: u16, rows: u16) {
        let (columns, rows) = sane((columns, rows));
        if self.size == (columns, rows) {
            return;
        }
        self.size = (columns, rows);
        self.screen.screen_mut().set_size(rows, columns);
        if let Err(error) = self.handle.resize(columns, rows) {
            tracing::debug!("the terminal could not be resized: {error}");
        }
    }

    /// A front end wants the screen: its size and what draws it.
    pub(super) fn watch(&mut self, client: ClientId) -> ((u16, u16), Vec<u8>) {
        self.watchers.insert(client);
        (self.size, self.screen.screen().state_formatted())
    }

    pub(super) fn unwatch(&mut self, client: ClientId) {
        self.watchers.remove(&client);
    }

    pub(super) fn watchers(&self) -> impl Iterator<Item = &ClientId> {
        self.watchers.iter()
    }
}

/// Emulators do not take a terminal without cells, and wide characters need two columns.
fn sane((columns, rows): (u16, u16)) -> (u16, u16) {
    (columns.max(2), rows.max(1))
}
