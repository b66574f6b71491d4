//! Closing, terminating and restarting subtrees: in which order they end, and what is answered.

use super::harness::{Bench, ROOT_PID, at_line, prepared};
use crate::tree::{Effect, Input};
use daptree_model::{Answer, EndStatus, EngineError, Op, RowState, StopNumber, TreeState};

fn closed(children_closed: u32, process_ended: bool) -> Answer {
    Answer::Closed {
        children_closed,
        process_ended,
        released: false,
        survivors: Vec::new(),
    }
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
    assert_eq!(bench.state(root), TreeState::Ended);
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
    assert_eq!(bench.state(root), TreeState::Ended);
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
        request.breakpoints = vec![at_line(3)];
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
        bench.state(root),
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
    let ready = prepared();
    for input in [
        Input::AdapterReady(earlier, ready),
        Input::StartFailed(earlier, "late".to_owned()),
        Input::AdapterGone(earlier, "late".to_owned()),
        Input::Progress(earlier, "late".to_owned()),
        Input::Surveyed(earlier, Vec::new()),
    ] {
        bench.feed(input);
    }
    assert!(matches!(bench.state(root), TreeState::Preparing(_)));
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
fn a_child_whose_adoption_fails_while_its_tree_ends_does_not_count_as_released() {
    let (mut bench, root) = Bench::launched();
    bench.silent.insert("attach");
    let child = bench.report(root, 200);
    assert_eq!(bench.row(child).state, RowState::Adopting);
    bench.kills = false;
    bench.ask(Op::Terminate(root), None);
    assert_eq!(bench.state(root), TreeState::Ending);
    bench.breaks(bench.connection(child));
    assert_eq!(bench.tree.snapshot().trees[0].children_released, 0);
    // It is let go all the same: it must not stay parked.
    assert_eq!(bench.row(child).follow, daptree_model::Follow::Released);
}
