//! Random trees against a simulated world: processes that spawn, fork, exec, stop and end, an
//! adapter that is slow, refuses, loses answers or dies, front ends that say anything at any time.
//! One seed is one run. It must not know the core's rules beyond what must always hold.
//!
//! `DAPTREE_SIM_RUNS` sets how many runs are made, `DAPTREE_SIM_SEED` the first seed; a failure
//! names the seed that replays it alone.

mod front;
mod random;
mod world;

use crate::dap::message::Message;
use crate::tree::{Effect, Input, Millis, Tree, invariants};
use daptree_model::{ClientId, Command, CommandId, Op, RowId, ToEngine, TreeState};
use front::Fronts;
use random::Random;
use std::collections::{BTreeMap, VecDeque};
use world::World;

/// Runs of the test unless the environment says otherwise.
const RUNS: u64 = if cfg!(debug_assertions) { 500 } else { 20_000 };
/// How long after a report a process may stay parked, in ms.
const PARKED: u64 = 20_000;
/// How long everything may take to end after a shutdown, in ms.
const SHUTDOWN: u64 = 40_000;

#[test]
fn whatever_happens_the_tree_keeps_its_word() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first: Option<u64> = number("DAPTREE_SIM_SEED");
    let runs = number("DAPTREE_SIM_RUNS").unwrap_or(if first.is_some() { 1 } else { RUNS });
    let first = first.unwrap_or(1);
    let (mut inputs, mut rows) = (0, 0);
    for seed in first..first + runs {
        let done = std::panic::catch_unwind(|| run(seed, runs == 1))
            .unwrap_or_else(|_| Err("the core panicked".to_owned()));
        match done {
            Ok(run) => {
                inputs += run.inputs;
                rows += run.rows;
            }
            Err(broken) => panic!("{broken}\nreplay it with DAPTREE_SIM_SEED={seed}"),
        }
    }
    println!("{runs} runs from seed {first}: {inputs} inputs, {rows} rows");
    assert!(
        runs < 100 || (inputs > runs * 50 && rows > runs * 2),
        "the simulation does too little"
    );
}

/// What a run came to.
struct Done {
    inputs: u64,
    rows: u64,
}

/// One engine in its world.
struct Simulation {
    tree: Tree,
    world: World,
    fronts: Fronts,
    wake: Option<u64>,
    stops: BTreeMap<RowId, u32>,
    inputs: u64,
    log: VecDeque<String>,
    told: bool,
}

fn run(seed: u64, told: bool) -> Result<Done, String> {
    let mut random = Random::new(seed);
    let length = random.between(200, 12_000);
    let mut simulation = Simulation {
        tree: Tree::new(),
        world: World::new(random.fork()),
        fronts: Fronts::new(random.fork()),
        wake: None,
        stops: BTreeMap::new(),
        inputs: 0,
        log: VecDeque::new(),
        told,
    };
    let result = simulation.live(length);
    if result.is_err() && simulation.told {
        for line in &simulation.log {
            println!("{line}");
        }
    }
    result?;
    Ok(Done {
        inputs: simulation.inputs,
        rows: u64::from(simulation.tree.last_row),
    })
}

impl Simulation {
    fn live(&mut self, length: u64) -> Result<(), String> {
        self.feed(Input::ClientOpened(ClientId(1)))?;
        let first = self.fronts.launch();
        self.feed(first)?;
        while self.world.now < length {
            if self.step(length)? {
                continue;
            }
            self.world.now = length;
        }
        self.fronts.quiet();
        let id = CommandId(u64::MAX);
        let last = ClientId(99);
        self.feed(Input::ClientOpened(last))?;
        self.fronts.open(last);
        self.fronts.asked(last, id);
        let command = Command {
            id,
            expect: None,
            op: Op::Shutdown,
        };
        self.feed(Input::Client(last, ToEngine::Command(command)))?;
        let until = self.world.now + SHUTDOWN;
        while self.world.now < until {
            if !self.step(until)? {
                break;
            }
        }
        if self.fronts.waits_for(last, id) {
            return Err("the shutdown was not answered".to_owned());
        }
        if let Some((root, tree)) = self.tree.trees.iter().find(|(_, t)| t.state.is_live()) {
            return Err(format!("after the shutdown {root} is {:?}", tree.state));
        }
        if let Some(open) = self.fronts.unanswered() {
            return Err(format!("{open} was never answered"));
        }
        Ok(())
    }

    /// Goes on to what happens next, if it does before `until`.
    fn step(&mut self, until: u64) -> Result<bool, String> {
        let world = self.world.next();
        let front = self.fronts.next();
        let due = [world, front, self.wake];
        let Some(at) = due.into_iter().flatten().min().filter(|at| *at < until) else {
            return Ok(false);
        };
        self.world.now = self.world.now.max(at);
        if self.wake == Some(at) {
            self.wake = None;
            self.feed(Input::Wake)?;
        } else if world == Some(at) {
            if let Some(input) = self.world.happen() {
                self.feed(input)?;
            }
        } else if let Some(input) = self.fronts.act(self.world.now, &mut self.tree) {
            self.feed(input)?;
        }
        self.world.check_parked(PARKED)?;
        Ok(true)
    }

    fn note(&mut self, line: impl FnOnce() -> String) {
        if self.told {
            self.log.push_back(line());
            if self.log.len() > 4_000 {
                self.log.pop_front();
            }
        }
    }

    /// Gives the core an input and carries out what follows at once.
    fn feed(&mut self, input: Input) -> Result<(), String> {
        let mut queue = VecDeque::from([input]);
        while let Some(input) = queue.pop_front() {
            self.inputs += 1;
            let now = self.world.now;
            self.note(|| format!("{now} <- {input:?}"));
            self.fronts.heard(&input);
            self.world.heard(&input);
            for effect in self.tree.handle(Millis(now), input) {
                self.note(|| format!("{now}    -> {effect:?}"));
                self.carry_out(effect, &mut queue)?;
            }
            invariants::check(&self.tree)?;
        }
        self.world.check_answered()?;
        self.check()
    }

    fn carry_out(&mut self, effect: Effect, queue: &mut VecDeque<Input>) -> Result<(), String> {
        match effect {
            Effect::Describe(pid) => {
                let seen = self.world.with_ancestors(pid);
                queue.push_front(Input::Described(pid, seen));
            }
            Effect::OpenStreams(row, _) => {
                queue.push_front(Input::StreamsOpened(row, Vec::new()));
            }
            Effect::Spawn(run, ..) => queue.push_back(self.world.spawn_root(run)),
            Effect::Send(connection, Message::Request(request)) => {
                self.world.requested(connection, request)?;
            }
            Effect::Send(connection, Message::Response(response)) => {
                self.world.answered(connection, &response)?;
            }
            Effect::Send(_, Message::Event(_)) => return Err("the core sent an event".to_owned()),
            Effect::Connect {
                connection, port, ..
            } => self.world.connect(connection, port),
            Effect::Close(connection) => self.world.closed_by_core(connection)?,
            Effect::Start(run, _) => self.world.start(run),
            Effect::StopAdapter(run) => self.world.stop_adapter(run),
            Effect::Watch(_, process) => self.world.watch(process),
            Effect::EndProcesses {
                operation,
                processes,
                whole,
            } => self.world.end_processes(operation, &processes, whole),
            Effect::Survey(run, _) => self.world.survey(run),
            Effect::Reply(client, reply) => self.fronts.replied(client, reply.id)?,
            Effect::WakeAt(at) => self.wake = Some(at.0),
            Effect::Observe(..) | Effect::Locate(..) | Effect::Examine(..) | Effect::Scan(..) => {
                return Err("nothing is attached to here".to_owned());
            }
            Effect::Forget(_)
            | Effect::LetLive(..)
            | Effect::StreamsTaken(_)
            | Effect::Said(..)
            | Effect::Event(_)
            | Effect::Keep(_) => {}
        }
        Ok(())
    }

    fn check(&mut self) -> Result<(), String> {
        for (id, data) in &self.tree.rows {
            let known = self.stops.entry(*id).or_default();
            if data.view.stop.0 < *known {
                return Err(format!("{id} goes back from stop {known}"));
            }
            *known = data.view.stop.0;
        }
        for (root, tree) in &self.tree.trees {
            if matches!(tree.state, TreeState::Ended | TreeState::Failed(_)) {
                self.world.check_over(*root, tree.run)?;
            }
        }
        Ok(())
    }
}
