//! What every command and read is checked for before anything is done.

use super::harness::{Bench, CLIENT, Outcome, ROOT_PID};
use crate::tree::Input;
use daptree_model::{
    ClientId, Command, CommandId, EndStatus, EngineError, Op, ReadOp, RowId, StopNumber, ToEngine,
};

fn on_sessions(row: RowId) -> Vec<Op> {
    vec![
        Op::Continue(row),
        Op::Next(row, None),
        Op::StepIn(row, None),
        Op::StepOut(row, None),
        Op::Pause(row),
        Op::SetVariable {
            row,
            container: 1,
            name: "n".to_owned(),
            value: "1".to_owned(),
        },
    ]
}

fn on_rows(row: RowId) -> Vec<Op> {
    vec![
        Op::Restart(row),
        Op::ContinueAll(row),
        Op::PauseAll(row),
        Op::Close(row),
        Op::Terminate(row),
        Op::Detach(row),
        Op::WaitForStop {
            row,
            timeout_ms: 1_000,
        },
    ]
}

fn reads(row: RowId) -> Vec<ReadOp> {
    let stop = StopNumber(0);
    vec![
        ReadOp::Threads(row),
        ReadOp::Stack {
            row,
            stop,
            thread: None,
            start: 0,
            levels: 0,
        },
        ReadOp::Variables {
            row,
            stop,
            reference: 1,
            start: 0,
            count: 1,
        },
        ReadOp::ExceptionInfo { row, stop },
        ReadOp::Source { row, reference: 1 },
        ReadOp::Evaluate {
            row,
            stop: None,
            frame: None,
            expression: "n".to_owned(),
            context: "watch".to_owned(),
        },
    ]
}

fn read(bench: &mut Bench, what: ReadOp) -> Outcome {
    let id = bench.read(what);
    bench.reply(id).unwrap()
}

#[test]
fn a_row_that_is_not_there_is_named() {
    let (mut bench, _) = Bench::launched();
    let nobody = RowId(999);
    bench.forget();
    for op in on_sessions(nobody).into_iter().chain(on_rows(nobody)) {
        let told = format!("{op:?}");
        assert_eq!(
            bench.command(op),
            Err(EngineError::UnknownSession(nobody)),
            "{told}"
        );
    }
    for what in reads(nobody) {
        assert_eq!(
            read(&mut bench, what),
            Err(EngineError::UnknownSession(nobody))
        );
    }
    assert!(bench.sent.is_empty() && bench.effects.is_empty());
}

#[test]
fn a_session_that_ended_is_gone() {
    let (mut bench, root) = Bench::launched();
    let child = bench.report(root, 200);
    bench.end(200, EndStatus::Exited(0));
    bench.forget();
    for op in on_sessions(child) {
        assert_eq!(bench.command(op), Err(EngineError::Gone(child)));
    }
    for what in reads(child) {
        assert_eq!(read(&mut bench, what), Err(EngineError::Gone(child)));
    }
    assert!(bench.sent.is_empty());
}

#[test]
fn a_process_row_is_not_debugged_and_says_why() {
    let (mut bench, root) = Bench::launched();
    bench.process(150, ROOT_PID, &["bash", "step.sh"]);
    bench.process(200, 150, &["python", "child.py"]);
    let child = bench.report(root, 200);
    let bash = bench.row(child).parent.unwrap();
    let wanted = Err(EngineError::NotASession(bash, "not Python".to_owned()));
    for op in on_sessions(bash) {
        assert_eq!(bench.command(op), wanted);
    }
    for what in reads(bash) {
        assert_eq!(read(&mut bench, what), wanted);
    }
}

#[test]
fn files_and_output_are_not_the_cores() {
    let (mut bench, _) = Bench::launched();
    for what in [
        ReadOp::File("/p/main.py".to_owned()),
        ReadOp::Output {
            row: None,
            from: 0,
            count: 1,
        },
    ] {
        assert!(matches!(
            read(&mut bench, what),
            Err(EngineError::Failed(_))
        ));
    }
}

#[test]
fn two_front_ends_may_use_the_same_numbers() {
    let (mut bench, root) = Bench::launched();
    let wait = |row| Command {
        id: CommandId(50),
        expect: None,
        op: Op::WaitForStop {
            row,
            timeout_ms: 1_000,
        },
    };
    bench.feed(Input::ClientOpened(ClientId(2)));
    bench.feed(Input::Client(ClientId(2), ToEngine::Command(wait(root))));
    bench.feed(Input::Client(CLIENT, ToEngine::Command(wait(root))));
    bench.feed(Input::Client(CLIENT, ToEngine::Cancel(CommandId(50))));
    assert_eq!(
        bench.reply(CommandId(50)),
        Some(Err(EngineError::Cancelled))
    );
    assert_eq!(bench.tree.waits.len(), 1, "the other goes on");
    bench.feed(Input::ClientClosed(ClientId(2)));
}

#[test]
fn output_of_a_row_that_is_gone_is_not_counted() {
    let (mut bench, root) = Bench::launched();
    bench.feed(Input::OutputGrew(4, vec![(root, 7), (RowId(999), 1)]));
    let snapshot = bench.tree.snapshot();
    assert_eq!(snapshot.output_revision, 4);
    assert_eq!(snapshot.output_lines, [(root, 7)].into());
}

#[test]
fn the_revision_of_a_snapshot_grows_when_something_changed() {
    let (mut bench, root) = Bench::launched();
    let first = bench.tree.snapshot().revision;
    assert_eq!(bench.tree.snapshot().revision, first);
    bench.stop(root, "breakpoint", "/p/main.py", 3);
    assert!(bench.tree.is_dirty());
    assert!(bench.tree.snapshot().revision > first);
}
