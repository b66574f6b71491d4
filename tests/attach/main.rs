//! Attaching to real programs that run already: by port, by pid, and as they connect. Whatever
//! happens, they run to their end. An engine runs in this process, with a front end for tests.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "this is test code: what goes wrong in it fails the test at once"
)]

mod died;
mod listen;
mod pid;
mod port;
mod refused;
mod target;

use daptree_model::{
    Answer, AttachRequest, AttachTarget, BreakpointSpec, EngineError, Op, RowId, Snapshot,
};
use daptree_testing::{Front, Scene};
use target::Target;

fn scene() -> Scene {
    let programs = ["parent.py", "child.py", "beat.py"];
    Scene::new(env!("CARGO_BIN_EXE_daptree"), &programs)
}

/// An attach with these breakpoints.
fn request(scene: &Scene, target: AttachTarget, stops: &[(&str, &str)]) -> AttachRequest {
    let at = |(file, text): &(&str, &str)| {
        let (path, line) = scene.place(file, text);
        BreakpointSpec::line(path, u32::try_from(line).expect("a line number"))
    };
    AttachRequest {
        target,
        just_my_code: true,
        exceptions: Vec::new(),
        max_children: 0,
        breakpoints: stops.iter().map(at).collect(),
        path_maps: Vec::new(),
        python: Some(scene.python.clone()),
        cwd: scene.work(),
        env: scene.env.clone(),
    }
}

/// Asks for an attach.
fn ask(front: &mut Front<'_>, request: AttachRequest) -> Result<RowId, EngineError> {
    match front.command(Op::Attach(Box::new(request)))? {
        Answer::Launched(root) => Ok(root),
        other => front.fail(&format!("an attach was answered with {other:?}")),
    }
}

/// Attaches to a target.
fn attach(
    front: &mut Front<'_>,
    scene: &Scene,
    target: AttachTarget,
    stops: &[(&str, &str)],
) -> RowId {
    match ask(front, request(scene, target, stops)) {
        Ok(root) => root,
        Err(error) => front.fail(&error.to_string()),
    }
}

/// The answer to the close of a root that was let go with so many sessions below it.
fn closed(children_closed: u32) -> Answer {
    Answer::Closed {
        children_closed,
        process_ended: false,
        released: true,
        survivors: Vec::new(),
    }
}

/// Where `Target` listens.
fn listening(target: &Target) -> AttachTarget {
    AttachTarget::Listening {
        host: "127.0.0.1".to_owned(),
        port: target.port(),
    }
}

/// The row of a process.
fn row_of(snapshot: &Snapshot, pid: u32) -> Option<RowId> {
    let rows = snapshot.rows.values();
    rows.filter(|row| row.process.is_some_and(|process| process.pid == pid))
        .map(|row| row.id)
        .next_back()
}
