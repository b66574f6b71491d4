//! Leaving: what is asked before, what is waited for, and what is told after.

use super::*;

#[test]
fn quitting_a_live_tree_asks_and_waits() {
    let mut desk = Desk::new(fixture::five_stopped());
    assert_eq!(desk.keys("q"), []);
    assert_eq!(desk.state.dialog, Some(Dialog::Quit));
    assert_eq!(desk.keys("n"), [], "`n` is no step here");
    assert_eq!(desk.state.dialog, None);
    assert_eq!(desk.keys("qe"), command(None, Op::Shutdown));
    assert_eq!(desk.state.dialog, Some(Dialog::Ending));
    assert_eq!(desk.keys("c"), []);
    let leave = |ended| vec![Action::Leave(Leave::Quit { ended })];
    let done = desk.input(Input::Replied {
        op: Op::Shutdown,
        expect: None,
        result: Ok(Answer::Done),
    });
    assert_eq!(done, leave(true));
    assert_eq!(desk.keys("q"), leave(false), "a second one does not wait");
}

#[test]
fn ctrl_c_quits_and_an_ended_tree_is_left_at_once() {
    let mut desk = Desk::new(fixture::five_stopped());
    let ctrl_c = |desk: &mut Desk| desk.code(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(ctrl_c(&mut desk), []);
    assert_eq!(ctrl_c(&mut desk), command(None, Op::Shutdown));
    assert_eq!(
        ctrl_c(&mut desk),
        [Action::Leave(Leave::Quit { ended: false })]
    );
    let mut desk = Desk::new(fixture::five_stopped());
    desk.snapshot.trees[0].state = TreeState::Ended;
    desk.publish();
    assert_eq!(desk.keys("q"), [Action::Leave(Leave::Quit { ended: true })]);
    let mut desk = Desk::new(Snapshot::default());
    assert_eq!(
        desk.keys("q"),
        command(None, Op::Shutdown),
        "a launch may be under way"
    );
}

#[test]
fn survivors_and_a_failed_shutdown_are_told() {
    let mut desk = Desk::new(fixture::five_stopped());
    desk.keys("qe");
    let answer = Answer::Closed {
        children_closed: 0,
        process_ended: false,
        released: false,
        survivors: vec![17],
    };
    let replied = |result| Input::Replied {
        op: Op::Shutdown,
        expect: None,
        result,
    };
    let left = desk.input(replied(Ok(answer)));
    assert_eq!(left, [Action::Leave(Leave::Quit { ended: false })]);
    let error = EngineError::Failed("no".to_owned());
    assert_eq!(desk.input(replied(Err(error))), []);
    assert!(desk.state.dialog.is_none() && message(&desk).contains("no"));
}

#[test]
fn a_tree_that_fails_before_anything_ran_leaves_with_its_message() {
    let why = "there is no program `nope`".to_owned();
    let leave = vec![Action::Leave(Leave::LaunchFailed(why.clone()))];
    let mut snapshot = fixture::snapshot([fixture::row(1, None)]);
    snapshot.trees[0].state = TreeState::Failed(why.clone());
    let mut desk = Desk::new(snapshot);
    assert_eq!(desk.publish(), leave);
    let mut desk = Desk::new(Snapshot::default());
    let failed = |message: &str| Input::LaunchFailed {
        root: Some(RowId(1)),
        message: message.to_owned(),
    };
    assert_eq!(desk.input(failed(&why)), leave);
    let mut desk = Desk::new(fixture::five_stopped());
    assert_eq!(
        desk.input(failed(&why)),
        [],
        "a restart that fails is only told"
    );
    assert_eq!(message(&desk), why);
}
