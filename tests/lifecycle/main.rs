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

use daptree_model::{EndStatus, Row, RowId, Snapshot};
use daptree_testing::Scene;

fn scene() -> Scene {
    Scene::new(
        env!("CARGO_BIN_EXE_daptree"),
        &["parent.py", "child.py", "descend.py"],
    )
}

/// The exit code of a row that has ended.
fn code(row: &Row) -> Option<i32> {
    match row.end.as_ref()?.status {
        EndStatus::Exited(code) => Some(code),
        _ => None,
    }
}

/// The rows right below a row, in the order in which they were seen.
fn below(snapshot: &Snapshot, parent: RowId) -> Vec<RowId> {
    let rows = snapshot.rows.values();
    rows.filter(|row| row.parent == Some(parent))
        .map(|row| row.id)
        .collect()
}
