//! What the end of one process does to the others: the seven rows of the cascade.

use crate::{below, closed, code, scene};
use daptree_model::{Event, Op, RowState};
use daptree_testing::{Front, PATIENCE};

#[test]
fn a_child_ends_while_its_parent_is_paused() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let root = front.launch(
        &["python", "parent.py"],
        &[("parent.py", "# child started")],
    );
    let answer = front.wait(root);
    assert_eq!((answer.row, answer.state), (root, RowState::Paused));
    let ended = front.until("the child's end", |snapshot| {
        let children = below(snapshot, root);
        children.iter().any(|child| snapshot.rows[child].is_ended())
    });
    let child = below(&ended, root)[0];
    assert_eq!(code(&ended.rows[&child]), Some(3));
    // An ended child moves nothing: the parent stands where it stood.
    assert!(ended.rows[&root].is_paused());
    assert_eq!(front.wait(root).row, root);
    front.go_on(root);
    assert_eq!(front.wait(root).state, RowState::Ended);
    assert_eq!(code(&front.row(root)), Some(3));
    assert!(front.snapshot().rows.contains_key(&child));
}

#[test]
fn a_parent_ends_while_its_child_is_paused() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let breakpoints = [("parent.py", "# child started"), ("child.py", "# work")];
    let root = front.launch(&["python", "parent.py", "leave"], &breakpoints);
    let paused = front.until_paused(2);
    let child = paused[1];
    front.go_on(root);
    let parent = front.until_ended(root);
    assert_eq!(code(&parent), Some(0));
    // The child is debugged as before, and the wait on its parent tells of it.
    for _ in 0..3 {
        let answer = front.wait(root);
        assert_eq!((answer.row, answer.state), (child, RowState::Paused));
        front.go_on(child);
    }
    assert_eq!(code(&front.until_ended(child)), Some(3));
    let answer = front.wait(root);
    assert_eq!((answer.row, answer.state), (root, RowState::Ended));
    let left = front.until_event("the tree's end", |event| match event {
        Event::TreeEnded { left, .. } => Some(left.clone()),
        _ => None,
    });
    assert_eq!(left, Vec::<u32>::new());
}

#[test]
fn a_child_that_is_closed_ends_well_and_its_parent_sees_it() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let root = front.launch(&["python", "parent.py"], &[("child.py", "# work")]);
    let child = front.wait(root).row;
    assert_ne!(child, root);
    assert_eq!(front.command(Op::Close(child)), Ok(closed(0)));
    assert!(!front.snapshot().rows.contains_key(&child));
    assert_eq!(front.wait(root).state, RowState::Ended);
    assert_eq!(code(&front.row(root)), Some(0));
    front.until_output("child ended with 0");
}

#[test]
fn a_root_that_is_terminated_ends_with_its_child_and_the_rows_stay() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let root = front.launch(&["python", "parent.py"], &[("child.py", "# work")]);
    let child = front.wait(root).row;
    assert_eq!(front.command(Op::Terminate(root)), Ok(closed(1)));
    for id in [root, child] {
        let row = front.row(id);
        assert!(row.is_ended());
        let end = row.end.clone().unwrap();
        assert_eq!(end.cause.as_deref(), Some("ended by daptree"), "{row:?}");
    }
    scene.assert_nothing_left(PATIENCE);
}

#[test]
fn a_root_that_is_closed_ends_with_its_child_and_the_rows_go() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let root = front.launch(&["python", "parent.py"], &[("child.py", "# work")]);
    front.wait(root);
    assert_eq!(front.command(Op::Close(root)), Ok(closed(1)));
    let snapshot = front.snapshot();
    assert!(snapshot.rows.is_empty() && snapshot.trees.is_empty());
    scene.assert_nothing_left(PATIENCE);
}

#[test]
fn grandchildren_end_first_and_each_tells_its_parent() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let root = front.launch(
        &["python", "descend.py", "2", "1"],
        &[("descend.py", "# bottom")],
    );
    let answer = front.wait(root);
    let snapshot = front.snapshot();
    let child = below(&snapshot, root)[0];
    let grandchild = below(&snapshot, child)[0];
    assert_eq!(answer.row, grandchild);
    let ids: Vec<_> = answer.children.iter().map(|it| it.session_id).collect();
    assert_eq!(ids, [child, grandchild]);
    assert_eq!(answer.children[1].parent_session_id, Some(child));
    front.go_on(grandchild);
    assert_eq!(front.wait(root).state, RowState::Ended);
    let ended = front.events().iter().filter_map(|event| match event {
        Event::Ended { row, .. } => Some(*row),
        _ => None,
    });
    assert_eq!(ended.collect::<Vec<_>>(), [grandchild, child, root]);
    let codes = [grandchild, child, root].map(|id| code(&front.row(id)));
    assert_eq!(codes, [Some(3), Some(0), Some(0)]);
    let lines = front.output(None);
    assert_eq!(lines, ["level 1 saw [3]", "level 2 saw [0]"]);
}
