//! Stop means the tree: whatever its processes do against it.

use crate::{closed, say, scene};
use daptree_model::{Op, RowState};
use daptree_testing::{Front, PATIENCE, process};
use rustix::process::Signal;
use std::time::{Duration, Instant};

/// Far more than it takes; a loaded machine needs some of it.
const WITHIN: Duration = Duration::from_secs(5);

#[test]
fn the_deaf_the_daemon_and_the_parked_end_too() {
    let scene = scene();
    let mut front = Front::start(&scene);
    let root = front.launch(&["python", "stubborn.py"], &[("child.py", "# work")]);
    front.until_output("stubborn waits");
    assert_eq!(front.wait(root).state, RowState::Paused);
    // An adapter that does not move leaves the next child parked.
    process::send(scene.process_with("quick_adapter").pid, Signal::STOP);
    say(&scene, "more");
    let last = front.until_output("last ");
    let last: u32 = last.rsplit(' ').next().unwrap().parse().unwrap();
    process::watch(last, PATIENCE, || {
        process::marked(&scene.mark)
            .iter()
            .any(|it| it.pid == last && it.command.contains("pydevd"))
    });
    let begun = Instant::now();
    let answer = front.command(Op::Terminate(root));
    let took = begun.elapsed();
    eprintln!("ended after {took:?}");
    let children = front
        .snapshot()
        .rows
        .values()
        .filter(|row| row.is_session())
        .count()
        - 1;
    assert_eq!(answer, Ok(closed(u32::try_from(children).unwrap())));
    assert!(took < WITHIN, "{took:?}");
    assert!(front.snapshot().rows.values().all(|row| row.is_ended()));
    scene.assert_nothing_left(PATIENCE);
}
