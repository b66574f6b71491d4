//! The keeper with real processes: this test binary, started again, plays the keeper and the
//! engine. It must not use the daptree binary.

use super::*;
use crate::process::testing::{LONG, Piped, wait_until};
use std::time::Instant;
use tokio::time::timeout;

const MARK: &str = "keeper-test-mark";
const MARKED: &str = "# in the tree's environment";
const ROLE: &str = "DAPTREE_TEST_ROLE";

fn keeper_command() -> KeeperCommand {
    KeeperCommand {
        program: std::env::current_exe().unwrap(),
        arguments: ["--exact", "process::keeper::tests::play_a_role"]
            .map(Into::into)
            .to_vec(),
        variables: vec![(ROLE.into(), "keeper".into())],
    }
}

/// Not a test by itself: what the binary does when it is started for one of the tests below.
#[test]
fn play_a_role() {
    match std::env::var(ROLE).as_deref() {
        Ok("keeper") => std::process::exit(keeper_main()),
        Ok("engine") => engine(),
        _ => {}
    }
}

/// Starts a keeper for the pids and marks on its command line's variables, then waits to be killed.
fn engine() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let keeper = KeeperHandle::start_with(keeper_command()).unwrap();
        let var = |name: &str| std::env::var(name).unwrap_or_default();
        let keys = |name: &str| {
            let pids = var(name);
            let pids: Vec<u32> = pids
                .split_whitespace()
                .map(|pid| pid.parse().unwrap())
                .collect();
            pids.into_iter()
                .map(|pid| table::key_of(pid).unwrap())
                .collect::<Vec<_>>()
        };
        for key in keys("TO_END") {
            keeper.add(key, true);
        }
        for key in keys("TO_KEEP") {
            keeper.add(key, false);
        }
        if !var("TO_MARK").is_empty() {
            keeper.mark(&var("TO_MARK"), true);
        }
        if !var("TO_HOLD").is_empty() {
            let pipe = std::fs::File::open(var("TO_HOLD")).unwrap();
            keeper.hold(vec![pipe.into()]);
        }
        assert!(keeper.written().await);
        println!("\nready {}", keeper.key().unwrap().pid);
        std::future::pending::<()>().await;
    });
}

fn start_engine(variables: &[(&str, String)]) -> (Piped, ProcessKey) {
    let program = std::env::current_exe().unwrap();
    let argv = [
        program.to_str().unwrap(),
        "--exact",
        "process::keeper::tests::play_a_role",
        "--nocapture",
    ];
    let mut engine = Piped::start_with(&argv, |command| {
        command
            .env(ROLE, "engine")
            .envs(variables.iter().map(|(name, value)| (name, value)));
    });
    let keeper = loop {
        let line = engine.line();
        if let Some(pid) = line.strip_prefix("ready ") {
            break pid.parse().unwrap();
        }
    };
    (engine, table::key_of(keeper).unwrap())
}

/// A program that does `setup`, tells its pid and waits for signals.
fn sleeper(setup: &str) -> (Piped, ProcessKey) {
    // Whatever becomes of the test, nothing of it stays behind for long.
    let script = format!(
        "import os,signal\n{setup}\nsignal.alarm(60)\n\
         print(os.getpid(), flush=True)\nwhile True: signal.pause()\n"
    );
    let mut program = Piped::start_with(&["python3", "-c", &script], |command| {
        if setup.contains(MARKED) {
            command.env(table::MARK_VARIABLE, MARK);
        }
    });
    let key = table::key_of(program.number()).unwrap();
    (program, key)
}

fn state(key: ProcessKey) -> char {
    table::describe(key.pid).map_or('X', |it| it.state)
}

#[test]
fn messages_are_one_json_object_a_line() {
    let text = r#"{"op":"add","pid":4,"start":9,"end":true}"#;
    let message: Message = serde_json::from_str(text).unwrap();
    assert_eq!(
        message,
        Message::Add {
            pid: 4,
            start: 9,
            end: true
        }
    );
    assert_eq!(serde_json::to_string(&message).unwrap(), text);
    assert!(serde_json::from_str::<Message>(r#"{"op":"burn"}"#).is_err());
    let mut kept = Kept::default();
    assert!(!kept.apply(message.clone()));
    assert!(!kept.apply(Message::Mark {
        mark: "m".into(),
        end: false
    }));
    assert_eq!(
        kept.replay(),
        [
            Message::Mark {
                mark: "m".into(),
                end: false
            },
            message
        ]
    );
    kept.apply(Message::Remove { pid: 4, start: 9 });
    assert_eq!(kept.replay().len(), 1);
    kept.apply(Message::Unmark { mark: "m".into() });
    assert_eq!(kept.replay(), []);
    assert!(!kept.apply(Message::Hold));
    assert!(kept.apply(Message::Bye));
}

#[test]
fn after_kill_9_of_the_engine_everything_is_gone_within_five_seconds() {
    let (_deaf, deaf) = sleeper("signal.signal(15, signal.SIG_IGN)");
    let (_far, parent) = sleeper(
        "if os.fork() == 0:\n    os.setsid()\n    signal.alarm(60)\n    while True: signal.pause()",
    );
    let (_stopped, stopped) = sleeper("");
    let (_kept, kept) = sleeper("");
    let (_marked, orphan) = sleeper(&format!("{MARKED}\nif os.fork(): os._exit(0)\nos.setsid()"));
    wait_until("a child", || !table::descendants(&[parent.pid]).is_empty());
    let far = table::descendants(&[parent.pid])[0];
    for key in [stopped, kept] {
        pidfd::signal(key, Signal::STOP).unwrap();
        wait_until("stopped", || state(key) == 'T');
    }
    let ends = [deaf, parent, stopped, far, orphan];
    let (mut engine, keeper) = start_engine(&[
        (
            "TO_END",
            format!("{} {} {}", deaf.pid, parent.pid, stopped.pid),
        ),
        ("TO_KEEP", kept.pid.to_string()),
        ("TO_MARK", MARK.to_owned()),
    ]);
    // What a terminal or a service manager sends does not end the keeper.
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        pidfd::signal(keeper, signal).unwrap();
    }
    assert!(ends.iter().all(|key| table::is_alive(*key)));
    pidfd::signal(table::key_of(engine.pid()).unwrap(), Signal::KILL).unwrap();
    let begun = Instant::now();
    assert_eq!(engine.wait(), 137);
    wait_until("all gone", || !ends.iter().any(|key| table::is_alive(*key)));
    assert!(begun.elapsed() < WITHIN, "{:?}", begun.elapsed());
    wait_until("the keeper too", || !table::is_alive(keeper));
    assert!(table::is_alive(kept));
    assert_eq!(state(kept), 'S', "continued");
}

/// It writes to a pipe that the engine read.
#[test]
fn who_was_let_go_can_write_when_the_engine_is_killed() {
    let (mut writer, key) = sleeper(
        "r, w = os.pipe()\n\
         def write(*_):\n    os.close(r)\n    for _ in range(9): os.write(w, b'x' * 60000)\n    \
         os._exit(5)\n\
         signal.signal(10, write)",
    );
    let held = format!("/proc/{}/fd/3", key.pid);
    let (mut engine, keeper) = start_engine(&[("TO_HOLD", held)]);
    pidfd::signal(table::key_of(engine.pid()).unwrap(), Signal::KILL).unwrap();
    assert_eq!(engine.wait(), 137);
    pidfd::signal(key, Signal::USR1).unwrap();
    assert_eq!(writer.wait(), 5);
    wait_until("the keeper ends too", || !table::is_alive(keeper));
}

#[test]
fn the_keeper_holds_nothing_of_ours() {
    let (_program, key) = sleeper("");
    let (_engine, keeper) = start_engine(&[("TO_END", key.pid.to_string())]);
    let fds = || {
        let mut open: Vec<(u32, String)> = std::fs::read_dir(format!("/proc/{}/fd", keeper.pid))
            .unwrap()
            .flatten()
            .map(|entry| {
                let target = std::fs::read_link(entry.path()).unwrap_or_default();
                (
                    entry.file_name().to_str().unwrap().parse().unwrap(),
                    target.display().to_string(),
                )
            })
            .collect();
        open.sort();
        open
    };
    wait_until("only three descriptors", || fds().len() == 3);
    let open = fds();
    assert!(open[0].1.starts_with("socket:"));
    assert_eq!(
        (open[1].1.as_str(), open[2].1.as_str()),
        ("/dev/null", "/dev/null")
    );
    let stat = table::stat(keeper.pid).unwrap();
    assert_eq!((stat.session as u32, stat.tty_nr), (keeper.pid, 0));
    assert_eq!(
        table::describe(keeper.pid).unwrap().cwd.unwrap(),
        std::path::Path::new("/")
    );
}

#[tokio::test]
async fn bye_leaves_everything_as_it_is() {
    let (_program, key) = sleeper("");
    let keeper = KeeperHandle::start_with(keeper_command()).unwrap();
    let its = keeper.key().unwrap();
    keeper.add(key, true);
    assert!(keeper.bye().await);
    assert_eq!(table::key_of(its.pid), None, "reaped");
    assert!(table::is_alive(key));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_keeper_that_dies_is_started_again_with_the_list_and_at_last_given_up() {
    let (mut program, key) = sleeper("");
    let keeper = KeeperHandle::start_with(keeper_command()).unwrap();
    keeper.add(key, true);
    let first = keeper.key().unwrap();
    pidfd::signal(first, Signal::KILL).unwrap();
    wait_until("another keeper", || {
        keeper.key().is_some_and(|now| now != first)
    });
    assert!(table::is_alive(key));
    drop(keeper);
    wait_until("ended by the second", || !table::is_alive(key));
    assert_eq!(program.wait(), 143);

    let keeper = KeeperHandle::start_with(KeeperCommand {
        program: "/bin/false".into(),
        arguments: Vec::new(),
        variables: Vec::new(),
    });
    timeout(LONG, keeper.unwrap().lost()).await.unwrap();
}
