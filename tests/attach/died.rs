//! daptree itself dies while it is attached: what it visited runs on.

use crate::scene;
use crate::target::Target;
use daptree_testing::{PATIENCE, Scene, process};
use rustix::process::Signal;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Instant;

/// A `daptree trace --attach` whose stops stand until it is gone.
struct Visitor {
    child: Child,
    /// Reads on, so that its writes do not fail.
    rest: Option<JoinHandle<()>>,
}

impl Visitor {
    /// Starts it and waits until a session stands at its stop.
    fn stopped(scene: &Scene, target: &str, stop: (&str, &str)) -> Self {
        let child = Command::new(&scene.binary)
            .args([
                "trace",
                "--json",
                "--hold",
                "600",
                "-b",
                &scene.at(stop.0, stop.1),
            ])
            .args(["--attach", target])
            .current_dir(scene.work())
            .env_clear()
            .envs(scene.env.iter().cloned())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut visitor = Self { child, rest: None };
        let mut lines = BufReader::new(visitor.child.stdout.take().unwrap())
            .lines()
            .map_while(Result::ok);
        let mut said = Vec::new();
        while let Some(line) = lines.next() {
            if line.contains("\"type\":\"stop\"") {
                visitor.rest = Some(std::thread::spawn(move || lines.for_each(drop)));
                return visitor;
            }
            said.push(line);
        }
        panic!("it never stopped: {said:#?}");
    }

    fn ended_by(&mut self, signal: Signal) {
        process::send(self.child.id(), signal);
        let deadline = Instant::now() + PATIENCE;
        assert!(process::ended_by(self.child.id(), deadline));
        let _ = self.child.wait();
        self.rest.take().unwrap().join().unwrap();
    }
}

impl Drop for Visitor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_visited_program_survives_its_visitor() {
    for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
        let scene = scene();
        let target = Target::listen(&scene, &["--wait-for-client"], &["parent.py"]);
        let place = format!("127.0.0.1:{}", target.port());
        let mut visitor = Visitor::stopped(&scene, &place, ("child.py", "# work"));
        visitor.ended_by(signal);
        target.finish("child ended with 3");
    }
}

#[test]
fn a_process_that_the_debugger_was_put_into_survives_too() {
    if !process::runs(&["gdb", "--version"]) {
        eprintln!("not tried: there is no gdb here");
        return;
    }
    let scene = scene();
    let target = Target::start(&scene, &["beat.py", "0"]);
    target.until("beats", 1);
    let pid = target.pid().to_string();
    let mut visitor = Visitor::stopped(&scene, &pid, ("beat.py", "# beat"));
    visitor.ended_by(Signal::KILL);
    target.end();
    target.finish("ended with []");
}
