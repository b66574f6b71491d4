//! Ports and pids that cannot be attached to: each is named, and nothing is changed.

use crate::{ask, request, scene};
use daptree_model::{AttachTarget, EngineError, Refusal, TreeState};
use daptree_testing::{Front, Scene};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

/// Why an attach to a port failed.
fn failure(scene: &Scene, port: u16) -> String {
    let mut front = Front::start(scene);
    let host = "127.0.0.1".to_owned();
    let target = AttachTarget::Listening { host, port };
    ask(&mut front, request(scene, target, &[])).unwrap();
    let failed = front.until("a failure", |snapshot| {
        matches!(snapshot.trees[0].state, TreeState::Failed(_))
    });
    match &failed.trees[0].state {
        TreeState::Failed(why) => why.clone(),
        other => front.fail(&format!("{other:?}")),
    }
}

#[test]
fn a_closed_port() {
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let why = failure(&scene(), port);
    for word in [
        format!("127.0.0.1:{port}"),
        format!("--listen {port}"),
        "refused".to_owned(),
    ] {
        assert!(why.contains(&word), "no {word:?} in {why}");
    }
}

#[test]
fn a_port_that_speaks_something_else() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        client
            .write_all(b"HTTP/1.1 400 Bad Request\r\nServer: x\r\n\r\n")
            .unwrap();
        let _ = client.read(&mut [0; 64]);
    });
    let why = failure(&scene(), port);
    assert!(why.contains("not a debug adapter"), "{why}");
    server.join().unwrap();
}

#[test]
fn a_port_that_says_nothing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let why = failure(&scene(), port);
    assert!(why.contains("not answered within"), "{why}");
}

/// A shell that waits for its input.
struct Shell(Child);

impl Shell {
    fn start() -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", "read x; true"]).stdin(Stdio::piped());
        Self(command.spawn().unwrap())
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        self.0.stdin = None;
        let _ = self.0.wait();
    }
}

#[test]
fn pids_that_cannot_be_attached_to() {
    let scene = scene();
    let shell = Shell::start();
    let table = [
        (999_999_999, Refusal::Gone),
        (shell.0.id(), Refusal::NotPython("sh".to_owned())),
        (std::process::id(), Refusal::Ours),
    ];
    let mut front = Front::start(&scene);
    for (pid, refusal) in table {
        let target = format!("pid {pid}");
        let wanted = EngineError::CannotAttach { target, refusal };
        let asked = request(&scene, AttachTarget::Process { pid }, &[]);
        assert_eq!(ask(&mut front, asked), Err(wanted));
    }
    let snapshot = front.snapshot();
    assert!(snapshot.rows.is_empty() && snapshot.trees.is_empty());
}

#[test]
fn without_gdb_it_says_how_to_get_it() {
    let mut scene = scene();
    let empty = scene.file("empty");
    std::fs::create_dir(&empty).unwrap();
    scene.set("PATH", &empty);
    let target = crate::Target::start(&scene, &["beat.py", "0"]);
    target.until("beats", 1);
    let mut front = Front::start(&scene);
    let mut asked = request(&scene, AttachTarget::Process { pid: target.pid() }, &[]);
    asked.python = None;
    ask(&mut front, asked).unwrap();
    let failed = front.until("a failure", |snapshot| {
        matches!(
            snapshot.trees[0].state,
            TreeState::Failed(_) | TreeState::Running
        )
    });
    match &failed.trees[0].state {
        TreeState::Failed(why) => assert!(why.contains("needs gdb"), "{why}"),
        // Python 3.14 needs none.
        _ => eprintln!("not tried: this Python needs no gdb"),
    }
    drop(front);
    target.end();
    target.finish("ended with []");
}
