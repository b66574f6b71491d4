//! Where a root runs that was attached to: in sight of our process table, or elsewhere, where all that
//! is known of a process is what its adapter says. It must not know how the root was reached.

use super::requests::Asked;
use super::{ConnectionId, Effect, Origin, Phase, Run, Seen, Tree, adoption};
use crate::adapter::Report;
use crate::dap::message::{Request, Response};
use daptree_model::{AttachTarget, EngineError, ProcessKey, RowId};
use serde_json::json;

/// How long a process may take to say where it runs, in ms.
const LOCATION: u64 = 2_000;

/// Where the processes of a tree run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Place {
    /// On this machine and in our pid namespace: the process table knows them.
    #[default]
    Here,
    /// On another machine or in a container: all that is known is what the adapter says.
    Elsewhere,
    /// Not known yet.
    Unknown,
}

impl Place {
    pub(super) fn of(origin: &Origin) -> Self {
        match origin {
            Origin::Launch(_) => Self::Here,
            Origin::Attach(_) => Self::Unknown,
        }
    }
}

impl Tree {
    /// Asks a root that was attached to where it runs, before it goes on. Says whether it did.
    pub(super) fn asks_whereabouts(&mut self, run: Run, connection: ConnectionId) -> bool {
        let Some(tree) = self
            .tree_of(run)
            .filter(|tree| tree.place == Place::Unknown)
        else {
            return false;
        };
        let Some(policy) = tree.policy.clone() else {
            return false;
        };
        let seen = tree.seen.take();
        let expression = policy.whereabouts_expression();
        let arguments = json!({ "expression": expression, "context": "repl" });
        if let Some(seen) = seen {
            // It was looked at before it was attached to; the expression has more to do.
            let (what, limit) = (Asked::Nothing, LOCATION);
            self.ask(connection, "evaluate", arguments, what, limit, None);
            self.located(run, Some(&seen));
            return true;
        }
        let what = Asked::Whereabouts;
        self.ask(connection, "evaluate", arguments, what, LOCATION, None);
        true
    }

    pub(super) fn whereabouts_answered(
        &mut self,
        connection: ConnectionId,
        row: RowId,
        result: &Result<&Response, EngineError>,
    ) {
        if self.phase(connection) != Some(Phase::Configuring) {
            return;
        }
        let Some(run) = self.run_of(row) else {
            return;
        };
        let policy = self.policy_of(row);
        let found = result
            .as_ref()
            .ok()
            .and_then(|response| response.body.as_ref()?.get("result")?.as_str())
            .and_then(|value| policy?.whereabouts_in(value));
        let Some(found) = found else {
            if let Err(error) = result {
                tracing::warn!(%row, "it did not say where it runs: {error}");
            }
            self.located(run, None);
            return;
        };
        if let Some(tree) = self.tree_of(run) {
            tree.adapter = found.debugger.clone().unwrap_or_default();
        }
        let process = self.view(row).and_then(|view| view.process);
        if process.is_none() {
            // For a program elsewhere: nothing that this machine has started at the time 0.
            let (pid, start) = (found.pid, 0);
            self.change_row(row, |view| view.process = Some(ProcessKey { pid, start }));
        }
        self.effect(Effect::Locate(run, found));
    }

    /// Where an attached root runs is known: it goes on.
    pub(super) fn located(&mut self, run: Run, seen: Option<&Seen>) {
        let Some(tree) = self
            .tree_of(run)
            .filter(|tree| tree.place == Place::Unknown)
        else {
            return;
        };
        let root = run.root;
        let injected = matches!(tree.origin.target(), Some(AttachTarget::Process { .. }));
        let is_here = seen.is_some() || injected;
        tree.place = if is_here {
            Place::Here
        } else {
            Place::Elsewhere
        };
        let held = std::mem::take(&mut tree.held);
        let policy = tree.policy.clone();
        if let (Some(seen), Some(policy)) = (seen, policy) {
            let identity = policy.identify(&seen.command);
            let program = super::children::absolute(identity.program, seen.cwd.as_deref());
            let known = self.view(root).and_then(|view| view.process) == Some(seen.process);
            self.change_row(root, |view| {
                view.process = Some(seen.process);
                view.name = identity.name;
                view.program = program;
                view.command = identity.command;
            });
            if !known {
                self.watch(root, seen.process);
            }
        }
        self.announce(root);
        for reported in held {
            if is_here {
                let pid = reported.report.pid;
                if let Some(earlier) = self.reports.insert(pid, reported) {
                    self.acknowledge(&earlier);
                }
                self.effect(Effect::Describe(pid));
            } else {
                self.decide_elsewhere(reported);
            }
        }
        let connection = self.rows.get(&root).and_then(|data| data.connection);
        if let Some(connection) = connection
            && self.phase(connection) == Some(Phase::Configuring)
        {
            self.configuration_done(connection);
        }
    }

    /// Takes a report in; one that comes before it is known where its tree runs is held. Else says
    /// whether that is here.
    pub(super) fn placed(
        &mut self,
        connection: ConnectionId,
        request: Option<Request>,
        report: Report,
    ) -> Option<(adoption::Reported, bool)> {
        let reported = adoption::Reported {
            connection,
            request,
            report,
        };
        let run = self.connections.get(&connection).map(|data| data.run)?;
        let tree = self.tree_of(run)?;
        match tree.place {
            Place::Here => Some((reported, true)),
            Place::Elsewhere => Some((reported, false)),
            Place::Unknown => {
                tree.held.push(reported);
                None
            }
        }
    }

    /// A child of a tree elsewhere: its pid is all that is known of it.
    pub(super) fn decide_elsewhere(&mut self, reported: adoption::Reported) {
        let pid = reported.report.pid;
        let seen = Seen {
            process: ProcessKey { pid, start: 0 },
            parent: 0,
            command: vec![format!("pid {pid}")],
            short_name: String::new(),
            cwd: None,
        };
        self.decide(reported, &[seen]);
    }

    /// Whether a row's process is out of the process table's sight.
    pub(super) fn is_elsewhere(&self, row: RowId) -> bool {
        let root = self.view(row).map(|view| view.root);
        root.and_then(|root| self.trees.get(&root))
            .is_some_and(|tree| tree.place == Place::Elsewhere)
    }

    /// Has the kernel tell when a row's process ends.
    pub(super) fn watch(&mut self, row: RowId, process: ProcessKey) {
        if self.is_elsewhere(row) {
            return;
        }
        self.effect(if self.is_of_attach(row) {
            Effect::Observe(row, process)
        } else {
            Effect::Watch(row, process)
        });
    }
}
