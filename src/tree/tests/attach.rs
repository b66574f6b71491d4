//! Roots that daptree did not start: how they come, what is refused, and that nothing of theirs is
//! ever ended.

use super::harness::{Bench, CLIENT, ROOT_PID, attach_request, listening, seen};
use crate::tree::{Effect, Input};
use daptree_model::{
    Answer, AttachTarget, EndStatus, EngineError, Follow, Op, PathMap, Refusal, RowId, RowState,
    TreeOrigin, TreeState,
};
use serde_json::json;

/// A pydevd command line, as a patched parent makes it.
const PATCHED: [&str; 6] = [
    "python",
    "/v/pydevd.py",
    "--port",
    "4",
    "--file",
    "child.py",
];

fn by_pid() -> (Bench, RowId) {
    let mut bench = Bench::empty();
    let root = bench.attach_with(AttachTarget::Process { pid: ROOT_PID }, |_| {});
    assert_eq!(bench.row(root).state, RowState::Running);
    (bench, root)
}

fn ends_something(bench: &Bench) -> bool {
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
fn a_pid_is_looked_at_before_anything_is_started() {
    let mut bench = Bench::empty();
    let request = attach_request(AttachTarget::Process { pid: 7 });
    let gone = Err(EngineError::CannotAttach {
        target: "pid 7".to_owned(),
        refusal: Refusal::Gone,
    });
    assert_eq!(bench.command(Op::Attach(Box::new(request))), gone);
    assert!(bench.tree.snapshot().rows.is_empty());
    // A process that has a row is not attached to twice.
    let (mut bench, root) = by_pid();
    let request = attach_request(AttachTarget::Process { pid: ROOT_PID });
    let taken = Err(EngineError::CannotAttach {
        target: format!("pid {ROOT_PID}"),
        refusal: Refusal::ARow(root),
    });
    assert_eq!(bench.command(Op::Attach(Box::new(request))), taken);
}

#[test]
fn a_front_end_that_leaves_meanwhile_is_not_answered() {
    let mut bench = Bench::empty();
    bench.processes.clear();
    let request = attach_request(AttachTarget::Process { pid: 7 });
    let id = bench.ask(Op::Attach(Box::new(request)), None);
    assert!(bench.reply(id).is_some());
    bench.feed(Input::Examined(77, Err(Refusal::Gone)));
    bench.feed(Input::ClientClosed(CLIENT));
}

#[test]
fn an_injection_that_fails_says_why_at_once() {
    let mut bench = Bench::empty();
    bench.silent.insert("attach");
    let root = bench.attach_with(AttachTarget::Process { pid: ROOT_PID }, |_| {});
    let connection = bench.connection(root);
    let said = |text: &str| json!({ "category": "stderr", "output": text });
    bench.say(connection, "output", said("Attach to PID failed.\n\n"));
    assert!(matches!(bench.state(root), TreeState::Preparing(_)));
    bench.say(
        connection,
        "output",
        said("gdb\nptrace: Operation not permitted.\n"),
    );
    let TreeState::Failed(message) = bench.state(root) else {
        panic!("{:?}", bench.state(root));
    };
    assert!(
        message.contains("ptrace: Operation not permitted."),
        "{message}"
    );
    assert!(message.contains("SYS_PTRACE"), "{message}");
    assert!(!ends_something(&bench));
    // Or it ends while the debugger is on its way.
    let mut bench = Bench::empty();
    bench.silent.insert("attach");
    let root = bench.attach_with(AttachTarget::Process { pid: ROOT_PID }, |_| {});
    bench.end(ROOT_PID, EndStatus::Exited(0));
    let TreeState::Failed(message) = bench.state(root) else {
        panic!("{:?}", bench.state(root));
    };
    assert!(message.contains("ended before"), "{message}");
}

#[test]
fn children_of_a_process_attached_by_pid_are_looked_for() {
    let mut bench = Bench::empty();
    bench.process(ROOT_PID, 1, &["python", "main.py"]);
    bench.process(150, ROOT_PID, &["python", "main.py"]);
    bench.process(160, ROOT_PID, &["bash"]);
    bench.process(170, 160, &["python", "other.py"]);
    let root = bench.attach_with(AttachTarget::Process { pid: ROOT_PID }, |_| {});
    // What ran before is shown, with what to do.
    let early = bench.row_of(150).unwrap();
    let view = bench.row(early);
    assert_eq!(
        (view.follow, view.state),
        (Follow::Unfollowed, RowState::Running)
    );
    assert!(
        view.reason
            .as_ref()
            .unwrap()
            .contains("daptree attach --pid 150")
    );
    let below = bench.row_of(170).unwrap();
    assert!(
        bench
            .row(below)
            .reason
            .as_ref()
            .unwrap()
            .contains("ran before")
    );
    let shell = bench.row_of(160).unwrap();
    assert_eq!(bench.row(bench.row_of(170).unwrap()).parent, Some(shell));
    bench.forget();
    // What is started now waits at the adapter.
    bench.process(200, ROOT_PID, &PATCHED);
    bench.process(210, ROOT_PID, &["python", "main.py"]);
    bench.process(220, ROOT_PID, &["ls"]);
    bench.process(230, 160, &["python", "x.py"]);
    bench.pass(300);
    let child = bench.row_of(200).unwrap();
    assert_eq!(bench.row(child).state, RowState::Running);
    assert_eq!(bench.row(child).name, "child.py");
    assert_eq!(bench.last("attach")["subProcessId"], 200);
    assert_eq!(
        bench.row_of(210),
        None,
        "it may be about to become something else"
    );
    bench.pass(60);
    let fork = bench.row_of(210).unwrap();
    assert_eq!(bench.row(fork).name, "main.py (fork)");
    assert_eq!(bench.row(fork).follow, Follow::Adopted);
    assert_eq!(bench.row_of(220), None);
    let other = bench.row_of(230).unwrap();
    assert_eq!(bench.row(other).follow, Follow::Unfollowed);
    // Those below an adopted child are reported by the adapter.
    bench.process(300, 200, &PATCHED);
    bench.pass(700);
    assert_eq!(bench.row_of(300), None);
    bench.report(child, 300);
    assert_eq!(bench.row(bench.row_of(300).unwrap()).parent, Some(child));
    // The end of the tree is the end of the looking.
    bench.command(Op::Detach(root)).unwrap();
    bench.pass(2_000);
    bench.forget();
    bench.pass(5_000);
    assert!(bench.effects.is_empty());
}

#[test]
fn a_child_that_is_still_starting_is_asked_for_again() {
    let (mut bench, root) = by_pid();
    bench.unknown.insert(200);
    bench.process(200, ROOT_PID, &PATCHED);
    bench.pass(300);
    let child = bench.row_of(200).unwrap();
    assert_eq!(bench.row(child).state, RowState::Adopting);
    let tried = bench.count("attach");
    bench.pass(500);
    assert!(bench.count("attach") > tried + 2);
    bench.unknown.clear();
    bench.pass(200);
    assert_eq!(bench.row(child).state, RowState::Running);
    assert_eq!(bench.row(child).parent, Some(root));
}

#[test]
fn a_fork_that_never_comes_is_left_alone() {
    let (mut bench, _) = by_pid();
    bench.unknown.insert(200);
    bench.process(200, ROOT_PID, &["python", "main.py"]);
    bench.pass(400);
    let fork = bench.row_of(200).unwrap();
    bench.pass(31_000);
    let view = bench.row(fork);
    assert_eq!(
        (view.follow, view.state),
        (Follow::Unfollowed, RowState::Running)
    );
    bench.pass(10_000);
    assert!(!ends_something(&bench));
}

#[test]
fn an_exec_of_the_root_is_noticed() {
    let (mut bench, root) = by_pid();
    let old = bench.connection(root);
    bench
        .processes
        .insert(ROOT_PID, seen(ROOT_PID, 1, &PATCHED));
    bench.pass(400);
    let view = bench.row(root);
    assert_eq!((view.execs, view.name.as_str()), (1, "child.py"));
    assert_eq!(view.state, RowState::Running);
    assert_ne!(bench.connection(root), old);
    assert_eq!(bench.last("attach")["subProcessId"], ROOT_PID);
}

#[test]
fn a_live_row_is_adopted_on_request() {
    let mut bench = Bench::empty();
    bench.process(ROOT_PID, 1, &["python", "main.py"]);
    bench.process(150, ROOT_PID, &["python", "main.py"]);
    bench.process(155, 150, &["python", "below.py"]);
    let root = bench.attach_with(AttachTarget::Process { pid: ROOT_PID }, |_| {});
    let early = bench.row_of(150).unwrap();
    assert_eq!(bench.command(Op::Adopt(early)), Ok(Answer::Done));
    assert_eq!(bench.last("attach")["processId"], 150);
    let view = bench.row(early);
    assert_eq!(
        (view.follow, view.state),
        (Follow::Adopted, RowState::Running)
    );
    assert_eq!(view.reason, None);
    // Its own children are not reported either.
    bench.process(400, 150, &PATCHED);
    bench.pass(400);
    assert_eq!(
        bench.row(bench.row_of(400).unwrap()).state,
        RowState::Running
    );
    // Who is debugged, gone or unknown is not.
    for row in [root, early] {
        assert!(matches!(
            bench.command(Op::Adopt(row)),
            Err(EngineError::Busy { .. })
        ));
    }
    let nobody = RowId(99);
    assert_eq!(
        bench.command(Op::Adopt(nobody)),
        Err(EngineError::UnknownSession(nobody))
    );
    let below = bench.row_of(155).unwrap();
    bench.end(155, EndStatus::Exited(0));
    assert_eq!(
        bench.command(Op::Adopt(below)),
        Err(EngineError::Gone(below))
    );
}

#[test]
fn an_adoption_that_fails_leaves_the_row_as_it_was() {
    let mut bench = Bench::empty();
    bench.process(ROOT_PID, 1, &["python", "main.py"]);
    bench.process(150, ROOT_PID, &["python", "main.py"]);
    bench.attach_with(AttachTarget::Process { pid: ROOT_PID }, |_| {});
    let early = bench.row_of(150).unwrap();
    bench.silent.insert("attach");
    let id = bench.ask(Op::Adopt(early), None);
    assert_eq!(bench.reply(id), None);
    let connection = bench.connection(early);
    let said = "Attach to PID failed.\n\nptrace: Operation not permitted.\n";
    bench.say(
        connection,
        "output",
        json!({ "category": "stderr", "output": said }),
    );
    assert!(matches!(bench.reply(id), Some(Err(EngineError::Failed(_)))));
    let view = bench.row(early);
    assert_eq!(
        (view.follow, view.state),
        (Follow::Unfollowed, RowState::Running)
    );
    assert!(view.reason.as_ref().unwrap().contains("not permitted"));
    // Its end answers as well.
    let id = bench.ask(Op::Adopt(early), None);
    bench.end(150, EndStatus::Exited(0));
    assert_eq!(bench.reply(id), Some(Err(EngineError::Gone(early))));
    assert!(!ends_something(&bench));
}

#[test]
fn a_detach_has_the_processes_start_their_children_without_us() {
    let (mut bench, root) = by_pid();
    bench.forget();
    bench.command(Op::Detach(root)).unwrap();
    let commands: Vec<&str> = bench
        .sent
        .iter()
        .map(|(_, sent)| sent.command.as_str())
        .collect();
    assert_eq!(commands, ["evaluate", "disconnect"]);
    let run = bench.run(root);
    bench.pass(1_100);
    assert!(
        bench
            .effects
            .iter()
            .any(|e| matches!(e, Effect::StopAdapter(of) if *of == run))
    );
    assert!(bench.processes.contains_key(&ROOT_PID));
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
