//! In which sessions a breakpoint is. A scope follows what becomes known of a process later, such
//! as the name that a library gave to it. It must not know what is sent.

use super::super::Tree;
use super::super::children::NAMES;
use daptree_model::{Breakpoint, BreakpointScope, EngineError, Row, RowId};
use globset::{GlobBuilder, GlobMatcher};

/// How a breakpoint concerns a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Concern {
    Not,
    Concerned,
    /// It may be: the process has not said its name yet. The regular expression of its pattern,
    /// for a condition that asks where the breakpoint is hit.
    MayBe(String),
}

/// The pattern of a scope, ready to match. `*` stops at no slash: a path is a name like others.
pub(super) fn pattern(text: &str) -> Result<GlobMatcher, EngineError> {
    let wrong = |why: String| {
        EngineError::Failed(format!(
            "`{text}` is no pattern for programs: {why}; write a name or a glob such as gw* or *.py"
        ))
    };
    if text.trim().is_empty() {
        return Err(wrong("it is empty".to_owned()));
    }
    let glob = GlobBuilder::new(text).literal_separator(false).build();
    glob.map(|glob| glob.compile_matcher())
        .map_err(|error| wrong(error.kind().to_string()))
}

/// What a pattern is held against: what a person may call a process.
fn names(row: &Row) -> impl Iterator<Item = &str> {
    let program = row.program.as_deref();
    let file = program.and_then(|path| path.rsplit('/').next());
    let module = row
        .command
        .iter()
        .position(|word| word == "-m")
        .and_then(|at| row.command.get(at + 1))
        .map(String::as_str);
    [Some(row.name.as_str()), file, program, module]
        .into_iter()
        .flatten()
}

impl Tree {
    /// Whether a breakpoint is meant for a session.
    pub(super) fn concern(&self, known: &Breakpoint, row: RowId) -> Concern {
        let inside = match &known.spec.scope {
            BreakpointScope::Everywhere => true,
            BreakpointScope::Session(only) => *only == row,
            BreakpointScope::Subtree(top) => self.is_below(row, *top),
            BreakpointScope::Program(_) => {
                let pattern = self.aside.patterns.get(&known.id);
                let (Some(pattern), Some(data)) = (pattern, self.rows.get(&row)) else {
                    return Concern::Not;
                };
                let fits = names(&data.view).any(|name| pattern.is_match(name));
                if !fits && self.may_be_named(row) {
                    return Concern::MayBe(pattern.glob().regex().to_owned());
                }
                fits
            }
        };
        if inside {
            Concern::Concerned
        } else {
            Concern::Not
        }
    }

    /// Whether a process may still say a name of its own.
    fn may_be_named(&self, row: RowId) -> bool {
        self.rows.get(&row).is_some_and(|data| {
            let is_asked = data.view.root != row || data.view.execs > 0;
            is_asked && !data.named && data.unnamed <= NAMES.len()
        })
    }

    /// A process has said its name, or that it has none: its breakpoints follow.
    pub(in super::super) fn name_settled(&mut self, row: RowId) {
        let scoped = self
            .breakpoints
            .values()
            .any(|known| matches!(known.spec.scope, BreakpointScope::Program(_)));
        if let Some((row, connection)) = self
            .stopping_sessions()
            .into_iter()
            .find(|(known, _)| scoped && *known == row)
        {
            self.tell(row, connection);
        }
    }

    fn is_below(&self, row: RowId, top: RowId) -> bool {
        let mut next = Some(row);
        while let Some(id) = next {
            if id == top {
                return true;
            }
            next = self.view(id).and_then(|view| view.parent);
        }
        false
    }
}
