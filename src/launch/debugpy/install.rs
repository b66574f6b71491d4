//! Fetching debugpy once: pip into a folder beside its place, then one rename. It holds a file
//! lock meanwhile, and trusts no file whose hash is not in the source.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::{Build, Debugpy, DebugpyError, Progress, managed, pins};
use crate::launch::child::{self, ChildError, Finished};
use crate::launch::interpreter::Interpreter;

/// How long all attempts may take together.
const INSTALL_DEADLINE: Duration = Duration::from_secs(300);

/// How long another daptree is waited for: its own deadline and what it does after.
const LOCK_DEADLINE: Duration = Duration::from_secs(330);

const UNREACHABLE: &str = "the package index cannot be reached";

/// One way to fetch a wheel.
struct Way {
    /// For people, such as `pip of /usr/bin/python3`.
    name: String,
    words: Vec<OsString>,
    build: Build,
}

/// Installs [`pins::VERSION`] for `interpreter` under `data`.
pub(super) fn install(
    interpreter: &Interpreter,
    data: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Debugpy, DebugpyError> {
    let adapters = data.join("adapters");
    fs::create_dir_all(&adapters).map_err(folder_error(&adapters, "created"))?;
    let _lock = Lock::take(adapters.join(".lock"), progress)?;
    if let Some(found) = super::find(interpreter, data) {
        return Ok(found);
    }
    let (major, minor) = interpreter.version;
    let python = format!("Python {major}.{minor}");
    progress(Progress {
        line: format!(
            "fetching debugpy {} for {python} from PyPI …",
            pins::VERSION
        ),
    });
    sweep(&adapters);
    let end = Instant::now() + INSTALL_DEADLINE;
    let mut tried = Vec::new();
    for way in ways(interpreter) {
        match attempt(&way, &adapters, data, end, progress)? {
            Ok(found) => return Ok(found),
            Err(failed) => {
                let unreachable = failed.starts_with(UNREACHABLE);
                tried.push(format!("{}: {failed}", way.name));
                if unreachable {
                    // Another pip would ask the same network.
                    break;
                }
            }
        }
        if Instant::now() >= end {
            break;
        }
    }
    Err(DebugpyError::NotFetched {
        python,
        tried,
        target: by_hand(interpreter, data),
        download: elsewhere(interpreter, data),
    })
}

/// The ways in their order: the interpreter's pip, another Python's pip that works for the
/// interpreter, that pip with the pure wheel, `uv pip`.
fn ways(interpreter: &Interpreter) -> Vec<Way> {
    let python = interpreter.executable.as_os_str();
    let build = Build::of(interpreter);
    let mut ways = Vec::new();
    if interpreter.facts.has_pip {
        ways.push(Way {
            name: format!("pip of {}", interpreter.executable.display()),
            words: words(&[python, "-m".as_ref(), "pip".as_ref()], &["install"]),
            build: build.clone(),
        });
    }
    let other = OsStr::new("python3");
    ways.push(Way {
        name: format!("pip of python3 for {}", interpreter.executable.display()),
        words: words(
            &[
                other,
                "-m".as_ref(),
                "pip".as_ref(),
                "--python".as_ref(),
                python,
            ],
            &["install"],
        ),
        build: build.clone(),
    });
    ways.push(Way {
        name: "pip of python3, the wheel without compiled parts".to_owned(),
        words: words(
            &[other, "-m".as_ref(), "pip".as_ref()],
            &[
                "install",
                "--platform",
                "any",
                "--implementation",
                "py",
                "--abi",
                "none",
            ],
        ),
        build: Build::Pure,
    });
    let uv = [
        OsStr::new("uv"),
        "pip".as_ref(),
        "install".as_ref(),
        "--python".as_ref(),
        python,
    ];
    ways.push(Way {
        name: "uv pip".to_owned(),
        words: words(&uv, &[]),
        build,
    });
    ways
}

fn words(first: &[&OsStr], rest: &[&str]) -> Vec<OsString> {
    first
        .iter()
        .map(OsString::from)
        .chain(rest.iter().map(OsString::from))
        .collect()
}

/// One attempt. The outer error is the data folder's, the inner one the way's, in words.
fn attempt(
    way: &Way,
    adapters: &Path,
    data: &Path,
    end: Instant,
    progress: &mut dyn FnMut(Progress),
) -> Result<Result<Debugpy, String>, DebugpyError> {
    let target = adapters.join(format!(".new-{}", std::process::id()));
    let unpacked = target.join("site");
    let requirements = target.join("requirements.txt");
    let _ = fs::remove_dir_all(&target);
    fs::create_dir(&target).map_err(folder_error(&target, "created"))?;
    let swept = Swept(&target);
    fs::write(&requirements, requirements_text())
        .map_err(folder_error(&requirements, "written"))?;

    let Some((program, first)) = way.words.split_first() else {
        return Ok(Err(String::new()));
    };
    let mut command = Command::new(program);
    command
        .args(first)
        .args(["--no-deps", "--require-hashes", "--only-binary", ":all:"]);
    if program != "uv" {
        command.args([
            "--no-input",
            "--disable-pip-version-check",
            "--retries",
            "2",
        ]);
        command.args(["--progress-bar", "off"]);
    }
    command
        .arg("--target")
        .arg(&unpacked)
        .arg("-r")
        .arg(&requirements);
    // Settings for the user's own installs must not turn this one elsewhere.
    command.envs([
        ("PIP_USER", "0"),
        ("PIP_REQUIRE_VIRTUALENV", "0"),
        ("UV_NO_PROGRESS", "1"),
    ]);
    for name in [
        "PIP_TARGET",
        "PIP_PREFIX",
        "PIP_ROOT",
        "PYTHONPATH",
        "PYTHONHOME",
    ] {
        command.env_remove(name);
    }
    let left = end.saturating_duration_since(Instant::now());
    let finished = child::run(&mut command, left, &mut |line| {
        let line = line.trim().to_owned();
        if !line.is_empty() {
            progress(Progress { line });
        }
    });
    match finished {
        Err(ChildError::NotStarted(error)) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(Err("not installed".to_owned()));
        }
        Err(error) => return Ok(Err(error.to_string())),
        Ok(finished) if !finished.status.success() => return Ok(Err(reason(&finished))),
        Ok(_) if !unpacked.join("debugpy/__main__.py").is_file() => {
            return Ok(Err(
                "it said nothing was wrong and installed nothing".to_owned()
            ));
        }
        Ok(_) => {}
    }
    let place = way.build.folder(data);
    // What stands there without being whole is not ours: no install of ours leaves that.
    let _ = fs::remove_dir_all(&place);
    fs::rename(&unpacked, &place).map_err(folder_error(&place, "moved into place"))?;
    drop(swept);
    Ok(managed(data, &way.build).ok_or_else(|| format!("{} vanished", place.display())))
}

/// pip ends with "no matching distribution" when it could not even ask; the reason stands in
/// its warnings.
fn reason(finished: &Finished) -> String {
    let text = String::from_utf8_lossy(&finished.stderr);
    let broken = text.lines().find(|line| {
        line.contains("connection broken by") || line.contains("error sending request")
    });
    match broken {
        Some(line) => {
            let line = line
                .split_once("broken by ")
                .map_or(line, |(_, cause)| cause);
            format!("{UNREACHABLE}: {}", line.trim())
        }
        None => finished.last_words(),
    }
}

fn requirements_text() -> String {
    let mut text = format!("debugpy=={}", pins::VERSION);
    for hash in pins::SHA256 {
        text.push_str(" \\\n    --hash=sha256:");
        text.push_str(hash);
    }
    text.push('\n');
    text
}

fn by_hand(interpreter: &Interpreter, data: &Path) -> String {
    format!(
        "{} -m pip install --no-deps --target {} debugpy=={}",
        quoted(&interpreter.executable),
        quoted(&Build::of(interpreter).folder(data)),
        pins::VERSION
    )
}

fn elsewhere(interpreter: &Interpreter, data: &Path) -> String {
    let place = quoted(&Build::of(interpreter).folder(data));
    let version = pins::VERSION;
    let which = match Build::of(interpreter) {
        Build::Pure => "--platform any --implementation py --abi none".to_owned(),
        Build::Native(tag) => {
            let (major, minor) = interpreter.version;
            let platform = match interpreter.facts.platform.as_str() {
                "linux-x86_64" => "manylinux_2_34_x86_64",
                _ => "macosx_15_0_universal2",
            };
            format!(
                "--platform {platform} --implementation cp --python-version {major}.{minor} --abi {tag}"
            )
        }
    };
    format!(
        "pip download debugpy=={version} --no-deps --only-binary :all: {which}\n  \
         python3 -m zipfile -e debugpy-{version}-*.whl {place}"
    )
}

fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |char: char| char.is_ascii_alphanumeric() || "/._-+".contains(char);
    if !text.is_empty() && text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Removes what an install that was killed left behind. Only the holder of the lock comes here.
fn sweep(adapters: &Path) {
    for entry in fs::read_dir(adapters).into_iter().flatten().flatten() {
        if entry.file_name().as_encoded_bytes().starts_with(b".new-") {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

struct Swept<'a>(&'a Path);

impl Drop for Swept<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.0);
    }
}

fn folder_error(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> DebugpyError {
    let path = path.to_path_buf();
    move |source| DebugpyError::Folder {
        path,
        action,
        source,
    }
}

/// A file lock that is waited for with a deadline: a thread of its own takes and holds it.
struct Lock {
    _release: mpsc::Sender<()>,
}

impl Lock {
    fn take(path: PathBuf, progress: &mut dyn FnMut(Progress)) -> Result<Self, DebugpyError> {
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(folder_error(&path, "opened"))?;
        let (taken, answer) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        std::thread::spawn(move || {
            let mut lock = fd_lock::RwLock::new(file);
            if let Ok(_guard) = lock.try_write() {
                let _ = taken.send(Ok(true)).map(|()| released.recv());
                return;
            }
            let _ = taken.send(Ok(false));
            match lock.write() {
                // A failed send drops the guard: nobody waits any more.
                Ok(_guard) => drop(taken.send(Ok(true)).map(|()| released.recv())),
                Err(error) => drop(taken.send(Err(error))),
            }
        });
        let end = Instant::now() + LOCK_DEADLINE;
        loop {
            match answer.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(Ok(true)) => return Ok(Self { _release: release }),
                Ok(Ok(false)) => progress(Progress {
                    line: "another daptree is fetching debugpy; waiting for it …".to_owned(),
                }),
                Ok(Err(source)) => {
                    return Err(DebugpyError::Folder {
                        path,
                        action: "locked",
                        source,
                    });
                }
                Err(_) => {
                    return Err(DebugpyError::Locked {
                        lock: path,
                        seconds: LOCK_DEADLINE.as_secs(),
                    });
                }
            }
        }
    }
}
