//! Breakpoints belong to the trees and are sent to every session; each session has its own
//! status of each.

use super::requests::{ANSWER, Asked};
use super::{ConnectionId, ConnectionRole, Phase, Tree};
use crate::dap::message::{Event as DapEvent, Response};
use crate::dap::types::{Breakpoint as DapBreakpoint, BreakpointEvent, SetBreakpointsResponse};
use daptree_model::{
    Breakpoint, BreakpointId, BreakpointSpec, BreakpointStatus, EngineError, Event, Follow, Place,
    RowId,
};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl Tree {
    /// Adds a breakpoint, or changes the one that stands there.
    pub(super) fn put_breakpoint(&mut self, spec: BreakpointSpec) -> BreakpointId {
        let same = self
            .breakpoints
            .values_mut()
            .find(|known| known.spec.path == spec.path && known.spec.line == spec.line);
        self.dirty = true;
        if let Some(known) = same {
            let known = Arc::make_mut(known);
            known.spec = spec;
            known.enabled = true;
            return known.id;
        }
        self.last_breakpoint += 1;
        let id = BreakpointId(self.last_breakpoint);
        let sessions = BTreeMap::new();
        let breakpoint = Breakpoint {
            id,
            spec,
            enabled: true,
            hits: 0,
            sessions,
        };
        self.breakpoints.insert(id, Arc::new(breakpoint));
        id
    }

    pub(super) fn set_breakpoint(&mut self, spec: BreakpointSpec) -> BreakpointId {
        let path = spec.path.clone();
        let id = self.put_breakpoint(spec);
        self.resend(&path);
        id
    }

    pub(super) fn remove_breakpoint(&mut self, id: BreakpointId) -> Result<(), EngineError> {
        let removed = self
            .breakpoints
            .remove(&id)
            .ok_or(EngineError::UnknownBreakpoint(id))?;
        self.dirty = true;
        self.resend(&removed.spec.path);
        Ok(())
    }

    pub(super) fn enable_breakpoint(
        &mut self,
        id: BreakpointId,
        enabled: bool,
    ) -> Result<(), EngineError> {
        let known = self
            .breakpoints
            .get_mut(&id)
            .ok_or(EngineError::UnknownBreakpoint(id))?;
        let known = Arc::make_mut(known);
        known.enabled = enabled;
        known.sessions.clear();
        let path = known.spec.path.clone();
        self.dirty = true;
        self.resend(&path);
        Ok(())
    }

    /// Tells every configured session the breakpoints of a file anew.
    fn resend(&mut self, path: &str) {
        for (row, connection) in self.stopping_sessions() {
            self.send_breakpoints(row, connection, path);
        }
    }

    pub(super) fn set_exception_filters(&mut self, filters: Vec<String>) -> u32 {
        self.exception_filters = filters;
        self.dirty = true;
        let sessions = self.stopping_sessions();
        for (_, connection) in &sessions {
            let arguments = json!({ "filters": self.exception_filters });
            let what = Asked::ExceptionFilters;
            self.ask(
                *connection,
                "setExceptionBreakpoints",
                arguments,
                what,
                ANSWER,
                None,
            );
        }
        u32::try_from(sessions.len()).unwrap_or(u32::MAX)
    }

    /// Sessions that were told breakpoints already.
    fn stopping_sessions(&self) -> Vec<(RowId, ConnectionId)> {
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

    pub(super) fn send_all_breakpoints(&mut self, row: RowId, connection: ConnectionId) {
        let paths: BTreeSet<String> = self
            .breakpoints
            .values()
            .filter(|known| known.enabled)
            .map(|known| known.spec.path.clone())
            .collect();
        for path in paths {
            self.send_breakpoints(row, connection, &path);
        }
    }

    fn send_breakpoints(&mut self, row: RowId, connection: ConnectionId, path: &str) {
        let (mut ids, mut lines) = (Vec::new(), Vec::new());
        for known in self.breakpoints.values_mut() {
            if known.enabled && known.spec.path == path {
                ids.push(known.id);
                lines.push(source_breakpoint(&known.spec));
                Arc::make_mut(known)
                    .sessions
                    .insert(row, BreakpointStatus::Pending);
            }
        }
        let arguments = json!({ "source": { "path": path }, "breakpoints": lines });
        let what = Asked::Breakpoints {
            path: path.to_owned(),
            ids,
        };
        self.ask(connection, "setBreakpoints", arguments, what, ANSWER, None);
    }

    pub(super) fn breakpoints_answered(
        &mut self,
        row: RowId,
        path: &str,
        ids: &[BreakpointId],
        result: Result<&Response, EngineError>,
    ) {
        if matches!(result, Err(EngineError::Gone(_))) {
            return;
        }
        let body = result.and_then(|response| {
            response
                .body_as::<SetBreakpointsResponse>()
                .map_err(|error| EngineError::Failed(format!("setBreakpoints of {path}: {error}")))
        });
        match body {
            Ok(body) => {
                let missing = "the adapter did not answer for this breakpoint";
                let mut answers = body.breakpoints.into_iter();
                for id in ids {
                    let answer = answers.next().unwrap_or_else(|| DapBreakpoint {
                        message: Some(missing.to_owned()),
                        ..DapBreakpoint::default()
                    });
                    self.breakpoint_answered(row, *id, &answer);
                }
            }
            Err(error) => {
                for id in ids {
                    let answer = DapBreakpoint {
                        message: Some(error.to_string()),
                        ..DapBreakpoint::default()
                    };
                    self.breakpoint_answered(row, *id, &answer);
                }
            }
        }
    }

    fn breakpoint_answered(&mut self, row: RowId, id: BreakpointId, answer: &DapBreakpoint) {
        if let (Some(theirs), Some(data)) = (answer.id, self.rows.get_mut(&row)) {
            data.adapter_breakpoints.insert(theirs, id);
        }
        // It may have been removed or switched off since.
        let known = self.breakpoints.get_mut(&id);
        let Some(known) = known.filter(|known| known.enabled) else {
            return;
        };
        let asked = known.spec.line;
        let line = answer
            .line
            .and_then(|line| u32::try_from(line).ok())
            .unwrap_or(asked);
        let message = answer.message.clone().filter(|text| !text.is_empty());
        let status = if !answer.verified {
            let refused = "the adapter did not set it and gave no reason".to_owned();
            BreakpointStatus::Refused {
                message: message.clone().unwrap_or(refused),
            }
        } else if line == asked {
            BreakpointStatus::Verified
        } else {
            BreakpointStatus::Moved {
                line,
                message: message.clone(),
            }
        };
        let path = known.spec.path.clone();
        Arc::make_mut(known).sessions.insert(row, status);
        let verified = answer.verified;
        self.event(Event::Breakpoint {
            row,
            path,
            line,
            verified,
            message,
        });
    }

    /// The adapter changed its mind about a breakpoint.
    pub(super) fn breakpoint_changed(&mut self, row: RowId, event: &DapEvent) {
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

    /// Counts and names the breakpoints that a stop stands at.
    pub(super) fn hit_breakpoints(&mut self, row: RowId, place: &Place) -> Vec<BreakpointId> {
        let mut hit = Vec::new();
        for known in self.breakpoints.values_mut() {
            let line = match known.sessions.get(&row) {
                Some(BreakpointStatus::Moved { line, .. }) => *line,
                _ => known.spec.line,
            };
            if known.enabled && line == place.line && known.spec.path == place.path {
                Arc::make_mut(known).hits += 1;
                hit.push(known.id);
            }
        }
        hit
    }

    /// What the sessions of an earlier run, or a removed row, said is forgotten.
    pub(super) fn forget_breakpoint_answers(&mut self, row: RowId) {
        for known in self.breakpoints.values_mut() {
            if known.sessions.contains_key(&row) {
                Arc::make_mut(known).sessions.remove(&row);
            }
        }
        if let Some(data) = self.rows.get_mut(&row) {
            data.adapter_breakpoints.clear();
        }
    }
}

fn source_breakpoint(spec: &BreakpointSpec) -> Value {
    let mut fields = json!({ "line": spec.line });
    let optional = [
        ("condition", &spec.condition),
        ("hitCondition", &spec.hit_condition),
        ("logMessage", &spec.log_message),
    ];
    if let Some(map) = fields.as_object_mut() {
        for (name, value) in optional {
            if let Some(value) = value {
                map.insert(name.to_owned(), Value::String(value.clone()));
            }
        }
    }
    fields
}
