//! `daptree run`: an engine with the terminal front end. It starts both, waits for the user to
//! leave, ends what is left, and gives the root's exit status.

use crate::cli::{AttachCommand, RunRequest};
use crate::engine::{Engine, EngineConfig};
use crate::launch::Ambient;
use crate::settings::Settings;
use crate::trace::FAILED;
use anyhow::Result;
use daptree_model::{
    AttachRequest, BreakpointSpec, Command, CommandId, Event, FromEngine, LaunchRequest, Op, RowId,
    Stdio, ToEngine,
};
use daptree_ui::{Outcome, UiOptions};
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

/// The most live sessions at once, unless it is said.
const MAX_CHILDREN: u32 = 256;
/// How long ending the trees may take when the user is gone.
const LEAVING: Duration = Duration::from_secs(5);
/// The exit status after the terminal was closed.
pub(crate) const HUNG_UP: i32 = 128 + 1;

/// Runs the terminal front end until the user leaves. Gives the exit status.
pub async fn run(
    request: RunRequest,
    settings: &Settings,
    ambient: Ambient,
    config: EngineConfig,
) -> Result<i32> {
    let launch = launch_request(request, settings, ambient);
    interactive(launch, config).await
}

/// Attaches to the targets and runs the terminal front end until the user leaves; the programs run
/// on. Gives the exit status.
pub async fn attach(
    command: AttachCommand,
    settings: &Settings,
    ambient: Ambient,
    config: EngineConfig,
) -> Result<i32> {
    let options = UiOptions {
        pick: command.targets.is_empty(),
        attach: attach_requests(command, settings, &ambient),
        ..UiOptions::default()
    };
    terminal(options, config).await
}

/// One request for each target, with the settings and defaults that were left open.
fn attach_requests(
    command: AttachCommand,
    settings: &Settings,
    ambient: &Ambient,
) -> Vec<AttachRequest> {
    let python = command
        .python
        .map(|python| resolve_python(python, &ambient.cwd));
    let exceptions = command
        .exceptions
        .or_else(|| settings.exceptions.clone())
        .unwrap_or_default();
    let breakpoints: Vec<_> = command.breakpoints.into_iter().map(Into::into).collect();
    let request = |target| AttachRequest {
        target,
        just_my_code: command
            .just_my_code
            .or(settings.just_my_code)
            .unwrap_or(true),
        exceptions: exceptions.clone(),
        max_children: command
            .max_children
            .or(settings.max_children)
            .unwrap_or(MAX_CHILDREN),
        breakpoints: breakpoints.clone(),
        path_maps: command.path_maps.clone(),
        python: python.clone(),
        cwd: ambient.cwd.clone(),
        env: ambient.env.clone(),
    };
    command.targets.into_iter().map(request).collect()
}

/// What was typed, with the settings and defaults that it left open.
fn launch_request(request: RunRequest, settings: &Settings, ambient: Ambient) -> LaunchRequest {
    let cwd = match request.cwd {
        Some(folder) => ambient.cwd.join(folder),
        None => ambient.cwd.clone(),
    };
    let mut env = ambient.env;
    for (name, value) in request.env {
        env.retain(|(known, _)| *known != name);
        env.push((name, value));
    }
    let size = crate::launch_size();
    LaunchRequest {
        words: request.program,
        cwd,
        env,
        python: request
            .python
            .map(|python| resolve_python(python, &ambient.cwd)),
        stdio: if request.no_pty { Stdio::Pipes } else { size },
        just_my_code: request
            .just_my_code
            .or(settings.just_my_code)
            .unwrap_or(true),
        exceptions: request.exceptions.or_else(|| settings.exceptions.clone()),
        stop_on_entry: request.stop_on_entry,
        stop_the_world: request.stop_the_world,
        max_children: request
            .max_children
            .or(settings.max_children)
            .unwrap_or(MAX_CHILDREN),
        breakpoints: request
            .breakpoints
            .into_iter()
            .map(Into::into)
            .chain(request.functions.into_iter().map(BreakpointSpec::function))
            .collect(),
    }
}

/// A path that was typed belongs to the folder it was typed in, not to `--cwd`.
fn resolve_python(python: OsString, cwd: &std::path::Path) -> PathBuf {
    let path = PathBuf::from(python);
    if path.components().count() > 1 {
        cwd.join(path)
    } else {
        path
    }
}

/// An engine and a terminal front end for one launch.
pub(crate) async fn interactive(launch: LaunchRequest, config: EngineConfig) -> Result<i32> {
    let options = UiOptions {
        launch: Some(Box::new(launch)),
        ..UiOptions::default()
    };
    terminal(options, config).await
}

/// An engine and a terminal front end, until the user leaves.
async fn terminal(options: UiOptions, config: EngineConfig) -> Result<i32> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        return Err(daptree_ui::UiError::NotATerminal.into());
    }
    let engine = Engine::start(config)?;
    let (to_engine, from_engine) = engine.connect();
    let (own, heard) = engine.connect();
    let (tell, ended) = watch::channel(None);
    let listener = tokio::spawn(listen(heard, tell));
    let outcome = daptree_ui::run(options, to_engine, from_engine).await;
    // Whatever the front end came to, nothing of the trees stays behind.
    let id = CommandId(1);
    let command = Command {
        id,
        expect: None,
        op: Op::Shutdown,
    };
    let told = own.send(ToEngine::Command(command)).await.is_ok();
    let over = if told {
        timeout(LEAVING, listener).await.ok()
    } else {
        None
    };
    if over.is_none() {
        eprintln!(
            "daptree: ending the program took more than {} s",
            LEAVING.as_secs()
        );
    }
    let status = *ended.borrow();
    engine.stop().await;
    Ok(match outcome? {
        Outcome::LaunchFailed(message) => {
            eprintln!("daptree: {message}");
            FAILED
        }
        Outcome::Signal(number) => 128 + number,
        Outcome::TerminalLost => HUNG_UP,
        Outcome::Quit { .. } => status.unwrap_or(0),
    })
}

/// Keeps the exit status of the last root that ended; ends with the reply to the shutdown.
async fn listen(mut heard: mpsc::Receiver<FromEngine>, tell: watch::Sender<Option<i32>>) {
    let mut first: Option<RowId> = None;
    while let Some(message) = heard.recv().await {
        match message {
            FromEngine::Event {
                event: Event::TreeEnded { root, status, .. },
                ..
            } => {
                // That of the first root is the program's; others were started from within.
                let is_first = *first.get_or_insert(root) == root;
                tell.send_if_modified(|code| {
                    if is_first {
                        *code = status.shell_code();
                    }
                    is_first
                });
            }
            FromEngine::Reply(_) => return,
            _ => {}
        }
    }
}
