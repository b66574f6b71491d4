//! Journals as a person has them: the real binary records a run and replays it.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "this is test code: what goes wrong in it fails the test at once"
)]

use daptree::record::{Journal, Player};
use daptree_model::{Answer, FromEngine, ReadOp, Reply, ToEngine};
use daptree_testing::{Scene, Terminal};
use daptree_ui::{Front, UiOptions};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use vt100::Screen;

const LEFT: Duration = Duration::from_secs(2);
/// The lines of the status bar, at the bottom of the screen.
const STATUS: u16 = 2;

fn scene(programs: &[&str]) -> Scene {
    Scene::new(env!("CARGO_BIN_EXE_daptree"), programs)
}

/// Everything on the screen but the status bar: each cell with its colours.
fn panes(screen: &Screen) -> Vec<String> {
    let (rows, columns) = screen.size();
    let cell = |row, column| {
        let cell = screen.cell(row, column).unwrap();
        match cell.contents() {
            // Written or not, a blank has nothing but its background.
            "" | " " => format!("{:?}", cell.bgcolor()),
            letter => format!(
                "{letter:?} {:?} {:?} {}",
                cell.fgcolor(),
                cell.bgcolor(),
                cell.bold()
            ),
        }
    };
    (0..rows - STATUS)
        .flat_map(|row| (0..columns).map(move |column| (row, column)))
        .map(|(row, column)| cell(row, column))
        .collect()
}

/// The last frame is the same but for the status bar, which tells of the replay.
#[test]
fn a_replay_ends_with_the_last_frame_of_the_run() {
    let scene = scene(&["test_pair.py"]);
    let place = scene.at("test_pair.py", "# stop here");
    let pytest = [
        "--",
        "python",
        "-m",
        "pytest",
        "-q",
        "-n",
        "2",
        "test_pair.py",
    ];
    let words = ["--record", "run.journal", "-b", &place];
    let words: Vec<&str> = words.into_iter().chain(pytest).collect();
    let mut terminal = Terminal::start(&scene, &words);
    terminal.until_shown(&["2 stopped", "1 other stopped"]);
    // And the output of the whole tree.
    terminal.press("CT");
    terminal.until_shown(&["all has ended", "2 passed"]);
    let recorded = terminal.look(panes);
    let text = terminal.contents();
    terminal.press("q");
    assert_eq!(terminal.leave(), 0);
    scene.assert_nothing_left(LEFT);

    let mut replay = Terminal::start(&scene, &["replay", "run.journal"]);
    replay.until_shown(&["REPLAY 0/"]);
    replay.press("T)");
    replay.until(&format!("the last frame of the run:\n{text}\n"), |screen| {
        panes(screen) == recorded
    });
    // And the way there can be walked.
    replay.press("<");
    replay.until_line(&["REPLAY", "stop 1"]);
    replay.until_shown(&["half"]);
    replay.press("(>");
    replay.until_line(&["REPLAY", "stop 1"]);
    replay.press("c");
    replay.until_shown(&["nothing can be changed"]);
    replay.press("(+++++ ");
    replay.until_shown(&["all has ended", "2 passed"]);
    replay.press("q");
    assert_eq!(replay.leave(), 0);
}

#[test]
fn a_trace_is_recorded_too_and_its_secrets_are_not() {
    let mut scene = scene(&["leaf.py"]);
    scene.set("SOME_API_TOKEN", "planted-token-value");
    scene.set("HARMLESS", "planted-env-value");
    scene.write(
        "start.py",
        "import os, subprocess, sys\n\
         env = dict(os.environ, LATER='planted-later-value')\n\
         words = [sys.executable, 'leaf.py', '0', '--access-token', 'planted-access-token']\n\
         subprocess.run(words, env=env, check=True)\n",
    );
    let place = scene.at("leaf.py", "# stop here");
    let mut command = Command::new(&scene.binary);
    command.current_dir(scene.work()).env_clear();
    command.envs(scene.env.iter().map(|(name, value)| (name, value)));
    command.args(["trace", "--record", "run.journal", "-b", &place]);
    command.args(["--eval", "sys.argv", "--", "python", "start.py"]);
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    // It is a program's own affair to print it, and trace prints what is asked for.
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("planted-access-token"), "{told}");

    let path = scene.file("run.journal");
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = fs::read_to_string(&path).unwrap();
    for secret in ["token-value", "env-value", "later-value", "access-token"] {
        let secret = format!("planted-{secret}");
        let numbers: Vec<String> = secret.bytes().map(|byte| byte.to_string()).collect();
        let found = text.contains(&secret) || text.contains(&numbers.join(","));
        assert!(!found, "{secret} is in the journal");
    }
    assert!(
        text.contains("\"--access-token\",\"…\""),
        "it was seen and taken out"
    );

    let mut player = Player::new(Journal::read(&path).unwrap());
    while player.step() {}
    let snapshot = player.snapshot();
    assert_eq!(snapshot.rows.len(), 2);
    assert!(
        snapshot.rows.values().all(|row| row.is_ended()),
        "{snapshot:#?}"
    );
    assert_eq!(player.at(), player.of());
}

/// A front end of a size, at a position of the recorded journal.
fn frame(size: (u16, u16), go: impl Fn(&mut Player)) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let journal = Journal::read(&root.join("fixtures/journals/pair.jsonl")).unwrap();
    let mut player = Player::new(journal);
    let mut front = Front::new(UiOptions::default(), size);
    player.show();
    go(&mut player);
    player.show();
    loop {
        front.engine(player.take_said());
        let Some(message) = front.outgoing().pop_front() else {
            break;
        };
        match message {
            ToEngine::TerminalWatch(root) => player.watch(root),
            ToEngine::Read(read) => {
                let result = player.answer(&read.what).unwrap_or_else(|| {
                    let ReadOp::File(path) = &read.what else {
                        panic!("{:?}", read.what)
                    };
                    let name = Path::new(path).file_name().unwrap();
                    let text = fs::read_to_string(root.join("fixtures/programs").join(name));
                    let (path, text) = (path.clone(), text.unwrap().into());
                    Ok(Answer::Source { path, text })
                });
                let id = read.id;
                front.engine([FromEngine::Reply(Reply { id, result })]);
            }
            _ => {}
        }
    }
    let buffer = front.frame();
    let (width, cells) = (usize::from(size.0), buffer.content());
    let lines = cells.chunks(width).map(|line| {
        let mut text = String::new();
        for cell in line {
            text.push_str(cell.symbol());
        }
        text.trim_end().to_owned() + "\n"
    });
    lines.collect()
}

#[test]
fn the_recorded_journal_gives_these_frames() {
    let to_stop = |count| move |player: &mut Player| (0..count).for_each(|_| player.next_stop());
    for (name, size) in [
        ("120x40", (120, 40)),
        ("80x24", (80, 24)),
        ("40x12", (40, 12)),
    ] {
        insta::assert_snapshot!(format!("start-{name}"), frame(size, to_stop(0)));
        insta::assert_snapshot!(format!("stopped-{name}"), frame(size, to_stop(1)));
        insta::assert_snapshot!(
            format!("end-{name}"),
            frame(size, |player| player.go_to(u64::MAX))
        );
    }
}

/// Backward is from the start again: that has to be quick.
#[test]
fn ten_thousand_inputs_are_replayed_at_once() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let journal = Journal::read(&root.join("fixtures/journals/pair.jsonl")).unwrap();
    let mut inputs = 0;
    let began = Instant::now();
    while inputs < 10_000 {
        let mut player = Player::new(journal.clone());
        while player.step() {}
        inputs += player.of();
    }
    let took = began.elapsed();
    println!("{inputs} inputs replayed in {took:?}");
    assert!(
        took < Duration::from_secs(20),
        "{took:?} for {inputs} inputs"
    );
}

#[test]
fn what_cannot_be_replayed_or_recorded_is_named() {
    let scene = scene(&["leaf.py"]);
    scene.write(
        "future",
        "{\"journal\":\"daptree\",\"format\":2,\"version\":\"9.1\"}\n",
    );
    scene.write("other", "#!/bin/sh\n");
    let said = |words: &[&str]| {
        let mut command = Command::new(&scene.binary);
        command.current_dir(scene.work()).env_clear();
        command.envs(scene.env.iter().map(|(name, value)| (name, value)));
        let output = command.args(words).stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(125), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    for (words, told) in [
        (
            &["replay", "missing"][..],
            "missing: the journal cannot be read",
        ),
        (&["replay", "future"], "format 2 (daptree 9.1 wrote it)"),
        (&["replay", "other"], "other: no journal of daptree"),
        (
            &[
                "trace", "--record", "no/where", "--", "python", "leaf.py", "0",
            ],
            "no/where: the journal cannot be written",
        ),
    ] {
        let text = said(words);
        assert!(text.contains(told), "{words:?}: {text}");
    }
}
