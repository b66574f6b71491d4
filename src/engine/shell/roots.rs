//! A root's run: its adapter is up, its process is started on a terminal or pipes of its own, the
//! adapter is stopped. It must not know when; the core says so.

use super::super::launching::with_words;
use super::{Ready, RunData, Shell, ShellInput};
use crate::launch;
use crate::process::ProcessKey;
use crate::process::pidfd::{self, Signal};
use crate::process::spawn::{self, SpawnPlan, Spawned, StdinSource, Stdio};
use crate::record::Entry;
use crate::tree::{Input, Origin, Run};
use daptree_model::{FromEngine, RowId, Stdio as WantedStdio};

impl Shell {
    pub(super) fn adapter_up(&mut self, run: Run, ready: Ready) {
        let Ready {
            prepared,
            program,
            adapter,
            words,
        } = ready;
        let ended = self.workshop.reaper.watch(adapter);
        let inputs = self.workshop.inputs.clone();
        tokio::spawn(async move {
            let status = ended.await;
            let how = match status {
                daptree_model::EndStatus::Exited(code) => format!("with status {code}"),
                daptree_model::EndStatus::Signaled(number) => {
                    format!("by {}", daptree_model::signal_name(number))
                }
                daptree_model::EndStatus::Unknown => "for an unknown reason".to_owned(),
            };
            words.complete().await;
            let message = with_words(format!("the debug adapter ended {how}"), &words);
            let input = Input::AdapterGone(run, message);
            let _ = inputs.send(ShellInput::Core(input)).await;
        });
        let origin = self.origins.get(&run).cloned();
        let is_ours = !origin.as_ref().is_some_and(Origin::is_attach);
        // The children of a program that daptree only visits look for this adapter as they start:
        // should daptree die, it stays for as long as they do.
        if let Some(keeper) = self.keeper.as_ref().filter(|_| is_ours) {
            keeper.add(adapter, true);
        }
        self.runs.insert(
            run,
            RunData {
                program,
                origin,
                adapter,
            },
        );
        self.feed(Input::AdapterReady(run, prepared));
    }

    pub(super) fn spawn_root(
        &mut self,
        run: Run,
        host: &str,
        port: u16,
    ) -> Result<ProcessKey, String> {
        let data = self.runs.get(&run).ok_or("its adapter is gone")?;
        let program = data
            .program
            .as_ref()
            .ok_or("there is no program to start")?;
        let launch = &program.launch;
        let launcher = Some(program.launcher.as_path());
        let folder = &program.debugpy.folder;
        let argv = launch::debuggee_command(launch, launcher, folder, host, port);
        let mut env = launch.env.clone();
        env.retain(|(name, _)| name != "DAPTREE_TREE");
        env.push(("DAPTREE_TREE".into(), mark(run).into()));
        // Without it, children on 3.11 write warnings of pydevd to their own standard error.
        if !env
            .iter()
            .any(|(name, _)| name == "PYDEVD_DISABLE_FILE_VALIDATION")
        {
            env.push(("PYDEVD_DISABLE_FILE_VALIDATION".into(), "1".into()));
        }
        let wanted = match &data.origin {
            Some(Origin::Launch(request)) => request.stdio,
            _ => WantedStdio::Pipes,
        };
        let stdio = match wanted {
            WantedStdio::Terminal { columns, rows } => {
                let terminal = self.terminals.entry(run.root).or_default();
                let (columns, rows) = terminal.size_or((columns, rows));
                Stdio::Pty { columns, rows }
            }
            WantedStdio::Pipes => Stdio::Pipes {
                stdin: StdinSource::Null,
            },
            WantedStdio::PipesInherit => Stdio::Pipes {
                stdin: StdinSource::Inherit,
            },
        };
        // A Ctrl-C is for daptree, which ends the tree in order.
        let plan = SpawnPlan {
            argv,
            cwd: launch.cwd.clone(),
            env,
            stdio,
            own_session: true,
        };
        let spawned = spawn::spawn(&plan).map_err(|error| error.to_string())?;
        let Spawned {
            key,
            leader,
            streams,
            terminal,
        } = spawned;
        if let Some(leader) = leader {
            self.leaders.add(run, key, leader, self.keeper.as_ref());
            // It is for the reaping: how it ends says nothing.
            drop(self.workshop.reaper.watch(leader));
        }
        let has_terminal = terminal.is_some();
        if let (Some(handle), Stdio::Pty { columns, rows }) = (terminal, stdio) {
            self.terminals
                .entry(run.root)
                .or_default()
                .start(handle, (columns, rows));
            self.keep(|| Entry::Screen {
                root: run.root,
                columns,
                rows,
                fresh: true,
            });
            self.show_terminal(run.root);
        }
        self.handed.root(run.root, &streams);
        for stream in streams {
            self.output
                .read(run.root, stream, has_terminal.then_some(run.root));
        }
        Ok(key)
    }

    /// Gives everybody who watches a terminal its present screen.
    pub(super) fn show_terminal(&self, root: RowId) {
        let Some(terminal) = self.terminals.get(&root) else {
            return;
        };
        let (size, bytes) = terminal.screen();
        for front in terminal
            .watchers()
            .filter_map(|client| self.fronts.get(client))
        {
            let bytes = bytes.clone();
            front.send(FromEngine::Terminal {
                root,
                reset: Some(size),
                bytes,
            });
        }
    }

    pub(super) fn stop_adapter(&mut self, run: Run) {
        self.origins.remove(&run);
        if let Some(data) = self.runs.remove(&run) {
            let _ = pidfd::signal(data.adapter, Signal::KILL);
            self.leaving.push(data.adapter);
            if let Some(keeper) = &self.keeper {
                keeper.remove(data.adapter);
            }
        }
        self.leaders.end(Some(run), self.keeper.as_ref());
    }
}

/// The value of `DAPTREE_TREE` in the environment of a run's processes.
pub(in crate::engine) fn mark(run: Run) -> String {
    format!("{}.{}.{}", std::process::id(), run.root, run.number)
}
