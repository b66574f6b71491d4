//! Tests of the leader: what lives on when the program on its terminal ends, and what does not.

use super::*;
use crate::process::exit::end_of;
use crate::process::pidfd;
use crate::process::resolve::SpawnError;
use crate::process::spawn::{SpawnPlan, Spawned, Stdio, spawn};
use crate::process::testing::{LONG, wait_until};
use crate::process::{EndStatus, ProcessKey, table};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};
use tokio::time::timeout;

fn start(argv: &[&str]) -> Result<Spawned, SpawnError> {
    spawn(&SpawnPlan {
        argv: argv.iter().map(OsString::from).collect(),
        cwd: "/".into(),
        env: vec![("PATH".into(), std::env::var_os("PATH").unwrap())],
        stdio: Stdio::Pty {
            columns: 80,
            rows: 24,
        },
        own_session: true,
    })
}

/// A program on a terminal, and what it has written.
struct OnTerminal {
    it: Spawned,
    text: String,
}

impl OnTerminal {
    fn start(argv: &[&str]) -> Self {
        let it = start(argv).unwrap();
        let text = String::new();
        Self { it, text }
    }

    fn python(script: &str) -> Self {
        Self::start(&["python3", "-c", script])
    }

    fn leader(&self) -> ProcessKey {
        self.it.leader.unwrap()
    }

    fn types(&self, keys: &str) {
        let terminal = self.it.terminal.as_ref().unwrap();
        terminal.write(keys.as_bytes()).unwrap();
    }

    /// Reads until `mark` was written, and returns all up to it.
    async fn until(&mut self, mark: &str) -> String {
        while !self.text.contains(mark) {
            let read = self.it.streams[0].read_chunk();
            let chunk = timeout(LONG, read).await.unwrap().unwrap();
            let chunk = chunk.unwrap_or_else(|| panic!("only {:?}", self.text));
            self.text += &String::from_utf8(chunk).unwrap();
        }
        let end = self.text.find(mark).unwrap() + mark.len();
        let rest = self.text.split_off(end);
        std::mem::replace(&mut self.text, rest)
    }

    async fn ended(&self) -> EndStatus {
        timeout(LONG, end_of(self.it.key)).await.unwrap()
    }
}

/// Nothing of a test stays, and the leader is reaped.
async fn end(program: OnTerminal) {
    let leader = program.leader();
    for key in table::led_by(leader) {
        let _ = pidfd::signal(key, Signal::KILL);
    }
    let _ = pidfd::signal(leader, Signal::KILL);
    timeout(LONG, end_of(leader)).await.unwrap();
    assert_eq!(table::key_of(leader.pid), None);
}

#[test]
fn the_name_of_a_process_may_hold_anything() {
    let stat = b"17 (a) R (1 2 3) S 16 17 16 34816 17 4194368 91 0";
    assert_eq!(flags_in(stat), Some(4_194_368));
    for bad in [
        &b""[..],
        b"17 (a",
        b"17 (a) S 16 17",
        b"17 (a) S 1 1 1 1 1 x",
    ] {
        assert_eq!(flags_in(bad), None);
    }
    let own = fs::read("/proc/self/stat").unwrap();
    assert_eq!(flags_in(&own).unwrap() & NOT_EXECUTED, 0);
}

#[tokio::test]
async fn a_child_outlives_a_killed_program_and_still_has_its_terminal() {
    let mut program = OnTerminal::python(
        "import os,signal\nr, w = os.pipe()\n\
         if os.fork() == 0:\n    os.close(w)\n    os.read(r, 1)\n    print('alone', flush=True)\n    \
         signal.pause()\n\
         print('both', flush=True)\nsignal.pause()",
    );
    program.until("both").await;
    pidfd::signal(program.it.key, Signal::KILL).unwrap();
    assert_eq!(program.ended().await, EndStatus::Signaled(9));
    program.until("alone").await;
    assert_eq!(table::led_by(program.leader()).len(), 1);

    // Nor does the end of the leader end it, once that has the terminal's foreground.
    let leader = program.leader();
    let leads = || table::stat(leader.pid).is_some_and(|it| it.tpgid == it.pid);
    wait_until("the leader has the foreground", leads);
    let child = table::led_by(leader)[0];
    pidfd::signal(leader, Signal::KILL).unwrap();
    timeout(LONG, end_of(leader)).await.unwrap();
    assert!(table::is_alive(child));
    pidfd::signal(child, Signal::KILL).unwrap();
}

#[tokio::test]
async fn the_end_of_a_program_is_told_at_once_and_as_often_as_asked() {
    for (script, status) in [
        ("read x; exit 0", EndStatus::Exited(0)),
        ("read x; exit 77", EndStatus::Exited(77)),
        ("read x; kill -SEGV $$", EndStatus::Signaled(11)),
    ] {
        let program = OnTerminal::start(&["sh", "-c", script]);
        let watch = tokio::spawn(end_of(program.it.key));
        program.types("\n");
        assert_eq!(timeout(LONG, watch).await.unwrap().unwrap(), status);
        let begun = Instant::now();
        assert_eq!(program.ended().await, status);
        assert!(begun.elapsed() < Duration::from_millis(500), "{status:?}");
        end(program).await;
    }
}

#[tokio::test]
async fn a_program_whose_leader_was_killed_tells_how_it_ended_all_the_same() {
    let mut program = OnTerminal::python(
        "import signal,sys\nsignal.signal(signal.SIGHUP, lambda *_: sys.exit(5))\n\
         print('up', flush=True)\nwhile True: signal.pause()",
    );
    program.until("up").await;
    let watch = tokio::spawn(end_of(program.it.key));
    // The watch holds the process before it is handed to somebody else.
    tokio::task::yield_now().await;
    pidfd::signal(program.leader(), Signal::KILL).unwrap();
    let status = timeout(LONG, watch).await.unwrap().unwrap();
    assert_ne!(status, EndStatus::Exited(0));
    end(program).await;
}

#[tokio::test]
async fn the_program_is_in_the_foreground_with_its_signals_as_usual() {
    let mut program = OnTerminal::python(
        "import os,signal\nprint(os.tcgetpgrp(0) == os.getpgrp() == os.getpid(), \
         os.getsid(0) == os.getppid(), [os.isatty(fd) for fd in range(3)],\n      \
         signal.getsignal(signal.SIGTTOU) == signal.SIG_DFL, signal.pthread_sigmask(0, []), 'end')",
    );
    let text = program.until("end").await;
    let expected = "True True [True, True, True] True set() end";
    assert_eq!(text.replace("\r\n", " "), expected);
    end(program).await;
}

#[tokio::test]
async fn ctrl_c_reaches_the_whole_foreground_group_and_ctrl_z_does_not_hang_it() {
    let mut program = OnTerminal::python(
        "import os,signal,sys\nsignal.signal(signal.SIGINT, signal.SIG_DFL)\n\
         signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])\n\
         child = os.fork()\n\
         if child == 0:\n    signal.sigwait([signal.SIGINT])\n    os._exit(3)\n\
         print('ready', flush=True)\n\
         sys.stdin.readline()\nprint('child', os.waitpid(child, 0)[1] >> 8, flush=True)\n\
         sys.stdin.readline()\nsignal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])",
    );
    program.until("ready").await;
    program.types("\x1a");
    program.until("^Z").await;
    program.types("\x03");
    program.until("^C").await;
    program.types("\n");
    program.until("child 3").await;
    program.types("\n");
    assert_eq!(program.ended().await, EndStatus::Signaled(2));
    end(program).await;
}

#[tokio::test]
async fn a_program_that_was_stopped_on_purpose_stays_stopped() {
    let mut program = OnTerminal::start(&["sh", "-c", "echo up; read x; exit 4"]);
    program.until("up").await;
    pidfd::signal(program.it.key, Signal::STOP).unwrap();
    let state = || table::describe(program.it.key.pid).map(|it| it.state);
    wait_until("it is stopped", || state() == Some('T'));
    // The leader has heard of it once it sleeps again; it has nothing to do for it.
    let leader = program.leader();
    wait_until("the leader waits", || {
        table::describe(leader.pid).is_some_and(|it| it.state == 'S')
    });
    assert_eq!(state(), Some('T'));
    program.types("\n");
    pidfd::signal(program.it.key, Signal::CONT).unwrap();
    assert_eq!(program.ended().await, EndStatus::Exited(4));
    end(program).await;
}

#[tokio::test]
async fn an_interactive_shell_has_job_control() {
    let shell = ["bash", "--norc", "--noprofile", "--noediting", "-i"];
    let mut program = OnTerminal::start(&shell);
    program.types("sh -c 'printf r%s eady; read x; printf got:$x'\n");
    let text = program.until("ready").await;
    assert!(!text.contains("no job control"), "{text}");
    program.types("\x1a");
    program.until("Stopped").await;
    program.types("fg\nword\n");
    program.until("got:word").await;
    program.types("exit 6\n");
    program.until("exit\r\n").await;
    assert_eq!(program.ended().await, EndStatus::Exited(6));
    end(program).await;
}

#[tokio::test]
async fn what_cannot_be_executed_leaves_no_process() {
    let dir = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &[u8]| {
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let script = put("script", b"#!/no/such/interpreter\n");
    let long = "x".repeat(200 * 1024);
    // The copy that was to become the program has the name of the thread that started it.
    rustix::thread::set_name(c"exec-refused").unwrap();
    let error = start(&[&script]).unwrap_err();
    assert!(
        matches!(error, SpawnError::BadInterpreter { .. }),
        "{error}"
    );
    let error = start(&["sh", &long]).unwrap_err();
    assert!(matches!(error, SpawnError::TooLong(_)), "{error}");
    let copies = procfs::process::all_processes()
        .unwrap()
        .filter_map(|process| process.ok()?.stat().ok())
        .filter(|stat| stat.comm == "exec-refused");
    assert_eq!(copies.count(), 0);
}

#[tokio::test]
async fn a_file_of_no_known_format_is_given_to_sh_as_always() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("plain");
    fs::write(&path, b"\x7fno program\nexit 9\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let program = OnTerminal::start(&[path.to_str().unwrap()]);
    assert_eq!(program.ended().await, EndStatus::Exited(9));
    end(program).await;
}

#[tokio::test]
async fn the_leader_ends_by_itself_when_program_and_terminal_are_gone() {
    let mut program = OnTerminal::start(&["sh", "-c", "echo $$; read x"]);
    program.until("\n").await;
    let leader = program.leader();
    let program_key = program.it.key;
    for signal in [Signal::TERM, Signal::INT, Signal::USR1, Signal::HUP] {
        pidfd::signal(leader, signal).unwrap();
    }
    assert!(table::is_alive(leader), "it waits for its program");
    drop(program);
    // Its input is at its end.
    timeout(LONG, end_of(program_key)).await.unwrap();
    let status = timeout(LONG, end_of(leader)).await.unwrap();
    assert_eq!(status, EndStatus::Exited(0));
    assert_eq!(table::key_of(leader.pid), None, "the watch has reaped it");
}
