//! What is kept of a run in order to judge it, beyond what the core's own invariants say: the order
//! of a close, how often a report is decided, and to which stop the values in an answer belong. It
//! must not steer anything.

use crate::adapter::Policy;
use crate::adapter::debugpy::Debugpy;
use crate::dap::message::{Message, Request};
use crate::tree::{ConnectionId, Input, Tree};
use daptree_model::{
    Answer, Event, Inspect, Op, Page, ProcessKey, Reply, RowId, Stop, StopNumber, ToEngine,
    TreeState,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// How often a process was reported and what became of it.
#[derive(Debug, Default)]
struct Adoption {
    reports: u32,
    /// How often its adoption, or its release, was begun.
    begun: u32,
}

/// What is known of a row.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    stop: u32,
    parent: Option<RowId>,
    /// Its adoption, or its release, is under way.
    open: bool,
}

/// The books of a run.
#[derive(Debug, Default)]
pub struct Books {
    /// By the number of the row.
    rows: Vec<Known>,
    connections: BTreeMap<ConnectionId, RowId>,
    /// The world's mark of each stop that was shown.
    marks: BTreeMap<(RowId, StopNumber), String>,
    inspects: BTreeMap<RowId, Arc<Inspect>>,
    /// Stops that adapters told of.
    told: BTreeSet<String>,
    /// Sessions whose adapter told of a stop twice. Once it was left, the second time is one that
    /// never was: nobody can tell what its values belong to.
    lied_to: BTreeSet<RowId>,
    /// Reports heard of a pid that was not looked up yet.
    heard: BTreeMap<u32, u32>,
    adoptions: BTreeMap<ProcessKey, Adoption>,
    /// Children released so far of each tree that is being ended.
    released: BTreeMap<RowId, u32>,
    /// The step ends a subtree, or lets it go, because a front end said so.
    parts: bool,
    /// Whose sessions were left in this step, in order.
    left: Vec<RowId>,
    last_row: u32,
    /// Live sessions of the largest tree.
    pub sessions: usize,
    /// Levels of the deepest tree.
    pub levels: usize,
}

impl Books {
    /// The core is about to hear this.
    pub fn heard(&mut self, tree: &Tree, input: &Input) {
        self.left.clear();
        self.parts = false;
        match input {
            Input::Client(_, ToEngine::Command(command)) => {
                self.parts = matches!(
                    command.op,
                    Op::Close(_) | Op::Terminate(_) | Op::Restart(_) | Op::Detach(_) | Op::Shutdown
                );
            }
            Input::Dap(connection, message) if tree.connections.contains_key(connection) => {
                if let Some(report) = Debugpy.report(message) {
                    *self.heard.entry(report.pid).or_default() += 1;
                }
                let mark = stop_told(message).filter(|mark| !self.told.insert((*mark).to_owned()));
                if mark.is_some() {
                    self.lied_to.extend(self.connections.get(connection));
                }
            }
            Input::Described(pid, seen) => {
                let count = self.heard.remove(pid).unwrap_or(0);
                if let Some(process) = seen.first() {
                    self.adoptions.entry(process.process).or_default().reports += count;
                }
            }
            _ => {}
        }
    }

    /// The core wants a connection.
    pub fn connects(&mut self, tree: &Tree, connection: ConnectionId) {
        if let Some(data) = tree.connections.get(&connection) {
            self.connections.insert(connection, data.row);
        }
    }

    /// The core sends a request.
    pub fn sends(&mut self, connection: ConnectionId, request: &Request) {
        if self.parts && request.command == "disconnect" {
            self.left.extend(self.connections.get(&connection));
        }
    }

    /// The core says that something happened.
    pub fn says(&mut self, event: &Event) -> Result<(), String> {
        let Event::Stopped { row, stop, at } = event else {
            return Ok(());
        };
        if let Some(mark) = &at.text {
            self.marks.insert((*row, *stop), mark.clone());
        }
        of_one_stop(*row, *stop, at)
    }

    /// An answer to what was asked on a stop: its values are of that stop.
    pub fn answers(&self, asked: Option<(RowId, StopNumber)>, reply: &Reply) -> Result<(), String> {
        let (Some((row, stop)), Ok(answer)) = (asked, &reply.result) else {
            return Ok(());
        };
        match answer {
            Answer::Variables(page) => self.page(row, stop, page),
            Answer::Stack(stack) => {
                let names = stack.frames.iter().map(|frame| frame.name.as_str());
                names
                    .into_iter()
                    .try_for_each(|name| self.value(row, stop, name))
            }
            Answer::Evaluation(evaluation) => match &evaluation.value {
                Ok(value) => self.value(row, stop, value),
                Err(_) => Ok(()),
            },
            Answer::Exception(exception) => self.value(row, stop, &exception.message),
            _ => Ok(()),
        }
    }

    fn page(&self, row: RowId, stop: StopNumber, page: &Page) -> Result<(), String> {
        let values = page
            .variables
            .iter()
            .map(|variable| variable.value.as_str());
        values
            .into_iter()
            .try_for_each(|value| self.value(row, stop, value))
    }

    fn value(&self, row: RowId, stop: StopNumber, value: &str) -> Result<(), String> {
        if self.lied_to.contains(&row) {
            return Ok(());
        }
        match self.marks.get(&(row, stop)) {
            Some(mark) if is_mark(value) && value != mark => Err(format!(
                "{row} was asked for its stop {stop}, {mark}, and gives a value of {value}"
            )),
            None if is_mark(value) => {
                Err(format!("{row} gives a value of a stop {stop} it never had"))
            }
            _ => Ok(()),
        }
    }

    /// The step is over.
    pub fn check(&mut self, tree: &Tree) -> Result<(), String> {
        self.order()?;
        self.rows
            .resize(tree.last_row as usize + 1, Known::default());
        for (id, data) in &tree.rows {
            let view = &data.view;
            let known = &mut self.rows[id.0 as usize];
            if view.stop.0 < known.stop {
                return Err(format!("{id} goes back from stop {}", known.stop));
            }
            (known.stop, known.parent) = (view.stop.0, view.parent);
            if let Some(stopped) = &view.stopped {
                of_one_stop(*id, view.stop, stopped)?;
            }
            let open = data.adopt_by.is_some();
            let was_open = std::mem::replace(&mut known.open, open);
            let begun = open && !was_open;
            if let Some(process) = view.process.filter(|_| begun) {
                let adoption = self.adoptions.entry(process).or_default();
                adoption.begun += 1;
                if adoption.begun > adoption.reports {
                    return Err(format!(
                        "{id} was reported {} times and is adopted or released the {}th time",
                        adoption.reports, adoption.begun
                    ));
                }
            }
        }
        self.shown(tree)?;
        for (root, data) in &tree.trees {
            if data.state != TreeState::Ending {
                self.released.remove(root);
                continue;
            }
            let before = *self.released.entry(*root).or_insert(data.children_released);
            if before != data.children_released {
                return Err(format!(
                    "{root} is being ended and counts a child as released"
                ));
            }
        }
        self.measure(tree);
        Ok(())
    }

    /// Whoever is left goes after everybody below.
    fn order(&self) -> Result<(), String> {
        for (at, above) in self.left.iter().enumerate() {
            for later in self.left.iter().skip(at + 1) {
                let mut parent = self.parent(*later);
                while let Some(id) = parent {
                    if id == *above {
                        return Err(format!("{above} is left before {later}, which is below it"));
                    }
                    parent = self.parent(id);
                }
            }
        }
        Ok(())
    }

    fn parent(&self, row: RowId) -> Option<RowId> {
        self.rows.get(row.0 as usize)?.parent
    }

    /// What front ends are shown of a stop is of that stop.
    fn shown(&mut self, tree: &Tree) -> Result<(), String> {
        for (id, data) in &tree.rows {
            let Some(shown) = &data.shown else { continue };
            if self
                .inspects
                .get(id)
                .is_some_and(|known| Arc::ptr_eq(known, shown))
            {
                continue;
            }
            let frames = shown.stacks.values().flat_map(|stack| &stack.frames);
            for frame in frames {
                self.value(*id, shown.stop, &frame.name)?;
            }
            for page in shown.pages.values() {
                self.page(*id, shown.stop, page)?;
            }
            self.inspects.insert(*id, Arc::clone(shown));
        }
        Ok(())
    }

    fn measure(&mut self, tree: &Tree) {
        if tree.last_row == self.last_row {
            return;
        }
        self.last_row = tree.last_row;
        for root in tree.trees.keys() {
            let of = tree.rows.values().filter(|data| data.view.root == *root);
            let live = of.filter(|data| data.view.is_session() && data.is_live());
            self.sessions = self.sessions.max(live.count());
        }
        let mut at = Some(RowId(tree.last_row));
        let mut level = 0;
        while let Some(id) = at {
            level += 1;
            at = tree.view(id).and_then(|view| view.parent);
        }
        self.levels = self.levels.max(level);
    }
}

/// The place, the exception and the words of a stop come from the same one.
fn of_one_stop(row: RowId, stop: StopNumber, at: &Stop) -> Result<(), String> {
    let Some(mark) = &at.text else {
        return Ok(());
    };
    let place = at.place.as_ref().map(|place| place.function.as_str());
    let raised = at.exception.as_ref().map(|raised| raised.message.as_str());
    match place
        .into_iter()
        .chain(raised)
        .find(|value| is_mark(value) && value != mark)
    {
        Some(other) => Err(format!(
            "stop {stop} of {row} is {mark} and tells of {other}"
        )),
        None => Ok(()),
    }
}

/// The mark of the stop that a message tells of.
fn stop_told(message: &Message) -> Option<&str> {
    match message {
        Message::Event(event) if event.event == "stopped" => {
            event.body.as_ref()?.get("text")?.as_str()
        }
        _ => None,
    }
}

/// Whether this is what the world marks the values of a stop with.
fn is_mark(value: &str) -> bool {
    value.starts_with("stop-")
}
