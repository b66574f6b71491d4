//! `daptree demo`: a small bundled tree, written to a temporary folder and debugged with a
//! breakpoint already set. Without a terminal the same tree is traced.

use crate::cli::{BreakpointSpec, TraceRequest};
use crate::engine::EngineConfig;
use crate::launch::Ambient;
use crate::{run, trace};
use anyhow::{Context, Result};
use daptree_model::LaunchRequest;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io::{self, IsTerminal};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const FILES: [(&str, &str); 3] = [
    ("main.py", include_str!("../fixtures/demo/main.py")),
    ("report.py", include_str!("../fixtures/demo/report.py")),
    ("total.py", include_str!("../fixtures/demo/total.py")),
];
/// The line of `main.py` that the breakpoint is set on ends so.
const MARK: &str = "# the breakpoint";
/// A demo that hangs is of no use.
const LIMIT: Duration = Duration::from_secs(120);

/// Runs the demo; gives the exit status.
pub async fn run(ambient: Ambient, config: EngineConfig) -> Result<i32> {
    let folder = Folder::make()?;
    let program: Vec<OsString> = vec!["python3".into(), "main.py".into()];
    let breakpoint = BreakpointSpec {
        path: folder.0.join("main.py"),
        line: breakpoint_line(),
        condition: None,
    };
    if io::stdin().is_terminal() && io::stdout().is_terminal() {
        let launch = LaunchRequest {
            words: program,
            cwd: folder.0.clone(),
            env: ambient.env,
            python: None,
            stdio: crate::launch_size(),
            just_my_code: true,
            exceptions: None,
            stop_on_entry: false,
            stop_the_world: false,
            max_children: 256,
            breakpoints: vec![breakpoint.into()],
        };
        return run::interactive(launch, config).await;
    }
    eprintln!("daptree: no terminal here, so the demo is traced; in one, it opens the debugger");
    let request = TraceRequest {
        breakpoints: vec![breakpoint],
        evals: vec!["order".to_owned(), "price".to_owned()],
        exceptions: Vec::new(),
        timeout: Some(LIMIT),
        hold: Duration::ZERO,
        just_my_code: true,
        json: false,
        attach: None,
        record: None,
        program,
    };
    Ok(trace::run(request, folder.0.clone(), ambient.env, config).await?)
}

fn breakpoint_line() -> u32 {
    let main = FILES.first().map_or("", |(_, text)| *text);
    let before = main
        .lines()
        .take_while(|line| !line.ends_with(MARK))
        .count();
    u32::try_from(before + 1).unwrap_or(1)
}

/// The folder of a demo, gone when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn make() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("daptree-demo-{}", std::process::id()));
        DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .with_context(|| {
                format!(
                    "{}: cannot be made; set TMPDIR to another folder",
                    path.display()
                )
            })?;
        let path = fs::canonicalize(&path).unwrap_or(path);
        let folder = Self(path);
        for (name, text) in FILES {
            write(&folder.0.join(name), text)?;
        }
        Ok(folder)
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("{}: cannot be written", path.display()))
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is left to the system's own cleaning.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_breakpoint_is_where_the_demo_says() {
        let line = breakpoint_line() as usize;
        let text = FILES[0].1.lines().nth(line - 1).unwrap();
        assert!(text.ends_with(MARK) && text.contains("return"), "{text}");
    }
}
