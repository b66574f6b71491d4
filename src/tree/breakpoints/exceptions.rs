//! Which exceptions stop which session: what somebody chose for all, else what the program of the
//! session suggests. It must not know what a filter means.

use super::super::requests::{ANSWER, Asked};
use super::super::{ConnectionId, Tree};
use daptree_model::RowId;
use serde_json::json;

impl Tree {
    /// Chooses the filters of every session.
    pub(in super::super) fn set_exception_filters(&mut self, filters: Vec<String>) -> u32 {
        self.kept_filters = Some(filters.clone());
        self.exception_filters = Some(filters);
        self.dirty = true;
        self.keep = true;
        let sessions = self.stopping_sessions();
        for (row, connection) in &sessions {
            self.send_filters(*row, *connection);
        }
        u32::try_from(sessions.len()).unwrap_or(u32::MAX)
    }

    /// A launch comes with filters of its own; those of several launches add up.
    pub(in super::super) fn choose_filters(&mut self, filters: Option<&[String]>) {
        let Some(filters) = filters else {
            return;
        };
        let mut chosen = match (&self.exception_filters, self.trees.is_empty()) {
            (Some(chosen), false) => chosen.clone(),
            _ => Vec::new(),
        };
        for filter in filters {
            if !chosen.contains(filter) {
                chosen.push(filter.clone());
            }
        }
        self.exception_filters = Some(chosen);
    }

    /// The filters of one session.
    pub(in super::super) fn filters_of(&self, row: RowId) -> Vec<String> {
        match &self.exception_filters {
            Some(chosen) => chosen.clone(),
            None => self.suggested_filters(row),
        }
    }

    /// The filters were named with a launch: whoever does so wants each stop of the adapter.
    pub(in super::super) fn filters_were_typed(&self) -> bool {
        self.exception_filters.is_some() && self.exception_filters != self.kept_filters
    }

    /// What the program of a session suggests.
    pub(in super::super) fn suggested_filters(&self, row: RowId) -> Vec<String> {
        // What a test runner starts runs tests too, such as the workers of a parallel run.
        let mut next = self.view(row);
        while let Some(view) = next {
            let suggested = self
                .policy_of(view.root)
                .map(|policy| policy.suggested_filters(&view.command))
                .unwrap_or_default();
            if !suggested.is_empty() {
                return suggested;
            }
            next = view.parent.and_then(|id| self.view(id));
        }
        Vec::new()
    }

    pub(in super::super) fn send_filters(&mut self, row: RowId, connection: ConnectionId) {
        let filters = self.filters_of(row);
        self.ask_filters(connection, &filters);
        self.change_row(row, |view| view.filters_on = filters);
    }

    /// Has these exceptions stop, and no others.
    pub(in super::super) fn ask_filters(&mut self, connection: ConnectionId, filters: &[String]) {
        let arguments = json!({ "filters": filters });
        let what = Asked::ExceptionFilters;
        self.ask(
            connection,
            "setExceptionBreakpoints",
            arguments,
            what,
            ANSWER,
            None,
        );
    }
}
