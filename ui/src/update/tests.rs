//! Table tests of the keys and of the focus rules.

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
    assert_eq!(desk.keys("r"), command(None, Op::Restart(RowId(1))));
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
fn the_breakpoints_pane_switches_removes_and_jumps() {
    let mut desk = Desk::new(fixture::five_stopped());
    let id = desk.snapshot.breakpoints[0].id;
    assert_eq!(
        desk.keys("6 "),
        command(None, Op::EnableBreakpoint(id, false))
    );
    assert_eq!(desk.keys("d"), command(None, Op::RemoveBreakpoint(id)));
    let delete = desk.code(KeyCode::Delete, KeyModifiers::NONE);
    assert_eq!(delete, command(None, Op::RemoveBreakpoint(id)));
    desk.keys("2gg6\n");
    assert_eq!(desk.state.pane(), Pane::Source);
    assert_eq!(desk.state.source.cursor, 8);
    desk.snapshot.breakpoints.clear();
    desk.publish();
    assert_eq!(desk.keys("6 d\n"), []);
}

#[test]
fn after_continue_the_focus_goes_to_the_next_stopped_session_and_wraps() {
    let mut desk = Desk::new(fixture::five_stopped());
    let mut visited = vec![desk.focus()];
    for _ in 0..4 {
        desk.keys("c");
        visited.push(desk.focus());
    }
    assert_eq!(visited, [2, 3, 4, 5, 6]);
    let mut desk = Desk::new(fixture::five_stopped());
    desk.keys("}}");
    assert_eq!(desk.focus(), 4);
    desk.keys("ccc");
    assert_eq!(desk.focus(), 2, "wrapped");
    assert_eq!(desk.keys("c"), command(Some(1), Op::Continue(RowId(2))));
    assert_eq!(desk.focus(), 3);
    assert_eq!(desk.keys("c"), command(Some(1), Op::Continue(RowId(3))));
    assert_eq!(desk.focus(), 3, "nothing else stands: it stays");
    assert_eq!(desk.keys("c"), [], "and is not told twice");
}

#[test]
fn while_stepping_the_focus_stays() {
    let mut desk = Desk::new(fixture::five_stopped());
    desk.keys("n");
    desk.change(2, fixture::go);
    assert_eq!(desk.focus(), 2);
    desk.change(4, fixture::go);
    desk.change(4, |row| fixture::stop(row, 9, "breakpoint"));
    assert_eq!(desk.focus(), 2, "another stop does not take it");
    assert_eq!(desk.keys("n"), [], "it is still stepping");
    desk.change(2, |row| fixture::stop(row, 7, "step"));
    assert_eq!(desk.focus(), 2);
    assert_eq!(desk.keys("n"), command(Some(2), Op::Next(RowId(2), None)));
}

#[test]
fn continue_leaves_a_step_that_does_not_come_back() {
    let mut desk = Desk::new(fixture::five_stopped());
    desk.keys("n");
    desk.change(2, fixture::go);
    assert_eq!(desk.keys("c"), [], "it runs already");
    assert_eq!(desk.focus(), 3);
    assert_eq!(desk.keys("c"), command(Some(1), Op::Continue(RowId(3))));
}

#[test]
fn a_step_that_ends_the_session_frees_the_focus() {
    let mut desk = Desk::new(fixture::snapshot([
        fixture::row(1, None),
        fixture::row(2, Some(1)),
    ]));
    desk.change(2, |row| fixture::stop(row, 9, "breakpoint"));
    assert_eq!(desk.focus(), 2);
    desk.keys("n");
    desk.change(2, |row| fixture::end(row, EndStatus::Exited(0)));
    assert_eq!(desk.focus(), 2, "its last stop can be read");
    desk.change(1, |row| fixture::stop(row, 14, "breakpoint"));
    assert_eq!(desk.focus(), 1);
}

#[test]
fn when_nothing_stands_the_next_stop_takes_the_focus() {
    let mut desk = Desk::new(fixture::snapshot(
        (1..=3).map(|id| fixture::row(id, (id > 1).then_some(1))),
    ));
    assert_eq!(desk.focus(), 1);
    desk.change(3, |row| fixture::stop(row, 9, "breakpoint"));
    assert_eq!(desk.focus(), 3);
    desk.change(2, |row| fixture::stop(row, 9, "breakpoint"));
    assert_eq!(desk.focus(), 3, "nothing steals it");
    desk.keys("[[");
    assert_eq!(
        desk.focus(),
        1,
        "a running session was chosen while others stand"
    );
    desk.change(2, fixture::go);
    desk.change(2, |row| fixture::stop(row, 7, "breakpoint"));
    assert_eq!(desk.focus(), 1, "that was on purpose");
}

#[test]
fn helpers_and_held_sessions_take_no_focus() {
    let mut desk = Desk::new(fixture::five_stopped());
    fixture::change(&mut desk.snapshot, 3, |row| row.held = true);
    desk.change(4, |row| row.follow = daptree_model::Follow::Helper);
    desk.keys("c");
    assert_eq!(desk.focus(), 5);
}

#[test]
fn typing_is_never_interrupted() {
    let prompts: [&str; 4] = ["/", ":", "?", "t"];
    for open in prompts {
        let mut desk = Desk::new(fixture::snapshot([
            fixture::row(1, None),
            fixture::row(2, Some(1)),
        ]));
        desk.keys(open);
        assert!(desk.state.is_typing(), "{open}");
        desk.change(2, |row| fixture::stop(row, 9, "breakpoint"));
        assert_eq!(desk.focus(), 1, "{open}");
        if open == "t" {
            desk.code(KeyCode::Char('5'), KeyModifiers::CONTROL);
        } else {
            desk.keys("\u{1b}");
        }
        assert_eq!(desk.focus(), 2, "afterwards it does: {open}");
    }
}

#[test]
fn a_stop_that_went_on_meanwhile_does_not_take_the_focus_afterwards() {
    let mut desk = Desk::new(fixture::snapshot([
        fixture::row(1, None),
        fixture::row(2, Some(1)),
    ]));
    desk.keys("/");
    desk.change(2, |row| fixture::stop(row, 9, "breakpoint"));
    desk.change(2, fixture::go);
    desk.keys("\u{1b}");
    assert_eq!(desk.focus(), 1);
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
fn a_focus_row_that_is_removed_hands_on_the_focus() {
    let mut desk = Desk::new(fixture::five_stopped());
    desk.snapshot.rows.remove(&RowId(2));
    desk.publish();
    assert_eq!(desk.focus(), 3);
    desk.snapshot.rows.clear();
    desk.publish();
    assert_eq!(desk.focus(), 0);
    assert_eq!(desk.keys("cnsop[]{}ud\n"), []);
}

#[test]
fn moving_the_selection_does_not_move_the_focus_until_enter() {
    let mut desk = Desk::new(fixture::five_stopped());
    desk.keys("1jj");
    assert_eq!(
        (desk.focus(), desk.state.tree.selected),
        (2, Some(RowId(4)))
    );
    desk.keys("\n");
    assert_eq!(desk.focus(), 4);
    desk.keys("gh");
    assert_eq!(desk.state.tree.folded.len(), 1);
    assert_eq!(desk.state.tree.selected, Some(RowId(1)));
    desk.keys("ljh");
    assert_eq!(
        desk.state.tree.selected,
        Some(RowId(1)),
        "h goes to the parent"
    );
}

#[test]
fn frames_are_selected_and_a_new_stop_starts_at_the_top() {
    let mut desk = Desk::new(fixture::five_stopped());
    desk.keys("u");
    assert_eq!(desk.state.frame, 1);
    desk.keys("uu");
    assert_eq!(desk.state.frame, 2);
    assert!(message(&desk).contains("outermost"));
    assert_eq!(desk.state.source.cursor, 13, "the source follows");
    desk.keys("dd");
    assert_eq!(desk.state.frame, 0);
    desk.keys("d");
    assert!(message(&desk).contains("innermost"));
    desk.keys("3G\n");
    assert_eq!(desk.state.frame, 2);
    desk.change(2, |row| fixture::stop(row, 8, "step"));
    assert_eq!((desk.state.frame, desk.state.source.cursor), (0, 7));
}

#[test]
fn variables_open_close_and_page_by_name() {
    let mut desk = Desk::new(fixture::five_stopped());
    let path = vec!["Locals".to_owned(), "data".to_owned()];
    desk.keys("4jjj\n");
    assert_eq!(desk.state.variables.open.get(&path), Some(&100));
    desk.keys("jjjjjj\n");
    assert_eq!(desk.state.variables.open.get(&path), Some(&200), "… more");
    desk.keys("hh");
    assert_eq!(desk.state.variables.open.get(&path), None);
    desk.keys("G\n");
    let globals = vec!["Globals".to_owned()];
    assert!(desk.state.variables.open.contains_key(&globals));
    desk.keys("g\n");
    assert!(desk.state.variables.folded.contains("Locals"));
}

#[test]
fn the_cursor_finds_its_variable_again_after_a_step() {
    let mut desk = Desk::new(fixture::five_stopped());
    desk.keys("4jjj");
    assert_eq!(desk.state.variables.path, ["Locals", "data"]);
    fixture::change(&mut desk.snapshot, 2, |row| fixture::stop(row, 7, "step"));
    let inspect = fixture::inspect(2, 2, 7, 2);
    desk.snapshot.inspects.insert(RowId(2), Arc::new(inspect));
    desk.publish();
    assert_eq!(
        desk.state.variables.list.cursor, 2,
        "`res` is not there yet"
    );
}

#[test]
fn search_in_the_source_goes_on_and_back() {
    let mut desk = Desk::new(fixture::five_stopped());
    desk.keys("2g/cube");
    assert_eq!(desk.state.source.cursor, 4);
    desk.keys("\n");
    assert_eq!(desk.state.source.cursor, 13);
    desk.code(KeyCode::Up, KeyModifiers::NONE);
    assert_eq!(desk.state.source.cursor, 4);
    desk.keys("\u{1b}");
    desk.code(KeyCode::Char('n'), KeyModifiers::CONTROL);
    assert_eq!(desk.state.source.cursor, 13);
    desk.keys("/nowhere");
    assert!(message(&desk).contains("`nowhere` is not found"));
    assert_eq!(desk.state.source.cursor, 13);
    desk.keys("\u{1b}:99999999999999999999\n");
    assert!(message(&desk).contains("is no line"));
    desk.keys(":x\n");
    assert!(message(&desk).contains("`x` is no line"));
    desk.keys(":500\n");
    assert_eq!(desk.state.source.cursor, 13, "the last line");
}

#[test]
fn search_in_the_output_reads_on_until_it_finds() {
    let mut desk = Desk::new(fixture::five_stopped());
    desk.snapshot.output_lines.insert(RowId(2), 5_000);
    desk.publish();
    desk.keys("5g/needle");
    let scan = desk.state.output.scan.clone().unwrap();
    assert_eq!((scan.at, scan.forward), (0, true));
    let window = |from: u64, text: &str| OutputWindow {
        row: Some(RowId(2)),
        lines: (from..from + 2_000)
            .map(|number| OutputLine {
                number,
                row: RowId(2),
                stream: Stream::Stdout,
                text: text.to_owned(),
                open: false,
            })
            .collect(),
        total: 5_000,
        dropped: 0,
    };
    desk.input(Input::Scanned(Ok(window(0, "hay"))));
    assert_eq!(desk.state.output.scan.as_ref().unwrap().at, 2_000);
    let mut hit = window(2_000, "hay");
    hit.lines[7].text = "a Needle".to_owned();
    desk.input(Input::Scanned(Ok(hit)));
    assert_eq!(desk.state.output.found, Some(2_007));
    assert_eq!(desk.state.output.scan, None);
    desk.keys("\n");
    assert_eq!(desk.state.output.scan.as_ref().unwrap().at, 2_008);
    desk.input(Input::Scanned(Ok(window(3_000, "hay"))));
    assert_eq!(desk.state.output.scan, None);
    assert!(message(&desk).contains("not found below"));
}

#[test]
fn output_is_scrolled_back_and_followed_again() {
    let mut desk = Desk::new(fixture::five_stopped());
    desk.snapshot.output_lines.insert(RowId(2), 100);
    desk.publish();
    desk.keys("5");
    assert_eq!(desk.state.output.top, None);
    desk.keys("k");
    let top = desk.state.output.top.unwrap();
    desk.keys("j");
    assert_eq!(desk.state.output.top, None, "the end is followed again");
    desk.keys("kkk");
    assert_eq!(desk.state.output.top, Some(top - 2));
    desk.keys("g");
    assert_eq!(desk.state.output.top, Some(0));
    desk.keys("T");
    assert!(desk.state.output.whole_tree);
    assert_eq!(desk.state.output.top, None);
}

#[test]
fn the_terminal_gets_the_keys_until_it_gives_them_back() {
    let mut desk = Desk::new(fixture::five_stopped());
    desk.keys("t");
    assert!(desk.state.locked);
    let typed = |bytes: &[u8]| vec![Action::Type(RowId(1), bytes.to_vec())];
    assert_eq!(desk.keys("q"), typed(b"q"));
    assert_eq!(desk.keys("\u{1b}"), typed(b"\x1b"));
    assert_eq!(
        desk.code(KeyCode::Char('c'), KeyModifiers::CONTROL),
        typed(b"\x03")
    );
    assert_eq!(desk.code(KeyCode::Up, KeyModifiers::NONE), typed(b"\x1b[A"));
    assert_eq!(desk.input(Input::Paste("a\nb".to_owned())), typed(b"a\rb"));
    assert_eq!(desk.code(KeyCode::Char(']'), KeyModifiers::CONTROL), []);
    assert!(!desk.state.locked);
    assert_eq!(
        desk.input(Input::Paste("c".to_owned())),
        [],
        "no commands by paste"
    );
    desk.keys("7\n");
    assert!(desk.state.locked);
    desk.snapshot.trees[0].has_terminal = false;
    desk.publish();
    assert!(!desk.state.locked && !message(&desk).is_empty());
    desk.keys("t");
    assert!(!desk.state.locked);
}

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
    assert_eq!(desk.state.dialog, Some(Dialog::Notices(2)));
    desk.keys("q");
    assert_eq!(desk.state.dialog, None);
}

#[test]
fn panes_by_tab_and_number() {
    let mut desk = Desk::new(fixture::five_stopped());
    for pane in Pane::ALL {
        assert_eq!(desk.state.pane(), pane);
        desk.code(KeyCode::Tab, KeyModifiers::NONE);
    }
    assert_eq!(desk.state.pane(), Pane::Tree);
    desk.code(KeyCode::BackTab, KeyModifiers::SHIFT);
    assert_eq!(desk.state.pane(), Pane::Terminal);
    for pane in Pane::ALL {
        desk.keys(&pane.number().to_string());
        assert_eq!(desk.state.pane(), pane);
    }
    desk.keys("z");
    assert!(desk.state.zoom);
    desk.keys("\u{1b}");
    assert!(!desk.state.zoom);
}
