//! Random keys on random snapshots: whatever is typed or told, nothing breaks and a frame is drawn
//! the same twice.

use super::*;
use proptest::prelude::*;

fn any_row(id: u32) -> impl Strategy<Value = daptree_model::Row> {
    let state = prop_oneof![
        Just(RowState::Created),
        Just(RowState::Starting),
        Just(RowState::Adopting),
        Just(RowState::Running),
        Just(RowState::Paused),
        Just(RowState::Paused),
        Just(RowState::Ended),
        Just(RowState::Failed),
    ];
    let follow = prop_oneof![
        Just(Follow::Adopted),
        Just(Follow::Adopted),
        Just(Follow::Helper),
        Just(Follow::Released),
        Just(Follow::Unfollowed),
    ];
    let name = prop_oneof![
        Just("gw1".to_owned()),
        "\\PC{0,30}",
        Just("漢字\t\u{7}\u{301}".to_owned())
    ];
    (
        state,
        follow,
        name,
        0..id,
        0..4_u32,
        0..30_u32,
        any::<bool>(),
    )
        .prop_map(move |(state, follow, name, parent, stops, line, odd)| {
            let mut row = fixture::row(id, (parent > 0).then_some(parent));
            for _ in 0..stops {
                fixture::stop(&mut row, line, "breakpoint");
            }
            if state == RowState::Paused && odd {
                fixture::stop(&mut row, line, "exception");
                if let Some(stop) = &mut row.stopped {
                    stop.place = None;
                    stop.exception = Some(Exception {
                        chain: Vec::new(),
                        type_name: "Error".to_owned(),
                        message: "m\n\u{1b}[31m".to_owned(),
                        mode: "always".to_owned(),
                    });
                }
            }
            if state == RowState::Ended {
                fixture::end(
                    &mut row,
                    if odd {
                        EndStatus::Signaled(9)
                    } else {
                        EndStatus::Unknown
                    },
                );
            }
            row.state = state;
            row.follow = follow;
            row.name = name;
            row.held = odd && stops == 2;
            row
        })
}

fn any_snapshot() -> impl Strategy<Value = Snapshot> {
    let rows = (0..9_u32).prop_flat_map(|count| (1..=count).map(any_row).collect::<Vec<_>>());
    (rows, 0..4_u32, 0..2_000_u64, any::<bool>()).prop_map(|(rows, breakpoints, lines, odd)| {
        let mut made = fixture::snapshot(rows);
        made.trees[0].has_terminal = odd;
        for id in 0..breakpoints {
            let status = BreakpointStatus::Refused {
                message: "no".to_owned(),
            };
            made.breakpoints
                .push(Arc::new(fixture::breakpoint(id, id * 5, &[(1, status)])));
        }
        for row in made.rows.values().filter(|row| row.is_paused()) {
            let inspect = fixture::inspect(row.id.0, row.stop.0, row.stop.0 + 5, 3);
            if odd || row.id.0 % 2 == 0 {
                made.inspects.insert(row.id, Arc::new(inspect));
            }
            made.output_lines.insert(row.id, lines);
        }
        made.output_revision = lines;
        made.notices.push(Arc::new(Notice {
            seq: lines,
            code: "x".to_owned(),
            message: "a notice that is longer than any line of a small screen".to_owned(),
            row: Some(RowId(2)),
            is_error: odd,
            at_ms: 0,
        }));
        made
    })
}

#[derive(Clone, Debug)]
enum Step {
    Key(KeyCode, KeyModifiers),
    Paste(String),
    Resize(u16, u16),
    Snapshot(Box<Snapshot>),
    Terminal(Vec<u8>),
    Answer,
}

fn any_step() -> impl Strategy<Value = Step> {
    let code = prop_oneof![
        8 => proptest::char::range(' ', '~').prop_map(KeyCode::Char),
        4 => proptest::sample::select(vec![
            KeyCode::Enter, KeyCode::Esc, KeyCode::Tab, KeyCode::BackTab, KeyCode::Up,
            KeyCode::Down, KeyCode::Left, KeyCode::Right, KeyCode::PageUp, KeyCode::PageDown,
            KeyCode::Home, KeyCode::End, KeyCode::Delete, KeyCode::Backspace, KeyCode::F(5),
            KeyCode::F(10), KeyCode::F(11),
        ]),
    ];
    let modifiers = prop_oneof![
        6 => Just(KeyModifiers::NONE),
        1 => Just(KeyModifiers::CONTROL),
        1 => Just(KeyModifiers::SHIFT),
    ];
    prop_oneof![
        12 => (code, modifiers).prop_map(|(code, modifiers)| Step::Key(code, modifiers)),
        1 => "\\PC{0,20}".prop_map(Step::Paste),
        2 => (1..200_u16, 1..60_u16).prop_map(|(columns, rows)| Step::Resize(columns, rows)),
        3 => any_snapshot().prop_map(|snapshot| Step::Snapshot(Box::new(snapshot))),
        1 => proptest::collection::vec(any::<u8>(), 0..60).prop_map(Step::Terminal),
        3 => Just(Step::Answer),
    ]
}

fn valid(front: &Front) {
    let state = front.state();
    let rows = &front.snapshot.rows;
    for row in [state.focus, state.tree.selected].into_iter().flatten() {
        assert!(rows.contains_key(&row), "{row} is gone");
    }
    assert_eq!(state.tree.selected.is_none(), rows.is_empty());
    assert!(state.variables.list.top <= state.variables.list.cursor);
    assert_eq!(state.recent.len(), Pane::ALL.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn nothing_typed_or_told_breaks_it(
        size in (1..200_u16, 1..60_u16),
        steps in proptest::collection::vec(any_step(), 1..60),
    ) {
        let mut engine = FakeEngine::new();
        let mut front = Front::new(UiOptions::default(), size);
        for step in steps {
            match step {
                Step::Key(code, modifiers) => {
                    front.terminal(TerminalEvent::Key(KeyEvent::new(code, modifiers)));
                }
                Step::Paste(text) => front.terminal(TerminalEvent::Paste(text)),
                Step::Resize(columns, rows) => front.terminal(TerminalEvent::Resize(columns, rows)),
                Step::Snapshot(snapshot) => {
                    engine.snapshot = *snapshot;
                    front.engine([engine.publish()]);
                }
                Step::Terminal(bytes) => {
                    let root = RowId(1);
                    front.engine([FromEngine::Terminal { root, reset: None, bytes }]);
                }
                Step::Answer => {
                    for _ in 0..50 {
                        let Some(message) = front.outgoing().pop_front() else { break };
                        let answers = engine.handle(message);
                        front.engine(answers);
                    }
                }
            }
            valid(&front);
            let once = front.frame();
            prop_assert_eq!(&once, &front.frame());
        }
    }
}
