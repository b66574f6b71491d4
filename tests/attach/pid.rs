//! By pid: the debugger is put into a process that knows nothing of it.

use crate::target::Target;
use crate::{attach, closed, scene};
use daptree_model::{Answer, AttachTarget, Follow, Op, ReadOp, Refusal, RowState, TreeState};
use daptree_testing::{Front, process};

/// Says so, and skips, where there is no gdb.
fn no_gdb() -> bool {
    let missing = !process::runs(&["gdb", "--version"]);
    if missing {
        eprintln!("not tried: there is no gdb here");
    }
    missing
}

#[test]
fn later_children_are_found_and_earlier_ones_adopted_on_request() {
    if no_gdb() {
        return;
    }
    let scene = scene();
    let target = Target::start(&scene, &["beat.py", "1"]);
    target.until("beats", 2);
    let mut front = Front::start(&scene);
    let (pid, stops) = (target.pid(), [("beat.py", "# beat")]);
    let root = attach(&mut front, &scene, AttachTarget::Process { pid }, &stops);
    assert_eq!(front.until_paused(1), [root]);
    assert_eq!(front.pid(root), pid);
    // The child that ran before is a row, with what to do.
    let snapshot = front.snapshot();
    let early = snapshot
        .rows
        .values()
        .find(|row| row.parent == Some(root))
        .unwrap();
    assert_eq!(early.follow, Follow::Unfollowed);
    assert!(early.reason.as_ref().unwrap().contains("ran before"));
    let early = early.id;
    // One that is started now is adopted, and stops before it has beaten once.
    scene.write("more", "");
    front.go_on(root);
    front.until("the child", |snapshot| {
        let mut rows = snapshot.rows.values();
        rows.any(|row| row.id > early && row.parent == Some(root) && row.is_paused())
    });
    assert_eq!(front.command(Op::Adopt(early)), Ok(Answer::Done));
    front.until("all at their stops", |snapshot| {
        snapshot.rows.values().all(|row| row.is_paused()) && snapshot.rows.len() == 3
    });
    assert_eq!(front.command(Op::Close(root)), Ok(closed(2)));
    // Children of the time after daptree start as if it had never been there.
    drop(front);
    scene.write("more", "");
    target.until("beats", 4);
    target.end();
    let output = target.finish("ended with [5, 5, 5]");
    assert_eq!(
        output.lines().count(),
        4 + 4,
        "more than its own words: {output}"
    );
}

#[test]
fn a_detach_leaves_a_program_that_can_be_attached_to_again() {
    if no_gdb() {
        return;
    }
    let scene = scene();
    let target = Target::start(&scene, &["beat.py", "0"]);
    target.until("beats", 1);
    let mut front = Front::start(&scene);
    let pid = target.pid();
    for _ in 0..2 {
        let stops = [("beat.py", "# beat")];
        let root = attach(&mut front, &scene, AttachTarget::Process { pid }, &stops);
        front.until("a stop", |snapshot| {
            snapshot.rows.get(&root).is_some_and(|row| row.is_paused())
        });
        let detached = Answer::Detached {
            children_released: 0,
        };
        assert_eq!(front.command(Op::Detach(root)), Ok(detached));
        let row = front.row(root);
        assert_eq!(
            (row.state, row.end.as_ref().unwrap().released),
            (RowState::Ended, true)
        );
    }
    target.end();
    let output = target.finish("ended with []");
    assert_eq!(
        output.lines().count(),
        2,
        "more than its own words: {output}"
    );
}

#[test]
fn closing_it_while_the_debugger_is_on_its_way_harms_nothing() {
    if no_gdb() {
        return;
    }
    for moment in ["looking for", "putting"] {
        let scene = scene();
        let target = Target::start(&scene, &["beat.py", "0"]);
        target.until("beats", 1);
        let mut front = Front::start(&scene);
        let pid = target.pid();
        let root = attach(&mut front, &scene, AttachTarget::Process { pid }, &[]);
        front.until(moment, |snapshot| match &snapshot.trees[0].state {
            TreeState::Preparing(text) => text.starts_with(moment),
            other => panic!("{other:?} before it was {moment}"),
        });
        assert_eq!(front.command(Op::Close(root)), Ok(closed(0)));
        drop(front);
        target.end();
        target.finish("ended with []");
    }
}

#[test]
fn processes_are_offered_with_what_keeps_one_from_them() {
    let scene = scene();
    let target = Target::start(&scene, &["beat.py", "0"]);
    target.until("beats", 1);
    let mut front = Front::start(&scene);
    let offers = match front.read(ReadOp::Processes) {
        Ok(Answer::Processes(offers)) => offers,
        other => front.fail(&format!("{other:?}")),
    };
    let offer = |pid: u32| offers.iter().find(|offer| offer.process.pid == pid);
    let found = offer(target.pid()).unwrap();
    assert_eq!(found.name, "beat.py");
    assert!(!matches!(
        found.refusal,
        Some(Refusal::NotPython(_) | Refusal::Gone)
    ));
    assert!(offer(std::process::id()).is_none(), "daptree offers itself");
    let first_refused = offers.iter().position(|offer| offer.refusal.is_some());
    let last_possible = offers.iter().rposition(|offer| offer.refusal.is_none());
    if let (Some(refused), Some(possible)) = (first_refused, last_possible) {
        assert!(
            possible < refused,
            "those that can be attached to come first"
        );
    }
    target.end();
    target.finish("ended with []");
}
