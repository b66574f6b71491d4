//! Which session the focus is on: after a continue, a step, a stop, an end, and while typing.

use super::*;

#[test]
fn after_continue_the_focus_goes_to_the_next_stopped_session_and_wraps() {
    let mut desk = Desk::new(fixture::five_stopped());
    let mut visited = vec![desk.focus()];
    for _ in 0..4 {
        desk.keys("c");
        visited.push(desk.focus());
    }
    assert_eq!(visited, [2, 3, 4, 5, 6]);
    let mut desk = Desk::new(fixture::five_stopped());
    desk.keys("}}");
    assert_eq!(desk.focus(), 4);
    desk.keys("ccc");
    assert_eq!(desk.focus(), 2, "wrapped");
    assert_eq!(desk.keys("c"), command(Some(1), Op::Continue(RowId(2))));
    assert_eq!(desk.focus(), 3);
    assert_eq!(desk.keys("c"), command(Some(1), Op::Continue(RowId(3))));
    assert_eq!(desk.focus(), 3, "nothing else stands: it stays");
    assert_eq!(desk.keys("c"), [], "and is not told twice");
}

#[test]
fn while_stepping_the_focus_stays() {
    let mut desk = Desk::new(fixture::five_stopped());
    desk.keys("n");
    desk.change(2, fixture::go);
    assert_eq!(desk.focus(), 2);
    desk.change(4, fixture::go);
    desk.change(4, |row| fixture::stop(row, 9, "breakpoint"));
    assert_eq!(desk.focus(), 2, "another stop does not take it");
    assert_eq!(desk.keys("n"), [], "it is still stepping");
    desk.change(2, |row| fixture::stop(row, 7, "step"));
    assert_eq!(desk.focus(), 2);
    assert_eq!(desk.keys("n"), command(Some(2), Op::Next(RowId(2), None)));
}

#[test]
fn continue_leaves_a_step_that_does_not_come_back() {
    let mut desk = Desk::new(fixture::five_stopped());
    desk.keys("n");
    desk.change(2, fixture::go);
    assert_eq!(desk.keys("c"), [], "it runs already");
    assert_eq!(desk.focus(), 3);
    assert_eq!(desk.keys("c"), command(Some(1), Op::Continue(RowId(3))));
}

#[test]
fn a_step_that_ends_the_session_frees_the_focus() {
    let mut desk = Desk::new(fixture::snapshot([
        fixture::row(1, None),
        fixture::row(2, Some(1)),
    ]));
    desk.change(2, |row| fixture::stop(row, 9, "breakpoint"));
    assert_eq!(desk.focus(), 2);
    desk.keys("n");
    desk.change(2, |row| fixture::end(row, EndStatus::Exited(0)));
    assert_eq!(desk.focus(), 2, "its last stop can be read");
    desk.change(1, |row| fixture::stop(row, 14, "breakpoint"));
    assert_eq!(desk.focus(), 1);
}

#[test]
fn when_nothing_stands_the_next_stop_takes_the_focus() {
    let mut desk = Desk::new(fixture::snapshot(
        (1..=3).map(|id| fixture::row(id, (id > 1).then_some(1))),
    ));
    assert_eq!(desk.focus(), 1);
    desk.change(3, |row| fixture::stop(row, 9, "breakpoint"));
    assert_eq!(desk.focus(), 3);
    desk.change(2, |row| fixture::stop(row, 9, "breakpoint"));
    assert_eq!(desk.focus(), 3, "nothing steals it");
    desk.keys("[[");
    assert_eq!(
        desk.focus(),
        1,
        "a running session was chosen while others stand"
    );
    desk.change(2, fixture::go);
    desk.change(2, |row| fixture::stop(row, 7, "breakpoint"));
    assert_eq!(desk.focus(), 1, "that was on purpose");
}

#[test]
fn helpers_and_held_sessions_take_no_focus() {
    let mut desk = Desk::new(fixture::five_stopped());
    fixture::change(&mut desk.snapshot, 3, |row| row.held = true);
    desk.change(4, |row| row.follow = daptree_model::Follow::Helper);
    desk.keys("c");
    assert_eq!(desk.focus(), 5);
}

#[test]
fn typing_is_never_interrupted() {
    let prompts: [&str; 4] = ["/", ":", "?", "t"];
    for open in prompts {
        let mut desk = Desk::new(fixture::snapshot([
            fixture::row(1, None),
            fixture::row(2, Some(1)),
        ]));
        desk.keys(open);
        assert!(desk.state.is_typing(), "{open}");
        desk.change(2, |row| fixture::stop(row, 9, "breakpoint"));
        assert_eq!(desk.focus(), 1, "{open}");
        if open == "t" {
            desk.code(KeyCode::Char('5'), KeyModifiers::CONTROL);
        } else {
            desk.keys("\u{1b}");
        }
        assert_eq!(desk.focus(), 2, "afterwards it does: {open}");
    }
}

#[test]
fn a_stop_that_went_on_meanwhile_does_not_take_the_focus_afterwards() {
    let mut desk = Desk::new(fixture::snapshot([
        fixture::row(1, None),
        fixture::row(2, Some(1)),
    ]));
    desk.keys("/");
    desk.change(2, |row| fixture::stop(row, 9, "breakpoint"));
    desk.change(2, fixture::go);
    desk.keys("\u{1b}");
    assert_eq!(desk.focus(), 1);
}

#[test]
fn a_focus_row_that_is_removed_hands_on_the_focus() {
    let mut desk = Desk::new(fixture::five_stopped());
    desk.snapshot.rows.remove(&RowId(2));
    desk.publish();
    assert_eq!(desk.focus(), 3);
    desk.snapshot.rows.clear();
    desk.publish();
    assert_eq!(desk.focus(), 0);
    assert_eq!(desk.keys("cnsop[]{}ud\n"), []);
}

#[test]
fn moving_the_selection_does_not_move_the_focus_until_enter() {
    let mut desk = Desk::new(fixture::five_stopped());
    desk.keys("1jj");
    assert_eq!(
        (desk.focus(), desk.state.tree.selected),
        (2, Some(RowId(4)))
    );
    desk.keys("\n");
    assert_eq!(desk.focus(), 4);
    desk.keys("gh");
    assert_eq!(desk.state.tree.folded.len(), 1);
    assert_eq!(desk.state.tree.selected, Some(RowId(1)));
    desk.keys("ljh");
    assert_eq!(
        desk.state.tree.selected,
        Some(RowId(1)),
        "h goes to the parent"
    );
}
