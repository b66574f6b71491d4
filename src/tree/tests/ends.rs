//! What ends by itself: processes, sessions, trees; when it is said, and what is said of it.

use super::harness::{Bench, ROOT_PID};
use crate::tree::{Effect, Input};
use daptree_model::{
    Answer, EndStatus, EngineError, Event, Follow, Op, ReadOp, RowId, RowState, StopNumber,
    TreeState,
};

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
    assert_eq!(cause(&bench, quiet), None);
    assert_eq!(
        cause(&bench, paused).as_deref(),
        Some(
            "likely ended by its parent main.py (pid 100) while stopped for 0.0 s at main.py:5 \
             (SIGKILL)"
        )
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

fn cause(bench: &Bench, row: RowId) -> Option<String> {
    bench.row(row).end.clone().unwrap().cause
}

#[test]
fn who_may_have_ended_it_while_it_stood() {
    let likely =
        "likely ended by its parent main.py (pid 100) while stopped for 2.5 s at main.py:5";
    for (status, wanted) in [
        (EndStatus::Signaled(15), format!("{likely} (SIGTERM)")),
        (EndStatus::Signaled(9), format!("{likely} (SIGKILL)")),
        (EndStatus::Signaled(6), format!("{likely} (SIGABRT)")),
        // Its own faults, and an end that the kernel does not tell.
        (
            EndStatus::Signaled(11),
            "ended while stopped at main.py:5".to_owned(),
        ),
        (
            EndStatus::Exited(0),
            "ended while stopped at main.py:5".to_owned(),
        ),
        (
            EndStatus::Unknown,
            "ended while stopped at main.py:5".to_owned(),
        ),
    ] {
        let (mut bench, root) = Bench::launched();
        let child = bench.report(root, 200);
        bench.stop(child, "breakpoint", "/p/main.py", 5);
        bench.pass(2_500);
        bench.end(200, status);
        assert_eq!(cause(&bench, child), Some(wanted), "{status:?}");
        assert_eq!(bench.row(child).ended_at, Some(StopNumber(1)));
    }
    let (mut bench, root) = Bench::launched();
    bench.stop(root, "breakpoint", "/p/main.py", 5);
    bench.end(ROOT_PID, EndStatus::Signaled(9));
    let alone = "ended while stopped at main.py:5";
    assert_eq!(cause(&bench, root).as_deref(), Some(alone), "nobody above");
}

#[test]
fn who_ends_with_its_parent_says_so_in_either_order() {
    let with = Some("ended with its parent main.py (pid 100) by SIGTERM".to_owned());
    let term = EndStatus::Signaled(15);
    // The parent first.
    let (mut bench, root) = Bench::launched();
    let [soon, late, well] = [200, 201, 202].map(|pid| bench.report(root, pid));
    bench.end(ROOT_PID, EndStatus::Exited(0));
    bench.end(200, term);
    bench.end(202, EndStatus::Exited(0));
    bench.pass(1_100);
    bench.end(201, term);
    assert_eq!(cause(&bench, soon), with);
    assert_eq!(cause(&bench, well), None);
    assert_eq!(cause(&bench, late), None, "long after");
    // The child first.
    let (mut bench, root) = Bench::launched();
    let [long_ago, just, told] = [200, 201, 202].map(|pid| bench.report(root, pid));
    bench.end(200, term);
    bench.pass(1_100);
    bench.end(201, term);
    bench.command(Op::Terminate(told)).unwrap();
    bench.end(ROOT_PID, EndStatus::Exited(0));
    assert_eq!(cause(&bench, long_ago), None);
    assert_eq!(cause(&bench, just), with);
    assert_eq!(cause(&bench, told).as_deref(), Some("ended by daptree"));
}

/// A worker of `python -m gunicorn` with these options.
fn worker(options: &[&str]) -> (Bench, RowId) {
    let (mut bench, root) = Bench::launched();
    let command: Vec<String> = ["python", "-m", "gunicorn"]
        .iter()
        .chain(options)
        .map(|word| (*word).to_owned())
        .collect();
    bench.tree.change_row(root, |row| {
        row.name = "gunicorn".to_owned();
        row.command = command;
    });
    let child = bench.report(root, 200);
    (bench, child)
}

fn warnings(bench: &Bench) -> Vec<String> {
    let notices = bench.tree.notices.iter();
    notices
        .filter(|notice| notice.code == "watchdog")
        .map(|notice| notice.message.clone())
        .collect()
}

#[test]
fn a_watchdog_that_ended_it_is_named_with_its_limit() {
    let (mut bench, child) = worker(&["-t", "4", "wsgi:app"]);
    bench.stop(child, "breakpoint", "/p/wsgi.py", 7);
    bench.pass(4_120);
    bench.end(200, EndStatus::Signaled(6));
    let wanted = "ended by its parent gunicorn (pid 100), whose timeout is 4 s, \
                  while stopped for 4.1 s at wsgi.py:7 (SIGABRT)";
    assert_eq!(cause(&bench, child).as_deref(), Some(wanted));
    // Long before its time it was somebody else.
    let (mut bench, child) = worker(&["-t", "4", "wsgi:app"]);
    bench.stop(child, "breakpoint", "/p/wsgi.py", 7);
    bench.pass(1_000);
    bench.end(200, EndStatus::Signaled(6));
    let wanted = "likely ended by its parent gunicorn (pid 100) while stopped for 1.0 s at \
                  wsgi.py:7 (SIGABRT)";
    assert_eq!(cause(&bench, child).as_deref(), Some(wanted));
}

#[test]
fn a_watchdog_is_warned_of_before_its_time_is_up_once_a_stop() {
    let (mut bench, child) = worker(&["-t", "30"]);
    bench.stop(child, "breakpoint", "/p/wsgi.py", 7);
    bench.pass(8_900);
    assert_eq!(warnings(&bench), Vec::<String>::new());
    bench.pass(60_000);
    let wanted = "gunicorn ends a worker that stands for 30 s (its --timeout): continue child-200.py \
                  within 21 s, or start it with -t 0";
    assert_eq!(warnings(&bench), [wanted]);
    // The next stop has a time of its own.
    bench.command(Op::Continue(child)).unwrap();
    bench.stop(child, "breakpoint", "/p/wsgi.py", 7);
    bench.pass(9_100);
    assert_eq!(warnings(&bench).len(), 2);
    // A default may have been changed where it cannot be seen.
    let (mut bench, child) = worker(&[]);
    bench.stop(child, "breakpoint", "/p/wsgi.py", 7);
    bench.pass(9_100);
    assert!(warnings(&bench)[0].contains("unless its configuration says otherwise"));
}

#[test]
fn steps_do_not_set_a_watchdog_back_and_a_continue_does() {
    let (mut bench, child) = worker(&["-t", "30"]);
    for line in 7..12 {
        bench.stop(child, "step", "/p/wsgi.py", line);
        bench.pass(2_000);
        bench.command(Op::Next(child, None)).unwrap();
    }
    assert_eq!(warnings(&bench).len(), 1);
    let (mut bench, child) = worker(&["-t", "30"]);
    for line in 7..12 {
        bench.stop(child, "breakpoint", "/p/wsgi.py", line);
        bench.pass(2_000);
        bench.command(Op::Continue(child)).unwrap();
    }
    bench.pass(60_000);
    assert_eq!(warnings(&bench), Vec::<String>::new());
}

#[test]
fn the_last_stop_can_be_read_after_the_end_and_nothing_more() {
    let (mut bench, root) = Bench::launched();
    let child = bench.report(root, 200);
    bench.stop(child, "breakpoint", "/p/main.py", 5);
    // Nobody looks at it; it stands long enough to be kept.
    bench.pass(150);
    assert!(!bench.tree.snapshot().inspects.contains_key(&child));
    bench.end(200, EndStatus::Signaled(9));
    let snapshot = bench.tree.snapshot();
    let kept = snapshot.inspects.get(&child).unwrap();
    assert_eq!(kept.stop, StopNumber(1));
    assert_eq!(kept.stacks[&1].frames[0].line, 5);
    assert_eq!(kept.pages[&10].variables[0].value, "14");
    let stop = StopNumber(1);
    let variables = |row, reference| ReadOp::Variables {
        row,
        stop,
        reference,
        start: 0,
        count: 100,
    };
    let id = bench.read(variables(child, 10));
    let Some(Ok(Answer::Variables(page))) = bench.reply(id) else {
        panic!("{:?}", bench.reply(id));
    };
    assert_eq!(page.variables.len(), 1);
    let frames = ReadOp::Stack {
        row: child,
        stop,
        thread: None,
        start: 0,
        levels: 1,
    };
    let id = bench.read(frames.clone());
    assert!(matches!(bench.reply(id), Some(Ok(Answer::Stack(_)))));
    for what in [
        variables(child, 11),
        ReadOp::Evaluate {
            row: child,
            stop: Some(stop),
            frame: None,
            expression: "n".to_owned(),
            context: "watch".to_owned(),
        },
    ] {
        let id = bench.read(what);
        assert_eq!(bench.reply(id), Some(Err(EngineError::Gone(child))));
    }
    // What ended while it ran has nothing to be read.
    let other = bench.report(root, 201);
    bench.stop(other, "breakpoint", "/p/main.py", 5);
    bench.pass(150);
    bench.command(Op::Continue(other)).unwrap();
    bench.end(201, EndStatus::Exited(0));
    assert_eq!(bench.row(other).ended_at, None);
    let id = bench.read(ReadOp::Threads(other));
    assert_eq!(bench.reply(id), Some(Err(EngineError::Gone(other))));
}

#[test]
fn a_worker_that_handles_the_signal_at_its_stop_is_ended_there_all_the_same() {
    let ends = |limit: &str, delay: u64| {
        let (mut bench, child) = worker(&["-t", limit]);
        bench.stop(child, "breakpoint", "/p/wsgi.py", 7);
        bench.pass(4_100);
        let connection = bench.connection(child);
        bench.say(connection, "continued", serde_json::json!({}));
        assert_eq!(bench.row(child).state, RowState::Running);
        bench.pass(delay);
        bench.terminated(child);
        bench.pass(700);
        bench.end(200, EndStatus::Exited(1));
        (cause(&bench, child), bench.row(child).ended_at)
    };
    let (cause, at) = ends("4", 60);
    let wanted = "ended by its parent gunicorn (pid 100), whose timeout is 4 s, \
                  while stopped for 4.1 s at wsgi.py:7 (SIGABRT, which it handled)";
    assert_eq!((cause.as_deref(), at), (Some(wanted), Some(StopNumber(1))));
    let (cause, _) = ends("0", 60);
    let wanted = "likely ended by its parent gunicorn (pid 100) while stopped for 4.1 s at \
                  wsgi.py:7 (by a signal that it handled)";
    assert_eq!(cause.as_deref(), Some(wanted));
    assert_eq!(ends("4", 5_000), (None, None), "it ran on and ended later");
}
