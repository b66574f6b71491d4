//! What ends by itself: processes, sessions, trees; when it is said, and what is said of it.

use super::harness::{Bench, ROOT_PID};
use crate::tree::{Effect, Input};
use daptree_model::{Answer, EndStatus, Event, Follow, Op, RowState, StopNumber, TreeState};

fn surveys(bench: &Bench) -> usize {
    let effects = bench.effects.iter();
    effects.filter(|e| matches!(e, Effect::Survey(..))).count()
}

#[test]
fn a_tree_is_over_when_root_and_children_are_in_either_order() {
    for first in [ROOT_PID, 200] {
        let (mut bench, root) = Bench::launched();
        let child = bench.report(root, 200);
        bench.end(first, EndStatus::Exited(3));
        assert_eq!(bench.state(root), TreeState::Running, "{first} first");
        bench.end(300 - first, EndStatus::Exited(3));
        assert_eq!(bench.state(root), TreeState::Ended, "{first} first");
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
    assert_eq!(bench.state(root), TreeState::Running);
    assert!(surveys(&bench) > 5);
    bench.report_on(bench.connection(root), 200);
    let child = bench.row_of(200).unwrap();
    assert_eq!(
        (bench.row(child).state, bench.row(child).parent),
        (RowState::Running, Some(root))
    );
    bench.pass(10_000);
    assert_eq!(bench.state(root), TreeState::Running);
    // It is not.
    let (mut bench, root) = Bench::launched();
    bench.process(200, 1, &pydevd);
    bench.end(ROOT_PID, EndStatus::Exited(0));
    bench.pass(4_900);
    assert_eq!(bench.state(root), TreeState::Running);
    bench.pass(400);
    assert_eq!(bench.state(root), TreeState::Ended);
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
    assert_eq!(bench.state(root), TreeState::Ended);
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
    assert_eq!(bench.state(root), TreeState::Running, "it is parked still");
    bench.pass(3_100);
    assert!(bench.was_ended(200));
    assert_eq!(bench.state(root), TreeState::Ended);
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
fn a_program_that_comes_when_its_run_is_over_is_ended() {
    let mut bench = Bench::empty();
    bench.spawns = false;
    let root = bench.launch_with(|_| {});
    let connection = bench.connection(root);
    bench.breaks(connection);
    assert!(matches!(bench.state(root), TreeState::Failed(_)));
    let run = bench.run(root);
    bench.root_joins(run);
    bench.feed(Input::Wake);
    assert!(bench.was_ended(ROOT_PID));
    assert!(matches!(bench.state(root), TreeState::Failed(_)));
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
