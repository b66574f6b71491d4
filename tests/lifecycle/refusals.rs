//! What is refused, by name, and changes nothing.

use crate::{below, say, scene};
use daptree_model::{EngineError, Op, RowId, RowState, StopNumber};
use daptree_testing::Front;

#[test]
fn a_child_is_not_restarted_or_detached() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let root = front.launch(&["python", "parent.py"], &[("child.py", "# work")]);
    let child = front.wait(root).row;
    for (op, what) in [
        (Op::Restart(child), "restart"),
        (Op::Detach(child), "detach"),
    ] {
        let refused = EngineError::NotARoot {
            row: child,
            root,
            what: what.to_owned(),
        };
        assert_eq!(front.command(op), Err(refused));
    }
    let row = front.row(child);
    assert_eq!((row.state, row.stop), (RowState::Paused, StopNumber(1)));
}

#[test]
fn what_is_not_there_is_named() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let nobody = RowId(99);
    for op in [
        Op::Continue(nobody),
        Op::Pause(nobody),
        Op::Close(nobody),
        Op::Terminate(nobody),
        Op::Restart(nobody),
        Op::Detach(nobody),
        Op::WaitForStop {
            row: nobody,
            timeout_ms: 1_000,
        },
    ] {
        let name = op.name();
        let answer = front.command(op);
        assert_eq!(answer, Err(EngineError::UnknownSession(nobody)), "{name}");
    }
}

#[test]
fn a_session_in_another_state_is_told_so() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let words = ["python", "stay.py", "top", "left"];
    let root = front.launch(&words, &[("stay.py", "# heard")]);
    front.until_output("top waits");
    front.until_output("left waits");
    let left = below(&front.snapshot(), root)[0];
    let steps = |row| {
        [
            Op::Continue(row),
            Op::Next(row, None),
            Op::StepIn(row, None),
        ]
    };
    for op in steps(left) {
        let answer = front.command(op);
        assert!(
            matches!(&answer, Err(EngineError::WrongState { row, state: RowState::Running, .. }) if *row == left),
            "{answer:?}"
        );
    }
    say(&scene, "left");
    let answer = front.wait(root);
    assert_eq!(answer.row, left);
    // Decided on a stop that is not this one.
    let stale = EngineError::StaleStop {
        row: left,
        expected: StopNumber(7),
        now: StopNumber(1),
    };
    let command = front.command_at(StopNumber(7), Op::Continue(left));
    assert_eq!(command, Err(stale));
    assert!(front.row(left).is_paused());
    front.go_on(left);
    front.until_ended(left);
    for op in steps(left).into_iter().chain([Op::Pause(left)]) {
        let name = op.name();
        let answer = front.command(op);
        assert!(
            matches!(&answer, Err(EngineError::WrongState { row, state: RowState::Ended, .. } | EngineError::Gone(row)) if *row == left),
            "{name}: {answer:?}"
        );
    }
    assert_eq!(front.row(root).state, RowState::Running);
}
