//! Programs that end by the exception made for it: nobody stops there who did not ask to.

use super::harness::{Bench, ROOT_PID};
use daptree_model::{EndStatus, Event, Op, RowId, RowState, StopNumber};
use serde_json::json;

/// A root that stands at its `SystemExit`; the place of the stop is not answered yet.
fn at_exit(filter: &str) -> (Bench, RowId) {
    let (mut bench, root) = Bench::launched_with(|request| {
        request.exceptions = Some(vec![filter.to_owned()]);
    });
    stands_at_exit(&mut bench, root);
    (bench, root)
}

fn stands_at_exit(bench: &mut Bench, root: RowId) {
    bench.silent.insert("exceptionInfo");
    bench.silent.insert("stackTrace");
    bench.stop(root, "exception", "/p/main.py", 3);
    let body = json!({ "exceptionId": "SystemExit", "breakMode": "always" });
    bench.answer("exceptionInfo", Ok(body));
}

fn arrives(bench: &mut Bench) {
    bench.answer("stackTrace", Ok(json!({ "stackFrames": [] })));
}

fn stops(bench: &Bench) -> usize {
    let events = bench.events.iter();
    events
        .filter(|event| matches!(event, Event::Stopped { .. }))
        .count()
}

#[test]
fn the_end_by_an_exception_that_is_made_for_it_is_no_stop() {
    for (filter, state) in [
        ("userUnhandled", RowState::Running),
        ("raised", RowState::Paused),
    ] {
        let (mut bench, root) = at_exit(filter);
        arrives(&mut bench);
        assert_eq!(bench.row(root).state, state, "{filter}");
        let passed = state == RowState::Running;
        assert_eq!(bench.count("continue"), usize::from(passed));
        assert_eq!(bench.row(root).stop.0, u32::from(!passed));
    }
}

#[test]
fn nothing_is_sent_past_an_exit_that_is_over_before_it_arrived() {
    type Way = fn(&mut Bench, RowId);
    let ways: [(&str, Way); 5] = [
        ("continued", |bench, root| {
            let connection = bench.connection(root);
            bench.say(connection, "continued", json!({ "threadId": 1 }));
        }),
        ("terminated", |bench, root| bench.terminated(root)),
        ("ended", |bench, _| {
            bench.end(ROOT_PID, EndStatus::Exited(3));
        }),
        ("broken", |bench, root| {
            bench.breaks(bench.connection(root));
        }),
        ("detached", |bench, root| {
            bench.command(Op::Detach(root)).unwrap();
        }),
    ];
    for (how, way) in ways {
        let (mut bench, root) = at_exit("userUnhandled");
        way(&mut bench, root);
        bench.pass(5_000);
        assert_eq!(bench.count("continue"), 0, "{how}");
        assert_eq!((stops(&bench), bench.row(root).stop.0), (0, 0), "{how}");
    }
}

#[test]
fn an_exit_that_cannot_be_passed_is_a_stop_after_all() {
    let said_since: [(&str, RowState, u32); 3] = [
        ("nothing", RowState::Paused, 1),
        ("continued", RowState::Running, 0),
        ("terminated", RowState::Running, 0),
    ];
    for (said, state, number) in said_since {
        let (mut bench, root) = at_exit("userUnhandled");
        bench.silent.insert("continue");
        arrives(&mut bench);
        assert_eq!(bench.count("continue"), 1, "{said}");
        assert_eq!(bench.row(root).state, RowState::Running, "{said}");
        if said != "nothing" {
            bench.say(bench.connection(root), said, json!({}));
        }
        bench.answer("continue", Err("not now"));
        let row = bench.row(root);
        assert_eq!((row.state, row.stop), (state, StopNumber(number)), "{said}");
        assert_eq!(stops(&bench), number as usize, "{said}");
        let raised = row
            .stopped
            .as_ref()
            .and_then(|stop| stop.exception.as_ref());
        let raised = raised.map(|exception| exception.type_name.as_str());
        assert_eq!(raised, (number > 0).then_some("SystemExit"), "{said}");
    }
}

#[test]
fn a_late_refusal_does_not_bring_an_exit_back_over_a_newer_stop() {
    let (mut bench, root) = at_exit("userUnhandled");
    bench.silent.insert("continue");
    arrives(&mut bench);
    // It stands at the next one, which is passed too.
    stands_at_exit(&mut bench, root);
    arrives(&mut bench);
    bench.answer("continue", Err("not now"));
    assert_eq!(bench.row(root).state, RowState::Running);
    bench.answer("continue", Ok(json!({})));
    assert_eq!(
        (bench.row(root).state, stops(&bench)),
        (RowState::Running, 0)
    );
}
