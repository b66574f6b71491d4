//! Processes that die at the worst moment: the adapter, a worker, the root, daptree itself. What
//! is left is said, and nothing stays stopped, parked or alive.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "this is test code: what goes wrong in it fails the test at once"
)]

use daptree_testing::{PATIENCE, Scene, Trace, process};
use rustix::process::Signal;
use serde_json::Value;
use std::time::Duration;

/// Within this time of daptree's death nothing of the tree is left.
const WITHIN: Duration = Duration::from_secs(5);

fn scene() -> Scene {
    Scene::new(
        env!("CARGO_BIN_EXE_daptree"),
        &["eight.py", "gate.py", "leaf.py", "pair.py", "sleepers.py"],
    )
}

/// A tree with two stopped leaves, one of them in a session of its own, and a root that waits for
/// a word.
fn two_stopped(scene: &Scene) -> Trace<'_> {
    let trace = scene
        .trace()
        .option("--hold")
        .option("600")
        .stop("leaf.py", "# stop here");
    let mut trace = trace.open_stdin().start(&["python", "gate.py"]);
    trace.until_stops(2);
    trace
}

fn adapter(scene: &Scene) -> u32 {
    scene.process_with("quick_adapter").pid
}

fn pid_of(line: &Value) -> u32 {
    let text = line["text"].as_str().unwrap();
    text.trim().rsplit(' ').next().unwrap().parse().unwrap()
}

#[test]
fn when_the_adapter_is_killed_it_is_said_and_the_tree_ends() {
    let scene = scene();
    let trace = two_stopped(&scene);
    process::send(adapter(&scene), Signal::KILL);
    let run = trace.finish();
    assert_eq!(run.code, 125);
    let said = run
        .lines("warning")
        .map(|line| line["message"].to_string())
        .collect::<String>();
    assert!(
        (said.clone() + run.stderr()).contains("adapter"),
        "{said} {}",
        run.stderr()
    );
}

#[test]
fn a_killed_worker_is_reported_and_the_rest_goes_on() {
    let scene = scene();
    let mut trace = two_stopped(&scene);
    let stopped = trace.stopped();
    process::send(stopped[0], Signal::KILL);
    trace.until("the end of the killed one", |line| {
        line["type"] == "end" && line["signal"] == "SIGKILL"
    });
    // The other one still stands, and the root still starts what it is told to.
    trace.say("go\n");
    trace.until_stops(3);
    assert_eq!(
        trace
            .stopped()
            .iter()
            .filter(|pid| **pid == stopped[0])
            .count(),
        1
    );
    trace.signal(Signal::INT);
    assert_eq!(trace.finish().code, 130);
}

#[test]
fn when_the_root_is_killed_its_children_are_still_debugged() {
    let scene = scene();
    let mut trace = two_stopped(&scene);
    let root = trace.pid_of("gate.py");
    process::send(root, Signal::KILL);
    let killed = |line: &Value| line["type"] == "end" && line["signal"] == "SIGKILL";
    trace.until("the end of the root", killed);
    for pid in trace.stopped() {
        assert!(
            scene.processes().iter().any(|process| process.pid == pid),
            "{pid} died too"
        );
    }
    trace.signal(Signal::TERM);
    assert_eq!(trace.finish().code, 143);
}

#[test]
fn all_killed_at_once_is_the_end() {
    let scene = scene();
    let trace = two_stopped(&scene);
    let mut all = trace.stopped();
    all.push(trace.pid_of("gate.py"));
    for pid in all {
        process::send(pid, Signal::KILL);
    }
    let run = trace.finish();
    assert_eq!(run.code, 137);
    assert_eq!(
        run.lines("end")
            .filter(|end| end["signal"] == "SIGKILL")
            .count(),
        3
    );
}

#[test]
fn when_daptree_is_killed_nothing_stays_stopped_or_parked() {
    let scene = scene();
    let mut trace = two_stopped(&scene);
    // An adapter that does not move leaves the third child parked, in a session of its own.
    process::send(adapter(&scene), Signal::STOP);
    trace.say("go\n");
    let third = trace.until("the third", |line| {
        line["type"] == "output" && line["text"].as_str().unwrap().starts_with("third ")
    });
    let third = pid_of(&third);
    process::watch(third, PATIENCE, || holds_a_socket(third));
    trace.signal(Signal::KILL);
    trace.wait_ended();
    scene.assert_nothing_left(WITHIN);
}

#[test]
fn of_eight_children_none_stays_stopped_or_parked_when_daptree_is_killed() {
    let scene = scene();
    let trace = scene.trace().option("--hold").option("600");
    let trace = trace.stop("leaf.py", "# stop here").open_stdin();
    let mut trace = trace.start(&["python", "eight.py"]);
    trace.until_stops(2);
    let says = |line: &Value, text: &str| {
        line["type"] == "output" && line["text"].as_str().unwrap().starts_with(text)
    };
    trace.until_count("five that stay", 5, |line| says(line, "stays"));
    process::send(adapter(&scene), Signal::STOP);
    trace.say("go\n");
    let eighth = pid_of(&trace.until("the eighth", |line| says(line, "eighth ")));
    process::watch(eighth, PATIENCE, || holds_a_socket(eighth));
    trace.signal(Signal::KILL);
    trace.wait_ended();
    scene.assert_nothing_left(WITHIN);
}

fn holds_a_socket(pid: u32) -> bool {
    let Ok(held) = std::fs::read_dir(format!("/proc/{pid}/fd")) else {
        return false;
    };
    let targets = held
        .flatten()
        .filter_map(|entry| std::fs::read_link(entry.path()).ok());
    targets
        .into_iter()
        .any(|target| target.to_string_lossy().starts_with("socket:"))
}

#[test]
fn when_daptree_is_killed_the_deaf_and_the_native_end_too() {
    let scene = scene();
    let mut trace = scene.trace().start(&["python", "sleepers.py"]);
    trace.until("ready", |line| {
        line["type"] == "output" && line["text"].as_str().unwrap().contains("ready")
    });
    trace.signal(Signal::KILL);
    trace.wait_ended();
    scene.assert_nothing_left(WITHIN);
}

#[test]
fn when_daptree_is_killed_while_it_starts_nothing_stays() {
    let scene = scene();
    let mut trace = scene.trace().start(&["python", "pair.py"]);
    process::watch(trace.pid(), PATIENCE, || {
        scene
            .processes()
            .iter()
            .any(|process| process.command.contains("quick_adapter"))
    });
    trace.signal(Signal::KILL);
    trace.wait_ended();
    scene.assert_nothing_left(WITHIN);
}

#[test]
fn a_keeper_that_is_killed_is_replaced() {
    let scene = scene();
    let mut trace = two_stopped(&scene);
    let first = scene.process_with("daptree keeper").pid;
    process::send(first, Signal::KILL);
    process::watch(trace.pid(), PATIENCE, || {
        let all = scene.processes();
        all.iter()
            .any(|process| process.pid != first && process.command.contains("daptree keeper"))
    });
    trace.signal(Signal::KILL);
    trace.wait_ended();
    scene.assert_nothing_left(WITHIN);
}

/// As `bwrap` and container tools start things: our parent, our session and our process group are
/// then outside of all that we can see, and have the number 0.
#[test]
fn in_a_pid_namespace_of_its_own_it_ends_as_anywhere() {
    const NAMESPACE: [&str; 4] = ["unshare", "--pid", "--fork", "--mount-proc"];
    if !process::runs(&[&NAMESPACE[..], &["true"]].concat()) {
        eprintln!("not tried: {NAMESPACE:?} is not allowed here");
        return;
    }
    let scene = scene();
    let trace = scene
        .trace()
        .under(&NAMESPACE)
        .stop("leaf.py", "# stop here");
    let run = trace.start(&["python", "pair.py"]).finish();
    assert_eq!(run.code, 0, "{}", run.stderr());
    assert_eq!(run.lines("end").count(), 3, "{}", run.stderr());
    assert!(!run.stderr().contains("panicked"), "{}", run.stderr());
}
