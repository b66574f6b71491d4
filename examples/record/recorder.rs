//! Drives a front end without a terminal on a real engine and keeps what it was told. Of what the
//! engine publishes, the front end gets only what a scene waited for: that is what is recorded, so
//! that a replay shows the same frames.

use crate::recording::{Answered, Answers, Entry};
use crate::scenes::Scene;
use anyhow::{Context, Result, bail};
use daptree::engine::{Engine, EngineConfig};
use daptree::settings::Folders;
use daptree_model::{
    Command, CommandId, Event, FromEngine, LaunchRequest, Op, Read, ReadOp, RowId, Snapshot,
    ToEngine,
};
use daptree_ui::state::UiState;
use daptree_ui::{Front, UiOptions};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

/// How long a scene may wait for one thing.
const LIMIT: Duration = Duration::from_secs(120);
/// Lines of output that are recorded of one row.
const LINES: u32 = 1_000;

/// A run that is being recorded.
pub struct Recorder {
    engine: Engine,
    to_engine: mpsc::Sender<ToEngine>,
    from_engine: mpsc::Receiver<FromEngine>,
    front: Front,
    entries: Vec<Entry>,
    answers: Answers,
    /// The newest snapshot; the front end may not have it yet.
    snapshot: Arc<Snapshot>,
    /// What terminals said since the front end was last told.
    terminals: Vec<FromEngine>,
    /// Replies to the recorder's own questions. Its ids are below the front end's.
    replies: BTreeMap<CommandId, Answered>,
    last_id: u64,
}

impl Recorder {
    /// Starts an engine and a program. Needs a tokio runtime.
    pub fn start(launch: Box<LaunchRequest>) -> Result<Self> {
        let engine = Engine::start(EngineConfig {
            folders: Folders::of_this_process()?,
            settings_python: None,
            keeper: Some(std::env::current_exe()?),
            sole: true,
            workspace: None,
            maps: Vec::new(),
            idle: None,
            raw_output: None,
            record: None,
        })?;
        let (to_engine, from_engine) = engine.connect();
        let options = UiOptions {
            launch: Some(launch),
            ..UiOptions::default()
        };
        Ok(Self {
            engine,
            to_engine,
            from_engine,
            front: Front::new(options, Scene::SIZE),
            entries: Vec::new(),
            answers: Answers::default(),
            snapshot: Arc::default(),
            terminals: Vec::new(),
            replies: BTreeMap::new(),
            last_id: 0,
        })
    }

    /// Waits until a snapshot shows something, then tells the front end.
    pub async fn wait(
        &mut self,
        what: &str,
        shows: impl Fn(&Snapshot, &UiState) -> bool,
    ) -> Result<()> {
        let until = Instant::now() + LIMIT;
        self.pump(until).await?;
        while !shows(&self.snapshot, self.front.state()) {
            self.hear(until)
                .await
                .with_context(|| format!("{what} was not seen; last: {:#?}", self.snapshot.rows))?;
        }
        let rows = self.snapshot.output_lines.keys().copied().map(Some);
        for row in rows.chain([None]).collect::<Vec<Option<RowId>>>() {
            let from = 0;
            let count = LINES;
            let what = ReadOp::Output { row, from, count };
            self.learn(what, self.entries.len(), until).await?;
        }
        let snapshot = FromEngine::Snapshot(Arc::clone(&self.snapshot));
        let told: Vec<FromEngine> = self.terminals.drain(..).chain([snapshot]).collect();
        for message in told {
            self.entries.push(Entry::Engine(message.clone()));
            self.front.engine([message]);
            self.pump(until).await?;
        }
        Ok(())
    }

    /// Types keys.
    pub async fn keys(&mut self, keys: &str) -> Result<()> {
        self.entries.push(Entry::Keys(keys.to_owned()));
        self.front.type_keys(keys);
        self.pump(Instant::now() + LIMIT).await
    }

    /// Notes that the present frame is a picture.
    pub fn picture(&mut self, name: &str, size: (u16, u16)) {
        let name = name.to_owned();
        self.entries.push(Entry::Picture { name, size });
    }

    /// Ends the program and the engine. Gives what was recorded.
    pub async fn stop(mut self) -> Result<Vec<Entry>> {
        let id = self.next_id();
        let command = Command {
            id,
            expect: None,
            op: Op::Shutdown,
        };
        let ended = match self.to_engine.send(ToEngine::Command(command)).await {
            Ok(()) => self.reply(id, Instant::now() + LIMIT).await.map(drop),
            Err(error) => Err(error.into()),
        };
        self.engine.stop().await;
        ended.map(|()| self.entries)
    }

    /// Passes on what the front end says, and answers what it reads.
    async fn pump(&mut self, until: Instant) -> Result<()> {
        while let Some(message) = self.front.outgoing().pop_front() {
            let ToEngine::Read(read) = message else {
                self.to_engine.send(message).await?;
                continue;
            };
            if self.answers.answer(&read.what).is_none() {
                // Before the entry that made the front end ask.
                let at = self.entries.len().saturating_sub(1);
                self.learn(read.what.clone(), at, until).await?;
            }
            let result = self.answers.answer(&read.what);
            let result = result.with_context(|| format!("{:?} has no answer", read.what))?;
            let id = read.id;
            let reply = daptree_model::Reply { id, result };
            self.front.engine([FromEngine::Reply(reply)]);
        }
        Ok(())
    }

    /// Asks the engine and records the answer as entry `at`, if it is new.
    async fn learn(&mut self, what: ReadOp, at: usize, until: Instant) -> Result<()> {
        let id = self.next_id();
        let read = Read {
            id,
            what: what.clone(),
        };
        self.to_engine.send(ToEngine::Read(read)).await?;
        let result = self.reply(id, until).await?;
        if self.answers.learn(&what, &result) {
            self.entries.insert(at, Entry::Answer { what, result });
        }
        Ok(())
    }

    fn next_id(&mut self) -> CommandId {
        self.last_id += 1;
        CommandId(self.last_id)
    }

    async fn reply(&mut self, id: CommandId, until: Instant) -> Result<Answered> {
        loop {
            if let Some(result) = self.replies.remove(&id) {
                return Ok(result);
            }
            self.hear(until).await?;
        }
    }

    /// Takes one message of the engine.
    async fn hear(&mut self, until: Instant) -> Result<()> {
        let message = timeout_at(until, self.from_engine.recv())
            .await
            .with_context(|| format!("nothing more was heard within {} s", LIMIT.as_secs()))?
            .context("the engine went away")?;
        match message {
            FromEngine::Snapshot(snapshot) => self.snapshot = snapshot,
            FromEngine::Reply(reply) if reply.id.0 <= self.last_id => {
                self.replies.insert(reply.id, reply.result);
            }
            // What a command of the front end led to is seen in the snapshots.
            FromEngine::Reply(reply) => {
                reply.result?;
            }
            FromEngine::Event { event, .. } => {
                if let Event::LaunchFailed { message, .. } = event {
                    bail!("the program was not started: {message}");
                }
            }
            FromEngine::Terminal { root, reset, bytes } => self.terminal(root, reset, bytes),
        }
        Ok(())
    }

    /// Pieces are joined, so that no path is cut in two.
    fn terminal(&mut self, root: RowId, reset: Option<(u16, u16)>, bytes: Vec<u8>) {
        if let (
            None,
            Some(FromEngine::Terminal {
                root: of,
                bytes: known,
                ..
            }),
        ) = (reset, self.terminals.last_mut())
            && *of == root
        {
            known.extend(bytes);
            return;
        }
        self.terminals
            .push(FromEngine::Terminal { root, reset, bytes });
    }
}
