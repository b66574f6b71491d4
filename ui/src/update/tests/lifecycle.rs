//! Groups, and what ends or lets go: which row is meant, what is asked first, and what is said.

use super::*;
use crate::state::{Confirm, Lifecycle};
use daptree_model::TreeOrigin;

const ENTER: &str = "\n";
const ESC: &str = "\u{1b}";

fn asked(what: Lifecycle, row: u32) -> Dialog {
    let row = RowId(row);
    Dialog::Confirm(Confirm { what, row })
}

#[test]
fn what_ends_or_lets_go_asks_first() {
    for (key, what, meant) in [
        ("x", Lifecycle::Terminate, 3),
        ("X", Lifecycle::Close, 3),
        ("r", Lifecycle::Restart, 1),
        ("D", Lifecycle::Detach, 1),
    ] {
        let mut desk = Desk::new(fixture::five_stopped());
        desk.keys("2]");
        assert_eq!(desk.focus(), 3);
        assert_eq!(desk.keys(key), [], "{key}");
        assert_eq!(desk.state.dialog, Some(asked(what, meant)), "{key}");
        assert_eq!(desk.keys("c n"), [], "no other key does anything");
        assert_eq!(desk.state.dialog, None);
        desk.keys(key);
        assert_eq!(desk.keys(ESC), []);
        desk.keys(key);
        assert_eq!(desk.keys(ENTER), command(None, what.op(RowId(meant))));
        assert_eq!(desk.state.dialog, None);
        desk.keys(key);
        assert_eq!(desk.keys("t"), command(None, what.op(RowId(1))), "the tree");
    }
}

#[test]
fn in_the_tree_the_selected_row_is_meant() {
    let mut desk = Desk::new(fixture::five_stopped());
    desk.keys("1jjj");
    let selected = desk.state.tree.selected.unwrap();
    assert_ne!(Some(selected), desk.state.focus);
    desk.keys("x");
    assert_eq!(
        desk.state.dialog,
        Some(asked(Lifecycle::Terminate, selected.0))
    );
    desk.keys(ESC);
    assert_eq!(
        desk.keys("w"),
        command(None, Op::StopTheWorld(selected, true))
    );
    desk.change(selected.0, |row| row.stops_world = true);
    assert_eq!(
        desk.keys("w"),
        command(None, Op::StopTheWorld(selected, false))
    );
}

#[test]
fn where_nothing_is_alive_there_is_nothing_to_ask() {
    let mut desk = Desk::new(fixture::five_stopped());
    for id in 1..=6 {
        desk.change(id, |row| fixture::end(row, EndStatus::Exited(0)));
    }
    desk.snapshot.trees[0].state = TreeState::Ended;
    desk.publish();
    desk.keys("2");
    let focus = desk.focus();
    assert_eq!(desk.keys("r"), command(None, Op::Restart(RowId(1))));
    assert_eq!(desk.keys("X"), command(None, Op::Close(RowId(focus))));
    for key in ["x", "D"] {
        assert_eq!(desk.keys(key), []);
        assert!(message(&desk).contains("nothing below it is alive"));
    }
    let mut desk = Desk::new(Snapshot::default());
    for key in ["x", "X", "r", "D", "P", "W"] {
        assert_eq!(desk.keys(key), [], "{key}");
        assert!(message(&desk).contains("no session"), "{key}");
    }
}

#[test]
fn what_is_not_ours_is_not_asked_about_but_refused_by_the_engine() {
    let mut desk = Desk::new(fixture::five_stopped());
    desk.snapshot.trees[0].origin = TreeOrigin::Attached;
    desk.keys("1g");
    assert_eq!(desk.keys("x"), command(None, Op::Terminate(RowId(1))));
    assert_eq!(desk.keys("r"), command(None, Op::Restart(RowId(1))));
    assert_eq!(desk.keys("X"), []);
    assert_eq!(desk.state.dialog, Some(asked(Lifecycle::Close, 1)));
}

#[test]
fn a_question_about_a_row_that_is_gone_is_dropped() {
    let mut desk = Desk::new(fixture::five_stopped());
    desk.keys("2]X");
    desk.snapshot.rows.remove(&RowId(3));
    desk.publish();
    assert_eq!(desk.state.dialog, None);
    assert_eq!(desk.keys(ENTER), []);
}

#[test]
fn groups_are_of_the_tree_of_the_focus() {
    let mut desk = Desk::new(fixture::five_stopped());
    assert_eq!(desk.keys("P"), command(None, Op::PauseAll(RowId(1))));
    assert_eq!(
        desk.keys("W"),
        command(None, Op::StopTheWorld(RowId(1), true))
    );
    desk.change(1, |row| row.stops_world = true);
    assert_eq!(
        desk.keys("W"),
        command(None, Op::StopTheWorld(RowId(1), false))
    );
}

#[test]
fn who_is_held_goes_on_with_all_and_takes_no_focus() {
    let mut desk = Desk::new(fixture::five_stopped());
    desk.change(1, |row| row.stops_world = true);
    for id in 3..=6 {
        desk.change(id, |row| row.held = true);
    }
    assert_eq!(desk.focus(), 2);
    desk.keys("}");
    assert_eq!(desk.focus(), 2, "no other one stands by itself");
    desk.keys("]");
    assert_eq!(desk.focus(), 3);
    assert_eq!(desk.keys("c"), command(Some(1), Op::Continue(RowId(3))));
    let left: Vec<u32> = desk.state.moves.left.keys().map(|row| row.0).collect();
    assert_eq!(left, [2, 3, 4, 5, 6], "all of them go");
}

#[test]
fn one_that_is_done_and_waits_for_the_others_is_held_and_does_not_run() {
    let mut desk = Desk::new(fixture::five_stopped());
    desk.change(1, |row| row.stops_world = true);
    assert_eq!(desk.keys("c"), command(Some(1), Op::Continue(RowId(2))));
    assert_eq!(desk.focus(), 3);
    desk.change(2, |row| row.held = true);
    assert!(desk.state.moves.left.is_empty());
}

#[test]
fn what_came_of_it_is_said() {
    let closed = |children_closed, process_ended, released, survivors: &[u32]| Answer::Closed {
        children_closed,
        process_ended,
        released,
        survivors: survivors.to_vec(),
    };
    let (one, root) = (RowId(3), RowId(1));
    let table = [
        (
            Op::Close(one),
            closed(0, true, false, &[]),
            "SpawnProcess-2 (s3) was ended",
        ),
        (
            Op::Terminate(root),
            closed(5, true, false, &[]),
            "main.py (s1) was ended with 5 sessions below it",
        ),
        (
            Op::Close(root),
            closed(1, false, true, &[]),
            "main.py (s1) was let go with 1 session below it",
        ),
        (
            Op::Close(RowId(77)),
            closed(0, false, false, &[]),
            "s77 was closed",
        ),
        (
            Op::Terminate(one),
            closed(0, true, false, &[7, 8]),
            "SpawnProcess-2 (s3) was ended; still alive: pid 7, 8",
        ),
        (
            Op::Restart(root),
            Answer::Restarted { children_closed: 2 },
            "main.py (s1) starts again; 2 sessions of the last run closed",
        ),
        (
            Op::Detach(root),
            Answer::Detached {
                children_released: 5,
            },
            "main.py (s1) lives on with 5 sessions below it",
        ),
        (Op::PauseAll(root), Answer::Told(4), "pausing 4 sessions"),
        (Op::PauseAll(root), Answer::Told(0), "no session runs"),
        (
            Op::StopTheWorld(root, true),
            Answer::Done,
            "one stop holds all of main.py (s1)",
        ),
        (
            Op::StopTheWorld(root, false),
            Answer::Done,
            "a stop of main.py (s1) holds nobody else",
        ),
    ];
    for (op, answer, wanted) in table {
        let mut desk = Desk::new(fixture::five_stopped());
        let survivors =
            matches!(&answer, Answer::Closed { survivors, .. } if !survivors.is_empty());
        let told = desk.input(Input::Replied {
            op,
            expect: None,
            result: Ok(answer),
        });
        assert_eq!(told, []);
        assert_eq!(message(&desk), wanted);
        let shown = desk.state.message.as_ref().unwrap();
        assert_eq!(shown.is_error, survivors, "{wanted}");
    }
}

#[test]
fn a_refusal_is_said_by_name() {
    let mut desk = Desk::new(fixture::five_stopped());
    let (row, root) = (RowId(3), RowId(1));
    let what = "detach".to_owned();
    desk.input(Input::Replied {
        op: Op::Detach(row),
        expect: None,
        result: Err(EngineError::NotARoot { row, root, what }),
    });
    assert_eq!(
        message(&desk),
        "detach works on a root, and s3 is a child: use the root s1"
    );
}
