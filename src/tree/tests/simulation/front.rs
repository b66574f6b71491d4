//! Front ends that say anything: commands and reads on any row, at any stop, and that come and go.
//! They must not look at the core beyond what a snapshot shows.

use super::super::harness::{at_line, request};
use super::random::Random;
use crate::tree::{Input, Tree};
use daptree_model::{
    BreakpointId, ClientId, Command, CommandId, Interest, Op, OpenPath, Read, ReadOp, RowId,
    Snapshot, StopNumber, ToEngine,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How old the state may be that somebody decides on, in ms.
const STALE: u64 = 40;

/// A stop of a session.
type Moment = (RowId, StopNumber);

/// All front ends of a run.
pub struct Fronts {
    random: Random,
    /// Commands of each that are not answered, with the stop that values are wanted of.
    open: BTreeMap<ClientId, BTreeMap<CommandId, Option<Moment>>>,
    next_at: Option<u64>,
    /// How long they think at most, in ms.
    pace: u64,
    /// Out of a thousand commands, how many end something.
    ends: u64,
    /// Nobody caps the number of children.
    large: bool,
    /// What they saw last, and when.
    snapshot: Arc<Snapshot>,
    looked_at: Option<u64>,
    commands: u64,
    clients: u32,
}

impl Fronts {
    pub fn new(mut random: Random, large: bool) -> Self {
        let paces: &[u64] = if large { &[20, 150] } else { &[20, 150, 1_500] };
        let pace = *random.pick(paces).unwrap();
        let ends = *random.pick(&[0, 20, 150]).unwrap();
        Self {
            pace,
            ends: if large { ends / 10 } else { ends },
            large,
            open: BTreeMap::new(),
            next_at: Some(random.between(1, 500)),
            random,
            snapshot: Arc::default(),
            looked_at: None,
            commands: 0,
            clients: 1,
        }
    }

    /// When one of them does something next.
    pub fn next(&self) -> Option<u64> {
        self.next_at
    }

    /// They say nothing more.
    pub fn quiet(&mut self) {
        self.next_at = None;
    }

    pub fn open(&mut self, client: ClientId) {
        self.open.entry(client).or_default();
    }

    pub fn asked(&mut self, client: ClientId, id: CommandId, of: Option<Moment>) {
        self.open.entry(client).or_default().insert(id, of);
    }

    pub fn waits_for(&self, client: ClientId, id: CommandId) -> bool {
        self.open
            .get(&client)
            .is_some_and(|ids| ids.contains_key(&id))
    }

    /// A command that nobody answered.
    pub fn unanswered(&self) -> Option<String> {
        self.open.iter().find_map(|(client, ids)| {
            let id = ids.keys().next()?;
            Some(format!("{id} of {client}"))
        })
    }

    /// Keeps count of what goes to the core.
    pub fn heard(&mut self, input: &Input) {
        match input {
            Input::ClientOpened(client) => self.open(*client),
            Input::ClientClosed(client) => {
                self.open.remove(client);
            }
            Input::Client(client, ToEngine::Command(command)) => {
                let of = match (&command.op, command.expect) {
                    (Op::SetVariable { row, .. }, Some(stop)) => Some((*row, stop)),
                    _ => None,
                };
                self.asked(*client, command.id, of);
            }
            Input::Client(client, ToEngine::Read(read)) => {
                let of = match &read.what {
                    ReadOp::Stack { row, stop, .. }
                    | ReadOp::Variables { row, stop, .. }
                    | ReadOp::ExceptionInfo { row, stop }
                    | ReadOp::Evaluate {
                        row,
                        stop: Some(stop),
                        ..
                    } => Some((*row, *stop)),
                    _ => None,
                };
                self.asked(*client, read.id, of);
            }
            _ => {}
        }
    }

    /// A reply: the only one, to a command that was given. Gives the stop that it was asked of.
    pub fn replied(&mut self, client: ClientId, id: CommandId) -> Result<Option<Moment>, String> {
        let known = self.open.get_mut(&client).and_then(|ids| ids.remove(&id));
        known.ok_or_else(|| format!("{client} got a reply to {id}, which is not open"))
    }

    /// The first launch.
    pub fn launch(&mut self) -> Input {
        let op = self.launch_op();
        self.give(ClientId(1), op, None)
    }

    fn launch_op(&mut self) -> Op {
        let mut request = request();
        let caps: &[u32] = if self.large { &[0] } else { &[0, 0, 2, 5] };
        request.max_children = *self.random.pick(caps).unwrap();
        request.breakpoints = vec![at_line(3)];
        request.exceptions = Some(vec!["userUnhandled".to_owned()]);
        request.stop_on_entry = self.random.permille(200);
        request.stop_the_world = self.random.permille(300);
        Op::Launch(Box::new(request))
    }

    fn give(&mut self, client: ClientId, op: Op, expect: Option<StopNumber>) -> Input {
        self.commands += 1;
        let id = CommandId(self.commands);
        Input::Client(client, ToEngine::Command(Command { id, expect, op }))
    }

    /// Somebody does something.
    pub fn act(&mut self, now: u64, tree: &mut Tree) -> Option<Input> {
        self.next_at = Some(now + self.random.between(1, self.pace));
        let clients: Vec<ClientId> = self.open.keys().copied().collect();
        if clients.is_empty() || (clients.len() < 3 && self.random.permille(20)) {
            self.clients += 1;
            return Some(Input::ClientOpened(ClientId(self.clients)));
        }
        let client = *self.random.pick(&clients)?;
        if self.random.permille(10) {
            return Some(Input::ClientClosed(client));
        }
        if self.looked_at.is_none_or(|at| at + STALE <= now) {
            self.looked_at = Some(now);
            self.snapshot = tree.snapshot();
        }
        let snapshot = Arc::clone(&self.snapshot);
        let rows: Vec<RowId> = snapshot.rows.keys().copied().collect();
        let paused: Vec<RowId> = snapshot
            .rows
            .values()
            .filter(|row| row.is_paused())
            .map(|row| row.id)
            .collect();
        let row = if self.random.permille(600) {
            self.random.pick(&paused).copied()
        } else {
            None
        };
        let row = row.or_else(|| self.random.pick(&rows).copied());
        let row = match row {
            Some(row) if !self.random.permille(20) => row,
            _ => RowId(999),
        };
        let stop = snapshot.rows.get(&row).map_or(0, |row| row.stop.0);
        if self.random.permille(self.ends) {
            let op = self.ending(row);
            return Some(self.give(client, op, None));
        }
        if self.random.permille(250) {
            return Some(self.look(client, row, stop));
        }
        let thread = self.random.permille(200).then_some(1);
        let op = match self.random.between(0, 14) {
            0..=3 => Op::Continue(row),
            4 => Op::Next(row, thread),
            5 => Op::StepIn(row, thread),
            6 => Op::StepOut(row, None),
            7 => Op::Pause(row),
            8 => Op::ContinueAll(row),
            9 => Op::PauseAll(row),
            10 => self.breakpoint(),
            12 => Op::StopTheWorld(row, self.random.permille(500)),
            11 => Op::SetVariable {
                row,
                container: 10,
                name: "n".to_owned(),
                value: "1".to_owned(),
            },
            _ => Op::WaitForStop {
                row,
                timeout_ms: self.random.between(0, 20_000),
            },
        };
        let expect = match self.random.between(0, 9) {
            0 => Some(StopNumber(stop + 1)),
            1..=4 => Some(StopNumber(stop)),
            _ => None,
        };
        Some(self.give(client, op, expect))
    }

    fn ending(&mut self, row: RowId) -> Op {
        match self.random.between(0, 9) {
            0 | 1 => Op::Close(row),
            2 | 3 => Op::Terminate(row),
            4..=6 => Op::Restart(row),
            7 => Op::Detach(row),
            8 if self.random.permille(300) => Op::Shutdown,
            _ => self.launch_op(),
        }
    }

    fn breakpoint(&mut self) -> Op {
        let line = self.random.between(0, 4) as u32;
        match self.random.between(0, 4) {
            0 | 1 => Op::SetBreakpoint(at_line(line)),
            2 => Op::RemoveBreakpoint(BreakpointId(line)),
            3 => Op::EnableBreakpoint(BreakpointId(line), self.random.permille(500)),
            _ => Op::SetExceptionFilters(vec!["raised".to_owned()]),
        }
    }

    fn look(&mut self, client: ClientId, row: RowId, stop: u32) -> Input {
        let (stop, thread) = (StopNumber(stop), None);
        if self.random.permille(300) {
            let interest = Interest {
                row,
                thread,
                frame: 0,
                open: vec![OpenPath {
                    path: vec!["Locals".to_owned(), "n".to_owned()],
                    limit: self.random.between(0, 200) as u32,
                }],
                watches: vec!["n".to_owned()],
            };
            return Input::Client(client, ToEngine::Interest(vec![interest]));
        }
        if self.random.permille(100) {
            let id = CommandId(self.random.between(1, self.commands.max(1)));
            return Input::Client(client, ToEngine::Cancel(id));
        }
        let what = match self.random.between(0, 5) {
            0 => ReadOp::Threads(row),
            1 => ReadOp::Stack {
                row,
                stop,
                thread,
                start: 0,
                levels: 20,
            },
            2 => ReadOp::Variables {
                row,
                stop,
                reference: 10,
                start: 0,
                count: 10,
            },
            3 => ReadOp::ExceptionInfo { row, stop },
            4 => ReadOp::File("/p/main.py".to_owned()),
            _ => ReadOp::Evaluate {
                row,
                stop: self.random.permille(500).then_some(stop),
                frame: None,
                expression: "n".to_owned(),
                context: if self.random.permille(500) {
                    "repl".to_owned()
                } else {
                    "watch".to_owned()
                },
            },
        };
        self.commands += 1;
        let id = CommandId(self.commands);
        Input::Client(client, ToEngine::Read(Read { id, what }))
    }
}
