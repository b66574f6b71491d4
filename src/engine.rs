//! The engine's shell: it owns connections, processes, timers and output, runs the core's effects
//! and feeds its inputs. One task writes; front ends get a pair of channels. It decides nothing:
//! every rule is in [`crate::tree`].

mod attaching;
pub mod connection;
mod files;
mod front;
mod handed;
mod kept;
mod launching;
mod leaders;
mod members;
mod shell;
mod streams;
mod terminal;

pub(crate) use files::read as read_source;
pub use streams::{RawOutput, RawPiece};
pub(crate) use streams::{kind_of, window};

use crate::process::reaper::Reaper;
use crate::record::Recorder;
use crate::settings::Folders;
use crate::tree::Input;
use daptree_model::{ClientId, FromEngine, PathMap, ToEngine};
use shell::{Shell, ShellInput};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// How many inputs may wait for the core before their senders do.
const INPUTS: usize = 4_096;
/// How many messages may wait for a front end in its own channel; the rest wait before it.
const MESSAGES: usize = 256;

/// What an engine is started with.
#[derive(Debug)]
pub struct EngineConfig {
    /// Where things go.
    pub folders: Folders,
    /// The `python` of `.daptree.toml`.
    pub settings_python: Option<PathBuf>,
    /// The binary that is started as the keeper; `None`: none is started (tests of the core
    /// within another program).
    pub keeper: Option<PathBuf>,
    /// This process runs this engine and nothing else, so that every process below it is a
    /// tree's or the engine's own.
    pub sole: bool,
    /// The workspace whose breakpoints are kept, a real path; `None`: none are read or kept.
    pub workspace: Option<PathBuf>,
    /// Folders that the program knows under other names.
    pub maps: Vec<PathMap>,
    /// Sessions with which nothing was done for so long are closed, by the rules of close; `None`:
    /// never. For engines without a person.
    pub idle: Option<Duration>,
    /// Also gets every byte that the tree's processes write, as it is written.
    pub raw_output: Option<mpsc::Sender<RawOutput>>,
    /// Keeps a journal of it.
    pub record: Option<Recorder>,
}

/// A running engine. Dropping it without [`Engine::stop`] leaves ending the trees to the keeper.
#[derive(Debug)]
pub struct Engine {
    inputs: mpsc::Sender<ShellInput>,
    clients: AtomicU32,
    task: JoinHandle<()>,
}

impl Engine {
    /// Starts the engine's task. Needs a tokio runtime with I/O and time.
    pub fn start(config: EngineConfig) -> io::Result<Self> {
        let reaper = Reaper::start()?;
        let (inputs, inbox) = mpsc::channel(INPUTS);
        let shell = Shell::new(config, reaper, inputs.clone());
        let task = tokio::spawn(shell.run(inbox));
        Ok(Self {
            inputs,
            clients: AtomicU32::new(0),
            task,
        })
    }

    /// Connects a front end. It leaves by dropping its sender.
    pub fn connect(&self) -> (mpsc::Sender<ToEngine>, mpsc::Receiver<FromEngine>) {
        let client = ClientId(self.clients.fetch_add(1, Ordering::Relaxed) + 1);
        let (to_engine, mut said) = mpsc::channel(MESSAGES);
        let (to_front, from_engine) = mpsc::channel(MESSAGES);
        let inputs = self.inputs.clone();
        tokio::spawn(async move {
            if inputs
                .send(ShellInput::Front(client, to_front))
                .await
                .is_err()
            {
                return;
            }
            while let Some(message) = said.recv().await {
                if inputs
                    .send(ShellInput::Said(client, message))
                    .await
                    .is_err()
                {
                    return;
                }
            }
            let _ = inputs
                .send(ShellInput::Core(Input::ClientClosed(client)))
                .await;
        });
        (to_engine, from_engine)
    }

    /// Ends the engine: connections are closed, adapters end, the keeper is sent home. The trees
    /// have to be ended before, by `Op::Shutdown`; what still lives is ended here.
    pub async fn stop(self) {
        let _ = self.inputs.send(ShellInput::Stop).await;
        let _ = self.task.await;
    }
}
