//! The front end without a terminal: inputs and the engine's words go in, frames and words to
//! the engine come out. It says declaratively what has to be read for what is on the screen. It
//! must not block, wait or look at the clock.

use crate::commands::Pane;
use crate::highlight::{BLOCK, Coloured, Request};
use crate::layout::{Layout, layout};
use crate::options::UiOptions;
use crate::rows;
use crate::state::{Action, Leave, Moves, SourceKey, UiState};
use crate::update::{Input, SCAN_LINES, output_range, terminal_root, update};
use crate::view::{Painted, view};
use crate::windows::Windows;
use crossterm::event::{Event as TerminalEvent, KeyCode, KeyEvent, KeyModifiers};
use daptree_model::{
    Answer, Command, CommandId, EngineError, Event, FromEngine, Interest, LaunchRequest, Op,
    OpenPath, Read, ReadOp, RowId, Snapshot, Stdio, StopNumber, ToEngine,
};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, mpsc};

/// Command ids of the front end start here, so that its host may use smaller ones on the same
/// pair of channels.
const FIRST_ID: u64 = 1 << 32;
/// Reads of one output view for one revision: a second one catches up with what was written
/// meanwhile, a third would never end under a flood.
const READS_A_REVISION: u8 = 2;

enum Pending {
    Command { op: Op, expect: Option<StopNumber> },
    Source(SourceKey),
    Output(Option<RowId>),
    Scan,
}

/// The last read of an output view.
#[derive(Default)]
struct OutputRead {
    in_flight: bool,
    /// Asked at this output revision, with so many lines counted, for lines from there on.
    revision: u64,
    counted: u64,
    first: u64,
    /// How often at this revision.
    times: u8,
}

/// A front end.
pub struct Front {
    state: UiState,
    painted: Painted,
    windows: Windows,
    snapshot: Arc<Snapshot>,
    outgoing: VecDeque<ToEngine>,
    next_id: u64,
    pending: HashMap<CommandId, Pending>,
    interest: Vec<Interest>,
    terminal_size: Option<(RowId, u16, u16)>,
    watched: BTreeSet<RowId>,
    output_reads: BTreeMap<Option<RowId>, OutputRead>,
    scanned: Option<u64>,
    colours: Option<mpsc::Sender<Request>>,
    coloured: Option<(SourceKey, u64, usize)>,
    leave: Option<Leave>,
    redraw: bool,
}

impl Front {
    /// A front end for a screen of so many cells.
    pub fn new(options: UiOptions, size: (u16, u16)) -> Self {
        let mut made = Self {
            state: UiState::new(),
            painted: Painted {
                theme: options.theme,
                ascii: options.ascii,
                cursor: None,
            },
            windows: Windows::default(),
            snapshot: Arc::default(),
            outgoing: VecDeque::new(),
            next_id: FIRST_ID,
            pending: HashMap::new(),
            interest: Vec::new(),
            terminal_size: None,
            watched: BTreeSet::new(),
            output_reads: BTreeMap::new(),
            scanned: None,
            colours: None,
            coloured: None,
            leave: None,
            redraw: false,
        };
        made.apply(Input::Resize(size.0, size.1));
        if let Some(launch) = options.launch {
            made.launch(launch);
        }
        for request in options.attach {
            made.command(None, Op::Attach(Box::new(request)));
        }
        made
    }

    /// Where requests for syntax colours go; without it sources stay plain.
    pub fn colour_with(&mut self, worker: mpsc::Sender<Request>) {
        self.colours = Some(worker);
    }

    /// What it knows of itself.
    pub fn state(&self) -> &UiState {
        &self.state
    }

    /// What is to be sent to the engine next.
    pub fn outgoing(&mut self) -> &mut VecDeque<ToEngine> {
        &mut self.outgoing
    }

    /// Why it wants to be left, once it does.
    pub fn leave(&self) -> Option<&Leave> {
        self.leave.as_ref()
    }

    /// Whether every cell is to be painted anew; asking forgets it.
    pub fn take_redraw(&mut self) -> bool {
        std::mem::take(&mut self.redraw)
    }

    /// Where the terminal's cursor stands in the last frame.
    pub fn cursor(&self) -> Option<(u16, u16)> {
        self.painted.cursor
    }

    /// Takes what the terminal says.
    pub fn terminal(&mut self, event: TerminalEvent) {
        match event {
            TerminalEvent::Key(key) => self.apply(Input::Key(key)),
            TerminalEvent::Paste(text) => self.apply(Input::Paste(text)),
            TerminalEvent::Resize(columns, rows) => self.apply(Input::Resize(columns, rows)),
            _ => {}
        }
    }

    /// Presses the keys of these characters, one after the other; newline, tab and escape are
    /// the keys of these names.
    pub fn type_keys(&mut self, keys: &str) {
        for key in keys.chars() {
            let code = match key {
                '\n' => KeyCode::Enter,
                '\t' => KeyCode::Tab,
                '\u{1b}' => KeyCode::Esc,
                key => KeyCode::Char(key),
            };
            self.terminal(TerminalEvent::Key(KeyEvent::new(code, KeyModifiers::NONE)));
        }
    }

    /// Takes what the engine says, in order; of several snapshots only the last one counts.
    pub fn engine(&mut self, messages: impl IntoIterator<Item = FromEngine>) {
        let mut snapshot = None;
        for message in messages {
            match message {
                FromEngine::Snapshot(newer) => {
                    if newer.replay.is_some() {
                        // Of a replay every moment counts: what was seen stays to be read.
                        self.take_snapshot(&mut snapshot);
                    }
                    snapshot = Some(newer);
                }
                FromEngine::Reply(reply) => {
                    self.take_snapshot(&mut snapshot);
                    self.reply(reply.id, reply.result);
                }
                FromEngine::Event {
                    event: Event::LaunchFailed { root, message },
                    ..
                } => {
                    self.take_snapshot(&mut snapshot);
                    self.apply(Input::LaunchFailed {
                        root: Some(root),
                        message,
                    });
                }
                FromEngine::Event { .. } => {}
                FromEngine::Terminal { root, reset, bytes } => {
                    self.windows.feed(root, reset, &bytes);
                    if let (Some(_), Some((of, columns, rows))) = (reset, self.terminal_size)
                        && of == root
                    {
                        self.windows.resize(root, columns, rows);
                    }
                }
            }
        }
        self.take_snapshot(&mut snapshot);
        self.sync();
    }

    /// Takes colours from the worker.
    pub fn colours(&mut self, coloured: Coloured) {
        self.windows.set_colours(coloured);
    }

    /// Says something that went wrong around the front end.
    pub fn trouble(&mut self, text: String) {
        self.apply(Input::Trouble(text));
    }

    /// Draws a frame into an empty buffer.
    pub fn paint(&mut self, buffer: &mut Buffer) {
        let area = buffer.area;
        view(
            &self.state,
            &mut self.painted,
            &self.snapshot,
            &self.windows,
            area,
            buffer,
        );
    }

    /// A frame of the present size.
    pub fn frame(&mut self) -> Buffer {
        let (columns, rows) = self.state.size;
        let mut buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
        self.paint(&mut buffer);
        buffer
    }

    fn take_snapshot(&mut self, newer: &mut Option<Arc<Snapshot>>) {
        if let Some(newer) = newer.take() {
            let position = |snapshot: &Snapshot| snapshot.replay.as_ref().map(|replay| replay.at);
            if position(&newer) < position(&self.snapshot) {
                self.forget_future();
            }
            self.windows.observe(&newer);
            self.snapshot = newer;
            self.apply(Input::Snapshot);
        }
    }

    /// A replay went back: what was read and seen is of a time that is to come.
    fn forget_future(&mut self) {
        self.windows.forget_stops();
        self.output_reads.clear();
        self.state.moves = Moves::default();
        self.state.notices_seen = 0;
    }

    /// The program's terminal is as large as the place it is shown in.
    fn launch(&mut self, mut request: Box<LaunchRequest>) {
        if let Stdio::Terminal { columns, rows } = &mut request.stdio
            && let Some(body) = self.layout().place(Pane::Terminal)
        {
            *columns = body.width;
            *rows = body.height;
        }
        self.command(None, Op::Launch(request));
    }

    fn layout(&self) -> Layout {
        let (columns, rows) = self.state.size;
        let area = Rect::new(0, 0, columns, rows);
        layout(&self.state, self.snapshot.breakpoints.len(), area)
    }

    fn apply(&mut self, input: Input) {
        let actions = update(&mut self.state, &self.snapshot, &self.windows, input);
        for action in actions {
            match action {
                Action::Command { expect, op } => self.command(expect, op),
                Action::Type(root, bytes) => {
                    self.outgoing
                        .push_back(ToEngine::TerminalInput { root, bytes });
                }
                Action::Replay(op) => self.outgoing.push_back(ToEngine::Replay(op)),
                Action::Reload(key) => self.windows.forget_source(&key),
                Action::Redraw => self.redraw = true,
                Action::Leave(leave) => self.leave = self.leave.take().or(Some(leave)),
            }
        }
        self.sync();
    }

    fn id(&mut self, pending: Pending) -> CommandId {
        let id = CommandId(self.next_id);
        self.next_id += 1;
        self.pending.insert(id, pending);
        id
    }

    fn command(&mut self, expect: Option<StopNumber>, op: Op) {
        let id = self.id(Pending::Command {
            op: op.clone(),
            expect,
        });
        self.outgoing
            .push_back(ToEngine::Command(Command { id, expect, op }));
    }

    fn read(&mut self, pending: Pending, what: ReadOp) {
        let id = self.id(pending);
        self.outgoing.push_back(ToEngine::Read(Read { id, what }));
    }

    fn reply(&mut self, id: CommandId, result: Result<Answer, EngineError>) {
        match self.pending.remove(&id) {
            None => {}
            Some(Pending::Command { op, expect }) => {
                self.apply(Input::Replied { op, expect, result });
            }
            Some(Pending::Source(key)) => {
                let answer = match result {
                    Ok(Answer::Source { text, .. }) => Ok(text),
                    Ok(other) => Err(format!("the engine answered {other:?}")),
                    Err(error) => Err(error.to_string()),
                };
                self.windows.set_source(&key, answer);
                self.apply(Input::Windows);
            }
            Some(Pending::Output(row)) => {
                if let Some(read) = self.output_reads.get_mut(&row) {
                    read.in_flight = false;
                }
                // After an error the next revision asks again.
                if let Ok(Answer::Output(window)) = result {
                    self.windows.output.insert(row, window);
                }
                self.apply(Input::Windows);
            }
            Some(Pending::Scan) => {
                self.scanned = None;
                let result = match result {
                    Ok(Answer::Output(window)) => Ok(window),
                    Ok(other) => Err(EngineError::Failed(format!("the answer was {other:?}"))),
                    Err(error) => Err(error),
                };
                self.apply(Input::Scanned(result));
            }
        }
    }

    /// Asks for whatever the screen shows and is not here.
    fn sync(&mut self) {
        let made = self.layout();
        self.sync_source(&made);
        self.sync_output(&made);
        self.sync_scan();
        self.sync_terminal(&made);
        self.sync_interest();
    }

    fn sync_source(&mut self, made: &Layout) {
        let shown = rows::shown_source(&self.state, &self.snapshot, &self.windows);
        let Some((key, _)) = shown else {
            return;
        };
        if self.windows.source(&key).is_none() {
            self.windows.ask_source(key.clone());
            let what = key.read();
            self.read(Pending::Source(key), what);
            return;
        }
        let (Some(worker), Some(text)) = (&self.colours, self.windows.text(&key)) else {
            return;
        };
        let height = made.place(Pane::Source).map_or(1, |body| body.height);
        let from = self.state.source.top;
        let to = (from + usize::from(height)).next_multiple_of(BLOCK);
        let asked = (key.clone(), text.revision, to);
        if text.wants_colours(to) && self.coloured.as_ref() != Some(&asked) {
            let request = Request {
                key: key.path,
                revision: text.revision,
                text: Arc::clone(&text.text),
                from,
                to,
            };
            if worker.send(request).is_err() {
                self.colours = None;
            }
            self.coloured = Some(asked);
        }
    }

    fn sync_output(&mut self, made: &Layout) {
        let Some(body) = made.body(Pane::Output) else {
            return;
        };
        let row = if self.state.output.whole_tree {
            None
        } else if self.state.focus.is_some() {
            self.state.focus
        } else {
            return;
        };
        let height = u64::from(body.height.max(1));
        let revision = self.snapshot.output_revision;
        let lines = &self.snapshot.output_lines;
        let counted = match row {
            Some(row) => lines.get(&row).copied().unwrap_or(0),
            None => lines.values().sum(),
        };
        let (_, total) = output_range(&self.state, (&self.snapshot, &self.windows));
        let total = total.max(counted);
        let top = self.state.output.top;
        let first = top.unwrap_or_else(|| total.saturating_sub(height));
        let window = self.windows.output.get(&row);
        let read = self.output_reads.entry(row).or_default();
        if read.in_flight {
            return;
        }
        let covered = window.is_some_and(|window| {
            let from = window.lines.first().map_or(total, |line| line.number);
            let to = window.lines.last().map_or(0, |line| line.number + 1);
            from <= first.max(window.dropped) && to >= (first + height).min(total)
        });
        if read.revision != revision {
            read.times = 0;
        }
        let wanted = if top.is_some() {
            // The same question twice would get the same answer.
            !covered && (read.first, read.revision) != (first, revision)
        } else {
            let open = window.is_none_or(|w| w.lines.last().is_none_or(|line| line.open));
            let grown = row.is_none() || open || read.counted != counted;
            (read.revision != revision && grown)
                || ((!covered || window.is_none()) && read.times < READS_A_REVISION)
        };
        if !wanted {
            return;
        }
        *read = OutputRead {
            in_flight: true,
            revision,
            counted,
            first,
            times: read.times.saturating_add(1),
        };
        let what = ReadOp::Output {
            row,
            from: first.saturating_sub(height),
            count: (height * 4) as u32,
        };
        self.read(Pending::Output(row), what);
    }

    fn sync_scan(&mut self) {
        let Some(scan) = self.state.output.scan.as_ref() else {
            return;
        };
        let row = if self.state.output.whole_tree {
            None
        } else {
            self.state.focus
        };
        if self.scanned.is_some() {
            return;
        }
        let at = scan.at;
        let lines = u64::from(SCAN_LINES);
        let from = if scan.forward {
            at
        } else {
            at.saturating_sub(lines)
        };
        self.scanned = Some(at);
        let what = ReadOp::Output {
            row,
            from,
            count: SCAN_LINES,
        };
        self.read(Pending::Scan, what);
    }

    fn sync_terminal(&mut self, made: &Layout) {
        for tree in self.snapshot.trees.iter().filter(|tree| tree.has_terminal) {
            if self.watched.insert(tree.root) {
                self.outgoing.push_back(ToEngine::TerminalWatch(tree.root));
            }
        }
        let Some(root) = terminal_root(&self.state, &self.snapshot) else {
            return;
        };
        let Some(body) = made.place(Pane::Terminal) else {
            return;
        };
        if self.state.zoom && self.state.pane() != Pane::Terminal && self.terminal_size.is_some() {
            // What is not seen keeps its size: a smaller one would cut its lines for good.
            return;
        }
        let wanted = (root, body.width, body.height);
        if self.terminal_size != Some(wanted) {
            self.terminal_size = Some(wanted);
            self.windows.resize(root, body.width, body.height);
            self.outgoing.push_back(ToEngine::TerminalSize {
                root,
                columns: body.width,
                rows: body.height,
            });
        }
    }

    fn sync_interest(&mut self) {
        let row = self.state.focus.and_then(|id| self.snapshot.rows.get(&id));
        let open = &self.state.variables.open;
        let wanted: Vec<Interest> = row
            .filter(|row| row.is_session())
            .map(|row| Interest {
                row: row.id,
                thread: self.state.thread,
                frame: self.state.frame,
                open: open
                    .iter()
                    .map(|(path, limit)| OpenPath {
                        path: path.clone(),
                        limit: *limit,
                    })
                    .collect(),
                watches: Vec::new(),
            })
            .into_iter()
            .collect();
        if wanted != self.interest {
            self.interest.clone_from(&wanted);
            self.outgoing.push_back(ToEngine::Interest(wanted));
        }
    }
}

#[cfg(test)]
mod tests;
