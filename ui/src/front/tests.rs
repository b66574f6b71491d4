//! Frames at three sizes, and what is asked of the engine.

use super::*;
use crate::fake::FakeEngine;
use crate::fixture;
use crate::picture;
use daptree_model::{
    BreakpointAt, BreakpointScope, BreakpointStatus, Cause, EndStatus, Exception, ExceptionFilter,
    Follow, Notice, PathMap, Reach, RowState, Stream,
};
use std::fmt::Write as _;
use std::time::Duration;

mod random;

fn settle(front: &mut Front, engine: &mut FakeEngine) -> Vec<ToEngine> {
    let mut sent = Vec::new();
    while let Some(message) = front.outgoing().pop_front() {
        sent.push(message.clone());
        let answers = engine.handle(message);
        front.engine(answers);
    }
    sent
}

fn scene(size: (u16, u16), keys: &str) -> (Front, FakeEngine) {
    let mut engine = FakeEngine::new();
    let mut front = Front::new(UiOptions::default(), size);
    front.engine([engine.publish()]);
    settle(&mut front, &mut engine);
    front.type_keys(keys);
    settle(&mut front, &mut engine);
    (front, engine)
}

fn text(buffer: &Buffer) -> String {
    let mut out = String::new();
    for y in 0..buffer.area.height {
        let mut line = String::new();
        let mut skip = 0;
        for x in 0..buffer.area.width {
            let symbol = buffer[(x, y)].symbol();
            if skip == 0 {
                line.push_str(symbol);
                skip = crate::paint::width(symbol).max(1);
            }
            skip -= 1;
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Styles of a frame, run by run.
fn styles(buffer: &Buffer) -> String {
    let mut out = String::new();
    for y in 0..buffer.area.height {
        let mut last = None;
        for x in 0..buffer.area.width {
            let cell = &buffer[(x, y)];
            let style = (cell.fg, cell.bg, cell.modifier);
            if last != Some(style) {
                let _ = write!(out, "{x}:{}/{}/{:?} ", style.0, style.1, style.2);
                last = Some(style);
            }
        }
        out.push('\n');
    }
    out
}

#[test]
fn frames_at_three_sizes() {
    for (columns, rows) in [(120, 40), (80, 24), (40, 12)] {
        for keys in [
            "1", "2", "3", "4jjj\n", "5", "5T", "6", "7", "q", "?", "2/cube",
        ] {
            let (mut front, _) = scene((columns, rows), keys);
            let name = match keys.trim() {
                "?" => "help".to_owned(),
                keys => keys.replace(['/', '\n'], "_"),
            };
            insta::assert_snapshot!(format!("{columns}x{rows}-{name}"), text(&front.frame()));
        }
    }
}

/// Breakpoints of every kind, and a stop at an exception with its causes.
fn kinds(engine: &mut FakeEngine) {
    let mut changed = |id: u32, change: &dyn Fn(&mut daptree_model::Breakpoint)| {
        let verified: Vec<_> = (2..=6).map(|id| (id, BreakpointStatus::Verified)).collect();
        let mut made = fixture::breakpoint(id, id, &verified);
        change(&mut made);
        engine.snapshot.breakpoints.push(Arc::new(made));
    };
    changed(3, &|b| {
        b.spec.scope = BreakpointScope::Program("gw*".to_owned());
        b.spec.once = true;
    });
    changed(4, &|b| {
        b.spec.scope = BreakpointScope::Subtree(RowId(3));
        b.spec.hit_condition = Some("% 2".to_owned());
        b.hits = 12;
    });
    changed(5, &|b| {
        b.spec.at = BreakpointAt::Function("cube".to_owned());
        b.spec.condition = Some("x > 3".to_owned());
    });
    changed(6, &|b| {
        b.reach.insert(RowId(2), Reach::NotYet);
        b.reach.insert(RowId(3), Reach::NotYet);
    });
    changed(7, &|b| {
        let reason = "it runs a copy of this file, /app/main.py".to_owned();
        let offer = Some(PathMap {
            local: "/srv/shop".to_owned(),
            remote: "/app".to_owned(),
        });
        b.reach.insert(RowId(2), Reach::Never { reason, offer });
    });
    changed(8, &|b| b.note = Some("its line was 7 before".to_owned()));
    changed(9, &|b| {
        b.spec.scope = BreakpointScope::Session(RowId(77));
        b.sessions.clear();
    });
    let filter = |name: &str, label: &str, about: Option<&str>| ExceptionFilter {
        filter: name.to_owned(),
        label: label.to_owned(),
        description: about.map(str::to_owned),
        default: false,
    };
    fixture::change(&mut engine.snapshot, 2, |row| {
        let about = "Breaks when an exception leaves the user's own code and goes into a library";
        row.exception_filters = vec![
            filter("raised", "Raised Exceptions", None),
            filter("userUnhandled", "User Uncaught Exceptions", Some(about)),
        ];
        row.filters_on = vec!["userUnhandled".to_owned()];
        let cause = |type_name: &str, message: &str, is_direct| Cause {
            type_name: type_name.to_owned(),
            message: message.to_owned(),
            is_direct,
        };
        if let Some(stop) = &mut row.stopped {
            "exception".clone_into(&mut stop.reason);
            stop.exception = Some(Exception {
                type_name: "ValueError".to_owned(),
                message: "no such key".to_owned(),
                mode: "always".to_owned(),
                chain: vec![
                    cause("KeyError", "'k'", true),
                    cause("shop.Broken", "", false),
                ],
            });
        }
    });
}

#[test]
fn breakpoints_and_exceptions_at_three_sizes() {
    for size in [(120, 40), (80, 24), (40, 12)] {
        for (name, keys) in [
            ("breakpoints", "6jj"),
            ("breakpoints-zoomed", "6z"),
            ("where", "6jjw"),
            ("exceptions", "Ej"),
        ] {
            let (mut front, mut engine) = scene(size, "");
            kinds(&mut engine);
            front.engine([engine.publish()]);
            settle(&mut front, &mut engine);
            front.type_keys(keys);
            settle(&mut front, &mut engine);
            let name = format!("{}x{}-{name}", size.0, size.1);
            insta::assert_snapshot!(name, text(&front.frame()));
        }
    }
}

#[test]
fn frames_of_worlds_and_of_questions_at_three_sizes() {
    for (columns, rows) in [(120, 40), (80, 24), (40, 12)] {
        for (name, keys) in [
            ("held", ""),
            ("held-end", "x"),
            ("held-close-root", "1gX"),
            ("held-detach", "D"),
            ("held-restart", "r"),
        ] {
            let (mut front, mut engine) = scene((columns, rows), "");
            engine.handle(ToEngine::Command(Command {
                id: CommandId(900),
                expect: None,
                op: Op::StopTheWorld(RowId(1), true),
            }));
            for id in 4..=6 {
                fixture::change(&mut engine.snapshot, id, |row| row.held = true);
            }
            fixture::change(&mut engine.snapshot, 1, |row| row.pausing = true);
            fixture::change(&mut engine.snapshot, 3, |row| row.stops_world = true);
            front.engine([engine.publish()]);
            settle(&mut front, &mut engine);
            front.type_keys(keys);
            insta::assert_snapshot!(format!("{columns}x{rows}-{name}"), text(&front.frame()));
        }
    }
}

#[test]
fn the_stop_at_which_a_session_ended_is_shown_as_its_last() {
    let (mut front, mut engine) = scene((120, 40), "");
    fixture::change(&mut engine.snapshot, 2, |row| {
        fixture::end(row, EndStatus::Signaled(6));
        row.ended_at = Some(row.stop);
        let cause = "likely ended by its parent main.py (pid 4001) while stopped for 4.1 s";
        if let Some(end) = &mut row.end {
            end.cause = Some(cause.to_owned());
        }
    });
    front.engine([engine.publish()]);
    settle(&mut front, &mut engine);
    front.type_keys("1gj\n");
    settle(&mut front, &mut engine);
    let frame = text(&front.frame());
    assert_eq!(front.state().focus, Some(RowId(2)));
    for wanted in [
        "SpawnProcess-1 · last stop 1",
        "x: int = 2",
        "SIGABRT · likely ended by its parent main.py",
    ] {
        assert!(frame.contains(wanted), "{wanted}: {frame}");
    }
    // A front end that never saw it stand reads what the engine kept.
    let mut late = Front::new(UiOptions::default(), (120, 40));
    late.engine([engine.publish()]);
    settle(&mut late, &mut engine);
    late.type_keys("1gj\n");
    settle(&mut late, &mut engine);
    let frame = text(&late.frame());
    assert!(frame.contains("x: int = 2"), "{frame}");
}

#[test]
fn colours_of_a_frame() {
    let (mut front, _) = scene((80, 24), "2");
    let (out, colours) = mpsc::channel();
    let worker = crate::highlight::start(move |lines| out.send(lines).is_ok()).unwrap();
    front.colour_with(worker);
    front.terminal(TerminalEvent::Resize(80, 24));
    front.colours(colours.recv_timeout(Duration::from_secs(20)).unwrap());
    insta::assert_snapshot!("80x24-colours", styles(&front.frame()));
}

#[test]
fn before_anything_is_known_and_without_room() {
    for (size, words) in [
        ((80, 24), "starting …"),
        ((39, 12), "daptree needs 40x10"),
        ((40, 9), "this is 40x9; q\nquits"),
        ((10, 3), "needs\n40x10"),
        ((1, 1), "d"),
        ((0, 0), ""),
    ] {
        let mut front = Front::new(UiOptions::default(), size);
        assert!(text(&front.frame()).contains(words), "{size:?}");
    }
}

#[test]
fn ascii_frames_hold_no_other_sign_of_ours() {
    let options = UiOptions {
        ascii: true,
        ..UiOptions::default()
    };
    let mut engine = FakeEngine::new();
    let mut front = Front::new(options, (120, 40));
    front.engine([engine.publish()]);
    settle(&mut front, &mut engine);
    let frame = text(&front.frame()).replace(['漢', '字', '·', '…'], "");
    let odd: Vec<char> = frame
        .chars()
        .filter(|c| !c.is_ascii() && *c != '→')
        .collect();
    assert!(odd.is_empty(), "{odd:?}");
    assert!(frame.contains("S SpawnProcess-1"));
}

#[test]
fn a_step_marks_what_changed_and_keeps_the_focus() {
    let (mut front, mut engine) = scene((120, 40), "");
    front.type_keys("n");
    settle(&mut front, &mut engine);
    assert_eq!(front.state().focus, Some(RowId(2)));
    let frame = text(&front.frame());
    assert!(frame.contains("stop 2"), "{frame}");
    front.type_keys("nn");
    settle(&mut front, &mut engine);
    front.type_keys("n");
    settle(&mut front, &mut engine);
    let frame = text(&front.frame());
    assert!(frame.contains("•    res: int = 8"), "{frame}");
    assert!(!frame.contains("•    x: int"), "{frame}");
}

#[test]
fn a_stop_that_is_over_is_still_shown() {
    let (mut front, mut engine) = scene((120, 40), "cccc");
    front.type_keys("c");
    settle(&mut front, &mut engine);
    let frame = text(&front.frame());
    assert!(frame.contains("stop 1 (over)"), "{frame}");
    assert!(frame.contains("all has ended"), "{frame}");
    assert!(frame.contains("x: int = 6"), "{frame}");
}

#[test]
fn long_pages_are_scrolled_to_their_end_and_no_further() {
    for size in [(120, 40), (80, 24), (40, 12)] {
        let (mut front, _) = scene(size, "?");
        let first = text(&front.frame());
        front.type_keys("G");
        let last = text(&front.frame());
        assert!(last.contains("⊘ refused"), "{last}");
        front.type_keys("jjjj");
        assert_eq!(text(&front.frame()), last);
        front.type_keys("k");
        assert_ne!(text(&front.frame()), last, "the first step back is seen");
        front.type_keys("g");
        assert_eq!(text(&front.frame()), first);
    }
}

#[test]
fn groups_stand_below_the_variables_and_have_no_value() {
    let (mut front, mut engine) = scene((120, 40), "4");
    let mut inspect = fixture::inspect(2, 1, 9, 2);
    let mut group = fixture::variable("special variables", "", "", 30);
    let page = inspect.pages.get_mut(&10).unwrap();
    page.variables.insert(0, group.clone());
    group.name = "function variables".to_owned();
    group.type_name = None;
    page.variables.insert(1, group);
    let empty = fixture::variable("empty", "str", "", 0);
    page.variables.insert(0, empty);
    engine.snapshot.inspects.insert(RowId(2), Arc::new(inspect));
    front.engine([engine.publish()]);
    let frame = text(&front.frame());
    let at = |wanted: &str| {
        frame
            .find(wanted)
            .unwrap_or_else(|| panic!("{wanted}: {frame}"))
    };
    assert!(at("x: int = 2") < at("▸ special variables "));
    assert!(at("▸ special variables ") < at("▸ function variables "));
    assert!(at("▸ function variables ") < at("▸ Globals"));
    assert!(!frame.contains("special variables ="));
    assert!(at("empty: str = ") < at("x: int"));
}

#[test]
fn text_is_scrolled_sideways_as_far_as_there_is_some() {
    let (mut front, mut engine) = scene((40, 12), "2");
    assert!(text(&front.frame()).contains("The third power.…"));
    front.terminal(key(KeyCode::Right));
    let frame = text(&front.frame());
    assert!(frame.contains("column 9"), "{frame}");
    for _ in 0..50 {
        front.terminal(key(KeyCode::Right));
    }
    assert!(front.state().source.left < 50);
    for _ in 0..50 {
        front.terminal(key(KeyCode::Left));
    }
    assert_eq!(front.state().source.left, 0);

    engine.print(RowId(2), Stream::Stdout, &"wide ".repeat(20));
    front.type_keys("5");
    front.engine([engine.publish()]);
    settle(&mut front, &mut engine);
    front.terminal(key(KeyCode::Right));
    let frame = text(&front.frame());
    assert!(
        frame.contains("e wide") && frame.contains("column 9"),
        "{frame}"
    );
}

#[test]
fn a_shrunk_screen_shows_everything_again_when_it_grows() {
    let (mut front, _) = scene((120, 40), "7");
    let before = front.frame();
    for size in [(10, 3), (1, 1), (120, 40)] {
        front.terminal(TerminalEvent::Resize(size.0, size.1));
        front.frame();
    }
    assert_eq!(front.frame(), before);
}

#[test]
fn what_is_not_seen_keeps_the_size_of_its_terminal() {
    let (mut front, mut engine) = scene((120, 40), "2z");
    let size = |sent: &[ToEngine]| {
        sent.iter().rev().find_map(|message| match message {
            ToEngine::TerminalSize { columns, .. } => Some(*columns),
            _ => None,
        })
    };
    assert_eq!(front.terminal_size.map(|size| size.1), Some(80));
    front.type_keys("7");
    assert_eq!(size(&settle(&mut front, &mut engine)), Some(120));
    front.type_keys("z");
    assert_eq!(size(&settle(&mut front, &mut engine)), Some(80));
}

fn key(code: KeyCode) -> TerminalEvent {
    TerminalEvent::Key(KeyEvent::new(code, KeyModifiers::NONE))
}

#[test]
fn only_what_is_shown_is_asked_for_and_only_once() {
    let mut engine = FakeEngine::new();
    let mut front = Front::new(UiOptions::default(), (120, 40));
    front.engine([engine.publish()]);
    let sent = settle(&mut front, &mut engine);
    let reads = |sent: &[ToEngine]| {
        sent.iter()
            .filter(|m| matches!(m, ToEngine::Read(_)))
            .count()
    };
    assert_eq!(reads(&sent), 2, "the source and the output: {sent:?}");
    assert!(sent.contains(&ToEngine::TerminalWatch(RowId(1))));
    let interest = Interest {
        row: RowId(2),
        ..Interest::default()
    };
    assert!(sent.contains(&ToEngine::Interest(vec![interest.clone()])));
    front.engine([engine.publish()]);
    assert_eq!(settle(&mut front, &mut engine), [], "nothing is new");
    engine.print(RowId(3), Stream::Stdout, "of another session");
    front.engine([engine.publish()]);
    assert_eq!(settle(&mut front, &mut engine), [], "not in view");
    engine.print(RowId(2), Stream::Stdout, "of this one");
    front.engine([engine.publish()]);
    assert_eq!(reads(&settle(&mut front, &mut engine)), 1);
    assert!(text(&front.frame()).contains("of this one"));
    front.type_keys("4jjj\n");
    let open = OpenPath {
        path: vec!["Locals".to_owned(), "data".to_owned()],
        limit: 100,
    };
    let wanted = Interest {
        open: vec![open],
        ..interest
    };
    assert_eq!(
        settle(&mut front, &mut engine),
        [ToEngine::Interest(vec![wanted])]
    );
}

#[test]
fn the_launch_gets_the_size_of_its_pane() {
    let request = LaunchRequest {
        words: vec!["a.py".into()],
        cwd: "/".into(),
        env: Vec::new(),
        python: None,
        stdio: Stdio::Terminal {
            columns: 80,
            rows: 24,
        },
        just_my_code: true,
        exceptions: None,
        stop_on_entry: false,
        stop_the_world: false,
        max_children: 0,
        breakpoints: Vec::new(),
    };
    let options = UiOptions {
        launch: Some(Box::new(request)),
        ..UiOptions::default()
    };
    let mut front = Front::new(options, (120, 40));
    let Some(ToEngine::Command(command)) = front.outgoing().pop_front() else {
        panic!("the launch comes first");
    };
    let Op::Launch(sent) = command.op else {
        panic!("{:?}", command.op);
    };
    let body = front.layout().place(Pane::Terminal).unwrap();
    assert_eq!(
        sent.stdio,
        Stdio::Terminal {
            columns: body.width,
            rows: body.height
        }
    );
    let result = Err(EngineError::Failed("no such program".to_owned()));
    front.engine([FromEngine::Reply(daptree_model::Reply {
        id: command.id,
        result,
    })]);
    let why = "no such program".to_owned();
    assert_eq!(front.leave(), Some(&Leave::LaunchFailed(why)));
}

#[test]
fn large_trees_and_values_are_drawn_by_the_slice() {
    let mut engine = FakeEngine::new();
    for id in 100..5_000 {
        let row = fixture::row(id, Some(if id % 7 == 0 { 1 } else { id - 1 }.max(1)));
        let parent = row.parent.filter(|p| engine.snapshot.rows.contains_key(p));
        let row = daptree_model::Row { parent, ..row };
        engine.snapshot.rows.insert(row.id, Arc::new(row));
    }
    let mut inspect = fixture::inspect(2, 1, 9, 2);
    let page = inspect.pages.get_mut(&10).unwrap();
    page.variables = (0..20_000)
        .map(|n| fixture::variable(&format!("v{n}"), "str", &"x".repeat(200), 0))
        .collect();
    page.variables[0].value = "y".repeat(4 << 20);
    engine.snapshot.inspects.insert(RowId(2), Arc::new(inspect));
    let mut front = Front::new(UiOptions::default(), (200, 60));
    front.engine([engine.publish()]);
    settle(&mut front, &mut engine);
    front.type_keys("4G1G");
    let frame = text(&front.frame());
    assert!(
        frame.contains("v19999") && frame.contains("SpawnProcess-4998"),
        "{frame}"
    );
}

#[test]
fn a_picture_of_a_frame_is_well_formed() {
    let (mut front, _) = scene((80, 24), "");
    let picture = picture::svg(&front.frame());
    let open = picture.matches("<text").count();
    assert_eq!(open, picture.matches("</text>").count());
    assert!(picture.ends_with("</svg>\n") && open > 20);
}
