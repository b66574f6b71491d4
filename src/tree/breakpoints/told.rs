//! What each session is told of the breakpoints, and its word on each. A session hears of a file
//! only when what it would be told differs from what it was told: an adapter that is told again
//! begins to count again. It must not know who changed the list, nor why.

use super::super::requests::{ANSWER, Asked};
use super::super::{ConnectionId, ConnectionRole, Phase, Tree};
use super::scope::Concern;
use crate::adapter::Conditions;
use crate::dap::message::{Event as DapEvent, Response};
use crate::dap::types::{Breakpoint as DapBreakpoint, BreakpointEvent, SetBreakpointsResponse};
use daptree_model::{
    Breakpoint, BreakpointAt, BreakpointId, BreakpointStatus, EngineError, Event, Follow, PathMap,
    RowId,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What one session was told: by the path of each file as the program knows it, and of functions.
pub(in super::super) type Told = BTreeMap<Option<String>, Vec<(BreakpointId, Value)>>;

impl Tree {
    /// Tells every configured session what has changed for it, in one burst.
    pub(super) fn tell_all(&mut self) {
        for (row, connection) in self.stopping_sessions() {
            self.tell(row, connection);
        }
    }

    /// Sessions that were told breakpoints already.
    pub(super) fn stopping_sessions(&self) -> Vec<(RowId, ConnectionId)> {
        self.connections
            .iter()
            .filter(|(id, data)| {
                data.role == ConnectionRole::Session
                    && matches!(data.phase, Phase::Configuring | Phase::Live)
                    && self.rows.get(&data.row).is_some_and(|row| {
                        row.connection == Some(**id) && row.view.follow == Follow::Adopted
                    })
            })
            .map(|(id, data)| (data.row, *id))
            .collect()
    }

    /// Tells a session that knows nothing yet.
    pub(in super::super) fn tell_anew(&mut self, row: RowId, connection: ConnectionId) {
        if let Some(data) = self.rows.get_mut(&row) {
            data.told.clear();
        }
        self.tell(row, connection);
    }

    pub(super) fn tell(&mut self, row: RowId, connection: ConnectionId) {
        let (wanted, refused) = self.wanted(row, connection);
        let Some(data) = self.rows.get_mut(&row) else {
            return;
        };
        let told = std::mem::replace(&mut data.told, wanted.clone());
        let named: BTreeSet<BreakpointId> = wanted
            .values()
            .flatten()
            .map(|(id, _)| *id)
            .chain(refused.keys().copied())
            .collect();
        for known in self.breakpoints.values_mut() {
            if !named.contains(&known.id) && known.sessions.contains_key(&row) {
                let known = Arc::make_mut(known);
                known.sessions.remove(&row);
                known.reach.remove(&row);
                self.dirty = true;
            }
        }
        for (id, message) in refused {
            if let Some(known) = self.breakpoints.get_mut(&id) {
                let status = BreakpointStatus::Refused { message };
                Arc::make_mut(known).sessions.insert(row, status);
                self.dirty = true;
            }
        }
        let places: BTreeSet<&Option<String>> = told.keys().chain(wanted.keys()).collect();
        for place in places {
            let (before, now) = (told.get(place), wanted.get(place));
            if before == now {
                continue;
            }
            let empty = Vec::new();
            let (before, now) = (before.unwrap_or(&empty), now.unwrap_or(&empty));
            for entry in now.iter().filter(|entry| !before.contains(entry)) {
                if let Some(known) = self.breakpoints.get_mut(&entry.0) {
                    let known = Arc::make_mut(known);
                    known.sessions.insert(row, BreakpointStatus::Pending);
                    known.reach.remove(&row);
                    self.dirty = true;
                }
            }
            self.send(connection, place.as_ref(), now);
        }
    }

    fn send(
        &mut self,
        connection: ConnectionId,
        path: Option<&String>,
        list: &[(BreakpointId, Value)],
    ) {
        let ids = list.iter().map(|(id, _)| *id).collect();
        let entries: Vec<&Value> = list.iter().map(|(_, entry)| entry).collect();
        let what = Asked::Breakpoints {
            path: path.cloned(),
            ids,
        };
        let (command, arguments) = match path {
            Some(path) => (
                "setBreakpoints",
                json!({ "source": { "path": path }, "breakpoints": entries }),
            ),
            None => ("setFunctionBreakpoints", json!({ "breakpoints": entries })),
        };
        self.ask(connection, command, arguments, what, ANSWER, None);
    }

    /// What a session is to be told, and what cannot be told to its adapter.
    fn wanted(
        &self,
        row: RowId,
        connection: ConnectionId,
    ) -> (Told, BTreeMap<BreakpointId, String>) {
        let (mut wanted, mut refused) = (Told::new(), BTreeMap::new());
        let policy = self.view(row).and_then(|view| self.policy_of(view.root));
        let (Some(policy), Some(data)) = (policy, self.connections.get(&connection)) else {
            return (wanted, refused);
        };
        for known in self.breakpoints.values().filter(|known| known.enabled) {
            let pattern = match self.concern(known, row) {
                Concern::Not => continue,
                Concern::Concerned => None,
                Concern::MayBe(pattern) => Some(pattern),
            };
            let Some(conditions) = policy.conditions(known.id, &known.spec, pattern.as_deref())
            else {
                // Told when the name is known.
                continue;
            };
            match &known.spec.at {
                BreakpointAt::Line { path, line } => {
                    let mut entry = json!({ "line": line });
                    conditions_of(&mut entry, conditions, known);
                    for path in self.told_paths(path) {
                        let list = wanted.entry(Some(path)).or_default();
                        list.push((known.id, entry.clone()));
                    }
                }
                BreakpointAt::Function(_) if data.functions == Some(false) => {
                    let why = "this adapter does not stop at functions".to_owned();
                    refused.insert(known.id, why);
                }
                BreakpointAt::Function(name) => match policy.function_name_for(name) {
                    Ok(name) => {
                        let mut entry = json!({ "name": name });
                        conditions_of(&mut entry, conditions, known);
                        wanted.entry(None).or_default().push((known.id, entry));
                    }
                    Err(why) => {
                        refused.insert(known.id, why);
                    }
                },
            }
        }
        (wanted, refused)
    }

    /// The names under which a program may know a file of ours: its own, and what maps make of it.
    pub(super) fn told_paths(&self, path: &str) -> Vec<String> {
        let mut paths = vec![path.to_owned()];
        for map in &self.maps {
            if let Some(remote) = map.to_remote(path).filter(|remote| !paths.contains(remote)) {
                paths.push(remote);
            }
        }
        paths
    }

    pub(in super::super) fn breakpoints_answered(
        &mut self,
        row: RowId,
        path: Option<&str>,
        ids: &[BreakpointId],
        result: Result<&Response, EngineError>,
    ) {
        if matches!(result, Err(EngineError::Gone(_))) {
            return;
        }
        let body = result.and_then(|response| {
            response
                .body_as::<SetBreakpointsResponse>()
                .map_err(|error| {
                    let of = path.unwrap_or("functions");
                    EngineError::Failed(format!("setBreakpoints of {of}: {error}"))
                })
        });
        let mut answers = match body {
            Ok(body) => body.breakpoints.into_iter().map(Ok).collect::<Vec<_>>(),
            Err(error) => ids.iter().map(|_| Err(error.to_string())).collect(),
        }
        .into_iter();
        let missing = || Err("the adapter did not answer for this breakpoint".to_owned());
        for id in ids {
            let answer = answers.next().unwrap_or_else(missing);
            let answer = answer.unwrap_or_else(|message| DapBreakpoint {
                message: Some(message),
                ..DapBreakpoint::default()
            });
            self.breakpoint_answered(row, *id, &answer);
        }
        if path.is_some() {
            self.look_later(row);
        }
    }

    fn breakpoint_answered(&mut self, row: RowId, id: BreakpointId, answer: &DapBreakpoint) {
        if let (Some(theirs), Some(data)) = (answer.id, self.rows.get_mut(&row)) {
            data.adapter_breakpoints.insert(theirs, id);
        }
        // It may have been removed, switched off or taken out of the session since.
        let known = self.breakpoints.get_mut(&id);
        let Some(known) = known.filter(|known| known.sessions.contains_key(&row)) else {
            return;
        };
        let message = answer.message.clone().filter(|text| !text.is_empty());
        let known = Arc::make_mut(known);
        let told = match &known.spec.at {
            BreakpointAt::Line { path, line } => Some((path.clone(), *line)),
            BreakpointAt::Function(_) => None,
        };
        let asked = told.as_ref().map(|(_, line)| *line);
        let line = answer
            .line
            .and_then(|line| u32::try_from(line).ok())
            .or(asked)
            .filter(|_| asked.is_some());
        let status = if !answer.verified {
            let elsewhere = matches!(
                known.sessions.get(&row),
                Some(BreakpointStatus::Verified | BreakpointStatus::Moved { .. })
            );
            if elsewhere && self.maps.iter().any(|map| is_mapped(map, told.as_ref())) {
                // It is in place under its other name.
                return;
            }
            let refused = "the adapter did not set it and gave no reason".to_owned();
            BreakpointStatus::Refused {
                message: message.clone().unwrap_or(refused),
            }
        } else if line == asked {
            BreakpointStatus::Verified
        } else {
            BreakpointStatus::Moved {
                line: line.unwrap_or_default(),
                message: message.clone(),
            }
        };
        known.sessions.insert(row, status);
        self.dirty = true;
        if let (Some((path, _)), Some(line)) = (told, line) {
            let verified = answer.verified;
            self.event(Event::Breakpoint {
                row,
                path,
                line,
                verified,
                message,
            });
        }
    }

    /// The adapter changed its mind about a breakpoint.
    pub(in super::super) fn breakpoint_changed(&mut self, row: RowId, event: &DapEvent) {
        let Ok(body) = event.body_as::<BreakpointEvent>() else {
            return;
        };
        let id = body.breakpoint.id.and_then(|theirs| {
            self.rows
                .get(&row)?
                .adapter_breakpoints
                .get(&theirs)
                .copied()
        });
        if let Some(id) = id {
            self.breakpoint_answered(row, id, &body.breakpoint);
        }
    }
}

/// A file of the program under the name that it has here.
pub(in super::super) fn shown_path(maps: &[PathMap], path: String) -> String {
    maps.iter()
        .find_map(|map| map.to_local(&path))
        .unwrap_or(path)
}

fn is_mapped(map: &PathMap, told: Option<&(String, u32)>) -> bool {
    told.is_some_and(|(path, _)| map.to_remote(path).is_some())
}

fn conditions_of(entry: &mut Value, conditions: Conditions, known: &Breakpoint) {
    let optional = [
        ("condition", conditions.condition),
        ("hitCondition", conditions.hit_condition),
        ("logMessage", known.spec.log_message.clone()),
    ];
    if let Some(map) = entry.as_object_mut() {
        for (name, value) in optional {
            if let Some(value) = value {
                map.insert(name.to_owned(), Value::String(value));
            }
        }
    }
}
