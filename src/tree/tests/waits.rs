//! When a wait is over and what it is answered with.

use super::harness::{Bench, CLIENT, Outcome, ROOT_PID};
use crate::tree::Input;
use daptree_model::{
    Answer, ChildState, ClientId, Command, CommandId, EndStatus, EngineError, Op, RowId, RowState,
    ToEngine, WaitAnswer,
};

fn wait(row: RowId, timeout_ms: u64) -> Op {
    Op::WaitForStop { row, timeout_ms }
}

fn chosen(outcome: Option<Outcome>) -> Option<(RowId, RowState)> {
    match outcome? {
        Ok(Answer::Stopped(answer)) => Some((answer.row, answer.state)),
        other => panic!("{other:?}"),
    }
}

/// root → (left → below, right).
fn family() -> (Bench, [RowId; 4]) {
    let (mut bench, root) = Bench::launched();
    let left = bench.report(root, 200);
    let right = bench.report(root, 201);
    let below = bench.report(left, 300);
    (bench, [root, left, right, below])
}

fn stop(bench: &mut Bench, row: RowId) {
    bench.stop(row, "breakpoint", "/p/main.py", 3);
}

#[test]
fn the_session_itself_comes_first() {
    let (mut bench, [root, left, ..]) = family();
    stop(&mut bench, left);
    stop(&mut bench, root);
    let id = bench.ask(wait(root, 1_000), None);
    assert_eq!(chosen(bench.reply(id)), Some((root, RowState::Paused)));
}

#[test]
fn then_the_first_descendant_depth_first_in_adoption_order() {
    let (mut bench, [root, left, right, below]) = family();
    stop(&mut bench, right);
    let id = bench.ask(wait(root, 1_000), None);
    assert_eq!(chosen(bench.reply(id)), Some((right, RowState::Paused)));
    stop(&mut bench, below);
    let id = bench.ask(wait(root, 1_000), None);
    assert_eq!(chosen(bench.reply(id)), Some((below, RowState::Paused)));
    let id = bench.ask(wait(left, 1_000), None);
    assert_eq!(chosen(bench.reply(id)), Some((below, RowState::Paused)));
}

#[test]
fn nothing_is_consumed() {
    let (mut bench, [root, left, ..]) = family();
    stop(&mut bench, left);
    for _ in 0..3 {
        let id = bench.ask(wait(root, 1_000), None);
        assert_eq!(chosen(bench.reply(id)), Some((left, RowState::Paused)));
    }
}

#[test]
fn the_answer_names_all_descendants_in_pre_order_and_counts_the_others() {
    let (mut bench, [root, left, right, below]) = family();
    stop(&mut bench, left);
    stop(&mut bench, below);
    let id = bench.ask(wait(root, 1_000), None);
    let Some(Ok(Answer::Stopped(answer))) = bench.reply(id) else {
        panic!("{:?}", bench.reply(id));
    };
    let WaitAnswer {
        row,
        stop,
        children,
        others_paused,
        ..
    } = answer;
    assert_eq!((row, stop.0, others_paused), (left, 1, 1));
    let child = |id: RowId, pid: u32, state, parent| ChildState {
        session_id: id,
        name: format!("child-{pid}.py"),
        state,
        parent_session_id: Some(parent),
    };
    let wanted = [
        child(left, 200, RowState::Paused, root),
        child(below, 300, RowState::Paused, left),
        child(right, 201, RowState::Running, root),
    ];
    assert_eq!(children, wanted);
}

#[test]
fn a_child_that_is_adopted_during_the_wait_counts() {
    let (mut bench, root) = Bench::launched();
    let id = bench.ask(wait(root, 10_000), None);
    assert_eq!(bench.reply(id), None);
    let child = bench.report(root, 200);
    assert_eq!(bench.reply(id), None);
    stop(&mut bench, child);
    assert_eq!(chosen(bench.reply(id)), Some((child, RowState::Paused)));
}

#[test]
fn an_ended_child_alone_is_no_end_of_the_wait() {
    let (mut bench, [root, left, ..]) = family();
    let id = bench.ask(wait(root, 10_000), None);
    let on_child = bench.ask(wait(left, 10_000), None);
    bench.end(300, EndStatus::Exited(0));
    bench.end(200, EndStatus::Exited(0));
    bench.end(201, EndStatus::Exited(0));
    assert_eq!(chosen(bench.reply(on_child)), Some((left, RowState::Ended)));
    assert_eq!(bench.reply(id), None);
    bench.end(ROOT_PID, EndStatus::Exited(0));
    assert_eq!(chosen(bench.reply(id)), Some((root, RowState::Ended)));
}

#[test]
fn a_stopped_descendant_comes_before_the_end_of_the_session() {
    let (mut bench, [root, left, ..]) = family();
    stop(&mut bench, left);
    bench.end(ROOT_PID, EndStatus::Exited(0));
    let id = bench.ask(wait(root, 1_000), None);
    assert_eq!(chosen(bench.reply(id)), Some((left, RowState::Paused)));
}

#[test]
fn a_root_that_ended_is_waited_for_while_what_it_left_is_debugged() {
    let (mut bench, [root, left, ..]) = family();
    let id = bench.ask(wait(root, 10_000), None);
    let on_left = bench.ask(wait(left, 10_000), None);
    bench.end(ROOT_PID, EndStatus::Exited(0));
    bench.end(200, EndStatus::Exited(0));
    assert_eq!(bench.reply(id), None);
    // A child's end is its end, whatever is below it.
    assert_eq!(chosen(bench.reply(on_left)), Some((left, RowState::Ended)));
    bench.end(201, EndStatus::Exited(0));
    assert_eq!(bench.reply(id), None);
    bench.end(300, EndStatus::Exited(0));
    assert_eq!(chosen(bench.reply(id)), Some((root, RowState::Ended)));
}

#[test]
fn a_session_that_failed_ends_the_wait() {
    let (mut bench, [root, left, ..]) = family();
    let id = bench.ask(wait(root, 10_000), None);
    let connection = bench.connection(left);
    bench.breaks(connection);
    assert_eq!(chosen(bench.reply(id)), Some((left, RowState::Failed)));
}

#[test]
fn a_child_that_was_released_settles_nothing() {
    let (mut bench, root) = Bench::launched();
    let id = bench.ask(wait(root, 10_000), None);
    bench.refuses.insert("attach", "no");
    bench.report(root, 200);
    assert_eq!(bench.reply(id), None);
}

#[test]
fn who_is_held_by_a_group_counts_only_when_nobody_stands_by_himself() {
    let (mut bench, [root, left, right, _]) = family();
    bench.command(Op::PauseAll(left)).unwrap();
    bench.stop(left, "pause", "/p/main.py", 3);
    let id = bench.ask(wait(root, 1_000), None);
    assert_eq!(chosen(bench.reply(id)), Some((left, RowState::Paused)));
    stop(&mut bench, right);
    let id = bench.ask(wait(root, 1_000), None);
    assert_eq!(chosen(bench.reply(id)), Some((right, RowState::Paused)));
}

#[test]
fn a_wait_times_out_when_it_said_and_not_before() {
    let (mut bench, root) = Bench::launched();
    let id = bench.ask(wait(root, 700), None);
    bench.pass(690);
    assert_eq!(bench.reply(id), None);
    bench.pass(20);
    let after_ms = 700;
    let what = format!("a stop of {root} or below");
    assert_eq!(
        bench.reply(id),
        Some(Err(EngineError::TimedOut { what, after_ms }))
    );
    stop(&mut bench, root);
}

#[test]
fn a_wait_without_time_looks_once() {
    let (mut bench, root) = Bench::launched();
    let none = bench.command(wait(root, 0));
    assert!(
        matches!(none, Err(EngineError::TimedOut { .. })),
        "{none:?}"
    );
    stop(&mut bench, root);
    let id = bench.ask(wait(root, 0), None);
    assert_eq!(chosen(bench.reply(id)), Some((root, RowState::Paused)));
}

#[test]
fn a_wait_that_is_cancelled_is_answered_so_and_only_once() {
    let (mut bench, root) = Bench::launched();
    let id = bench.ask(wait(root, 10_000), None);
    bench.feed(Input::Client(CLIENT, ToEngine::Cancel(id)));
    assert_eq!(bench.reply(id), Some(Err(EngineError::Cancelled)));
    bench.feed(Input::Client(CLIENT, ToEngine::Cancel(id)));
    bench.feed(Input::Client(CLIENT, ToEngine::Cancel(CommandId(777))));
    stop(&mut bench, root);
    bench.pass(20_000);
}

#[test]
fn the_waits_of_a_front_end_that_left_are_nobodys() {
    let (mut bench, root) = Bench::launched();
    let other = ClientId(2);
    bench.feed(Input::ClientOpened(other));
    let command = Command {
        id: CommandId(1),
        expect: None,
        op: wait(root, 10_000),
    };
    bench.feed(Input::Client(other, ToEngine::Command(command)));
    bench.feed(Input::ClientClosed(other));
    assert!(bench.tree.waits.is_empty());
    // The harness refuses replies to anybody but its own front end.
    stop(&mut bench, root);
    bench.pass(20_000);
}

#[test]
fn a_wait_on_what_is_not_there_or_goes_away() {
    let (mut bench, [root, left, ..]) = family();
    let nobody = RowId(999);
    let unknown = |row| Err(EngineError::UnknownSession(row));
    assert_eq!(bench.command(wait(nobody, 1_000)), unknown(nobody));
    let id = bench.ask(wait(left, 10_000), None);
    bench.command(Op::Detach(root)).unwrap();
    assert_eq!(chosen(bench.reply(id)), Some((left, RowState::Ended)));
}
