//! Groups and worlds with real processes: who is held when one stops, and that nobody is left
//! behind. The engine is driven as a front end drives it.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "this is test code: what goes wrong in it fails the test at once"
)]

use daptree_model::{
    Answer, EndStatus, Event, Op, Row, RowId, RowState, Snapshot, Stop, StopNumber,
};
use daptree_testing::{Front, Scene, process};
use rustix::process::Signal;
use std::time::Duration;

const WORLD: (&str, &str) = ("world.py", "# stop here");

fn scene(programs: &[&str]) -> Scene {
    Scene::new(env!("CARGO_BIN_EXE_daptree"), programs)
}

/// Launches a program whose whole tree stops as one. Gives its root.
fn launch(front: &mut Front<'_>, words: &[&str], stop: (&str, &str)) -> RowId {
    let mut request = front.request(words, &[stop]);
    request.stop_the_world = true;
    front.launch_as(request)
}

/// The next stop that is no pause: those who are held come to theirs at any time.
fn own_stop(front: &mut Front<'_>) -> (RowId, Stop) {
    front.until_event("a stop", |event| match event {
        Event::Stopped { row, at, .. } if at.reason != "pause" => Some((*row, (**at).clone())),
        _ => None,
    })
}

fn done(front: &mut Front<'_>, op: Op) {
    let answer = front.command(op);
    assert_eq!(answer, Ok(Answer::Done));
}

fn forget_breakpoints(front: &mut Front<'_>) {
    for breakpoint in &front.snapshot().breakpoints {
        done(front, Op::RemoveBreakpoint(breakpoint.id));
    }
}

/// Waits for the end of a tree; gives how its root ended.
fn end(front: &mut Front<'_>) -> EndStatus {
    front.until_event("the end", |event| match event {
        Event::TreeEnded { status, .. } => Some(*status),
        _ => None,
    })
}

fn is(snapshot: &Snapshot, row: RowId, so: impl Fn(&Row) -> bool) -> bool {
    snapshot.rows.get(&row).is_some_and(|row| so(row))
}

#[test]
fn the_world_stands_while_one_stands_and_goes_on_as_one() {
    let scene = scene(&["world.py"]);
    let mut front = Front::start(&scene);
    launch(&mut front, &["python", "world.py", "200", "2"], WORLD);
    let mut latencies = Vec::new();
    for round in 1..=6 {
        let (flight, at) = own_stop(&mut front);
        let world = front.until_named("world");
        let snapshot = front.until("world is held", |now| {
            is(now, world, |row| row.held && row.is_paused()) && is(now, flight, Row::is_paused)
        });
        assert!(!snapshot.rows[&flight].held, "it stands by itself");
        let held = snapshot.rows[&world].stopped.as_ref().unwrap().since_ms;
        latencies.push(held.saturating_sub(at.since_ms));
        // The root waits for its children in C, and stops when it comes back.
        let root = &snapshot.rows[&snapshot.rows[&flight].root];
        assert!(root.pausing, "{:?}", root.state);
        // It stands still, whatever the other one does.
        let before = front.value(world, "value.value");
        for _ in 0..3 {
            done(&mut front, Op::Next(flight, None));
            let (row, at) = own_stop(&mut front);
            assert_eq!((row, at.reason.as_str()), (flight, "step"));
        }
        assert_eq!(front.value(world, "value.value"), before);
        let stop = front.row(world).stop;
        assert_eq!(stop, StopNumber(round), "one stop of the world each");
        if round == 6 {
            forget_breakpoints(&mut front);
        }
        done(&mut front, Op::Continue(flight));
    }
    assert_eq!(end(&mut front), EndStatus::Exited(0));
    println!("held after {latencies:?} ms");
    drop(front);
    scene.assert_nothing_left(Duration::from_secs(2));
}

#[test]
fn without_the_setting_the_others_run_on() {
    let scene = scene(&["world.py"]);
    let mut front = Front::start(&scene);
    front.launch(&["python", "world.py", "300", "0"], &[WORLD]);
    let (flight, _) = own_stop(&mut front);
    let world = front.until_named("world");
    front.until_ended(world);
    assert_eq!(front.row(flight).state, RowState::Paused);
    forget_breakpoints(&mut front);
    done(&mut front, Op::Continue(flight));
    assert_eq!(end(&mut front), EndStatus::Exited(0));
}

#[test]
fn whoever_is_born_while_the_world_stands_is_held_before_its_first_line() {
    let scene = scene(&["births.py", "leaf.py"]);
    let mut front = Front::start(&scene);
    let stop = ("births.py", "# stop here");
    launch(&mut front, &["python", "births.py"], stop);
    let (root, _) = own_stop(&mut front);
    let counter = front.until_named("counter");
    front.until("the counter is held", |now| {
        is(now, counter, |row| row.held)
    });
    // A program of its own, over the step that starts it.
    done(&mut front, Op::Next(root, None));
    let leaf = front.until_named("leaf.py");
    let snapshot = front.until("leaf.py is held and the step is over", |now| {
        is(now, leaf, |row| row.held) && is(now, root, Row::is_paused)
    });
    let stopped = snapshot.rows[&leaf].stopped.as_ref().unwrap();
    let place = stopped.place.as_ref().unwrap();
    assert!(place.path.ends_with("/leaf.py"), "{place:?}");
    assert!(place.line <= 3, "{place:?}: some of it ran already");
    // A worker that is forked.
    done(&mut front, Op::Next(root, None));
    let snapshot = front.until("the worker is held", |now| {
        let held = now.rows.values().filter(|row| row.held);
        held.count() == 3 && is(now, root, Row::is_paused)
    });
    let mut rows = snapshot.rows.values();
    assert!(rows.all(|row| !row.is_ended() && row.stop.0 <= 3));
    done(&mut front, Op::Continue(root));
    assert_eq!(end(&mut front), EndStatus::Exited(0));
    drop(front);
    scene.assert_nothing_left(Duration::from_secs(2));
}

#[test]
fn nobody_is_left_paused_when_the_one_that_stands_is_killed() {
    let scene = scene(&["world.py"]);
    let mut front = Front::start(&scene);
    launch(&mut front, &["python", "world.py", "300", "0"], WORLD);
    let (flight, _) = own_stop(&mut front);
    let world = front.until_named("world");
    front.until("world is held", |now| is(now, world, |row| row.held));
    process::send(front.pid(flight), Signal::KILL);
    assert_eq!(end(&mut front), EndStatus::Exited(0));
    let snapshot = front.until("all ended", |now| {
        now.rows.values().all(|row| row.is_ended())
    });
    let how = |row| snapshot.rows[&row].end.clone().unwrap();
    assert_eq!(how(flight).status, EndStatus::Signaled(9));
    assert!(how(flight).cause.unwrap().contains("while stopped for"));
    assert_eq!(how(world).status, EndStatus::Exited(0));
}

#[test]
fn all_are_paused_and_all_go_on() {
    let scene = scene(&["world.py"]);
    let mut front = Front::start(&scene);
    let root = front.launch(&["python", "world.py", "1000000", "1000"], &[]);
    let [flight, world, asleep] = ["flight", "world", "asleep"].map(|name| front.until_named(name));
    let all = [root, flight, world, asleep];
    let run = |now: &Snapshot| {
        let runs = |row: &Row| row.state == RowState::Running && !row.pausing && !row.held;
        all.iter().all(|row| is(now, *row, runs))
    };
    front.until("all run", run);
    assert_eq!(front.command(Op::PauseAll(root)), Ok(Answer::Told(4)));
    let snapshot = front.until("those that run Python stand", |now| {
        [flight, world]
            .iter()
            .all(|row| is(now, *row, |row| row.held))
    });
    for row in [asleep, root] {
        assert!(snapshot.rows[&row].pausing, "{row} is in C");
    }
    assert!(matches!(
        front.command(Op::ContinueAll(root)),
        Ok(Answer::Told(_))
    ));
    front.until("all run again", run);
    drop(front);
    scene.assert_nothing_left(Duration::from_secs(2));
}
