//! Connections, adapters and answers that fail, and words that fit nothing.

use super::harness::{Bench, ROOT_PID, prepared, request};
use crate::dap::message::{Message, Request, Response};
use crate::tree::{ConnectionId, Effect, Input};
use daptree_model::{
    Answer, EndStatus, EngineError, Event, Follow, Op, ReadOp, RowId, RowState, TreeState,
};
use serde_json::json;

fn state(bench: &Bench, root: RowId) -> TreeState {
    bench.tree.trees[&root].state.clone()
}

#[test]
fn a_launch_that_fails_says_why_once() {
    let mut bench = Bench::empty();
    bench.command(Op::Launch(Box::new(request()))).unwrap();
    let root = RowId(1);
    let run = bench.run(root);
    bench.feed(Input::Progress(run, "installing debugpy".to_owned()));
    let text = "installing debugpy".to_owned();
    assert_eq!(state(&bench, root), TreeState::Preparing(text));
    for _ in 0..2 {
        bench.feed(Input::StartFailed(run, "no network".to_owned()));
    }
    assert_eq!(
        state(&bench, root),
        TreeState::Failed("no network".to_owned())
    );
    let message = "no network".to_owned();
    let said = Event::LaunchFailed { root, message };
    assert_eq!(bench.events.iter().filter(|e| **e == said).count(), 1);
    let row = bench.row(root);
    assert_eq!(
        (row.state, row.reason.as_deref()),
        (RowState::Ended, Some("no network"))
    );
}

#[test]
fn an_adapter_that_dies_while_it_is_prepared_is_a_failed_launch() {
    // Before its connection is open, and after.
    for opened in [false, true] {
        let mut bench = Bench::empty();
        bench.opens = false;
        bench.command(Op::Launch(Box::new(request()))).unwrap();
        let root = RowId(1);
        bench.adapter_up(root);
        let connection = bench.connection(root);
        bench.silent.extend(["initialize", "attach"]);
        if opened {
            bench.feed(Input::Opened(connection));
        }
        let run = bench.run(root);
        bench.feed(Input::AdapterGone(run, "Traceback: boom".to_owned()));
        assert_eq!(
            state(&bench, root),
            TreeState::Failed("Traceback: boom".to_owned())
        );
        bench.pass(100_000);
    }
}

#[test]
fn a_connection_that_breaks_while_preparing_is_a_failed_launch() {
    let mut bench = Bench::empty();
    bench.opens = false;
    bench.command(Op::Launch(Box::new(request()))).unwrap();
    let root = RowId(1);
    bench.adapter_up(root);
    let connection = bench.connection(root);
    bench.feed(Input::Closed(
        connection,
        Some("connection refused".to_owned()),
    ));
    let TreeState::Failed(why) = state(&bench, root) else {
        panic!("{:?}", state(&bench, root));
    };
    assert!(why.contains("connection refused"), "{why}");
}

#[test]
fn a_root_that_never_joins_is_failed_and_runs_on() {
    let mut bench = Bench::empty();
    bench.spawns = false;
    let root = bench.launch_with(|_| {});
    let run = bench.run(root);
    let process = bench.process(ROOT_PID, 1, &["python", "main.py"]);
    bench.feed(Input::Spawned(run, process));
    bench.pass(61_000);
    assert_eq!(bench.row(root).state, RowState::Failed);
    bench.end(ROOT_PID, EndStatus::Exited(0));
    assert_eq!(state(&bench, root), TreeState::Ended);
}

#[test]
fn an_adapter_that_dies_fails_its_sessions_and_leaves_nothing_parked() {
    let (mut bench, root) = Bench::launched();
    let child = bench.report(root, 200);
    bench.silent.insert("attach");
    let parked = bench.report(root, 201);
    bench.stop(child, "breakpoint", "/p/main.py", 3);
    bench.opens = false;
    let run = bench.run(root);
    bench.feed(Input::AdapterGone(run, "killed by SIGKILL".to_owned()));
    assert_eq!(bench.notices(), ["adapterGone"]);
    for row in [root, child, parked] {
        let connection = bench.connection(row);
        bench.breaks(connection);
    }
    let states = [root, child].map(|row| bench.row(row).state);
    assert_eq!(states, [RowState::Failed; 2]);
    assert!(bench.row(child).stopped.is_none());
    assert!(bench.row(child).reason.is_some());
    assert_eq!(bench.row(parked).follow, Follow::Released);
    // The release cannot be opened either.
    let (release, _) = bench.tree.connections.last_key_value().unwrap();
    let release = *release;
    bench.breaks(release);
    bench.pass(3_100);
    assert!(bench.was_ended(201) && !bench.was_ended(200));
    assert_eq!(state(&bench, root), TreeState::Running);
    bench.end(200, EndStatus::Exited(0));
    let cause = bench
        .row(child)
        .end
        .as_ref()
        .and_then(|end| end.cause.clone());
    assert_eq!(cause, None, "it ran on from its stop");
    bench.end(ROOT_PID, EndStatus::Exited(0));
    assert_eq!(state(&bench, root), TreeState::Ended);
}

#[test]
fn a_broken_session_fails_alone() {
    let (mut bench, root) = Bench::launched();
    let [left, right] = [200, 201].map(|pid| bench.report(root, pid));
    let connection = bench.connection(left);
    bench.breaks(connection);
    bench.pass(10_000);
    let states = [root, left, right].map(|row| bench.row(row).state);
    assert_eq!(
        states,
        [RowState::Running, RowState::Failed, RowState::Running]
    );
    let gone = bench.command(Op::Pause(left));
    assert_eq!(gone, Err(EngineError::Gone(left)));
}

#[test]
fn every_open_command_is_answered_when_its_session_goes() {
    let (mut bench, root) = Bench::launched();
    let child = bench.report(root, 200);
    bench.stop(child, "breakpoint", "/p/main.py", 3);
    bench.silent.extend(["threads", "setVariable", "next"]);
    let read = bench.read(ReadOp::Threads(child));
    let set = bench.ask(
        Op::SetVariable {
            row: child,
            container: 10,
            name: "n".to_owned(),
            value: "1".to_owned(),
        },
        None,
    );
    let next = bench.ask(Op::Next(child, None), None);
    let connection = bench.connection(child);
    bench.breaks(connection);
    for id in [read, set, next] {
        assert_eq!(bench.reply(id), Some(Err(EngineError::Gone(child))));
    }
}

#[test]
fn an_adapter_that_does_not_answer_is_waited_for_as_long_as_said() {
    let (mut bench, root) = Bench::launched();
    bench.stop(root, "breakpoint", "/p/main.py", 3);
    bench.silent.extend(["threads", "evaluate", "continue"]);
    let stop = bench.row(root).stop;
    let quick = bench.read(ReadOp::Threads(root));
    let slow = bench.read(ReadOp::Evaluate {
        row: root,
        stop: Some(stop),
        frame: None,
        expression: "f()".to_owned(),
        context: "watch".to_owned(),
    });
    bench.pass(15_100);
    let late = |outcome| matches!(outcome, Some(Err(EngineError::TimedOut { .. })));
    assert!(late(bench.reply(quick)));
    assert_eq!(bench.reply(slow), None);
    bench.pass(15_000);
    assert!(late(bench.reply(slow)));
    assert!(bench.tree.notices.is_empty(), "who asked is told");
    let resume = bench.ask(Op::Continue(root), None);
    bench.pass(15_100);
    assert!(late(bench.reply(resume)));
    let said = bench.tree.notices.back().unwrap();
    assert_eq!((said.code.as_str(), said.row), ("silent", Some(root)));
    assert!(
        said.message.contains("continue for 15 s"),
        "{}",
        said.message
    );
    assert_eq!(bench.row(root).state, RowState::Running);
}

#[test]
fn who_stood_when_its_connection_broke_and_ended_with_a_status_ran_on_to_there() {
    for (status, stood) in [
        (EndStatus::Exited(3), false),
        (EndStatus::Signaled(9), true),
    ] {
        let (mut bench, root) = Bench::launched();
        let child = bench.report(root, 200);
        bench.stop(child, "breakpoint", "/p/main.py", 3);
        bench.breaks(bench.connection(child));
        assert_eq!(bench.row(child).state, RowState::Failed);
        bench.end(200, status);
        let cause = bench.row(child).end.clone().unwrap().cause;
        let said = cause.as_ref().is_some_and(|it| it.contains("main.py:3"));
        assert_eq!(said, stood, "{cause:?}");
    }
}

#[test]
fn answers_to_nothing_and_words_on_closed_connections_are_dropped() {
    let (mut bench, root) = Bench::launched();
    let connection = bench.connection(root);
    let rows = bench.tree.rows.len();
    let to_nothing = Response::ok(5, &Request::new(999, "next", None), None);
    for on in [connection, ConnectionId(77)] {
        bench.feed(Input::Dap(on, Message::Response(to_nothing.clone())));
        bench.say(on, "stopped", json!({ "reason": 3 }));
        bench.say(on, "initialized", json!({}));
        bench.say(on, "nonsense", json!([]));
    }
    bench.feed(Input::Opened(ConnectionId(77)));
    bench.feed(Input::Closed(ConnectionId(77), None));
    bench.report_on(ConnectionId(77), 200);
    bench.feed(Input::Described(5, Vec::new()));
    bench.feed(Input::ProcessesEnded(77, Vec::new()));
    assert_eq!(bench.tree.rows.len(), rows);
    assert_eq!(bench.row(root).state, RowState::Running);
    assert_eq!(bench.count("configurationDone"), 1);
}

#[test]
fn a_connection_that_is_left_is_cut_when_the_adapter_does_not_close_it() {
    let (mut bench, root) = Bench::launched();
    let child = bench.report(root, 200);
    bench.silent.insert("disconnect");
    let connection = bench.connection(child);
    bench.terminated(child);
    let cut = |bench: &Bench| {
        let closes = |e: &Effect| matches!(e, Effect::Close(id) if *id == connection);
        bench.effects.iter().any(closes)
    };
    bench.pass(900);
    assert!(!cut(&bench));
    bench.pass(200);
    assert!(cut(&bench));
}

#[test]
fn an_adapter_that_is_not_wanted_any_more_is_ended() {
    let mut bench = Bench::empty();
    bench.command(Op::Launch(Box::new(request()))).unwrap();
    let run = bench.run(RowId(1));
    assert!(matches!(
        bench.command(Op::Close(RowId(1))),
        Ok(Answer::Closed { .. })
    ));
    bench.forget();
    bench.feed(Input::AdapterReady(run, prepared()));
    assert!(matches!(bench.effects[..], [Effect::StopAdapter(r)] if r == run));
}

#[test]
fn what_stood_when_its_adapter_died_ran_on_in_whatever_order_that_is_heard() {
    for adapter_first in [true, false] {
        let (mut bench, root) = Bench::launched();
        let child = bench.report(root, 200);
        bench.stop(child, "breakpoint", "/p/main.py", 3);
        let run = bench.run(root);
        let gone = Input::AdapterGone(run, "killed by SIGKILL".to_owned());
        let connection = bench.connection(child);
        if adapter_first {
            bench.feed(gone);
            bench.breaks(connection);
        } else {
            bench.breaks(connection);
            bench.feed(gone);
        }
        bench.end(200, EndStatus::Exited(0));
        let end = bench.row(child).end.clone().unwrap();
        assert_eq!(end.cause, None, "adapter first: {adapter_first}");
    }
    // A session that breaks alone is that of a process which was ended where it stood.
    let (mut bench, root) = Bench::launched();
    let child = bench.report(root, 200);
    bench.stop(child, "breakpoint", "/p/main.py", 3);
    let connection = bench.connection(child);
    bench.breaks(connection);
    bench.end(200, EndStatus::Signaled(9));
    let end = bench.row(child).end.clone().unwrap();
    let cause = end.cause.unwrap();
    assert!(
        cause.contains("while stopped for 0.0 s at main.py:3"),
        "{cause}"
    );
}

#[test]
fn an_answer_that_names_another_command_is_none() {
    let (mut bench, root) = Bench::launched();
    bench.stop(root, "breakpoint", "/p/main.py", 3);
    bench.forget();
    bench.silent.insert("continue");
    let id = bench.ask(Op::Continue(root), None);
    let (connection, request) = bench.sent.last().unwrap().clone();
    let answer = |seq, command: &str, success| {
        let message = json!({
            "seq": seq, "type": "response", "request_seq": request.seq, "command": command,
            "success": success, "message": "no",
        });
        Input::Dap(connection, Message::try_from(message).unwrap())
    };
    bench.feed(answer(900, "stackTrace", false));
    assert_eq!(
        bench.row(root).state,
        RowState::Running,
        "nothing was refused"
    );
    assert_eq!(bench.reply(id), None);
    // An adapter that leaves the name out is understood.
    bench.feed(answer(901, "", true));
    assert_eq!(bench.reply(id), Some(Ok(Answer::Done)));
}
