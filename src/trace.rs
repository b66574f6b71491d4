//! `daptree trace`: a front end without a screen. It runs a program as the root of a tree, says
//! what happens line by line, continues every stop, and ends as the program ends. Of the engine
//! it knows the pair of channels and the raw output, no more.

mod lines;
mod stops;

use crate::cli::TraceRequest;
use crate::engine::{Engine, EngineConfig, RawOutput, RawPiece};
use crate::output::Decoder;
use daptree_model::{
    Answer, AttachRequest, Command, CommandId, EndStatus, Event, FromEngine, LaunchRequest, Op,
    Read, ReadOp, Reply, Row, RowId, Stdio, Stream, ToEngine,
};
use lines::{Printer, Summary};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::future::pending;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use stops::StopInProgress;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// The exit status when `--timeout` was reached.
const TIMED_OUT: i32 = 124;
/// The exit status when daptree itself failed.
pub const FAILED: i32 = 125;
/// The notice of a debug adapter that broke down.
const ADAPTER_GONE: &str = "adapterGone";
/// How long the last output may lag behind the end of the tree.
const LAST_OUTPUT: Duration = Duration::from_millis(500);
/// How much raw output may wait to be printed before its writers wait.
const RAW: usize = 64;

/// Runs a trace to its end and gives the exit status.
pub async fn run(
    request: TraceRequest,
    cwd: PathBuf,
    env: Vec<(OsString, OsString)>,
    config: EngineConfig,
) -> io::Result<i32> {
    let (raw, output) = mpsc::channel(RAW);
    let engine = Engine::start(EngineConfig {
        raw_output: Some(raw),
        ..config
    })?;
    let (to_engine, from_engine) = engine.connect();
    let trace = Trace {
        printer: Printer::new(request.json),
        to_engine,
        evals: request.evals,
        hold: request.hold,
        last_id: 0,
        start: None,
        unknown: FAILED,
        shutdown: None,
        began: Instant::now(),
        rows: BTreeMap::new(),
        ended: BTreeSet::new(),
        stops: BTreeMap::new(),
        reads: BTreeMap::new(),
        decoders: BTreeMap::new(),
        open_streams: BTreeSet::new(),
        stop_count: 0,
        code: None,
        over: None,
        failed: None,
    };
    if let Some(target) = request.attach {
        let attach = AttachRequest {
            target,
            just_my_code: request.just_my_code,
            exceptions: request.exceptions,
            max_children: 256,
            breakpoints: request.breakpoints.into_iter().map(Into::into).collect(),
            path_maps: Vec::new(),
            python: None,
            cwd,
            env,
        };
        let code = trace
            .run(
                Op::Attach(Box::new(attach)),
                from_engine,
                output,
                request.timeout,
            )
            .await;
        engine.stop().await;
        return code;
    }
    let stdin = io::stdin();
    let launch = LaunchRequest {
        words: request.program,
        cwd,
        env,
        python: None,
        stdio: if stdin.is_terminal() {
            Stdio::Pipes
        } else {
            Stdio::PipesInherit
        },
        just_my_code: request.just_my_code,
        exceptions: Some(request.exceptions),
        stop_on_entry: false,
        stop_the_world: false,
        max_children: 256,
        breakpoints: request.breakpoints.into_iter().map(Into::into).collect(),
    };
    let code = trace
        .run(
            Op::Launch(Box::new(launch)),
            from_engine,
            output,
            request.timeout,
        )
        .await;
    engine.stop().await;
    code
}

struct Trace {
    printer: Printer,
    to_engine: mpsc::Sender<ToEngine>,
    evals: Vec<String>,
    hold: Duration,
    last_id: u64,
    /// What started the tree.
    start: Option<CommandId>,
    /// The exit status when nobody knows how the root ended.
    unknown: i32,
    shutdown: Option<CommandId>,
    began: Instant,
    rows: BTreeMap<RowId, Arc<Row>>,
    ended: BTreeSet<RowId>,
    stops: BTreeMap<RowId, StopInProgress>,
    reads: BTreeMap<CommandId, RowId>,
    decoders: BTreeMap<(RowId, Stream), Decoder>,
    open_streams: BTreeSet<(RowId, Stream)>,
    stop_count: u32,
    /// The exit status, where it is not the root's.
    code: Option<i32>,
    /// The tree is over: how its root ended, and who is left.
    over: Option<(EndStatus, Vec<u32>)>,
    /// Nothing was started: why.
    failed: Option<String>,
}

impl Trace {
    async fn run(
        mut self,
        start: Op,
        mut from_engine: mpsc::Receiver<FromEngine>,
        mut output: mpsc::Receiver<RawOutput>,
        limit: Option<Duration>,
    ) -> io::Result<i32> {
        let mut interrupts = signal(SignalKind::interrupt())?;
        let mut terminations = signal(SignalKind::terminate())?;
        let mut hangups = signal(SignalKind::hangup())?;
        // Of a program that is not ours the kernel may not tell how it ended.
        self.unknown = if matches!(start, Op::Attach(_)) {
            0
        } else {
            FAILED
        };
        self.start = self.command(start, None).await;
        let deadline = limit.map(|limit| self.began + limit);
        let mut last_output = None;
        loop {
            if self.failed.is_some() {
                break;
            }
            if self.over.is_some() {
                let until = *last_output.get_or_insert_with(|| Instant::now() + LAST_OUTPUT);
                if self.open_streams.is_empty() || Instant::now() >= until {
                    break;
                }
            }
            let hold = self.stops.values().filter_map(|stop| stop.hold_until).min();
            tokio::select! {
                message = from_engine.recv() => match message {
                    Some(message) => self.heard(message).await?,
                    None => break,
                },
                raw = output.recv() => if let Some(raw) = raw {
                    self.wrote(&raw)?;
                },
                () = until(hold) => self.let_go().await,
                () = until(deadline.filter(|_| self.shutdown.is_none())) => {
                    let seconds = limit.unwrap_or_default().as_secs_f64();
                    let message = format!("not over after {seconds} s: the whole tree is ended");
                    self.printer.warning("timeout", &message, None)?;
                    self.end_tree(TIMED_OUT).await;
                }
                () = until(last_output) => {}
                _ = interrupts.recv() => self.end_tree(128 + 2).await,
                _ = terminations.recv() => self.end_tree(128 + 15).await,
                _ = hangups.recv() => self.end_tree(128 + 1).await,
            }
        }
        self.finish()
    }

    /// The last lines.
    fn finish(mut self) -> io::Result<i32> {
        if let Some(message) = self.failed {
            eprintln!("daptree: {message}");
            return Ok(self.code.unwrap_or(FAILED));
        }
        if let Some(code) = self.code.filter(|_| self.rows.is_empty()) {
            eprintln!("daptree: ended before the program was started");
            return Ok(code);
        }
        let Some((status, left)) = self.over.take() else {
            eprintln!("daptree: the engine ended before the program did");
            return Ok(FAILED);
        };
        for (key, mut decoder) in std::mem::take(&mut self.decoders) {
            let text = decoder.finish().map(String::from).unwrap_or_default();
            self.print_output(key.0, key.1, &text)?;
        }
        let code = self
            .code
            .or_else(|| status.shell_code())
            .unwrap_or(self.unknown);
        self.printer.summary(&Summary {
            code,
            signal: status.signal_name(),
            sessions: self.rows.len(),
            stops: self.stop_count,
            elapsed: self.began.elapsed(),
            left,
        })?;
        Ok(code)
    }

    async fn end_tree(&mut self, code: i32) {
        if self.shutdown.is_none() {
            self.code = Some(code);
            self.shutdown = self.command(Op::Shutdown, None).await;
        }
    }

    async fn heard(&mut self, message: FromEngine) -> io::Result<()> {
        match message {
            FromEngine::Event { event, .. } => self.happened(event).await,
            FromEngine::Reply(reply) => self.answered(reply).await,
            FromEngine::Snapshot(_) | FromEngine::Terminal { .. } => Ok(()),
        }
    }

    async fn happened(&mut self, event: Event) -> io::Result<()> {
        match event {
            Event::Row(row) => {
                self.printer.session(&row)?;
                self.rows.insert(row.id, row);
            }
            Event::Breakpoint {
                row,
                path,
                line,
                verified,
                message,
            } => {
                self.printer
                    .breakpoint(row, &path, line, verified, message.as_deref())?;
            }
            Event::Stopped { row, stop, at } => {
                self.stop_count += 1;
                let waiting = StopInProgress::new(stop, *at);
                self.stops.insert(row, waiting);
                self.ask_about(row).await;
                self.print_if_complete(row).await?;
            }
            Event::Ended { row, status, cause } => {
                self.print_stop(row)?;
                self.stops.remove(&row);
                let counts = self.rows.get(&row).is_some_and(|row| row.is_session());
                if counts && self.ended.insert(row) {
                    self.printer.end(row, status, cause.as_deref())?;
                }
            }
            // Said once, when it fails the trace.
            Event::Notice(notice) if notice.code == "launch" => {}
            Event::Notice(notice) => {
                self.printer
                    .warning(&notice.code, &notice.message, notice.row)?;
                if notice.code == ADAPTER_GONE {
                    eprintln!("daptree: {}; the whole tree is ended", notice.message);
                    self.end_tree(FAILED).await;
                }
            }
            Event::Console { row, stream, text } => self.print_output(row, stream, &text)?,
            Event::TreeEnded { status, left, .. } => self.over = Some((status, left)),
            Event::LaunchFailed { message, .. } => self.failed = Some(message),
            Event::Progress { text, .. } => eprintln!("daptree: {text}"),
            Event::Continued(_) => {}
        }
        Ok(())
    }

    /// Everything that a stop's line needs, in one go.
    async fn ask_about(&mut self, row: RowId) {
        let Some(progress) = self.stops.get(&row) else {
            return;
        };
        let stop = progress.stop;
        let mut wanted = vec![(None, ReadOp::Threads(row))];
        for (index, expression) in self.evals.iter().enumerate() {
            let expression = expression.clone();
            let context = "watch".to_owned();
            let stop = Some(stop);
            let what = ReadOp::Evaluate {
                row,
                stop,
                frame: None,
                expression,
                context,
            };
            wanted.push((Some(index), what));
        }
        if progress.lacks_exception() {
            wanted.push((None, ReadOp::ExceptionInfo { row, stop }));
        }
        for (index, what) in wanted {
            self.last_id += 1;
            let id = CommandId(self.last_id);
            self.reads.insert(id, row);
            if let Some(progress) = self.stops.get_mut(&row) {
                progress.waiting.insert(id, index);
            }
            let _ = self.to_engine.send(ToEngine::Read(Read { id, what })).await;
        }
    }

    async fn answered(&mut self, reply: Reply) -> io::Result<()> {
        if let Some(row) = self.reads.remove(&reply.id) {
            if let Some(progress) = self.stops.get_mut(&row) {
                progress.answered(reply, &self.evals);
            }
            return self.print_if_complete(row).await;
        }
        if let Err(error) = &reply.result {
            tracing::debug!(command = %reply.id, "{error}");
            if Some(reply.id) == self.start {
                self.failed = Some(error.to_string());
            }
        }
        if Some(reply.id) == self.shutdown {
            let left = match reply.result {
                Ok(Answer::Closed { survivors, .. }) => survivors,
                _ => Vec::new(),
            };
            if self.over.is_none() && self.rows.is_empty() {
                self.failed = Some("ended before the program was started".to_owned());
            } else {
                self.over.get_or_insert((EndStatus::Unknown, left));
            }
        }
        Ok(())
    }

    async fn print_if_complete(&mut self, row: RowId) -> io::Result<()> {
        let complete = self
            .stops
            .get(&row)
            .is_some_and(|stop| stop.waiting.is_empty() && !stop.printed);
        if complete {
            self.print_stop(row)?;
            if let Some(progress) = self.stops.get_mut(&row) {
                progress.hold_until = Some(Instant::now() + self.hold);
            }
            if self.hold.is_zero() {
                self.let_go().await;
            }
        }
        Ok(())
    }

    fn print_stop(&mut self, row: RowId) -> io::Result<()> {
        let pid = self
            .rows
            .get(&row)
            .and_then(|row| row.process)
            .map(|process| process.pid);
        let Some(progress) = self.stops.get_mut(&row).filter(|stop| !stop.printed) else {
            return Ok(());
        };
        progress.printed = true;
        self.printer.stop(row, pid, progress, &self.evals)
    }

    /// Continues every stop whose hold is over.
    async fn let_go(&mut self) {
        let now = Instant::now();
        let due: Vec<RowId> = self
            .stops
            .iter()
            .filter(|(_, stop)| stop.hold_until.is_some_and(|at| at <= now))
            .map(|(row, _)| *row)
            .collect();
        for row in due {
            if let Some(stop) = self.stops.remove(&row) {
                self.command(Op::Continue(row), Some(stop.stop)).await;
            }
        }
    }

    async fn command(
        &mut self,
        op: Op,
        expect: Option<daptree_model::StopNumber>,
    ) -> Option<CommandId> {
        self.last_id += 1;
        let id = CommandId(self.last_id);
        let command = ToEngine::Command(Command { id, expect, op });
        self.to_engine.send(command).await.ok().map(|()| id)
    }

    fn wrote(&mut self, raw: &RawOutput) -> io::Result<()> {
        let key = (raw.row, raw.stream);
        let decoder = self.decoders.entry(key).or_default();
        let text = match &raw.what {
            RawPiece::Opened => {
                self.open_streams.insert(key);
                return Ok(());
            }
            RawPiece::Bytes(bytes) => decoder.push(bytes).into_owned(),
            RawPiece::Closed => {
                self.open_streams.remove(&key);
                decoder.finish().map(String::from).unwrap_or_default()
            }
        };
        self.print_output(raw.row, raw.stream, &text)
    }

    fn print_output(&mut self, row: RowId, stream: Stream, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let name = self.rows.get(&row).map_or("", |row| row.name.as_str());
        self.printer.output(row, name, stream, text)
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => pending().await,
    }
}
