//! Breakpoints and exceptions against real debugpy, through the engine's own channels: in which
//! processes they stop, how often, and what is said where they never will.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "this is test code: what goes wrong in it fails the test at once"
)]

mod exceptions;
mod places;
mod reach;
mod scopes;

use daptree_model::{Event, Op, RowId};
use daptree_testing::{Front, Scene};

fn scene() -> Scene {
    Scene::new(env!("CARGO_BIN_EXE_daptree"), &[])
}

/// Two children, each of which calls `step` five times.
const TWICE: &str = "import subprocess, sys\n\
    children = [subprocess.Popen([sys.executable, 'five.py', str(n)]) for n in (1, 2)]\n\
    print('ended', sum(child.wait() for child in children))\n";
const FIVE: &str = "def step(i):\n    return i  # here\n\n\nfor i in range(5):\n    step(i)\n";

/// A scene with that program.
fn twice() -> Scene {
    let scene = scene();
    scene.write("twice.py", TWICE);
    scene.write("five.py", FIVE);
    scene
}

/// The sessions that stopped so far, one for each stop.
fn stops(front: &Front<'_>) -> Vec<RowId> {
    let events = front.events().iter();
    events
        .filter_map(|event| match event {
            Event::Stopped { row, .. } => Some(*row),
            _ => None,
        })
        .collect()
}

/// Lets every session run on from each stop until the tree ends; gives the sessions that stopped,
/// one for each stop.
fn run_through(front: &mut Front<'_>, root: RowId) -> Vec<RowId> {
    loop {
        let paused = |snapshot: &daptree_model::Snapshot| {
            let mut rows = snapshot.rows.values();
            let row = rows.find(|row| row.is_paused()).map(|row| row.id);
            let live = snapshot
                .tree_of(root)
                .is_some_and(|tree| tree.state.is_live());
            (row, live)
        };
        let snapshot = front.until("a stop or the end", |snapshot| {
            let (row, live) = paused(snapshot);
            row.is_some() || !live
        });
        match paused(&snapshot).0 {
            Some(row) => {
                // It may have gone on by itself since.
                let _ = front.command(Op::Continue(row));
            }
            None => return stops(front),
        }
    }
}
