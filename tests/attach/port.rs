//! By port, to a program under `debugpy --listen`: its adapter is its own.

use crate::target::Target;
use crate::{attach, closed, listening, row_of, scene};
use daptree_model::{Answer, EndStatus, EngineError, Op, PathMap, RowState, TreeOrigin, TreeState};
use daptree_testing::{Front, PATIENCE, process};

const WAIT: &[&str] = &["--wait-for-client"];

#[test]
fn closing_the_root_lets_all_run_to_their_end() {
    let scene = scene();
    let target = Target::listen(&scene, WAIT, &["parent.py"]);
    let mut front = Front::start(&scene);
    let place = listening(&target);
    let root = attach(&mut front, &scene, place, &[("child.py", "# work")]);
    let child = front.until_paused(1)[0];
    let snapshot = front.snapshot();
    let row = &snapshot.rows[&child];
    assert_eq!((row.parent, row.name.as_str()), (Some(root), "child.py"));
    assert_eq!(front.pid(root), target.pid());
    let tree = &snapshot.trees[0];
    assert_eq!(tree.origin, TreeOrigin::Attached);
    assert!(tree.adapter.starts_with("debugpy 1.8"), "{}", tree.adapter);
    assert_eq!(front.command(Op::Close(root)), Ok(closed(1)));
    assert!(front.snapshot().rows.is_empty());
    target.finish("child ended with 3");
}

#[test]
fn detaching_the_root_lets_all_run_to_their_end_and_keeps_the_rows() {
    let scene = scene();
    let target = Target::listen(&scene, WAIT, &["parent.py"]);
    let mut front = Front::start(&scene);
    let place = listening(&target);
    let root = attach(&mut front, &scene, place, &[("child.py", "# work")]);
    let child = front.until_paused(1)[0];
    let detached = Answer::Detached {
        children_released: 1,
    };
    assert_eq!(front.command(Op::Detach(root)), Ok(detached));
    for row in [root, child] {
        let row = front.row(row);
        assert_eq!(row.state, RowState::Ended);
        assert!(row.end.as_ref().unwrap().released);
    }
    target.finish("child ended with 3");
}

#[test]
fn children_that_ran_before_are_adopted_and_a_second_attach_finds_them_again() {
    let scene = scene();
    let target = Target::listen(&scene, &[], &["beat.py", "2"]);
    target.until("beats", 3);
    let mut front = Front::start(&scene);
    for _ in 0..2 {
        let place = listening(&target);
        let root = attach(&mut front, &scene, place, &[("beat.py", "# beat")]);
        let paused = front.until_paused(3);
        assert_eq!(paused[0], root);
        assert_eq!(front.command(Op::Close(root)), Ok(closed(2)));
    }
    target.end();
    target.finish("ended with [5, 5]");
}

#[test]
fn what_its_processes_print_comes_through_their_sessions_once() {
    let scene = scene();
    let target = Target::listen(&scene, WAIT, &["parent.py"]);
    let mut front = Front::start(&scene);
    let place = listening(&target);
    let root = attach(&mut front, &scene, place, &[]);
    let over = front.until("the tree's end", |snapshot| {
        snapshot.trees[0].state == TreeState::Ended
    });
    let end = over.rows[&root].end.as_ref().unwrap();
    assert_eq!(end.status, EndStatus::Exited(3));
    let child = over.rows.keys().copied().find(|id| *id != root);
    let lines = front.output(None);
    let count = |text: &str| lines.iter().filter(|line| line.contains(text)).count();
    let printed = (count("child is done"), count("child ended with 3"));
    assert_eq!(printed, (1, 1), "{lines:?}");
    assert_eq!(front.output(child), ["child is done"]);
    target.finish("child is done");
}

#[test]
fn what_is_not_ours_is_not_ended_and_a_shutdown_lets_it_go() {
    let scene = scene();
    let target = Target::listen(&scene, WAIT, &["beat.py", "1"]);
    let mut front = Front::start(&scene);
    let place = listening(&target);
    let root = attach(&mut front, &scene, place, &[("beat.py", "# beat")]);
    front.until_paused(2);
    for op in [Op::Restart(root), Op::Terminate(root)] {
        let refused = front.command(op);
        assert!(
            matches!(refused, Err(EngineError::NotOurs { .. })),
            "{refused:?}"
        );
    }
    front.shutdown().unwrap();
    drop(front);
    target.end();
    target.finish("ended with [5]");
}

#[test]
fn a_path_map_moves_breakpoints_and_places() {
    let scene = scene();
    let text = std::fs::read_to_string(scene.file("child.py")).unwrap();
    scene.write("elsewhere/child.py", &text);
    let target = Target::listen(&scene, WAIT, &["child.py"]);
    let mut front = Front::start(&scene);
    let stops = [("elsewhere/child.py", "# work")];
    let mut request = crate::request(&scene, listening(&target), &stops);
    request.path_maps = vec![PathMap {
        local: scene.file("elsewhere").to_string_lossy().into_owned(),
        remote: scene.work().to_string_lossy().into_owned(),
    }];
    let root = crate::ask(&mut front, request).unwrap();
    front.until_paused(1);
    let row = front.row(root);
    let place = row.stopped.as_ref().unwrap().place.as_ref().unwrap();
    assert_eq!(
        place.path,
        scene.file("elsewhere/child.py").to_string_lossy()
    );
    assert_eq!(front.command(Op::Close(root)), Ok(closed(0)));
    target.finish("child is done");
}

#[test]
fn a_root_that_is_killed_is_over_with_the_kernels_word() {
    let scene = scene();
    let target = Target::listen(&scene, WAIT, &["beat.py", "1"]);
    let mut front = Front::start(&scene);
    let place = listening(&target);
    let root = attach(&mut front, &scene, place, &[("beat.py", "# beat")]);
    let paused = front.until_paused(2);
    process::send(target.pid(), rustix::process::Signal::KILL);
    front.until_ended(root);
    let child = paused[1];
    assert!(front.row(child).is_paused(), "it is debugged as before");
    let pid = front.pid(child);
    assert_eq!(row_of(&front.snapshot(), pid), Some(child));
    assert_eq!(
        front.command(Op::Close(root)),
        Ok(Answer::Closed {
            children_closed: 1,
            process_ended: false,
            // The root itself was gone already.
            released: false,
            survivors: Vec::new(),
        })
    );
    target.end();
    let deadline = std::time::Instant::now() + PATIENCE;
    assert!(process::ended_by(pid, deadline), "the child stands still");
}
