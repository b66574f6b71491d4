//! A scripted engine for tests and for looking at the front end: it answers commands by the
//! rules of the real one, on a tree that is made up. No process is started.
#![allow(dead_code, reason = "tests and the example use different parts")]

use crate::fixture;
use daptree_model::{
    Answer, BreakpointId, BreakpointStatus, EndStatus, EngineError, Follow, FromEngine, Interest,
    Notice, Op, OutputLine, OutputWindow, ReadOp, Reply, RowId, RowState, Snapshot, StopNumber,
    Stream, ToEngine, TreeState,
};
use std::sync::Arc;

/// The engine.
pub(crate) struct FakeEngine {
    pub(crate) snapshot: Snapshot,
    lines: Vec<OutputLine>,
    interests: Vec<Interest>,
}

impl FakeEngine {
    /// Five stopped workers, a shell, a helper and one that crashed.
    pub(crate) fn new() -> Self {
        let mut snapshot = fixture::five_stopped();
        let mut add = |row: daptree_model::Row| {
            snapshot.rows.insert(row.id, Arc::new(row));
        };
        let mut tracker = fixture::unfollowed(7, 1, "resource_tracker");
        tracker.follow = Follow::Released;
        tracker.reason = Some("it serves multiprocessing".to_owned());
        add(tracker);
        add(fixture::unfollowed(8, 1, "bash"));
        let mut crashed = fixture::row(9, Some(8));
        "native.py".clone_into(&mut crashed.name);
        fixture::end(&mut crashed, EndStatus::Signaled(11));
        add(crashed);
        let mut other = fixture::breakpoint(2, 13, &[]);
        other.spec.condition = Some("x > 3".to_owned());
        other.sessions.insert(RowId(1), BreakpointStatus::Pending);
        snapshot.breakpoints.push(Arc::new(other));
        let mut made = Self {
            snapshot,
            lines: Vec::new(),
            interests: Vec::new(),
        };
        for number in 0..40_u32 {
            let row = RowId(1 + number % 6);
            made.print(
                row,
                Stream::Stdout,
                &format!("\u{1b}[32mstep\u{1b}[0m {number} of {row}"),
            );
        }
        made.print(RowId(9), Stream::Stderr, "Segmentation fault");
        made
    }

    /// Adds a line of output.
    pub(crate) fn print(&mut self, row: RowId, stream: Stream, text: &str) {
        self.lines.push(OutputLine {
            number: self.lines.len() as u64,
            row,
            stream,
            text: text.to_owned(),
            open: false,
        });
        *self.snapshot.output_lines.entry(row).or_default() += 1;
        self.snapshot.output_revision += 1;
    }

    /// The snapshot as a message.
    pub(crate) fn publish(&mut self) -> FromEngine {
        self.snapshot.revision += 1;
        FromEngine::Snapshot(Arc::new(self.snapshot.clone()))
    }

    /// Answers a message; snapshots come after the reply.
    pub(crate) fn handle(&mut self, message: ToEngine) -> Vec<FromEngine> {
        let reply = |id, result| FromEngine::Reply(Reply { id, result });
        match message {
            ToEngine::Command(command) => {
                let result = self.command(command.expect, command.op);
                vec![reply(command.id, result), self.publish()]
            }
            ToEngine::Read(read) => vec![reply(read.id, self.read(read.what))],
            ToEngine::Interest(interests) => {
                self.interests = interests;
                Vec::new()
            }
            ToEngine::TerminalWatch(root) => vec![FromEngine::Terminal {
                root,
                reset: Some((60, 12)),
                bytes: b"\x1b[1mname\x1b[0m? \x1b[33mAda\x1b[0m\r\n> ".to_vec(),
            }],
            ToEngine::TerminalInput { root, bytes } => vec![FromEngine::Terminal {
                root,
                reset: None,
                bytes,
            }],
            ToEngine::Cancel(_) | ToEngine::TerminalSize { .. } | ToEngine::Replay(_) => Vec::new(),
        }
    }

    fn command(&mut self, expect: Option<StopNumber>, op: Op) -> Result<Answer, EngineError> {
        match op {
            Op::Continue(row) => {
                self.check(row, expect)?;
                self.leave(row);
                self.print(row, Stream::Stdout, &format!("{row} goes on"));
                if row != RowId(1) {
                    self.end(row);
                }
                if (2..=6).all(|id| self.is_ended(RowId(id))) {
                    self.end(RowId(1));
                    if let Some(tree) = self.snapshot.trees.first_mut() {
                        tree.state = TreeState::Ended;
                    }
                }
                Ok(Answer::Done)
            }
            Op::Next(row, _) | Op::StepIn(row, _) | Op::StepOut(row, _) => {
                self.check(row, expect)?;
                let stopped = self.snapshot.rows.get(&row);
                let line = stopped
                    .and_then(|row| row.stopped.as_ref()?.place.as_ref())
                    .map_or(6, |place| place.line);
                self.stop(row, if line >= 9 { 7 } else { line + 1 }, "step");
                Ok(Answer::Done)
            }
            Op::Pause(row) => {
                self.stop(row, 14, "pause");
                Ok(Answer::Done)
            }
            Op::ContinueAll(_) => {
                let stopped: Vec<RowId> = self
                    .snapshot
                    .rows
                    .values()
                    .filter(|row| row.is_paused())
                    .map(|row| row.id)
                    .collect();
                for row in &stopped {
                    self.leave(*row);
                }
                Ok(Answer::Told(stopped.len() as u32))
            }
            Op::PauseAll(_) => {
                let running: Vec<RowId> = self
                    .snapshot
                    .rows
                    .values()
                    .filter(|row| row.state == RowState::Running && row.is_session())
                    .map(|row| row.id)
                    .collect();
                for row in &running {
                    self.stop(*row, 14, "pause");
                    fixture::change(&mut self.snapshot, row.0, |row| row.held = true);
                }
                Ok(Answer::Told(running.len() as u32))
            }
            Op::StopTheWorld(row, on) => {
                fixture::change(&mut self.snapshot, row.0, |row| row.stops_world = on);
                for tree in &mut self.snapshot.trees {
                    if tree.root == row {
                        tree.stop_the_world = on;
                    }
                }
                Ok(Answer::Done)
            }
            Op::SetBreakpoint(spec) => {
                let id = self.snapshot.breakpoints.len() as u32 + 10;
                let mut made = fixture::breakpoint(id, 1, &[(1, BreakpointStatus::Verified)]);
                made.spec = spec;
                self.snapshot.breakpoints.push(Arc::new(made));
                Ok(Answer::Breakpoint(BreakpointId(id)))
            }
            Op::EditBreakpoint(id, spec) => {
                for b in self.snapshot.breakpoints.iter_mut().filter(|b| b.id == id) {
                    Arc::make_mut(b).spec = spec.clone();
                }
                Ok(Answer::Done)
            }
            Op::SetExceptionFilters(filters) => {
                self.snapshot.exception_filters = Some(filters);
                Ok(Answer::Told(1))
            }
            Op::RemoveBreakpoint(id) => {
                self.snapshot.breakpoints.retain(|b| b.id != id);
                Ok(Answer::Done)
            }
            Op::EnableBreakpoint(id, on) => {
                for b in self.snapshot.breakpoints.iter_mut().filter(|b| b.id == id) {
                    Arc::make_mut(b).enabled = on;
                }
                Ok(Answer::Done)
            }
            Op::Restart(_) => {
                self.snapshot.notices.push(Arc::new(Notice {
                    seq: self.snapshot.notices.len() as u64 + 1,
                    code: "restart".to_owned(),
                    message: "the scripted engine does not restart".to_owned(),
                    row: Some(RowId(1)),
                    is_error: true,
                    at_ms: 0,
                }));
                Ok(Answer::Done)
            }
            Op::Shutdown => Ok(Answer::Done),
            other => Err(EngineError::Failed(format!("not scripted: {other:?}"))),
        }
    }

    fn check(&self, row: RowId, expect: Option<StopNumber>) -> Result<(), EngineError> {
        let known = self.snapshot.rows.get(&row);
        let known = known.ok_or(EngineError::UnknownSession(row))?;
        match expect {
            Some(expected) if expected != known.stop => Err(EngineError::StaleStop {
                row,
                expected,
                now: known.stop,
            }),
            _ => Ok(()),
        }
    }

    fn is_ended(&self, row: RowId) -> bool {
        let row = self.snapshot.rows.get(&row);
        row.is_some_and(|row| row.state == RowState::Ended)
    }

    fn leave(&mut self, row: RowId) {
        fixture::change(&mut self.snapshot, row.0, fixture::go);
        self.snapshot.inspects.remove(&row);
    }

    fn end(&mut self, row: RowId) {
        fixture::change(&mut self.snapshot, row.0, |row| {
            fixture::end(row, EndStatus::Exited(0));
        });
    }

    /// Lets a session stop.
    pub(crate) fn stop(&mut self, row: RowId, line: u32, reason: &str) {
        fixture::change(&mut self.snapshot, row.0, |row| {
            fixture::stop(row, line, reason);
        });
        let stop = self.snapshot.rows.get(&row).map_or(0, |row| row.stop.0);
        let inspect = fixture::inspect(row.0, stop, line, i64::from(row.0));
        self.snapshot.inspects.insert(row, Arc::new(inspect));
    }

    fn read(&self, what: ReadOp) -> Result<Answer, EngineError> {
        match what {
            ReadOp::File(path) if path == fixture::MAIN => Ok(Answer::Source {
                text: fixture::TEXT.into(),
                path,
            }),
            ReadOp::File(path) => match std::fs::read_to_string(&path) {
                Ok(text) => Ok(Answer::Source {
                    text: text.into(),
                    path,
                }),
                Err(error) => Err(EngineError::Failed(format!("{path}: {error}"))),
            },
            ReadOp::Output { row, from, count } => {
                let own: Vec<OutputLine> = self
                    .lines
                    .iter()
                    .filter(|line| row.is_none_or(|row| line.row == row))
                    .enumerate()
                    .map(|(number, line)| OutputLine {
                        number: number as u64,
                        ..line.clone()
                    })
                    .collect();
                Ok(Answer::Output(OutputWindow {
                    row,
                    total: own.len() as u64,
                    dropped: 0,
                    lines: own
                        .into_iter()
                        .skip(from as usize)
                        .take(count as usize)
                        .collect(),
                }))
            }
            other => Err(EngineError::Failed(format!("not scripted: {other:?}"))),
        }
    }
}
