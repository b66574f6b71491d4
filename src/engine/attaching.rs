//! From an attach request to an adapter of ours that is up: for a process that the debugger is put
//! into, or for a program that will connect. It must not know of sessions.

use super::launching::Workshop;
use super::shell::{Ready, ShellInput};
use crate::adapter::debugpy::Debugpy as DebugpyPolicy;
use crate::launch::debugpy::{self, Debugpy};
use crate::launch::{self, Ambient, HowFound, Interpreter, LaunchOptions};
use crate::process::table;
use crate::tree::{Input, Prepared, Run};
use daptree_model::{AttachRequest, AttachTarget, address};
use std::net::TcpListener;
use std::sync::Arc;

/// What speaks to an adapter on `host` and `port`, for a root that runs already.
pub(super) fn prepared(
    request: &AttachRequest,
    adapter: String,
    host: String,
    port: u16,
) -> Prepared {
    let name = request.target.to_string();
    Prepared {
        policy: Arc::new(DebugpyPolicy),
        adapter,
        command: vec![name.clone()],
        name,
        program: None,
        own_streams: false,
        host,
        port,
    }
}

impl Workshop {
    /// Brings the adapter for an attach up and says so to the shell, or why not.
    pub(super) async fn prepare_attach(self, run: Run, request: Arc<AttachRequest>) {
        let inputs = self.inputs.clone();
        let input = match self.adapter_for(run, &request).await {
            Ok(ready) => ShellInput::Ready(run, Box::new(ready)),
            Err(message) => {
                let target = &request.target;
                let message = format!("{target} could not be attached to: {message}");
                ShellInput::Core(Input::StartFailed(run, message))
            }
        };
        let _ = inputs.send(input).await;
    }

    async fn adapter_for(&self, run: Run, request: &Arc<AttachRequest>) -> Result<Ready, String> {
        let work = {
            let (this, request) = (self.clone(), Arc::clone(request));
            move || this.look_up_for(run, &request)
        };
        let found = tokio::task::spawn_blocking(work).await;
        let (python, debugpy) = found
            .unwrap_or_else(|error| Err(format!("looking for the interpreter failed: {error}")))?;
        let adapter = self
            .start_adapter(run, &python, &debugpy, &request.env)
            .await?;
        let name = format!("debugpy {}", debugpy.version);
        Ok(Ready {
            prepared: prepared(request, name, adapter.host, adapter.port),
            program: None,
            adapter: adapter.process,
            words: adapter.words,
        })
    }

    /// The interpreter for the adapter and its debugpy; may fetch the latter.
    fn look_up_for(
        &self,
        run: Run,
        request: &AttachRequest,
    ) -> Result<(Interpreter, Debugpy), String> {
        let (env, cwd) = (&request.env, request.cwd.as_path());
        let python = self.interpreter_for(request)?;
        let inputs = self.inputs.clone();
        let mut progress = |progress: debugpy::Progress| {
            let input = ShellInput::Core(Input::Progress(run, progress.line));
            // The shell is gone only when everything is.
            let _ = inputs.blocking_send(input);
        };
        let found = debugpy::find_or_install(&python, &self.folders.data, &mut progress)
            .map_err(|error| error.to_string())?;
        let adapter = debugpy::adapter_interpreter(&python, &found, env, cwd)
            .map_err(|error| error.to_string())?;
        match &request.target {
            AttachTarget::Process { .. } => {
                let missing = launch::attach::missing_injector(&adapter, &found, env, cwd);
                missing.map_or(Ok((adapter, found)), Err)
            }
            AttachTarget::Listen { host, port } => {
                // debugpy's adapter does not say why it cannot listen.
                TcpListener::bind((host.as_str(), *port)).map_err(|error| {
                    let place = address(host, *port);
                    format!("daptree cannot listen on {place}: {error}; choose another address")
                })?;
                Ok((adapter, found))
            }
            AttachTarget::Listening { .. } => Ok((adapter, found)),
        }
    }

    fn interpreter_for(&self, request: &AttachRequest) -> Result<Interpreter, String> {
        let (env, cwd) = (&request.env, request.cwd.as_path());
        let found = match (&request.target, &request.python) {
            (AttachTarget::Process { .. }, Some(python)) => {
                Interpreter::probe(python, HowFound::Option, env, cwd)
            }
            (AttachTarget::Process { pid }, None) => {
                let process = table::describe(*pid).ok_or("it has ended")?;
                launch::attach::interpreter(&process, env, cwd)
            }
            (_, python) => {
                let options = LaunchOptions {
                    python: python.as_ref().map(|path| path.clone().into_os_string()),
                    settings_python: self.settings_python.clone(),
                    ..LaunchOptions::default()
                };
                let ambient = Ambient {
                    cwd: request.cwd.clone(),
                    env: env.clone(),
                };
                launch::default_interpreter(&options, &ambient)
            }
        };
        found.map_err(|error| error.to_string())
    }
}
