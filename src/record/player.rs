//! Replays a journal: the core hears again what it heard, and the output and the terminals get again
//! what was written. Backward is from the start again. It knows neither clocks nor channels: what it
//! has to say to a front end waits in it.

use super::entry::{Entry, Header};
use super::reader::Journal;
use crate::engine::{kind_of, window};
use crate::output::{Limits, OutputStore};
use crate::tree::{Effect, Input, Millis, Tree};
use daptree_model::{
    Answer, ClientId, CommandId, EngineError, Event, FromEngine, Interest, ReadOp, ReplayView,
    RowId, Snapshot, ToEngine,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How long after a stop the values that were read of it are waited for, in recorded ms.
const VALUES: u64 = 500;

/// What a read came to while recording.
type Answered = Result<Answer, EngineError>;

/// A journal and how far it has been replayed.
pub struct Player {
    journal: Journal,
    lacks: Option<String>,
    /// Inputs that it holds.
    of: u64,
    until: Millis,
    /// Positions after which a session has stopped, as far as they were seen.
    stops: BTreeSet<u64>,
    /// Terminals that the front end wants to see.
    watched: BTreeSet<RowId>,
    /// The stop that was gone to, and the position at which its values were there.
    shown_stop: Option<(u64, u64)>,
    stage: Stage,
    said: Vec<FromEngine>,
    /// How it is played, for the front end.
    playing: bool,
    speed: u32,
}

/// The engine as it was at a position.
struct Stage {
    tree: Tree,
    store: OutputStore,
    screens: BTreeMap<RowId, vt100::Parser>,
    looked_at: Option<Interest>,
    asked: BTreeMap<(ClientId, CommandId), ReadOp>,
    answers: Vec<(ReadOp, Answered)>,
    /// The next entry.
    next: usize,
    /// Inputs that were heard.
    at: u64,
    now: Millis,
}

impl Stage {
    fn empty(header: &Header) -> Self {
        Self {
            tree: header.idle_ms.map_or_else(Tree::new, Tree::closing_idle),
            store: OutputStore::new(Limits::default()),
            screens: BTreeMap::new(),
            looked_at: None,
            asked: BTreeMap::new(),
            answers: Vec::new(),
            next: 0,
            at: 0,
            now: Millis(0),
        }
    }
}

impl Player {
    /// Before the first input of a journal.
    pub fn new(journal: Journal) -> Self {
        let is_input = |(_, entry): &&(Millis, Entry)| matches!(entry, Entry::Input(_));
        let of = journal.entries.iter().filter(is_input).count() as u64;
        let until = journal.entries.last().map_or(Millis(0), |(at, _)| *at);
        let stage = Stage::empty(&journal.header);
        let mut player = Self {
            lacks: journal.lacks(),
            journal,
            of,
            until,
            stops: BTreeSet::new(),
            watched: BTreeSet::new(),
            shown_stop: None,
            stage,
            said: Vec::new(),
            playing: false,
            speed: 100,
        };
        player.follow_up();
        player
    }

    /// Inputs that were replayed.
    pub fn at(&self) -> u64 {
        self.stage.at
    }

    /// Inputs that the journal holds.
    pub fn of(&self) -> u64 {
        self.of
    }

    /// The recorded time of the position.
    pub fn now(&self) -> Millis {
        self.stage.now
    }

    /// The recorded time of the next input, if there is one.
    pub fn next_at(&self) -> Option<Millis> {
        self.journal.entries.get(self.stage.next).map(|(at, _)| *at)
    }

    /// What is to be said to the front end, in order; asking takes it.
    pub fn take_said(&mut self) -> Vec<FromEngine> {
        std::mem::take(&mut self.said)
    }

    /// Whether a session stopped with the last input.
    pub fn is_at_stop(&self) -> bool {
        self.stops.contains(&self.stage.at)
    }

    /// Replays up to a position, or the end.
    pub fn go_to(&mut self, position: u64) {
        if position < self.stage.at {
            self.rewind();
        }
        while self.stage.at < position && self.step() {}
    }

    /// On to where a session stopped next, with the values that were read of it.
    pub fn next_stop(&mut self) {
        while self.step() {
            if self.is_at_stop() {
                return self.wait_for_values();
            }
        }
    }

    /// Back to where a session stopped before, or to the start.
    pub fn previous_stop(&mut self) {
        let from = self.stage.at;
        let mut here = match self.shown_stop {
            Some((stop, at)) if at == from => stop,
            _ => from,
        };
        // Several that came at once are seen at once.
        while let Some(stop) = self.stops.range(..here).next_back().copied() {
            self.go_to(stop);
            self.wait_for_values();
            if self.stage.at < from {
                return;
            }
            here = stop;
        }
        self.go_to(0);
    }

    /// Nothing was read of a stop yet when it came: on to where it was, unless somebody goes on.
    fn wait_for_values(&mut self) {
        let stop = self.stage.at;
        let until = self.stage.now.after(VALUES);
        while !self.stage.is_seen() && self.next_at().is_some_and(|at| at <= until) {
            let next = self.journal.entries.get(self.stage.next);
            let goes_on = matches!(
                next,
                Some((_, Entry::Input(Input::Client(_, ToEngine::Command(_)))))
            );
            if goes_on || !self.step() {
                break;
            }
        }
        self.shown_stop = Some((stop, self.stage.at));
    }

    /// How it is played, for the front end: whether by itself, and how fast, in percent.
    pub fn set_pace(&mut self, playing: bool, speed: u32) {
        (self.playing, self.speed) = (playing, speed);
    }

    /// Replays one input and what follows it up to the next. Says whether there was one.
    pub fn step(&mut self) -> bool {
        let Some((at, Entry::Input(input))) = self.journal.entries.get(self.stage.next).cloned()
        else {
            return false;
        };
        self.stage.next += 1;
        self.stage.at += 1;
        self.stage.now = at;
        if self.stage.hear(at, input) {
            self.stops.insert(self.stage.at);
        }
        self.follow_up();
        true
    }

    /// Back to before the first input.
    pub fn rewind(&mut self) {
        self.stage = Stage::empty(&self.journal.header);
        for root in &self.watched {
            self.said.push(FromEngine::Terminal {
                root: *root,
                reset: Some((80, 24)),
                bytes: Vec::new(),
            });
        }
        self.show();
        self.follow_up();
    }

    /// Whatever is no input and comes before the next one.
    fn follow_up(&mut self) {
        while let Some((at, entry)) = self.journal.entries.get(self.stage.next) {
            let at = *at;
            match entry.clone() {
                Entry::Input(_) => return,
                Entry::Output {
                    row,
                    stream,
                    screen,
                    bytes,
                } => {
                    self.stage.store.append(row.0, kind_of(stream), &bytes);
                    if let Some(root) = screen {
                        self.draw(root, bytes);
                    }
                }
                Entry::Screen {
                    root,
                    columns,
                    rows,
                    fresh,
                } => self.resize(root, columns.max(2), rows.max(2), fresh),
                Entry::Published(_) => {
                    let snapshot = self.stage.tree.snapshot();
                    self.say_snapshot(snapshot.as_ref().clone());
                }
                Entry::Lost(_) => {}
            }
            self.stage.next += 1;
            self.stage.now = at;
        }
    }

    fn draw(&mut self, root: RowId, bytes: Vec<u8>) {
        if let Some(screen) = self.stage.screens.get_mut(&root) {
            screen.process(&bytes);
        }
        if self.watched.contains(&root) {
            self.said.push(FromEngine::Terminal {
                root,
                reset: None,
                bytes,
            });
        }
    }

    fn resize(&mut self, root: RowId, columns: u16, rows: u16, fresh: bool) {
        let blank = || vt100::Parser::new(rows, columns, 0);
        let screen = self.stage.screens.entry(root).or_insert_with(blank);
        if fresh {
            *screen = blank();
            self.show_screen(root);
        } else {
            screen.screen_mut().set_size(rows, columns);
        }
    }

    /// The front end wants to see the terminal of a root from now on.
    pub fn watch(&mut self, root: RowId) {
        self.watched.insert(root);
        self.show_screen(root);
    }

    fn show_screen(&mut self, root: RowId) {
        let Some(screen) = self.stage.screens.get(&root).map(vt100::Parser::screen) else {
            return;
        };
        if self.watched.contains(&root) {
            let (rows, columns) = screen.size();
            self.said.push(FromEngine::Terminal {
                root,
                reset: Some((columns, rows)),
                bytes: screen.state_formatted(),
            });
        }
    }

    /// Says to the front end how everything is at this position, also where the recorded one was
    /// told nothing.
    pub fn show(&mut self) {
        let snapshot = self.stage.tree.at_present();
        self.say_snapshot(snapshot);
    }

    fn say_snapshot(&mut self, mut snapshot: Snapshot) {
        snapshot.replay = Some(ReplayView {
            at: self.stage.at,
            of: self.of,
            at_ms: self.stage.now.0,
            until_ms: self.until.0,
            playing: self.playing,
            speed: self.speed,
            looked_at: self.stage.looked_at.clone(),
            lacks: self.lacks.clone(),
        });
        self.said.push(FromEngine::Snapshot(Arc::new(snapshot)));
    }

    /// The state at this position.
    pub fn snapshot(&self) -> Snapshot {
        self.stage.tree.at_present()
    }

    /// The answer to a read as it was given; `None`: a file, which is read from the disk.
    pub fn answer(&self, what: &ReadOp) -> Option<Answered> {
        match what {
            ReadOp::File(_) => None,
            ReadOp::Output { row, from, count } => {
                Some(Ok(window(&self.stage.store, *row, *from, *count)))
            }
            _ => {
                let mut known = self.stage.answers.iter().rev();
                let known = known.find(|(asked, _)| asked == what);
                Some(known.map_or_else(
                    || Err(EngineError::NotRecorded(name_of(what))),
                    |(_, answered)| answered.clone(),
                ))
            }
        }
    }
}

impl Stage {
    /// Whether the values are there of a stop that the recorded front end looked at.
    fn is_seen(&self) -> bool {
        let Some(looked_at) = &self.looked_at else {
            return true;
        };
        let snapshot = self.tree.at_present();
        let row = snapshot.rows.get(&looked_at.row);
        let shown = snapshot.inspects.get(&looked_at.row);
        match (row, shown) {
            (Some(row), Some(shown)) => {
                // They come level by level: the variables last.
                row.is_paused() && row.stop == shown.stop && !shown.pages.is_empty()
            }
            _ => false,
        }
    }

    /// The core hears an input again. Says whether a session stopped with it.
    fn hear(&mut self, at: Millis, input: Input) -> bool {
        match &input {
            Input::Client(client, ToEngine::Read(read)) => {
                self.asked.insert((*client, read.id), read.what.clone());
            }
            Input::Client(_, ToEngine::Interest(interests)) => {
                self.looked_at = interests.first().cloned().or(self.looked_at.take());
            }
            _ => {}
        }
        let mut stopped = false;
        for effect in self.tree.handle(at, input) {
            match effect {
                Effect::Reply(client, reply) => {
                    if let Some(what) = self.asked.remove(&(client, reply.id)) {
                        self.answers.retain(|(known, _)| *known != what);
                        self.answers.push((what, reply.result));
                    }
                }
                Effect::Event(Event::Stopped { .. }) => stopped = true,
                // What came of every other effect is in the journal.
                _ => {}
            }
        }
        stopped
    }
}

/// A read, for people.
fn name_of(what: &ReadOp) -> String {
    match what {
        ReadOp::Threads(row) => format!("the threads of {row}"),
        ReadOp::Stack { row, stop, .. } => format!("this stack of {row} at stop {stop}"),
        ReadOp::Variables { row, stop, .. } => format!("this variable of {row} at stop {stop}"),
        ReadOp::Evaluate {
            row, expression, ..
        } => format!("`{expression}` in {row}"),
        ReadOp::ExceptionInfo { row, stop } => format!("the exception of {row} at stop {stop}"),
        ReadOp::File(path) => path.clone(),
        ReadOp::Source { row, reference } => format!("source {reference} of {row}"),
        ReadOp::Output { .. } => "this output".to_owned(),
        ReadOp::Processes => "the list of processes".to_owned(),
    }
}

#[cfg(test)]
mod tests;
