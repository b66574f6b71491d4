//! A recorded run, replayed: twice the same, forward and back, with the answers that were given and
//! no others.

use super::*;
use daptree_model::{RowState, StopNumber};
use std::path::Path;

fn recorded() -> Journal {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/journals/pair.jsonl");
    Journal::read(&path).unwrap()
}

/// The state after every input.
fn states(player: &mut Player) -> Vec<Snapshot> {
    let mut states = vec![player.snapshot()];
    while player.step() {
        states.push(player.snapshot());
    }
    states
}

fn lines(player: &Player) -> Vec<String> {
    let what = ReadOp::Output {
        row: None,
        from: 0,
        count: 1_000,
    };
    match player.answer(&what) {
        Some(Ok(Answer::Output(window))) => window.lines.into_iter().map(|l| l.text).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_journal_replayed_twice_gives_equal_snapshots_and_output() {
    let (mut one, mut two) = (Player::new(recorded()), Player::new(recorded()));
    let states_of_one = states(&mut one);
    assert_eq!(states_of_one, states(&mut two));
    assert_eq!(states_of_one.len() as u64, one.of() + 1);
    assert_eq!(lines(&one), lines(&two));
    // And it is the run that was recorded.
    let last = states_of_one.last().unwrap();
    assert_eq!(last.rows.len(), 3);
    assert!(last.rows.values().all(|row| row.state == RowState::Ended));
    let text = lines(&one).join("\n");
    assert!(text.contains("leaf 1") && text.contains("leaf 2"), "{text}");
    assert!(text.contains("ended with [1, 2]"), "{text}");
}

#[test]
fn the_published_snapshots_have_the_revisions_of_the_run() {
    let journal = recorded();
    let published: Vec<u64> = journal
        .entries
        .iter()
        .filter_map(|(_, entry)| match entry {
            Entry::Published(revision) => Some(*revision),
            _ => None,
        })
        .collect();
    let mut player = Player::new(journal);
    while player.step() {}
    let said: Vec<u64> = player
        .take_said()
        .into_iter()
        .filter_map(|message| match message {
            FromEngine::Snapshot(snapshot) => Some(snapshot.revision),
            _ => None,
        })
        .collect();
    assert!(published.len() > 10);
    assert_eq!(said, published);
}

#[test]
fn backward_comes_to_the_states_of_before() {
    let mut player = Player::new(recorded());
    let states = states(&mut player);
    let of = player.of();
    for position in [of / 2, of / 3, 0, of - 1] {
        player.rewind();
        while player.at() < position {
            assert!(player.step());
        }
        assert_eq!(
            player.snapshot(),
            states[position as usize],
            "at {position}"
        );
    }
}

#[test]
fn stops_are_found_forward_and_backward_with_their_values() {
    let mut player = Player::new(recorded());
    let mut stops = Vec::new();
    loop {
        player.next_stop();
        if player.at() == player.of() {
            break;
        }
        let snapshot = player.snapshot();
        assert!(snapshot.rows.values().any(|row| row.is_paused()));
        stops.push(player.at());
    }
    assert!(stops.len() >= 2, "{stops:?}");
    // The step's own stop, of the session that was looked at.
    player.previous_stop();
    assert_eq!(Some(&player.at()), stops.last());
    let snapshot = player.snapshot();
    let inspect = snapshot.inspects.values().next_back().unwrap();
    assert_eq!(inspect.stop, StopNumber(2));
    assert!(!inspect.pages.is_empty(), "its variables are there");
    let mut before = player.at();
    while before > 0 {
        player.previous_stop();
        assert!(player.at() < before, "{} is before {before}", player.at());
        before = player.at();
    }
}

#[test]
fn what_was_never_read_is_not_recorded() {
    let mut player = Player::new(recorded());
    while player.step() {}
    let reads = [
        ReadOp::Threads(RowId(2)),
        ReadOp::Variables {
            row: RowId(2),
            stop: StopNumber(1),
            reference: 99,
            start: 0,
            count: 1,
        },
        ReadOp::Evaluate {
            row: RowId(2),
            stop: None,
            frame: None,
            expression: "status".to_owned(),
            context: "repl".to_owned(),
        },
        ReadOp::Source {
            row: RowId(2),
            reference: 3,
        },
    ];
    for what in reads {
        match player.answer(&what) {
            Some(Err(error @ EngineError::NotRecorded(_))) => {
                assert!(error.to_string().contains("s2"), "{error}");
            }
            other => panic!("{what:?}: {other:?}"),
        }
    }
    assert!(player.answer(&ReadOp::File("/x".to_owned())).is_none());
}

#[test]
fn cut_off_anywhere_it_plays_up_to_the_cut() {
    let mut whole = recorded();
    let all = states(&mut Player::new(whole.clone()));
    while whole.entries.pop().is_some() {
        let mut player = Player::new(whole.clone());
        if whole.entries.len().is_multiple_of(16) {
            while player.step() {}
            // What was published after the last input may be cut off too.
            let revision = player.snapshot().revision;
            let wanted = all[player.of() as usize].clone();
            assert_eq!(player.snapshot(), Snapshot { revision, ..wanted });
        }
    }
}
