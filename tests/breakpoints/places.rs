//! Functions, log points, conditions and hit conditions in children.

use crate::{run_through, scene, twice};
use daptree_model::{BreakpointSpec, Op, Place};
use daptree_testing::Front;

#[test]
fn a_function_stops_in_the_children_that_call_it() {
    let scene = twice();
    let mut front = Front::start(&scene);
    let mut request = front.request(&["python", "twice.py"], &[]);
    request.breakpoints = vec![BreakpointSpec {
        condition: Some("i == 3".to_owned()),
        ..BreakpointSpec::function("step")
    }];
    let root = front.launch_as(request);
    let both = front.until_paused(2);
    for row in both {
        let view = front.row(row);
        let stop = view.stopped.as_ref().unwrap();
        let Some(Place { function, line, .. }) = &stop.place else {
            panic!("{stop:?}");
        };
        assert_eq!((function.as_str(), *line), ("step", 1));
        assert_eq!(stop.breakpoints.len(), 1);
    }
    assert_eq!(run_through(&mut front, root).len(), 2);
    let known = &front.snapshot().breakpoints[0];
    assert_eq!((known.hits, known.hits_in.len()), (2, 2));
}

#[test]
fn a_log_point_prints_in_each_process_and_stops_none() {
    let scene = twice();
    let mut front = Front::start(&scene);
    let mut request = front.request(&["python", "twice.py"], &[]);
    request.breakpoints = vec![BreakpointSpec {
        log_message: Some("i is {i} here".to_owned()),
        condition: Some("i > 2".to_owned()),
        ..front.breakpoint("five.py", "# here")
    }];
    let root = front.launch_as(request);
    assert_eq!(run_through(&mut front, root), []);
    let mut printed = front.output(None);
    printed.retain(|line| line.contains(" here"));
    printed.sort();
    let wanted = ["i is 3 here", "i is 3 here", "i is 4 here", "i is 4 here"];
    assert_eq!(printed, wanted);
}

#[test]
fn hits_are_counted_in_each_process_on_its_own() {
    for (condition, hit, values) in [
        (None, "3", vec!["2"]),
        (None, ">= 4", vec!["3", "4"]),
        (None, "% 2", vec!["1", "3"]),
        // Both have to hold: the second odd one.
        (Some("i % 2 == 1"), "2", vec!["3"]),
    ] {
        let scene = twice();
        let mut front = Front::start(&scene);
        let mut request = front.request(&["python", "twice.py"], &[]);
        request.breakpoints = vec![BreakpointSpec {
            condition: condition.map(str::to_owned),
            hit_condition: Some(hit.to_owned()),
            ..front.breakpoint("five.py", "# here")
        }];
        front.launch_as(request);
        for wanted in values {
            for row in front.until_paused(2) {
                assert_eq!(front.value(row, "i"), wanted, "{condition:?} {hit}");
            }
            let all = front.snapshot();
            for row in all.rows.values().filter(|row| row.is_paused()) {
                front.begin(Op::Continue(row.id));
            }
            front.until("both gone on", |snapshot| {
                !snapshot
                    .rows
                    .values()
                    .any(|row| row.is_paused() && all.rows[&row.id].stop == row.stop)
            });
        }
        front.until_output("ended 0");
    }
}

#[test]
fn another_breakpoint_in_the_file_does_not_begin_the_count_again() {
    let scene = scene();
    scene.write(
        "count.py",
        "def step(i):\n    return i  # here\n\n\nfor i in range(5):\n    step(i)\n    i += 0  # there\n",
    );
    let mut front = Front::start(&scene);
    let mut request = front.request(&["python", "count.py"], &[]);
    request.breakpoints = vec![
        BreakpointSpec {
            hit_condition: Some("4".to_owned()),
            ..front.breakpoint("count.py", "# here")
        },
        BreakpointSpec {
            condition: Some("i == 1".to_owned()),
            ..front.breakpoint("count.py", "# there")
        },
    ];
    let root = front.launch_as(request);
    front.until_paused(1);
    // Two hits are counted; now the adapter is told the whole file again.
    let second = front.snapshot().breakpoints[1].id;
    front.command(Op::RemoveBreakpoint(second)).unwrap();
    front.go_on(root);
    front.until("the fourth hit", |snapshot| {
        snapshot.rows[&root].stop.0 == 2 && snapshot.rows[&root].is_paused()
    });
    assert_eq!(front.value(root, "i"), "3");
}
