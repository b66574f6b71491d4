//! Table tests of the keys and of what they command, with the desk that all of them sit at.

mod breakpoints;
mod focus;
mod leaving;
mod lifecycle;
mod panes;
mod replaying;

use super::*;
use crate::commands::Pane;
use crate::fixture::{self, MAIN};
use crate::state::{Dialog, Leave};
use crossterm::event::{KeyCode, KeyModifiers};
use daptree_model::{BreakpointSpec, EndStatus, OutputLine, Stream, TreeState};
use std::sync::Arc;

/// A front end without a loop.
struct Desk {
    state: UiState,
    snapshot: Snapshot,
    windows: Windows,
}

impl Desk {
    fn new(snapshot: Snapshot) -> Self {
        let mut made = Self {
            state: UiState::new(),
            snapshot,
            windows: Windows::default(),
        };
        let key = SourceKey::file(MAIN);
        made.windows.ask_source(key.clone());
        made.windows.set_source(&key, Ok(fixture::TEXT.into()));
        made.input(Input::Resize(120, 40));
        made.publish();
        made
    }

    fn input(&mut self, input: Input) -> Vec<Action> {
        update(&mut self.state, &self.snapshot, &self.windows, input)
    }

    fn publish(&mut self) -> Vec<Action> {
        self.windows.observe(&self.snapshot);
        self.input(Input::Snapshot)
    }

    fn change(&mut self, id: u32, how: impl FnOnce(&mut daptree_model::Row)) -> Vec<Action> {
        fixture::change(&mut self.snapshot, id, how);
        self.publish()
    }

    fn code(&mut self, code: KeyCode, modifiers: KeyModifiers) -> Vec<Action> {
        self.input(Input::Key(KeyEvent::new(code, modifiers)))
    }

    /// Presses keys; `Enter`, `Esc` and so on as `\n`, `\u{1b}`.
    fn keys(&mut self, keys: &str) -> Vec<Action> {
        let mut actions = Vec::new();
        for key in keys.chars() {
            let code = match key {
                '\n' => KeyCode::Enter,
                '\u{1b}' => KeyCode::Esc,
                '\u{8}' => KeyCode::Backspace,
                key => KeyCode::Char(key),
            };
            actions.extend(self.code(code, KeyModifiers::NONE));
        }
        actions
    }

    fn focus(&self) -> u32 {
        self.state.focus.map_or(0, |row| row.0)
    }
}

fn command(expect: Option<u32>, op: Op) -> Vec<Action> {
    vec![Action::Command {
        expect: expect.map(StopNumber),
        op,
    }]
}

fn message(desk: &Desk) -> &str {
    desk.state.message.as_ref().map_or("", |m| m.text.as_str())
}

#[test]
fn run_keys_act_on_the_focus_with_its_stop() {
    let row = RowId(2);
    let none = KeyModifiers::NONE;
    for (code, modifiers, op) in [
        (KeyCode::Char('c'), none, Op::Continue(row)),
        (KeyCode::F(5), none, Op::Continue(row)),
        (KeyCode::Char('n'), none, Op::Next(row, None)),
        (KeyCode::F(10), none, Op::Next(row, None)),
        (KeyCode::Char('s'), none, Op::StepIn(row, None)),
        (KeyCode::F(11), none, Op::StepIn(row, None)),
        (KeyCode::Char('o'), none, Op::StepOut(row, None)),
        (KeyCode::F(11), KeyModifiers::SHIFT, Op::StepOut(row, None)),
    ] {
        let mut desk = Desk::new(fixture::five_stopped());
        assert_eq!(desk.focus(), 2, "the first stopped session in tree order");
        assert_eq!(desk.code(code, modifiers), command(Some(1), op), "{code:?}");
    }
}

#[test]
fn other_commands() {
    let mut desk = Desk::new(fixture::five_stopped());
    assert_eq!(desk.keys("C"), command(None, Op::ContinueAll(RowId(1))));
    assert_eq!(desk.keys("C"), [], "nothing is left to continue");
    let mut desk = Desk::new(fixture::five_stopped());
    assert_eq!(desk.keys("p"), [], "it is stopped already");
    desk.keys("[");
    assert_eq!(desk.focus(), 1);
    assert_eq!(desk.keys("p"), command(Some(0), Op::Pause(RowId(1))));
    assert_eq!(desk.keys("n"), []);
    assert!(message(&desk).contains("main.py runs") && message(&desk).contains('5'));
    let redraw = desk.code(KeyCode::Char('l'), KeyModifiers::CONTROL);
    assert_eq!(redraw, [Action::Redraw]);
    let reload = desk.code(KeyCode::Char('r'), KeyModifiers::CONTROL);
    assert_eq!(reload, [Action::Reload(SourceKey::file(MAIN))]);
}

#[test]
fn a_released_key_and_an_unknown_one_do_nothing() {
    let mut desk = Desk::new(fixture::five_stopped());
    let mut key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::NONE);
    key.kind = crossterm::event::KeyEventKind::Release;
    assert_eq!(desk.input(Input::Key(key)), []);
    assert_eq!(desk.keys("y"), []);
    assert_eq!(desk.focus(), 2);
}

#[test]
fn a_breakpoint_is_set_and_removed_at_the_cursor() {
    let mut desk = Desk::new(fixture::five_stopped());
    let id = desk.snapshot.breakpoints[0].id;
    assert_eq!(desk.keys("b"), command(None, Op::RemoveBreakpoint(id)));
    desk.keys("2k");
    let spec = BreakpointSpec::line(MAIN, 8);
    assert_eq!(desk.keys("b"), command(None, Op::SetBreakpoint(spec)));
    desk.keys(":13\n");
    let spec = BreakpointSpec::line(MAIN, 13);
    let f9 = desk.code(KeyCode::F(9), KeyModifiers::NONE);
    assert_eq!(f9, command(None, Op::SetBreakpoint(spec)));
}

#[test]
fn a_refused_command_leaves_the_session_standing() {
    let mut desk = Desk::new(fixture::five_stopped());
    let op = Op::Next(RowId(2), None);
    desk.keys("n");
    desk.input(Input::Replied {
        op: op.clone(),
        expect: Some(StopNumber(1)),
        result: Err(EngineError::StaleStop {
            row: RowId(2),
            expected: StopNumber(1),
            now: StopNumber(2),
        }),
    });
    assert!(message(&desk).contains("s2 is at stop 2"));
    assert_eq!(desk.state.log.len(), 1);
    assert_eq!(desk.keys("n"), command(Some(1), op));
}

#[test]
fn notices_are_shown_once_and_stay_in_their_list() {
    let mut desk = Desk::new(fixture::five_stopped());
    let notice = daptree_model::Notice {
        seq: 3,
        code: "released".to_owned(),
        message: "2 children were let go".to_owned(),
        row: None,
        is_error: false,
        at_ms: 0,
    };
    desk.snapshot.notices.push(Arc::new(notice));
    desk.publish();
    assert_eq!(message(&desk), "2 children were let go");
    desk.keys("j");
    desk.publish();
    assert_eq!(message(&desk), "");
    desk.keys("!kk");
    assert_eq!(desk.state.dialog, Some(Dialog::Notices(0)));
    desk.keys("q");
    assert_eq!(desk.state.dialog, None);
}
