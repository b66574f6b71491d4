//! The engine's side of the keeper: starts it, tells it what to look after, and starts another
//! with the same list when it dies. It must not know what the keeper does with the list.

use super::{Kept, Message, streams};
use crate::process::kernel::{ChildSetup, before_exec};
use crate::process::{ProcessKey, children, exit, table};
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

/// How often a keeper that died is started again.
const RESTARTS: usize = 5;
/// How long [`KeeperHandle::bye`] waits.
const BYE_WITHIN: Duration = Duration::from_secs(2);

/// How a keeper is started.
#[derive(Clone, Debug)]
pub struct KeeperCommand {
    /// The binary, as an absolute path.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Variables beside the engine's own.
    pub variables: Vec<(OsString, OsString)>,
}

/// A running keeper. When the handle is dropped without [`KeeperHandle::bye`], the keeper takes
/// the engine for dead and does its work.
#[derive(Debug)]
pub struct KeeperHandle {
    said: mpsc::UnboundedSender<Said>,
    state: watch::Receiver<State>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Runs(ProcessKey),
    /// It said `bye`, or died too often.
    Over,
}

#[derive(Debug)]
enum Said {
    Message(Message),
    /// What the keeper reads when we are gone.
    Streams(Vec<OwnedFd>),
    /// Answered once all before it is written.
    Written(oneshot::Sender<()>),
}

struct Running {
    key: ProcessKey,
    input: UnixStream,
}

impl KeeperHandle {
    /// Starts `binary keeper`. Needs a tokio runtime with I/O.
    pub fn start(binary: &Path) -> io::Result<Self> {
        Self::start_with(KeeperCommand {
            program: binary.to_path_buf(),
            arguments: vec!["keeper".into()],
            variables: Vec::new(),
        })
    }

    /// As [`Self::start`], by another command.
    pub fn start_with(command: KeeperCommand) -> io::Result<Self> {
        let (running, _) = start(&command, &[])?;
        let (said, queue) = mpsc::unbounded_channel();
        let (tell, state) = watch::channel(State::Runs(running.key));
        tokio::spawn(serve(command, running, queue, tell));
        Ok(Self { said, state })
    }

    /// Looks after `key`: `end` says whether it ends with the engine or is continued.
    pub fn add(&self, key: ProcessKey, end: bool) {
        self.send(Message::Add {
            pid: key.pid,
            start: key.start,
            end,
        });
    }

    /// Forgets `key`.
    pub fn remove(&self, key: ProcessKey) {
        self.send(Message::Remove {
            pid: key.pid,
            start: key.start,
        });
    }

    /// Looks after every process whose environment carries `mark`.
    pub fn mark(&self, mark: &str, end: bool) {
        self.send(Message::Mark {
            mark: mark.to_owned(),
            end,
        });
    }

    /// Forgets a mark.
    pub fn unmark(&self, mark: &str) {
        let mark = mark.to_owned();
        self.send(Message::Unmark { mark });
    }

    /// Reads these to their ends once the engine is gone, whichever way. They must not block.
    pub fn hold(&self, streams: Vec<OwnedFd>) {
        let _ = self.said.send(Said::Streams(streams));
    }

    /// Completes once everything said before is the keeper's to read, also when the engine dies
    /// right after. False when there is no keeper any more.
    pub async fn written(&self) -> bool {
        let (answer, written) = oneshot::channel();
        self.said.send(Said::Written(answer)).is_ok() && written.await.is_ok()
    }

    /// The keeper's process now; `None` when there is none any more.
    pub fn key(&self) -> Option<ProcessKey> {
        match *self.state.borrow() {
            State::Runs(key) => Some(key),
            State::Over => None,
        }
    }

    /// Completes when the keeper has died more often than it is started again: from then on
    /// nothing cleans up after the engine.
    pub fn lost(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut state = self.state.clone();
        async move {
            let _ = state.wait_for(|state| *state == State::Over).await;
        }
    }

    /// Ends the keeper in order; what it looked after stays as it is. One that holds streams is
    /// only told: it ends when they do. False when it had not ended after two seconds.
    pub async fn bye(self) -> bool {
        self.send(Message::Bye);
        timeout(BYE_WITHIN, self.lost()).await.is_ok()
    }

    fn send(&self, message: Message) {
        // The receiver is gone only when the keeper is over, which `lost` tells.
        let _ = self.said.send(Said::Message(message));
    }
}

/// Starts a keeper that has `first` to read before it exists, so that the engine may die at any
/// moment after; gives what its socket did not take.
fn start(command: &KeeperCommand, first: &[u8]) -> io::Result<(Running, Vec<u8>)> {
    // A socket, so that writing to it never blocks and never raises SIGPIPE.
    let (mut ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    let mut rest = first;
    while !rest.is_empty() {
        match ours.write(rest) {
            Ok(taken) => rest = rest.get(taken..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let mut process = Command::new(&command.program);
    process
        .args(&command.arguments)
        .envs(command.variables.iter().map(|(name, value)| (name, value)))
        // It belongs to no tree, not even to one that this engine itself is part of.
        .env_remove(table::MARK_VARIABLE)
        .current_dir("/")
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    before_exec(&mut process, ChildSetup::OwnSessionDeaf);
    let child = children::spawn_ours(|| process.spawn(), |child| Some(child.id()))?;
    let key = table::key_of(child.id()).ok_or(io::ErrorKind::NotFound)?;
    let input = UnixStream::from_std(ours)?;
    Ok((Running { key, input }, rest.to_vec()))
}

async fn serve(
    command: KeeperCommand,
    mut running: Running,
    mut queue: mpsc::UnboundedReceiver<Said>,
    state: watch::Sender<State>,
) {
    let mut kept = Kept::default();
    let mut held = Vec::new();
    let mut restarts = 0;
    loop {
        let said_bye = tell(&mut running, &mut queue, &mut kept, &mut held).await;
        if said_bye || restarts == RESTARTS || queue.is_closed() && queue.is_empty() {
            break;
        }
        restarts += 1;
        let list: Vec<u8> = kept
            .replay()
            .iter()
            .filter_map(|it| line(it).ok())
            .flatten()
            .collect();
        let rest = match start(&command, &list) {
            Ok((next, rest)) => {
                running = next;
                rest
            }
            Err(error) => {
                tracing::error!(%error, "the keeper died and could not be started again");
                break;
            }
        };
        tracing::warn!(restarts, "the keeper died and was started again");
        state.send_replace(State::Runs(running.key));
        // When this one is dead too, the next round starts another.
        let _ = running.input.write_all(&rest).await;
        let _ = hand_over(&mut running.input, &held).await;
    }
    state.send_replace(State::Over);
}

/// Tells one keeper everything until it has ended; true when that is in order.
async fn tell(
    running: &mut Running,
    queue: &mut mpsc::UnboundedReceiver<Said>,
    kept: &mut Kept,
    held: &mut Vec<OwnedFd>,
) -> bool {
    let mut end = std::pin::pin!(exit::end_of(running.key));
    loop {
        let said = tokio::select! {
            _ = &mut end => return false,
            said = queue.recv() => said,
        };
        let message = match said {
            Some(Said::Message(message)) => message,
            Some(Said::Streams(streams)) => {
                tokio::select! {
                    _ = &mut end => {
                        held.extend(streams);
                        return false;
                    }
                    _ = hand_over(&mut running.input, &streams) => {}
                }
                held.extend(streams);
                continue;
            }
            Some(Said::Written(answer)) => {
                // Nobody waits for it any more when this fails.
                let _ = answer.send(());
                continue;
            }
            // The handle was dropped: the engine's death, as far as the keeper is concerned.
            None => {
                let _ = running.input.shutdown().await;
                if held.is_empty() {
                    end.await;
                }
                return true;
            }
        };
        let is_bye = kept.apply(message.clone());
        tokio::select! {
            _ = &mut end => return is_bye,
            _ = write(&mut running.input, &message) => {}
        }
        if is_bye {
            if held.is_empty() {
                end.await;
            }
            return true;
        }
    }
}

async fn write(input: &mut UnixStream, message: &Message) -> io::Result<()> {
    input.write_all(&line(message)?).await
}

/// Sends streams to the keeper, so many at a time.
async fn hand_over(input: &mut UnixStream, held: &[OwnedFd]) -> io::Result<()> {
    let line = line(&Message::Hold)?;
    for some in held.chunks(streams::AT_ONCE) {
        let some: Vec<BorrowedFd<'_>> = some.iter().map(|stream| stream.as_fd()).collect();
        let send = || streams::send(input.as_fd(), &line, &some);
        let taken = input.async_io(Interest::WRITABLE, send).await?;
        input
            .write_all(line.get(taken..).unwrap_or_default())
            .await?;
    }
    Ok(())
}

fn line(message: &Message) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}
