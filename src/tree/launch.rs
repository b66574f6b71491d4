//! How a root comes to life: its adapter, its connection, its process. The root is started by
//! daptree and joins the adapter like any other process.

use super::{
    Asker, Connection, ConnectionId, ConnectionRole, Effect, Origin, Phase, Prepared, Run, Tree,
    TreeData,
};
use crate::adapter::Policy;
use daptree_model::{
    Answer, AttachTarget, Event, Follow, LaunchRequest, ProcessKey, Row, RowId, RowState, TreeState,
};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Tree {
    /// Makes a root for a program and starts it.
    pub(super) fn launch(&mut self, asker: Asker, request: LaunchRequest) {
        let words = words_of(&request);
        let name = words
            .first()
            .map(|word| base_name(word))
            .unwrap_or_default();
        let root = self.add_row(None, |id| Row {
            command: words,
            state: RowState::Created,
            stops_world: request.stop_the_world,
            ..Row::new(id, name)
        });
        self.begin_tree(root, Origin::Launch(Arc::new(request)));
        self.reply(asker, Ok(Answer::Launched(root)));
    }

    /// Makes the tree of a root and starts its first run.
    pub(super) fn begin_tree(&mut self, root: RowId, origin: Origin) {
        for spec in origin.breakpoints() {
            if let Err(error) = self.put_breakpoint(spec.clone()) {
                self.notice("breakpoints", error.to_string(), Some(root), true);
            }
        }
        self.choose_filters(origin.exceptions());
        let tree = TreeData {
            run: 0,
            origin,
            state: TreeState::Ended,
            policy: None,
            adapter: String::new(),
            own_streams: false,
            endpoint: None,
            spawning: false,
            children_released: 0,
            rows_dropped: 0,
            surveying: false,
            place: super::whereabouts::Place::default(),
            seen: None,
            held: Vec::new(),
            fresh: BTreeSet::new(),
            scanning: false,
            late_until: None,
            ended_said: false,
        };
        self.trees.insert(root, tree);
        self.start_run(root);
    }

    /// Starts a root that is not running, with the settings it has.
    pub(super) fn start_run(&mut self, root: RowId) {
        if let Some(earlier) = self.run_of(root) {
            self.close_connections(earlier);
        }
        let parked = self
            .rows
            .get(&root)
            .filter(|data| data.adopt_by.is_some())
            .and_then(|data| data.view.process);
        if let Some(process) = parked {
            // Of a run that was detached a moment ago: nobody would let it go any more.
            self.end_processes(vec![process]);
        }
        let Some(tree) = self.trees.get_mut(&root) else {
            return;
        };
        tree.run += 1;
        let first = match tree.origin.target() {
            Some(AttachTarget::Listening { .. }) => "connecting",
            _ => "looking for the interpreter and debugpy",
        };
        tree.state = TreeState::Preparing(first.to_owned());
        tree.place = super::whereabouts::Place::of(&tree.origin);
        tree.held.clear();
        tree.fresh.clear();
        tree.scanning = false;
        tree.endpoint = None;
        tree.spawning = false;
        tree.children_released = 0;
        tree.rows_dropped = 0;
        tree.surveying = false;
        tree.late_until = None;
        tree.ended_said = false;
        let run = Run {
            root,
            number: tree.run,
        };
        let origin = tree.origin.clone();
        if let Some(data) = self.rows.get_mut(&root) {
            data.reset_session();
            data.cause = None;
        }
        self.change_row(root, |row| {
            row.state = RowState::Starting;
            row.follow = Follow::Adopted;
            row.reason = None;
            row.process = None;
            row.stopped = None;
            row.held = false;
            row.pausing = false;
            row.last_place = None;
            row.end = None;
            row.ended_at = None;
            row.execs = 0;
        });
        self.forget_breakpoint_answers(root);
        self.effect(Effect::Start(run, origin));
    }

    pub(super) fn start_progress(&mut self, run: Run, text: String) {
        let Some(tree) = self.tree_of(run) else {
            return;
        };
        if matches!(tree.state, TreeState::Preparing(_)) {
            tree.state = TreeState::Preparing(text.clone());
            self.event(Event::Progress {
                root: run.root,
                text,
            });
        }
    }

    pub(super) fn adapter_ready(&mut self, run: Run, prepared: Prepared) {
        let Some(tree) = self.tree_of(run) else {
            self.effect(Effect::StopAdapter(run));
            return;
        };
        if !matches!(tree.state, TreeState::Preparing(_)) {
            self.effect(Effect::StopAdapter(run));
            return;
        }
        let language = prepared.policy.language().to_owned();
        tree.policy = Some(prepared.policy);
        tree.adapter = prepared.adapter;
        tree.own_streams = prepared.own_streams;
        let next = match tree.origin.target() {
            None => "starting the program".to_owned(),
            Some(AttachTarget::Process { pid }) => format!("putting the debugger into pid {pid}"),
            Some(target) => format!("attaching to {target}"),
        };
        tree.state = TreeState::Preparing(next);
        tree.endpoint = Some((prepared.host.clone(), prepared.port));
        self.change_row(run.root, |row| {
            row.name = prepared.name;
            row.program = prepared.program;
            row.command = prepared.command;
            row.language = Some(language);
        });
        self.connect(
            run.root,
            run,
            ConnectionRole::Session,
            prepared.host,
            prepared.port,
        );
        // What runs below it before the debugger is in it.
        self.scan(run);
    }

    /// Nothing of the program ran: the tree says why.
    pub(super) fn start_failed(&mut self, run: Run, message: String) {
        let Some(tree) = self.tree_of(run) else {
            return;
        };
        if tree.state == TreeState::Ending
            && self
                .view(run.root)
                .is_some_and(|view| view.process.is_none())
        {
            self.change_row(run.root, |row| row.state = RowState::Ended);
            self.end_spawned(run.root);
            return;
        }
        let Some(tree) = self.tree_of(run) else {
            return;
        };
        if !matches!(tree.state, TreeState::Preparing(_)) {
            return;
        }
        tree.state = TreeState::Failed(message.clone());
        tree.ended_said = true;
        self.change_row(run.root, |row| {
            row.state = RowState::Ended;
            row.reason = Some(message.clone());
        });
        self.effect(Effect::StopAdapter(run));
        self.close_connections(run);
        self.notice("launch", message.clone(), Some(run.root), true);
        self.event(Event::LaunchFailed {
            root: run.root,
            message,
        });
    }

    /// Opens a connection for a row.
    pub(super) fn connect(
        &mut self,
        row: RowId,
        run: Run,
        role: ConnectionRole,
        host: String,
        port: u16,
    ) -> ConnectionId {
        self.last_connection += 1;
        let connection = ConnectionId(self.last_connection);
        let data = Connection {
            row,
            run,
            role,
            phase: Phase::Opening,
            next_seq: 1,
            lane: super::requests::Lane::default(),
            filters: Vec::new(),
            functions: None,
        };
        self.connections.insert(connection, data);
        if let (ConnectionRole::Session, Some(data)) = (role, self.rows.get_mut(&row)) {
            data.connection = Some(connection);
            data.terminated = false;
            data.found_alive = 0;
        }
        let name = format!("{row}{connection}");
        self.effect(Effect::Connect {
            connection,
            name,
            host,
            port,
        });
        connection
    }

    /// The adapter waits for the root: start it, once.
    pub(super) fn root_wanted(&mut self, run: Run, host: String, port: u16) {
        let Some(tree) = self.tree_of(run) else {
            return;
        };
        if tree.spawning || !matches!(tree.state, TreeState::Preparing(_)) {
            return;
        }
        if tree.origin.is_attach() {
            self.waits_for_program(run, &host, port);
            return;
        }
        tree.spawning = true;
        self.effect(Effect::Spawn(run, host, port));
    }

    pub(super) fn root_spawned(&mut self, run: Run, process: ProcessKey) {
        let state = self.tree_of(run).map(|tree| tree.state.clone());
        let wanted = matches!(state, Some(TreeState::Preparing(_)));
        let ending = state == Some(TreeState::Ending);
        if let Some(tree) = self.tree_of(run).filter(|_| wanted) {
            tree.state = TreeState::Running;
        }
        if !wanted && !ending {
            // Its run is over already.
            self.last_operation += 1;
            let operation = self.last_operation;
            let processes = vec![process];
            self.effect(Effect::EndProcesses {
                operation,
                processes,
                whole: Some(run),
            });
            return;
        }
        self.change_row(run.root, |row| row.process = Some(process));
        self.watch(run.root, process);
        self.announce(run.root);
        if ending {
            self.end_spawned(run.root);
        }
    }

    /// The adapter's process is gone: its sessions are over, its processes run on.
    pub(super) fn adapter_gone(&mut self, run: Run, message: &str) {
        let Some(tree) = self.tree_of(run) else {
            return;
        };
        if matches!(tree.state, TreeState::Preparing(_)) && !tree.spawning {
            self.start_failed(run, message.to_owned());
            return;
        }
        tree.endpoint = None;
        // Its sessions broke with it, and what stood at a stop runs on from there.
        for data in self.rows.values_mut() {
            if data.view.root == run.root && data.view.state == RowState::Failed {
                data.fell_at = None;
            }
        }
        let Some(tree) = self.tree_of(run) else {
            return;
        };
        // An adapter that nothing needs any more may go.
        if tree.state.is_live() && tree.state != TreeState::Ending && self.holds_its_tree(run.root)
        {
            let (what, words) = message.split_once(';').unwrap_or((message, ""));
            let message = format!(
                "{what}: its sessions are over, the program runs on without a debugger; {words}"
            );
            let message = message.trim_end_matches([';', ' ']).to_owned();
            self.notice("adapterGone", message, Some(run.root), true);
        }
    }

    pub(super) fn policy_of(&self, root: RowId) -> Option<Arc<dyn Policy>> {
        self.trees.get(&root).and_then(|tree| tree.policy.clone())
    }
}

fn words_of(request: &LaunchRequest) -> Vec<String> {
    request
        .words
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

fn base_name(word: &str) -> String {
    word.rsplit('/').next().unwrap_or(word).to_owned()
}
