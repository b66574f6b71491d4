//! Keys and prompts that change breakpoints and exception filters. What is typed is read here; it
//! must not know whether an adapter can do it: the engine says so.

use super::Context;
use crate::commands::Act;
use crate::rows;
use crate::state::{Action, Prompt, PromptKind, UiState};
use daptree_model::{
    Breakpoint, BreakpointId, BreakpointScope, BreakpointSpec, Op, RowId, Snapshot,
};
use std::sync::Arc;

fn command(op: Op) -> Action {
    Action::Command { expect: None, op }
}

fn known(snapshot: &Snapshot, id: BreakpointId) -> Option<&Arc<Breakpoint>> {
    snapshot.breakpoints.iter().find(|b| b.id == id)
}

/// Does what a key asks of the selected breakpoint.
pub(super) fn carry_out(
    state: &mut UiState,
    snapshot: &Snapshot,
    act: Act,
    actions: &mut Vec<Action>,
) {
    if act == Act::AddFunction {
        ask(state, PromptKind::Function, None);
        return;
    }
    let chosen = state.breakpoints.selected;
    let Some(b) = chosen.and_then(|id| known(snapshot, id)) else {
        state.hint("there is no breakpoint yet: b sets one at a line, B at a function");
        return;
    };
    let spec = &b.spec;
    match act {
        Act::RemoveBreakpoint => actions.push(command(Op::RemoveBreakpoint(b.id))),
        Act::EnableBreakpoint => {
            actions.push(command(Op::EnableBreakpoint(b.id, !b.enabled)));
        }
        Act::EditCondition => {
            ask(state, PromptKind::Condition(b.id), spec.condition.clone());
        }
        Act::EditHits => ask(state, PromptKind::Hits(b.id), spec.hit_condition.clone()),
        Act::EditMessage => ask(state, PromptKind::Message(b.id), spec.log_message.clone()),
        Act::EditScope => ask(
            state,
            PromptKind::Scope(b.id),
            Some(scope_text(&spec.scope)),
        ),
        Act::Once => {
            let spec = BreakpointSpec {
                once: !spec.once,
                ..spec.clone()
            };
            actions.push(command(Op::EditBreakpoint(b.id, spec)));
        }
        Act::AcceptOffer => match b.out_of_reach() {
            Some((_, _, Some(_))) => actions.push(command(Op::AcceptOffer(b.id))),
            _ => state.hint("nothing is offered for this breakpoint"),
        },
        _ => {}
    }
}

fn ask(state: &mut UiState, kind: PromptKind, text: Option<String>) {
    state.prompt = Some(Prompt {
        kind,
        text: text.unwrap_or_default(),
    });
}

/// A scope as it is typed.
fn scope_text(scope: &BreakpointScope) -> String {
    match scope {
        BreakpointScope::Everywhere => String::new(),
        BreakpointScope::Subtree(row) => format!("{row}+"),
        BreakpointScope::Session(row) => row.to_string(),
        BreakpointScope::Program(pattern) => pattern.clone(),
    }
}

/// Reads a scope: nothing or `all`, `s3`, `s3+`, else a pattern.
fn read_scope(text: &str) -> BreakpointScope {
    let row = |text: &str| text.parse::<RowId>().ok();
    if text.is_empty() || text == "all" {
        BreakpointScope::Everywhere
    } else if let Some(row) = row(text) {
        BreakpointScope::Session(row)
    } else if let Some(row) = text.strip_suffix('+').and_then(row) {
        BreakpointScope::Subtree(row)
    } else {
        BreakpointScope::Program(text.to_owned())
    }
}

/// What was typed into a prompt about breakpoints is complete.
pub(super) fn typed(state: &mut UiState, at: &Context<'_>, actions: &mut Vec<Action>) {
    let Some(prompt) = state.prompt.take() else {
        return;
    };
    let text = prompt.text.trim().to_owned();
    let some = (!text.is_empty()).then(|| text.clone());
    let id = match prompt.kind {
        PromptKind::Search(_) | PromptKind::Line(_) => return,
        PromptKind::Function => {
            let name = text.trim_end_matches("()");
            if !name.is_empty() {
                let spec = BreakpointSpec::function(name);
                actions.push(command(Op::SetBreakpoint(spec)));
            }
            return;
        }
        PromptKind::Condition(id)
        | PromptKind::Hits(id)
        | PromptKind::Message(id)
        | PromptKind::Scope(id) => id,
    };
    let Some(b) = known(at.snapshot, id) else {
        state.hint("this breakpoint is gone");
        return;
    };
    let mut spec = b.spec.clone();
    match prompt.kind {
        PromptKind::Condition(_) => spec.condition = some,
        PromptKind::Hits(_) => spec.hit_condition = some,
        PromptKind::Message(_) => spec.log_message = some,
        _ => spec.scope = read_scope(&text),
    }
    if spec != b.spec {
        actions.push(command(Op::EditBreakpoint(id, spec)));
    }
}

/// Switches an exception filter for every session.
pub(super) fn toggle_filter(
    state: &mut UiState,
    snapshot: &Snapshot,
    cursor: usize,
    actions: &mut Vec<Action>,
) {
    let all = rows::filters(state, snapshot);
    let Some((filter, _)) = all.get(cursor) else {
        state.hint("no adapter has said yet which filters it has");
        return;
    };
    let on = all
        .iter()
        .filter(|(other, on)| *on != (other.filter == filter.filter))
        .map(|(other, _)| other.filter.clone())
        .collect();
    actions.push(command(Op::SetExceptionFilters(on)));
}
