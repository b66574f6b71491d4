//! What is done to a root: restarted, detached, held to a number of sessions.

use crate::{below, closed, code, say, scene};
use daptree_model::{Answer, EndStatus, Follow, Op, RowState, StopNumber, TreeState};
use daptree_testing::{Front, PATIENCE, Scene, process};
use std::time::Instant;

#[test]
fn a_restart_closes_the_children_and_keeps_breakpoints_and_numbers() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let breakpoints = [("parent.py", "# child started"), ("child.py", "# work")];
    let root = front.launch(&["python", "parent.py"], &breakpoints);
    let paused = front.until_paused(2);
    let old = [front.pid(root), front.pid(paused[1])];
    let restarted = Answer::Restarted { children_closed: 1 };
    assert_eq!(front.command(Op::Restart(root)), Ok(restarted.clone()));
    let ids = front.until_paused(2);
    assert_eq!(ids[0], root);
    assert!(ids[1] > paused[1], "{ids:?}");
    let snapshot = front.snapshot();
    assert!(!snapshot.rows.contains_key(&paused[1]));
    assert_eq!(snapshot.rows[&root].stop, StopNumber(2));
    assert_eq!(snapshot.rows[&ids[1]].stop, StopNumber(1));
    assert_eq!(snapshot.trees[0].runs, 2);
    let alive = scene.processes();
    assert!(!alive.iter().any(|it| old.contains(&it.pid)), "{alive:#?}");
    // One that has ended is started again in the same way.
    front.go_on(root);
    for _ in 0..3 {
        assert_eq!(front.wait(ids[1]).state, RowState::Paused);
        front.go_on(ids[1]);
    }
    assert_eq!(code(&front.until_ended(root)), Some(3));
    assert_eq!(front.command(Op::Restart(root)), Ok(restarted));
    assert_eq!(front.wait(root).stop, StopNumber(3));
    let again = front.until_paused(2);
    assert!(again[1] > ids[1], "{again:?}");
}

/// A tree of three, of which one stands at a stop.
fn stays(front: &mut Front, scene: &Scene) -> [daptree_model::RowId; 2] {
    let words = ["python", "stay.py", "top", "left", "right"];
    let root = front.launch(&words, &[("stay.py", "# heard")]);
    for name in ["top", "left", "right"] {
        front.until_output(&format!("{name} waits"));
    }
    say(scene, "left");
    [root, front.wait(root).row]
}

#[test]
fn a_root_that_is_detached_lives_on_with_all_below_it() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let [root, left] = stays(&mut front, &scene);
    let pids: Vec<u32> = front
        .snapshot()
        .rows
        .values()
        .filter_map(|row| row.process.map(|process| process.pid))
        .collect();
    assert_eq!(pids.len(), 3);
    let detached = Answer::Detached {
        children_released: 2,
    };
    assert_eq!(front.command(Op::Detach(root)), Ok(detached));
    let snapshot = front.snapshot();
    assert_eq!(snapshot.trees[0].state, TreeState::Detached);
    for row in snapshot.rows.values() {
        assert!(row.is_ended() && row.stopped.is_none(), "{row:?}");
        assert!(row.end.as_ref().unwrap().released, "{row:?}");
    }
    // The one that stood goes on, the others do not stop any more, and their output is read.
    front.until_output("left heard go");
    assert!(!process::ended_by(pids[0], Instant::now()));
    say(&scene, "right");
    say(&scene, "top");
    front.until_output("top heard go");
    let deadline = Instant::now() + PATIENCE;
    for pid in pids {
        assert!(process::ended_by(pid, deadline), "{pid}");
    }
    for name in ["top", "left", "right"] {
        let heard = std::fs::read_to_string(scene.file(&format!("{name}.heard")));
        assert_eq!(heard.unwrap(), "go");
    }
    // Its rows stay until it is closed; nothing of it is a session.
    assert_eq!(front.wait(left).state, RowState::Ended);
    assert!(front.command(Op::Continue(left)).is_err());
    front.command(Op::Close(root)).unwrap();
    assert!(front.snapshot().rows.is_empty());
}

#[test]
fn what_was_detached_outlives_the_engine() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let [root, _] = stays(&mut front, &scene);
    front.command(Op::Detach(root)).unwrap();
    let pid = front.pid(root);
    drop(front);
    assert!(!process::ended_by(pid, Instant::now()));
    say(&scene, "right");
    say(&scene, "top");
    assert!(process::ended_by(pid, Instant::now() + PATIENCE));
    // Its writes did not fail.
    for name in ["top", "left", "right"] {
        let heard = std::fs::read_to_string(scene.file(&format!("{name}.heard")));
        assert_eq!(heard.unwrap(), "go", "{name}");
    }
}

#[test]
fn a_root_that_was_detached_is_started_again() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let [root, left] = stays(&mut front, &scene);
    let pid = front.pid(root);
    front.command(Op::Detach(root)).unwrap();
    for name in ["top", "left", "right"] {
        std::fs::remove_file(scene.file(name)).unwrap();
    }
    let restarted = front.command(Op::Restart(root));
    assert!(
        matches!(restarted, Ok(Answer::Restarted { .. })),
        "{restarted:?}"
    );
    front.until("another process", |snapshot| {
        let process = snapshot.rows[&root].process;
        process.is_some_and(|process| process.pid != pid)
    });
    assert!(!front.snapshot().rows.contains_key(&left));
    // The one that was let go is nobody's any more.
    assert!(!process::ended_by(pid, Instant::now()));
}

#[test]
fn beyond_the_cap_children_run_on_and_are_counted() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let mut request = front.request(
        &["python", "descend.py", "1", "4"],
        &[("descend.py", "# bottom")],
    );
    request.max_children = 2;
    let root = front.launch_as(request);
    let stopped = front.wait(root).row;
    let snapshot = front.until("the released", |snapshot| {
        snapshot.trees[0].children_released == 3
            && below(snapshot, root)
                .iter()
                .filter(|id| snapshot.rows[id].is_ended())
                .count()
                == 3
    });
    for id in below(&snapshot, root) {
        let row = &snapshot.rows[&id];
        if id == stopped {
            assert!(row.is_paused());
            continue;
        }
        assert_eq!((row.follow, code(row)), (Follow::Released, Some(3)));
        let reason = row.reason.as_deref().unwrap_or_default();
        assert!(reason.contains("--max-children"), "{reason}");
    }
    // The count is one of this run.
    let restarted = front.command(Op::Restart(root));
    assert!(
        matches!(restarted, Ok(Answer::Restarted { .. })),
        "{restarted:?}"
    );
    assert_eq!(front.snapshot().trees[0].children_released, 0);
    let again = front.wait(root).row;
    front.until("the count", |snapshot| {
        snapshot.trees[0].children_released == 3
    });
    front.go_on(again);
    assert_eq!(front.wait(root).state, RowState::Ended);
    front.until_output("level 1 saw [3, 3, 3, 3]");
}

#[test]
fn a_child_that_was_let_go_is_closed_like_any_other() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let mut request = front.request(&["python", "stay.py", "top", "left", "right"], &[]);
    request.max_children = 1;
    let root = front.launch_as(request);
    for name in ["top", "left", "right"] {
        front.until_output(&format!("{name} waits"));
    }
    let children = below(&front.snapshot(), root);
    let [left, right] = children[..] else {
        panic!("{children:?}")
    };
    let pid = front.pid(left);
    assert_eq!(front.command(Op::Close(left)), Ok(closed(0)));
    assert!(process::ended_by(pid, Instant::now()));
    say(&scene, "right");
    assert_eq!(code(&front.until_ended(right)), Some(0));
    assert_eq!(front.row(root).state, RowState::Running);
    say(&scene, "top");
    let end = front.until_ended(root).end.clone().unwrap();
    assert_eq!(end.status, EndStatus::Exited(0));
}
