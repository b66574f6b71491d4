//! Detaches and shutdowns: what lives on, what ends, and what is parked meanwhile.

use super::harness::{Bench, ROOT_PID, request};
use crate::tree::{Effect, Input};
use daptree_model::{Answer, EndStatus, EngineError, Op, RowId, RowState, TreeState};
use serde_json::json;

#[test]
fn detaching_lets_all_of_them_go_deepest_first() {
    let (mut bench, root) = Bench::launched();
    let child = bench.report(root, 200);
    let below = bench.report(child, 300);
    bench.stop(below, "breakpoint", "/p/main.py", 3);
    let order = [below, child, root].map(|row| bench.connection(row));
    bench.forget();
    assert_eq!(
        bench.command(Op::Detach(root)),
        Ok(Answer::Detached {
            children_released: 2
        })
    );
    let left = bench
        .sent
        .iter()
        .filter(|(_, request)| request.command == "disconnect");
    let left: Vec<_> = left.map(|(id, _)| *id).collect();
    assert_eq!(left, order);
    assert_eq!(bench.last("disconnect")["terminateDebuggee"], false);
    for row in [root, child, below] {
        let view = bench.row(row);
        assert!(
            view.is_ended() && view.end.as_ref().unwrap().released,
            "{row}"
        );
    }
    assert_eq!(bench.state(root), TreeState::Detached);
    let expected = vec![root, child, below];
    let lives = |effect: &Effect| matches!(effect, Effect::LetLive(_, rows) if *rows == expected);
    assert!(bench.effects.iter().any(lives), "also when we are gone");
    bench.pass(20_000);
    assert_eq!(bench.processes.len(), 3, "all live on");
    assert!(
        !bench
            .effects
            .iter()
            .any(|e| matches!(e, Effect::EndProcesses { .. }))
    );
    // Closing it now ends nothing.
    bench.command(Op::Close(root)).unwrap();
    assert_eq!(bench.processes.len(), 3);
}

#[test]
fn a_child_that_is_parked_during_a_detach_is_let_go_too() {
    for opened in [false, true] {
        let (mut bench, root) = Bench::launched();
        bench.opens = false;
        let child = bench.report(root, 200);
        let connection = bench.connection(child);
        if opened {
            bench.silent.insert("configurationDone");
            bench.feed(Input::Opened(connection));
        }
        bench.command(Op::Detach(root)).unwrap();
        if opened {
            bench.answer("configurationDone", Ok(json!({})));
            let attach = bench.count("attach");
            assert!(attach > 0);
            bench.answer_attach(connection);
        } else {
            bench.feed(Input::Opened(connection));
        }
        let sent = bench.commands_on(connection);
        assert_eq!(sent[sent.len() - 2..], ["configurationDone", "disconnect"]);
        bench.pass(20_000);
        assert!(!bench.was_ended(200), "opened: {opened}");
    }
}

#[test]
fn a_parked_child_of_a_detached_tree_that_cannot_be_let_go_is_ended() {
    let (mut bench, root) = Bench::launched();
    bench.silent.insert("attach");
    bench.report(root, 200);
    bench.command(Op::Detach(root)).unwrap();
    bench.pass(2_900);
    assert!(!bench.was_ended(200));
    bench.pass(200);
    assert!(bench.was_ended(200));
}

#[test]
fn a_late_child_of_a_detached_tree_is_let_go() {
    for by_event in [false, true] {
        let (mut bench, root) = Bench::launched();
        let connection = bench.connection(root);
        bench.silent.insert("disconnect");
        bench.command(Op::Detach(root)).unwrap();
        bench.process(200, ROOT_PID, &["python", "late.py"]);
        bench.forget();
        if by_event {
            bench.report_by_event(connection, 200);
        } else {
            bench.report_on(connection, 200);
        }
        assert_eq!((bench.count("attach"), bench.count("disconnect")), (1, 1));
        bench.pass(20_000);
        assert!(!bench.was_ended(200));
    }
}

#[test]
fn a_release_counts_for_the_program_that_it_was_begun_for() {
    let (mut bench, root) = Bench::launched();
    let connection = bench.connection(root);
    bench.silent.insert("disconnect");
    bench.command(Op::Detach(root)).unwrap();
    bench.process(200, ROOT_PID, &["python", "late.py"]);
    bench.silent.insert("configurationDone");
    bench.report_on(connection, 200);
    let (first, _) = bench.tree.connections.last_key_value().unwrap();
    let first = *first;
    // It replaces itself before it is let go.
    bench.report_on(connection, 200);
    bench.answer("configurationDone", Ok(json!({})));
    bench.answer_attach(first);
    bench.pass(3_100);
    assert!(bench.was_ended(200), "nobody let the second program go");
}

#[test]
fn a_shutdown_ends_every_tree_and_is_answered_when_nothing_is_left() {
    let (mut bench, root) = Bench::launched();
    bench.report(root, 200);
    bench.kills = false;
    let id = bench.ask(Op::Shutdown, None);
    assert_eq!(bench.state(root), TreeState::Ending);
    assert_eq!(bench.reply(id), None);
    let Some(Effect::EndProcesses {
        operation, whole, ..
    }) = bench
        .effects
        .iter()
        .find(|e| matches!(e, Effect::EndProcesses { .. }))
        .cloned()
    else {
        panic!("nobody is ended");
    };
    assert_eq!(whole, Some(bench.run(root)));
    bench.feed(Input::ProcessesEnded(operation, Vec::new()));
    bench.pass(600);
    assert!(matches!(bench.reply(id), Some(Ok(Answer::Closed { .. }))));
    // Nothing lives: at once.
    assert!(matches!(
        bench.command(Op::Shutdown),
        Ok(Answer::Closed { .. })
    ));
}

#[test]
fn a_shutdown_while_the_adapter_is_prepared_or_the_program_started() {
    // Before the adapter is up.
    let mut bench = Bench::empty();
    let request = request();
    bench
        .command(Op::Launch(Box::new(request.clone())))
        .unwrap();
    let root = RowId(1);
    assert!(bench.command(Op::Shutdown).is_ok());
    assert_eq!(
        (bench.state(root), bench.row(root).state),
        (TreeState::Ended, RowState::Ended)
    );
    bench.adapter_up(root);
    assert!(bench.sent.is_empty(), "what comes up late is ended");
    // While the program starts: it must not outlive the shutdown.
    let mut bench = Bench::empty();
    bench.spawns = false;
    let root = bench.launch_with(|_| {});
    let id = bench.ask(Op::Shutdown, None);
    assert_eq!(bench.reply(id), None);
    let run = bench.run(root);
    bench.root_joins(run);
    bench.feed(Input::Wake);
    assert!(bench.was_ended(ROOT_PID));
    assert!(bench.processes.is_empty());
    assert!(matches!(bench.reply(id), Some(Ok(_))));
    // Or it could not be started at all.
    let mut bench = Bench::empty();
    bench.spawns = false;
    let root = bench.launch_with(|_| {});
    let id = bench.ask(Op::Shutdown, None);
    let run = bench.run(root);
    bench.feed(Input::StartFailed(run, "no such file".to_owned()));
    assert!(matches!(bench.reply(id), Some(Ok(_))));
}

#[test]
fn a_shutdown_during_a_restart_does_not_start_it_again() {
    let (mut bench, root) = Bench::launched();
    bench.kills = false;
    let restart = bench.ask(Op::Restart(root), None);
    let id = bench.ask(Op::Shutdown, None);
    let run = bench.run(root);
    bench.feed(Input::ProcessesEnded(1, Vec::new()));
    bench.pass(600);
    assert_eq!(bench.run(root), run);
    assert_eq!(bench.state(root), TreeState::Ended);
    assert_eq!(bench.reply(restart), Some(Err(EngineError::Cancelled)));
    assert!(matches!(bench.reply(id), Some(Ok(_))));
}

#[test]
fn a_session_that_outlived_its_process_is_left_before_those_above_it() {
    let (mut bench, root) = Bench::launched();
    let child = bench.report(root, 200);
    let below = bench.report(child, 300);
    let order = [below, child, root].map(|row| bench.connection(row));
    bench.end(200, EndStatus::Exited(0));
    assert_eq!(bench.row(child).state, RowState::Ended);
    bench.forget();
    bench.command(Op::Detach(root)).unwrap();
    let left = bench.sent.iter();
    let left = left.filter(|(_, request)| request.command == "disconnect");
    let left: Vec<_> = left.map(|(connection, _)| *connection).collect();
    assert_eq!(left, order);
}
