//! What an attach needs of the system: an adapter where it is ours, where a process runs, whether it
//! can be attached to, what is below it. It must not decide what comes of that.

use super::super::{attaching, members};
use super::{Shell, ShellInput};
use crate::adapter::Whereabouts;
use crate::launch;
use crate::tree::{Input, Run};
use daptree_model::{
    Answer, AttachRequest, AttachTarget, ClientId, CommandId, FromEngine, ProcessKey, Reply,
};
use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// How long an adapter that was killed is waited for.
const LEAVING: Duration = Duration::from_secs(2);

impl Shell {
    pub(super) fn start_attach(&mut self, run: Run, request: Arc<AttachRequest>) {
        if let AttachTarget::Listening { host, port } = &request.target {
            // Its adapter is not ours: all there is to do is to connect.
            let prepared = attaching::prepared(&request, String::new(), host.clone(), *port);
            self.next.push_back(Input::AdapterReady(run, prepared));
            return;
        }
        let workshop = self.workshop.clone();
        let leaving = std::mem::take(&mut self.leaving);
        tokio::spawn(async move {
            // One of them may hold the port that is to be listened on.
            for adapter in leaving {
                let _ = timeout(LEAVING, workshop.reaper.watch(adapter)).await;
            }
            workshop.prepare_attach(run, request).await;
        });
    }

    /// Finds a program that says where it runs, if that is here.
    pub(super) fn locate(&mut self, run: Run, whereabouts: &Whereabouts) {
        let mut seen = Vec::new();
        if own_place().is_some_and(|place| place == whereabouts.place) {
            seen = members::with_ancestors(whereabouts.pid, &self.leaders.keys());
            seen.truncate(1);
        }
        self.next.push_front(Input::Located(run, seen));
    }

    pub(super) fn examine(&mut self, operation: u64, pid: u32) {
        let found = launch::attach::examine(pid, &self.own_processes());
        let input = Input::Examined(operation, found.map(members::seen_of));
        self.next.push_front(input);
    }

    pub(super) fn scan(&self, run: Run, processes: Vec<ProcessKey>) {
        let spared = self.helpers();
        let inputs = self.workshop.inputs.clone();
        tokio::task::spawn_blocking(move || {
            let found = members::with_descendants(&processes, &spared);
            let input = Input::Scanned(run, found);
            let _ = inputs.blocking_send(ShellInput::Core(input));
        });
    }

    pub(super) fn read_processes(&self, client: ClientId, id: CommandId) {
        let Some(front) = self.fronts.get(&client).map(super::Front::sender) else {
            return;
        };
        let (ours, rows) = (self.own_processes(), self.tree.rows_by_process());
        tokio::task::spawn_blocking(move || {
            let result = Ok(Answer::Processes(launch::attach::offers(&ours, &rows)));
            front.send(FromEngine::Reply(Reply { id, result }));
        });
    }

    /// daptree, and all that serves it.
    fn own_processes(&self) -> BTreeSet<u32> {
        let mut ours = self.helpers();
        ours.insert(std::process::id());
        ours.extend(self.leaders.keys().iter().map(|key| key.pid));
        ours
    }
}

/// What names this boot of the machine and our pid namespace, as a process says it of itself.
fn own_place() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{} {}", boot.trim(), namespace.display()))
}
