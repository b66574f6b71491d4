//! Starts a program exactly as given, on a terminal of its own or on pipes. It must not wait for
//! the program (the reaper does), nor add anything to what was typed or to the environment.

use super::kernel::{ChildSetup, before_exec};
use super::pty::{TerminalHandle, open_pty};
use super::resolve::{SpawnError, explain, resolve};
use super::stream::{OutputStream, open_pipe};
use super::{ProcessKey, children, table};
use crate::output::StreamKind;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// Everything about a program to start.
#[derive(Clone, Debug)]
pub struct SpawnPlan {
    /// The program as typed, and its arguments.
    pub argv: Vec<OsString>,
    /// Its working folder.
    pub cwd: PathBuf,
    /// Its whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// What its descriptors 0, 1 and 2 are.
    pub stdio: Stdio,
    /// Whether it leads a session of its own; on a terminal it always does.
    pub own_session: bool,
}

/// What a program's descriptors 0, 1 and 2 are. Other descriptors that daptree was given (make's
/// job server, socket activation) reach it as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stdio {
    /// One new terminal for all three, its controlling terminal.
    Pty {
        /// Width in character cells.
        columns: u16,
        /// Height in character cells.
        rows: u16,
    },
    /// A pipe each for 1 and 2.
    Pipes {
        /// Descriptor 0.
        stdin: StdinSource,
    },
}

/// Where a program on pipes reads from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StdinSource {
    /// `/dev/null`.
    Null,
    /// What daptree itself reads from.
    Inherit,
}

/// A program that was started. Watch both keys: nothing else reaps them.
#[derive(Debug)]
pub struct Spawned {
    /// Its identity.
    pub key: ProcessKey,
    /// The leader of its session, when it has a terminal: its parent, which outlives it. Kill it
    /// when nothing of the program is left; it ends by itself when the program has ended and the
    /// terminal is closed.
    pub leader: Option<ProcessKey>,
    /// What it writes: one terminal, or standard output and standard error.
    pub streams: Vec<OutputStream>,
    /// Its keyboard, when it has a terminal.
    pub terminal: Option<TerminalHandle>,
}

/// Starts the program of `plan`. Needs a tokio runtime with I/O; blocks for the fork and exec.
pub fn spawn(plan: &SpawnPlan) -> Result<Spawned, SpawnError> {
    let (name, arguments) = plan.argv.split_first().ok_or(SpawnError::NoProgram)?;
    let path = resolve(name, &plan.cwd, &plan.env)?;
    let resource = |what: &'static str| {
        let path = path.clone();
        move |source: io::Error| SpawnError::Resource { what, path, source }
    };

    let mut command = Command::new(&path);
    command.arg0(name).args(arguments).current_dir(&plan.cwd);
    command
        .env_clear()
        .envs(plan.env.iter().map(|(key, value)| (key, value)));
    let (streams, terminal, setup) = match plan.stdio {
        Stdio::Pty { columns, rows } => {
            let (stream, terminal) =
                on_terminal(&mut command, columns, rows).map_err(resource("a terminal"))?;
            (vec![stream], Some(terminal), ChildSetup::OwnTerminal)
        }
        Stdio::Pipes { stdin } => {
            command.stdin(match stdin {
                StdinSource::Null => std::process::Stdio::null(),
                StdinSource::Inherit => std::process::Stdio::inherit(),
            });
            let setup = if plan.own_session {
                ChildSetup::OwnSession
            } else {
                ChildSetup::Same
            };
            (
                on_pipes(&mut command).map_err(resource("a pipe"))?,
                None,
                setup,
            )
        }
    };
    before_exec(&mut command, setup);

    let child = children::spawn_ours(|| command.spawn(), |child| Some(child.id()))
        .map_err(|error| explain(&path, &plan.cwd, error))?;
    // It cannot be gone: a child that nobody waits for stays at least as a zombie.
    let child = table::key_of(child.id()).unwrap_or(ProcessKey {
        pid: child.id(),
        start: 0,
    });
    let (key, leader) = if terminal.is_some() {
        let gone = || io::Error::other("it was gone at once, with the leader of its session");
        let root = table::program_of(child.pid).ok_or_else(gone);
        (root.map_err(resource("a process"))?, Some(child))
    } else {
        (child, None)
    };
    Ok(Spawned {
        key,
        leader,
        streams,
        terminal,
    })
}

fn on_terminal(
    command: &mut Command,
    columns: u16,
    rows: u16,
) -> io::Result<(OutputStream, TerminalHandle)> {
    use std::os::fd::AsFd;
    let pty = open_pty(columns, rows)?;
    let end = || pty.program_end.as_fd().try_clone_to_owned();
    command.stdin(end()?).stdout(end()?).stderr(end()?);
    Ok((pty.stream, pty.terminal))
}

fn on_pipes(command: &mut Command) -> io::Result<Vec<OutputStream>> {
    let (output, write) = open_pipe(StreamKind::Stdout)?;
    command.stdout(write);
    let (errors, write) = open_pipe(StreamKind::Stderr)?;
    command.stderr(write);
    Ok(vec![output, errors])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::EndStatus;
    use crate::process::exit::end_of;
    use crate::process::testing::{LONG, wait_until};
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use tokio::time::timeout;

    const PTY: Stdio = Stdio::Pty {
        columns: 97,
        rows: 31,
    };
    const PIPES: Stdio = Stdio::Pipes {
        stdin: StdinSource::Null,
    };

    fn plan(argv: &[&str], stdio: Stdio) -> SpawnPlan {
        SpawnPlan {
            argv: argv.iter().map(OsString::from).collect(),
            cwd: "/".into(),
            env: vec![("PATH".into(), std::env::var_os("PATH").unwrap())],
            stdio,
            own_session: false,
        }
    }

    async fn chunk(stream: &mut OutputStream) -> Option<Vec<u8>> {
        timeout(LONG, stream.read_chunk()).await.unwrap().unwrap()
    }

    async fn all(stream: &mut OutputStream) -> String {
        let mut bytes = Vec::new();
        while let Some(more) = chunk(stream).await {
            bytes.extend(more);
        }
        String::from_utf8(bytes).unwrap()
    }

    async fn until(stream: &mut OutputStream, mark: &str) -> String {
        let mut text = String::new();
        while !text.contains(mark) {
            let more = chunk(stream).await;
            text.push_str(
                &String::from_utf8(more.unwrap_or_else(|| panic!("only {text:?}"))).unwrap(),
            );
        }
        text
    }

    async fn ended(key: ProcessKey) -> EndStatus {
        timeout(LONG, end_of(key)).await.unwrap()
    }

    #[tokio::test]
    async fn a_terminal_is_a_controlling_terminal_of_the_given_size() {
        let script = "import os,sys\n\
            print([os.isatty(fd) for fd in (0, 1, 2)], os.get_terminal_size(), os.getsid(0) == os.getppid(),\n      \
            os.tcgetpgrp(0) == os.getpgrp(), os.ttyname(2) == os.ttyname(0), os.path.exists('/dev/tty') and bool(open('/dev/tty')))\n\
            sys.exit(6)";
        let mut it = spawn(&plan(&["python3", "-c", script], PTY)).unwrap();
        let text = all(&mut it.streams[0]).await;
        assert_eq!(
            text,
            "[True, True, True] os.terminal_size(columns=97, lines=31) True True True True\r\n"
        );
        assert_eq!(it.streams[0].stream, StreamKind::Terminal);
        assert_eq!(ended(it.key).await, EndStatus::Exited(6));
    }

    #[tokio::test]
    async fn keys_reach_the_program_and_ctrl_c_interrupts_it() {
        let script = "read line; echo got:$line; exec cat";
        let mut it = spawn(&plan(&["sh", "-c", script], PTY)).unwrap();
        let terminal = it.terminal.clone().unwrap();
        terminal.write("grüß\n".as_bytes()).unwrap();
        until(&mut it.streams[0], "got:grüß").await;
        terminal.resize(50, 20).unwrap();
        assert_eq!(terminal.size().unwrap(), (50, 20));
        terminal.write(b"\x03").unwrap();
        assert_eq!(ended(it.key).await, EndStatus::Signaled(2));
    }

    #[tokio::test]
    async fn nothing_of_a_large_output_is_lost() {
        let script = "import os\nfor i in range(60000): print(f'{i:041}')\nos._exit(__import__('sys').stdout.flush() or 0)";
        for stdio in [PTY, PIPES] {
            let mut it = spawn(&plan(&["python3", "-c", script], stdio)).unwrap();
            let text = all(&mut it.streams[0]).await;
            let numbers = text
                .lines()
                .map(|line| line.trim_end().parse::<usize>().unwrap());
            assert!(numbers.eq(0..60_000));
            assert_eq!(text.replace('\r', "").len(), 42 * 60_000);
            assert_eq!(ended(it.key).await, EndStatus::Exited(0));
        }
    }

    #[tokio::test]
    async fn pipes_are_separate_and_end_with_the_last_writer() {
        let mut it = spawn(&plan(
            &["sh", "-c", "echo out; echo err >&2; cat; exit 3"],
            PIPES,
        ))
        .unwrap();
        assert!(it.terminal.is_none());
        assert_eq!(all(&mut it.streams[0]).await, "out\n");
        assert_eq!(all(&mut it.streams[1]).await, "err\n");
        assert_eq!(
            it.streams.iter().map(|it| it.stream).collect::<Vec<_>>(),
            [StreamKind::Stdout, StreamKind::Stderr]
        );
        assert_eq!(ended(it.key).await, EndStatus::Exited(3));
    }

    #[tokio::test]
    async fn the_session_is_as_asked() {
        for own in [false, true] {
            let plan = SpawnPlan {
                own_session: own,
                ..plan(&["sh", "-c", "ps -o sid= -p $$"], PIPES)
            };
            let mut it = spawn(&plan).unwrap();
            let sid: u32 = all(&mut it.streams[0]).await.trim().parse().unwrap();
            assert_eq!(sid == it.key.pid, own);
            ended(it.key).await;
        }
    }

    #[tokio::test]
    async fn a_program_gets_what_was_typed_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("show");
        fs::write(&script, "#!/bin/sh\necho \"$0|$1|$2\"; pwd -P; exec env\n").unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let mut plan = plan(&["./show", "", "a b*"], PIPES);
        plan.cwd = dir.path().canonicalize().unwrap();
        plan.env.push(("ONLY".into(), "this".into()));
        let mut it = spawn(&plan).unwrap();
        let text = all(&mut it.streams[0]).await;
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..2], ["./show||a b*", plan.cwd.to_str().unwrap()]);
        // The shell adds these by itself.
        let mut env: Vec<&str> = lines[2..]
            .iter()
            .filter_map(|line| line.split('=').next())
            .collect();
        env.retain(|name| !["PWD", "SHLVL", "_", "OLDPWD"].contains(name));
        env.sort_unstable();
        assert_eq!(env, ["ONLY", "PATH"]);
        ended(it.key).await;
    }

    #[tokio::test]
    async fn signals_are_as_a_program_expects_them() {
        let script = "import signal\nprint(*(s.name for s in signal.valid_signals() if getattr(s, 'name', '') and \
            s not in (9, 19) and signal.getsignal(s) == signal.SIG_IGN))\nprint(signal.pthread_sigmask(0, []))";
        // What whoever started us has ignored, as nohup does, stays so; on a terminal of its own
        // a program hears of its end.
        let mut plain = Command::new("python3");
        let plain = plain.args(["-c", script]).output().unwrap();
        let expected = String::from_utf8(plain.stdout).unwrap();
        assert!(expected.ends_with("SIGPIPE SIGXFSZ\nset()\n"), "{expected}");
        for stdio in [PTY, PIPES] {
            let mut it = spawn(&plan(&["python3", "-c", script], stdio)).unwrap();
            let said = all(&mut it.streams[0]).await.replace('\r', "");
            if stdio == PTY {
                assert_eq!(said, expected.replace("SIGHUP ", ""));
            } else {
                assert_eq!(said, expected);
            }
            ended(it.key).await;
            let mut it = spawn(&plan(&["sh", "-c", "kill -PIPE $$; echo deaf"], stdio)).unwrap();
            assert_eq!(all(&mut it.streams[0]).await, "");
            assert_eq!(ended(it.key).await, EndStatus::Signaled(13));
        }
    }

    #[tokio::test]
    async fn refusals_name_the_path_and_leave_no_child() {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &[u8]| {
            let path = dir.path().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let script = put("script", b"#!/no/such/interpreter -u\n");
        let error = spawn(&plan(&[&script], PTY)).unwrap_err();
        assert!(
            matches!(&error, SpawnError::BadInterpreter { interpreter, .. } if interpreter == "/no/such/interpreter")
        );
        assert!(error.to_string().contains(&script));
        assert!(matches!(spawn(&plan(&[], PTY)), Err(SpawnError::NoProgram)));
        assert!(matches!(
            spawn(&plan(&["/"], PTY)),
            Err(SpawnError::IsDirectory(_))
        ));
        let long = "x".repeat(200 * 1024);
        assert!(matches!(
            spawn(&plan(&["sh", &long], PIPES)),
            Err(SpawnError::TooLong(_))
        ));
        let error = spawn(&plan(&["sh", "a\0b"], PIPES)).unwrap_err();
        assert!(matches!(error, SpawnError::Resource { .. }));
        let mut gone = plan(&["sh"], PTY);
        gone.cwd = dir.path().join("none");
        assert!(matches!(spawn(&gone), Err(SpawnError::Folder { .. })));
    }

    #[tokio::test]
    async fn output_of_a_grandchild_that_outlives_the_program_is_read_to_its_end() {
        let script = "trap '' HUP; (read x; echo late) <&0 & echo early";
        let mut it = spawn(&plan(&["setsid", "sh", "-c", script], PIPES)).unwrap();
        assert_eq!(ended(it.key).await, EndStatus::Exited(0));
        assert_eq!(all(&mut it.streams[0]).await.lines().count(), 2);
        wait_until("reaped", || table::key_of(it.key.pid).is_none());
    }
}
