//! From a report to a session or a release.

use super::harness::{Bench, ROOT_PID, at_line};
use crate::tree::Effect;
use daptree_model::{EndStatus, EngineError, Follow, Op, RowState};
use serde_json::json;

const TRACKER: &str = "from multiprocessing.resource_tracker import main;main(5)";
const FORKSERVER: &str = "from multiprocessing.forkserver import main; main(3, 4)";

#[test]
fn a_reported_child_becomes_a_session_under_its_parent() {
    let (mut bench, root) = Bench::launched();
    let child = bench.report(root, 200);
    let row = bench.row(child);
    assert_eq!(
        (row.follow, row.state),
        (Follow::Adopted, RowState::Running)
    );
    assert_eq!((row.parent, row.parent_session), (Some(root), Some(root)));
    assert_eq!(row.name, "child-200.py");
    assert_eq!(row.program.as_deref(), Some("/p/child-200.py"));
    assert_eq!(bench.acks, [true]);
}

#[test]
fn a_report_is_acked_before_anything_else_is_done_for_it() {
    let (mut bench, root) = Bench::launched();
    bench.opens = false;
    let child = bench.report(root, 200);
    assert_eq!(bench.acks, [true]);
    assert_eq!(bench.row(child).state, RowState::Adopting);
}

#[test]
fn the_event_form_is_a_report_without_an_answer() {
    let (mut bench, root) = Bench::launched();
    bench.process(200, ROOT_PID, &["python", "child.py"]);
    bench.report_by_event(bench.connection(root), 200);
    let child = bench.row_of(200).unwrap();
    assert_eq!(bench.row(child).state, RowState::Running);
    assert!(bench.acks.is_empty());
}

#[test]
fn a_session_is_configured_in_one_burst_before_configuration_done() {
    let (mut bench, root) = Bench::launched_with(|request| {
        request.breakpoints = vec![at_line(3), at_line(5)];
        request.exceptions = Some(vec!["userUnhandled".to_owned()]);
    });
    bench.silent = [
        "setBreakpoints",
        "setExceptionBreakpoints",
        "configurationDone",
    ]
    .into();
    let child = bench.report(root, 200);
    let sent = bench.commands_on(bench.connection(child));
    let burst = [
        "initialize",
        "attach",
        "setBreakpoints",
        "setExceptionBreakpoints",
        "configurationDone",
    ];
    assert_eq!(sent, burst);
    let lines = &bench.last("setBreakpoints")["breakpoints"];
    assert_eq!(*lines, json!([{ "line": 3 }, { "line": 5 }]));
    assert_eq!(
        bench.last("setExceptionBreakpoints")["filters"],
        json!(["userUnhandled"])
    );
}

#[test]
fn the_attach_is_as_delivered_without_the_redirect() {
    let (mut bench, root) = Bench::launched_with(|request| request.just_my_code = false);
    bench.report(root, 200);
    let attach = bench.last("attach");
    assert_eq!(attach["subProcessId"], 200);
    assert_eq!(attach["redirectOutput"], false);
    assert_eq!(attach["justMyCode"], false);
}

#[test]
fn a_tracker_is_refused_at_once_and_shown_as_a_helper() {
    let (mut bench, root) = Bench::launched();
    bench.process(200, ROOT_PID, &["python", "-c", TRACKER]);
    let tracker = bench.report(root, 200);
    let row = bench.row(tracker);
    assert_eq!((row.follow, row.state), (Follow::Helper, RowState::Running));
    assert_eq!(row.name, "resource_tracker");
    assert_eq!(bench.acks, [false]);
    assert!(bench.tree.rows[&tracker].connection.is_none());
    assert_eq!(bench.tree.trees[&root].children_released, 0);
    assert!(bench.notices().is_empty());
}

#[test]
fn a_tracker_in_the_event_form_is_let_go_by_a_throwaway_connection() {
    let (mut bench, root) = Bench::launched();
    bench.process(200, ROOT_PID, &["python", "-c", TRACKER]);
    bench.forget();
    bench.report_by_event(bench.connection(root), 200);
    assert_eq!((bench.count("attach"), bench.count("disconnect")), (1, 1));
    assert_eq!(bench.last("disconnect")["terminateDebuggee"], false);
    bench.pass(20_000);
    assert!(!bench.was_ended(200));
    assert_eq!(bench.tree.trees[&root].children_released, 0);
}

#[test]
fn a_fork_server_is_adopted_as_a_helper_without_breakpoints() {
    let (mut bench, root) = Bench::launched_with(|request| request.breakpoints = vec![at_line(3)]);
    bench.process(200, ROOT_PID, &["python", "-c", FORKSERVER]);
    bench.forget();
    let server = bench.report(root, 200);
    let row = bench.row(server);
    assert_eq!((row.follow, row.state), (Follow::Helper, RowState::Running));
    assert_eq!(bench.count("setBreakpoints"), 0);
    assert_eq!(bench.last("setExceptionBreakpoints")["filters"], json!([]));
    // Its workers are reported through it.
    let worker = bench.report(server, 300);
    assert_eq!(bench.row(worker).parent_session, Some(server));
    assert_eq!(bench.count("setBreakpoints"), 1);
    let refused = bench.command(Op::Pause(server));
    assert!(
        matches!(refused, Err(EngineError::NotASession(..))),
        "{refused:?}"
    );
}

#[test]
fn beyond_the_cap_a_child_is_released_counted_and_told() {
    for (cap, adopted) in [(0, 3), (2, 1), (3, 2)] {
        let (mut bench, root) = Bench::launched_with(|request| request.max_children = cap);
        let rows = [200, 201, 202].map(|pid| bench.report(root, pid));
        let follows = rows.map(|row| bench.row(row).follow);
        let got = follows.iter().filter(|f| **f == Follow::Adopted).count();
        assert_eq!(got, adopted, "cap {cap}");
        let released = 3 - adopted as u32;
        assert_eq!(bench.tree.trees[&root].children_released, released);
        assert_eq!(bench.notices().len(), released as usize);
        if released > 0 {
            assert_eq!(bench.acks.last(), Some(&false));
            // A place that becomes free is given away again.
            bench.end(200, EndStatus::Exited(0));
            let next = bench.report(root, 203);
            assert_eq!(bench.row(next).follow, Follow::Adopted);
        }
    }
}

#[test]
fn a_refused_attach_lets_the_child_go_over_another_connection() {
    let (mut bench, root) = Bench::launched();
    bench.refuses.insert("attach", "no such process");
    bench.opens = false;
    let child = bench.report(root, 200);
    let first = bench.connection(child);
    bench.feed(crate::tree::Input::Opened(first));
    bench.refuses.clear();
    assert_eq!(bench.row(child).follow, Follow::Released);
    assert_eq!(bench.row(child).reason.as_deref(), Some("no such process"));
    assert_eq!(bench.row(child).state, RowState::Running);
    assert_eq!(bench.tree.trees[&root].children_released, 1);
    let (second, _) = bench.tree.connections.last_key_value().unwrap();
    let second = *second;
    assert_ne!(second, first);
    bench.feed(crate::tree::Input::Opened(second));
    let sent = bench.commands_on(second);
    let wanted = [
        "initialize",
        "attach",
        "setExceptionBreakpoints",
        "configurationDone",
        "disconnect",
    ];
    assert_eq!(sent, wanted);
    bench.pass(20_000);
    assert!(!bench.was_ended(200), "it was let go and lives");
}

#[test]
fn what_is_not_adopted_in_five_seconds_is_released() {
    for silent in [
        &["initialize", "attach"][..],
        &["attach"],
        &["configurationDone"],
    ] {
        let (mut bench, root) = Bench::launched();
        bench.silent.extend(silent);
        let child = bench.report(root, 200);
        bench.pass(4_900);
        assert_eq!(bench.row(child).state, RowState::Adopting, "{silent:?}");
        bench.silent.clear();
        bench.pass(200);
        assert_eq!(bench.row(child).follow, Follow::Released, "{silent:?}");
        assert_eq!(bench.notices(), ["released"]);
        bench.pass(20_000);
        assert!(!bench.was_ended(200), "{silent:?}: it was let go and lives");
    }
}

#[test]
fn a_release_that_does_not_work_within_three_seconds_ends_the_process() {
    for silent in [
        &["initialize", "attach"][..],
        &["attach"],
        &["configurationDone"],
    ] {
        let (mut bench, root) = Bench::launched();
        bench.silent.extend(silent);
        bench.report(root, 200);
        bench.pass(7_900);
        assert!(!bench.was_ended(200), "{silent:?}");
        bench.pass(200);
        assert!(bench.was_ended(200), "{silent:?}");
        let child = bench.row_of(200).unwrap();
        let end = bench.row(child).end.as_ref().unwrap();
        assert_eq!(
            end.cause.as_deref(),
            Some("ended by daptree: the adapter would not let it go")
        );
        assert_eq!(bench.notices(), ["released", "ended"]);
    }
}

#[test]
fn a_release_that_the_old_session_still_blocks_is_tried_again() {
    let (mut bench, root) = Bench::launched();
    bench.silent.insert("attach");
    bench.report(root, 200);
    bench.pass(4_900);
    bench.silent.clear();
    bench
        .refuses
        .insert("attach", "Server[pid=200] is already being debugged.");
    bench.pass(150);
    bench.refuses.clear();
    bench.pass(20_000);
    assert!(!bench.was_ended(200));
}

#[test]
fn an_attach_that_is_answered_without_initialized_adopts_and_releases_nothing() {
    let (mut bench, root) = Bench::launched();
    bench.silent.insert("attach");
    let child = bench.report(root, 200);
    bench.answer("attach", Ok(json!({})));
    assert_eq!(bench.row(child).state, RowState::Adopting);
    bench.pass(5_100);
    bench.answer("attach", Ok(json!({})));
    bench.pass(3_000);
    assert!(bench.was_ended(200), "nobody said that it was let go");
}

#[test]
fn a_child_that_is_gone_when_it_is_looked_up_is_acked_and_gets_no_row() {
    let (mut bench, root) = Bench::launched();
    let rows = bench.tree.rows.len();
    bench.report_on(bench.connection(root), 999);
    assert_eq!(bench.acks, [true]);
    assert_eq!(bench.tree.rows.len(), rows);
}

#[test]
fn a_child_that_ends_while_it_is_adopted_is_just_ended() {
    let (mut bench, root) = Bench::launched();
    bench.opens = false;
    let child = bench.report(root, 200);
    let connection = bench.connection(child);
    bench.end(200, EndStatus::Exited(3));
    bench.forget();
    bench.feed(crate::tree::Input::Opened(connection));
    assert!(bench.sent.is_empty(), "there is nothing to attach to");
    bench.pass(20_000);
    assert_eq!(bench.row(child).state, RowState::Ended);
    assert_eq!(bench.tree.trees[&root].children_released, 0);
}

#[test]
fn a_report_while_its_tree_is_ended_is_refused() {
    let (mut bench, root) = Bench::launched();
    bench.kills = false;
    bench.ask(Op::Terminate(root), None);
    bench.process(200, ROOT_PID, &["python", "child.py"]);
    bench.report_on(bench.connection(root), 200);
    assert_eq!(bench.acks, [false]);
    assert!(bench.was_ended(200), "it must not outlive its tree");
    assert!(bench.row_of(200).is_none());
}

#[test]
fn a_report_of_a_session_that_is_closed_is_refused() {
    let (mut bench, root) = Bench::launched();
    let child = bench.report(root, 200);
    bench.kills = false;
    bench.silent.insert("disconnect");
    bench.ask(Op::Close(child), None);
    bench.process(300, 200, &["python", "grandchild.py"]);
    bench.acks.clear();
    bench.report_on(bench.connection(child), 300);
    assert_eq!(bench.acks, [false]);
    assert!(bench.was_ended(300));
}

#[test]
fn a_report_that_names_no_child_is_a_request_that_is_not_done() {
    let (mut bench, root) = Bench::launched();
    let connection = bench.connection(root);
    for (command, arguments) in [
        (
            "startDebugging",
            json!({ "configuration": { "subProcessId": "x" } }),
        ),
        ("startDebugging", json!(null)),
        ("runInTerminal", json!({ "args": [] })),
    ] {
        let request = crate::dap::message::Request::new(9, command, Some(arguments));
        bench.acks.clear();
        bench.feed(crate::tree::Input::Dap(connection, request.into()));
        assert_eq!(bench.acks, [false], "{command}");
    }
}

#[test]
fn processes_between_a_session_and_its_child_get_rows_of_their_own() {
    let (mut bench, root) = Bench::launched();
    bench.process(150, ROOT_PID, &["bash", "step.sh"]);
    bench.process(151, 150, &["/usr/bin/make"]);
    bench.process(200, 151, &["python", "child.py"]);
    let child = bench.report(root, 200);
    let make = bench.row(child).parent.unwrap();
    let bash = bench.row(make).parent.unwrap();
    assert_eq!(
        (bench.row(make).name.as_str(), bench.row(bash).name.as_str()),
        ("make", "bash")
    );
    assert_eq!(bench.row(bash).parent, Some(root));
    assert_eq!(bench.row(bash).follow, Follow::Unfollowed);
    assert_eq!(bench.row(child).parent_session, Some(root));
    // The next child of the same shell finds it.
    bench.process(201, 150, &["python", "other.py"]);
    let other = bench.report(root, 201);
    assert_eq!(bench.row(other).parent, Some(bash));
    let watched = bench
        .effects
        .iter()
        .filter(|e| matches!(e, Effect::Watch(..)))
        .count();
    assert_eq!(watched, 5, "each process once");
}

#[test]
fn a_child_whose_parent_is_gone_hangs_on_who_reported_it() {
    let (mut bench, root) = Bench::launched();
    let first = bench.report(root, 200);
    bench.process(300, 1, &["python", "daemon.py"]);
    let daemon = bench.report(first, 300);
    assert_eq!(bench.row(daemon).parent, Some(first));
}

#[test]
fn a_fork_is_named_after_its_parent_until_it_says_its_name() {
    let (mut bench, root) = Bench::launched();
    bench.process(200, ROOT_PID, &["python", "main.py"]);
    bench.names.insert(201, "Process-1");
    bench.process(201, ROOT_PID, &["python", "main.py"]);
    let plain = bench.report(root, 200);
    let named = bench.report(root, 201);
    assert_eq!(bench.row(plain).name, "main.py (fork)");
    assert_eq!(bench.row(plain).program.as_deref(), Some("/p/main.py"));
    assert_eq!(bench.row(named).name, "Process-1");
}

#[test]
fn a_name_that_comes_late_is_asked_for_again() {
    let (mut bench, root) = Bench::launched();
    bench.process(
        200,
        ROOT_PID,
        &["python", "-c", "exec(eval(sys.stdin.readline()))"],
    );
    let worker = bench.report(root, 200);
    assert_eq!(bench.row(worker).name, "-c");
    bench.names.insert(200, "gw0");
    bench.pass(700);
    assert_eq!(bench.row(worker).name, "gw0");
    let asked = bench.count("evaluate");
    bench.pass(10_000);
    assert_eq!(
        bench.count("evaluate"),
        asked,
        "a name that is known is not asked for"
    );
}

#[test]
fn the_root_is_not_asked_for_a_name() {
    let (mut bench, root) = Bench::launched();
    bench.names.insert(ROOT_PID, "MainProcess-x");
    bench.pass(10_000);
    assert_eq!(bench.row(root).name, "main.py");
    assert_eq!(bench.count("evaluate"), 0);
}
