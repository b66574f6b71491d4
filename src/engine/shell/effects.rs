//! The core's effects carried out, one by one. It must not decide anything: what comes of an effect
//! goes back to the core as an input.

use super::super::connection::Connection;
use super::super::members::{self, Members};
use super::super::terminal::Terminal;
use super::roots::mark;
use super::{Shell, ShellInput};
use crate::process::keeper::KeeperHandle;
use crate::process::{ProcessKey, ending};
use crate::tree::{Effect, Input, Origin, Run};
use daptree_model::{EngineError, Event, FromEngine, RowId};
use std::collections::BTreeSet;

impl Shell {
    pub(super) fn run_effect(&mut self, effect: Effect) {
        match effect {
            Effect::Start(run, origin) => {
                self.origins.insert(run, origin.clone());
                match origin {
                    Origin::Launch(request) => {
                        if let Some(keeper) = &self.keeper {
                            keeper.mark(&mark(run), true);
                        }
                        tokio::spawn(self.workshop.clone().prepare(run, request));
                    }
                    Origin::Attach(request) => self.start_attach(run, request),
                }
            }
            Effect::Spawn(run, host, port) => {
                let input = match self.spawn_root(run, &host, port) {
                    Ok(process) => Input::Spawned(run, process),
                    Err(message) => Input::StartFailed(run, message),
                };
                self.next.push_back(input);
            }
            Effect::StopAdapter(run) => self.stop_adapter(run),
            Effect::Connect {
                connection,
                name,
                host,
                port,
            } => {
                let events = self.connection_events.clone();
                let opened = Connection::connect(connection.0, name, &host, port, events);
                self.connections.insert(connection, opened);
            }
            Effect::Send(connection, message) => {
                let sent = self
                    .connections
                    .get(&connection)
                    .is_some_and(|c| c.send(message));
                if !sent {
                    tracing::debug!(%connection, "a message was not sent: the connection is closed");
                }
            }
            Effect::Close(connection) => {
                if let Some(mut open) = self.connections.remove(&connection) {
                    open.close();
                }
            }
            Effect::Describe(pid) => {
                let seen = members::with_ancestors(pid, &self.leaders.keys());
                self.next.push_front(Input::Described(pid, seen));
            }
            Effect::Watch(row, process) => {
                if let Some(keeper) = &self.keeper {
                    keeper.add(process, true);
                }
                self.watch(row, process);
            }
            Effect::Observe(row, process) => self.watch(row, process),
            Effect::Locate(run, whereabouts) => self.locate(run, &whereabouts),
            Effect::Examine(operation, pid) => self.examine(operation, pid),
            Effect::Scan(run, processes) => self.scan(run, processes),
            Effect::LetLive(run, rows) => {
                if let Some(keeper) = &self.keeper {
                    keeper.unmark(&mark(run));
                    keeper.hold(self.output.sources(&rows));
                }
            }
            Effect::Forget(process) => {
                if let Some(keeper) = &self.keeper {
                    keeper.remove(process);
                    self.leaders.let_go(process, keeper);
                }
            }
            Effect::EndProcesses {
                operation,
                processes,
                whole,
            } => {
                let members = self.members(&processes, whole);
                let inputs = self.workshop.inputs.clone();
                tokio::spawn(async move {
                    let find = move || members.find();
                    let left = ending::end_all(find, ending::GRACE, ending::LIMIT).await;
                    let input = Input::ProcessesEnded(operation, left);
                    let _ = inputs.send(ShellInput::Core(input)).await;
                });
            }
            Effect::Survey(run, known) => {
                let members = self.members(&known, Some(run));
                let inputs = self.workshop.inputs.clone();
                tokio::task::spawn_blocking(move || {
                    let input = Input::Surveyed(run, members.seen());
                    let _ = inputs.blocking_send(ShellInput::Core(input));
                });
            }
            Effect::OpenStreams(row, above) => {
                let root = above.last().copied().unwrap_or(row);
                let terminal = self.terminals.get(&root).and_then(Terminal::handle);
                let (streams, offers) = self.handed.open(row, &above, terminal);
                let screen = terminal.map(|_| root);
                for stream in streams {
                    self.output.read(row, stream, screen);
                }
                self.next.push_front(Input::StreamsOpened(row, offers));
            }
            Effect::StreamsTaken(row) => self.handed.taken(row),
            Effect::Said(row, stream, text) => self.output.append(row, stream, text.as_bytes()),
            Effect::Reply(client, reply) => {
                match &reply.result {
                    Ok(_) => tracing::debug!(command = %reply.id, %client, "finished"),
                    Err(error @ EngineError::TimedOut { .. }) => {
                        tracing::debug!(command = %reply.id, %client, "timed out: {error}");
                    }
                    Err(error) => tracing::debug!(command = %reply.id, %client, "failed: {error}"),
                }
                if let Some(front) = self.fronts.get(&client) {
                    front.reply(reply);
                }
            }
            Effect::Event(event) => {
                if let Event::Ended { row, .. } = &event {
                    self.handed.forget(*row);
                }
                self.events += 1;
                for front in self.fronts.values() {
                    front.send(FromEngine::Event {
                        seq: self.events,
                        event: event.clone(),
                    });
                }
            }
            Effect::Keep(kept) => {
                if let Some(keeping) = &self.keeping {
                    keeping.keep(kept);
                }
            }
            Effect::WakeAt(at) => self.wake = Some(at),
        }
    }

    fn watch(&mut self, row: RowId, process: ProcessKey) {
        let ended = self.workshop.reaper.watch(process);
        let inputs = self.workshop.inputs.clone();
        tokio::spawn(async move {
            let status = ended.await;
            tracing::debug!(%row, %process, ?status, "ended");
            let _ = inputs
                .send(ShellInput::Core(Input::Gone(process, status)))
                .await;
        });
    }

    /// The pids of what serves daptree itself: adapters and the keeper.
    pub(super) fn helpers(&self) -> BTreeSet<u32> {
        let keeper = self.keeper.as_ref().and_then(KeeperHandle::key);
        let adapters = self.runs.values().map(|data| data.adapter);
        adapters.chain(keeper).map(|key| key.pid).collect()
    }

    fn members(&self, processes: &[ProcessKey], whole: Option<Run>) -> Members {
        let spared = self.helpers();
        let others = whole.map_or(0, |run| {
            self.runs.keys().filter(|known| **known != run).count()
        });
        Members {
            processes: processes.to_vec(),
            mark: whole.map(mark),
            orphans: self.sole && whole.is_some() && others == 0,
            spared,
            leaders: self.leaders.keys(),
        }
    }
}
