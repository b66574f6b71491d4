//! What of the breakpoints outlives the engine: those that mean the same in another run, and the
//! exception filters that somebody chose. It must not know where or how they are kept.

use super::super::{Effect, Tree};
use daptree_model::{BreakpointSpec, PathMap};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What is kept of a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Kept {
    /// Breakpoints, oldest first.
    pub breakpoints: Vec<KeptBreakpoint>,
    /// Exception filters, where somebody chose some.
    pub exception_filters: Option<Vec<String>>,
    /// Path maps that were accepted.
    pub maps: Vec<PathMap>,
}

/// A breakpoint that is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptBreakpoint {
    /// Where and when.
    pub spec: BreakpointSpec,
    /// Whether it is on.
    pub enabled: bool,
    /// What became of its source since, for people.
    pub note: Option<String>,
}

impl Tree {
    /// Takes up what was kept. From here on changes are told, so that they are kept as well.
    pub(in super::super) fn restored(&mut self, kept: Kept, trouble: Option<String>) {
        for KeptBreakpoint {
            spec,
            enabled,
            note,
        } in kept.breakpoints
        {
            let at = spec.at.clone();
            match self.put_breakpoint(spec) {
                Ok(id) => {
                    if let Some(known) = self.breakpoints.get_mut(&id) {
                        let known = Arc::make_mut(known);
                        known.enabled = enabled;
                        known.note = note;
                    }
                }
                Err(error) => {
                    let message = format!("the breakpoint at {at} was not taken up: {error}");
                    self.notice("breakpoints", message, None, true);
                }
            }
        }
        if kept.exception_filters.is_some() {
            self.exception_filters.clone_from(&kept.exception_filters);
            self.kept_filters = kept.exception_filters;
        }
        for map in kept.maps {
            if !self.accepted.contains(&map) {
                self.accepted.push(map.clone());
                self.maps.push(map);
            }
        }
        if let Some(trouble) = trouble {
            self.notice("breakpoints", trouble, None, true);
        }
        self.keeps = true;
        self.keep = false;
        self.dirty = true;
    }

    /// Tells what is to be kept, once after each input that changed it.
    pub(in super::super) fn keep_changes(&mut self) {
        if !std::mem::take(&mut self.keep) || !self.keeps {
            return;
        }
        let lasting = self
            .breakpoints
            .values()
            .filter(|known| known.spec.scope.is_lasting());
        let breakpoints = lasting
            .map(|known| KeptBreakpoint {
                spec: known.spec.clone(),
                enabled: known.enabled,
                note: None,
            })
            .collect();
        let kept = Kept {
            breakpoints,
            exception_filters: self.kept_filters.clone(),
            maps: self.accepted.clone(),
        };
        self.effect(Effect::Keep(kept));
    }
}
