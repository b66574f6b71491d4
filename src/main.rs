//! The command line of daptree: reads it, picks the front ends, gives the exit status.

use anyhow::{Context, Result};
use daptree::cli::{self, Invocation};
use daptree::engine::EngineConfig;
use daptree::launch::{Ambient, LaunchOptions};
use daptree::process::{keeper, limits};
use daptree::record::{Header, Recording};
use daptree::settings::{Folders, Workspace};
use daptree::{demo, doctor, logs, replay, run, trace};
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    match dispatch() {
        Ok(code) => exit_code(code),
        Err(error) => {
            let mut stderr = std::io::stderr();
            let _ = writeln!(stderr, "daptree: {error:#}");
            exit_code(trace::FAILED)
        }
    }
}

fn exit_code(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code & 0xff).unwrap_or(u8::MAX))
}

fn dispatch() -> Result<i32> {
    let ambient = Ambient::of_this_process()
        .context("the working folder cannot be read: change to one that exists")?;
    let invocation = match cli::parse(std::env::args_os(), &ambient.cwd) {
        Ok(invocation) => invocation,
        Err(not_run) => {
            if not_run.for_stdout() {
                print!("{not_run}");
            } else {
                eprint!("{not_run}");
            }
            return Ok(i32::from(not_run.status));
        }
    };
    match invocation {
        Invocation::Keeper => Ok(keeper::keeper_main()),
        Invocation::Doctor => {
            let folders = Folders::of_this_process()?;
            let surroundings =
                doctor::Surroundings::of_this_process(LaunchOptions::default(), folders)?;
            let lines = doctor::lines(&doctor::probe(&surroundings));
            print!("{}", doctor::text(&lines));
            Ok(i32::from(doctor::exit_status(&lines)))
        }
        other => debug(other, ambient),
    }
}

/// Everything that needs an engine.
fn debug(invocation: Invocation, ambient: Ambient) -> Result<i32> {
    let folders = Folders::of_this_process()?;
    let _logs = logs::start(&folders.state);
    let workspace = Workspace::find(&ambient.cwd)?;
    let binary = std::env::current_exe().context("daptree's own file cannot be found")?;
    // A trace is the same whatever was set before it.
    let kept = matches!(invocation, Invocation::Run(_) | Invocation::Attach(_))
        .then(|| workspace.root.clone());
    let recording = invocation.record().map(|path| {
        let settings = serde_json::to_value(&workspace.settings)?;
        anyhow::Ok(Recording::start(path, &Header::new(settings))?)
    });
    let (recording, record) = recording.transpose()?.unzip();
    let config = EngineConfig {
        folders,
        settings_python: workspace.settings.python.clone(),
        keeper: Some(binary),
        sole: true,
        workspace: kept,
        maps: workspace.settings.maps.clone(),
        idle: None,
        raw_output: None,
        record,
    };
    limits::raise_open_files();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("the runtime could not be started")?;
    let code = runtime.block_on(async {
        match invocation {
            Invocation::Trace(request) => {
                Ok(trace::run(request, ambient.cwd, ambient.env, config).await?)
            }
            Invocation::Run(request) => {
                run::run(request, &workspace.settings, ambient, config).await
            }
            Invocation::Attach(command) => {
                run::attach(command, &workspace.settings, ambient, config).await
            }
            Invocation::Replay(journal) => replay::run(&journal).await,
            Invocation::Demo => demo::run(ambient, config).await,
            Invocation::Doctor | Invocation::Keeper => Ok(0),
        }
    });
    // Readers of standard input cannot be cancelled: they are not waited for.
    runtime.shutdown_background();
    if let Some(recording) = recording {
        recording.finish()?.tell();
    }
    code
}
