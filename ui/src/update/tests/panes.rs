//! Keys within panes: frames, variables, searches, output, breakpoints and the terminal.

use super::*;

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
