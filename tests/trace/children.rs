//! Each way in which a program gets children: they have rows, stop, and end with their own status.

use crate::scene;

#[test]
fn a_forked_child_stops_and_ends_with_its_own_status() {
    let scene = scene(&["fork.py"]);
    let run = scene
        .trace()
        .stop("fork.py", "# stop here")
        .eval("number")
        .run(&["python", "fork.py"]);
    assert_eq!(run.code, 0);
    run.assert_no_warning();
    assert_eq!(run.places(), [scene.place("fork.py", "# stop here")]);
    assert_eq!(run.values("number"), ["14"]);
    let stop = run.stops()[0];
    assert_eq!(stop["reason"], "breakpoint");
    assert_eq!(stop["thread"], "MainThread");
    assert_eq!(stop["function"], "<module>");
    let root = run.row("fork.py");
    let rows = run.rows();
    let child = &rows[stop["session"].as_str().unwrap()];
    assert_eq!(child["parent"], root["session"]);
    assert_eq!(run.end(&child["session"])["exitCode"], 3);
    assert_eq!(run.output_of(&child["session"], "stdout"), "child 14\n");
    assert_eq!(run.output_of(&root["session"], "stdout"), "parent saw 3\n");
}

fn workers(method: &str, helpers: &[&str]) -> (daptree_testing::Scene, daptree_testing::Run) {
    let scene = scene(&["workers.py"]);
    let trace = scene
        .trace()
        .stop("workers.py", "# stop here")
        .eval("double");
    let run = trace.run(&["python", "workers.py", method]);
    assert_eq!(run.code, 0);
    run.assert_no_warning();
    let mut values = run.values("double");
    values.sort();
    assert_eq!(values, ["2", "4"]);
    assert_eq!(run.output("stdout"), "[2, 4]\n");
    let found = run.rows();
    let mut names: Vec<&str> = found
        .values()
        .filter(|row| row["follow"] == "helper")
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(names, helpers);
    assert_eq!(run.names("adopted"), ["worker-1", "worker-2", "workers.py"]);
    (scene, run)
}

#[test]
fn forked_workers_have_their_names() {
    let (_scene, run) = workers("fork", &[]);
    assert_eq!(
        run.row("worker-1")["parent"],
        run.row("workers.py")["session"]
    );
}

#[test]
fn spawned_workers_come_with_a_tracker_that_never_stops() {
    let (_scene, run) = workers("spawn", &["resource_tracker"]);
    let tracker = run.row("resource_tracker");
    assert!(
        run.stops()
            .iter()
            .all(|stop| stop["session"] != tracker["session"])
    );
    assert_eq!(
        run.row("worker-2")["parent"],
        run.row("workers.py")["session"]
    );
}

#[test]
fn workers_of_a_fork_server_are_below_it() {
    let (_scene, run) = workers("forkserver", &["forkserver", "resource_tracker"]);
    let server = run.row("forkserver");
    assert_eq!(server["parent"], run.row("workers.py")["session"]);
    assert_eq!(run.row("worker-1")["parent"], server["session"]);
    assert_eq!(run.row("worker-2")["parent"], server["session"]);
}

#[test]
fn a_root_that_replaces_itself_keeps_its_row() {
    let scene = scene(&["replace.py"]);
    let trace = scene
        .trace()
        .stop("replace.py", "# stop first")
        .stop("replace.py", "# stop second");
    let run = trace.run(&["python", "replace.py"]);
    assert_eq!(run.code, 6);
    run.assert_no_warning();
    let wanted = [
        scene.place("replace.py", "# stop first"),
        scene.place("replace.py", "# stop second"),
    ];
    assert_eq!(run.places(), wanted);
    assert_eq!(run.rows().len(), 1);
    let stops = run.stops();
    assert_eq!(stops[0]["pid"], stops[1]["pid"]);
    assert_eq!(
        run.output("stdout"),
        format!("first\nsecond {}\n", stops[0]["pid"])
    );
}

#[test]
fn a_child_that_forks_and_execs_is_one_row() {
    let scene = scene(&["fork_exec.py", "leaf.py"]);
    let trace = scene.trace().stop("leaf.py", "# stop here").eval("status");
    let run = trace.run(&["python", "fork_exec.py"]);
    assert_eq!(run.code, 0);
    run.assert_no_warning();
    assert_eq!(run.places(), [scene.place("leaf.py", "# stop here")]);
    assert_eq!(run.values("status"), ["7"]);
    assert_eq!(run.rows().len(), 2);
    let leaf = run.row("leaf.py");
    assert_eq!(leaf["program"], scene.file("leaf.py").to_str().unwrap());
    assert_eq!(run.end(&leaf["session"])["exitCode"], 7);
    assert_eq!(run.output_lines("stdout"), ["leaf 7", "leaf ended with 7"]);
}

#[test]
fn a_child_that_outlives_its_parent_is_still_debugged() {
    let scene = scene(&["orphan.py"]);
    let trace = scene.trace().stop("orphan.py", "# stop here").eval("seen");
    let run = trace.run(&["python", "orphan.py"]);
    assert_eq!(run.code, 4);
    run.assert_no_warning();
    assert_eq!(run.values("seen"), ["\"the parent's end\""]);
    assert_eq!(run.end(&run.row("orphan.py")["session"])["exitCode"], 4);
    assert_eq!(
        run.output_lines("stdout"),
        ["child saw the parent's end", "parent leaves"]
    );
}

#[test]
fn a_child_whose_parent_ends_while_it_is_forked_comes_to_its_end() {
    let scene = scene(&["orphan_at_once.py"]);
    let run = scene.trace().run(&["python", "orphan_at_once.py"]);
    assert_eq!(run.code, 4);
    run.assert_no_warning();
    assert_eq!(run.output("stderr"), "");
    assert!(scene.file("came-to-its-end").exists());
}

#[test]
fn workers_of_xdist_have_their_ids_and_each_stops() {
    let scene = scene(&["test_pair.py"]);
    let trace = scene
        .trace()
        .stop("test_pair.py", "# stop here")
        .eval("number");
    let run = trace.run(&[
        "python",
        "-m",
        "pytest",
        "-q",
        "-n",
        "2",
        "-p",
        "no:cacheprovider",
        "test_pair.py",
    ]);
    assert_eq!(run.code, 0);
    run.assert_no_warning();
    let mut values = run.values("number");
    values.sort();
    assert_eq!(values, ["1", "2"]);
    let stops = run.stops();
    assert_ne!(stops[0]["session"], stops[1]["session"]);
    assert_eq!(run.names("adopted"), ["-m pytest", "gw0", "gw1"]);
    for worker in ["gw0", "gw1"] {
        assert_eq!(run.row(worker)["parent"], run.row("-m pytest")["session"]);
    }
    assert!(run.output("stdout").contains("2 passed"));
}
