//! Every row of the lifecycle against real debugpy: who stays, who ends, what is answered. An
//! engine runs in this process, with a front end for tests.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "this is test code: what goes wrong in it fails the test at once"
)]

mod cascade;
mod closing;
mod faults;
mod many;
mod refusals;
mod roots;
mod stopping;
mod waits;

use daptree_model::{Answer, EndStatus, Row, RowId, Snapshot};
use daptree_testing::Scene;

fn scene() -> Scene {
    Scene::new(
        env!("CARGO_BIN_EXE_daptree"),
        &[
            "parent.py",
            "child.py",
            "descend.py",
            "stay.py",
            "stubborn.py",
        ],
    )
}

/// The answer to a close or a terminate whose process was ended.
fn closed(children_closed: u32) -> Answer {
    Answer::Closed {
        children_closed,
        process_ended: true,
        released: false,
        survivors: Vec::new(),
    }
}

/// Says a word to a `stay.py` of this name, once it waits for one.
fn say(scene: &Scene, name: &str) {
    std::fs::write(scene.file(name), "go\n").unwrap();
}

/// The exit code of a row that has ended.
fn code(row: &Row) -> Option<i32> {
    match row.end.as_ref()?.status {
        EndStatus::Exited(code) => Some(code),
        _ => None,
    }
}

/// The rows right below a row, in the order of their command lines: of two that are started at once
/// either may be seen first.
fn below(snapshot: &Snapshot, parent: RowId) -> Vec<RowId> {
    let rows = snapshot.rows.values();
    let mut rows: Vec<_> = rows.filter(|row| row.parent == Some(parent)).collect();
    rows.sort_by_key(|row| &row.command);
    rows.into_iter().map(|row| row.id).collect()
}
