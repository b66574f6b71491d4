//! Whatever dies, hangs or is cut beside the program: it is said, every command is answered, and
//! nothing stays parked.

use crate::{below, closed, code, say, scene};
use daptree_model::{EndStatus, Event, Op, ReadOp, RowId, RowState, Stdio, StopNumber};
use daptree_testing::{Front, PATIENCE, Scene, process};
use rustix::process::Signal;
use std::time::Instant;

fn adapter(scene: &Scene) -> u32 {
    scene.process_with("quick_adapter").pid
}

/// A root that waits for its child, which stands at a stop.
fn child_stopped(front: &mut Front) -> [RowId; 2] {
    let root = front.launch(&["python", "parent.py"], &[("child.py", "# work")]);
    [root, front.wait(root).row]
}

fn tree_end(front: &mut Front) -> (EndStatus, Vec<u32>) {
    front.until_event("the tree's end", |event| match event {
        Event::TreeEnded { status, left, .. } => Some((*status, left.clone())),
        _ => None,
    })
}

#[test]
fn a_stopped_child_that_is_killed_is_said_to_have_stood_and_its_parent_goes_on() {
    for (signal, number) in [(Signal::KILL, 9), (Signal::TERM, 15)] {
        let scene = scene();
        let mut front = Front::start(&scene);
        let [root, child] = child_stopped(&mut front);
        process::send(front.pid(child), signal);
        let end = front.until_ended(child).end.clone().unwrap();
        assert_eq!(end.status, EndStatus::Signaled(number));
        let line = scene.line("child.py", "# work");
        let cause = end.cause.unwrap_or_default();
        assert!(cause.contains("stopped"), "{cause}");
        assert!(cause.contains(&format!("child.py:{line}")), "{cause}");
        // A Python program that ends with -9 has the status 247.
        assert_eq!(front.wait(root).state, RowState::Ended);
        assert_eq!(code(&front.row(root)), Some(256 - number));
        assert_eq!(
            front.row(child).last_place.as_ref().unwrap().line,
            line as u32
        );
    }
}

#[test]
fn a_root_that_is_killed_leaves_its_child_debugged() {
    for (signal, number) in [(Signal::KILL, 9), (Signal::TERM, 15)] {
        let scene = scene();
        let mut front = Front::start(&scene);
        let [root, child] = child_stopped(&mut front);
        process::send(front.pid(root), signal);
        let end = front.until_ended(root).end.clone().unwrap();
        assert_eq!(end.status, EndStatus::Signaled(number));
        assert_eq!(end.cause, None);
        for _ in 0..3 {
            assert_eq!(front.wait(root).row, child);
            front.go_on(child);
        }
        assert_eq!(front.wait(root).row, root);
        assert_eq!(code(&front.row(child)), Some(3));
        assert_eq!(tree_end(&mut front), (end.status, Vec::new()));
    }
}

#[test]
fn an_adapter_that_is_killed_fails_its_sessions_and_the_program_runs_on() {
    for signal in [Signal::KILL, Signal::TERM] {
        let scene = scene();
        let mut front = Front::start(&scene);
        let [_, child] = child_stopped(&mut front);
        process::send(adapter(&scene), signal);
        let failed = |row: &daptree_model::Row| {
            row.id == child && row.state == RowState::Failed && row.reason.is_some()
        };
        front.until_event("a session that failed", |event| match event {
            Event::Row(row) if failed(row) => Some(()),
            _ => None,
        });
        let said = front.until("a word on it", |snapshot| {
            snapshot.notices.iter().any(|it| it.code == "adapterGone")
        });
        let said = said.notices.iter().find(|it| it.code == "adapterGone");
        let message = said.unwrap().message.clone();
        assert!(message.contains("the program runs on"), "{message}");
        assert_eq!(tree_end(&mut front), (EndStatus::Exited(3), Vec::new()));
        let end = front.row(child).end.clone().unwrap();
        assert_eq!((end.status, end.cause), (EndStatus::Exited(3), None));
    }
}

/// debugpy's adapter ends by an answer that it has for a client which left; ours does not.
#[test]
fn an_evaluation_under_way_when_its_child_is_closed_costs_nobody_else() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let words = ["python", "descend.py", "1", "2"];
    let root = front.launch(&words, &[("descend.py", "# bottom")]);
    let [first, second] = front.until_paused(2)[..] else {
        unreachable!("two were waited for")
    };
    let read = front.begin_read(ReadOp::Evaluate {
        row: first,
        stop: Some(StopNumber(1)),
        frame: None,
        expression: "__import__('time').sleep(100)".to_owned(),
        context: "repl".to_owned(),
    });
    assert_eq!(front.command(Op::Close(first)), Ok(closed(0)));
    assert!(front.answer(read).is_err());
    front.go_on(second);
    assert_eq!(code(&front.until_ended(second)), Some(3));
    assert_eq!(front.wait(root).state, RowState::Ended);
    let snapshot = front.snapshot();
    assert!(snapshot.notices.is_empty(), "{:?}", snapshot.notices);
}

#[test]
fn connections_that_are_cut_fail_their_sessions_and_the_program_runs_on() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let [root, child] = child_stopped(&mut front);
    if !cut_connections_of(adapter(&scene)) {
        eprintln!("not tried: `ss -K` is not allowed here");
        return;
    }
    // It has not far to run, and may have ended since.
    let state = front.wait(root).state;
    assert!(
        matches!(state, RowState::Failed | RowState::Ended),
        "{state:?}"
    );
    assert_eq!(tree_end(&mut front), (EndStatus::Exited(3), Vec::new()));
    // Nobody stood at the end: it ran on from its stop.
    let end = front.row(child).end.clone().unwrap();
    assert_eq!((end.status, end.cause), (EndStatus::Exited(3), None));
    front.until_output("child is done");
}

/// Cuts every connection that a process has; false when that is not possible here.
fn cut_connections_of(pid: u32) -> bool {
    let script = format!(
        "ss -tnpH state established | grep 'pid={pid},' | awk '{{print $3}}' | sed 's/.*://' | \
         sort -u | while read port; do ss -KtnH state established \"sport = :$port\"; done; \
         ! ss -tnpH state established | grep 'pid={pid},'"
    );
    process::runs(&["ss", "-V"]) && process::runs(&["sh", "-c", &script])
}

#[test]
fn an_adapter_that_hangs_for_a_while_loses_nobody() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let words = ["python", "stay.py", "top", "left"];
    let root = front.launch(&words, &[("stay.py", "# heard")]);
    front.until_output("left waits");
    front.until_output("top waits");
    let left = below(&front.snapshot(), root)[0];
    process::send(adapter(&scene), Signal::STOP);
    // It stops, and nobody hears of it.
    say(&scene, "left");
    let pause = front.begin(Op::Pause(root));
    let wait = front.begin_wait(root);
    process::send(adapter(&scene), Signal::CONT);
    let answer = front.answer_wait(wait);
    assert!([root, left].contains(&answer.row), "{answer:?}");
    front.answer(pause).unwrap();
    front.until("the stop of the child", |snapshot| {
        snapshot.rows[&left].is_paused()
    });
    assert_eq!(front.command(Op::Terminate(root)), Ok(closed(1)));
    scene.assert_nothing_left(PATIENCE);
}

#[test]
fn a_root_that_stands_by_sigstop_is_ended_like_any_other() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let [root, child] = child_stopped(&mut front);
    for row in [root, child] {
        process::send(front.pid(row), Signal::STOP);
    }
    let begun = Instant::now();
    assert_eq!(front.command(Op::Terminate(root)), Ok(closed(1)));
    eprintln!("ended after {:?}", begun.elapsed());
    scene.assert_nothing_left(PATIENCE);
}

#[test]
fn a_parked_child_that_is_killed_is_nobodys_and_its_parent_goes_on() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let root = front.launch(&["python", "stubborn.py"], &[]);
    front.until_output("stubborn waits");
    process::send(adapter(&scene), Signal::STOP);
    say(&scene, "more");
    let last = front.until_output("last ");
    let last: u32 = last.rsplit(' ').next().unwrap().parse().unwrap();
    process::watch(last, PATIENCE, || {
        let all = scene.processes();
        all.iter()
            .any(|it| it.pid == last && it.command.contains("pydevd"))
    });
    process::send(last, Signal::KILL);
    process::send(adapter(&scene), Signal::CONT);
    let answer = front.command(Op::Terminate(root));
    assert!(answer.is_ok(), "{answer:?}");
    assert!(front.snapshot().rows.values().all(|row| row.is_ended()));
    scene.assert_nothing_left(PATIENCE);
}

#[test]
fn a_leader_that_is_killed_hangs_the_terminal_up_and_that_is_said() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let mut request = front.request(&["python", "stay.py", "top"], &[]);
    request.stdio = Stdio::Terminal {
        columns: 80,
        rows: 24,
    };
    let root = front.launch_as(request);
    front.until_output("top waits");
    let pid = front.pid(root);
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let session = stat.rsplit(')').next().unwrap().split_whitespace().nth(3);
    let leader: u32 = session.unwrap().parse().unwrap();
    assert_ne!(leader, pid);
    process::send(leader, Signal::KILL);
    let end = front.until_ended(root).end.clone().unwrap();
    assert_eq!(end.status, EndStatus::Signaled(1), "{end:?}");
}
