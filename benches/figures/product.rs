//! The product's side: the same trees as the bare driver's, through daptree's engine as a front
//! end uses it.

use crate::driver::{FirstStop, Program};
use crate::ears::{Ears, Line};
use crate::setting::{Setting, script};
use anyhow::{Context, Result, bail};
use daptree::engine::Engine;
use daptree_model::{
    BreakpointSpec, Command, CommandId, Event, FromEngine, Inspect, Interest, LaunchRequest, Op,
    Row, RowId, RowState, Snapshot, Stdio, StopNumber, ToEngine,
};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{Receiver, Sender};
use tokio::time::timeout;

/// How long anything may take.
const LIMIT: Duration = Duration::from_secs(30);

/// How long the parts of a start took.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// From the start of the adapter's process to its word where it listens.
    pub adapter: Duration,
    /// From the adapter's wait for the program, before that is started, to `configurationDone`.
    pub configured: Duration,
    /// From the same moment to the program's first line.
    pub first_line: Duration,
    /// From the command to the program's first line.
    pub whole: Duration,
}

/// Runs a program whose children stop once each, and gives their times.
pub fn first_stops(setting: &Setting, ears: &Ears, program: &Program) -> Result<Vec<FirstStop>> {
    in_runtime(async {
        let mut product = Product::start(setting)?;
        ears.take();
        product.launch(setting, program).await?;
        let mut placed = Vec::new();
        loop {
            match product.event().await? {
                Event::Stopped { row, stop, .. } => {
                    placed.push(Instant::now());
                    product.command(Op::Continue(row), Some(stop)).await?;
                }
                Event::TreeEnded { .. } => break,
                Event::LaunchFailed { message, .. } => bail!(message),
                _ => {}
            }
        }
        let heard = ears.take();
        let reports = frames(&heard, " < ", "\"startDebugging\"");
        let stops = frames(&heard, " < ", "\"stopped\"");
        product.engine.stop().await;
        if reports.len() != placed.len() || stops.len() != placed.len() {
            bail!("{} reports and {} stops", reports.len(), placed.len());
        }
        let times = reports.iter().zip(&stops).zip(&placed);
        Ok(times
            .map(|((report, stopped), placed)| FirstStop {
                stopped: stopped.at - report.at,
                placed: *placed - report.at,
            })
            .collect())
    })
}

/// Launches a program whose `count` children stop once each. Gives the time until the last of them
/// stood with its place known, from when the adapter listens on, as the driver's.
pub fn adopt_all(
    setting: &Setting,
    ears: &Ears,
    program: &Program,
    count: usize,
) -> Result<Duration> {
    in_runtime(async {
        let mut product = Product::start(setting)?;
        ears.take();
        product.launch(setting, program).await?;
        let (mut placed, mut last) = (0, Instant::now());
        loop {
            match product.event().await? {
                Event::Stopped { row, stop, .. } => {
                    (placed, last) = (placed + 1, Instant::now());
                    product.command(Op::Continue(row), Some(stop)).await?;
                }
                Event::TreeEnded { .. } => break,
                Event::LaunchFailed { message, .. } => bail!(message),
                _ => {}
            }
        }
        let heard = ears.take();
        product.engine.stop().await;
        if placed != count {
            bail!("{placed} of {count} children stopped");
        }
        let listens = frames(&heard, "", "the adapter listens");
        let began = listens.first().context("the adapter does not listen")?.at;
        Ok(last - began)
    })
}

/// Steps through a program and gives how long each step took, until its stack, scopes and first
/// variables are in a snapshot.
pub fn steps(setting: &Setting, program: &Program, count: usize) -> Result<Vec<Duration>> {
    in_runtime(async {
        let mut product = Product::start(setting)?;
        product.launch(setting, program).await?;
        let (row, mut stop) = loop {
            match product.event().await? {
                Event::Row(row) if row.parent.is_none() => {
                    let interest = Interest {
                        row: row.id,
                        ..Interest::default()
                    };
                    product.tell(ToEngine::Interest(vec![interest])).await?;
                }
                Event::Stopped { row, stop, .. } => break (row, stop),
                Event::LaunchFailed { message, .. } => bail!(message),
                _ => {}
            }
        };
        product.seen(row, stop).await?;
        let mut times = Vec::new();
        for _ in 0..count {
            let began = Instant::now();
            product.command(Op::Next(row, None), Some(stop)).await?;
            stop = StopNumber(stop.0 + 1);
            product.seen(row, stop).await?;
            times.push(began.elapsed());
        }
        product.end().await?;
        Ok(times)
    })
}

/// How often all are paused in one run.
const PAUSES: usize = 5;

/// Pauses so many live sessions again and again. Gives how long it took from the command to the
/// last stop, and from the stop of one session to that of the last one which it holds.
pub fn pauses(
    setting: &Setting,
    program: &Program,
    live: usize,
) -> Result<(Vec<Duration>, Vec<Duration>)> {
    in_runtime(async {
        let mut product = Product::start(setting)?;
        product.launch(setting, program).await?;
        let root = product.all_run(live).await?;
        let (mut all, mut world) = (Vec::new(), Vec::new());
        for _ in 0..PAUSES {
            let began = Instant::now();
            product.command(Op::PauseAll(root), None).await?;
            product.stops(live).await?;
            all.push(began.elapsed());
            product.command(Op::ContinueAll(root), None).await?;
            product.go_on(live).await?;
        }
        product.command(Op::StopTheWorld(root, true), None).await?;
        for _ in 0..PAUSES {
            product.command(Op::Pause(root), None).await?;
            product.stops(1).await?;
            let began = Instant::now();
            product.stops(live - 1).await?;
            world.push(began.elapsed());
            product.command(Op::ContinueAll(root), None).await?;
            product.go_on(live).await?;
        }
        product.end().await?;
        Ok((all, world))
    })
}

/// Starts a program that says when its first line ran.
pub fn start(setting: &Setting, ears: &Ears) -> Result<Start> {
    in_runtime(async {
        let mut product = Product::start(setting)?;
        let told = setting.file("first-line");
        let program = Program {
            script: script("first_line.py"),
            args: vec![told.to_string_lossy().into_owned()],
            breakpoint: script("steps.py"),
            line: 1,
        };
        ears.take();
        let asked = SystemTime::now();
        product.launch(setting, &program).await?;
        loop {
            match product.event().await? {
                Event::TreeEnded { .. } => break,
                Event::LaunchFailed { message, .. } => bail!(message),
                _ => {}
            }
        }
        product.engine.stop().await;
        let heard = ears.take();
        let line = |way, what| {
            frames(&heard, way, what)
                .first()
                .copied()
                .cloned()
                .with_context(|| format!("no {what}"))
        };
        let began = line("", "the adapter is started")?;
        let listens = line("", "the adapter listens")?;
        let waits = line(" < ", "\"debugpyWaitingForServer\"")?;
        let configured = line(" > ", "\"configurationDone\"")?;
        let nanoseconds = std::fs::read_to_string(&told)?.parse()?;
        let first_line = SystemTime::UNIX_EPOCH + Duration::from_nanos(nanoseconds);
        Ok(Start {
            adapter: listens.at - began.at,
            configured: configured.at - waits.at,
            first_line: first_line.duration_since(waits.clock)?,
            whole: first_line.duration_since(asked)?,
        })
    })
}

fn frames<'a>(heard: &'a [Line], way: &str, what: &str) -> Vec<&'a Line> {
    heard
        .iter()
        .filter(|line| line.text.contains(way) && line.text.contains(what))
        .collect()
}

/// As the binary does it.
fn in_runtime<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let runtime: Runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let result = runtime.block_on(work);
    runtime.shutdown_timeout(LIMIT);
    result
}

struct Product {
    engine: Engine,
    to_engine: Sender<ToEngine>,
    from_engine: Receiver<FromEngine>,
    last_id: u64,
}

impl Product {
    fn start(setting: &Setting) -> Result<Self> {
        let engine = Engine::start(setting.config())?;
        let (to_engine, from_engine) = engine.connect();
        Ok(Self {
            engine,
            to_engine,
            from_engine,
            last_id: 0,
        })
    }

    async fn launch(&mut self, setting: &Setting, program: &Program) -> Result<()> {
        let mut words = vec![setting.python.clone().into(), program.script.clone().into()];
        words.extend(program.args.iter().map(Into::into));
        let path = program.breakpoint.to_string_lossy();
        let request = LaunchRequest {
            words,
            cwd: std::env::current_dir()?,
            env: std::env::vars_os().collect(),
            python: None,
            stdio: Stdio::Pipes,
            just_my_code: true,
            exceptions: None,
            stop_on_entry: false,
            stop_the_world: false,
            max_children: 0,
            breakpoints: vec![BreakpointSpec::line(path, program.line)],
        };
        self.command(Op::Launch(Box::new(request)), None).await
    }

    async fn command(&mut self, op: Op, expect: Option<StopNumber>) -> Result<()> {
        self.last_id += 1;
        let command = Command {
            id: CommandId(self.last_id),
            expect,
            op,
        };
        self.tell(ToEngine::Command(command)).await
    }

    async fn tell(&mut self, message: ToEngine) -> Result<()> {
        self.to_engine
            .send(message)
            .await
            .context("the engine is gone")
    }

    async fn heard(&mut self) -> Result<FromEngine> {
        let heard = timeout(LIMIT, self.from_engine.recv()).await;
        heard
            .context("the engine fell silent")?
            .context("the engine is gone")
    }

    async fn event(&mut self) -> Result<Event> {
        loop {
            if let FromEngine::Event { event, .. } = self.heard().await? {
                return Ok(event);
            }
        }
    }

    /// Waits for a snapshot with the stack and first variables of a stop.
    async fn seen(&mut self, row: RowId, stop: StopNumber) -> Result<()> {
        loop {
            match self.heard().await? {
                FromEngine::Snapshot(snapshot) if is_whole(&snapshot, row, stop) => return Ok(()),
                FromEngine::Reply(reply) => {
                    reply.result?;
                }
                _ => {}
            }
        }
    }

    /// Waits for so many stops.
    async fn stops(&mut self, count: usize) -> Result<()> {
        for _ in 0..count {
            while !matches!(self.event().await?, Event::Stopped { .. }) {}
        }
        Ok(())
    }

    /// Waits until so many go on.
    async fn go_on(&mut self, count: usize) -> Result<()> {
        for _ in 0..count {
            while !matches!(self.event().await?, Event::Continued(_)) {}
        }
        Ok(())
    }

    /// Waits until so many sessions run; gives the root.
    async fn all_run(&mut self, live: usize) -> Result<RowId> {
        loop {
            let FromEngine::Snapshot(snapshot) = self.heard().await? else {
                continue;
            };
            let runs = |row: &&Arc<Row>| row.state == RowState::Running && !row.pausing;
            if let Some(tree) = snapshot.trees.first()
                && snapshot.rows.values().filter(runs).count() == live
            {
                return Ok(tree.root);
            }
        }
    }

    async fn end(mut self) -> Result<()> {
        self.command(Op::Shutdown, None).await?;
        while !matches!(self.event().await?, Event::TreeEnded { .. }) {}
        self.engine.stop().await;
        Ok(())
    }
}

fn is_whole(snapshot: &Snapshot, row: RowId, stop: StopNumber) -> bool {
    let whole = |inspect: &Inspect| {
        let frame = inspect
            .stacks
            .values()
            .find_map(|stack| stack.frames.first())?;
        let scope = inspect.scopes.get(&frame.id)?.first()?;
        let page = inspect.pages.get(&scope.reference)?;
        Some(!page.variables.is_empty())
    };
    snapshot
        .inspects
        .get(&row)
        .is_some_and(|inspect| inspect.stop == stop && whole(inspect).unwrap_or(false))
}
