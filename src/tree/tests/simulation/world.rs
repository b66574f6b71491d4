//! The simulated world: processes that start, fork, exec, stop and end by chance, in simulated
//! time. What adapters do is in `adapter`. It must not know what the core makes of it.

mod adapter;

use super::super::harness::prepared;
use super::random::Random;
use crate::tree::{ConnectionId, Input, Run, Seen};
use adapter::{Adapter, Conn};
use daptree_model::{EndStatus, ProcessKey, RowId};
use std::collections::{BTreeMap, BTreeSet};

const TRACKER: &str = "from multiprocessing.resource_tracker import main;main(5)";
const FORKSERVER: &str = "from multiprocessing.forkserver import main; main(3, 4)";

/// How likely things go wrong in a run, out of a thousand, and how many processes it has.
#[derive(Clone, Copy, Debug, Default)]
struct Faults {
    lost: u64,
    refused: u64,
    late: u64,
    broken: u64,
    adapter_dies: u64,
    unkillable: u64,
    /// Messages that arrive twice.
    twice: u64,
    /// Answers with a body of another kind, or to another request.
    wrong: u64,
    /// Values that are given late, when the program may have gone on and stopped again.
    tardy: u64,
    /// Processes at a time, at most.
    crowd: u64,
    /// Many children, soon.
    large: bool,
}

/// What happens at some time.
#[derive(Debug)]
enum Happening {
    /// The core hears something.
    Input(Input),
    /// An adapter hears a request of the core.
    Request(ConnectionId, crate::dap::message::Request),
    /// A process does something.
    Act(ProcessKey),
    /// A process is up and is reported, or joins as the root.
    Joins(ProcessKey),
    /// A process ends.
    Ends(ProcessKey, EndStatus),
    /// Processes are ended by the shell.
    Kill(u64, Vec<ProcessKey>, Option<Run>),
    Survey(Run),
    AdapterDies(Run),
}

/// What a process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Starting,
    Parked,
    Running,
    Stopped,
}

#[derive(Debug)]
struct Process {
    seen: Seen,
    run: Run,
    state: State,
    /// Since when the core knows that it is parked.
    told_at: Option<u64>,
    /// The adapter's connection that holds it.
    session: Option<ConnectionId>,
    /// `session` is that of the program before an exec.
    replaced: bool,
    /// It runs under the debugger.
    follows: bool,
    watched: bool,
    unkillable: bool,
    /// The core asked for its end.
    doomed: bool,
    /// It is to stop where it runs next: in a while, or at its first line.
    to_pause: bool,
    /// Which of the world's stops it is, or was last, at.
    stop: u64,
}

pub struct World {
    pub now: u64,
    random: Random,
    faults: Faults,
    /// Boxed, since they are large and moved about within the map.
    schedule: BTreeMap<(u64, u64), Box<Happening>>,
    counter: u64,
    processes: BTreeMap<u32, Process>,
    next_pid: u32,
    adapters: BTreeMap<u16, Adapter>,
    connections: BTreeMap<ConnectionId, Conn>,
    /// Connections on which the core may not speak any more.
    silent: BTreeSet<ConnectionId>,
    /// Reports that the core has heard and not answered: connection, number → pid.
    asked: BTreeMap<(ConnectionId, i64), u32>,
    /// Processes that the core was told of as parked, and maybe others.
    told: BTreeSet<u32>,
    /// Runs of which every process is to end.
    ending: BTreeSet<Run>,
    seq: i64,
    stops: u64,
}

impl World {
    pub fn new(mut random: Random, large: bool) -> Self {
        let mut often = |chances: &[u64]| *random.pick(chances).unwrap();
        let faults = Faults {
            lost: often(&[0, 0, 10, 60]),
            refused: often(&[0, 0, 10, 100]),
            late: often(&[0, 5, 30]),
            broken: often(&[0, 0, 3, 10]),
            adapter_dies: often(&[0, 0, 0, 300]),
            unkillable: often(&[0, 0, 0, 50]),
            twice: often(&[0, 0, 5, 30]),
            wrong: often(&[0, 0, 5, 30]),
            tardy: often(&[0, 0, 20, 150]),
            crowd: if large { 90 } else { often(&[8, 20, 20]) },
            large,
        };
        Self {
            now: 0,
            random,
            faults,
            schedule: BTreeMap::new(),
            counter: 0,
            processes: BTreeMap::new(),
            next_pid: 100,
            adapters: BTreeMap::new(),
            connections: BTreeMap::new(),
            silent: BTreeSet::new(),
            asked: BTreeMap::new(),
            told: BTreeSet::new(),
            ending: BTreeSet::new(),
            seq: 0,
            stops: 0,
        }
    }

    /// When something happens next.
    pub fn next(&self) -> Option<u64> {
        self.schedule.first_key_value().map(|((at, _), _)| *at)
    }

    /// The next thing happens; the core may hear of it.
    pub fn happen(&mut self) -> Option<Input> {
        let ((at, _), happening) = self.schedule.pop_first()?;
        self.now = self.now.max(at);
        match *happening {
            Happening::Input(input) => return Some(input),
            Happening::Request(connection, request) => self.adapter_hears(connection, &request),
            Happening::Act(key) => self.act(key),
            Happening::Joins(key) => self.joins(key),
            Happening::Ends(key, status) => self.ends(key, status),
            Happening::Kill(operation, processes, whole) => {
                return Some(self.kill(operation, &processes, whole));
            }
            Happening::Survey(run) => {
                let of = self.processes.values().filter(|p| p.run == run);
                let alive = of.map(|p| p.seen.clone()).collect();
                return Some(Input::Surveyed(run, alive));
            }
            Happening::AdapterDies(run) => {
                self.adapter_dies(run);
                return Some(Input::AdapterGone(run, "the adapter died".to_owned()));
            }
        }
        None
    }

    fn at(&mut self, at: u64, happening: Happening) {
        self.counter += 1;
        self.schedule
            .insert((at, self.counter), Box::new(happening));
    }

    /// In a while: mostly at once, sometimes late.
    fn soon(&mut self, happening: Happening) -> u64 {
        let at = self.now + self.delay();
        self.at(at, happening);
        at
    }

    fn delay(&mut self) -> u64 {
        if self.random.permille(self.faults.late) {
            self.random.between(500, 8_000)
        } else if self.random.permille(200) {
            self.random.between(5, 60)
        } else {
            self.random.between(0, 3)
        }
    }

    fn act_later(&mut self, key: ProcessKey) {
        let longest = if self.faults.large { 100 } else { 400 };
        let at = self.now + self.random.between(1, longest);
        self.at(at, Happening::Act(key));
    }

    // --- what the core wants done

    /// A run's adapter comes up, or does not.
    pub fn start(&mut self, run: Run) {
        let wait = self.random.between(1, 200);
        let port = 5_000 + self.adapters.len() as u16;
        let input = if self.random.permille(self.faults.refused / 2) {
            Input::StartFailed(run, "there is no debugpy".to_owned())
        } else {
            self.adapters.insert(port, Adapter::new(run));
            let mut prepared = prepared();
            prepared.port = port;
            Input::AdapterReady(run, prepared)
        };
        if self.random.permille(self.faults.adapter_dies) {
            let at = self.now + wait + self.random.between(0, 8_000);
            self.at(at, Happening::AdapterDies(run));
        }
        let progress = Input::Progress(run, "installing".to_owned());
        self.at(self.now + wait / 2, Happening::Input(progress));
        self.at(self.now + wait, Happening::Input(input));
    }

    pub fn stop_adapter(&mut self, run: Run) {
        self.soon(Happening::AdapterDies(run));
    }

    pub fn spawn_root(&mut self, run: Run) -> Input {
        if self.random.permille(self.faults.refused / 2) {
            return Input::StartFailed(run, "main.py cannot be started".to_owned());
        }
        let key = self.process(1, run, &["python", "main.py"], true);
        let wait = self.random.between(5, 100);
        self.at(self.now + wait, Happening::Joins(key));
        Input::Spawned(run, key)
    }

    pub fn watch(&mut self, key: ProcessKey) {
        match self.process_of(key) {
            Some(process) => process.watched = true,
            None => {
                self.soon(Happening::Input(Input::Gone(key, EndStatus::Unknown)));
            }
        }
    }

    pub fn survey(&mut self, run: Run) {
        self.soon(Happening::Survey(run));
    }

    pub fn end_processes(&mut self, operation: u64, processes: &[ProcessKey], whole: Option<Run>) {
        for key in processes {
            if let Some(process) = self.process_of(*key) {
                process.doomed = true;
            }
        }
        for process in self.processes.values_mut() {
            process.doomed |= whole == Some(process.run);
        }
        self.ending.extend(whole);
        self.soon(Happening::Kill(operation, processes.to_vec(), whole));
    }

    pub fn with_ancestors(&self, pid: u32) -> Vec<Seen> {
        let mut out = Vec::new();
        let mut at = pid;
        while let Some(process) = self.processes.get(&at) {
            out.push(process.seen.clone());
            at = process.seen.parent;
        }
        out
    }

    // --- what is checked

    /// Nobody stays parked.
    pub fn check_parked(&self) -> Result<(), String> {
        // Five seconds for the adoption and three for the release; a slow adapter adds its own.
        let limit = if self.faults.late == 0 { 9_000 } else { 20_000 };
        // Whoever the core was not told of does not wait for it.
        let told = self.told.iter().filter_map(|pid| self.processes.get(pid));
        for process in told {
            let since = process.told_at.filter(|_| process.is_stuck());
            if since.is_some_and(|since| since + limit < self.now) {
                let key = process.seen.process;
                return Err(format!("{key} is parked since {since:?}"));
            }
        }
        Ok(())
    }

    /// No process of a run that is over is parked.
    pub fn check_over(&self, root: RowId, number: u32) -> Result<(), String> {
        let run = Run { root, number };
        let of = self.processes.values().filter(|p| p.run == run);
        let stuck = of.filter(|p| p.is_stuck() && p.told_at.is_some());
        match stuck.map(|p| p.seen.process).next() {
            Some(key) => Err(format!("{root} is over and {key} is parked")),
            None => Ok(()),
        }
    }

    /// Once the processes of a run were told to end, none that is parked was forgotten.
    pub fn check_ending(&self, root: RowId, number: u32) -> Result<(), String> {
        if self.ending.contains(&Run { root, number }) {
            self.check_over(root, number)
        } else {
            Ok(())
        }
    }

    // --- processes

    fn process_of(&mut self, key: ProcessKey) -> Option<&mut Process> {
        let process = self.processes.get_mut(&key.pid)?;
        (process.seen.process == key).then_some(process)
    }

    fn process(&mut self, parent: u32, run: Run, command: &[&str], follows: bool) -> ProcessKey {
        // Pids are used again, as the kernel does.
        let again = self.random.between(100, 160) as u32;
        let pid = if self.random.permille(300) && !self.processes.contains_key(&again) {
            again
        } else {
            self.next_pid += 1;
            self.next_pid + 100
        };
        self.counter += 1;
        let mut seen = super::super::harness::seen(pid, parent, command);
        seen.process.start = self.counter;
        let key = seen.process;
        let process = Process {
            seen,
            run,
            state: State::Starting,
            told_at: None,
            session: None,
            replaced: false,
            follows,
            watched: false,
            unkillable: self.random.permille(self.faults.unkillable),
            doomed: false,
            to_pause: false,
            stop: 0,
        };
        self.processes.insert(pid, process);
        key
    }

    /// A running process does something.
    fn act(&mut self, key: ProcessKey) {
        let Some(process) = self.process_of(key).filter(|p| p.state == State::Running) else {
            return;
        };
        let (pid, run, follows, session) = (key.pid, process.run, process.follows, process.session);
        if session.is_some() && std::mem::take(&mut process.to_pause) {
            self.stops(key, "pause");
            return;
        }
        let command = process.seen.command.clone();
        let crowded = self.processes.len() as u64 >= self.faults.crowd;
        let spawns = if self.faults.large { 11 } else { 6 };
        match self.random.between(0, 19) {
            what if what <= spawns && !crowded => self.child(pid, run, follows, &command),
            7..=12 if session.is_some() => self.stops(key, "breakpoint"),
            13 if follows => self.replaces(key),
            14 | 15 if !self.faults.large || self.random.permille(100) => {
                let code = self.random.between(0, 2) as i32;
                self.ends(key, EndStatus::Exited(code));
                return;
            }
            16 if self.random.permille(300) => {
                self.ends(key, EndStatus::Signaled(9));
                return;
            }
            _ => {}
        }
        self.act_later(key);
    }

    fn child(&mut self, parent: u32, run: Run, follows: bool, command: &[String]) {
        let name = format!("child-{}.py", self.next_pid);
        let pydevd = ["python", "/v/pydevd.py", "--file", name.as_str()];
        let same: Vec<&str> = command.iter().map(String::as_str).collect();
        let (command, follows): (&[&str], bool) = match self.random.between(0, 9) {
            0 => (&["/bin/bash", "step.sh"], false),
            1 => (&["python", "-c", TRACKER], follows),
            2 => (&["python", "-c", FORKSERVER], follows),
            3 | 4 => (&same, follows),
            // Behind a shell the bootstrap brings it in.
            _ => (&pydevd, true),
        };
        let key = self.process(parent, run, command, follows);
        let at = self.now + self.random.between(1, 60);
        if follows {
            self.at(at, Happening::Joins(key));
        } else if let Some(process) = self.process_of(key) {
            process.state = State::Running;
            self.at(at, Happening::Act(key));
        }
    }

    /// `exec`: into Python, which is reported again, or into something else.
    fn replaces(&mut self, key: ProcessKey) {
        let python = self.random.permille(700);
        let session = self.process_of(key).and_then(|p| p.session);
        let Some(process) = self.process_of(key) else {
            return;
        };
        if python {
            process.seen.command = ["python", "/v/pydevd.py", "--file", "next.py"]
                .map(str::to_owned)
                .to_vec();
            process.state = State::Starting;
            process.replaced = session.is_some();
            self.soon(Happening::Joins(key));
            return;
        }
        process.seen.command = ["/bin/bash", "next.sh"].map(str::to_owned).to_vec();
        process.follows = false;
        if let Some(session) = session {
            process.session = None;
            self.say_later(session, "terminated", serde_json::json!({}));
        }
    }

    /// A process ends; its adapter and the kernel tell, each in its time.
    fn ends(&mut self, key: ProcessKey, status: EndStatus) {
        if self.process_of(key).is_none() {
            return;
        }
        let Some(process) = self.processes.remove(&key.pid) else {
            return;
        };
        for other in self.processes.values_mut() {
            if other.seen.parent == key.pid {
                other.seen.parent = 1;
            }
        }
        if let Some(session) = process.session {
            if self.random.permille(850) {
                self.say_later(session, "terminated", serde_json::json!({}));
            }
            if self.random.permille(500) {
                self.break_connection(session);
            }
        }
        if process.watched {
            self.soon(Happening::Input(Input::Gone(key, status)));
        }
    }

    fn kill(&mut self, operation: u64, processes: &[ProcessKey], whole: Option<Run>) -> Input {
        let mut keys: BTreeSet<ProcessKey> = processes.iter().copied().collect();
        loop {
            let before = keys.len();
            let pids: BTreeSet<u32> = keys.iter().map(|key| key.pid).collect();
            let more = self.processes.values().filter(|process| {
                whole == Some(process.run) || pids.contains(&process.seen.parent)
            });
            keys.extend(more.map(|process| process.seen.process));
            if keys.len() == before {
                break;
            }
        }
        let mut left = Vec::new();
        for key in keys {
            match self.process_of(key) {
                Some(process) if process.unkillable => {
                    process.doomed = true;
                    left.push(key);
                }
                Some(_) => self.ends(key, EndStatus::Signaled(15)),
                None => {}
            }
        }
        Input::ProcessesEnded(operation, left)
    }
}

impl Process {
    /// Parked, and nobody has asked for its end.
    fn is_stuck(&self) -> bool {
        self.state == State::Parked && !self.doomed && !self.unkillable
    }
}
