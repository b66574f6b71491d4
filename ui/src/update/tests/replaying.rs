//! A replay: its keys steer it, nothing else can be changed, and it looks where the recorded front
//! end looked.

use super::*;
use daptree_model::{Interest, OpenPath, ReplayOp, ReplayView};

/// A replay of five stopped sessions, of which the third was looked at.
fn replayed() -> Desk {
    let mut snapshot = fixture::five_stopped();
    snapshot.replay = Some(ReplayView {
        at: 7,
        of: 9,
        looked_at: Some(looked_at(4)),
        ..ReplayView::default()
    });
    Desk::new(snapshot)
}

fn looked_at(row: u32) -> Interest {
    Interest {
        row: RowId(row),
        frame: 1,
        open: vec![OpenPath {
            path: vec!["Locals".to_owned()],
            limit: 100,
        }],
        ..Interest::default()
    }
}

#[test]
fn keys_steer_the_replay() {
    for (key, op) in [
        (" ", ReplayOp::Play),
        (".", ReplayOp::Next),
        (",", ReplayOp::Previous),
        (">", ReplayOp::NextStop),
        ("<", ReplayOp::PreviousStop),
        ("(", ReplayOp::Start),
        (")", ReplayOp::End),
        ("+", ReplayOp::Faster),
        ("-", ReplayOp::Slower),
    ] {
        let mut desk = replayed();
        assert_eq!(desk.keys(key), [Action::Replay(op)], "{key:?}");
        // Also where the key has a meaning of its own.
        desk.keys("6");
        assert_eq!(
            desk.keys(key),
            [Action::Replay(op)],
            "{key:?} in breakpoints"
        );
        let mut desk = Desk::new(fixture::five_stopped());
        assert_eq!(desk.keys(key), [], "{key:?} in no replay");
        assert!(message(&desk).contains("for replays"), "{}", message(&desk));
    }
}

#[test]
fn nothing_can_be_changed_and_it_is_left_at_once() {
    for key in [
        "c", "n", "s", "o", "p", "C", "P", "W", "x", "X", "D", "b", "r", "t",
    ] {
        let mut desk = replayed();
        assert_eq!(desk.keys(key), [], "{key}");
        assert!(
            message(&desk).contains("this is a replay"),
            "{key}: {}",
            message(&desk)
        );
        assert!(!desk.state.locked);
    }
    let left = [Action::Leave(Leave::Quit { ended: true })];
    assert_eq!(replayed().keys("q"), left);
}

#[test]
fn it_looks_where_the_recorded_front_end_looked_until_somebody_looks_elsewhere() {
    let mut desk = replayed();
    assert_eq!((desk.focus(), desk.state.frame), (4, 1));
    assert!(
        desk.state
            .variables
            .open
            .contains_key(&vec!["Locals".to_owned()])
    );
    desk.keys("}");
    assert_eq!(desk.focus(), 5);
    desk.publish();
    assert_eq!(desk.focus(), 5, "a snapshot alone moves nothing");
    let follow = |desk: &mut Desk, row| {
        let replay = desk.snapshot.replay.as_mut().unwrap();
        replay.looked_at = Some(looked_at(row));
        desk.publish();
    };
    follow(&mut desk, 3);
    assert_eq!(desk.focus(), 3);
    follow(&mut desk, 99);
    assert_eq!(desk.focus(), 3, "a row that is not there is not looked at");
}
