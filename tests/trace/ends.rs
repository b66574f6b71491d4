//! How a run ends, and that nothing is left of it.

use crate::scene;
use daptree_testing::{Run, Scene, Trace};
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::time::Instant;

#[test]
fn the_status_is_that_of_the_root() {
    let scene = scene(&["leaf.py"]);
    for (status, wanted) in [("0", 0), ("3", 3), ("255", 255)] {
        let run = scene.trace().run(&["python", "leaf.py", status]);
        assert_eq!(run.code, wanted);
        assert_eq!(run.end(&run.row("leaf.py")["session"])["exitCode"], wanted);
        assert!(run.summary()["signal"].is_null());
    }
}

#[test]
fn a_signal_that_ends_the_root_is_named() {
    let scene = scene(&[]);
    for (code, name, status) in [
        ("import os; os.abort()", "SIGABRT", 134),
        (
            "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
            "SIGSEGV",
            139,
        ),
        (
            "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
            "SIGKILL",
            137,
        ),
    ] {
        let run = scene.trace().run(&["python", "-c", code]);
        assert_eq!(run.code, status);
        assert_eq!(run.summary()["signal"], name);
        let end = run.lines("end").next().unwrap();
        assert_eq!(end["signal"], name);
        assert!(end["exitCode"].is_null() && end["cause"].is_null(), "{end}");
    }
}

/// A tree that has its three processes, one of them in a session of its own and deaf to SIGTERM.
fn sleepers<'a>(scene: &'a Scene, options: &[&str]) -> Trace<'a> {
    let mut trace = scene.trace();
    for option in options {
        trace = trace.option(option);
    }
    let mut trace = trace.start(&["python", "sleepers.py"]);
    trace.until("ready", |line| {
        line["type"] == "output" && line["text"].as_str().unwrap().contains("ready")
    });
    trace
}

fn ended_by_daptree(run: &Run) {
    let sleepers = run.lines("end").filter(|end| {
        end["cause"]
            .as_str()
            .is_some_and(|cause| cause.contains("daptree"))
    });
    assert_eq!(sleepers.count(), 2);
}

#[test]
fn a_timeout_ends_the_whole_tree() {
    let scene = scene(&["sleepers.py"]);
    let begun = Instant::now();
    let run = sleepers(&scene, &["--timeout", "6"]).finish();
    assert_eq!(run.code, 124);
    assert!(begun.elapsed().as_secs() >= 6);
    let warning = run
        .lines("warning")
        .find(|warning| warning["code"] == "timeout")
        .unwrap();
    assert!(
        warning["message"].as_str().unwrap().contains("6 s"),
        "{warning}"
    );
    ended_by_daptree(&run);
}

#[test]
fn signals_end_the_whole_tree() {
    for (signal, status) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let scene = scene(&["sleepers.py"]);
        let trace = sleepers(&scene, &[]);
        trace.signal(signal);
        let run = trace.finish();
        assert_eq!(run.code, status);
        ended_by_daptree(&run);
    }
}

#[test]
fn a_signal_while_sessions_are_stopped_ends_them() {
    let scene = scene(&["pair.py", "leaf.py"]);
    let trace = scene
        .trace()
        .option("--hold")
        .option("600")
        .stop("leaf.py", "# stop here");
    let mut trace = trace.start(&["python", "pair.py"]);
    trace.until_stops(2);
    trace.signal(Signal::INT);
    assert_eq!(trace.finish().code, 130);
}

#[test]
fn a_signal_before_the_program_runs_ends_everything() {
    let scene = scene(&["sleepers.py"]);
    let trace = scene.trace().start(&["python", "sleepers.py"]);
    // The adapter is the first thing that daptree starts.
    daptree_testing::process::watch(trace.pid(), daptree_testing::PATIENCE, || {
        scene
            .processes()
            .iter()
            .any(|process| process.command.contains("adapter"))
    });
    trace.signal(Signal::TERM);
    let run = trace.finish();
    assert!(run.code == 143 || run.code == 125, "{}", run.code);
}

#[test]
fn a_reader_that_goes_away_ends_the_tree() {
    let scene = scene(&[]);
    let program = "import time\nwhile True: print('line', flush=True); time.sleep(0.01)\n";
    scene.write("chatter.py", program);
    let mut command = std::process::Command::new(&scene.binary);
    command.args(["trace", "--json", "--", "python", "chatter.py"]);
    command
        .current_dir(scene.work())
        .env_clear()
        .envs(scene.env.iter().cloned());
    command
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped());
    command.stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    assert!(lines.any(|line| line.unwrap().contains("line")));
    drop(lines);
    let ended =
        daptree_testing::process::ended_by(child.id(), Instant::now() + daptree_testing::PATIENCE);
    if !ended {
        child.kill().unwrap();
    }
    let out = child.wait_with_output().unwrap();
    assert!(ended, "daptree runs on without a reader");
    assert!(!out.status.success());
    assert!(!String::from_utf8_lossy(&out.stderr).contains("panicked"));
    scene.assert_nothing_left(std::time::Duration::from_secs(5));
}

#[test]
fn a_daemon_that_ends_with_its_parent_says_so_and_its_stop_was_read() {
    let scene = scene(&["daemon.py"]);
    let run = scene
        .trace()
        .stop("daemon.py", "# stop here")
        .eval("double")
        .option("--hold")
        .option("30")
        .run(&["python", "daemon.py"]);
    assert_eq!(run.code, 0);
    let stop = run.lines("stop").next().unwrap();
    assert_eq!(stop["values"]["double"], "14");
    let end = run.end(&stop["session"]);
    assert_eq!(end["signal"], "SIGTERM");
    let cause = end["cause"].as_str().unwrap();
    let place = format!("at {} (SIGTERM)", scene.at("daemon.py", "# stop here"));
    assert!(
        cause.starts_with("likely ended by its parent daemon.py (pid ")
            && cause.contains("while stopped for ")
            && cause.ends_with(&place),
        "{cause}"
    );
}

#[test]
fn a_watchdog_is_warned_of_and_named_when_it_ended_a_worker() {
    let scene = scene(&["gunicorn.py"]);
    let run = scene
        .trace()
        .stop("gunicorn.py", "# stop here")
        .option("--hold")
        .option("30")
        .run(&["python", "gunicorn.py", "-t", "3"]);
    assert_eq!(run.code, 0);
    let stop = run.lines("stop").next().unwrap();
    let warning = run
        .lines("warning")
        .find(|warning| warning["code"] == "watchdog")
        .unwrap();
    assert_eq!(warning["session"], stop["session"]);
    let message = warning["message"].as_str().unwrap();
    assert!(
        message
            .starts_with("gunicorn ends a worker that stands for 3 s (its --timeout): continue ")
            && message.ends_with("within 2 s, or start it with -t 0"),
        "{message}"
    );
    let end = run.end(&stop["session"]);
    assert_eq!(end["signal"], "SIGABRT");
    let cause = end["cause"].as_str().unwrap();
    assert!(
        cause.starts_with("ended by its parent gunicorn.py (pid ")
            && cause.contains("whose timeout is 3 s, while stopped for "),
        "{cause}"
    );
}

/// pydevd's threads wait for each other at the end of a process, until they give up after 0.5 s.
#[test]
fn no_process_waits_for_its_debugger_at_its_end() {
    let scene = scene(&["leaf.py", "pair.py"]);
    let waits = "__import__('_pydevd_bundle.pydevd_comm').pydevd_comm.ReaderThread\
        ._terminate_on_socket_close.__code__.co_filename.endswith('pydevd_comm.py')";
    let run = scene
        .trace()
        .stop("leaf.py", "# stop here")
        .stop("pair.py", "ended with")
        .eval(waits)
        .run(&["python", "pair.py"]);
    let values = run.values(waits);
    assert!(values.iter().all(|value| value == "False"), "{values:?}");
    let sessions: BTreeSet<String> = run
        .stops()
        .iter()
        .map(|stop| stop["session"].to_string())
        .collect();
    assert_eq!(sessions.len(), 3);
}
