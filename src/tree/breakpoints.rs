//! Breakpoints belong to all trees. The list of them: what is set, changed, switched, hit and used
//! up. It must not know what is sent to whom, nor what a session answers.

mod exceptions;
mod kept;
mod reach;
mod scope;
mod told;

pub use kept::{Kept, KeptBreakpoint};
pub(super) use told::{Told, shown_path};

use super::{Millis, Tree};
use daptree_model::{
    Breakpoint, BreakpointAt, BreakpointId, BreakpointScope, BreakpointSpec, BreakpointStatus,
    EngineError, Place, RowId, Stop,
};
use globset::GlobMatcher;
use std::collections::BTreeMap;
use std::sync::Arc;

/// For how long a stop at a breakpoint that was used up elsewhere counts as late, in ms.
const LATE: u64 = 5_000;

/// One that was for a single stop and is gone. A session may have been at it already when it was
/// taken away: that stop is let run on, so that one is really one.
#[derive(Debug)]
pub(super) struct Spent {
    spec: BreakpointSpec,
    /// The line it stood on in each session that was told of it.
    lines: BTreeMap<RowId, u32>,
    until: Millis,
}

/// What the core keeps of breakpoints beside what front ends see.
#[derive(Debug, Default)]
pub(super) struct Aside {
    /// The patterns of scopes, ready to match.
    patterns: BTreeMap<BreakpointId, GlobMatcher>,
    spent: Vec<Spent>,
}

impl Tree {
    /// Adds a breakpoint, or changes the one that stands there.
    pub(super) fn put_breakpoint(
        &mut self,
        spec: BreakpointSpec,
    ) -> Result<BreakpointId, EngineError> {
        let pattern = self.check_spec(&spec)?;
        let same = self
            .breakpoints
            .values()
            .find(|known| known.spec.at == spec.at)
            .map(|known| known.id);
        let id = same.unwrap_or_else(|| {
            self.last_breakpoint += 1;
            BreakpointId(self.last_breakpoint)
        });
        self.place(id, spec, pattern);
        Ok(id)
    }

    fn place(&mut self, id: BreakpointId, spec: BreakpointSpec, pattern: Option<GlobMatcher>) {
        match pattern {
            Some(pattern) => self.aside.patterns.insert(id, pattern),
            None => self.aside.patterns.remove(&id),
        };
        let known = self
            .breakpoints
            .entry(id)
            .or_insert_with(|| Arc::new(Breakpoint::new(id, spec.clone())));
        let known = Arc::make_mut(known);
        if known.spec.at != spec.at {
            known.sessions.clear();
            known.reach.clear();
        }
        known.spec = spec;
        known.enabled = true;
        known.note = None;
        self.dirty = true;
        self.keep = true;
    }

    pub(super) fn set_breakpoint(
        &mut self,
        spec: BreakpointSpec,
    ) -> Result<BreakpointId, EngineError> {
        let id = self.put_breakpoint(spec)?;
        self.tell_all();
        Ok(id)
    }

    pub(super) fn edit_breakpoint(
        &mut self,
        id: BreakpointId,
        spec: BreakpointSpec,
    ) -> Result<(), EngineError> {
        let known = self.known_breakpoint(id)?;
        let enabled = known.enabled;
        let pattern = self.check_spec(&spec)?;
        let other = self
            .breakpoints
            .values()
            .find(|other| other.id != id && other.spec.at == spec.at);
        if let Some(other) = other {
            return Err(EngineError::Failed(format!(
                "{} has a breakpoint already, {}: change that one",
                spec.at, other.id
            )));
        }
        self.place(id, spec, pattern);
        if let Some(known) = self.breakpoints.get_mut(&id) {
            Arc::make_mut(known).enabled = enabled;
        }
        self.tell_all();
        Ok(())
    }

    pub(super) fn remove_breakpoint(&mut self, id: BreakpointId) -> Result<(), EngineError> {
        self.known_breakpoint(id)?;
        self.drop_breakpoint(id);
        self.tell_all();
        Ok(())
    }

    fn drop_breakpoint(&mut self, id: BreakpointId) {
        self.breakpoints.remove(&id);
        self.aside.patterns.remove(&id);
        self.dirty = true;
        self.keep = true;
    }

    pub(super) fn enable_breakpoint(
        &mut self,
        id: BreakpointId,
        enabled: bool,
    ) -> Result<(), EngineError> {
        self.known_breakpoint(id)?;
        if let Some(known) = self.breakpoints.get_mut(&id) {
            let known = Arc::make_mut(known);
            known.enabled = enabled;
            if !enabled {
                known.sessions.clear();
                known.reach.clear();
            }
        }
        self.dirty = true;
        self.keep = true;
        self.tell_all();
        Ok(())
    }

    /// Does what would bring a breakpoint within reach.
    pub(super) fn accept_offer(&mut self, id: BreakpointId) -> Result<(), EngineError> {
        let known = self.known_breakpoint(id)?;
        let offer = known.out_of_reach().and_then(|(_, _, offer)| offer);
        let Some(offer) = offer.cloned() else {
            return Err(EngineError::Failed(format!(
                "nothing is offered for the breakpoint at {}",
                known.spec.at
            )));
        };
        if !self.maps.contains(&offer) {
            self.accepted.push(offer.clone());
            self.maps.push(offer);
        }
        for known in self.breakpoints.values_mut() {
            // What was found under the old paths is looked for again.
            Arc::make_mut(known).reach.clear();
        }
        for data in self.rows.values_mut() {
            data.looks.clear();
        }
        self.dirty = true;
        self.keep = true;
        self.tell_all();
        Ok(())
    }

    fn known_breakpoint(&self, id: BreakpointId) -> Result<&Breakpoint, EngineError> {
        self.breakpoints
            .get(&id)
            .map(AsRef::as_ref)
            .ok_or(EngineError::UnknownBreakpoint(id))
    }

    /// Says what is wrong with a breakpoint that is asked for; gives the pattern of its scope.
    fn check_spec(&self, spec: &BreakpointSpec) -> Result<Option<GlobMatcher>, EngineError> {
        let wrong = |what: String| Err(EngineError::Failed(what));
        match &spec.at {
            BreakpointAt::Line { path, line: 0 } => {
                return wrong(format!(
                    "a breakpoint in {path} needs a line from 1 on, not 0"
                ));
            }
            BreakpointAt::Function(name)
                if name.is_empty() || name.contains(char::is_whitespace) =>
            {
                return wrong(format!(
                    "`{name}` is no name of a function: write it as the program does, such as `main`"
                ));
            }
            BreakpointAt::Function(_) if spec.log_message.is_some() => {
                return wrong(format!(
                    "{}: the protocol has no log points at functions; set one at a line of it",
                    spec.at
                ));
            }
            _ => {}
        }
        if spec.once && spec.log_message.is_some() {
            return wrong(format!(
                "{}: a log point never stops, so it cannot be for one stop",
                spec.at
            ));
        }
        match &spec.scope {
            BreakpointScope::Everywhere => Ok(None),
            BreakpointScope::Subtree(row) | BreakpointScope::Session(row) => self
                .view(*row)
                .map(|_| None)
                .ok_or(EngineError::UnknownSession(*row)),
            BreakpointScope::Program(pattern) => scope::pattern(pattern).map(Some),
        }
    }

    /// Counts and names the breakpoints that a stop stands at, and takes away those that were for
    /// one stop.
    pub(super) fn hit_breakpoints(&mut self, row: RowId, stop: &Stop) -> Vec<BreakpointId> {
        let hit: Vec<BreakpointId> = self
            .breakpoints
            .values()
            .filter(|known| stands(known, row, stop))
            .map(|known| known.id)
            .collect();
        for id in &hit {
            if let Some(known) = self.breakpoints.get_mut(id) {
                let known = Arc::make_mut(known);
                known.hits += 1;
                *known.hits_in.entry(row).or_default() += 1;
                self.dirty = true;
            }
        }
        hit
    }

    /// Takes away those of these that were for one stop: no other session stops at them.
    pub(super) fn spend(&mut self, hit: &[BreakpointId]) {
        let spent: Vec<Arc<Breakpoint>> = hit
            .iter()
            .filter_map(|id| self.breakpoints.get(id))
            .filter(|known| known.spec.once)
            .cloned()
            .collect();
        if spent.is_empty() {
            return;
        }
        let now = self.now;
        self.aside.spent.retain(|old| old.until > now);
        for known in spent {
            let asked = known.shown_line().unwrap_or_default();
            let lines = known.sessions.iter().map(|(row, status)| {
                let line = match status {
                    BreakpointStatus::Moved { line, .. } => *line,
                    _ => asked,
                };
                (*row, line)
            });
            self.aside.spent.push(Spent {
                lines: lines.collect(),
                spec: known.spec.clone(),
                until: now.after(LATE),
            });
            self.drop_breakpoint(known.id);
        }
        self.tell_all();
    }

    /// Takes the stop of a session that was at a breakpoint already when another one used it up.
    pub(super) fn take_late(&mut self, row: RowId) -> Option<Stop> {
        let data = self.rows.get(&row)?;
        let stop = data.arriving.as_ref()?;
        if data.view.pausing || data.entering {
            return None;
        }
        let late = self
            .aside
            .spent
            .iter()
            .any(|spent| spent.until > self.now && spent.stood(row, stop));
        let own = self
            .breakpoints
            .values()
            .any(|known| stands(known, row, stop));
        if !late || own {
            return None;
        }
        let data = self.rows.get_mut(&row)?;
        let shown = data.view.stop;
        data.begin_inspect(shown);
        data.arriving.take()
    }

    /// What the sessions of an earlier run, or a removed row, said is forgotten.
    pub(super) fn forget_breakpoint_answers(&mut self, row: RowId) {
        for known in self.breakpoints.values_mut() {
            let named = known.sessions.contains_key(&row)
                || known.reach.contains_key(&row)
                || known.hits_in.contains_key(&row);
            if named {
                let known = Arc::make_mut(known);
                known.sessions.remove(&row);
                known.reach.remove(&row);
                known.hits_in.remove(&row);
            }
        }
        if let Some(data) = self.rows.get_mut(&row) {
            data.adapter_breakpoints.clear();
            data.told.clear();
            data.looks.clear();
        }
    }
}

impl Spent {
    fn stood(&self, row: RowId, stop: &Stop) -> bool {
        self.lines.get(&row).is_some_and(|line| {
            stop.place
                .as_ref()
                .is_some_and(|place| is_at(&self.spec.at, *line, &stop.reason, place))
        })
    }
}

/// Whether a stop is one at this breakpoint.
fn stands(known: &Breakpoint, row: RowId, stop: &Stop) -> bool {
    let line = match known.sessions.get(&row) {
        Some(BreakpointStatus::Moved { line, .. }) => *line,
        Some(_) => match known.spec.at {
            BreakpointAt::Line { line, .. } => line,
            BreakpointAt::Function(_) => 0,
        },
        None => return false,
    };
    known.enabled
        && stop
            .place
            .as_ref()
            .is_some_and(|place| is_at(&known.spec.at, line, &stop.reason, place))
}

fn is_at(at: &BreakpointAt, line: u32, reason: &str, place: &Place) -> bool {
    match at {
        BreakpointAt::Line { path, .. } => {
            reason == "breakpoint" && line == place.line && *path == place.path
        }
        BreakpointAt::Function(name) => {
            // Some adapters show a method with its class.
            let bare = place.function.rsplit('.').next().unwrap_or_default();
            reason == "function breakpoint" && (*name == place.function || name == bare)
        }
    }
}
