//! Groups and worlds: who is paused with whom, who is held, and that nobody is left behind.

use super::harness::{Bench, Outcome, ROOT_PID};
use crate::tree::invariants;
use daptree_model::{
    Answer, EndStatus, EngineError, Follow, LaunchRequest, Op, RowId, RowState, StopNumber,
};

fn stop(bench: &mut Bench, row: RowId) {
    bench.stop(row, "breakpoint", "/p/main.py", 3);
}

/// The pause that a session was asked for takes hold.
fn pauses(bench: &mut Bench, row: RowId) {
    bench.stop(row, "pause", "/p/main.py", 7);
}

/// root → (left → below, right) that stop as one.
fn world() -> (Bench, [RowId; 4]) {
    family(|request| request.stop_the_world = true)
}

fn family(change: impl FnOnce(&mut LaunchRequest)) -> (Bench, [RowId; 4]) {
    let (mut bench, root) = Bench::launched_with(change);
    let left = bench.report(root, 200);
    let right = bench.report(root, 201);
    let below = bench.report(left, 300);
    bench.forget();
    (bench, [root, left, right, below])
}

/// Its state, whether it is held, and whether it is pausing.
fn look(bench: &Bench, row: RowId) -> (RowState, bool, bool) {
    let row = bench.row(row);
    (row.state, row.held, row.pausing)
}

const RUNS: (RowState, bool, bool) = (RowState::Running, false, false);
const PAUSING: (RowState, bool, bool) = (RowState::Running, false, true);
const STANDS: (RowState, bool, bool) = (RowState::Paused, false, false);
const HELD: (RowState, bool, bool) = (RowState::Paused, true, false);

fn looks(bench: &Bench, rows: [RowId; 4]) -> [(RowState, bool, bool); 4] {
    rows.map(|row| look(bench, row))
}

/// `left` stands at a breakpoint and its world is held.
fn stands() -> (Bench, [RowId; 4]) {
    let (mut bench, rows @ [root, left, right, below]) = world();
    stop(&mut bench, left);
    for row in [root, right, below] {
        pauses(&mut bench, row);
    }
    assert_eq!(looks(&bench, rows), [HELD, STANDS, HELD, HELD]);
    bench.forget();
    (bench, rows)
}

fn chosen(outcome: Option<Outcome>) -> Option<RowId> {
    match outcome? {
        Ok(Answer::Stopped(answer)) => Some(answer.row),
        other => panic!("{other:?}"),
    }
}

#[test]
fn without_the_setting_the_others_run() {
    let (mut bench, rows @ [_, left, ..]) = family(|_| {});
    stop(&mut bench, left);
    assert_eq!(looks(&bench, rows), [RUNS, STANDS, RUNS, RUNS]);
    assert_eq!(bench.count("pause"), 0);
}

#[test]
fn the_others_are_asked_to_stop_with_the_word_of_the_stop() {
    let (mut bench, rows @ [_, left, ..]) = world();
    bench.silent.insert("stackTrace");
    stop(&mut bench, left);
    assert_eq!(bench.row(left).state, RowState::Running, "not shown yet");
    assert_eq!(bench.count("pause"), 3);
    assert_eq!(looks(&bench, rows), [PAUSING, RUNS, PAUSING, PAUSING]);
}

#[test]
fn who_is_held_settles_no_wait_whatever_comes_first() {
    let (mut bench, [root, left, right, _]) = world();
    let (on_all, on_right) = {
        let wait = |row| Op::WaitForStop {
            row,
            timeout_ms: 60_000,
        };
        (bench.ask(wait(root), None), bench.ask(wait(right), None))
    };
    bench.silent.insert("stackTrace");
    stop(&mut bench, left);
    bench.silent.clear();
    pauses(&mut bench, right);
    assert_eq!(look(&bench, right), HELD);
    assert_eq!(bench.reply(on_all), None);
    bench.pass(2_100);
    assert_eq!(chosen(bench.reply(on_all)), Some(left));
    assert_eq!(bench.reply(on_right), None);
    // A step of the one that stands settles nothing by the others.
    bench.command(Op::Next(left, None)).unwrap();
    let wait = Op::WaitForStop {
        row: root,
        timeout_ms: 60_000,
    };
    let id = bench.ask(wait, None);
    assert_eq!(bench.reply(id), None);
    bench.stop(left, "step", "/p/main.py", 4);
    assert_eq!(chosen(bench.reply(id)), Some(left));
}

#[test]
fn continuing_the_one_that_stands_lets_all_go_on() {
    let (mut bench, rows @ [_, left, ..]) = stands();
    assert_eq!(bench.command(Op::Continue(left)), Ok(Answer::Done));
    assert_eq!(looks(&bench, rows), [RUNS; 4]);
    assert_eq!(bench.count("continue"), 4);
}

#[test]
fn so_does_continuing_all_and_continuing_one_that_is_held() {
    for op in [Op::ContinueAll, Op::Continue] {
        let (mut bench, rows @ [_, _, right, _]) = stands();
        bench.command(op(right)).unwrap();
        assert_eq!(looks(&bench, rows), [RUNS; 4]);
        assert_eq!(bench.count("continue"), 4);
    }
}

#[test]
fn one_steps_while_the_others_stay_held() {
    let (mut bench, rows @ [_, left, right, _]) = stands();
    for line in 4..7 {
        bench.command(Op::Next(left, None)).unwrap();
        assert_eq!(looks(&bench, rows), [HELD, RUNS, HELD, HELD]);
        bench.stop(left, "step", "/p/main.py", line);
        assert_eq!(looks(&bench, rows), [HELD, STANDS, HELD, HELD]);
    }
    // One that was held steps as well, and stands by itself from then on.
    bench.command(Op::StepIn(right, None)).unwrap();
    bench.stop(right, "step", "/p/main.py", 8);
    assert_eq!(looks(&bench, rows), [HELD, STANDS, STANDS, HELD]);
    assert_eq!(bench.count("pause") + bench.count("continue"), 0);
}

#[test]
fn a_stop_of_its_own_before_the_pause_counts() {
    let (mut bench, rows @ [root, left, right, below]) = world();
    stop(&mut bench, left);
    stop(&mut bench, right);
    pauses(&mut bench, root);
    pauses(&mut bench, below);
    assert_eq!(looks(&bench, rows), [HELD, STANDS, STANDS, HELD]);
    // Done with one, the other is still to be looked at: nobody runs meanwhile.
    bench.forget();
    assert_eq!(bench.command(Op::Continue(left)), Ok(Answer::Done));
    assert_eq!(looks(&bench, rows), [HELD, HELD, STANDS, HELD]);
    assert!(bench.sent.is_empty());
    let wait = Op::WaitForStop {
        row: root,
        timeout_ms: 60_000,
    };
    let id = bench.ask(wait, None);
    assert_eq!(chosen(bench.reply(id)), Some(right));
    bench.silent.insert("continue");
    bench.ask(Op::Continue(right), None);
    assert_eq!(looks(&bench, rows), [RUNS; 4]);
    // The pause that was overtaken may be under way yet: nobody wants it.
    pauses(&mut bench, right);
    assert_eq!(looks(&bench, rows), [RUNS; 4]);
}

#[test]
fn a_process_in_a_c_call_is_pausing_and_is_not_stopped_when_the_world_went_on() {
    let (mut bench, rows @ [root, left, right, below]) = world();
    stop(&mut bench, left);
    pauses(&mut bench, root);
    pauses(&mut bench, below);
    assert_eq!(looks(&bench, rows), [HELD, STANDS, PAUSING, HELD]);
    bench.command(Op::Continue(left)).unwrap();
    assert_eq!(looks(&bench, rows), [RUNS; 4]);
    let stops = bench.row(right).stop;
    bench.forget();
    pauses(&mut bench, right);
    assert_eq!(look(&bench, right), RUNS);
    assert_eq!(bench.row(right).stop, stops, "nobody saw a stop");
    assert_eq!(bench.commands_on(bench.connection(right)), ["continue"]);
    // A breakpoint that it meets first is a stop all the same.
    stop(&mut bench, left);
    assert_eq!(look(&bench, right), PAUSING);
    bench.command(Op::ContinueAll(root)).unwrap();
    stop(&mut bench, right);
    assert_eq!(look(&bench, right), STANDS);
    assert_eq!(look(&bench, left), PAUSING);
}

#[test]
fn a_stop_on_its_way_to_be_held_is_passed_when_the_world_goes_on() {
    let (mut bench, rows @ [root, left, right, _]) = world();
    stop(&mut bench, left);
    bench.silent.insert("stackTrace");
    pauses(&mut bench, right);
    bench.silent.clear();
    bench.command(Op::ContinueAll(root)).unwrap();
    assert_eq!(looks(&bench, rows), [RUNS; 4]);
    bench.answer("stackTrace", Ok(serde_json::json!({ "stackFrames": [] })));
    bench.pass(5_000);
    assert_eq!(look(&bench, right), RUNS);
    let sent = bench.commands_on(bench.connection(right));
    assert_eq!(sent.iter().filter(|one| **one == "continue").count(), 1);
}

#[test]
fn who_paused_it_himself_wants_it_to_stand() {
    let (mut bench, [root, left, right, _]) = world();
    stop(&mut bench, left);
    assert_eq!(look(&bench, right), PAUSING);
    bench.command(Op::Pause(right)).unwrap();
    pauses(&mut bench, right);
    assert_eq!(look(&bench, right), STANDS);
    assert_eq!(bench.count("pause"), 3, "one request is enough");
    // A pause by hand holds the others like any other stop.
    bench.command(Op::ContinueAll(root)).unwrap();
    bench.forget();
    bench.command(Op::Pause(right)).unwrap();
    pauses(&mut bench, right);
    assert_eq!(look(&bench, right), STANDS);
    assert_eq!(look(&bench, left), PAUSING);
}

#[test]
fn a_child_that_is_adopted_while_the_world_stands_is_held_before_its_first_line() {
    let (mut bench, [root, left, ..]) = stands();
    let child = bench.report(root, 400);
    let connection = bench.connection(child);
    let sent = bench.commands_on(connection);
    let at = |command| sent.iter().position(|one| *one == command);
    assert!(at("pause").unwrap() < at("configurationDone").unwrap());
    // Python 3.11 pauses before the first line: one step brings it there.
    bench.stop(child, "pause", "/p/child-400.py", 0);
    assert_eq!(look(&bench, child), PAUSING);
    bench.stop(child, "step", "/p/child-400.py", 1);
    assert_eq!(look(&bench, child), HELD);
    assert_eq!(bench.row(child).stopped.as_ref().unwrap().reason, "pause");
    bench.command(Op::Continue(left)).unwrap();
    assert_eq!(look(&bench, child), RUNS);
    // In a world that runs nobody is held.
    bench.forget();
    bench.report(root, 401);
    assert_eq!(bench.count("pause"), 0);
}

#[test]
fn a_child_that_the_world_did_not_wait_for_runs_from_its_first_line() {
    for line in [0, 1] {
        let (mut bench, [root, left, ..]) = stands();
        let child = bench.report(root, 400);
        bench.command(Op::Continue(left)).unwrap();
        bench.stop(child, "pause", "/p/child-400.py", line);
        assert_eq!(look(&bench, child), RUNS);
        assert_eq!(bench.row(child).stop, StopNumber(0));
    }
    // Between the pause and the step to the first line.
    let (mut bench, [root, left, ..]) = stands();
    let child = bench.report(root, 400);
    bench.stop(child, "pause", "/p/child-400.py", 0);
    bench.command(Op::Continue(left)).unwrap();
    bench.stop(child, "step", "/p/child-400.py", 1);
    assert_eq!(look(&bench, child), RUNS);
    assert_eq!(bench.row(child).stop, StopNumber(0));
}

#[test]
fn a_child_of_one_that_steps_alone_runs() {
    let (mut bench, root) = Bench::launched_with(|request| request.stop_the_world = true);
    stop(&mut bench, root);
    bench.command(Op::Next(root, None)).unwrap();
    let child = bench.report(root, 200);
    assert_eq!(look(&bench, child), RUNS, "the step may wait for it");
    bench.stop(root, "step", "/p/main.py", 4);
    assert_eq!(look(&bench, child), PAUSING);
}

#[test]
fn helpers_serve_on() {
    let (mut bench, root) = Bench::launched_with(|request| request.stop_the_world = true);
    let forker = "from multiprocessing.forkserver import main; main(3, 4)";
    bench.process(200, ROOT_PID, &["python", "-c", forker]);
    let helper = bench.report(root, 200);
    assert_eq!(bench.row(helper).follow, Follow::Helper);
    stop(&mut bench, root);
    assert_eq!(look(&bench, helper), RUNS);
    let worker = bench.report(helper, 300);
    assert_eq!(bench.count("pause"), 1, "its workers are held");
    assert_eq!(look(&bench, worker), PAUSING);
}

#[test]
fn the_end_of_the_one_that_stands_lets_the_others_go() {
    type End = fn(&mut Bench, RowId);
    let ends: [(&str, End); 5] = [
        ("it is killed", |bench, _| {
            bench.end(200, EndStatus::Signaled(9));
        }),
        ("its session is over", |bench, row| bench.terminated(row)),
        ("its connection breaks", |bench, row| {
            let connection = bench.connection(row);
            bench.breaks(connection);
        }),
        ("it is closed", |bench, row| {
            bench.command(Op::Close(row)).unwrap();
        }),
        ("it ends in a step", |bench, row| {
            bench.command(Op::Next(row, None)).unwrap();
            bench.end(200, EndStatus::Exited(0));
        }),
    ];
    for (how, end) in ends {
        let (mut bench, [root, left, right, _]) = stands();
        end(&mut bench, left);
        for row in [root, right] {
            assert_eq!(look(&bench, row), RUNS, "{how}");
        }
    }
}

#[test]
fn a_refused_continue_holds_the_others_again() {
    let (mut bench, rows @ [_, left, ..]) = stands();
    let connection = bench.connection(left);
    bench.silent.insert("continue");
    let id = bench.ask(Op::Continue(left), None);
    assert_eq!(looks(&bench, rows), [RUNS; 4]);
    let sent: Vec<_> = bench.sent.iter().map(|(on, _)| *on).collect();
    assert_eq!(sent.first(), Some(&connection));
    bench.answer("continue", Err("no"));
    assert!(matches!(
        bench.reply(id),
        Some(Err(EngineError::Refused { .. }))
    ));
    assert_eq!(looks(&bench, rows), [PAUSING, STANDS, PAUSING, PAUSING]);
}

#[test]
fn what_the_adapter_will_not_pause_is_asked_once_a_stop() {
    let (mut bench, rows @ [root, left, ..]) = world();
    bench.refuses.insert("pause", "not now");
    stop(&mut bench, left);
    bench.pass(10_000);
    assert_eq!(looks(&bench, rows), [RUNS, STANDS, RUNS, RUNS]);
    assert_eq!(bench.count("pause"), 3);
    bench.refuses.clear();
    bench.command(Op::ContinueAll(root)).unwrap();
    stop(&mut bench, left);
    assert_eq!(looks(&bench, rows), [PAUSING, STANDS, PAUSING, PAUSING]);
}

#[test]
fn an_exit_that_nobody_stops_at_holds_nobody() {
    let (mut bench, [_, left, right, _]) = world();
    let connection = bench.connection(left);
    bench.refuses.insert("exceptionInfo", "unused");
    bench.refuses.clear();
    bench.silent.insert("exceptionInfo");
    bench.stop(left, "exception", "/p/main.py", 9);
    assert_eq!(look(&bench, left), STANDS, "its kind came too late");
    assert_eq!(look(&bench, right), PAUSING);
    bench.command(Op::ContinueAll(left)).unwrap();
    bench.forget();
    bench.silent.insert("stackTrace");
    bench.stop(left, "exception", "/p/main.py", 9);
    assert_eq!(look(&bench, right), RUNS, "it is not known what it is");
    let body = serde_json::json!({ "exceptionId": "SystemExit", "breakMode": "always" });
    bench.answer("exceptionInfo", Ok(body));
    bench.answer("stackTrace", Ok(serde_json::json!({ "stackFrames": [] })));
    assert_eq!(bench.commands_on(connection).last(), Some(&"continue"));
    assert_eq!((look(&bench, left), look(&bench, right)), (RUNS, RUNS));
}

#[test]
fn a_world_is_switched_on_and_off_while_one_stands() {
    let (mut bench, rows @ [root, left, ..]) = family(|_| {});
    stop(&mut bench, left);
    assert_eq!(
        bench.command(Op::StopTheWorld(root, true)),
        Ok(Answer::Done)
    );
    assert_eq!(looks(&bench, rows), [PAUSING, STANDS, PAUSING, PAUSING]);
    assert!(bench.tree.snapshot().trees[0].stop_the_world);
    pauses(&mut bench, root);
    bench.command(Op::StopTheWorld(root, false)).unwrap();
    assert_eq!(looks(&bench, rows), [RUNS, STANDS, RUNS, RUNS]);
    assert!(!bench.tree.snapshot().trees[0].stop_the_world);
}

#[test]
fn a_world_may_be_a_part_of_the_tree_and_lie_in_another() {
    let (mut bench, rows @ [root, left, right, below]) = family(|_| {});
    bench.command(Op::StopTheWorld(left, true)).unwrap();
    assert!(bench.row(left).stops_world && !bench.row(root).stops_world);
    stop(&mut bench, right);
    assert_eq!(looks(&bench, rows), [RUNS, RUNS, STANDS, RUNS]);
    stop(&mut bench, below);
    assert_eq!(looks(&bench, rows), [RUNS, PAUSING, STANDS, STANDS]);
    // The larger one counts, and the smaller one is there again after it.
    bench.command(Op::StopTheWorld(root, true)).unwrap();
    assert_eq!(looks(&bench, rows), [PAUSING, PAUSING, STANDS, STANDS]);
    bench.command(Op::StopTheWorld(root, false)).unwrap();
    assert_eq!(looks(&bench, rows), [RUNS, PAUSING, STANDS, STANDS]);
    bench.command(Op::Continue(below)).unwrap();
    assert_eq!(looks(&bench, rows), [RUNS, RUNS, STANDS, RUNS]);
}

#[test]
fn the_setting_outlives_a_restart() {
    let (mut bench, [root, ..]) = stands();
    bench.command(Op::Restart(root)).unwrap();
    bench.adapter_up(root);
    assert!(bench.row(root).stops_world);
    assert_eq!(look(&bench, root), RUNS);
    let child = bench.report(root, 500);
    stop(&mut bench, child);
    assert_eq!(look(&bench, root), PAUSING);
}

#[test]
fn all_are_paused_and_go_on() {
    let (mut bench, rows @ [root, left, right, below]) = family(|_| {});
    assert_eq!(bench.command(Op::PauseAll(root)), Ok(Answer::Told(4)));
    for row in [root, left, below] {
        pauses(&mut bench, row);
    }
    assert_eq!(looks(&bench, rows), [HELD, HELD, PAUSING, HELD]);
    assert_eq!(bench.command(Op::ContinueAll(root)), Ok(Answer::Told(4)));
    assert_eq!(looks(&bench, rows), [RUNS; 4]);
    // The one in a C call comes back too late to be stopped.
    pauses(&mut bench, right);
    assert_eq!(looks(&bench, rows), [RUNS; 4]);
    // Alone it goes on alone.
    bench.command(Op::PauseAll(root)).unwrap();
    for row in rows {
        pauses(&mut bench, row);
    }
    bench.command(Op::Continue(left)).unwrap();
    assert_eq!(looks(&bench, rows), [HELD, RUNS, HELD, HELD]);
}

#[test]
fn the_whole_world_goes_on_after_all_were_paused() {
    let (mut bench, rows @ [root, left, ..]) = world();
    bench.command(Op::PauseAll(root)).unwrap();
    for row in rows {
        pauses(&mut bench, row);
    }
    assert_eq!(looks(&bench, rows), [HELD; 4]);
    let wait = Op::WaitForStop {
        row: root,
        timeout_ms: 0,
    };
    let id = bench.ask(wait, None);
    assert_eq!(
        chosen(bench.reply(id)),
        Some(root),
        "nobody stands by himself"
    );
    bench.command(Op::Continue(left)).unwrap();
    assert_eq!(looks(&bench, rows), [RUNS; 4]);
}

#[test]
fn the_invariant_sees_who_is_left_behind() {
    let (mut bench, [_, left, right, _]) = stands();
    invariants::check(&bench.tree).unwrap();
    // As if the release had forgotten one.
    bench.tree.rows.get_mut(&left).unwrap().of_world = true;
    bench.tree.change_row(left, |view| view.held = true);
    let broken = invariants::check(&bench.tree).unwrap_err();
    assert!(broken.contains("is held and the world"), "{broken}");
    // As if one had not been asked.
    let (mut bench, [_, left, ..]) = stands();
    bench.tree.resumed(right);
    assert!(bench.row(left).is_paused());
    let broken = invariants::check(&bench.tree).unwrap_err();
    assert!(broken.contains("runs while the world"), "{broken}");
}

#[test]
fn a_child_that_ended_before_its_session_was_set_up_is_not_held() {
    let (mut bench, rows) = stands();
    bench.silent.insert("attach");
    let child = bench.report(rows[0], 210);
    let connection = bench.connection(child);
    bench.end(210, EndStatus::Exited(0));
    bench.say(connection, "initialized", serde_json::json!({}));
    assert_eq!(look(&bench, child), (RowState::Ended, false, false));
    assert_eq!(bench.count("pause"), 0);
}
