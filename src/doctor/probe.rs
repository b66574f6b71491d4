//! What `daptree doctor` looks at: interpreters, tools, kernel, terminal, folders. It judges
//! nothing.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::{DebugpyFound, Findings, TerminalFound};
use crate::launch::debugpy::{self, Origin};
use crate::launch::search::{self, Env};
use crate::launch::{self, Ambient, Interpreter, LaunchOptions};
use crate::settings::Folders;

/// The first Linux whose pidfds tell how a process ended.
const EXIT_INFO: (u32, u32) = (6, 15);

/// Where the user stands, and what was chosen.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// Working folder and environment.
    pub ambient: Ambient,
    /// Which interpreter is wanted.
    pub options: LaunchOptions,
    /// Where daptree writes.
    pub folders: Folders,
    /// Columns and rows of the terminal; `None` when standard output is none.
    pub size: Option<(u16, u16)>,
}

impl Surroundings {
    /// Those of this process.
    pub fn of_this_process(options: LaunchOptions, folders: Folders) -> io::Result<Self> {
        let size = rustix::termios::tcgetwinsize(io::stdout()).ok();
        let size = size.map(|size| (size.ws_col, size.ws_row));
        Ok(Self {
            ambient: Ambient::of_this_process()?,
            options,
            folders,
            size,
        })
    }
}

/// Looks at everything. Blocks while the interpreter is asked about itself.
pub fn probe(surroundings: &Surroundings) -> Findings {
    let Surroundings {
        ambient,
        options,
        folders,
        size,
    } = surroundings;
    let env = Env(&ambient.env);
    let interpreter = launch::default_interpreter(options, ambient);
    let (kernel, exit_info) = kernel();
    Findings {
        debugpy: interpreter
            .as_ref()
            .ok()
            .map(|found| debugpy_for(found, &folders.data)),
        installer: installer(interpreter.as_ref().ok(), ambient),
        interpreter: match interpreter {
            Ok(found) => Ok(format!(
                "{} ({} {}), {}",
                found.path.display(),
                found.facts.implementation,
                found.facts.full_version,
                found.how_found
            )),
            Err(error) => Err(error.to_string()),
        },
        gdb: search::on_path(OsStr::new("gdb"), env, &ambient.cwd).is_some(),
        root: rustix::process::geteuid().is_root(),
        ptrace_scope: std::fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope")
            .ok()
            .and_then(|text| text.trim().parse().ok()),
        kernel,
        exit_info,
        terminal: terminal(env, *size),
        folders: vec![
            folder("data folder", &folders.data),
            folder("state folder", &folders.state),
            runtime(folders),
        ],
    }
}

fn debugpy_for(interpreter: &Interpreter, data: &Path) -> DebugpyFound {
    match debugpy::find(interpreter, data) {
        Some(found) => {
            let text = format!("{} in {}", found.version, found.folder.display());
            match found.origin {
                Origin::Own => DebugpyFound::Own(text),
                Origin::Managed => DebugpyFound::Managed(text),
            }
        }
        None => DebugpyFound::None {
            unfit: interpreter
                .facts
                .debugpy
                .as_ref()
                .map(|own| own.version.clone()),
        },
    }
}

fn installer(interpreter: Option<&Interpreter>, ambient: &Ambient) -> Option<String> {
    if let Some(own) = interpreter.filter(|found| found.facts.has_pip) {
        return Some(format!("pip of {}", own.path.display()));
    }
    let find = |name: &str| search::on_path(OsStr::new(name), Env(&ambient.env), &ambient.cwd);
    let other = find("python3").and_then(|python| {
        let how = launch::HowFound::Path;
        Interpreter::probe(&python, how, &ambient.env, &ambient.cwd).ok()
    });
    other
        .filter(|other| other.facts.has_pip)
        .map(|other| format!("pip of {}", other.path.display()))
        .or_else(|| find("uv").map(|uv| uv.display().to_string()))
}

fn kernel() -> (String, bool) {
    let uname = rustix::system::uname();
    let (name, release) = (
        uname.sysname().to_string_lossy(),
        uname.release().to_string_lossy(),
    );
    (
        format!("{name} {release}"),
        name == "Linux" && version(&release) >= Some(EXIT_INFO),
    )
}

fn version(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|char: char| !char.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn terminal(env: Env<'_>, size: Option<(u16, u16)>) -> TerminalFound {
    let text = |name: &str| {
        env.get(name)
            .map(|value| value.to_string_lossy().into_owned())
            .unwrap_or_default()
    };
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().map(|name| text(name));
    TerminalFound {
        size,
        term: text("TERM"),
        colorterm: text("COLORTERM"),
        locale: locale
            .into_iter()
            .find(|value| !value.is_empty())
            .unwrap_or_default(),
        tmux: env.get("TMUX").is_some(),
        screen: env.get("STY").is_some(),
        no_color: env.get("NO_COLOR").is_some(),
    }
}

fn folder(about: &'static str, path: &Path) -> (&'static str, PathBuf, Option<String>) {
    let problem = std::fs::create_dir_all(path)
        .and_then(|()| try_to_write(path))
        .err();
    (
        about,
        path.to_path_buf(),
        problem.map(|error| error.to_string()),
    )
}

fn runtime(folders: &Folders) -> (&'static str, PathBuf, Option<String>) {
    let problem = match folders.open_runtime() {
        Ok(path) => try_to_write(path).err().map(|error| error.to_string()),
        Err(error) => Some(error.to_string()),
    };
    ("runtime folder", folders.runtime.clone(), problem)
}

fn try_to_write(folder: &Path) -> io::Result<()> {
    let mut name = OsString::from(".doctor-");
    name.push(std::process::id().to_string());
    let path = folder.join(name);
    let written = std::fs::File::create(&path).and_then(|mut file| file.write_all(b"ok"));
    let removed = std::fs::remove_file(&path);
    written.and(removed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::fixtures::{process_env, python};

    #[test]
    fn this_machine_is_looked_at() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        let found = probe(&Surroundings {
            ambient: Ambient {
                cwd: dir.path().to_path_buf(),
                env: process_env(),
            },
            options: LaunchOptions {
                python: Some(python().into()),
                ..LaunchOptions::default()
            },
            folders: Folders {
                data: dir.path().join("data"),
                state: file.join("state"),
                runtime: dir.path().join("run"),
            },
            size: Some((80, 24)),
        });
        let interpreter = found.interpreter.unwrap();
        assert!(
            interpreter.contains(python().to_str().unwrap()),
            "{interpreter}"
        );
        assert!(interpreter.ends_with("from --python"), "{interpreter}");
        assert!(found.debugpy.is_some() && found.kernel.contains('.'));
        let problems: Vec<bool> = found
            .folders
            .iter()
            .map(|(_, _, why)| why.is_some())
            .collect();
        assert_eq!(problems, [false, true, false]);
        let left = std::fs::read_dir(dir.path().join("data")).unwrap().count();
        assert_eq!(left, 0, "the test file is gone");
    }

    #[test]
    fn a_missing_interpreter_is_a_finding() {
        let dir = tempfile::tempdir().unwrap();
        let found = probe(&Surroundings {
            ambient: Ambient {
                cwd: dir.path().to_path_buf(),
                env: Vec::new(),
            },
            options: LaunchOptions::default(),
            folders: Folders {
                data: dir.path().join("data"),
                state: dir.path().join("state"),
                runtime: dir.path().join("run"),
            },
            size: None,
        });
        assert!(found.interpreter.unwrap_err().contains("python3"));
        assert_eq!(
            (found.debugpy, found.installer, found.gdb),
            (None, None, false)
        );
    }

    #[test]
    fn releases_are_read() {
        assert_eq!(version("6.18.0-rc1"), Some((6, 18)));
        assert_eq!(version("5.4"), Some((5, 4)));
        assert_eq!(version("x"), None);
        assert!(version("x") < Some(EXIT_INFO));
    }
}
