//! Roots that are attached to by their pid: the debugger is put into them while they run, and no
//! adapter tells of their children.

use super::attach::ends_something;
use super::harness::{Bench, CLIENT, ROOT_PID, attach_request, seen};
use crate::tree::{Effect, Input};
use daptree_model::{
    Answer, AttachTarget, EndStatus, EngineError, Follow, Op, Refusal, RowId, RowState, TreeState,
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
