//! From a launch request to an adapter that is up: the interpreter, debugpy, the adapter's
//! process and its endpoint. It must not know of sessions; the core asks for the root later.

use super::shell::roots::mark;
use super::shell::{Program, Ready, ShellInput};
use crate::adapter::debugpy::Debugpy as DebugpyPolicy;
use crate::launch::debugpy::{self, Debugpy};
use crate::launch::{self, Ambient, Interpreter, Launch, LaunchOptions, shim};
use crate::process::reaper::Reaper;
use crate::process::spawn::{self, SpawnPlan, Spawned, StdinSource, Stdio};
use crate::process::stream::OutputStream;
use crate::process::table::MARK_VARIABLE;
use crate::settings::Folders;
use crate::tree::{Input, Prepared, Run};
use daptree_model::{LaunchRequest, ProcessKey};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::AsyncBufReadExt;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

/// How long the adapter may take to say where it listens.
const ADAPTER: Duration = Duration::from_secs(20);
/// How much of the adapter's own words is kept for an error message, in bytes.
const LAST_WORDS: usize = 4_096;
/// How long they are waited for once the adapter has ended.
const LAST_WORDS_WITHIN: Duration = Duration::from_millis(500);

/// What a launch is prepared with.
#[derive(Clone, Debug)]
pub(super) struct Workshop {
    pub folders: Folders,
    pub settings_python: Option<PathBuf>,
    pub reaper: Arc<Reaper>,
    pub inputs: mpsc::Sender<ShellInput>,
}

/// An adapter that is up.
#[derive(Debug)]
pub(super) struct Adapter {
    pub process: ProcessKey,
    pub words: LastWords,
    /// Where it listens.
    pub host: String,
    /// Port of `host`.
    pub port: u16,
}

/// The last words of an adapter.
#[derive(Clone, Debug, Default)]
pub(super) struct LastWords {
    kept: Arc<Mutex<Vec<u8>>>,
    /// Its other side is dropped when nothing more can come.
    open: Option<watch::Receiver<()>>,
}

impl LastWords {
    /// Waits until all is there that an adapter which ended has said.
    pub(super) async fn complete(&self) {
        let Some(mut open) = self.open.clone() else {
            return;
        };
        // A child that it left behind may keep its streams open.
        let _ = timeout(LAST_WORDS_WITHIN, async {
            while open.changed().await.is_ok() {}
        })
        .await;
    }

    fn add(&self, bytes: &[u8]) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(bytes);
        let surplus = kept.len().saturating_sub(LAST_WORDS);
        kept.drain(..surplus);
    }

    /// What it said last, for people; empty when it said nothing.
    pub(super) fn text(&self) -> String {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).trim().to_owned()
    }
}

impl Workshop {
    /// Brings the adapter of a run up and says so to the shell, or why not.
    pub(super) async fn prepare(self, run: Run, request: Arc<LaunchRequest>) {
        let inputs = self.inputs.clone();
        let input = match self.bring_up(run, &request).await {
            Ok(ready) => ShellInput::Ready(run, Box::new(ready)),
            Err(message) => ShellInput::Core(Input::StartFailed(run, message)),
        };
        let _ = inputs.send(input).await;
    }

    async fn bring_up(&self, run: Run, request: &LaunchRequest) -> Result<Ready, String> {
        let found = self.look_up(run, request).await?;
        let (launch, debugpy, adapter_python) = found;
        let launcher =
            shim::write_launcher(&self.folders.data).map_err(|error| self.unwritable(&error))?;
        let adapter = self
            .start_adapter(run, &adapter_python, &debugpy, &launch.env)
            .await?;
        let Adapter {
            process,
            words,
            host,
            port,
        } = adapter;
        let prepared = Prepared {
            policy: Arc::new(DebugpyPolicy),
            adapter: format!("debugpy {}", debugpy.version),
            name: launch.title.clone(),
            program: launch
                .program
                .as_ref()
                .map(|path| path.to_string_lossy().into_owned()),
            command: typed(&launch),
            own_streams: true,
            host,
            port,
        };
        Ok(Ready {
            prepared,
            program: Some(Program {
                launch,
                launcher,
                debugpy,
            }),
            adapter: process,
            words,
        })
    }

    fn unwritable(&self, error: &std::io::Error) -> String {
        let data = self.folders.data.display();
        format!(
            "{data}: what starts the adapter cannot be written there: {error}; set DAPTREE_DATA_DIR to another folder"
        )
    }

    /// Starts the adapter of a run and waits until it says where it listens.
    pub(super) async fn start_adapter(
        &self,
        run: Run,
        python: &Interpreter,
        debugpy: &Debugpy,
        env: &[(OsString, OsString)],
    ) -> Result<Adapter, String> {
        let shim = shim::write_shim(&self.folders.data).map_err(|error| self.unwritable(&error))?;
        let command = shim::adapter_command(python, &shim, &debugpy.folder, env);
        let injector = shim::write_injector(&self.folders.data, &debugpy.folder)
            .map_err(|error| self.unwritable(&error))?;
        let fifo = Fifo::make(&self.folders, run)?;
        let (process, words) = Self::spawn_adapter(run, &command, env, injector, &fifo)?;
        let endpoint = self.endpoint(process, &fifo, &words).await;
        let (host, port) = endpoint.inspect_err(|_| {
            // It may hang; nobody will ask it for anything any more.
            let _ = crate::process::pidfd::signal(process, crate::process::pidfd::Signal::KILL);
        })?;
        tracing::debug!(root = %run.root, "the adapter listens on {host}:{port}");
        Ok(Adapter {
            process,
            words,
            host,
            port,
        })
    }

    /// Finds the interpreter and debugpy; may fetch the latter.
    async fn look_up(
        &self,
        run: Run,
        request: &LaunchRequest,
    ) -> Result<(Launch, Debugpy, Interpreter), String> {
        let options = LaunchOptions {
            python: request
                .python
                .as_ref()
                .map(|path| path.clone().into_os_string()),
            settings_python: self.settings_python.clone(),
            ..LaunchOptions::default()
        };
        let ambient = Ambient {
            cwd: request.cwd.clone(),
            env: request.env.clone(),
        };
        let words = request.words.clone();
        let data = self.folders.data.clone();
        let inputs = self.inputs.clone();
        let work = move || {
            let launch =
                launch::resolve(&words, &options, &ambient).map_err(|error| error.to_string())?;
            let mut progress = |progress: debugpy::Progress| {
                let input = ShellInput::Core(Input::Progress(run, progress.line));
                // The shell is gone only when everything is.
                let _ = inputs.blocking_send(input);
            };
            let debugpy = debugpy::find_or_install(&launch.interpreter, &data, &mut progress)
                .map_err(|error| error.to_string())?;
            let adapter = debugpy::adapter_interpreter(
                &launch.interpreter,
                &debugpy,
                &launch.env,
                &launch.cwd,
            )
            .map_err(|error| error.to_string())?;
            Ok((launch, debugpy, adapter))
        };
        tokio::task::spawn_blocking(work)
            .await
            .unwrap_or_else(|error| Err(format!("looking for the interpreter failed: {error}")))
    }

    fn spawn_adapter(
        run: Run,
        command: &[OsString],
        env: &[(OsString, OsString)],
        injector: PathBuf,
        fifo: &Fifo,
    ) -> Result<(ProcessKey, LastWords), String> {
        let mut env: Vec<(OsString, OsString)> = env
            .iter()
            .filter(|(name, _)| !name.as_encoded_bytes().starts_with(b"DEBUGPY_"))
            .cloned()
            .collect();
        env.push((
            "DEBUGPY_ADAPTER_ENDPOINTS".into(),
            fifo.0.clone().into_os_string(),
        ));
        env.push((shim::INJECTOR_VARIABLE.into(), injector.into()));
        // The keeper knows the mark, should daptree die before it knows the process.
        env.push((MARK_VARIABLE.into(), mark(run).into()));
        let plan = SpawnPlan {
            argv: command.to_vec(),
            cwd: PathBuf::from("/"),
            env,
            stdio: Stdio::Pipes {
                stdin: StdinSource::Null,
            },
            own_session: true,
        };
        tracing::debug!(root = %run.root, "the adapter is started: {command:?}");
        let spawned = spawn::spawn(&plan)
            .map_err(|error| format!("the debug adapter could not be started: {error}"))?;
        let Spawned { key, streams, .. } = spawned;
        let (open, closed) = watch::channel(());
        let words = LastWords {
            open: Some(closed),
            ..LastWords::default()
        };
        let open = Arc::new(open);
        for stream in streams {
            tokio::spawn(keep_words(stream, words.clone(), Arc::clone(&open), run));
        }
        Ok((key, words))
    }

    /// Waits until the adapter says where it listens, or ends.
    async fn endpoint(
        &self,
        adapter: ProcessKey,
        fifo: &Fifo,
        words: &LastWords,
    ) -> Result<(String, u16), String> {
        // Opened for writing as well, so that it is never at its end before the adapter comes.
        let receiver = pipe::OpenOptions::new()
            .read_write(true)
            .open_receiver(&fifo.0)
            .map_err(|error| format!("{}: cannot be read: {error}", fifo.0.display()))?;
        let mut lines = tokio::io::BufReader::new(receiver).lines();
        let told = async { lines.next_line().await.ok().flatten() };
        let ended = self.reaper.watch(adapter);
        let line = tokio::select! {
            line = timeout(ADAPTER, told) => line.map_err(|_| {
                let seconds = ADAPTER.as_secs();
                with_words(format!(
                    "the debug adapter did not say where it listens within {seconds} s: start it again; `daptree doctor` tries each part"
                ), words)
            })?,
            status = ended => {
                words.complete().await;
                return Err(with_words(format!("the debug adapter ended at its start ({status:?})"), words));
            }
        };
        line.as_deref().and_then(read_endpoint).ok_or_else(|| {
            let line = line.unwrap_or_default();
            with_words(
                format!("the debug adapter said `{line}` instead of where it listens"),
                words,
            )
        })
    }
}

/// An adapter's message with its last words.
pub(super) fn with_words(message: String, words: &LastWords) -> String {
    match words.text() {
        text if text.is_empty() => message,
        text => format!("{message}; its last words:\n{text}"),
    }
}

async fn keep_words(
    mut stream: OutputStream,
    words: LastWords,
    _open: Arc<watch::Sender<()>>,
    run: Run,
) {
    while let Ok(Some(bytes)) = stream.read_chunk().await {
        tracing::debug!(root = %run.root, "adapter: {}", String::from_utf8_lossy(&bytes).trim_end());
        words.add(&bytes);
    }
}

/// The command as the user typed it, with the interpreter that was chosen.
fn typed(launch: &Launch) -> Vec<String> {
    let mut words = vec![launch.interpreter.path.clone().into_os_string()];
    words.extend(launch.flags.iter().cloned());
    match &launch.target {
        launch::Target::File(file) => words.push(file.clone()),
        launch::Target::Module(module) => words.extend([OsString::from("-m"), module.clone()]),
        launch::Target::Code(code) => words.extend([OsString::from("-c"), code.clone()]),
    }
    words.extend(launch.args.iter().cloned());
    words
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

/// `{"client": {"host": …, "port": …}}`
fn read_endpoint(line: &str) -> Option<(String, u16)> {
    let value: serde_json::Value = serde_json::from_str(line).ok()?;
    let client = value.get("client")?;
    let port = u16::try_from(client.get("port")?.as_u64()?).ok()?;
    let host = client
        .get("host")
        .and_then(serde_json::Value::as_str)
        .unwrap_or("127.0.0.1");
    Some((host.to_owned(), port))
}

/// A named pipe in the runtime folder, gone when it is dropped.
#[derive(Debug)]
struct Fifo(PathBuf);

impl Fifo {
    fn make(folders: &Folders, run: Run) -> Result<Self, String> {
        let folder: &Path = folders.open_runtime().map_err(|error| error.to_string())?;
        let name = format!("adapter-{}-{}-{}", std::process::id(), run.root, run.number);
        let unique = format!(
            "{name}-{}",
            NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
        );
        let path = folder.join(unique);
        let mode = Mode::RUSR | Mode::WUSR;
        mknodat(CWD, &path, FileType::Fifo, mode, 0).map_err(|error| {
            format!(
                "{}: a named pipe cannot be made there: {error}",
                path.display()
            )
        })?;
        Ok(Self(path))
    }
}

/// Engines of one process share the runtime folder.
static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);

impl Drop for Fifo {
    fn drop(&mut self) {
        // The adapter removes its endpoints file itself when it ends in order.
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_read() {
        let line = r#"{"client": {"host": "127.0.0.1", "port": 40123}}"#;
        assert_eq!(read_endpoint(line), Some(("127.0.0.1".to_owned(), 40123)));
        for bad in [
            "",
            "{}",
            "garbage",
            r#"{"client": {"port": 99999}}"#,
            r#"{"client": 3}"#,
        ] {
            assert_eq!(read_endpoint(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_last_words_are_the_last() {
        let words = LastWords::default();
        words.add(&vec![b'a'; 10_000]);
        words.add(b" end\n");
        let text = words.text();
        assert!(text.ends_with("a end") && text.len() <= LAST_WORDS);
        assert_eq!(
            with_words("it ended".to_owned(), &LastWords::default()),
            "it ended"
        );
    }
}
