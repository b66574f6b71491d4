//! Programs that connect to daptree.

use crate::target::Target;
use crate::{attach, closed, scene};
use daptree_model::{AttachTarget, Op, Snapshot, TreeState};
use daptree_testing::{Front, Scene};

fn anywhere() -> AttachTarget {
    AttachTarget::Listen {
        host: "127.0.0.1".to_owned(),
        port: 0,
    }
}

/// The command that it says the other side has to give.
fn told(snapshot: &Snapshot) -> Option<String> {
    match &snapshot.trees.last()?.state {
        TreeState::Preparing(text) => {
            let (_, command) = text.split_once("on the other side: ")?;
            Some(command.to_owned())
        }
        _ => None,
    }
}

/// Starts a program as it says.
fn connect<'a>(scene: &'a Scene, command: &str, program: &[&str]) -> Target<'a> {
    let words: Vec<&str> = command.split(' ').collect();
    assert_eq!((words[0], words[words.len() - 1]), ("python", "PROGRAM"));
    let mut all = words[1..words.len() - 1].to_vec();
    all.push("--wait-for-client");
    all.extend(program);
    Target::start(scene, &all)
}

#[test]
fn a_program_that_connects_is_debugged_with_its_children_and_let_go() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let root = attach(&mut front, &scene, anywhere(), &[("child.py", "# work")]);
    let waits = front.until("an address", |snapshot| told(snapshot).is_some());
    let target = connect(&scene, &told(&waits).unwrap(), &["parent.py"]);
    let child = front.until_paused(1)[0];
    assert_eq!(front.row(child).parent, Some(root));
    assert_eq!(front.pid(root), target.pid());
    assert_eq!(front.command(Op::Close(root)), Ok(closed(1)));
    target.finish("child ended with 3");
}

#[test]
fn one_program_after_another_becomes_a_tree_of_its_own() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let host = "127.0.0.1".to_owned();
    attach(&mut front, &scene, AttachTarget::Listen { host, port }, &[]);
    let mut place = None;
    for trees in 1..=3 {
        let waits = front.until("an address", |snapshot| {
            snapshot.trees.len() == trees && told(snapshot).is_some()
        });
        let command = told(&waits).unwrap();
        assert_eq!(place.get_or_insert_with(|| command.clone()), &command);
        let target = connect(&scene, &command, &["child.py"]);
        target.finish("child is done");
    }
    let over = front.until("a fourth", |snapshot| snapshot.trees.len() == 4);
    let ended = over
        .trees
        .iter()
        .filter(|tree| tree.state == TreeState::Ended);
    assert_eq!(ended.count(), 3);
}

#[test]
fn a_listener_that_is_closed_is_gone() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let root = attach(&mut front, &scene, anywhere(), &[]);
    front.until("an address", |snapshot| told(snapshot).is_some());
    front.command(Op::Close(root)).unwrap();
    assert!(front.snapshot().rows.is_empty());
}

#[test]
fn an_address_that_is_taken_is_said() {
    let scene = scene();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let mut front = Front::start(&scene);
    let host = "127.0.0.1".to_owned();
    let root = attach(&mut front, &scene, AttachTarget::Listen { host, port }, &[]);
    let failed = front.until("a failure", |snapshot| {
        matches!(snapshot.trees[0].state, TreeState::Failed(_))
    });
    let TreeState::Failed(why) = &failed.trees[0].state else {
        panic!("{root}");
    };
    assert!(
        why.contains(&format!("127.0.0.1:{port}")) && why.contains("choose"),
        "{why}"
    );
}
