//! Random trees against a simulated world: processes that spawn, fork, exec, stop and end, an
//! adapter that is slow, refuses, loses answers or dies, front ends that say anything at any time.
//! One seed is one run. It must not know the core's rules beyond what must always hold.
//!
//! `DAPTREE_SIM_RUNS` sets how many runs are made, `DAPTREE_SIM_SEED` the first seed; a failure
//! names the seed that replays it alone. `cargo simulate` builds it so that many runs take little
//! time, and shows how far it has come.

mod books;
mod front;
mod random;
mod world;

use crate::dap::message::Message;
use crate::record::Entry;
use crate::tree::{Effect, Input, Millis, Tree, invariants};
use books::Books;
use daptree_model::{ClientId, Command, CommandId, Op, Snapshot, ToEngine, TreeState};
use front::Fronts;
use random::Random;
use std::collections::VecDeque;
use std::fmt;
use std::time::Instant;
use world::World;

/// Runs of the test unless the environment says otherwise: `.ci/run` makes 20,000.
const RUNS: u64 = 500;
/// One run in so many has a large tree.
const LARGE: u64 = 40;
/// How often it is said how far the runs have come.
const TELL: u64 = 10_000;
/// How long everything may take to end after a shutdown, in ms.
const SHUTDOWN: u64 = 40_000;

#[test]
fn whatever_happens_the_tree_keeps_its_word() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first: Option<u64> = number("DAPTREE_SIM_SEED");
    let runs = number("DAPTREE_SIM_RUNS").unwrap_or(if first.is_some() { 1 } else { RUNS });
    let first = first.unwrap_or(1);
    let began = Instant::now();
    let mut total = Done::default();
    for seed in first..first + runs {
        let done = std::panic::catch_unwind(|| run(seed, runs == 1))
            .unwrap_or_else(|_| Err("the core panicked".to_owned()));
        match done {
            Ok(done) => total.add(&done),
            Err(broken) => panic!("{broken}\nreplay it with DAPTREE_SIM_SEED={seed}"),
        }
        let made = seed + 1 - first;
        if made.is_multiple_of(TELL) || made == runs {
            let a_minute = made as f64 * 60.0 / began.elapsed().as_secs_f64();
            println!("{made} runs from seed {first}, {a_minute:.0} a minute: {total}");
        }
    }
    assert!(
        runs < 100 || (total.inputs > runs * 50 && total.rows > runs * 2),
        "the simulation does too little"
    );
    assert!(
        runs < 1_000 || (total.sessions >= 64 && total.levels >= 4 && total.large > 0),
        "the trees are too small"
    );
}

fn line(now: u64, input: &Input) -> String {
    serde_json::to_string(&(now, Entry::Input(input.clone()))).unwrap()
}

/// Time and ids are inputs and counters: the same inputs give the same snapshots.
#[test]
fn what_is_recorded_of_a_run_replays_to_equal_snapshots() {
    for seed in 1..=40 {
        let (mut simulation, length) = Simulation::new(seed, false);
        simulation.journal = Some(Vec::new());
        simulation.live(length).unwrap();
        let mut tree = Tree::new();
        for (at, (line, then)) in (0..).zip(simulation.journal.unwrap()) {
            let (now, entry): (u64, Entry) = serde_json::from_str(&line).unwrap();
            let Entry::Input(input) = entry else {
                panic!("{line}")
            };
            tree.handle(Millis(now), input);
            if let Some(then) = then {
                // How often somebody looked is not in it.
                let revision = then.revision;
                let now = tree.at_present();
                assert_eq!(
                    Snapshot { revision, ..now },
                    then,
                    "seed {seed}, input {at}"
                );
            }
        }
    }
}

/// What runs came to.
#[derive(Debug, Default)]
struct Done {
    inputs: u64,
    rows: u64,
    /// Live sessions of the largest tree.
    sessions: usize,
    /// Levels of the deepest tree.
    levels: usize,
    /// Runs with a tree of 64 live sessions or more.
    large: u64,
}

impl Done {
    fn add(&mut self, other: &Self) {
        self.inputs += other.inputs;
        self.rows += other.rows;
        self.sessions = self.sessions.max(other.sessions);
        self.levels = self.levels.max(other.levels);
        self.large += other.large;
    }
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            inputs,
            rows,
            sessions,
            levels,
            large,
        } = self;
        write!(
            f,
            "{inputs} inputs, {rows} rows; trees of up to {sessions} live sessions and {levels} \
             levels, {large} runs with 64 sessions or more"
        )
    }
}

/// One engine in its world.
struct Simulation {
    tree: Tree,
    world: World,
    fronts: Fronts,
    books: Books,
    wake: Option<u64>,
    inputs: u64,
    log: VecDeque<String>,
    told: bool,
    /// Every input as a journal keeps it, where that is wanted, with the state after some.
    journal: Option<Vec<(String, Option<Snapshot>)>>,
}

fn run(seed: u64, told: bool) -> Result<Done, String> {
    let (mut simulation, length) = Simulation::new(seed, told);
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
        sessions: simulation.books.sessions,
        levels: simulation.books.levels,
        large: u64::from(simulation.books.sessions >= 64),
    })
}

impl Simulation {
    /// The world of a seed, and how long it lasts, in ms.
    fn new(seed: u64, told: bool) -> (Self, u64) {
        let mut random = Random::new(seed);
        let large = seed.is_multiple_of(LARGE);
        let length = random.between(200, if large { 6_000 } else { 12_000 });
        let simulation = Self {
            tree: Tree::new(),
            world: World::new(random.fork(), large),
            fronts: Fronts::new(random.fork(), large),
            books: Books::default(),
            wake: None,
            inputs: 0,
            log: VecDeque::new(),
            told,
            journal: None,
        };
        (simulation, length)
    }

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
        self.fronts.asked(last, id, None);
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
        self.world.check_parked()?;
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
            self.books.heard(&self.tree, &input);
            let kept = self.journal.is_some().then(|| line(now, &input));
            for effect in self.tree.handle(Millis(now), input) {
                self.note(|| format!("{now}    -> {effect:?}"));
                self.carry_out(effect, &mut queue)?;
            }
            if let (Some(journal), Some(kept)) = (&mut self.journal, kept) {
                let now_and_then = journal.len() % 64 == 0;
                journal.push((kept, now_and_then.then(|| self.tree.at_present())));
            }
            invariants::check(&self.tree)?;
            self.books.check(&self.tree)?;
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
                self.books.sends(connection, &request);
                self.world.requested(connection, request)?;
            }
            Effect::Send(connection, Message::Response(response)) => {
                self.world.answered(connection, &response)?;
            }
            Effect::Send(_, Message::Event(_)) => return Err("the core sent an event".to_owned()),
            Effect::Connect {
                connection, port, ..
            } => {
                self.books.connects(&self.tree, connection);
                self.world.connect(connection, port)?;
            }
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
            Effect::Reply(client, reply) => {
                let asked = self.fronts.replied(client, reply.id)?;
                self.books.answers(asked, &reply)?;
            }
            Effect::Event(event) => self.books.says(&event)?,
            Effect::WakeAt(at) => self.wake = Some(at.0),
            Effect::Observe(..) | Effect::Locate(..) | Effect::Examine(..) | Effect::Scan(..) => {
                return Err("nothing is attached to here".to_owned());
            }
            Effect::Forget(_)
            | Effect::LetLive(..)
            | Effect::StreamsTaken(_)
            | Effect::Said(..)
            | Effect::Keep(_) => {}
        }
        Ok(())
    }

    fn check(&mut self) -> Result<(), String> {
        for (root, tree) in &self.tree.trees {
            match tree.state {
                TreeState::Ended | TreeState::Failed(_) => {
                    self.world.check_over(*root, tree.run)?;
                }
                TreeState::Ending => self.world.check_ending(*root, tree.run)?,
                _ => {}
            }
        }
        Ok(())
    }
}
