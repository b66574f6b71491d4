//! Breakpoints belong to the tree; each session has its own word on each.

use super::harness::{Bench, at_line};
use daptree_model::{
    Answer, Breakpoint, BreakpointId, BreakpointSpec, BreakpointStatus, EngineError, Event, Op,
    RowId,
};
use serde_json::json;

fn breakpoint(bench: &Bench, id: u32) -> &Breakpoint {
    &bench.tree.breakpoints[&BreakpointId(id)]
}

fn status(bench: &Bench, id: u32, row: RowId) -> &BreakpointStatus {
    &breakpoint(bench, id).sessions[&row]
}

fn set(bench: &mut Bench, spec: BreakpointSpec) -> BreakpointId {
    match bench.command(Op::SetBreakpoint(spec)) {
        Ok(Answer::Breakpoint(id)) => id,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_new_breakpoint_goes_to_every_session_with_all_of_its_file() {
    let (mut bench, root) = Bench::launched_with(|request| request.breakpoints = vec![at_line(3)]);
    let child = bench.report(root, 200);
    bench.forget();
    set(
        &mut bench,
        BreakpointSpec {
            condition: Some("n > 1".to_owned()),
            ..at_line(5)
        },
    );
    assert_eq!(bench.count("setBreakpoints"), 2);
    let lines = json!([{ "line": 3 }, { "line": 5, "condition": "n > 1" }]);
    assert_eq!(bench.last("setBreakpoints")["breakpoints"], lines);
    for row in [root, child] {
        assert_eq!(*status(&bench, 2, row), BreakpointStatus::Verified);
    }
    assert_eq!(breakpoint(&bench, 2).verified(), (2, 2));
    // Another file is not told again.
    bench.forget();
    set(&mut bench, BreakpointSpec::line("/p/other.py", 1));
    assert_eq!(
        bench.last("setBreakpoints")["source"]["path"],
        "/p/other.py"
    );
}

#[test]
fn all_that_can_be_said_of_a_breakpoint_is_sent() {
    let (mut bench, _) = Bench::launched();
    let spec = BreakpointSpec {
        hit_condition: Some("3".to_owned()),
        log_message: Some("n is {n}".to_owned()),
        ..at_line(5)
    };
    set(&mut bench, spec);
    let sent = &bench.last("setBreakpoints")["breakpoints"][0];
    assert_eq!(sent["logMessage"], "n is {n}");
    // The count is the policy's own.
    let condition = sent["condition"].as_str().unwrap();
    assert!(condition.ends_with("== 3"), "{condition}");
    assert!(sent.get("hitCondition").is_none());
}

#[test]
fn one_at_the_same_place_is_changed_and_keeps_its_id() {
    let (mut bench, _) = Bench::launched();
    let first = set(&mut bench, at_line(5));
    let again = set(
        &mut bench,
        BreakpointSpec {
            condition: Some("x".to_owned()),
            ..at_line(5)
        },
    );
    assert_eq!(first, again);
    assert_eq!(bench.tree.breakpoints.len(), 1);
    assert_eq!(
        bench.last("setBreakpoints")["breakpoints"][0]["condition"],
        "x"
    );
}

#[test]
fn a_removed_or_disabled_breakpoint_is_taken_out_of_every_session() {
    let (mut bench, root) = Bench::launched();
    let child = bench.report(root, 200);
    let id = set(&mut bench, at_line(5));
    bench.forget();
    assert_eq!(
        bench.command(Op::EnableBreakpoint(id, false)),
        Ok(Answer::Done)
    );
    assert_eq!(bench.count("setBreakpoints"), 2);
    assert_eq!(bench.last("setBreakpoints")["breakpoints"], json!([]));
    assert!(breakpoint(&bench, id.0).sessions.is_empty());
    // A session that comes now is not told of it.
    bench.forget();
    bench.report(root, 201);
    assert_eq!(bench.count("setBreakpoints"), 0);
    assert_eq!(
        bench.command(Op::EnableBreakpoint(id, true)),
        Ok(Answer::Done)
    );
    assert_eq!(*status(&bench, id.0, child), BreakpointStatus::Verified);
    assert_eq!(bench.command(Op::RemoveBreakpoint(id)), Ok(Answer::Done));
    assert_eq!(bench.last("setBreakpoints")["breakpoints"], json!([]));
    assert!(bench.tree.breakpoints.is_empty());
}

#[test]
fn a_late_answer_does_not_switch_a_disabled_breakpoint_on() {
    let (mut bench, root) = Bench::launched();
    bench.silent.insert("setBreakpoints");
    let id = set(&mut bench, at_line(5));
    bench.command(Op::EnableBreakpoint(id, false)).unwrap();
    let body = json!({ "breakpoints": [{ "id": 1, "verified": true, "line": 5 }] });
    bench.answer("setBreakpoints", Ok(body));
    assert!(!breakpoint(&bench, id.0).sessions.contains_key(&root));
}

#[test]
fn ids_are_not_used_again() {
    let (mut bench, _) = Bench::launched();
    let first = set(&mut bench, at_line(5));
    bench.command(Op::RemoveBreakpoint(first)).unwrap();
    assert_ne!(set(&mut bench, at_line(5)), first);
}

#[test]
fn what_is_not_there_or_not_a_line_is_refused() {
    let (mut bench, _) = Bench::launched();
    let id = BreakpointId(9);
    let unknown = Err(EngineError::UnknownBreakpoint(id));
    assert_eq!(bench.command(Op::RemoveBreakpoint(id)), unknown);
    assert_eq!(bench.command(Op::EnableBreakpoint(id, true)), unknown);
    let zero = bench.command(Op::SetBreakpoint(at_line(0)));
    assert!(matches!(zero, Err(EngineError::Failed(_))), "{zero:?}");
    assert!(bench.tree.breakpoints.is_empty());
    assert_eq!(bench.count("setBreakpoints"), 0);
}

#[test]
fn the_word_of_a_session_is_kept_as_it_is() {
    let moved = json!({ "verified": true, "line": 6, "message": "moved" });
    let refused = json!({ "verified": false, "message": "no such file" });
    for (answer, wanted) in [
        (
            json!([{ "verified": true, "line": 5 }]),
            BreakpointStatus::Verified,
        ),
        (json!([{ "verified": true }]), BreakpointStatus::Verified),
        (
            json!([moved]),
            BreakpointStatus::Moved {
                line: 6,
                message: Some("moved".to_owned()),
            },
        ),
        (
            json!([refused]),
            BreakpointStatus::Refused {
                message: "no such file".to_owned(),
            },
        ),
        (
            json!([]),
            BreakpointStatus::Refused {
                message: "the adapter did not answer for this breakpoint".to_owned(),
            },
        ),
    ] {
        let (mut bench, root) = Bench::launched();
        bench.silent.insert("setBreakpoints");
        let id = set(&mut bench, at_line(5));
        assert_eq!(*status(&bench, id.0, root), BreakpointStatus::Pending);
        bench.forget_events();
        bench.answer("setBreakpoints", Ok(json!({ "breakpoints": answer })));
        assert_eq!(*status(&bench, id.0, root), wanted);
        let told = bench
            .events
            .iter()
            .filter(|e| matches!(e, Event::Breakpoint { .. }));
        assert_eq!(told.count(), 1);
    }
}

#[test]
fn a_request_that_is_refused_is_the_word_on_each_breakpoint_of_it() {
    let (mut bench, root) = Bench::launched();
    bench.refuses.insert("setBreakpoints", "no");
    let id = set(&mut bench, at_line(5));
    let BreakpointStatus::Refused { message } = status(&bench, id.0, root) else {
        panic!();
    };
    assert!(message.contains("no"), "{message}");
}

#[test]
fn the_adapter_may_change_its_mind() {
    let (mut bench, root) = Bench::launched();
    let id = set(&mut bench, at_line(5));
    let connection = bench.connection(root);
    // The harness numbers breakpoints by their line.
    let moved = json!({ "id": 5, "verified": true, "line": 8 });
    bench.say(
        connection,
        "breakpoint",
        json!({ "reason": "changed", "breakpoint": moved }),
    );
    assert_eq!(breakpoint(&bench, id.0).shown_line(), Some(8));
    bench.say(
        connection,
        "breakpoint",
        json!({ "reason": "changed", "breakpoint": { "id": 77 } }),
    );
    bench.say(connection, "breakpoint", json!({ "breakpoint": 3 }));
    assert_eq!(breakpoint(&bench, id.0).shown_line(), Some(8));
}

#[test]
fn hits_are_counted_over_all_sessions_where_the_breakpoint_stands() {
    let (mut bench, root) = Bench::launched();
    let child = bench.report(root, 200);
    let id = set(&mut bench, at_line(5));
    let moved = json!({ "id": 5, "verified": true, "line": 8 });
    let connection = bench.connection(child);
    bench.say(
        connection,
        "breakpoint",
        json!({ "reason": "changed", "breakpoint": moved }),
    );
    bench.stop(root, "breakpoint", "/p/main.py", 5);
    bench.stop(child, "breakpoint", "/p/main.py", 8);
    assert_eq!(breakpoint(&bench, id.0).hits, 2);
    assert_eq!(bench.row(child).stopped.as_ref().unwrap().breakpoints, [id]);
    // Elsewhere, or for another reason, is no hit.
    for row in [root, child] {
        bench.command(Op::Continue(row)).unwrap();
    }
    bench.stop(child, "breakpoint", "/p/main.py", 5);
    bench.stop(root, "step", "/p/main.py", 5);
    assert_eq!(breakpoint(&bench, id.0).hits, 2);
}

#[test]
fn exception_filters_go_to_every_session_and_to_those_that_come() {
    let (mut bench, root) = Bench::launched();
    bench.report(root, 200);
    let filters = vec!["raised".to_owned()];
    assert_eq!(
        bench.command(Op::SetExceptionFilters(filters)),
        Ok(Answer::Told(2))
    );
    bench.forget();
    bench.report(root, 201);
    assert_eq!(
        bench.last("setExceptionBreakpoints")["filters"],
        json!(["raised"])
    );
}

#[test]
fn a_filter_that_the_adapter_does_not_have_is_told_once() {
    let (mut bench, root) = Bench::launched_with(|request| {
        request.exceptions = Some(vec!["uncaught".to_owned(), "sometimes".to_owned()]);
    });
    bench.report(root, 200);
    assert_eq!(bench.notices(), ["exceptions"]);
    let notice = bench.tree.notices.back().unwrap();
    assert!(notice.message.contains("`sometimes`"), "{}", notice.message);
    assert!(
        notice.message.contains("userUnhandled"),
        "{}",
        notice.message
    );
}

#[test]
fn the_notice_of_an_unknown_filter_names_those_that_there_are() {
    let cases = [
        (
            json!([{ "filter": "raised", "label": "R" }, { "filter": "uncaught", "label": "U" }]),
            "the adapter knows no exception filter `caught`: it has raised, uncaught",
        ),
        (
            json!([]),
            "the adapter has no exception filters: `caught` does nothing",
        ),
    ];
    for (filters, told) in cases {
        let mut bench = Bench::empty();
        bench.silent.insert("initialize");
        bench.launch_with(|request| request.exceptions = Some(vec!["caught".to_owned()]));
        let body = json!({ "exceptionBreakpointFilters": filters });
        bench.answer("initialize", Ok(body));
        let notices = bench.tree.notices.iter();
        let messages: Vec<&str> = notices.map(|notice| notice.message.as_str()).collect();
        assert_eq!(messages, [told]);
    }
}
