//! Fetching what front ends look at: threads, frames, scopes and pages of a stop, level by level
//! and pipelined, once each. What belongs to another stop is dropped.

use super::requests::Asked;
use super::row::{Fetch, RowData};
use super::timers::Timer;
use super::{Asker, Tree};
use crate::dap::message::Response;
use crate::dap::types::{ScopesResponse, StackTraceResponse, ThreadsResponse};
use daptree_model::{EngineError, Inspect, Interest, PAGE, Page, RowId, StopNumber, Thread};
use serde_json::json;
use std::sync::Arc;

/// How many frames are fetched at once.
pub(super) const LEVELS: u32 = 200;
/// How long a session stands before its stop is fetched without anybody looking at it, in ms.
pub(super) const KEEP: u64 = 100;
/// How long a half-fetched inspection is held back so that it is shown whole, in ms.
const SHOW: u64 = 60;

impl RowData {
    /// A new stop: nothing is known of it yet.
    pub(super) fn begin_inspect(&mut self, stop: StopNumber) {
        self.inspect = Inspect {
            row: self.view.id,
            stop,
            ..Inspect::default()
        };
        self.asked.clear();
        self.in_flight = 0;
        self.keeps = false;
    }

    /// Forgets everything of the present session, for a new one in its place.
    pub(super) fn reset_session(&mut self) {
        self.connection = None;
        self.report = None;
        self.adopt_by = None;
        self.releasing = false;
        self.adapter_breakpoints.clear();
        self.told.clear();
        self.looks.clear();
        self.looking = false;
        self.resuming = None;
        self.passing = None;
        self.forget_pause();
        self.fell_at = None;
        self.broke_away = None;
        self.stands_since = None;
        self.terminated = false;
        self.found_alive = 0;
        self.named = false;
        self.naming = false;
        self.unnamed = 0;
        self.entering = false;
        self.arriving = None;
        self.shown = None;
        self.begin_inspect(StopNumber(0));
    }
}

impl Tree {
    pub(super) fn interests_in(&self, row: RowId) -> impl Iterator<Item = &Interest> {
        self.clients
            .values()
            .flat_map(|client| client.interests.iter())
            .filter(move |interest| interest.row == row)
    }

    /// Something changed what the values of a stop may be: fetch them again.
    pub(super) fn drop_inspect(&mut self, row: RowId) {
        let known = self.rows.get_mut(&row);
        // Of a stop that is not shown yet nothing was fetched that could have changed.
        let Some(data) = known.filter(|data| data.arriving.is_none()) else {
            return;
        };
        let stop = data.view.stop;
        let kept = std::mem::take(&mut data.inspect.threads);
        let stacks = std::mem::take(&mut data.inspect.stacks);
        data.begin_inspect(stop);
        data.inspect.threads = kept;
        data.inspect.stacks = stacks;
        let connection = data.connection;
        // What was asked before the change is not heard.
        for (key, pending) in &mut self.pending {
            if Some(key.0) == connection && pending.what.is_fetch() {
                pending.what = Asked::Nothing;
            }
        }
        self.fetch(row);
    }

    pub(super) fn fetch_threads(&mut self, row: RowId) {
        if self.interests_in(row).next().is_some() {
            let stop = self
                .rows
                .get(&row)
                .map(|data| data.inspect.stop)
                .unwrap_or_default();
            self.fetch_once(
                row,
                Fetch::Threads,
                "threads",
                json!({}),
                Asked::Threads { stop },
            );
        }
    }

    /// Asks for whatever the interests in a paused session still lack.
    pub(super) fn fetch(&mut self, row: RowId) {
        let mut interests: Vec<Interest> = self.interests_in(row).cloned().collect();
        let is_seen = !interests.is_empty();
        if !is_seen && self.rows.get(&row).is_some_and(|data| data.keeps) {
            interests.push(Interest {
                row,
                ..Interest::default()
            });
        }
        if interests.is_empty() || self.view(row).is_none_or(|view| !view.is_paused()) {
            return;
        }
        self.fetch_threads(row);
        for interest in &interests {
            self.fetch_for(row, interest);
        }
        let Some(data) = self.rows.get(&row).filter(|_| is_seen) else {
            return;
        };
        let stop = data.view.stop;
        if data.in_flight == 0 {
            self.show_inspect(row, stop.0);
        } else {
            self.timers
                .set(self.now.after(SHOW), Timer::Show(row, stop.0));
        }
    }

    /// A session stands for a while and nobody looks at it: it may end there.
    pub(super) fn fetch_to_keep(&mut self, row: RowId, stop: u32) {
        let Some(data) = self.rows.get_mut(&row) else {
            return;
        };
        if data.view.is_paused() && data.view.stop.0 == stop {
            data.keeps = true;
            self.fetch(row);
        }
    }

    fn fetch_for(&mut self, row: RowId, interest: &Interest) {
        let Some(data) = self.rows.get(&row) else {
            return;
        };
        let stop = data.view.stop;
        let stopped_in = data.view.stopped.as_ref().and_then(|stop| stop.thread);
        let Some(thread) = interest.thread.or(stopped_in) else {
            return;
        };
        let stack = data.inspect.stacks.get(&thread);
        let known = stack.map_or(0, |stack| stack.frames.len());
        let more = stack.is_none_or(|stack| stack.total.is_none_or(|total| total as usize > known));
        if known == 0 || (more && known < LEVELS as usize) {
            let arguments = json!({ "threadId": thread, "startFrame": 0, "levels": LEVELS });
            let what = Asked::Stack { stop, thread };
            self.fetch_once(row, Fetch::Stack(thread), "stackTrace", arguments, what);
        }
        let Some(data) = self.rows.get(&row) else {
            return;
        };
        let Some(frame) = data
            .inspect
            .stacks
            .get(&thread)
            .and_then(|stack| stack.frames.get(interest.frame))
            .map(|frame| frame.id)
        else {
            return;
        };
        for expression in &interest.watches {
            let arguments =
                json!({ "expression": expression, "frameId": frame, "context": "watch" });
            let what = Asked::Watch {
                stop,
                expression: expression.clone(),
            };
            let fetch = Fetch::Watch(frame, expression.clone());
            self.fetch_once(row, fetch, "evaluate", arguments, what);
        }
        let arguments = json!({ "frameId": frame });
        let what = Asked::Scopes { stop, frame };
        self.fetch_once(row, Fetch::Scopes(frame), "scopes", arguments, what);
        self.fetch_pages(row, interest, frame, stop);
    }

    /// The pages of the scopes and variables that are open, as far down as they are known.
    fn fetch_pages(&mut self, row: RowId, interest: &Interest, frame: i64, stop: StopNumber) {
        let Some(data) = self.rows.get(&row) else {
            return;
        };
        let mut wanted: Vec<(i64, u32)> = Vec::new();
        let scopes = data
            .inspect
            .scopes
            .get(&frame)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let first = scopes.iter().find(|scope| !scope.expensive);
        if let Some(scope) = first {
            let named = interest
                .open
                .iter()
                .any(|open| open.path == [scope.name.as_str()]);
            if !named {
                wanted.push((scope.reference, PAGE));
            }
        }
        for open in &interest.open {
            let mut path = open.path.iter();
            let Some(scope) = path
                .next()
                .and_then(|name| scopes.iter().find(|scope| scope.name == *name))
            else {
                continue;
            };
            let mut reference = scope.reference;
            let found = path.all(|name| {
                let child = data
                    .inspect
                    .pages
                    .get(&reference)
                    .and_then(|page| page.variables.iter().find(|child| child.name == *name));
                reference = child.map_or(0, |child| child.reference);
                reference != 0
            });
            if found {
                wanted.push((reference, open.limit.max(1)));
            }
        }
        for (reference, limit) in wanted {
            let arguments = json!({ "variablesReference": reference, "start": 0, "count": limit });
            let what = Asked::Page {
                stop,
                reference,
                limit,
            };
            self.fetch_once(
                row,
                Fetch::Page(reference, limit),
                "variables",
                arguments,
                what,
            );
        }
    }

    fn fetch_once(
        &mut self,
        row: RowId,
        fetch: Fetch,
        command: &'static str,
        arguments: serde_json::Value,
        what: Asked,
    ) {
        let Some(data) = self.rows.get_mut(&row) else {
            return;
        };
        if data.connection.is_none() || !data.asked.insert(fetch) {
            return;
        }
        data.in_flight += 1;
        self.ask_row(row, command, arguments, what, None);
    }

    /// An answer that belongs to an inspection, or to a front end's read.
    pub(super) fn fetched(
        &mut self,
        row: RowId,
        what: Asked,
        asker: Option<Asker>,
        result: Result<&Response, EngineError>,
    ) {
        let stop = match &what {
            Asked::Read {
                wanted,
                stop,
                changes,
            } => {
                let current = stop.map_or(Ok(()), |stop| self.check_stop(row, stop));
                match (current, &result) {
                    (Err(stale), Ok(_)) => {
                        if let Some(asker) = asker {
                            self.reply(asker, Err(stale));
                        }
                    }
                    _ => self.read_answered(row, wanted, asker, result),
                }
                if *changes && self.view(row).is_some_and(daptree_model::Row::is_paused) {
                    self.drop_inspect(row);
                }
                return;
            }
            Asked::SetVariable { stop } => {
                let stop = *stop;
                if let Some(asker) = asker {
                    self.variable_set(row, stop, asker, result);
                }
                return;
            }
            Asked::Threads { stop }
            | Asked::Stack { stop, .. }
            | Asked::Scopes { stop, .. }
            | Asked::Page { stop, .. }
            | Asked::Watch { stop, .. } => *stop,
            _ => return,
        };
        let policy = self
            .view(row)
            .map(|view| view.root)
            .and_then(|root| self.policy_of(root));
        let Some(data) = self.rows.get_mut(&row) else {
            return;
        };
        if data.inspect.stop != stop {
            return;
        }
        data.in_flight = data.in_flight.saturating_sub(1);
        let inspect = &mut data.inspect;
        match (what, result) {
            (Asked::Threads { .. }, Ok(response)) => {
                if let Ok(body) = response.body_as::<ThreadsResponse>() {
                    inspect.threads = body
                        .threads
                        .into_iter()
                        .map(|thread| Thread {
                            id: thread.id,
                            name: thread.name,
                        })
                        .collect();
                }
            }
            (Asked::Stack { thread, .. }, Ok(response)) => {
                if let Ok(body) = response.body_as::<StackTraceResponse>() {
                    let stack = super::reads::stack_of(body, policy.as_deref(), &self.maps);
                    inspect.stacks.insert(thread, stack);
                }
            }
            (Asked::Scopes { frame, .. }, Ok(response)) => {
                if let Ok(body) = response.body_as::<ScopesResponse>() {
                    let scopes = body
                        .scopes
                        .into_iter()
                        .map(super::reads::scope_of)
                        .collect();
                    inspect.scopes.insert(frame, scopes);
                }
            }
            (
                Asked::Page {
                    reference, limit, ..
                },
                result,
            ) => {
                let page = match result {
                    Ok(response) => super::reads::page_of(response, limit),
                    Err(error) => Page {
                        error: Some(error.to_string()),
                        ..Page::default()
                    },
                };
                inspect.pages.insert(reference, page);
            }
            (Asked::Watch { expression, .. }, result) => {
                let evaluation = super::reads::evaluation_of(result);
                inspect.watches.insert(expression, evaluation);
            }
            _ => {}
        }
        self.fetch(row);
    }

    /// Lets front ends see what was fetched.
    pub(super) fn show_inspect(&mut self, row: RowId, stop: u32) {
        let Some(data) = self.rows.get_mut(&row) else {
            return;
        };
        if data.inspect.stop.0 != stop {
            return;
        }
        if data.shown.as_deref() != Some(&data.inspect) {
            data.shown = Some(Arc::new(data.inspect.clone()));
            self.dirty = true;
            self.urgent = true;
        }
    }

    pub(super) fn interest_changed(&mut self, client: daptree_model::ClientId, new: Vec<Interest>) {
        if let Some(known) = self.clients.get_mut(&client) {
            let rows: Vec<RowId> = new.iter().map(|interest| interest.row).collect();
            known.interests = new;
            for row in rows {
                self.fetch(row);
            }
        }
    }
}
