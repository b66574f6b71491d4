//! The idle policy: what counts as activity, who is kept by a wait, and what is closed.

use super::harness::{Bench, CLIENT, listening};
use crate::tree::{Input, Tree};
use daptree_model::{
    Answer, Interest, Op, ReadOp, RowId, RowState, StopNumber, ToEngine, TreeState,
};

const IDLE: u64 = 10_000;

/// root → (left → below, right), in an engine with an idle policy.
fn family() -> (Bench, [RowId; 4]) {
    let mut bench = Bench::empty();
    bench.tree = Tree::closing_idle(IDLE);
    bench.feed(Input::ClientOpened(CLIENT));
    let root = bench.launch_with(|_| {});
    let left = bench.report(root, 200);
    let right = bench.report(root, 201);
    let below = bench.report(left, 300);
    (bench, [root, left, right, below])
}

fn there(bench: &Bench, rows: [RowId; 4]) -> [bool; 4] {
    rows.map(|row| bench.tree.view(row).is_some())
}

#[test]
fn an_engine_with_a_person_closes_nothing() {
    let (mut bench, root) = Bench::launched();
    bench.pass(100 * IDLE);
    assert_eq!(bench.row(root).state, RowState::Running);
}

#[test]
fn a_tree_with_which_nothing_is_done_is_closed() {
    let (mut bench, rows) = family();
    bench.pass(IDLE - 500);
    assert_eq!(there(&bench, rows), [true; 4]);
    bench.pass(1_000);
    assert_eq!(there(&bench, rows), [false; 4]);
    assert!(bench.processes.is_empty(), "the rules of close: all end");
    assert!(bench.tree.trees.is_empty());
    assert_eq!(bench.notices(), ["idle"], "once, for the root");
}

#[test]
fn activity_counts_for_a_session_and_those_above_it() {
    type Activity = fn(&mut Bench, RowId);
    let kinds: [(&str, Activity); 6] = [
        ("a command", |bench, row| {
            bench.ask(Op::Pause(row), None);
        }),
        ("a refused command", |bench, row| {
            bench.ask(Op::Continue(row), None);
        }),
        ("a read", |bench, row| {
            bench.read(ReadOp::Threads(row));
        }),
        ("a stop", |bench, row| {
            let connection = bench.connection(row);
            bench.say(connection, "continued", serde_json::json!({}));
            bench.stop(row, "breakpoint", "/p/main.py", 3);
        }),
        ("output", |bench, row| {
            bench.feed(Input::OutputGrew(1, vec![(row, 1)]));
        }),
        ("a word on the console", |bench, row| {
            let connection = bench.connection(row);
            let body = serde_json::json!({ "category": "stdout", "output": "x" });
            bench.say(connection, "output", body);
        }),
    ];
    for (kind, activity) in kinds {
        let (mut bench, rows @ [_, _, _, below]) = family();
        for _ in 0..3 {
            bench.pass(IDLE - 1_000);
            activity(&mut bench, below);
        }
        bench.pass(2_000);
        // Only its own line of the tree was touched.
        assert_eq!(there(&bench, rows), [true, true, false, true], "{kind}");
    }
}

#[test]
fn looking_is_no_activity() {
    let (mut bench, rows @ [root, ..]) = family();
    bench.pass(IDLE - 1_000);
    bench.interest(vec![Interest {
        row: root,
        ..Interest::default()
    }]);
    bench.pass(2_000);
    assert_eq!(there(&bench, rows), [false; 4]);
}

#[test]
fn a_wait_keeps_its_subtree_and_those_above_it() {
    let (mut bench, rows @ [_, left, ..]) = family();
    let wait = Op::WaitForStop {
        row: left,
        timeout_ms: 5 * IDLE,
    };
    let id = bench.ask(wait, None);
    bench.pass(4 * IDLE);
    assert_eq!(there(&bench, rows), [true, true, false, true]);
    assert_eq!(bench.reply(id), None);
    bench.pass(IDLE + 500);
    assert!(bench.reply(id).unwrap().is_err(), "the wait timed out");
    assert_eq!(there(&bench, rows), [true, true, false, true]);
    bench.pass(IDLE);
    assert_eq!(there(&bench, rows), [false; 4]);
}

#[test]
fn a_wait_that_was_given_up_keeps_nothing() {
    let (mut bench, rows @ [root, ..]) = family();
    let wait = Op::WaitForStop {
        row: root,
        timeout_ms: 100 * IDLE,
    };
    let id = bench.ask(wait, None);
    bench.pass(2 * IDLE);
    assert_eq!(there(&bench, rows), [true; 4]);
    bench.feed(Input::Client(CLIENT, ToEngine::Cancel(id)));
    bench.pass(2 * IDLE + 500);
    assert_eq!(there(&bench, rows), [false; 4]);
}

#[test]
fn an_idle_child_is_closed_with_what_is_below_it() {
    let (mut bench, rows @ [root, _, right, _]) = family();
    bench.pass(IDLE - 1_000);
    bench.ask(Op::Pause(right), None);
    bench.pass(2_000);
    assert_eq!(there(&bench, rows), [true, false, true, false]);
    assert!(bench.processes.contains_key(&201));
    assert!(!bench.processes.contains_key(&200) && !bench.processes.contains_key(&300));
    assert_eq!(bench.state(root), TreeState::Running);
}

#[test]
fn a_paused_session_that_was_forgotten_is_closed_too() {
    let (mut bench, rows @ [_, left, ..]) = family();
    bench.stop(left, "breakpoint", "/p/main.py", 3);
    assert_eq!(bench.row(left).stop, StopNumber(1));
    bench.pass(IDLE + 500);
    assert_eq!(there(&bench, rows), [false; 4]);
}

#[test]
fn what_comes_later_has_its_own_time() {
    let (mut bench, rows) = family();
    bench.pass(IDLE + 500);
    assert_eq!(there(&bench, rows), [false; 4]);
    let root = bench.launch_with(|_| {});
    bench.pass(IDLE - 500);
    assert_eq!(bench.row(root).state, RowState::Running);
    assert!(matches!(
        bench.command(Op::PauseAll(root)),
        Ok(Answer::Told(1))
    ));
    bench.pass(IDLE - 500);
    assert_eq!(bench.row(root).state, RowState::Running);
    bench.pass(1_000);
    assert!(bench.tree.view(root).is_none());
}

#[test]
fn a_tree_that_is_not_ours_is_let_go() {
    let mut bench = Bench::empty();
    bench.tree = Tree::closing_idle(IDLE);
    bench.feed(Input::ClientOpened(CLIENT));
    let root = bench.attach_with(listening(), |_| {});
    let child = bench.report(root, 200);
    bench.stop(child, "breakpoint", "/p/main.py", 3);
    bench.pass(IDLE + 2_000);
    assert!(bench.tree.view(root).is_none() && bench.tree.trees.is_empty());
    assert_eq!(bench.processes.len(), 2, "they live on");
    assert!(!bench.was_ended(200));
}
