//! The process table: processes start, are reported, and end by themselves or are ended. It must not
//! know what the core makes of them.

use super::{Bench, ROOT_PID};
use crate::dap::message::{Message, Request};
use crate::tree::{ConnectionId, Input, Run, Seen};
use daptree_model::{EndStatus, ProcessKey, RowId};
use serde_json::{Value, json};
use std::collections::BTreeSet;

impl Bench {
    /// A process that starts; it says nothing yet.
    pub fn process(&mut self, pid: u32, parent: u32, command: &[&str]) -> ProcessKey {
        let seen = seen(pid, parent, command);
        let process = seen.process;
        self.processes.insert(pid, seen);
        process
    }

    /// A child of a session is reported; `child-PID.py` unless the process is known already.
    pub fn report(&mut self, parent: RowId, pid: u32) -> RowId {
        let connection = self.connection(parent);
        if !self.processes.contains_key(&pid) {
            let above = self.row(parent).process.unwrap().pid;
            let name = format!("child-{pid}.py");
            self.process(pid, above, &["python", &name]);
        }
        self.report_on(connection, pid);
        self.row_of(pid)
            .unwrap_or_else(|| panic!("pid {pid} got no row"))
    }

    /// A report in the form of a request.
    pub fn report_on(&mut self, connection: ConnectionId, pid: u32) {
        self.seq += 1;
        let arguments = json!({ "request": "attach", "configuration": configuration(pid) });
        let request = Request::new(self.seq, "startDebugging", Some(arguments));
        self.feed(Input::Dap(connection, Message::Request(request)));
    }

    /// A report in the form of an event.
    pub fn report_by_event(&mut self, connection: ConnectionId, pid: u32) {
        self.say(connection, "debugpyAttach", configuration(pid));
    }

    /// A process ends by itself.
    pub fn end(&mut self, pid: u32, status: EndStatus) {
        let seen = self.processes.remove(&pid).unwrap();
        self.feed(Input::Gone(seen.process, status));
    }

    /// The root's process starts and connects to the adapter that waits for it.
    pub fn root_joins(&mut self, run: Run) {
        let process = self.process(ROOT_PID, 1, &["python", "main.py"]);
        self.queue.push_back(Input::Spawned(run, process));
        if let Some(connection) = self.waiting_root.take() {
            self.event_later(connection, "initialized", json!({}));
        }
    }

    pub(super) fn kill(&mut self, processes: &[ProcessKey], whole: bool) {
        let mut pids: BTreeSet<u32> = processes.iter().map(|process| process.pid).collect();
        if whole {
            pids.extend(self.processes.keys());
        }
        for _ in 0..self.processes.len() {
            let below = self
                .processes
                .values()
                .filter(|seen| pids.contains(&seen.parent));
            let below: Vec<u32> = below.map(|seen| seen.process.pid).collect();
            pids.extend(below);
        }
        for pid in pids.difference(&self.immortal) {
            if let Some(seen) = self.processes.remove(pid) {
                let status = EndStatus::Signaled(15);
                self.queue.push_back(Input::Gone(seen.process, status));
            }
        }
    }

    /// These processes, as far as they live, and all below them, parents first.
    pub(super) fn below(&self, processes: &[ProcessKey]) -> Vec<Seen> {
        let live = self.processes.values();
        let live = live.filter(|seen| processes.contains(&seen.process));
        let mut out: Vec<Seen> = live.cloned().collect();
        let mut at = 0;
        while let Some(above) = out.get(at).map(|seen| seen.process.pid) {
            let children = self.processes.values().filter(|seen| seen.parent == above);
            let new = |seen: &&Seen| !out.iter().any(|known| known.process == seen.process);
            let children: Vec<Seen> = children.filter(new).cloned().collect();
            out.extend(children);
            at += 1;
        }
        out
    }

    pub(super) fn with_ancestors(&self, pid: u32) -> Vec<Seen> {
        let mut out = Vec::new();
        let mut at = pid;
        while let Some(seen) = self.processes.get(&at) {
            out.push(seen.clone());
            at = seen.parent;
        }
        out
    }
}

/// A process as the process table shows it.
pub fn seen(pid: u32, parent: u32, command: &[&str]) -> Seen {
    Seen {
        process: ProcessKey {
            pid,
            start: u64::from(pid) + 1,
        },
        parent,
        command: command.iter().map(|word| (*word).to_owned()).collect(),
        short_name: command.first().copied().unwrap_or("python").to_owned(),
        cwd: Some("/p".to_owned()),
    }
}

/// The attach configuration of a report.
fn configuration(pid: u32) -> Value {
    json!({
        "type": "python", "subProcessId": pid, "name": format!("Subprocess {pid}"),
        "connect": { "host": "127.0.0.1", "port": 5678 },
    })
}
