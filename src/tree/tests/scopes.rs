//! In which sessions a breakpoint is, for how many stops, and at which functions.

use super::harness::{Bench, at_line};
use daptree_model::{
    Answer, BreakpointAt, BreakpointId, BreakpointScope, BreakpointSpec, BreakpointStatus,
    EngineError, Op, RowId, RowState,
};
use serde_json::{Value, json};

const FILE: &str = "/p/main.py";

fn set(bench: &mut Bench, spec: BreakpointSpec) -> BreakpointId {
    match bench.command(Op::SetBreakpoint(spec)) {
        Ok(Answer::Breakpoint(id)) => id,
        other => panic!("{other:?}"),
    }
}

fn scoped(line: u32, scope: BreakpointScope) -> BreakpointSpec {
    BreakpointSpec {
        scope,
        ..at_line(line)
    }
}

fn once(line: u32) -> BreakpointSpec {
    BreakpointSpec {
        once: true,
        ..at_line(line)
    }
}

fn program(pattern: &str) -> BreakpointScope {
    BreakpointScope::Program(pattern.to_owned())
}

/// The sessions that were asked for a breakpoint.
fn asked(bench: &Bench, id: BreakpointId) -> Vec<RowId> {
    let known = &bench.tree.breakpoints[&id];
    known.sessions.keys().copied().collect()
}

/// What a session was told of a file last.
fn told(bench: &Bench, row: RowId, path: &str) -> Option<Value> {
    let connection = bench.connection(row);
    let requests = bench.sent.iter().rev();
    requests
        .filter(|(to, request)| *to == connection && request.command == "setBreakpoints")
        .map(|(_, request)| request.arguments.clone().unwrap_or_default())
        .find(|arguments| arguments["source"]["path"] == path)
        .map(|arguments| arguments["breakpoints"].clone())
}

#[test]
fn each_session_gets_what_is_in_its_scope() {
    let (mut bench, root) = Bench::launched();
    let child = bench.report(root, 200);
    let grandchild = bench.report(child, 300);
    let other = bench.report(root, 201);
    for (line, scope, wanted) in [
        (
            1,
            BreakpointScope::Everywhere,
            vec![root, child, grandchild, other],
        ),
        (2, BreakpointScope::Session(child), vec![child]),
        (3, BreakpointScope::Subtree(child), vec![child, grandchild]),
        (
            4,
            BreakpointScope::Subtree(root),
            vec![root, child, grandchild, other],
        ),
    ] {
        let id = set(&mut bench, scoped(line, scope));
        assert_eq!(asked(&bench, id), wanted, "line {line}");
    }
    let late = bench.report(child, 301);
    let lines = json!([{ "line": 1 }, { "line": 3 }, { "line": 4 }]);
    assert_eq!(told(&bench, late, FILE), Some(lines));
}

#[test]
fn a_session_hears_only_of_what_changes_for_it() {
    let (mut bench, root) = Bench::launched();
    let child = bench.report(root, 200);
    set(&mut bench, at_line(1));
    bench.forget();
    let id = set(&mut bench, scoped(2, BreakpointScope::Session(child)));
    assert_eq!(bench.count("setBreakpoints"), 1);
    assert_eq!(told(&bench, root, FILE), None);
    // Moved to the other session: both hear of it, once each.
    bench.forget();
    let there = scoped(2, BreakpointScope::Session(root));
    assert_eq!(
        bench.command(Op::EditBreakpoint(id, there)),
        Ok(Answer::Done)
    );
    assert_eq!(bench.count("setBreakpoints"), 2);
    assert_eq!(told(&bench, child, FILE), Some(json!([{ "line": 1 }])));
    assert_eq!(asked(&bench, id), [root]);
    // The same again changes nothing.
    bench.forget();
    let same = scoped(2, BreakpointScope::Session(root));
    bench.command(Op::EditBreakpoint(id, same)).unwrap();
    assert_eq!(bench.count("setBreakpoints"), 0);
}

#[test]
fn a_pattern_is_held_against_what_a_person_may_call_a_process() {
    for (pattern, root_in, child_in) in [
        ("main.py", true, false),
        ("*.py", true, true),
        ("child-200.py", false, true),
        ("/p/*", true, true),
        ("*/main.py", true, false),
        ("{main,child-200}.py", true, true),
        ("[c]hild*", false, true),
        ("MAIN.PY", false, false),
    ] {
        let (mut bench, root) = Bench::launched();
        let child = bench.report(root, 200);
        // A process that has nothing more to say of its name.
        bench.pass(10_000);
        let id = set(&mut bench, scoped(3, program(pattern)));
        let wanted: Vec<RowId> = [(root, root_in), (child, child_in)]
            .into_iter()
            .filter(|(_, inside)| *inside)
            .map(|(row, _)| row)
            .collect();
        assert_eq!(asked(&bench, id), wanted, "{pattern}");
    }
}

#[test]
fn a_scope_follows_the_name_that_becomes_known_later() {
    let (mut bench, root) = Bench::launched();
    let id = set(&mut bench, scoped(3, program("gw1")));
    let (first, second) = (bench.report(root, 200), bench.report(root, 201));
    // They might be it: the place where it is hit is asked.
    for row in [first, second] {
        let entry = told(&bench, row, FILE).expect("it was told")[0].clone();
        let condition = entry["condition"].as_str().unwrap();
        assert!(condition.contains("'^gw1$'"), "{condition}");
    }
    bench.names.insert(200, "gw0");
    bench.names.insert(201, "gw1");
    bench.forget();
    bench.pass(700);
    assert_eq!(told(&bench, first, FILE), Some(json!([])));
    assert_eq!(told(&bench, second, FILE), Some(json!([{ "line": 3 }])));
    assert_eq!(asked(&bench, id), [second]);
}

#[test]
fn one_that_is_for_a_single_stop_is_gone_everywhere_after_it() {
    let (mut bench, root) = Bench::launched();
    let child = bench.report(root, 200);
    let (single, other) = (set(&mut bench, once(5)), set(&mut bench, at_line(6)));
    bench.forget();
    bench.stop(child, "breakpoint", FILE, 5);
    assert_eq!(
        bench.row(child).stopped.as_ref().unwrap().breakpoints,
        [single]
    );
    assert_eq!(
        bench.tree.breakpoints.keys().copied().collect::<Vec<_>>(),
        [other]
    );
    for row in [root, child] {
        assert_eq!(told(&bench, row, FILE), Some(json!([{ "line": 6 }])));
    }
    assert_eq!(bench.count("setBreakpoints"), 2);
}

#[test]
fn a_second_session_that_was_there_already_is_let_run_on() {
    let (mut bench, root) = Bench::launched();
    let (first, second) = (bench.report(root, 200), bench.report(root, 201));
    set(&mut bench, once(5));
    bench.stop(first, "breakpoint", FILE, 5);
    bench.forget();
    bench.stop(second, "breakpoint", FILE, 5);
    assert_eq!(bench.row(second).state, RowState::Running);
    assert_eq!(bench.count("continue"), 1);
    assert!(bench.row(second).stopped.is_none());
    assert_eq!(bench.row(second).stop.0, 0, "no stop was shown");
    // Refused, it stands there after all: nothing is hidden.
    let third = bench.report(root, 202);
    set(&mut bench, once(7));
    bench.stop(second, "breakpoint", FILE, 7);
    bench.silent.insert("continue");
    bench.stop(third, "breakpoint", FILE, 7);
    bench.answer("continue", Err("no"));
    assert_eq!(bench.row(third).state, RowState::Paused);
}

#[test]
fn what_else_stands_there_stops_as_ever() {
    let (mut bench, root) = Bench::launched();
    let (first, second) = (bench.report(root, 200), bench.report(root, 201));
    set(&mut bench, once(5));
    bench.stop(first, "breakpoint", FILE, 5);
    // Set again by hand, in the same place.
    set(&mut bench, at_line(5));
    bench.stop(second, "breakpoint", FILE, 5);
    assert_eq!(bench.row(second).state, RowState::Paused);
    // Another reason, and a stop long after it, are no late ones.
    let (mut bench, root) = Bench::launched();
    let (first, second) = (bench.report(root, 200), bench.report(root, 201));
    set(&mut bench, once(5));
    bench.stop(first, "breakpoint", FILE, 5);
    bench.stop(second, "step", FILE, 5);
    assert_eq!(bench.row(second).state, RowState::Paused);
    bench.command(Op::Continue(second)).unwrap();
    bench.pass(6_000);
    bench.stop(second, "breakpoint", FILE, 5);
    assert_eq!(bench.row(second).state, RowState::Paused);
}

#[test]
fn functions_go_to_every_session_together() {
    let (mut bench, root) = Bench::launched();
    assert_eq!(
        bench.count("setFunctionBreakpoints"),
        0,
        "without one nothing is said"
    );
    let child = bench.report(root, 200);
    let f = set(&mut bench, BreakpointSpec::function("f"));
    let spec = BreakpointSpec {
        condition: Some("x".to_owned()),
        ..BreakpointSpec::function("g")
    };
    set(&mut bench, spec);
    assert_eq!(
        *bench.last("setFunctionBreakpoints"),
        json!({ "breakpoints": [{ "name": "f" }, { "name": "g", "condition": "x" }] })
    );
    assert_eq!(asked(&bench, f), [root, child]);
    let known = &bench.tree.breakpoints[&f];
    assert_eq!((known.verified(), known.shown_line()), ((2, 2), None));
    bench.stop(child, "function breakpoint", FILE, 9);
    assert_eq!(bench.row(child).stopped.as_ref().unwrap().breakpoints, [f]);
    assert_eq!(bench.tree.breakpoints[&f].hits, 1);
    bench.command(Op::RemoveBreakpoint(f)).unwrap();
    let left = json!({ "breakpoints": [{ "name": "g", "condition": "x" }] });
    assert_eq!(*bench.last("setFunctionBreakpoints"), left);
}

#[test]
fn a_function_that_an_adapter_cannot_take_is_said_and_not_sent() {
    let (mut bench, root) = Bench::launched();
    let id = set(&mut bench, BreakpointSpec::function("shop.main"));
    assert_eq!(bench.count("setFunctionBreakpoints"), 0);
    let BreakpointStatus::Refused { message } = &bench.tree.breakpoints[&id].sessions[&root] else {
        panic!();
    };
    assert!(message.contains("write `main`"), "{message}");
    let mut bench = Bench::empty();
    bench.silent.insert("initialize");
    let root = bench.launch_with(|_| {});
    bench.answer("initialize", Ok(json!({})));
    let id = set(&mut bench, BreakpointSpec::function("main"));
    assert_eq!(bench.count("setFunctionBreakpoints"), 0);
    let told = &bench.tree.breakpoints[&id].sessions[&root];
    assert!(matches!(told, BreakpointStatus::Refused { .. }), "{told:?}");
}

#[test]
fn an_edit_keeps_the_counts_and_whether_it_is_on() {
    let (mut bench, root) = Bench::launched();
    let id = set(&mut bench, at_line(5));
    bench.stop(root, "breakpoint", FILE, 5);
    bench.command(Op::EnableBreakpoint(id, false)).unwrap();
    assert_eq!(
        bench.command(Op::EditBreakpoint(id, at_line(6))),
        Ok(Answer::Done)
    );
    let known = &bench.tree.breakpoints[&id];
    assert_eq!((known.hits, known.hits_in[&root]), (1, 1));
    assert!(!known.enabled);
    bench.command(Op::EnableBreakpoint(id, true)).unwrap();
    assert_eq!(told(&bench, root, FILE), Some(json!([{ "line": 6 }])));
    assert_eq!(bench.tree.breakpoints[&id].hits, 1);
}

#[test]
fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let (mut bench, _) = Bench::launched();
    let first = set(&mut bench, at_line(5));
    let gone = RowId(77);
    let log = |spec: BreakpointSpec| BreakpointSpec {
        log_message: Some("x".to_owned()),
        ..spec
    };
    for (spec, words) in [
        (scoped(1, program("[")), "`[` is no pattern"),
        (scoped(1, program(" ")), "it is empty"),
        (scoped(1, BreakpointScope::Session(gone)), "no session s77"),
        (scoped(1, BreakpointScope::Subtree(gone)), "no session s77"),
        (log(once(1)), "never stops"),
        (log(BreakpointSpec::function("f")), "no log points"),
        (BreakpointSpec::function(""), "no name of a function"),
        (BreakpointSpec::function("def f"), "no name of a function"),
        (at_line(0), "a line from 1 on"),
    ] {
        for op in [
            Op::SetBreakpoint(spec.clone()),
            Op::EditBreakpoint(first, spec.clone()),
        ] {
            let error = bench.command(op).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
    assert_eq!(bench.tree.breakpoints.len(), 1);
    assert_eq!(bench.tree.breakpoints[&first].spec, at_line(5));
    let second = set(&mut bench, at_line(6));
    let taken = bench.command(Op::EditBreakpoint(second, at_line(5)));
    assert!(
        taken
            .unwrap_err()
            .to_string()
            .contains("has a breakpoint already")
    );
    let unknown = BreakpointId(99);
    for op in [
        Op::EditBreakpoint(unknown, at_line(1)),
        Op::AcceptOffer(unknown),
    ] {
        assert_eq!(
            bench.command(op),
            Err(EngineError::UnknownBreakpoint(unknown))
        );
    }
}

#[test]
fn a_place_prints_as_people_write_it() {
    assert_eq!(at_line(3).at.to_string(), "/p/main.py:3");
    assert_eq!(BreakpointAt::Function("f".to_owned()).to_string(), "f()");
}
