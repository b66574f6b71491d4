//! A front end for tests: an engine in this process, and what a person or a program would say to
//! it. It knows the engine's two channels and its snapshots, and must not know what is behind them.

use crate::{PATIENCE, Scene};
use daptree::engine::{Engine, EngineConfig};
use daptree::settings::Folders;
use daptree_model::{
    Answer, BreakpointSpec, Command, CommandId, EngineError, Event, FromEngine, LaunchRequest, Op,
    Read, ReadOp, Row, RowId, RowState, Snapshot, Stdio, StopNumber, ToEngine, WaitAnswer,
};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{Receiver, Sender};
use tokio::time::timeout;

/// An engine makes its process the parent of all orphans and reaps them: two of them in one
/// process would take each other's, so that each test waits for its turn.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// How long the engine may take to end everything when a test is over.
const LEAVING: Duration = Duration::from_secs(10);
/// How many lines of output a test reads at most.
const LINES: u32 = 10_000;

/// An engine with one front end. Dropping it shuts the engine down, and ends what it started.
#[derive(Debug)]
pub struct Front<'a> {
    scene: &'a Scene,
    runtime: Option<Runtime>,
    engine: Option<Engine>,
    to_engine: Option<Sender<ToEngine>>,
    from_engine: Receiver<FromEngine>,
    latest: Option<Arc<Snapshot>>,
    replies: BTreeMap<CommandId, Result<Answer, EngineError>>,
    events: Vec<Event>,
    looked_at: usize,
    last_id: Cell<u64>,
    /// Released last: the engine is gone by then.
    _turn: MutexGuard<'static, ()>,
}

impl<'a> Front<'a> {
    /// Starts an engine whose files lie in the scene, and connects to it.
    pub fn start(scene: &'a Scene) -> Self {
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let variable = |name: &str| {
            let known = scene.env.iter().find(|(known, _)| known == name);
            known.map(|(_, value)| value.clone())
        };
        let config = EngineConfig {
            folders: Folders::find(variable).expect("the scene has folders"),
            settings_python: None,
            keeper: Some(scene.binary.clone()),
            // The test may have children of its own.
            sole: false,
            workspace: None,
            maps: Vec::new(),
            idle: None,
            raw_output: None,
            record: None,
        };
        // As the binary does it.
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        let (engine, to_engine, from_engine) = runtime.block_on(async {
            let engine = Engine::start(config).expect("an engine");
            let (to_engine, from_engine) = engine.connect();
            (engine, to_engine, from_engine)
        });
        Self {
            scene,
            runtime: Some(runtime),
            engine: Some(engine),
            to_engine: Some(to_engine),
            from_engine,
            latest: None,
            replies: BTreeMap::new(),
            events: Vec::new(),
            looked_at: 0,
            last_id: Cell::new(0),
            _turn: turn,
        }
    }

    /// What [`Front::launch`] asks for: these words in the scene's folder, on pipes, with a
    /// breakpoint on the first line of each named file that holds the text beside it. A test
    /// changes what it wants otherwise.
    pub fn request(&self, words: &[&str], breakpoints: &[(&str, &str)]) -> LaunchRequest {
        let at = |(file, text): &(&str, &str)| self.breakpoint(file, text);
        LaunchRequest {
            words: words.iter().map(Into::into).collect(),
            cwd: self.scene.work(),
            env: self.scene.env.clone(),
            python: None,
            stdio: Stdio::Pipes,
            just_my_code: true,
            exceptions: Some(Vec::new()),
            stop_on_entry: false,
            stop_the_world: false,
            max_children: 0,
            breakpoints: breakpoints.iter().map(at).collect(),
        }
    }

    /// A breakpoint on the first line of a file of the scene that holds `text`.
    pub fn breakpoint(&self, file: &str, text: &str) -> BreakpointSpec {
        let (path, line) = self.scene.place(file, text);
        BreakpointSpec::line(path, u32::try_from(line).expect("a line number"))
    }

    /// Launches a program; see [`Front::request`]. Gives its root.
    pub fn launch(&mut self, words: &[&str], breakpoints: &[(&str, &str)]) -> RowId {
        let request = self.request(words, breakpoints);
        self.launch_as(request)
    }

    /// Launches a program. Gives its root.
    pub fn launch_as(&mut self, request: LaunchRequest) -> RowId {
        match self.command(Op::Launch(Box::new(request))) {
            Ok(Answer::Launched(root)) => root,
            other => self.fail(&format!("the launch was answered with {other:?}")),
        }
    }

    /// Sends a command and gives its answer.
    pub fn command(&mut self, op: Op) -> Result<Answer, EngineError> {
        let id = self.begin(op);
        self.answer(id)
    }

    /// Sends a command that was decided on a stop, and gives its answer.
    pub fn command_at(&mut self, stop: StopNumber, op: Op) -> Result<Answer, EngineError> {
        let id = self.begin_at(Some(stop), op);
        self.answer(id)
    }

    /// Sends a command; [`Front::answer`] waits for its answer.
    pub fn begin(&self, op: Op) -> CommandId {
        self.begin_at(None, op)
    }

    fn begin_at(&self, expect: Option<StopNumber>, op: Op) -> CommandId {
        let id = self.next_id();
        self.tell(ToEngine::Command(Command { id, expect, op }));
        id
    }

    /// Waits for the answer to a command. The next state that is looked at is one from after it.
    pub fn answer(&mut self, id: CommandId) -> Result<Answer, EngineError> {
        let result = self.reply(id);
        self.latest = None;
        result
    }

    fn reply(&mut self, id: CommandId) -> Result<Answer, EngineError> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(result) = self.replies.remove(&id) {
                return result;
            }
            self.hear("an answer", deadline);
        }
    }

    /// Whether a command has been answered, as far as has been heard.
    pub fn is_answered(&self, id: CommandId) -> bool {
        self.replies.contains_key(&id)
    }

    /// Reads something and gives the answer.
    pub fn read(&mut self, what: ReadOp) -> Result<Answer, EngineError> {
        let id = self.begin_read(what);
        // No state follows what changes nothing.
        self.reply(id)
    }

    /// Asks for a read; [`Front::answer`] waits for its answer.
    pub fn begin_read(&self, what: ReadOp) -> CommandId {
        let id = self.next_id();
        self.tell(ToEngine::Read(Read { id, what }));
        id
    }

    /// Tells the engine something that is not answered.
    pub fn tell(&self, message: ToEngine) {
        let runtime = self.runtime.as_ref().expect("it runs");
        let to_engine = self.to_engine.as_ref().expect("it is connected");
        runtime
            .block_on(to_engine.send(message))
            .expect("the engine is gone");
    }

    /// Asks for the next stop of a session or below it; [`Front::answer_wait`] has the answer.
    pub fn begin_wait(&self, row: RowId) -> CommandId {
        let timeout_ms = u64::try_from(PATIENCE.as_millis()).expect("a short time");
        self.begin(Op::WaitForStop { row, timeout_ms })
    }

    /// The answer to a wait.
    pub fn answer_wait(&mut self, id: CommandId) -> WaitAnswer {
        match self.answer(id) {
            Ok(Answer::Stopped(answer)) => answer,
            other => self.fail(&format!("a wait was answered with {other:?}")),
        }
    }

    /// Waits for the next stop of a session or below it, or for its end.
    pub fn wait(&mut self, row: RowId) -> WaitAnswer {
        let id = self.begin_wait(row);
        self.answer_wait(id)
    }

    /// Lets a session run on from the stop at which it stands.
    pub fn go_on(&mut self, row: RowId) {
        if let Err(error) = self.command(Op::Continue(row)) {
            self.fail(&format!("continue of {row}: {error}"));
        }
    }

    /// Waits for a state of which `condition` holds; `what` is what the test waits for.
    pub fn until(&mut self, what: &str, condition: impl Fn(&Snapshot) -> bool) -> Arc<Snapshot> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(snapshot) = self.latest.as_ref().filter(|latest| condition(latest)) {
                return Arc::clone(snapshot);
            }
            self.hear(what, deadline);
        }
    }

    /// Waits for an event of which `pick` gives something; earlier ones that were not picked
    /// are passed over.
    pub fn until_event<T>(&mut self, what: &str, pick: impl Fn(&Event) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            while let Some(event) = self.events.get(self.looked_at) {
                self.looked_at += 1;
                if let Some(found) = pick(event) {
                    return found;
                }
            }
            self.hear(what, deadline);
        }
    }

    /// Waits until so many sessions stand at a stop; gives them in the order of their ids.
    pub fn until_paused(&mut self, count: usize) -> Vec<RowId> {
        let paused = |snapshot: &Snapshot| -> Vec<RowId> {
            let rows = snapshot.rows.values();
            rows.filter(|row| row.is_paused())
                .map(|row| row.id)
                .collect()
        };
        let what = format!("{count} stopped sessions");
        let snapshot = self.until(&what, |snapshot| paused(snapshot).len() == count);
        paused(&snapshot)
    }

    /// Waits until a row is in a state, and gives it.
    pub fn until_state(&mut self, id: RowId, state: RowState) -> Arc<Row> {
        let what = format!("{id} {state:?}");
        let is = |row: &Arc<Row>| row.state == state;
        let snapshot = self.until(&what, |snapshot| snapshot.rows.get(&id).is_some_and(is));
        Arc::clone(&snapshot.rows[&id])
    }

    /// Waits until a row has ended, and gives it.
    pub fn until_ended(&mut self, id: RowId) -> Arc<Row> {
        self.until_state(id, RowState::Ended)
    }

    /// The present state.
    pub fn snapshot(&mut self) -> Arc<Snapshot> {
        self.until("a snapshot", |_| true)
    }

    /// A row of the present state.
    pub fn row(&mut self, id: RowId) -> Arc<Row> {
        let snapshot = self.snapshot();
        let found = snapshot.rows.get(&id).cloned();
        found.unwrap_or_else(|| self.fail(&format!("there is no {id}")))
    }

    /// Waits until there is a row with this name.
    pub fn until_named(&mut self, name: &str) -> RowId {
        let found = |snapshot: &Snapshot| {
            let mut rows = snapshot.rows.values();
            rows.find(|row| row.name == name).map(|row| row.id)
        };
        let snapshot = self.until(name, |snapshot| found(snapshot).is_some());
        found(&snapshot).expect("it is there")
    }

    /// The value of an expression in the top frame where a session stands.
    pub fn value(&mut self, row: RowId, expression: &str) -> String {
        let read = ReadOp::Evaluate {
            row,
            stop: Some(self.row(row).stop),
            frame: None,
            expression: expression.to_owned(),
            context: "watch".to_owned(),
        };
        match self.read(read) {
            Ok(Answer::Evaluation(evaluation)) => evaluation.value.expect("a value"),
            other => self.fail(&format!("{expression}: {other:?}")),
        }
    }

    /// The pid of a row's process.
    pub fn pid(&mut self, id: RowId) -> u32 {
        let known = |snapshot: &Snapshot| {
            let process = snapshot.rows.get(&id).and_then(|row| row.process);
            process.map(|process| process.pid)
        };
        let snapshot = self.until("a process", |snapshot| known(snapshot).is_some());
        known(&snapshot).expect("it is known")
    }

    /// Everything that happened so far.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The lines that a row wrote so far; `None`: all of them.
    pub fn output(&mut self, row: Option<RowId>) -> Vec<String> {
        let (from, count) = (0, LINES);
        match self.read(ReadOp::Output { row, from, count }) {
            Ok(Answer::Output(window)) => window.lines.into_iter().map(|line| line.text).collect(),
            other => self.fail(&format!("output was answered with {other:?}")),
        }
    }

    /// Waits until a line with `text` was written anywhere, and gives it.
    pub fn until_output(&mut self, text: &str) -> String {
        let mut seen = None;
        loop {
            let found = self.output(None);
            if let Some(line) = found.into_iter().find(|line| line.contains(text)) {
                return line;
            }
            let what = format!("output with {text:?}");
            let next = self.until(&what, |snapshot| Some(snapshot.output_revision) > seen);
            seen = Some(next.output_revision);
        }
    }

    /// Ends every tree and gives the answer.
    pub fn shutdown(&mut self) -> Result<Answer, EngineError> {
        self.command(Op::Shutdown)
    }

    /// Fails the test with all that is known.
    pub fn fail(&self, why: &str) -> ! {
        let rows = self.latest.iter().flat_map(|latest| latest.rows.values());
        let rows: Vec<String> = rows
            .map(|row| {
                let (id, parent, name, state) = (row.id, row.parent, &row.name, row.state);
                let at = row.stopped.as_ref().and_then(|stop| stop.place.as_ref());
                let (process, end) = (row.process, &row.end);
                format!("{id} below {parent:?}: {name} {process:?} {state:?} {at:?} {end:?}")
            })
            .collect();
        let events: Vec<String> = self
            .events
            .iter()
            .filter(|event| !matches!(event, Event::Row(_) | Event::Breakpoint { .. }))
            .map(|event| format!("{event:?}"))
            .collect();
        panic!(
            "{why}\nrows:\n{}\nevents:\n{}\nprocesses: {:#?}",
            rows.join("\n"),
            events.join("\n"),
            self.scene.processes()
        );
    }

    fn next_id(&self) -> CommandId {
        self.last_id.set(self.last_id.get() + 1);
        CommandId(self.last_id.get())
    }

    /// Takes in one message of the engine.
    fn hear(&mut self, what: &str, deadline: Instant) {
        let runtime = self.runtime.as_ref().expect("it runs");
        let left = deadline.saturating_duration_since(Instant::now());
        let heard = runtime.block_on(async { timeout(left, self.from_engine.recv()).await });
        match heard {
            Ok(Some(FromEngine::Snapshot(snapshot))) => self.latest = Some(snapshot),
            Ok(Some(FromEngine::Reply(reply))) => {
                let twice = self.replies.insert(reply.id, reply.result);
                assert!(twice.is_none(), "{} was answered twice", reply.id);
            }
            Ok(Some(FromEngine::Event { event, .. })) => self.events.push(event),
            Ok(Some(FromEngine::Terminal { .. })) => {}
            Ok(None) => self.fail(&format!("the engine ended before there was {what}")),
            Err(_) => self.fail(&format!("no {what} within {PATIENCE:?}")),
        }
    }
}

impl Drop for Front<'_> {
    fn drop(&mut self) {
        let (Some(runtime), Some(engine)) = (self.runtime.take(), self.engine.take()) else {
            return;
        };
        let id = self.next_id();
        let to_engine = self.to_engine.take();
        let from_engine = &mut self.from_engine;
        runtime.block_on(async {
            let (expect, op) = (None, Op::Shutdown);
            let shutdown = ToEngine::Command(Command { id, expect, op });
            let over = async {
                if let Some(to_engine) = &to_engine {
                    let _ = to_engine.send(shutdown).await;
                }
                while let Some(message) = from_engine.recv().await {
                    if matches!(message, FromEngine::Reply(reply) if reply.id == id) {
                        return;
                    }
                }
            };
            // What does not end here is ended by the keeper and by the scene.
            let _ = timeout(LEAVING, over).await;
            let _ = timeout(LEAVING, engine.stop()).await;
        });
        runtime.shutdown_timeout(LEAVING);
    }
}
