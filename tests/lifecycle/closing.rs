//! Closing a part of a tree: it goes from the bottom up, and the rest goes on.

use crate::{below, closed, code, say, scene};
use daptree_model::{EngineError, Event, Op, RowId, RowState};
use daptree_testing::{Front, PATIENCE};

fn ended(front: &Front) -> Vec<RowId> {
    let events = front.events().iter();
    events
        .filter_map(|event| match event {
            Event::Ended { row, .. } => Some(*row),
            _ => None,
        })
        .collect()
}

#[test]
fn a_child_goes_with_all_below_it_and_the_rest_goes_on() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let words = ["python", "descend.py", "2", "2"];
    let root = front.launch(&words, &[("descend.py", "# bottom")]);
    front.until_paused(4);
    let snapshot = front.snapshot();
    let [first, second] = below(&snapshot, root)[..] else {
        panic!("{snapshot:?}")
    };
    let (gone, stay) = (below(&snapshot, first), below(&snapshot, second));
    let pids: Vec<u32> = gone.iter().map(|id| front.pid(*id)).collect();
    assert_eq!(front.command(Op::Close(first)), Ok(closed(2)));
    // Deepest first, and nobody is orphaned.
    let order = ended(&front);
    assert_eq!(order.last(), Some(&first), "{order:?}");
    assert!(gone.iter().all(|id| order.contains(id)), "{order:?}");
    let alive = scene.processes();
    assert!(!alive.iter().any(|it| pids.contains(&it.pid)), "{alive:#?}");
    let left = front.until("the rows' end", |snapshot| {
        !snapshot.rows.contains_key(&first)
    });
    let mut expected = vec![root, second];
    expected.extend(&stay);
    assert_eq!(left.rows.keys().copied().collect::<Vec<_>>(), expected);
    assert!(stay.iter().all(|id| left.rows[id].is_paused()));
    for id in stay {
        assert_eq!(front.wait(root).row, id);
        front.go_on(id);
        front.until_ended(id);
    }
    assert_eq!(front.wait(root).state, RowState::Ended);
    assert_eq!(code(&front.row(second)), Some(0));
    assert_eq!(code(&front.row(root)), Some(0));
    let lines = front.output(None);
    assert!(
        lines.iter().any(|it| it == "level 1 saw [3, 3]"),
        "{lines:?}"
    );
    assert!(
        lines[lines.len() - 1].starts_with("level 2 saw ["),
        "{lines:?}"
    );
}

#[test]
fn a_child_ends_beside_its_siblings() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let words = ["python", "descend.py", "1", "3"];
    let root = front.launch(&words, &[("descend.py", "# bottom")]);
    let siblings = front.until_paused(3);
    front.go_on(siblings[1]);
    assert_eq!(code(&front.until_ended(siblings[1])), Some(3));
    assert_eq!(front.until_paused(2), [siblings[0], siblings[2]]);
    assert_eq!(front.row(root).state, RowState::Running);
    let answer = front.wait(root);
    assert_eq!((answer.row, answer.others_paused), (siblings[0], 1));
    let states: Vec<RowState> = answer.children.iter().map(|it| it.state).collect();
    assert_eq!(
        states,
        [RowState::Paused, RowState::Ended, RowState::Paused]
    );
    front.go_on(siblings[0]);
    front.go_on(siblings[2]);
    assert_eq!(front.wait(root).state, RowState::Ended);
    assert_eq!(front.output(None), ["level 1 saw [3, 3, 3]"]);
}

/// A parent and its child, which both wait for a word.
fn top_and_left(front: &mut Front<'_>) -> (RowId, RowId) {
    let root = front.launch(&["python", "stay.py", "top", "left"], &[]);
    front.until_output("top waits");
    front.until_output("left waits");
    (root, below(&front.snapshot(), root)[0])
}

#[test]
fn one_of_two_operations_on_a_tree_is_refused() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let (root, child) = top_and_left(&mut front);
    let first = front.begin(Op::Terminate(root));
    let others = [
        (front.begin(Op::Restart(root)), root),
        (front.begin(Op::Close(child)), child),
        (front.begin(Op::Detach(root)), root),
    ];
    for (id, row) in others {
        let busy = front.answer(id);
        assert!(
            matches!(&busy, Err(EngineError::Busy { row: it, .. }) if *it == row),
            "{busy:?}"
        );
    }
    assert_eq!(front.answer(first), Ok(closed(1)));
    scene.assert_nothing_left(PATIENCE);
}

#[test]
fn a_tree_that_is_closed_while_its_child_is_answers_both() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let (root, child) = top_and_left(&mut front);
    let on_child = front.begin(Op::Close(child));
    let on_root = front.begin(Op::Close(root));
    assert_eq!(front.answer(on_child), Ok(closed(0)));
    assert_eq!(front.answer(on_root), Ok(closed(1)));
    assert!(front.snapshot().rows.is_empty());
}

#[test]
fn a_wait_on_what_is_closed_meanwhile_is_answered() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let (root, child) = top_and_left(&mut front);
    let (on_child, on_root) = (front.begin_wait(child), front.begin_wait(root));
    assert_eq!(front.command(Op::Close(child)), Ok(closed(0)));
    // It ended, or is gone: both are true.
    match front.answer(on_child) {
        Ok(daptree_model::Answer::Stopped(answer)) => {
            assert_eq!((answer.row, answer.state), (child, RowState::Ended));
        }
        other => assert_eq!(other, Err(EngineError::UnknownSession(child))),
    }
    assert!(!front.is_answered(on_root));
    say(&scene, "top");
    assert_eq!(front.answer_wait(on_root).state, RowState::Ended);
    assert_eq!(code(&front.row(root)), Some(0));
}
