//! How trees, sessions and processes end, and what is answered then.

use super::harness::{Bench, ROOT_PID};
use crate::tree::{Effect, Input};
use daptree_model::{
    Answer, EndStatus, EngineError, Event, Follow, Op, RowId, RowState, StopNumber, TreeState,
};
use serde_json::json;

fn state(bench: &Bench, root: RowId) -> TreeState {
    bench.tree.trees[&root].state.clone()
}

fn surveys(bench: &Bench) -> usize {
    let effects = bench.effects.iter();
    effects.filter(|e| matches!(e, Effect::Survey(..))).count()
}

fn closed(children_closed: u32, process_ended: bool) -> Answer {
    Answer::Closed {
        children_closed,
        process_ended,
        released: false,
        survivors: Vec::new(),
    }
}

#[test]
fn a_tree_is_over_when_root_and_children_are_in_either_order() {
    for first in [ROOT_PID, 200] {
        let (mut bench, root) = Bench::launched();
        let child = bench.report(root, 200);
        bench.end(first, EndStatus::Exited(3));
        assert_eq!(state(&bench, root), TreeState::Running, "{first} first");
        bench.end(300 - first, EndStatus::Exited(3));
        assert_eq!(state(&bench, root), TreeState::Ended, "{first} first");
        let status = EndStatus::Exited(3);
        let said = Event::TreeEnded {
            root,
            status,
            left: Vec::new(),
        };
        assert_eq!(bench.events.iter().filter(|e| **e == said).count(), 1);
        let end = bench.row(child).end.clone().unwrap();
        assert_eq!((end.status, end.cause, end.released), (status, None, false));
        assert!(bench.tree.connections.is_empty());
    }
}

#[test]
fn the_end_of_a_root_closes_no_connection_while_descendants_live() {
    let (mut bench, root) = Bench::launched();
    let child = bench.report(root, 200);
    bench.forget();
    bench.terminated(root);
    bench.end(ROOT_PID, EndStatus::Exited(0));
    bench.pass(20_000);
    assert!(!bench.effects.iter().any(|e| matches!(e, Effect::Close(_))));
    bench.stop(child, "breakpoint", "/p/main.py", 3);
    assert_eq!(bench.row(child).state, RowState::Paused);
    assert_eq!(bench.command(Op::Continue(child)), Ok(Answer::Done));
}

#[test]
fn a_process_that_is_about_to_be_reported_keeps_the_tree_for_five_seconds() {
    let pydevd = ["python", "/v/pydevd.py", "--file", "late.py"];
    // It is reported in time.
    let (mut bench, root) = Bench::launched();
    bench.process(200, 1, &pydevd);
    bench.end(ROOT_PID, EndStatus::Exited(0));
    bench.pass(3_000);
    assert_eq!(state(&bench, root), TreeState::Running);
    assert!(surveys(&bench) > 5);
    bench.report_on(bench.connection(root), 200);
    let child = bench.row_of(200).unwrap();
    assert_eq!(
        (bench.row(child).state, bench.row(child).parent),
        (RowState::Running, Some(root))
    );
    bench.pass(10_000);
    assert_eq!(state(&bench, root), TreeState::Running);
    // It is not.
    let (mut bench, root) = Bench::launched();
    bench.process(200, 1, &pydevd);
    bench.end(ROOT_PID, EndStatus::Exited(0));
    bench.pass(4_900);
    assert_eq!(state(&bench, root), TreeState::Running);
    bench.pass(400);
    assert_eq!(state(&bench, root), TreeState::Ended);
    let left = bench.events.iter().find_map(|event| match event {
        Event::TreeEnded { left, .. } => Some(left.clone()),
        _ => None,
    });
    assert_eq!(left, Some(vec![200]));
}

#[test]
fn what_is_not_debugged_is_not_waited_for_but_named() {
    let (mut bench, root) = Bench::launched();
    bench.process(150, ROOT_PID, &["sleep", "60"]);
    bench.end(ROOT_PID, EndStatus::Exited(0));
    assert_eq!(state(&bench, root), TreeState::Ended);
    let status = EndStatus::Exited(0);
    assert!(bench.events.contains(&Event::TreeEnded {
        root,
        status,
        left: vec![150]
    }));
}

#[test]
fn a_release_under_way_is_waited_for() {
    let (mut bench, root) = Bench::launched();
    bench.refuses.insert("attach", "no");
    bench.report(root, 200);
    bench.end(ROOT_PID, EndStatus::Exited(0));
    assert_eq!(
        state(&bench, root),
        TreeState::Running,
        "it is parked still"
    );
    bench.pass(3_100);
    assert!(bench.was_ended(200));
    assert_eq!(state(&bench, root), TreeState::Ended);
}

#[test]
fn causes_name_who_ended_it_as_far_as_it_is_known() {
    let (mut bench, root) = Bench::launched();
    let [quiet, paused, told] = [200, 201, 202].map(|pid| bench.report(root, pid));
    bench.end(200, EndStatus::Signaled(11));
    bench.stop(paused, "breakpoint", "/p/main.py", 5);
    bench.terminated(paused);
    bench.end(201, EndStatus::Signaled(9));
    bench.command(Op::Terminate(told)).unwrap();
    let cause = |bench: &Bench, row| bench.row(row).end.clone().unwrap().cause;
    assert_eq!(cause(&bench, quiet), None);
    assert_eq!(
        cause(&bench, paused).as_deref(),
        Some("ended while stopped at main.py:5")
    );
    assert_eq!(cause(&bench, told).as_deref(), Some("ended by daptree"));
    assert_eq!(bench.row(paused).last_place.as_ref().unwrap().line, 5);
}

#[test]
fn the_end_of_a_paused_session_says_first_that_it_does_not_stand_any_more() {
    let (mut bench, root) = Bench::launched();
    let child = bench.report(root, 200);
    bench.silent.insert("stackTrace");
    bench.stop(child, "breakpoint", "/p/main.py", 5);
    bench.forget();
    let status = EndStatus::Signaled(9);
    bench.end(200, status);
    let stop = StopNumber(1);
    let kinds: Vec<&Event> = bench.events.iter().collect();
    let row = child;
    assert!(
        matches!(kinds[..], [Event::Stopped { row: r, stop: s, .. }, Event::Continued(c), Event::Ended { .. }]
            if *r == row && *s == stop && *c == row),
        "{kinds:?}"
    );
}

#[test]
fn closing_a_child_ends_its_subtree_deepest_first_and_nothing_else() {
    let (mut bench, root) = Bench::launched();
    let left = bench.report(root, 200);
    let right = bench.report(root, 201);
    let below = bench.report(left, 300);
    let (on_left, on_below) = (bench.connection(left), bench.connection(below));
    bench.forget();
    assert_eq!(bench.command(Op::Close(left)), Ok(closed(1, true)));
    let asked: Vec<_> = bench.sent.iter().map(|(id, _)| *id).collect();
    assert_eq!(asked, [on_below, on_left], "the deepest first");
    assert_eq!(bench.last("disconnect")["terminateDebuggee"], true);
    assert!(bench.tree.view(left).is_none() && bench.tree.view(below).is_none());
    let others = [root, right].map(|row| bench.row(row).state);
    assert_eq!(others, [RowState::Running; 2]);
    assert!(!bench.was_ended(200), "asking was enough");
}

#[test]
fn a_child_that_does_not_end_when_asked_is_ended() {
    let (mut bench, root) = Bench::launched();
    let child = bench.report(root, 200);
    bench.silent.insert("disconnect");
    let id = bench.ask(Op::Close(child), None);
    bench.pass(600);
    assert_eq!(bench.reply(id), None);
    assert!(!bench.was_ended(200));
    bench.pass(200);
    assert!(bench.was_ended(200));
    assert_eq!(bench.reply(id), Some(Ok(closed(0, true))));
}

#[test]
fn what_cannot_be_ended_is_named() {
    let (mut bench, root) = Bench::launched();
    let child = bench.report(root, 200);
    bench.silent.insert("disconnect");
    bench.immortal.insert(200);
    let id = bench.ask(Op::Terminate(child), None);
    bench.pass(2_000);
    let Some(Ok(Answer::Closed { survivors, .. })) = bench.reply(id) else {
        panic!("{:?}", bench.reply(id));
    };
    assert_eq!(survivors, [200]);
    assert_eq!(bench.notices(), ["survivors"]);
}

#[test]
fn a_process_row_can_be_ended_too() {
    let (mut bench, root) = Bench::launched();
    bench.process(150, ROOT_PID, &["bash", "step.sh"]);
    bench.process(200, 150, &["python", "child.py"]);
    let child = bench.report(root, 200);
    let bash = bench.row(child).parent.unwrap();
    let id = bench.ask(Op::Close(bash), None);
    bench.pass(1_000);
    assert_eq!(bench.reply(id), Some(Ok(closed(1, true))));
    assert!(bench.tree.view(child).is_none());
}

#[test]
fn closing_the_root_ends_every_process_and_removes_the_tree() {
    let (mut bench, root) = Bench::launched();
    bench.report(root, 200);
    bench.process(150, ROOT_PID, &["setsid", "sleep"]);
    assert_eq!(bench.command(Op::Close(root)), Ok(closed(1, true)));
    assert!(bench.processes.is_empty());
    assert!(bench.tree.rows.is_empty() && bench.tree.trees.is_empty());
    let stops = bench
        .effects
        .iter()
        .filter(|e| matches!(e, Effect::StopAdapter(_)));
    assert_eq!(stops.count(), 1);
}

#[test]
fn terminating_keeps_the_rows() {
    let (mut bench, root) = Bench::launched();
    let child = bench.report(root, 200);
    assert_eq!(bench.command(Op::Terminate(root)), Ok(closed(1, true)));
    assert_eq!(state(&bench, root), TreeState::Ended);
    for row in [root, child] {
        assert_eq!(bench.row(row).state, RowState::Ended);
        let cause = bench.row(row).end.clone().unwrap().cause;
        assert_eq!(cause.as_deref(), Some("ended by daptree"));
    }
    // What is over can be closed.
    assert_eq!(bench.command(Op::Close(root)), Ok(closed(1, false)));
}

#[test]
fn closing_a_tree_that_is_over_ends_what_it_left_behind() {
    let (mut bench, root) = Bench::launched();
    bench.process(150, ROOT_PID, &["bash", "step.sh"]);
    bench.process(200, 150, &["python", "child.py"]);
    bench.report(root, 200);
    bench.end(200, EndStatus::Exited(0));
    bench.end(ROOT_PID, EndStatus::Exited(0));
    assert_eq!(state(&bench, root), TreeState::Ended);
    assert_eq!(bench.processes.len(), 1, "bash runs on");
    assert_eq!(bench.command(Op::Close(root)), Ok(closed(1, false)));
    assert!(bench.processes.is_empty());
}

#[test]
fn one_launch_shaped_command_at_a_time() {
    let (mut bench, root) = Bench::launched();
    let child = bench.report(root, 200);
    bench.kills = false;
    bench.ask(Op::Restart(root), None);
    for op in [
        Op::Restart(root),
        Op::Close(root),
        Op::Terminate(child),
        Op::Detach(root),
    ] {
        let busy = bench.command(op.clone());
        assert!(
            matches!(busy, Err(EngineError::Busy { .. })),
            "{op:?}: {busy:?}"
        );
    }
}

#[test]
fn a_restart_closes_the_children_and_keeps_the_rest() {
    let (mut bench, root) = Bench::launched_with(|request| {
        request.breakpoints = vec![super::harness::at_line(3)];
    });
    let child = bench.report(root, 200);
    let below = bench.report(child, 300);
    bench.stop(root, "breakpoint", "/p/main.py", 3);
    let before = bench.run(root).number;
    let restarted = bench.command(Op::Restart(root));
    assert_eq!(restarted, Ok(Answer::Restarted { children_closed: 2 }));
    assert!(bench.tree.view(child).is_none() && bench.tree.view(below).is_none());
    assert_eq!(bench.run(root).number, before + 1);
    bench.forget();
    bench.adapter_up(root);
    let row = bench.row(root);
    assert_eq!(
        (row.state, row.end.clone(), row.stop),
        (RowState::Running, None, StopNumber(1))
    );
    assert_eq!(bench.count("setBreakpoints"), 1);
    bench.stop(root, "breakpoint", "/p/main.py", 3);
    assert_eq!(bench.row(root).stop, StopNumber(2), "stop numbers go on");
    let next = bench.report(root, 200);
    assert!(next > below, "ids are not used again");
}

#[test]
fn a_tree_that_is_over_or_failed_can_be_started_again() {
    let (mut bench, root) = Bench::launched();
    bench.end(ROOT_PID, EndStatus::Exited(1));
    assert_eq!(
        bench.command(Op::Restart(root)),
        Ok(Answer::Restarted { children_closed: 0 })
    );
    let run = bench.run(root);
    bench.feed(Input::StartFailed(run, "no debugpy".to_owned()));
    assert_eq!(
        state(&bench, root),
        TreeState::Failed("no debugpy".to_owned())
    );
    assert_eq!(
        bench.command(Op::Restart(root)),
        Ok(Answer::Restarted { children_closed: 0 })
    );
    bench.adapter_up(root);
    assert_eq!(bench.row(root).state, RowState::Running);
}

#[test]
fn what_belongs_to_an_earlier_run_is_not_heard() {
    let (mut bench, root) = Bench::launched();
    let earlier = bench.run(root);
    bench.command(Op::Restart(root)).unwrap();
    bench.forget();
    let ready = super::harness::prepared();
    for input in [
        Input::AdapterReady(earlier, ready),
        Input::StartFailed(earlier, "late".to_owned()),
        Input::AdapterGone(earlier, "late".to_owned()),
        Input::Progress(earlier, "late".to_owned()),
        Input::Surveyed(earlier, Vec::new()),
    ] {
        bench.feed(input);
    }
    assert!(matches!(state(&bench, root), TreeState::Preparing(_)));
    let stops = bench
        .effects
        .iter()
        .filter(|e| matches!(e, Effect::StopAdapter(r) if *r == earlier));
    assert_eq!(
        stops.count(),
        1,
        "an adapter that nobody wants any more is ended"
    );
    assert!(bench.notices().is_empty());
}

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
    assert_eq!(state(&bench, root), TreeState::Detached);
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
fn roots_alone_are_restarted_and_detached() {
    let (mut bench, root) = Bench::launched();
    let child = bench.report(root, 200);
    for (op, what) in [
        (Op::Restart(child), "restart"),
        (Op::Detach(child), "detach"),
    ] {
        let what = what.to_owned();
        let wanted = EngineError::NotARoot {
            row: child,
            root,
            what,
        };
        assert_eq!(bench.command(op), Err(wanted));
    }
    assert_eq!(bench.row(child).state, RowState::Running);
}

#[test]
fn a_shutdown_ends_every_tree_and_is_answered_when_nothing_is_left() {
    let (mut bench, root) = Bench::launched();
    bench.report(root, 200);
    bench.kills = false;
    let id = bench.ask(Op::Shutdown, None);
    assert_eq!(state(&bench, root), TreeState::Ending);
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
    let request = super::harness::request();
    bench
        .command(Op::Launch(Box::new(request.clone())))
        .unwrap();
    let root = RowId(1);
    assert!(bench.command(Op::Shutdown).is_ok());
    assert_eq!(
        (state(&bench, root), bench.row(root).state),
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
fn a_program_that_comes_when_its_run_is_over_is_ended() {
    let mut bench = Bench::empty();
    bench.spawns = false;
    let root = bench.launch_with(|_| {});
    let connection = bench.connection(root);
    bench.breaks(connection);
    assert!(matches!(state(&bench, root), TreeState::Failed(_)));
    let run = bench.run(root);
    bench.root_joins(run);
    bench.feed(Input::Wake);
    assert!(bench.was_ended(ROOT_PID));
    assert!(matches!(state(&bench, root), TreeState::Failed(_)));
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
    assert_eq!(state(&bench, root), TreeState::Ended);
    assert_eq!(bench.reply(restart), Some(Err(EngineError::Cancelled)));
    assert!(matches!(bench.reply(id), Some(Ok(_))));
}

#[test]
fn a_long_lived_tree_keeps_five_hundred_ended_rows_and_those_that_failed() {
    let (mut bench, root) = Bench::launched_with(|request| request.max_children = 2);
    let failed = bench.report(root, 1_000);
    bench.end(1_000, EndStatus::Exited(1));
    let lives = bench.report(root, 999);
    for pid in 1_001..1_600 {
        // Beyond the cap: rows that cost no session.
        bench.report(root, pid);
        bench.end(pid, EndStatus::Exited(0));
    }
    assert_eq!(bench.tree.rows.len(), 502);
    assert_eq!(bench.tree.trees[&root].rows_dropped, 100);
    assert_eq!(bench.row(failed).follow, Follow::Adopted);
    assert_eq!(bench.row(lives).state, RowState::Running);
}
