//! Roots that daptree did not start, and rows that are attached to while they run: looked at first,
//! reached over their own adapter or ours, given up where that fails. It must not know how the debugger gets
//! into a process; adapters do that.

use super::requests::ANSWER;
use super::timers::Timer;
use super::whereabouts::Place;
use super::{Asker, ConnectionId, ConnectionRole, Effect, Origin, Run, Seen, Tree};
use crate::adapter::Report;
use daptree_model::{
    Answer, AttachRequest, AttachTarget, EngineError, Event, Follow, ProcessKey, Refusal, Row,
    RowId, RowState, TreeState, address,
};
use std::sync::Arc;

/// How long who answers at a port may take for the first word, in ms.
const GREETING: u64 = 5_000;
/// How long the debugger may take to get into a process, in ms.
const INJECTION: u64 = 30_000;
/// How long the adapter may take to give back a process that was let go, in ms.
const RETURN: u64 = 5_000;
/// How long a program that connects is waited for, in ms: as good as for ever.
const CONNECTION: u64 = 10 * 365 * 24 * 3_600_000;
/// How soon an attach is tried again that came before its process did, in ms.
const NOT_YET: u64 = 100;
/// How much of what an adapter says during an attach is kept, in bytes.
const SAID: usize = 16_384;

/// A process that is being looked at before it is attached to.
#[derive(Debug)]
pub(super) struct Examination {
    asker: Asker,
    pid: u32,
    wanted: Wanted,
}

impl Examination {
    /// Who is told.
    pub(super) fn asker(&self) -> Asker {
        self.asker
    }
}

/// What is to become of a process.
#[derive(Debug)]
enum Wanted {
    /// The root of a tree of its own.
    Root(Box<AttachRequest>),
    /// A session of the tree that it is in.
    Row(RowId),
}

/// How long `initialize` and `attach` of a session may take, in ms.
pub(super) fn limits(report: Option<&Report>, target: Option<&AttachTarget>) -> (u64, u64) {
    match (report, target) {
        (Some(_), None) => (ANSWER, ANSWER),
        (Some(_), Some(_)) | (None, Some(AttachTarget::Process { .. })) => (ANSWER, INJECTION),
        (None, Some(AttachTarget::Listening { .. })) => (GREETING, ANSWER),
        (None, Some(AttachTarget::Listen { .. })) => (ANSWER, CONNECTION),
        (None, None) => (ANSWER, 60_000),
    }
}

impl Tree {
    /// Makes a root of a program that runs already, or waits for one.
    pub(super) fn attach(&mut self, asker: Asker, request: AttachRequest) {
        if let AttachTarget::Process { pid } = request.target {
            self.examine(asker, pid, Wanted::Root(Box::new(request)));
            return;
        }
        let root = self.begin_attach(request, None);
        self.reply(asker, Ok(Answer::Launched(root)));
    }

    fn begin_attach(&mut self, request: AttachRequest, seen: Option<&Seen>) -> RowId {
        let name = request.target.to_string();
        let root = self.add_row(None, |id| Row {
            state: RowState::Created,
            ..Row::new(id, name)
        });
        self.begin_tree(root, Origin::Attach(Arc::new(request)));
        if let Some(seen) = seen {
            if let Some(data) = self.rows.get_mut(&root) {
                data.injected = true;
            }
            self.change_row(root, |row| {
                row.process = Some(seen.process);
                row.command.clone_from(&seen.command);
            });
            if let Some(tree) = self.trees.get_mut(&root) {
                tree.seen = Some(seen.clone());
            }
            self.watch(root, seen.process);
        }
        root
    }

    fn examine(&mut self, asker: Asker, pid: u32, wanted: Wanted) {
        self.last_operation += 1;
        let operation = self.last_operation;
        let examination = Examination { asker, pid, wanted };
        self.examinations.insert(operation, examination);
        self.effect(Effect::Examine(operation, pid));
    }

    /// A process was looked at: it can be attached to, or not.
    pub(super) fn examined(&mut self, operation: u64, result: Result<Seen, Refusal>) {
        let Some(Examination { asker, pid, wanted }) = self.examinations.remove(&operation) else {
            return;
        };
        let taken = |seen: &Seen| match &wanted {
            Wanted::Root(_) => self.live_row_of(seen.process),
            Wanted::Row(_) => None,
        };
        let result = result.and_then(|seen| match taken(&seen) {
            Some(row) => Err(Refusal::ARow(row)),
            None => Ok(seen),
        });
        let done = match (result, wanted) {
            (Ok(seen), Wanted::Root(request)) => {
                Ok(Answer::Launched(self.begin_attach(*request, Some(&seen))))
            }
            (Ok(seen), Wanted::Row(row)) => {
                if self.live_row_of(seen.process) == Some(row) {
                    self.adopt_running(asker, row, true);
                    return;
                }
                Err(Refusal::Gone)
            }
            (Err(refusal), _) => Err(refusal),
        };
        let target = format!("pid {pid}");
        let done = done.map_err(|refusal| EngineError::CannotAttach { target, refusal });
        self.reply(asker, done);
    }

    /// Attaches to a live row that is not debugged.
    pub(super) fn adopt_live(&mut self, asker: Asker, row: RowId) {
        match self.check_adoptable(row) {
            Err(error) => self.reply(asker, Err(error)),
            // The adapter knows what it let go, and takes it back.
            Ok((_, true)) => self.adopt_running(asker, row, false),
            Ok((process, false)) => self.examine(asker, process.pid, Wanted::Row(row)),
        }
    }

    /// The process of a row that can be attached to, and whether the adapter has it still.
    fn check_adoptable(&self, row: RowId) -> Result<(ProcessKey, bool), EngineError> {
        let data = self.rows.get(&row);
        let data = data.ok_or(EngineError::UnknownSession(row))?;
        let busy = |what: &str| EngineError::Busy {
            row,
            what: what.to_owned(),
        };
        if data.view.is_ended() {
            return Err(EngineError::Gone(row));
        }
        if data.view.is_session() {
            return Err(busy("it is debugged already"));
        }
        if data.adopt_by.is_some() {
            return Err(busy("it is being let go"));
        }
        let tree = self.trees.get(&data.view.root);
        let up = tree.is_some_and(|tree| {
            tree.state == TreeState::Running && tree.endpoint.is_some() && tree.place == Place::Here
        });
        let process = data.view.process.filter(|_| up);
        let process = process.ok_or_else(|| {
            let why = "its tree has no adapter on this machine any more".to_owned();
            EngineError::NotASession(row, why)
        })?;
        Ok((process, data.view.follow == Follow::Released))
    }

    /// Opens the session of a row that runs: the debugger is put into it, or is in it already.
    fn adopt_running(&mut self, asker: Asker, row: RowId, inject: bool) {
        let run = self.run_of(row);
        let endpoint = run
            .and_then(|run| self.tree_of(run))
            .and_then(|tree| Some((tree.endpoint.clone()?, tree.policy.clone()?)));
        let process = self.view(row).and_then(|view| view.process);
        let (Some(run), Some(((host, port), policy)), Some(process)) = (run, endpoint, process)
        else {
            self.reply(asker, Err(EngineError::Gone(row)));
            return;
        };
        let report = if inject {
            policy.injected(process.pid, &host, port)
        } else {
            policy.unreported(process.pid, &host, port)
        };
        let by = self.now.after(if inject { INJECTION } else { RETURN });
        let language = policy.language().to_owned();
        if let Some(data) = self.rows.get_mut(&row) {
            data.reset_session();
            data.report = Some(report);
            data.adopt_by = Some(by);
            data.adopter = Some(asker);
            data.injected = inject;
            data.surveyed = false;
            data.said.clear();
        }
        self.change_row(row, |view| {
            view.follow = Follow::Adopted;
            view.state = RowState::Adopting;
            view.reason = None;
            view.language = Some(language);
        });
        self.announce(row);
        self.timers.set(by, Timer::Adoption(row));
        self.connect(row, run, ConnectionRole::Session, host, port);
        self.scan(run);
    }

    /// An attach to a row that ran came to nothing: the row is as it was. Says whether there was
    /// one.
    pub(super) fn attach_given_up(&mut self, row: RowId, why: &str) -> bool {
        let Some(data) = self.rows.get(&row) else {
            return false;
        };
        // Who was started under the debugger waits at the adapter: it has to be let go.
        let found = data.unreported && !data.followed;
        if data.adopter.is_none() && !found {
            return false;
        }
        let why = match (&data.said, self.policy_of(data.view.root)) {
            (said, Some(policy)) => policy
                .injection_failure(said)
                .unwrap_or_else(|| why.to_owned()),
            _ => why.to_owned(),
        };
        if let Some(data) = self.rows.get_mut(&row) {
            data.report = None;
            data.injected = false;
        }
        let reason = if found {
            "not reached by the debugger".to_owned()
        } else {
            format!("could not be attached to: {why}")
        };
        self.change_row(row, |view| {
            view.follow = Follow::Unfollowed;
            view.reason = Some(reason);
            view.state = RowState::Running;
            view.language = None;
        });
        self.announce(row);
        self.answer_adopter(row, Err(EngineError::Failed(format!("{row}: {why}"))));
        if let Some(root) = self.view(row).map(|view| view.root) {
            self.check_over(root);
        }
        true
    }

    /// Answers who asked for the attach of a row, if somebody waits.
    pub(super) fn answer_adopter(&mut self, row: RowId, result: Result<Answer, EngineError>) {
        let adopter = self.rows.get_mut(&row).and_then(|data| data.adopter.take());
        if let Some(asker) = adopter {
            self.reply(asker, result);
        }
    }

    /// An `attach` was answered although the adapter has no such process: it may come yet.
    pub(super) fn not_known(&mut self, connection: ConnectionId, row: RowId, role: ConnectionRole) {
        let Some(data) = self.rows.get(&row).filter(|data| data.unreported) else {
            return;
        };
        let current = data.connection == Some(connection) || role == ConnectionRole::Release;
        let in_time = data.adopt_by.is_some_and(|by| self.now.after(NOT_YET) < by);
        if current && in_time {
            self.close(connection);
            self.timers.set(self.now.after(NOT_YET), Timer::Attach(row));
        }
    }

    /// A session is live.
    pub(super) fn joined(&mut self, row: RowId) {
        self.answer_adopter(row, Ok(Answer::Done));
        let Some(run) = self.run_of(row) else {
            return;
        };
        if row == run.root
            && let Some(tree) = self.tree_of(run)
            && tree.origin.is_attach()
            && matches!(tree.state, TreeState::Preparing(_))
        {
            tree.state = TreeState::Running;
            self.change_row(row, |view| view.state = RowState::Running);
            self.announce(row);
        }
        if self.rows.get(&row).is_some_and(|data| data.injected) {
            self.scan(run);
        }
    }

    /// An adapter waits for a program: says for whom and where.
    pub(super) fn waits_for_program(&mut self, run: Run, host: &str, port: u16) {
        let Some(tree) = self.tree_of(run) else {
            return;
        };
        let (Some(AttachTarget::Listen { host: wanted, .. }), Some(policy)) =
            (tree.origin.target(), tree.policy.clone())
        else {
            return;
        };
        // The adapter resolves names: what the user typed is what others know us by.
        let host = if wanted.is_empty() {
            host
        } else {
            wanted.as_str()
        };
        let command = policy.connect_command(host, port);
        let text = format!(
            "listening on {}; on the other side: {command}",
            address(host, port)
        );
        tree.state = TreeState::Preparing(text.clone());
        if let Origin::Attach(request) = &mut tree.origin
            && let AttachTarget::Listen { port: known, .. } = &mut Arc::make_mut(request).target
        {
            // The next program is waited for at the same place.
            *known = port;
        }
        let root = run.root;
        self.event(Event::Progress { root, text });
    }

    /// A program that had connected is over: the next one is waited for, as another tree.
    pub(super) fn listen_again(&mut self, root: RowId) {
        let again = match self.trees.get(&root).map(|tree| &tree.origin) {
            Some(Origin::Attach(request)) => {
                let listens = matches!(request.target, AttachTarget::Listen { .. });
                listens.then(|| AttachRequest::clone(request))
            }
            _ => None,
        };
        if let Some(mut request) = again.filter(|_| self.shutdowns.is_empty()) {
            // Those that were removed since are not to come back.
            request.breakpoints.clear();
            request.exceptions.clear();
            self.begin_attach(request, None);
        }
    }

    /// Keeps what an adapter says while it attaches to a process, and gives up as soon as it says
    /// that it failed. Says whether the text was such.
    pub(super) fn said_while_attaching(&mut self, row: RowId, text: &str) -> bool {
        let Some(run) = self.run_of(row) else {
            return false;
        };
        if self
            .policy_of(run.root)
            .is_some_and(|policy| policy.is_injection_chat(text))
            && self.rows.get(&row).is_some_and(|data| data.injected)
        {
            return true;
        }
        let preparing = row == run.root
            && self.tree_of(run).is_some_and(|tree| {
                tree.origin.is_attach() && matches!(tree.state, TreeState::Preparing(_))
            });
        let Some(data) = self.rows.get_mut(&row) else {
            return false;
        };
        if !preparing && (data.adopter.is_none() || data.adopt_by.is_none()) {
            return false;
        }
        if data.said.len() < SAID {
            data.said.push_str(text);
        }
        let (said, connection) = (data.said.clone(), data.connection);
        let failure = self
            .policy_of(run.root)
            .and_then(|policy| policy.injection_failure(&said));
        if let (Some(why), Some(connection)) = (failure, connection) {
            self.attach_failed(connection, &why);
        }
        true
    }

    /// Why a root did not come about, and what to do.
    pub(super) fn start_trouble(&self, run: Run, why: &str) -> String {
        let tree = self.trees.get(&run.root);
        let Some(target) = tree.and_then(|tree| tree.origin.target()) else {
            return format!("the adapter refused the program's session: {why}");
        };
        let said = self.rows.get(&run.root).map_or("", |data| &data.said);
        let why = self
            .policy_of(run.root)
            .and_then(|policy| policy.injection_failure(said))
            .unwrap_or_else(|| bare(why));
        let remedy = match target {
            AttachTarget::Listening { port, .. } if why.contains("already being debugged") => {
                format!("another debugger is attached there; detach it, then try {port} again")
            }
            AttachTarget::Listening { port, .. } => format!(
                "a program waits there when it was started so: python -m debugpy --listen {port} \
                 PROGRAM"
            ),
            AttachTarget::Process { .. } if why.contains("not permitted") => {
                "the kernel or a seccomp filter forbids ptrace here; in a container, start it with \
                 --cap-add=SYS_PTRACE"
                    .to_owned()
            }
            AttachTarget::Process { .. } => {
                "the debugger cannot be put into it; start the program under `python -m debugpy \
                 --listen PORT` and attach to the port"
                    .to_owned()
            }
            AttachTarget::Listen { .. } => "choose another address or port".to_owned(),
        };
        format!("{target} could not be attached to: {why}; {remedy}")
    }

    /// A process that was being attached to as a root ended before. Says whether it was such.
    pub(super) fn ended_while_attaching(&mut self, row: RowId) -> bool {
        let Some(run) = self.run_of(row).filter(|run| run.root == row) else {
            return false;
        };
        let attaching = self.tree_of(run).is_some_and(|tree| {
            tree.origin.is_attach() && matches!(tree.state, TreeState::Preparing(_))
        });
        if attaching {
            let message = self.start_trouble(run, "it ended before the debugger was in it");
            self.start_failed(run, message);
        }
        attaching
    }

    /// Whether a row belongs to a root that daptree did not start.
    pub(super) fn is_of_attach(&self, row: RowId) -> bool {
        let root = self.view(row).map(|view| view.root);
        root.and_then(|root| self.trees.get(&root))
            .is_some_and(|tree| tree.origin.is_attach())
    }

    /// Whether a row is a root that daptree did not start.
    pub(super) fn is_attach_root(&self, row: RowId) -> bool {
        self.view(row).is_some_and(|view| view.root == row) && self.is_of_attach(row)
    }
}

/// What went wrong on a connection, without its name and the advice for an adapter of ours.
fn bare(why: &str) -> String {
    let why = match why.strip_prefix("connection ") {
        Some(rest) => rest.split_once(": ").map_or(rest, |(_, why)| why),
        None => why,
    };
    let why = why.split_once("; see whether").map_or(why, |(why, _)| why);
    why.to_owned()
}
