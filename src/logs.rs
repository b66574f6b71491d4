//! Logs: one file a day in the state folder, seven kept, for the owner alone. `DAPTREE_LOG` says
//! how much (`debug`, `trace`, `daptree::engine=trace` …); the default is `info`.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use tracing_appender::non_blocking::WorkerGuard;
use tracing_appender::rolling::{RollingFileAppender, Rotation};
use tracing_subscriber::EnvFilter;

/// How many days are kept.
const KEPT: usize = 7;

/// Starts logging into `state/logs`. Logs are written until the guard is dropped. A state folder
/// that cannot be written to costs the logs, nothing else.
pub fn start(state: &Path) -> Option<WorkerGuard> {
    let folder = state.join("logs");
    fs::create_dir_all(&folder).ok()?;
    fs::set_permissions(&folder, Permissions::from_mode(0o700)).ok()?;
    let file = RollingFileAppender::builder()
        .rotation(Rotation::DAILY)
        .filename_prefix("daptree")
        .filename_suffix("log")
        .max_log_files(KEPT)
        .build(&folder)
        .ok()?;
    let (writer, guard) = tracing_appender::non_blocking(file);
    let filter = std::env::var("DAPTREE_LOG").unwrap_or_else(|_| "info".to_owned());
    let filter = EnvFilter::try_new(filter).unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer)
        .with_ansi(false)
        .try_init()
        .ok()?;
    Some(guard)
}
