//! Waiting on a session and all below it, by the four rules.

use crate::{below, code, say, scene};
use daptree_model::{EngineError, Op, RowState, StopNumber};
use daptree_testing::Front;

#[test]
fn the_wait_on_a_parent_answers_each_stop_of_its_child_and_then_its_end() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let root = front.launch(&["python", "parent.py"], &[("child.py", "# work")]);
    // It began before there was a child.
    let early = front.begin_wait(root);
    let mut answer = front.answer_wait(early);
    let child = answer.row;
    assert_eq!(below(&front.snapshot(), root), [child]);
    for stop in 1..=3 {
        assert_eq!(
            (answer.row, answer.state, answer.stop),
            (child, RowState::Paused, StopNumber(stop))
        );
        let children = &answer.children;
        assert_eq!(children.len(), 1);
        assert_eq!(children[0].session_id, child);
        assert_eq!(children[0].state, RowState::Paused);
        assert_eq!(children[0].parent_session_id, Some(root));
        assert_eq!(children[0].name, "child.py");
        // Nothing is consumed.
        assert_eq!(front.wait(root), answer);
        front.go_on(child);
        answer = front.wait(root);
    }
    assert_eq!((answer.row, answer.state), (root, RowState::Ended));
    assert_eq!(answer.children[0].state, RowState::Ended);
    assert_eq!(code(&front.row(root)), Some(3));
}

#[test]
fn the_session_itself_comes_before_its_children() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let breakpoints = [("parent.py", "# child started"), ("child.py", "# work")];
    let root = front.launch(&["python", "parent.py"], &breakpoints);
    let child = front.until_paused(2)[1];
    let answer = front.wait(root);
    assert_eq!((answer.row, answer.others_paused), (root, 1));
    assert_eq!(answer.children[0].session_id, child);
    assert_eq!(front.wait(child).row, child);
}

#[test]
fn of_several_the_first_in_the_order_of_adoption_is_answered_depth_first() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let words = ["python", "descend.py", "2", "2"];
    let root = front.launch(&words, &[("descend.py", "# bottom")]);
    front.until_paused(4);
    let snapshot = front.snapshot();
    let children = below(&snapshot, root);
    let [first, second] = [0, 1].map(|at| below(&snapshot, children[at]));
    let answer = front.wait(root);
    assert_eq!((answer.row, answer.others_paused), (first[0], 3));
    let order: Vec<_> = answer.children.iter().map(|it| it.session_id).collect();
    let preorder = [
        vec![children[0]],
        first.clone(),
        vec![children[1]],
        second.clone(),
    ];
    assert_eq!(order, preorder.concat());
    assert_eq!(front.wait(children[1]).row, second[0]);
}

#[test]
fn a_wait_while_all_runs_ends_with_its_time() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let root = front.launch(&["python", "stay.py", "top"], &[]);
    front.until_output("top waits");
    let (row, timeout_ms) = (root, 0);
    let late = front.command(Op::WaitForStop { row, timeout_ms });
    assert!(
        matches!(late, Err(EngineError::TimedOut { .. })),
        "{late:?}"
    );
    say(&scene, "top");
    assert_eq!(front.wait(root).state, RowState::Ended);
}
