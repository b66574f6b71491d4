//! Stops: what is known of them when they are shown, and what is done on which stop.

use super::harness::{Bench, ROOT_PID};
use daptree_model::{Answer, EngineError, Event, Op, RowId, RowState, StopNumber};
use serde_json::json;

fn stopped_events(bench: &Bench) -> Vec<(RowId, u32)> {
    let events = bench.events.iter().filter_map(|event| match event {
        Event::Stopped { row, stop, .. } => Some((*row, stop.0)),
        _ => None,
    });
    events.collect()
}

#[test]
fn a_stop_is_shown_with_its_place_and_counts_from_one() {
    let (mut bench, root) = Bench::launched();
    for number in 1..=3 {
        bench.stop(root, "breakpoint", "/p/main.py", 10 + number);
        let row = bench.row(root);
        assert_eq!(
            (row.state, row.stop),
            (RowState::Paused, StopNumber(number))
        );
        let place = row.stopped.as_ref().unwrap().place.as_ref().unwrap();
        assert_eq!((place.line, place.function.as_str()), (10 + number, "f"));
        assert_eq!(row.last_place.as_ref(), Some(place));
        assert_eq!(
            bench.command_at(Op::Continue(root), number),
            Ok(Answer::Done)
        );
        assert_eq!(bench.row(root).state, RowState::Running);
        assert!(bench.row(root).stopped.is_none());
    }
    assert_eq!(stopped_events(&bench), [(root, 1), (root, 2), (root, 3)]);
}

#[test]
fn nobody_hears_of_a_stop_before_its_place_is_known() {
    let (mut bench, root) = Bench::launched();
    bench.silent.insert("stackTrace");
    bench.stop(root, "breakpoint", "/p/main.py", 3);
    assert_eq!(bench.row(root).state, RowState::Running);
    assert!(stopped_events(&bench).is_empty());
    let frame = json!({ "id": 1, "name": "g", "line": 3, "source": { "path": "/p/a.py" } });
    bench.answer("stackTrace", Ok(json!({ "stackFrames": [frame] })));
    assert_eq!(stopped_events(&bench), [(root, 1)]);
}

#[test]
fn a_stop_whose_place_does_not_come_is_shown_after_two_seconds() {
    let (mut bench, root) = Bench::launched();
    bench.silent.insert("stackTrace");
    bench.stop(root, "breakpoint", "/p/main.py", 3);
    bench.pass(1_900);
    assert_eq!(bench.row(root).state, RowState::Running);
    bench.pass(200);
    let row = bench.row(root);
    assert_eq!(row.state, RowState::Paused);
    assert!(row.stopped.as_ref().unwrap().place.is_none());
}

#[test]
fn a_stop_whose_place_is_refused_is_shown_at_once() {
    let (mut bench, root) = Bench::launched();
    bench.refuses.insert("stackTrace", "no such thread");
    bench.stop(root, "breakpoint", "/p/main.py", 3);
    assert_eq!(bench.row(root).state, RowState::Paused);
}

#[test]
fn a_stop_without_a_thread_is_shown_without_a_place() {
    let (mut bench, root) = Bench::launched();
    bench.say(
        bench.connection(root),
        "stopped",
        json!({ "reason": "pause" }),
    );
    assert_eq!(bench.row(root).state, RowState::Paused);
    assert_eq!(bench.count("stackTrace"), 0);
}

#[test]
fn an_exception_is_told_with_its_bare_type() {
    let (mut bench, root) = Bench::launched();
    bench.stop(root, "exception", "/p/main.py", 3);
    let stop = bench.row(root).stopped.clone().unwrap();
    let exception = stop.exception.unwrap();
    assert_eq!(exception.type_name, "ValueError");
    assert_eq!(
        (exception.message.as_str(), exception.mode.as_str()),
        ("no", "always")
    );
}

#[test]
fn exception_info_that_comes_after_the_frames_still_belongs_to_the_stop() {
    let (mut bench, root) = Bench::launched();
    bench.silent.insert("exceptionInfo");
    bench.stop(root, "exception", "/p/main.py", 3);
    assert!(
        bench
            .row(root)
            .stopped
            .as_ref()
            .unwrap()
            .exception
            .is_none()
    );
    let body = json!({ "exceptionId": "m.E", "description": "d", "breakMode": "always" });
    bench.answer("exceptionInfo", Ok(body));
    let exception = bench.row(root).stopped.clone().unwrap().exception.unwrap();
    assert_eq!(exception.type_name, "E");
}

#[test]
fn a_stop_before_the_attach_is_answered_counts() {
    let (mut bench, root) = Bench::launched();
    bench.silent.insert("configurationDone");
    let child = bench.report(root, 200);
    bench.stop(child, "breakpoint", "/p/main.py", 3);
    assert_eq!(bench.row(child).state, RowState::Paused);
    bench.pass(5_100);
    // Its adoption failed after all: it is not shown as paused while it is let go.
    assert_eq!(bench.row(child).state, RowState::Running);
    assert!(bench.row(child).stopped.is_none());
}

#[test]
fn a_session_that_works_is_not_given_up_for_an_answer_that_got_lost() {
    let (mut bench, root) = Bench::launched();
    bench.silent.insert("initialize");
    let child = bench.report(root, 200);
    bench.stop(child, "breakpoint", "/p/main.py", 3);
    bench.pass(20_000);
    assert_eq!(bench.row(child).state, RowState::Paused);
}

#[test]
fn commands_on_another_stop_do_nothing() {
    let (mut bench, root) = Bench::launched();
    let stale = |expected, now| {
        Err(EngineError::StaleStop {
            row: root,
            expected: StopNumber(expected),
            now: StopNumber(now),
        })
    };
    assert_eq!(bench.command_at(Op::Continue(root), 1), stale(1, 0));
    bench.stop(root, "breakpoint", "/p/main.py", 3);
    bench.forget();
    for op in [
        Op::Continue(root),
        Op::Next(root, None),
        Op::StepIn(root, None),
    ] {
        assert_eq!(bench.command_at(op, 0), stale(0, 1));
    }
    assert_eq!(bench.command_at(Op::StepOut(root, None), 2), stale(2, 1));
    let set = Op::SetVariable {
        row: root,
        container: 10,
        name: "n".to_owned(),
        value: "1".to_owned(),
    };
    assert_eq!(bench.command_at(set, 2), stale(2, 1));
    assert!(bench.sent.is_empty());
    assert_eq!(bench.row(root).state, RowState::Paused);
}

#[test]
fn a_second_key_press_is_no_second_request() {
    let (mut bench, root) = Bench::launched();
    bench.silent.insert("next");
    bench.stop(root, "breakpoint", "/p/main.py", 3);
    let first = bench.ask(Op::Next(root, None), None);
    assert_eq!(bench.reply(first), None);
    let second = bench.command(Op::Next(root, None));
    assert!(
        matches!(second, Err(EngineError::WrongState { .. })),
        "{second:?}"
    );
    assert_eq!(bench.count("next"), 1);
    bench.answer("next", Ok(json!({})));
    assert_eq!(bench.reply(first), Some(Ok(Answer::Done)));
}

#[test]
fn steps_name_the_thread_given_or_the_one_that_stopped() {
    for (op, command, thread) in [
        (Op::Next as fn(RowId, Option<i64>) -> Op, "next", Some(9)),
        (Op::StepIn, "stepIn", None),
        (Op::StepOut, "stepOut", Some(2)),
    ] {
        let (mut bench, root) = Bench::launched();
        bench.stop(root, "breakpoint", "/p/main.py", 3);
        assert_eq!(bench.command(op(root, thread)), Ok(Answer::Done));
        assert_eq!(bench.last(command)["threadId"], thread.unwrap_or(1));
    }
}

#[test]
fn a_refused_resume_leaves_the_session_as_it_stood() {
    let (mut bench, root) = Bench::launched();
    bench.stop(root, "breakpoint", "/p/main.py", 3);
    let stood = bench.row(root).stopped.clone();
    bench.refuses.insert("continue", "not now");
    let refused = bench.command(Op::Continue(root));
    assert!(
        matches!(refused, Err(EngineError::Refused { .. })),
        "{refused:?}"
    );
    assert_eq!(bench.row(root).state, RowState::Paused);
    assert_eq!(bench.row(root).stopped, stood);
    assert_eq!(bench.row(root).stop, StopNumber(1));
}

#[test]
fn a_late_answer_to_an_earlier_resume_does_not_disturb_the_present_one() {
    let (mut bench, root) = Bench::launched();
    bench.silent.insert("next");
    bench.stop(root, "breakpoint", "/p/main.py", 3);
    let first = bench.ask(Op::Next(root, None), None);
    bench.stop(root, "step", "/p/main.py", 4);
    let second = bench.ask(Op::Next(root, None), None);
    bench.answer("next", Ok(json!({})));
    bench.answer("next", Err("no"));
    assert_eq!(bench.reply(first), Some(Ok(Answer::Done)));
    assert!(matches!(
        bench.reply(second),
        Some(Err(EngineError::Refused { .. }))
    ));
    let row = bench.row(root);
    assert_eq!((row.state, row.stop), (RowState::Paused, StopNumber(2)));
    assert_eq!(row.stopped.as_ref().unwrap().reason, "step");
}

#[test]
fn a_session_that_runs_on_by_itself_is_running() {
    let (mut bench, root) = Bench::launched();
    bench.stop(root, "breakpoint", "/p/main.py", 3);
    bench.say(
        bench.connection(root),
        "continued",
        json!({ "threadId": 1 }),
    );
    assert_eq!(bench.row(root).state, RowState::Running);
    // Also when its stop was not shown yet.
    bench.silent.insert("stackTrace");
    bench.stop(root, "breakpoint", "/p/main.py", 4);
    bench.say(
        bench.connection(root),
        "continued",
        json!({ "threadId": 1 }),
    );
    bench.pass(3_000);
    assert_eq!(bench.row(root).state, RowState::Running);
    assert_eq!(stopped_events(&bench), [(root, 1), (root, 2)]);
}

#[test]
fn continue_all_and_pause_all_reach_the_subtree_alone() {
    let (mut bench, root) = Bench::launched();
    let left = bench.report(root, 200);
    let right = bench.report(root, 201);
    let below = bench.report(left, 300);
    for row in [left, right, below] {
        bench.stop(row, "breakpoint", "/p/main.py", 3);
    }
    assert_eq!(bench.command(Op::ContinueAll(left)), Ok(Answer::Told(2)));
    let states = [root, left, right, below].map(|row| bench.row(row).is_paused());
    assert_eq!(states, [false, false, true, false]);
    assert_eq!(bench.command(Op::PauseAll(left)), Ok(Answer::Told(2)));
    let pausing = [root, left, right, below].map(|row| bench.row(row).pausing);
    assert_eq!(pausing, [false, true, false, true]);
    for row in [left, below] {
        bench.stop(row, "pause", "/p/main.py", 4);
        assert!(bench.row(row).held && !bench.row(row).pausing);
    }
    bench.command(Op::Continue(left)).unwrap();
    assert!(!bench.row(left).held);
}

#[test]
fn a_pause_that_meets_a_breakpoint_holds_nobody() {
    let (mut bench, root) = Bench::launched();
    bench.command(Op::PauseAll(root)).unwrap();
    bench.stop(root, "breakpoint", "/p/main.py", 3);
    assert!(!bench.row(root).held);
    bench.command(Op::Continue(root)).unwrap();
    bench.command(Op::Pause(root)).unwrap();
    bench.stop(root, "pause", "/p/main.py", 3);
    assert!(!bench.row(root).held, "a single pause is nobody's group");
}

#[test]
fn a_pause_is_asked_once_and_forgotten_when_it_fails() {
    let (mut bench, root) = Bench::launched();
    bench.silent.insert("pause");
    assert_eq!(bench.command(Op::Pause(root)), Ok(Answer::Done));
    assert_eq!(bench.command(Op::Pause(root)), Ok(Answer::Done));
    assert_eq!(bench.count("pause"), 1);
    bench.answer("pause", Err("no thread"));
    assert!(!bench.row(root).pausing);
    bench.command(Op::Pause(root)).unwrap();
    bench.pass(15_100);
    assert!(
        !bench.row(root).pausing,
        "an answer that never comes is a failure"
    );
}

#[test]
fn a_paused_session_cannot_be_paused_nor_a_running_one_continued() {
    let (mut bench, root) = Bench::launched();
    let running = bench.command(Op::Continue(root));
    assert!(
        matches!(running, Err(EngineError::WrongState { .. })),
        "{running:?}"
    );
    bench.stop(root, "breakpoint", "/p/main.py", 3);
    let paused = bench.command(Op::Pause(root));
    assert!(
        matches!(paused, Err(EngineError::WrongState { .. })),
        "{paused:?}"
    );
}

#[test]
fn stop_on_entry_is_a_pause_of_the_root_before_it_runs() {
    let (mut bench, root) = Bench::launched_with(|request| request.stop_on_entry = true);
    let sent = bench.commands_on(bench.connection(root));
    let pause = sent.iter().position(|c| *c == "pause").unwrap();
    let done = sent.iter().position(|c| *c == "configurationDone").unwrap();
    assert!(pause < done);
    bench.forget();
    bench.report(root, 200);
    assert_eq!(
        bench.count("pause"),
        0,
        "children do not stop at their entry"
    );
    assert_eq!(bench.row(root).process.unwrap().pid, ROOT_PID);
}

#[test]
fn a_stop_that_is_overtaken_before_it_was_shown_keeps_its_number() {
    let (mut bench, root) = Bench::launched();
    bench.silent.insert("stackTrace");
    for line in [3, 4] {
        bench.stop(root, "breakpoint", "/p/main.py", line);
    }
    let frame = |line| {
        json!({ "stackFrames": [
            { "id": 1, "name": "g", "line": line, "source": { "path": "/p/a.py" } },
        ] })
    };
    bench.answer("stackTrace", Ok(frame(3)));
    assert!(
        stopped_events(&bench).is_empty(),
        "that was the place of the other"
    );
    bench.answer("stackTrace", Ok(frame(4)));
    assert_eq!(stopped_events(&bench), [(root, 2)]);
    let place = bench.row(root).last_place.clone().unwrap();
    assert_eq!(place.line, 4);
}

#[test]
fn what_is_invalidated_while_a_stop_arrives_does_not_lose_it() {
    let (mut bench, root) = Bench::launched();
    bench.silent.insert("stackTrace");
    bench.stop(root, "breakpoint", "/p/main.py", 3);
    bench.say(bench.connection(root), "invalidated", json!({}));
    bench.pass(2_100);
    assert_eq!(bench.row(root).state, RowState::Paused);
}

#[test]
fn the_stop_at_entry_is_on_the_first_line() {
    let (mut bench, root) = Bench::launched_with(|request| request.stop_on_entry = true);
    bench.stop(root, "pause", "/p/main.py", 0);
    assert!(!bench.row(root).is_paused(), "nobody wrote line 0");
    assert_eq!(bench.count("next"), 1);
    bench.stop(root, "step", "/p/main.py", 3);
    let stop = bench.row(root).stopped.clone().unwrap();
    assert_eq!((stop.reason.as_str(), bench.row(root).stop.0), ("entry", 1));
    assert_eq!(stop.place.unwrap().line, 3);
    // Later pauses are what they are.
    bench.command(Op::Continue(root)).unwrap();
    bench.stop(root, "pause", "/p/main.py", 5);
    assert_eq!(bench.row(root).stopped.as_ref().unwrap().reason, "pause");
}

#[test]
fn a_breakpoint_before_the_entry_keeps_its_reason() {
    let (mut bench, root) = Bench::launched_with(|request| request.stop_on_entry = true);
    bench.stop(root, "breakpoint", "/p/main.py", 1);
    let reason = bench.row(root).stopped.clone().unwrap().reason;
    assert_eq!(reason, "breakpoint");
}
