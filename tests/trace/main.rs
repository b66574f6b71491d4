//! `daptree trace` as a user runs it: the real binary, real Pythons, real debugpy. What holds for
//! every run (one end a session, a summary, nothing left) is checked by the harness for each.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "this is test code: what goes wrong in it fails the test at once"
)]

mod children;
mod ends;
mod exceptions;
mod programs;
mod pythons;
mod refusals;
mod stops;
mod streams;

use daptree_testing::Scene;

/// A scene with these programs.
fn scene(programs: &[&str]) -> Scene {
    Scene::new(env!("CARGO_BIN_EXE_daptree"), programs)
}
