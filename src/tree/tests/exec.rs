//! A process that replaces itself keeps its row.

use super::harness::{Bench, ROOT_PID, at_line, seen};
use crate::tree::{Effect, Input};
use daptree_model::{EngineError, Follow, Op, ReadOp, RowState};
use serde_json::json;

/// The process runs another program from now on.
fn execs(bench: &mut Bench, pid: u32, command: &[&str]) {
    let parent = bench.processes[&pid].parent;
    bench.processes.insert(pid, seen(pid, parent, command));
}

#[test]
fn a_second_report_for_a_pid_keeps_the_row() {
    let (mut bench, root) = Bench::launched_with(|request| request.breakpoints = vec![at_line(3)]);
    let child = bench.report(root, 200);
    bench.stop(child, "breakpoint", "/p/main.py", 3);
    bench.command(Op::Continue(child)).unwrap();
    let old = bench.connection(child);
    execs(&mut bench, 200, &["python", "second.py"]);
    bench.forget();
    assert_eq!(bench.report(root, 200), child);
    let row = bench.row(child);
    assert_eq!(
        (row.execs, row.state, row.name.as_str()),
        (1, RowState::Running, "second.py")
    );
    assert_eq!(bench.acks, [true]);
    assert_eq!(bench.count("setBreakpoints"), 1);
    assert_ne!(bench.connection(child), old);
    // Stop numbers go on.
    bench.stop(child, "breakpoint", "/p/main.py", 3);
    assert_eq!(bench.row(child).stop.0, 2);
}

#[test]
fn the_new_session_is_opened_before_the_old_one_is_left() {
    let (mut bench, root) = Bench::launched();
    let child = bench.report(root, 200);
    let old = bench.connection(child);
    bench.forget();
    bench.opens = false;
    bench.report(root, 200);
    let connects = bench
        .effects
        .iter()
        .position(|e| matches!(e, Effect::Connect { .. }));
    assert!(connects.is_some());
    assert_eq!(bench.commands_on(old), ["disconnect"]);
    assert_eq!(bench.last("disconnect")["terminateDebuggee"], false);
    bench.pass(1_100);
    let cut = |e: &Effect| matches!(e, Effect::Close(id) if *id == old);
    assert!(
        bench.effects.iter().any(cut),
        "a connection that was left is cut after a second"
    );
}

#[test]
fn an_attach_that_the_old_session_blocks_is_tried_again() {
    let (mut bench, root) = Bench::launched();
    let child = bench.report(root, 200);
    bench
        .refuses
        .insert("attach", "Server[pid=200] is already being debugged.");
    bench.report(root, 200);
    bench.pass(100);
    assert_eq!(bench.row(child).state, RowState::Adopting);
    bench.refuses.clear();
    bench.pass(100);
    assert_eq!(
        (bench.row(child).state, bench.row(child).follow),
        (RowState::Running, Follow::Adopted)
    );
    assert!(bench.notices().is_empty());
}

#[test]
fn a_root_that_replaces_itself_goes_on_as_the_root() {
    let (mut bench, root) = Bench::launched();
    execs(&mut bench, ROOT_PID, &["python", "second.py"]);
    bench.report(root, ROOT_PID);
    let row = bench.row(root);
    assert_eq!(
        (row.execs, row.name.as_str(), row.root),
        (1, "second.py", root)
    );
    assert_eq!(row.state, RowState::Running);
}

#[test]
fn what_the_session_before_says_late_is_not_taken_for_the_present_one() {
    let (mut bench, root) = Bench::launched_with(|request| request.breakpoints = vec![at_line(3)]);
    bench.silent.insert("evaluate");
    let child = bench.report(root, 200);
    let old = bench.connection(child);
    bench.silent.insert("disconnect");
    bench.report(root, 200);
    assert_eq!(
        bench.tree.pending.keys().filter(|key| key.0 == old).count(),
        2
    );
    bench.answer("evaluate", Ok(json!({ "result": "'Process-1'" })));
    assert_eq!(bench.row(child).name, "child-200.py");
    bench.say(old, "stopped", json!({ "reason": "pause", "threadId": 1 }));
    assert_eq!(bench.row(child).state, RowState::Running);
    bench.breaks(old);
    assert_eq!(bench.row(child).state, RowState::Running);
}

#[test]
fn a_session_that_becomes_a_shell_is_a_process_row() {
    let (mut bench, root) = Bench::launched();
    let child = bench.report(root, 200);
    execs(&mut bench, 200, &["/bin/bash", "x.sh"]);
    bench.terminated(child);
    bench.pass(2_000);
    let row = bench.row(child);
    assert_eq!(
        (row.follow, row.state),
        (Follow::Unfollowed, RowState::Running)
    );
    assert_eq!(
        (row.name.as_str(), row.execs, row.language.clone()),
        ("bash", 1, None)
    );
    // And back again.
    execs(&mut bench, 200, &["python", "third.py"]);
    bench.report(root, 200);
    let row = bench.row(child);
    assert_eq!(
        (row.follow, row.execs, row.name.as_str()),
        (Follow::Adopted, 2, "third.py")
    );
}

#[test]
fn a_session_that_ends_while_its_process_runs_on_is_released() {
    let (mut bench, root) = Bench::launched();
    let child = bench.report(root, 200);
    bench.terminated(child);
    // A process that ends slowly is not taken for one that runs on.
    bench.pass(5_900);
    assert_eq!(bench.row(child).follow, Follow::Adopted);
    bench.pass(200);
    assert_eq!(bench.row(child).follow, Follow::Released);
    assert_eq!(
        bench.tree.trees[&root].children_released, 0,
        "nothing failed"
    );
}

#[test]
fn a_pause_that_was_under_way_does_not_outlive_the_exec() {
    let (mut bench, root) = Bench::launched();
    let child = bench.report(root, 200);
    bench.silent.insert("pause");
    bench.command(Op::Pause(child)).unwrap();
    assert!(bench.row(child).pausing);
    bench.report(root, 200);
    assert!(!bench.row(child).pausing);
}

#[test]
fn a_release_under_way_is_given_up_when_the_process_replaces_itself() {
    let (mut bench, root) = Bench::launched();
    bench.refuses.insert("attach", "no");
    bench.opens = false;
    let child = bench.report(root, 200);
    bench.feed(Input::Opened(bench.connection(child)));
    bench.refuses.clear();
    let (release, _) = bench.tree.connections.last_key_value().unwrap();
    let release = *release;
    bench.silent.insert("configurationDone");
    bench.feed(Input::Opened(release));
    bench.silent.clear();
    bench.report(root, 200);
    bench.answer("configurationDone", Ok(json!({})));
    assert_eq!(bench.row(child).state, RowState::Adopting);
    bench.feed(Input::Opened(bench.connection(child)));
    bench.pass(20_000);
    assert_eq!(
        (bench.row(child).state, bench.row(child).follow),
        (RowState::Running, Follow::Adopted)
    );
}

#[test]
fn the_stack_of_a_stop_before_the_exec_is_not_that_of_the_first_stop_after_it() {
    let (mut bench, root) = Bench::launched();
    let child = bench.report(root, 200);
    bench.forget();
    // A stop is on its way, and its place is not known yet.
    bench.silent.insert("stackTrace");
    bench.stop(child, "breakpoint", "/p/main.py", 3);
    execs(&mut bench, 200, &["python", "second.py"]);
    bench.silent.insert("disconnect");
    bench.report(root, 200);
    bench.stop(child, "breakpoint", "/p/second.py", 9);
    let frames = |path: &str, line: u32| {
        Ok(json!({ "stackFrames": [
            { "id": 1, "name": "f", "line": line, "source": { "path": path } },
        ] }))
    };
    bench.answer("stackTrace", frames("/p/main.py", 3));
    assert_eq!(bench.row(child).stopped, None, "that was the old program's");
    bench.answer("stackTrace", frames("/p/second.py", 9));
    let stopped = bench.row(child).stopped.clone().unwrap();
    assert_eq!(stopped.place.unwrap().line, 9);
}

#[test]
fn a_read_of_a_stop_before_the_exec_is_not_answered_with_its_values() {
    let (mut bench, root) = Bench::launched();
    let child = bench.report(root, 200);
    bench.stop(child, "breakpoint", "/p/main.py", 3);
    bench.forget();
    bench.silent.extend(["threads", "disconnect"]);
    let id = bench.read(ReadOp::Threads(child));
    bench.report(root, 200);
    bench.answer(
        "threads",
        Ok(json!({ "threads": [{ "id": 9, "name": "old" }] })),
    );
    assert_eq!(bench.reply(id), Some(Err(EngineError::Gone(child))));
}
