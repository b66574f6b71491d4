//! The invariants say no to states that must not be: else they would guard nothing.

use super::harness::{Bench, CLIENT};
use crate::tree::{ConnectionId, Millis, Tree, invariants};
use daptree_model::{CommandId, Op, RowId, RowState, StopNumber, TreeState};
use std::sync::Arc;

/// Breaks a healthy tree with a paused root and a child, and says what the check makes of it.
fn broken(how: impl FnOnce(&mut Tree, RowId, RowId)) -> String {
    let (mut bench, root) = Bench::launched();
    let child = bench.report(root, 200);
    bench.stop(root, "breakpoint", "/p/main.py", 3);
    assert_eq!(invariants::check(&bench.tree), Ok(()));
    how(&mut bench.tree, root, child);
    invariants::check(&bench.tree).unwrap_err()
}

fn view(tree: &mut Tree, row: RowId) -> &mut daptree_model::Row {
    Arc::make_mut(&mut tree.rows.get_mut(&row).unwrap().view)
}

#[test]
fn each_broken_state_is_named() {
    let cases: Vec<(&str, String)> = vec![
        (
            "ancestor",
            broken(|tree, root, child| view(tree, root).parent = Some(child)),
        ),
        (
            "which is gone",
            broken(|tree, _, child| view(tree, child).parent = Some(RowId(9))),
        ),
        (
            "no root",
            broken(|tree, _, child| view(tree, child).parent = None),
        ),
        (
            "with stop",
            broken(|tree, root, _| view(tree, root).stopped = None),
        ),
        (
            "never stopped",
            broken(|tree, root, _| view(tree, root).stop = StopNumber(0)),
        ),
        (
            "closed",
            broken(|tree, root, _| {
                let connection = tree.rows[&root].connection.unwrap();
                tree.connections.remove(&connection);
            }),
        ),
        (
            "is gone",
            broken(|tree, _, child| {
                tree.rows.remove(&child);
            }),
        ),
        (
            "without a deadline",
            broken(|tree, _, child| {
                view(tree, child).state = RowState::Adopting;
            }),
        ),
        (
            "is late",
            broken(|tree, _, child| {
                tree.rows.get_mut(&child).unwrap().adopt_by = Some(Millis(1));
            }),
        ),
        (
            "still stops",
            broken(|tree, _, child| {
                view(tree, child).state = RowState::Ended;
                view(tree, child).pausing = true;
            }),
        ),
        (
            "being ended by nobody",
            broken(|tree, root, _| {
                tree.trees.get_mut(&root).unwrap().state = TreeState::Ending;
            }),
        ),
        (
            "nobody will answer c9",
            broken(|tree, _, _| {
                tree.open_commands.insert((CLIENT, CommandId(9)), "command");
            }),
        ),
        (
            "past its stop",
            broken(|tree, root, _| {
                tree.rows.get_mut(&root).unwrap().inspect.stop = StopNumber(7);
            }),
        ),
        (
            "names #99",
            broken(|tree, root, _| {
                tree.rows.get_mut(&root).unwrap().connection = Some(ConnectionId(99));
            }),
        ),
    ];
    for (wanted, said) in cases {
        assert!(said.contains(wanted), "`{said}` does not say `{wanted}`");
    }
}

#[test]
fn a_wait_that_is_over_and_goes_on_is_found() {
    let (mut bench, root) = Bench::launched();
    bench.ask(
        Op::WaitForStop {
            row: root,
            timeout_ms: 9_000,
        },
        None,
    );
    view(&mut bench.tree, root).state = RowState::Failed;
    let said = invariants::check(&bench.tree).unwrap_err();
    assert!(said.contains("is over and goes on"), "{said}");
}
