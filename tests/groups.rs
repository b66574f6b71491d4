//! Groups and worlds with real processes: who is held when one stops, how soon, and that nobody is
//! left behind. The engine is driven as a front end drives it.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "this is test code: what goes wrong in it fails the test at once"
)]

use daptree::engine::{Engine, EngineConfig};
use daptree::settings::Folders;
use daptree_model::{
    Answer, BreakpointSpec, Command, CommandId, EndStatus, EngineError, Event, FromEngine,
    LaunchRequest, Op, Read, ReadOp, Row, RowId, RowState, Snapshot, Stdio, Stop, StopNumber,
    ToEngine,
};
use daptree_testing::{PATIENCE, Scene, process};
use rustix::process::Signal;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender};
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::timeout;

/// Engines of one process would take each other's trees for their own.
static ALONE: Mutex<()> = Mutex::const_new(());

/// A front end at an engine.
struct Front {
    _alone: MutexGuard<'static, ()>,
    engine: Engine,
    to_engine: Sender<ToEngine>,
    from_engine: Receiver<FromEngine>,
    last_id: u64,
    rows: BTreeMap<RowId, Arc<Row>>,
    snapshot: Arc<Snapshot>,
}

impl Front {
    async fn start(scene: &Scene) -> Self {
        let alone = ALONE.lock().await;
        let folder = |name: &str| scene.state().with_file_name(name);
        let config = EngineConfig {
            folders: Folders {
                data: folder("data"),
                state: folder("state"),
                runtime: folder("runtime"),
            },
            settings_python: None,
            keeper: Some(scene.binary.clone()),
            sole: false,
            record: None,
            idle: None,
            workspace: None,
            maps: Vec::new(),
            raw_output: None,
        };
        let engine = Engine::start(config).unwrap();
        let (to_engine, from_engine) = engine.connect();
        Self {
            _alone: alone,
            engine,
            to_engine,
            from_engine,
            last_id: 0,
            rows: BTreeMap::new(),
            snapshot: Arc::default(),
        }
    }

    async fn launch(
        &mut self,
        scene: &Scene,
        words: &[&str],
        breakpoints: &[(&str, &str)],
        stop_the_world: bool,
    ) {
        let at = |(file, text): &(&str, &str)| {
            let path = scene.file(file).to_string_lossy().into_owned();
            BreakpointSpec::line(path, u32::try_from(scene.line(file, text)).unwrap())
        };
        let request = LaunchRequest {
            words: words.iter().map(Into::into).collect(),
            cwd: scene.work(),
            env: scene.env.clone(),
            python: None,
            stdio: Stdio::Pipes,
            just_my_code: true,
            exceptions: Some(Vec::new()),
            stop_on_entry: false,
            stop_the_world,
            max_children: 0,
            breakpoints: breakpoints.iter().map(at).collect(),
        };
        self.tell(Op::Launch(Box::new(request))).await;
    }

    async fn send(&mut self, message: ToEngine) {
        self.to_engine.send(message).await.unwrap();
    }

    async fn tell(&mut self, op: Op) -> CommandId {
        self.last_id += 1;
        let id = CommandId(self.last_id);
        let command = Command {
            id,
            expect: None,
            op,
        };
        self.send(ToEngine::Command(command)).await;
        id
    }

    async fn heard(&mut self) -> FromEngine {
        let heard = timeout(PATIENCE, self.from_engine.recv()).await;
        let heard = heard.unwrap_or_else(|_| panic!("silence: {:#?}", self.looks()));
        let heard = heard.expect("an engine");
        match &heard {
            FromEngine::Event {
                event: Event::Row(row),
                ..
            } => {
                self.rows.insert(row.id, Arc::clone(row));
            }
            FromEngine::Snapshot(snapshot) => self.snapshot = Arc::clone(snapshot),
            _ => {}
        }
        heard
    }

    /// The rows, for a test that failed.
    fn looks(&self) -> Vec<String> {
        let rows = self.snapshot.rows.values();
        rows.map(|row| {
            let Row {
                id,
                name,
                state,
                held,
                pausing,
                stop,
                stopped,
                ..
            } = &**row;
            let at = stopped.as_ref().map(|at| (&at.reason, &at.place));
            format!("{id} {name} {state:?} held {held} pausing {pausing} stop {stop} {at:?}")
        })
        .collect()
    }

    async fn event(&mut self) -> Event {
        loop {
            if let FromEngine::Event { event, .. } = self.heard().await {
                return event;
            }
        }
    }

    async fn answer(&mut self, id: CommandId) -> Result<Answer, EngineError> {
        loop {
            match self.heard().await {
                FromEngine::Reply(reply) if reply.id == id => return reply.result,
                _ => {}
            }
        }
    }

    async fn done(&mut self, op: Op) -> Answer {
        let id = self.tell(op).await;
        self.answer(id).await.unwrap()
    }

    async fn forget_breakpoints(&mut self) {
        for breakpoint in self.snapshot.breakpoints.clone() {
            self.done(Op::RemoveBreakpoint(breakpoint.id)).await;
        }
    }

    /// Waits for a snapshot that is as wanted.
    async fn until(&mut self, what: &str, wanted: impl Fn(&Snapshot) -> bool) {
        let began = tokio::time::Instant::now();
        while !wanted(&self.snapshot) {
            assert!(
                began.elapsed() < PATIENCE,
                "never so: {what}: {:#?}",
                self.looks()
            );
            self.heard().await;
        }
    }

    /// The next stop of anybody.
    async fn stop(&mut self) -> (RowId, StopNumber, Box<Stop>) {
        loop {
            match self.event().await {
                Event::Stopped { row, stop, at } => return (row, stop, at),
                Event::TreeEnded { .. } => panic!("the tree ended"),
                Event::LaunchFailed { message, .. } => panic!("{message}"),
                _ => {}
            }
        }
    }

    /// The row with a name, once there is one.
    async fn row(&mut self, name: &str) -> RowId {
        loop {
            let known = self.snapshot.rows.values().find(|row| row.name == name);
            if let Some(row) = known {
                return row.id;
            }
            self.heard().await;
        }
    }

    fn now(&self, row: RowId) -> &Row {
        &self.snapshot.rows[&row]
    }

    /// The value of an expression in the top frame of a stop.
    async fn value(&mut self, row: RowId, expression: &str) -> String {
        self.last_id += 1;
        let id = CommandId(self.last_id);
        let what = ReadOp::Evaluate {
            row,
            stop: Some(self.now(row).stop),
            frame: None,
            expression: expression.to_owned(),
            context: "watch".to_owned(),
        };
        self.send(ToEngine::Read(Read { id, what })).await;
        match self.answer(id).await {
            Ok(Answer::Evaluation(evaluation)) => evaluation.value.unwrap(),
            other => panic!("{expression}: {other:?}"),
        }
    }

    /// Waits for the end of the tree; gives how its root ended.
    async fn end(&mut self) -> EndStatus {
        loop {
            if let Event::TreeEnded { status, .. } = self.event().await {
                return status;
            }
        }
    }

    async fn leave(mut self) {
        let id = self.tell(Op::Shutdown).await;
        self.answer(id).await.unwrap();
        self.engine.stop().await;
    }
}

fn scene(programs: &[&str]) -> Scene {
    Scene::new(env!("CARGO_BIN_EXE_daptree"), programs)
}

const WORLD: (&str, &str) = ("world.py", "# stop here");

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_world_stands_while_one_stands_and_goes_on_as_one() {
    let scene = scene(&["world.py"]);
    let mut front = Front::start(&scene).await;
    let words = ["python", "world.py", "200", "2"];
    front.launch(&scene, &words, &[WORLD], true).await;
    let mut latencies = Vec::new();
    let mut slept = false;
    for round in 1..=6 {
        let (flight, own) = loop {
            let (row, _, at) = front.stop().await;
            if at.reason == "breakpoint" {
                break (row, at.since_ms);
            }
        };
        let world = front.row("world").await;
        let stands = |row: &Row| row.is_paused() && row.held;
        front
            .until("world is held", |now| {
                now.rows.get(&world).is_some_and(|row| stands(row))
                    && now.rows.get(&flight).is_some_and(|row| row.is_paused())
            })
            .await;
        assert!(!front.now(flight).held, "it stands by itself");
        let held = front.now(world).stopped.as_ref().unwrap().since_ms;
        latencies.push(held.saturating_sub(own));
        // Who sleeps in C stops when it comes back.
        slept |= front
            .snapshot
            .rows
            .values()
            .any(|row| row.id != flight && row.id != world && row.pausing);
        // It stands still, whatever the other one does.
        let before = front.value(world, "value.value").await;
        for _ in 0..3 {
            front.done(Op::Next(flight, None)).await;
            // Who sat in C may come back meanwhile, and is held then.
            let (row, at) = loop {
                let (row, _, at) = front.stop().await;
                if at.reason != "pause" {
                    break (row, at);
                }
            };
            assert_eq!((row, at.reason.as_str()), (flight, "step"));
        }
        assert_eq!(front.value(world, "value.value").await, before);
        let stands = front.now(world).stop;
        assert_eq!(stands, StopNumber(round), "one stop of the world each");
        if round == 6 {
            front.forget_breakpoints().await;
        }
        assert_eq!(front.done(Op::Continue(flight)).await, Answer::Done);
    }
    assert_eq!(front.end().await, EndStatus::Exited(0));
    latencies.sort_unstable();
    println!("held after {latencies:?} ms");
    assert!(slept, "nobody was seen pausing in C");
    front.leave().await;
    scene.assert_nothing_left(Duration::from_secs(2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_setting_the_others_run_on() {
    let scene = scene(&["world.py"]);
    let mut front = Front::start(&scene).await;
    let words = ["python", "world.py", "300", "0"];
    front.launch(&scene, &words, &[WORLD], false).await;
    let (flight, ..) = front.stop().await;
    let world = front.row("world").await;
    front
        .until("world ended", |now| {
            now.rows.get(&world).is_some_and(|row| row.is_ended())
        })
        .await;
    assert_eq!(front.now(flight).state, RowState::Paused);
    front.forget_breakpoints().await;
    front.done(Op::Continue(flight)).await;
    assert_eq!(front.end().await, EndStatus::Exited(0));
    front.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_born_while_the_world_stands_is_held_before_its_first_line() {
    let scene = scene(&["births.py", "leaf.py"]);
    let mut front = Front::start(&scene).await;
    let stop = ("births.py", "# stop here");
    front
        .launch(&scene, &["python", "births.py"], &[stop], true)
        .await;
    let (root, ..) = loop {
        let found = front.stop().await;
        if found.2.reason == "breakpoint" {
            break found;
        }
    };
    let counter = front.row("counter").await;
    front
        .until("the counter is held", |now| now.rows[&counter].held)
        .await;
    // A program of its own, over the step that starts it.
    front.done(Op::Next(root, None)).await;
    let leaf = front.row("leaf.py").await;
    front
        .until("leaf.py is held and the step is over", |now| {
            now.rows[&leaf].held && now.rows[&root].is_paused()
        })
        .await;
    let place = front.now(leaf).stopped.as_ref().unwrap().place.clone();
    let place = place.unwrap();
    assert!(place.path.ends_with("/leaf.py"), "{place:?}");
    assert!(place.line <= 3, "{place:?}: some of it ran already");
    // A worker that is forked.
    front.done(Op::Next(root, None)).await;
    front
        .until("the worker is held", |now| {
            let held = now.rows.values().filter(|row| row.held);
            held.count() == 3 && now.rows[&root].is_paused()
        })
        .await;
    assert!(
        front
            .snapshot
            .rows
            .values()
            .all(|row| !row.is_ended() && row.stop.0 <= 3)
    );
    front.done(Op::Continue(root)).await;
    assert_eq!(front.end().await, EndStatus::Exited(0));
    front.leave().await;
    scene.assert_nothing_left(Duration::from_secs(2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_left_paused_when_the_one_that_stands_is_killed() {
    let scene = scene(&["world.py"]);
    let mut front = Front::start(&scene).await;
    let words = ["python", "world.py", "300", "0"];
    front.launch(&scene, &words, &[WORLD], true).await;
    let (flight, ..) = loop {
        let found = front.stop().await;
        if found.2.reason == "breakpoint" {
            break found;
        }
    };
    let world = front.row("world").await;
    front
        .until("world is held", |now| {
            now.rows.get(&world).is_some_and(|row| row.held)
        })
        .await;
    let pid = front.now(flight).process.unwrap().pid;
    process::send(pid, Signal::KILL);
    assert_eq!(front.end().await, EndStatus::Exited(0));
    front
        .until("all ended", |now| {
            now.rows.values().all(|row| row.is_ended())
        })
        .await;
    let end = front.now(flight).end.clone().unwrap();
    assert_eq!(end.status, EndStatus::Signaled(9));
    assert!(end.cause.unwrap().contains("while stopped for"));
    assert_eq!(
        front.now(world).end.clone().unwrap().status,
        EndStatus::Exited(0)
    );
    front.leave().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_are_paused_and_all_go_on() {
    let scene = scene(&["world.py"]);
    let mut front = Front::start(&scene).await;
    let words = ["python", "world.py", "1000000", "1000"];
    front.launch(&scene, &words, &[], false).await;
    let rows = [
        front.row("flight").await,
        front.row("world").await,
        front.row("asleep").await,
    ];
    let root = front.now(rows[0]).root;
    let runs = |now: &Snapshot| {
        rows.iter()
            .all(|row| now.rows[row].state == RowState::Running)
    };
    front.until("all run", runs).await;
    assert_eq!(front.done(Op::PauseAll(root)).await, Answer::Told(4));
    let [flight, world, asleep] = rows;
    front
        .until("those that run Python stand", |now| {
            [flight, world].iter().all(|row| now.rows[row].held)
        })
        .await;
    let (asleep, waits) = (front.now(asleep), front.now(root));
    assert!(asleep.pausing && waits.pausing, "they are in C");
    front.done(Op::ContinueAll(root)).await;
    front
        .until("all run again", |now| {
            runs(now) && now.rows.values().all(|row| !row.pausing && !row.held)
        })
        .await;
    front.leave().await;
    scene.assert_nothing_left(Duration::from_secs(2));
}
