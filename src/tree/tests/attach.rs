//! Roots that daptree did not start: how they come, what is refused, and that nothing of theirs is
//! ever ended.

use super::harness::{Bench, ROOT_PID, attach_request, listening};
use crate::tree::{Effect, Input};
use daptree_model::{
    Answer, AttachTarget, EndStatus, EngineError, Op, PathMap, RowId, RowState, TreeOrigin,
    TreeState,
};
use serde_json::json;

/// Whether anything is to be ended.
pub(super) fn ends_something(bench: &Bench) -> bool {
    let mut effects = bench.effects.iter();
    effects.any(|effect| matches!(effect, Effect::EndProcesses { .. }))
}

#[test]
fn a_program_at_a_port_becomes_a_root() {
    let mut bench = Bench::empty();
    let root = bench.attach_with(listening(), |request| {
        request.just_my_code = false;
        request.path_maps = vec![PathMap {
            local: "/p".to_owned(),
            remote: "/app".to_owned(),
        }];
    });
    let attach = bench.last("attach");
    assert_eq!(
        attach["connect"],
        json!({ "host": "127.0.0.1", "port": 5678 })
    );
    assert_eq!(attach["redirectOutput"], true);
    assert_eq!(attach["pathMappings"][0]["remoteRoot"], "/app");
    assert_eq!(bench.state(root), TreeState::Running);
    let row = bench.row(root);
    assert_eq!(
        (row.name.as_str(), row.program.as_deref()),
        ("main.py", Some("/p/main.py"))
    );
    assert_eq!(row.process.unwrap().pid, ROOT_PID);
    let view = bench.tree.snapshot();
    assert_eq!(view.trees[0].origin, TreeOrigin::Attached);
    assert_eq!(view.trees[0].adapter, "debugpy 1.8.22");
    assert!(
        bench
            .effects
            .iter()
            .any(|e| matches!(e, Effect::Observe(..)))
    );
    assert!(
        !bench
            .effects
            .iter()
            .any(|e| matches!(e, Effect::Spawn(..) | Effect::Watch(..)))
    );
    // A child is adopted as in any tree, and prints through its own session.
    let child = bench.report(root, 200);
    assert_eq!(bench.row(child).state, RowState::Running);
    assert_eq!(bench.last("attach")["redirectOutput"], true);
    assert_eq!(bench.last("attach")["justMyCode"], false);
    assert!(!bench.effects.iter().any(|e| matches!(e, Effect::Watch(..))));
}

#[test]
fn it_goes_on_only_when_it_is_known_where_it_runs() {
    let mut bench = Bench::empty();
    bench.silent.insert("evaluate");
    let root = bench.attach_with(listening(), |_| {});
    assert_eq!(bench.count("configurationDone"), 0);
    // A report that comes before waits.
    bench.process(200, ROOT_PID, &["python", "early.py"]);
    let connection = bench.connection(root);
    bench.report_on(connection, 200);
    assert_eq!((bench.row_of(200), bench.acks.len()), (None, 0));
    bench.answer("evaluate", Ok(json!({ "result": "'100 here - 1.8.22'" })));
    assert_eq!(bench.acks, [true]);
    let child = bench.row_of(200).unwrap();
    assert_eq!(bench.row(child).parent, Some(root));
    assert_eq!(bench.state(root), TreeState::Running);
}

#[test]
fn of_a_program_elsewhere_no_process_here_is_touched() {
    let mut bench = Bench::empty();
    bench.place = "elsewhere";
    // Here is a process with the same pid, and it is none of the tree's.
    bench.process(200, 1, &["innocent"]);
    let root = bench.attach_with(listening(), |_| {});
    let connection = bench.connection(root);
    bench.report_on(connection, 200);
    let child = bench.row_of(200).unwrap();
    let row = bench.row(child);
    assert_eq!((row.parent, row.process.unwrap().start), (Some(root), 0));
    assert_ne!(row.command, ["innocent"]);
    assert!(
        !bench
            .effects
            .iter()
            .any(|e| matches!(e, Effect::Observe(..)))
    );
    // Their ends are the adapter's word.
    bench.terminated(child);
    let end = bench.row(child).end.clone().unwrap();
    assert_eq!(end.status, EndStatus::Unknown);
    bench.terminated(root);
    assert_eq!(bench.state(root), TreeState::Ended);
    assert!(!ends_something(&bench));
}

#[test]
fn a_program_elsewhere_whose_connection_breaks_is_over() {
    let mut bench = Bench::empty();
    bench.place = "elsewhere";
    let root = bench.attach_with(listening(), |_| {});
    let connection = bench.connection(root);
    bench.breaks(connection);
    let end = bench.row(root).end.clone().unwrap();
    assert!(end.cause.unwrap().contains("broke"));
    assert_eq!(bench.state(root), TreeState::Ended);
}

#[test]
fn closing_the_root_lets_all_go_deepest_first_and_removes_the_rows() {
    let (mut bench, root) = Bench::attached();
    let child = bench.report(root, 200);
    let below = bench.report(child, 300);
    bench.stop(below, "breakpoint", "/p/main.py", 3);
    let order = [below, child, root].map(|row| bench.connection(row));
    bench.forget();
    let id = bench.ask(Op::Close(root), None);
    let left = bench.sent.iter();
    let left = left.filter(|(_, request)| request.command == "disconnect");
    let left: Vec<_> = left.map(|(id, _)| *id).collect();
    assert_eq!(left, order);
    assert_eq!(bench.last("disconnect")["terminateDebuggee"], false);
    bench.pass(1_100);
    let closed = Answer::Closed {
        children_closed: 2,
        process_ended: false,
        released: true,
        survivors: Vec::new(),
    };
    assert_eq!(bench.reply(id), Some(Ok(closed)));
    assert!(bench.tree.snapshot().rows.is_empty());
    assert_eq!(bench.processes.len(), 3, "all live on");
    assert!(!ends_something(&bench));
}

#[test]
fn detaching_the_root_keeps_the_rows() {
    let (mut bench, root) = Bench::attached();
    let child = bench.report(root, 200);
    bench.forget();
    assert_eq!(
        bench.command(Op::Detach(root)),
        Ok(Answer::Detached {
            children_released: 1
        })
    );
    bench.pass(2_000);
    for row in [root, child] {
        assert!(bench.row(row).end.as_ref().unwrap().released, "{row}");
    }
    assert_eq!(bench.state(root), TreeState::Detached);
    assert_eq!(bench.processes.len(), 2);
    let run = bench.run(root);
    let stopped = |effect: &Effect| matches!(effect, Effect::StopAdapter(of) if *of == run);
    assert!(bench.effects.iter().any(stopped));
    // Its adapter is its own: it will serve the next debugger, and new children as well.
    let parted = bench.sent.iter().filter(|(_, request)| {
        request.command == "evaluate"
            && request
                .arguments
                .as_ref()
                .unwrap()
                .to_string()
                .contains("patching")
    });
    assert_eq!(parted.count(), 0);
    assert!(!ends_something(&bench));
    assert!(matches!(
        bench.command(Op::Close(root)),
        Ok(Answer::Closed {
            released: false,
            ..
        })
    ));
    assert_eq!(bench.processes.len(), 2);
}

#[test]
fn what_is_not_ours_is_neither_restarted_nor_terminated() {
    let (mut bench, root) = Bench::attached();
    for (op, what) in [
        (Op::Restart(root), "restarted"),
        (Op::Terminate(root), "terminated"),
    ] {
        let what = what.to_owned();
        assert_eq!(
            bench.command(op),
            Err(EngineError::NotOurs { row: root, what })
        );
    }
    assert_eq!(bench.state(root), TreeState::Running);
    assert!(!ends_something(&bench));
}

#[test]
fn a_shutdown_lets_it_go() {
    for prepared in [false, true] {
        let mut bench = Bench::empty();
        if prepared {
            bench.attach_with(listening(), |_| {});
        } else {
            let request = attach_request(listening());
            bench.command(Op::Attach(Box::new(request))).unwrap();
        }
        let id = bench.ask(Op::Shutdown, None);
        bench.pass(1_100);
        assert!(
            matches!(bench.reply(id), Some(Ok(Answer::Closed { .. }))),
            "{prepared}"
        );
        assert!(!ends_something(&bench));
    }
}

#[test]
fn a_child_that_is_parked_when_the_root_is_closed_is_let_go_or_said() {
    for adapter_answers in [true, false] {
        let (mut bench, root) = Bench::attached();
        bench.opens = false;
        let child = bench.report(root, 200);
        let connection = bench.connection(child);
        let id = bench.ask(Op::Close(root), None);
        bench.pass(1_100);
        assert_eq!(bench.reply(id), None, "a child is parked");
        if adapter_answers {
            bench.feed(Input::Opened(connection));
            let sent = bench.commands_on(connection);
            assert_eq!(sent[sent.len() - 2..], ["configurationDone", "disconnect"]);
        } else {
            bench.pass(3_000);
            assert!(bench.notices().contains(&"parked"));
        }
        bench.pass(1_100);
        assert!(matches!(
            bench.reply(id),
            Some(Ok(Answer::Closed { released: true, .. }))
        ));
        assert!(!ends_something(&bench), "{adapter_answers}");
    }
}

#[test]
fn a_root_that_ends_is_over_with_the_kernels_word() {
    let (mut bench, root) = Bench::attached();
    bench.terminated(root);
    bench.end(ROOT_PID, EndStatus::Exited(4));
    assert_eq!(
        bench.row(root).end.as_ref().unwrap().status,
        EndStatus::Exited(4)
    );
    assert_eq!(bench.state(root), TreeState::Ended);
    assert!(!ends_something(&bench));
}

#[test]
fn a_root_that_ended_before_its_children_is_closed_with_them() {
    let (mut bench, root) = Bench::attached();
    bench.report(root, 200);
    bench.terminated(root);
    bench.end(ROOT_PID, EndStatus::Signaled(9));
    let id = bench.ask(Op::Close(root), None);
    bench.pass(1_100);
    let closed = Answer::Closed {
        children_closed: 1,
        process_ended: false,
        released: false,
        survivors: Vec::new(),
    };
    assert_eq!(bench.reply(id), Some(Ok(closed)));
    assert!(bench.processes.contains_key(&200) && !ends_something(&bench));
}

#[test]
fn a_port_where_nobody_answers_is_said_with_what_to_do() {
    let mut bench = Bench::empty();
    bench.silent.insert("initialize");
    bench.silent.insert("attach");
    let root = bench.attach_with(listening(), |_| {});
    bench.pass(5_100);
    let TreeState::Failed(message) = bench.state(root) else {
        panic!("{:?}", bench.state(root));
    };
    assert!(
        message.contains("127.0.0.1:5678") && message.contains("--listen 5678"),
        "{message}"
    );
    assert!(bench.row(root).is_ended());
    // Or nobody is there at all.
    let mut bench = Bench::empty();
    bench.opens = false;
    let root = bench.attach_with(listening(), |_| {});
    let connection = bench.connection(root);
    let why =
        "connection s1#1: could not connect to 127.0.0.1:5678: refused; see whether".to_owned();
    bench.feed(Input::Closed(connection, Some(why)));
    let TreeState::Failed(message) = bench.state(root) else {
        panic!("{:?}", bench.state(root));
    };
    assert!(
        message.contains("refused") && !message.contains("s1#1"),
        "{message}"
    );
}

#[test]
fn a_listener_waits_as_long_as_it_takes() {
    let mut bench = Bench::empty();
    let target = AttachTarget::Listen {
        host: "0.0.0.0".to_owned(),
        port: 5679,
    };
    let root = bench.attach_with(target, |_| {});
    let TreeState::Preparing(text) = bench.state(root) else {
        panic!("{:?}", bench.state(root));
    };
    assert!(
        text.contains("0.0.0.0:5679") && text.contains("--connect THIS_HOST:5679"),
        "{text}"
    );
    bench.pass(3_600_000);
    assert!(matches!(bench.state(root), TreeState::Preparing(_)));
    let connection = bench.connection(root);
    bench.say(connection, "initialized", json!({}));
    bench.answer_attach(connection);
    assert_eq!(bench.state(root), TreeState::Running);
    assert_eq!(bench.row(root).name, "main.py");
    // The next one is waited for at the same place, as a tree of its own.
    bench.terminated(root);
    bench.end(ROOT_PID, EndStatus::Exited(0));
    assert_eq!(bench.state(root), TreeState::Ended);
    let next = RowId(root.0 + 1);
    bench.adapter_up(next);
    assert!(matches!(bench.state(next), TreeState::Preparing(_)));
    assert_eq!(bench.last("attach")["listen"]["port"], 5679);
    // One that is closed while it waits is gone at once, and stays away.
    let mut bench = Bench::empty();
    let root = bench.attach_with(
        AttachTarget::Listen {
            host: "127.0.0.1".to_owned(),
            port: 0,
        },
        |_| {},
    );
    let id = bench.ask(Op::Close(root), None);
    bench.pass(1_100);
    assert!(matches!(
        bench.reply(id),
        Some(Ok(Answer::Closed {
            released: false,
            ..
        }))
    ));
    assert!(bench.tree.snapshot().rows.is_empty());
}
