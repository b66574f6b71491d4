//! The terminal front end as a person uses it: the real binary on a real pty, read from its screen.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "this is test code: what goes wrong in it fails the test at once"
)]

use daptree_testing::{PATIENCE, Scene, Terminal, process};
use rustix::process::Signal;
use std::time::Duration;

const LEFT: Duration = Duration::from_secs(2);

fn scene(programs: &[&str]) -> Scene {
    Scene::new(env!("CARGO_BIN_EXE_daptree"), programs)
}

/// daptree at two stopped leaves.
fn two_stopped(scene: &Scene) -> Terminal {
    let place = scene.at("leaf.py", "# stop here");
    let terminal = Terminal::start(scene, &["-b", &place, "--", "python", "pair.py"]);
    terminal.until_shown(&["3 · 2 stopped · 1 running", "1 other stopped"]);
    terminal
}

/// Ends the tree by the dialog.
fn quit(terminal: &mut Terminal) -> u32 {
    terminal.press("q");
    terminal.until_shown(&["end it and quit"]);
    terminal.press("e");
    terminal.leave()
}

#[test]
fn a_tree_is_shown_stepped_and_ended() {
    let scene = scene(&["pair.py", "leaf.py"]);
    let mut terminal = two_stopped(&scene);
    for row in ["pair.py", "leaf.py"] {
        terminal.until_shown(&[row]);
    }
    // The source, the variables and the stack of the one that has the focus.
    terminal.until_shown(&["import sys", "status"]);
    terminal.until_line(&["leaf.py:6", "breakpoint · stop 1"]);
    terminal.press("n");
    terminal.until_line(&["leaf.py:7", "step · stop 2"]);
    // The first one goes on to its end, and the focus goes to the other.
    terminal.press("c");
    terminal.until_line(&["leaf.py:6", "breakpoint · stop 1"]);
    terminal.until_shown(&["3 ‖1 ▶1 ■1"]);
    terminal.press("q");
    terminal.until_shown(&["2 processes of the tree are alive"]);
    terminal.press("\x1b");
    terminal.until("the dialog gone", |screen| {
        !screen.contents().contains("end it and quit")
    });
    assert_eq!(quit(&mut terminal), 143);
    scene.assert_nothing_left(LEFT);
}

#[test]
fn a_tree_that_runs_to_its_end_gives_its_status() {
    let scene = scene(&["leaf.py"]);
    let place = scene.at("leaf.py", "# stop here");
    let mut terminal = Terminal::start(&scene, &["-b", &place, "--", "python", "leaf.py", "7"]);
    terminal.until_line(&["leaf.py:6", "breakpoint · stop 1"]);
    terminal.until_line(&["status", "7"]);
    terminal.press("\x1b[15~"); // F5
    terminal.until_shown(&["all has ended", "leaf 7"]);
    terminal.press("q");
    assert_eq!(terminal.leave(), 7);
    scene.assert_nothing_left(LEFT);
}

#[test]
fn breakpoints_and_filters_are_kept_over_restarts_of_daptree() {
    let scene = scene(&["leaf.py"]);
    let place = scene.at("leaf.py", "# stop here");
    let words = ["-b", &place, "--", "python", "leaf.py", "9"];
    let mut terminal = Terminal::start(&scene, &words);
    terminal.until_line(&["leaf.py:6", "breakpoint · stop 1"]);
    terminal.press("6zistatus == 9\r");
    terminal.until_line(&["leaf.py:6", "if status == 9"]);
    terminal.press("w*.py\r");
    terminal.until_line(&["leaf.py:6", "in *.py"]);
    terminal.press("E ");
    terminal.until_shown(&["[x] raised", "chosen for every session"]);
    terminal.press("\x1b");
    terminal.until("the dialog gone", |screen| {
        !screen.contents().contains("chosen for every session")
    });
    quit(&mut terminal);
    // The line moves, and the next run names no breakpoint.
    let text = std::fs::read_to_string(scene.file("leaf.py")).unwrap();
    scene.write("leaf.py", &format!("# one more line\n{text}"));
    let mut terminal = Terminal::start(&scene, &["--", "python", "leaf.py", "9"]);
    terminal.until_line(&["leaf.py:7", "breakpoint · stop 1"]);
    terminal.press("6z");
    terminal.until_line(&["leaf.py:7", "if status == 9", "in *.py", "hit 1"]);
    terminal.until_line(&["leaf.py:7", "its line was 6 before"]);
    terminal.press("E");
    terminal.until_shown(&["[x] raised", "chosen for every session"]);
    terminal.press("\x1b");
    terminal.until("the dialog gone", |screen| {
        !screen.contents().contains("chosen for every session")
    });
    quit(&mut terminal);
    // A trace is the same whatever was set before it.
    let run = scene.trace().run(&["python", "leaf.py", "9"]);
    assert_eq!(run.stops().len(), 0);
}

#[test]
fn a_launch_that_fails_is_said_on_the_ordinary_screen() {
    let scene = scene(&[]);
    let mut terminal = Terminal::start(&scene, &["--", "python", "missing.py"]);
    assert_eq!(terminal.leave(), 125);
    terminal.until_shown(&["missing.py: no such file"]);
    scene.assert_nothing_left(LEFT);
}

#[test]
fn a_usage_error_never_takes_the_terminal() {
    let scene = scene(&[]);
    let mut terminal = Terminal::start(&scene, &["-b", "nowhere.py:3", "--", "python", "x.py"]);
    assert_eq!(terminal.leave(), 2);
    terminal.until_shown(&["there is no file", "nowhere.py"]);
}

#[test]
fn the_screen_may_become_tiny_and_large_again() {
    let scene = scene(&["pair.py", "leaf.py"]);
    let mut terminal = two_stopped(&scene);
    terminal.resize((10, 3));
    terminal.until("a screen of ten columns", |screen| {
        screen.contents().contains("40") && !screen.contents().contains("leaf")
    });
    terminal.resize((1, 1));
    terminal.resize((80, 24));
    terminal.until_shown(&["tree 3 ‖2 ▶1", "breakpoint · stop 1"]);
    terminal.resize((120, 40));
    terminal.until_shown(&["3 · 2 stopped · 1 running", "breakpoints"]);
    terminal.press("n");
    terminal.until_line(&["leaf.py:7", "step · stop 2"]);
    quit(&mut terminal);
    scene.assert_nothing_left(LEFT);
}

#[test]
fn signals_give_the_terminal_back_and_end_the_tree() {
    for (signal, status) in [
        (Signal::TERM, 143),
        (Signal::HUP, 129),
        (Signal::INT, 130),
        (Signal::QUIT, 131),
    ] {
        let scene = scene(&["pair.py", "leaf.py"]);
        let mut terminal = two_stopped(&scene);
        terminal.signal(signal);
        assert_eq!(terminal.leave(), status);
        scene.assert_nothing_left(LEFT);
    }
}

#[test]
fn a_closed_terminal_ends_the_tree() {
    let scene = scene(&["pair.py", "leaf.py"]);
    let mut terminal = two_stopped(&scene);
    terminal.close();
    assert_eq!(terminal.wait_ended(), 129);
    scene.assert_nothing_left(Duration::from_secs(5));
}

#[test]
fn a_program_reads_what_is_typed_into_its_terminal() {
    let scene = scene(&[]);
    scene.write(
        "asks.py",
        "import os, sys\n\
         name = input('na' 'me? ')\n\
         size = os.get_terminal_size()\n\
         print('hello', name, sys.stdin.isatty(), sys.stdout.isatty())\n\
         print('columns', size.columns, 'rows', size.lines)\n\
         os.isatty(2) or os._exit(9)\n",
    );
    let mut terminal = Terminal::start(&scene, &["--", "python", "asks.py"]);
    terminal.press("7");
    terminal.until_shown(&["name?"]);
    terminal.press("t");
    terminal.until_shown(&["KEYS GO TO THE PROGRAM"]);
    // These are commands of daptree, but not now.
    terminal.press("qnc\x7f\x7f?\r");
    terminal.until_shown(&["hello q? True True"]);
    let contents = terminal.contents();
    let said = contents.split("columns ").nth(1).expect("a size");
    let columns: u16 = said.split_whitespace().next().unwrap().parse().unwrap();
    assert_eq!(columns, 80, "what the layout promises from 117 columns on");
    terminal.press("\x1d");
    terminal.until("the keys back", |screen| {
        !screen.contents().contains("KEYS GO TO")
    });
    terminal.until_shown(&["all has ended"]);
    terminal.press("q");
    assert_eq!(terminal.leave(), 0);
    scene.assert_nothing_left(LEFT);
}

#[test]
fn keys_work_while_a_program_floods() {
    let scene = scene(&[]);
    scene.write(
        "floods.py",
        "number = 0\nwhile True:\n    number += 1\n    print('line', number)\n",
    );
    let mut terminal = Terminal::start(&scene, &["--", "python", "floods.py"]);
    terminal.press("5");
    terminal.until_shown(&["line 1"]);
    terminal.press("?");
    terminal.until_shown(&["step over the line"]);
    terminal.press("\x1b");
    terminal.until("help gone", |screen| {
        !screen.contents().contains("step over the line")
    });
    terminal.press("p");
    terminal.until_line(&["floods.py", "pause · stop 1"]);
    terminal.until_line(&["number"]);
    terminal.press("c");
    terminal.until_line(&["floods.py s1", "running"]);
    assert_eq!(quit(&mut terminal), 143);
    scene.assert_nothing_left(LEFT);
}

#[test]
fn what_a_program_writes_cannot_reach_the_terminal_itself() {
    let scene = scene(&[]);
    // Leaves the alternate screen, sets a title, asks for a report, wide and broken characters.
    scene.write(
        "escapes.py",
        "import os\nos.write(1, b'\\x1b[?1049l\\x1b]0;title\\x07\\x1b[6n\\x1b[2J\\xe6\\xbc\\xa2 after\\r\\n')\n\
         stop = 1\n",
    );
    let mut terminal = Terminal::start(
        &scene,
        &["-b", "escapes.py:3", "--", "python", "escapes.py"],
    );
    terminal.until_line(&["escapes.py:3", "breakpoint · stop 1"]);
    terminal.until_shown(&["漢 after"]);
    terminal.until("still the alternate screen", |screen| {
        screen.alternate_screen()
    });
    assert_eq!(quit(&mut terminal), 143);
}

#[test]
fn the_most_sessions_at_once_can_be_set() {
    let scene = scene(&["pair.py", "leaf.py"]);
    let place = scene.at("leaf.py", "# stop here");
    let words = [
        "run",
        "--max-children",
        "2",
        "-b",
        &place,
        "--",
        "python",
        "pair.py",
    ];
    let mut terminal = Terminal::start(&scene, &words);
    terminal.until_line(&["leaf.py:6", "breakpoint · stop 1"]);
    terminal.press("!");
    terminal.until_shown(&["messages", "max-children"]);
    terminal.press("\x1b");
    terminal.until("messages gone", |screen| {
        !screen.contents().contains(" messages ")
    });
    terminal.press("cT");
    terminal.until_shown(&["all has ended", "ended with [1, 2]"]);
    terminal.press("q");
    assert_eq!(terminal.leave(), 0);
    scene.assert_nothing_left(LEFT);
}

#[test]
fn run_takes_its_options() {
    let scene = scene(&[]);
    std::fs::create_dir(scene.file("elsewhere")).unwrap();
    let program = "import os\nprint('in', os.path.basename(os.getcwd()), os.environ['COLOUR'])\n";
    scene.write("elsewhere/where.py", program);
    let python = scene.python.to_str().unwrap().to_owned();
    let words = [
        "run",
        "--cwd",
        "elsewhere",
        "--env",
        "COLOUR=green",
        "--stop-on-entry",
        "--no-pty",
        "--python",
        &python,
        "where.py",
    ];
    let mut terminal = Terminal::start(&scene, &words);
    terminal.until_line(&["where.py:", " · stop 1"]);
    terminal.press("c");
    terminal.until_shown(&["in elsewhere green", "all has ended"]);
    terminal.press("q");
    assert_eq!(terminal.leave(), 0);
}

#[test]
fn an_adapter_that_is_killed_is_said_and_the_screen_stays_usable() {
    let scene = scene(&["pair.py", "leaf.py"]);
    let mut terminal = two_stopped(&scene);
    process::send(scene.process_with("quick_adapter").pid, Signal::KILL);
    terminal.until_shown(&["the debug adapter ended by SIGKILL"]);
    terminal.press("?");
    terminal.until_shown(&["step over the line"]);
    terminal.press("\x1b");
    terminal.until("help gone", |screen| {
        !screen.contents().contains("step over the line")
    });
    // Without a debugger the leaves run on, to their end.
    terminal.until_shown(&["3 ended", "all has ended"]);
    terminal.press("q");
    terminal.leave();
    scene.assert_nothing_left(LEFT);
}

#[test]
fn a_worker_and_the_root_that_are_killed_are_said() {
    let scene = scene(&["pair.py", "leaf.py"]);
    let mut terminal = two_stopped(&scene);
    let leaf = |process: &process::Process| process.command.ends_with("leaf.py 1");
    let first = scene
        .processes()
        .into_iter()
        .find(leaf)
        .expect("a leaf")
        .pid;
    process::send(first, Signal::KILL);
    terminal.until_shown(&["3 ‖1 ▶1 ■1", "SIGKILL"]);
    process::send(scene.process_with("debugpy_launcher.py").pid, Signal::KILL);
    terminal.until_shown(&["1 stopped · 2 ended"]);
    // The one that is left is still debugged.
    terminal.press("}");
    terminal.until_line(&["leaf.py:6", "breakpoint · stop 1"]);
    terminal.press("n");
    terminal.until_line(&["leaf.py:7", "step · stop 2"]);
    assert_eq!(quit(&mut terminal), 137);
    scene.assert_nothing_left(LEFT);
}

#[test]
fn when_daptree_is_killed_its_tree_ends() {
    let scene = scene(&["pair.py", "leaf.py"]);
    let mut terminal = two_stopped(&scene);
    terminal.signal(Signal::KILL);
    terminal.wait_ended();
    scene.assert_nothing_left(Duration::from_secs(5));
}

#[test]
fn two_workers_of_xdist_stop_and_a_restart_stops_them_again() {
    let scene = scene(&["test_pair.py"]);
    let place = scene.at("test_pair.py", "# stop here");
    let program = [
        "python",
        "-m",
        "pytest",
        "-q",
        "-n",
        "2",
        "-p",
        "no:cacheprovider",
    ];
    let mut words = vec!["-b", &place, "--"];
    words.extend(program);
    words.push("test_pair.py");
    let mut terminal = Terminal::start(&scene, &words);
    terminal.until_shown(&["3 · 2 stopped · 1 running", "gw0", "gw1"]);
    let root = |process: &process::Process| process.command.contains("debugpy_launcher.py");
    let first = scene.process_with("debugpy_launcher.py").pid;
    terminal.press("r");
    terminal.until_shown(&["ended and started again"]);
    terminal.press("\r");
    process::watch(terminal.pid, PATIENCE, || {
        scene
            .processes()
            .iter()
            .any(|process| root(process) && process.pid != first)
    });
    let second = scene.process_with("debugpy_launcher.py").pid.to_string();
    terminal.until_line(&["-m pytest", &second]);
    terminal.until_shown(&["3 · 2 stopped · 1 running", "gw0", "gw1"]);
    terminal.press("CT");
    terminal.until_shown(&["all has ended", "2 passed"]);
    terminal.press("q");
    assert_eq!(terminal.leave(), 0);
    scene.assert_nothing_left(LEFT);
}

#[test]
fn one_stop_holds_the_tree_and_all_go_on_as_one() {
    let scene = scene(&["world.py"]);
    let place = scene.at("world.py", "# stop here");
    let words = [
        "--stop-the-world",
        "-b",
        &place,
        "--",
        "python",
        "world.py",
        "30",
        "1",
    ];
    let mut terminal = Terminal::start(&scene, &words);
    // The root waits in C for its workers.
    terminal.until_shown(&["tree 4 ‖1 h2 ▶1 W"]);
    terminal.until_line(&["world", "held world.py"]);
    terminal.until_line(&["world.py", "pausing"]);
    terminal.until_line(&["flight", "breakpoint · stop 1"]);
    terminal.press("n");
    terminal.until_line(&["flight", "step · stop 2"]);
    terminal.until_shown(&["tree 4 ‖1 h2 ▶1 W"]);
    // Switched off, the others run on beside the one that stands.
    terminal.press("W");
    terminal.until_shown(&["holds nobody else"]);
    terminal.until("nobody held", |screen| !screen.contents().contains("held"));
    terminal.press("6d2CT");
    terminal.until_shown(&["all has ended", "'flight': 30, 'world': 30"]);
    terminal.press("q");
    assert_eq!(terminal.leave(), 0);
    scene.assert_nothing_left(LEFT);
}

#[test]
fn a_session_is_ended_after_a_question_and_the_rest_goes_on() {
    let scene = scene(&["pair.py", "leaf.py"]);
    let mut terminal = two_stopped(&scene);
    terminal.press("2x");
    terminal.until_shown(&["ended, the rows stay", "t the tree (3)"]);
    terminal.press("\x1b");
    terminal.until("no question", |screen| {
        !screen.contents().contains("the rows stay")
    });
    terminal.press("x\r");
    terminal.until_shown(&["was ended", "3 ‖1 ▶1 ■1"]);
    terminal.press("D");
    terminal.until_shown(&["live on without a debugger"]);
    terminal.press("n");
    terminal.press("1gX");
    terminal.until_shown(&["ended, the rows go"]);
    terminal.press("\r");
    terminal.until_shown(&[
        "every tree was closed",
        "was ended with 2 sessions below it",
    ]);
    terminal.press("q");
    terminal.leave();
    scene.assert_nothing_left(LEFT);
}
