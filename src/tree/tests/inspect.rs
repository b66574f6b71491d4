//! What is fetched for the interest of front ends, and reads of a stop.

use super::harness::{Bench, CLIENT, Outcome};
use crate::tree::Input;
use daptree_model::{
    Answer, ClientId, EngineError, Inspect, Interest, Op, OpenPath, ReadOp, RowId, StopNumber,
    ToEngine,
};
use serde_json::json;
use std::sync::Arc;

fn interest(row: RowId) -> Interest {
    Interest {
        row,
        ..Interest::default()
    }
}

fn open(path: &[&str], limit: u32) -> OpenPath {
    OpenPath {
        path: path.iter().map(|name| (*name).to_owned()).collect(),
        limit,
    }
}

fn stop(bench: &mut Bench, row: RowId) {
    bench.stop(row, "breakpoint", "/p/main.py", 3);
}

fn shown(bench: &mut Bench, row: RowId) -> Option<Arc<Inspect>> {
    bench.tree.snapshot().inspects.get(&row).cloned()
}

fn commands(bench: &Bench) -> Vec<&str> {
    let sent = bench.sent.iter();
    sent.map(|(_, request)| request.command.as_str()).collect()
}

/// A root that front ends look at.
fn watched(change: impl FnOnce(&mut Interest)) -> (Bench, RowId) {
    let (mut bench, root) = Bench::launched();
    let mut looked_at = interest(root);
    change(&mut looked_at);
    bench.interest(vec![looked_at]);
    bench.forget();
    (bench, root)
}

#[test]
fn where_nobody_looks_the_place_alone_is_fetched() {
    let (mut bench, root) = Bench::launched();
    bench.forget();
    stop(&mut bench, root);
    assert_eq!(commands(&bench), ["stackTrace"]);
    assert_eq!(bench.last("stackTrace")["levels"], 1);
    assert!(shown(&mut bench, root).is_none());
}

#[test]
fn at_a_stop_frames_and_threads_are_asked_for_at_once() {
    let (mut bench, root) = watched(|_| {});
    bench.silent.extend(["stackTrace", "threads"]);
    stop(&mut bench, root);
    assert_eq!(commands(&bench), ["stackTrace", "threads"]);
    assert_eq!(bench.last("stackTrace")["levels"], 200);
}

#[test]
fn each_level_is_asked_for_once_and_shown_whole() {
    let (mut bench, root) = watched(|i| i.watches = vec!["n + 1".to_owned()]);
    stop(&mut bench, root);
    let wanted = ["stackTrace", "threads", "evaluate", "scopes", "variables"];
    assert_eq!(commands(&bench), wanted);
    assert_eq!(bench.last("variables")["count"], 100);
    assert_eq!(bench.last("evaluate")["frameId"], 7);
    let inspect = shown(&mut bench, root).unwrap();
    assert_eq!((inspect.row, inspect.stop), (root, StopNumber(1)));
    assert_eq!(inspect.threads[0].name, "MainThread");
    assert_eq!(inspect.stacks[&1].frames[0].name, "f");
    assert_eq!(inspect.scopes[&7][0].name, "Locals");
    assert_eq!(inspect.pages[&10].variables[0].value, "14");
    assert!(inspect.watches.contains_key("n + 1"));
    // The same interest again, of another front end too: nothing is asked twice.
    bench.forget();
    bench.feed(Input::ClientOpened(ClientId(2)));
    for client in [CLIENT, ClientId(2)] {
        bench.feed(Input::Client(
            client,
            ToEngine::Interest(vec![interest(root)]),
        ));
    }
    assert!(bench.sent.is_empty());
}

#[test]
fn scopes_are_fetched_while_threads_are_still_out() {
    let (mut bench, root) = watched(|_| {});
    bench.silent.insert("threads");
    stop(&mut bench, root);
    assert_eq!(bench.count("variables"), 1);
    assert!(shown(&mut bench, root).is_none(), "it is not whole");
    bench.pass(50);
    assert!(shown(&mut bench, root).is_none());
    bench.pass(20);
    let partly = shown(&mut bench, root).unwrap();
    assert!(partly.threads.is_empty() && !partly.pages.is_empty());
    bench.answer(
        "threads",
        Ok(json!({ "threads": [{ "id": 1, "name": "T" }] })),
    );
    assert_eq!(shown(&mut bench, root).unwrap().threads[0].name, "T");
}

#[test]
fn an_interest_that_comes_after_the_stop_is_served() {
    let (mut bench, root) = Bench::launched();
    stop(&mut bench, root);
    bench.interest(vec![interest(root)]);
    assert!(shown(&mut bench, root).unwrap().pages.contains_key(&10));
}

#[test]
fn a_running_or_unknown_session_is_not_asked() {
    let (mut bench, root) = Bench::launched();
    bench.forget();
    bench.interest(vec![interest(root), interest(RowId(999))]);
    assert!(bench.sent.is_empty());
}

#[test]
fn an_expensive_scope_is_read_only_when_it_is_open() {
    for (opened, wanted) in [(vec![], 1), (vec![open(&["Registers"], 5)], 2)] {
        let (mut bench, root) = watched(|i| i.open = opened);
        bench.scopes = vec![("Locals", 10, false), ("Registers", 20, true)];
        stop(&mut bench, root);
        assert_eq!(bench.count("variables"), wanted);
    }
}

#[test]
fn open_paths_are_followed_by_name_down_and_over_stops() {
    let path = open(&["Locals", "self", "items"], 3);
    let (mut bench, root) = watched(|i| i.open = vec![open(&["Locals", "self"], 100), path]);
    bench.variables.insert(10, vec![("self", 11), ("n", 0)]);
    bench.variables.insert(11, vec![("items", 12)]);
    bench
        .variables
        .insert(12, vec![("0", 0), ("1", 0), ("2", 0), ("3", 0)]);
    stop(&mut bench, root);
    let inspect = shown(&mut bench, root).unwrap();
    assert_eq!(
        inspect.pages.keys().copied().collect::<Vec<_>>(),
        [10, 11, 12]
    );
    let page = &inspect.pages[&12];
    assert_eq!((page.variables.len(), page.more), (3, true));
    // At the next stop the references are other ones; the names lead there.
    bench.command(Op::Next(root, None)).unwrap();
    bench.variables.insert(10, vec![("n", 0), ("self", 21)]);
    bench.variables.insert(21, vec![("items", 22)]);
    bench.variables.insert(22, vec![("0", 0)]);
    bench.stop(root, "step", "/p/main.py", 4);
    let inspect = shown(&mut bench, root).unwrap();
    assert_eq!(
        inspect.pages.keys().copied().collect::<Vec<_>>(),
        [10, 21, 22]
    );
    assert!(!inspect.pages[&22].more);
}

#[test]
fn a_raised_limit_pages_on() {
    let (mut bench, root) = watched(|i| i.open = vec![open(&["Locals"], 2)]);
    bench
        .variables
        .insert(10, vec![("a", 0), ("b", 0), ("c", 0)]);
    stop(&mut bench, root);
    assert_eq!(
        shown(&mut bench, root).unwrap().pages[&10].variables.len(),
        2
    );
    bench.forget();
    let more = Interest {
        open: vec![open(&["Locals"], 4)],
        ..interest(root)
    };
    bench.interest(vec![more]);
    assert_eq!(commands(&bench), ["variables"]);
    let page = shown(&mut bench, root).unwrap().pages[&10].clone();
    assert_eq!((page.variables.len(), page.more), (3, false));
}

#[test]
fn what_cannot_be_read_says_so() {
    let (mut bench, root) = watched(|i| i.watches = vec!["x".to_owned()]);
    bench
        .refuses
        .extend([("variables", "too late"), ("evaluate", "NameError: x")]);
    stop(&mut bench, root);
    let inspect = shown(&mut bench, root).unwrap();
    let error = inspect.pages[&10].error.clone().unwrap();
    assert!(error.contains("too late"), "{error}");
    assert_eq!(inspect.watches["x"].value, Err("NameError: x".to_owned()));
}

#[test]
fn answers_of_another_stop_are_dropped() {
    let (mut bench, root) = watched(|_| {});
    bench.silent.insert("variables");
    stop(&mut bench, root);
    // The stopped thread takes one request at a time: the step goes out after this answer.
    bench.ask(Op::Next(root, None), None);
    assert_eq!(bench.count("next"), 0);
    let old = json!({ "variables": [{ "name": "old", "value": "1" }] });
    bench.answer("variables", Ok(old));
    assert_eq!(bench.count("next"), 1);
    bench.stop(root, "step", "/p/main.py", 4);
    assert_eq!(bench.count("variables"), 2);
    bench.pass(100);
    let inspect = shown(&mut bench, root).unwrap();
    assert_eq!(inspect.stop, StopNumber(2));
    assert!(inspect.pages.is_empty(), "{:?}", inspect.pages);
}

#[test]
fn what_was_asked_before_a_change_is_not_shown_after_it() {
    let (mut bench, root) = watched(|_| {});
    bench.silent.insert("variables");
    stop(&mut bench, root);
    let before = bench.sent.last().cloned().unwrap();
    bench.say(bench.connection(root), "invalidated", json!({}));
    assert_eq!(bench.count("variables"), 1, "the next waits for this one");
    let old = json!({ "variables": [{ "name": "old", "value": "1" }] });
    let late = crate::dap::message::Response::ok(1, &before.1, Some(old));
    bench.feed(Input::Dap(before.0, late.into()));
    assert_eq!(bench.count("variables"), 2);
    let new = json!({ "variables": [{ "name": "new", "value": "2" }] });
    bench.answer("variables", Ok(new));
    let page = shown(&mut bench, root).unwrap().pages[&10].clone();
    assert_eq!(page.variables[0].name, "new");
}

#[test]
fn what_may_change_values_fetches_them_again() {
    let (mut bench, root) = watched(|_| {});
    stop(&mut bench, root);
    let set = |bench: &mut Bench| {
        let name = "n".to_owned();
        let value = "2".to_owned();
        bench.command(Op::SetVariable {
            row: root,
            container: 10,
            name,
            value,
        })
    };
    let typed = |bench: &mut Bench, context: &str| {
        let id = bench.read(ReadOp::Evaluate {
            row: root,
            stop: Some(StopNumber(1)),
            frame: None,
            expression: "n = 2".to_owned(),
            context: context.to_owned(),
        });
        bench.reply(id).unwrap()
    };
    bench.forget();
    assert!(matches!(set(&mut bench), Ok(Answer::Evaluation(_))));
    assert_eq!(bench.count("variables"), 1);
    typed(&mut bench, "repl").unwrap();
    assert_eq!(bench.count("variables"), 2);
    typed(&mut bench, "hover").unwrap();
    assert_eq!(
        bench.count("variables"),
        2,
        "what is only looked at changes nothing"
    );
    assert_eq!(bench.count("stackTrace"), 0, "the frames stay");
}

#[test]
fn a_read_is_of_the_stop_it_names() {
    let (mut bench, root) = Bench::launched();
    stop(&mut bench, root);
    let reads = |stop| {
        let row = root;
        [
            ReadOp::Stack {
                row,
                stop,
                thread: None,
                start: 0,
                levels: 20,
            },
            ReadOp::Variables {
                row,
                stop,
                reference: 10,
                start: 0,
                count: 1,
            },
            ReadOp::ExceptionInfo { row, stop },
        ]
    };
    bench.forget();
    for what in reads(StopNumber(2)) {
        let id = bench.read(what);
        let stale: Outcome = Err(EngineError::StaleStop {
            row: root,
            expected: StopNumber(2),
            now: StopNumber(1),
        });
        assert_eq!(bench.reply(id), Some(stale));
    }
    assert!(bench.sent.is_empty());
    for what in reads(StopNumber(1)) {
        let id = bench.read(what);
        assert!(
            matches!(bench.reply(id), Some(Ok(_))),
            "{:?}",
            bench.reply(id)
        );
    }
}

#[test]
fn an_answer_that_comes_when_the_session_has_gone_on_is_stale() {
    let (mut bench, root) = Bench::launched();
    stop(&mut bench, root);
    bench.silent.insert("variables");
    let stop = StopNumber(1);
    let what = ReadOp::Variables {
        row: root,
        stop,
        reference: 10,
        start: 0,
        count: 1,
    };
    let id = bench.read(what);
    bench.command(Op::Continue(root)).unwrap();
    bench.answer("variables", Ok(json!({ "variables": [] })));
    assert!(matches!(
        bench.reply(id),
        Some(Err(EngineError::StaleStop { .. }))
    ));
}

#[test]
fn a_running_session_is_evaluated_without_a_frame() {
    let (mut bench, root) = Bench::launched();
    let id = bench.read(ReadOp::Evaluate {
        row: root,
        stop: None,
        frame: None,
        expression: "1".to_owned(),
        context: "repl".to_owned(),
    });
    assert!(matches!(bench.reply(id), Some(Ok(Answer::Evaluation(_)))));
    assert!(bench.last("evaluate").get("frameId").is_none());
    // Paused, it is the top frame.
    stop(&mut bench, root);
    bench.read(ReadOp::Evaluate {
        row: root,
        stop: Some(StopNumber(1)),
        frame: None,
        expression: "1".to_owned(),
        context: "watch".to_owned(),
    });
    assert_eq!(bench.last("evaluate")["frameId"], 7);
}

#[test]
fn an_expression_that_fails_is_an_answer_not_an_error() {
    let (mut bench, root) = Bench::launched();
    stop(&mut bench, root);
    bench.refuses.insert("evaluate", "NameError: x");
    let id = bench.read(ReadOp::Evaluate {
        row: root,
        stop: Some(StopNumber(1)),
        frame: None,
        expression: "x".to_owned(),
        context: "watch".to_owned(),
    });
    let Some(Ok(Answer::Evaluation(evaluation))) = bench.reply(id) else {
        panic!("{:?}", bench.reply(id));
    };
    assert_eq!(evaluation.value, Err("NameError: x".to_owned()));
}

#[test]
fn an_answer_that_does_not_fit_the_protocol_is_refused_by_name() {
    let (mut bench, root) = Bench::launched();
    bench.silent.insert("threads");
    let id = bench.read(ReadOp::Threads(root));
    bench.answer("threads", Ok(json!({ "threads": 3 })));
    let Some(Err(EngineError::Refused { command, .. })) = bench.reply(id) else {
        panic!("{:?}", bench.reply(id));
    };
    assert_eq!(command, "threads");
}

#[test]
fn a_resume_answers_the_reads_that_still_wait_for_the_thread() {
    let (mut bench, root) = watched(|_| {});
    stop(&mut bench, root);
    bench.silent.insert("evaluate");
    let mut read = |expression: &str| {
        bench.read(ReadOp::Evaluate {
            row: root,
            stop: Some(StopNumber(1)),
            frame: None,
            expression: expression.to_owned(),
            context: "watch".to_owned(),
        })
    };
    read("1");
    let second = read("2");
    assert_eq!(bench.count("evaluate"), 1, "one at a time");
    bench.ask(Op::Next(root, None), None);
    let stale = bench.reply(second);
    assert!(
        matches!(stale, Some(Err(EngineError::StaleStop { .. }))),
        "{stale:?}"
    );
}
