//! A breakpoint for some processes, or for a single stop of all of them.

use crate::{FIVE, run_through, scene, stops, twice};
use daptree_model::{BreakpointScope, BreakpointSpec, Op};
use daptree_testing::Front;

const TESTS: &str = "import pytest\n\n\ndef helper(n):\n    return n  # here\n\n\n\
    @pytest.mark.parametrize('n', range(8))\ndef test_n(n):\n    assert helper(n) == n\n";

const PYTEST: [&str; 5] = ["python", "-m", "pytest", "-q", "-pno:cacheprovider"];

#[test]
fn one_worker_of_xdist_by_its_name() {
    let scene = scene();
    scene.write("test_many.py", TESTS);
    let mut front = Front::start(&scene);
    let words = [&PYTEST[..], &["-n", "2", "test_many.py"]].concat();
    let mut request = front.request(&words, &[]);
    request.breakpoints = vec![BreakpointSpec {
        scope: BreakpointScope::Program("gw1".to_owned()),
        ..front.breakpoint("test_many.py", "# here")
    }];
    let root = front.launch_as(request);
    let stopped = run_through(&mut front, root);
    let snapshot = front.snapshot();
    assert!(!stopped.is_empty());
    for row in &stopped {
        assert_eq!(snapshot.rows[row].name, "gw1");
    }
    let known = &snapshot.breakpoints[0];
    assert_eq!(known.hits as usize, stopped.len());
    let asked: Vec<&str> = known
        .sessions
        .keys()
        .map(|row| snapshot.rows[row].name.as_str())
        .collect();
    assert_eq!(asked, ["gw1"]);
    front.until_output("8 passed");
}

#[test]
fn the_first_of_four_workers_stops_and_no_other() {
    let scene = scene();
    scene.write("test_many.py", TESTS);
    let mut front = Front::start(&scene);
    let words = [&PYTEST[..], &["-n", "4", "test_many.py"]].concat();
    let mut request = front.request(&words, &[]);
    request.breakpoints = vec![BreakpointSpec {
        once: true,
        ..front.breakpoint("test_many.py", "# here")
    }];
    let root = front.launch_as(request);
    let first = front.until_paused(1)[0];
    assert!(front.snapshot().breakpoints.is_empty(), "it is used up");
    // The other workers run all other tests meanwhile, past the same line.
    front.go_on(first);
    assert_eq!(run_through(&mut front, root), [first]);
    front.until_output("8 passed");
}

#[test]
fn a_subtree_and_a_session_stop_alone() {
    let scene = twice();
    scene.write("go.py", FIVE);
    let mut front = Front::start(&scene);
    // Both children stand at their first line; then only one of them is meant.
    let root = front.launch(&["python", "twice.py"], &[("five.py", "def step")]);
    let both = front.until_paused(2);
    let only = both[1];
    let spec = BreakpointSpec {
        scope: BreakpointScope::Subtree(only),
        ..front.breakpoint("five.py", "# here")
    };
    front.command(Op::SetBreakpoint(spec)).unwrap();
    let stopped = run_through(&mut front, root);
    let of = |row| stopped.iter().filter(|stopped| **stopped == row).count();
    assert_eq!((of(both[0]), of(only)), (1, 6), "{stopped:?}");
    assert_eq!(stops(&front).len(), 7);
}
