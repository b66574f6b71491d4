//! Which running processes can be attached to, what keeps one from it, and which interpreter runs
//! in one. It must not touch a process: it reads what the kernel shows of it.

use super::debugpy::Debugpy;
use super::error::LaunchError;
use super::interpreter::{HowFound, Interpreter};
use super::search::{self, Env};
use crate::process::table::{self, Described};
use daptree_model::{ProcessKey, ProcessOffer, Refusal, RowId};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The bit of `CAP_SYS_PTRACE` in a capability set.
const SYS_PTRACE: u32 = 19;
/// The first Python that takes a debugger without gdb (`sys.remote_exec`).
const REMOTE_EXEC: (u32, u32) = (3, 14);

/// Looks at process `pid`: what it is, when it can be attached to. `ours` are daptree's own.
pub fn examine(pid: u32, ours: &BTreeSet<u32>) -> Result<Described, Refusal> {
    let found = table::describe(pid).filter(|found| !matches!(found.state, 'Z' | 'X' | 'x'));
    let found = found.ok_or(Refusal::Gone)?;
    match refusal(&found, ours, Rights::own()) {
        Some(refusal) => Err(refusal),
        None => Ok(found),
    }
}

/// The processes to choose from: the user's own, and other users' Python. Those that can be
/// attached to come first, the youngest first.
pub fn offers(ours: &BTreeSet<u32>, rows: &BTreeMap<ProcessKey, RowId>) -> Vec<ProcessOffer> {
    let rights = Rights::own();
    let mut offers: Vec<ProcessOffer> = table::every()
        .into_iter()
        // Threads of the kernel have no words.
        .filter(|found| !found.argv.is_empty())
        .filter_map(|found| {
            let refusal = match rows.get(&found.key) {
                Some(row) => Some(Refusal::ARow(*row)),
                None => refusal(&found, ours, rights),
            };
            let strange = matches!(refusal, Some(Refusal::OtherUser(_))) && !is_python(&found);
            let hidden = strange || matches!(refusal, Some(Refusal::Ours));
            (!hidden).then(|| offer(found, refusal))
        })
        .collect();
    offers.sort_by_key(|offer| {
        (
            offer.refusal.is_some(),
            std::cmp::Reverse(offer.process.start),
        )
    });
    offers
}

fn offer(found: Described, refusal: Option<Refusal>) -> ProcessOffer {
    let first = found
        .argv
        .iter()
        .skip(1)
        .find(|word| !word.starts_with('-'));
    let name = first
        .filter(|_| is_python(&found))
        .or(found.argv.first())
        .map_or(found.comm.as_str(), |word| {
            word.rsplit('/').next().unwrap_or(word)
        })
        .to_owned();
    ProcessOffer {
        process: found.key,
        parent: found.ppid,
        name,
        command: found.argv,
        refusal,
    }
}

/// What daptree itself may do.
#[derive(Clone, Copy, Debug)]
struct Rights {
    user: u32,
    may_trace: bool,
    scope: Option<u8>,
}

impl Rights {
    fn own() -> Self {
        let capabilities = field("/proc/self/status", "CapEff:");
        let capabilities = capabilities.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
        let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").ok();
        Self {
            user: rustix::process::geteuid().as_raw(),
            may_trace: capabilities.is_some_and(|set| set >> SYS_PTRACE & 1 == 1),
            scope: scope.and_then(|text| text.trim().parse().ok()),
        }
    }
}

/// A field of a process's `status` file.
fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().to_owned())
}

fn refusal(found: &Described, ours: &BTreeSet<u32>, rights: Rights) -> Option<Refusal> {
    let pid = found.key.pid;
    if ours.contains(&pid) {
        return Some(Refusal::Ours);
    }
    let status = format!("/proc/{pid}/status");
    let users = field(&status, "Uid:").unwrap_or_default();
    let foreign = users
        .split_ascii_whitespace()
        .filter_map(|user| user.parse::<u32>().ok())
        .find(|user| *user != rights.user);
    if let Some(user) = foreign.filter(|_| !rights.may_trace) {
        return Some(Refusal::OtherUser(user_name(user)));
    }
    if !is_python(found) {
        let what = found.argv.first().unwrap_or(&found.comm);
        let what = what.rsplit('/').next().unwrap_or(what).to_owned();
        return Some(Refusal::NotPython(what));
    }
    let tracer = field(&status, "TracerPid:").and_then(|text| text.parse::<u32>().ok());
    if let Some(tracer) = tracer.filter(|tracer| *tracer != 0) {
        return Some(Refusal::Traced(tracer));
    }
    let mounts = |who: &str| fs::read_link(format!("/proc/{who}/ns/mnt")).ok();
    if let (Some(own), Some(its)) = (mounts("self"), mounts(&pid.to_string()))
        && own != its
    {
        return Some(Refusal::Container);
    }
    forbidden(rights)
}

/// Whether the kernel's Yama module forbids attaching.
fn forbidden(rights: Rights) -> Option<Refusal> {
    let remedy = match rights.scope? {
        0 => return None,
        1 | 2 if rights.may_trace => return None,
        1 => {
            "`sudo sysctl -w kernel.yama.ptrace_scope=0` allows it until the next start of the \
             machine, `sudo -E daptree …` for this time"
        }
        2 => "`sudo -E daptree …` allows it for this time",
        _ => {
            "this cannot be undone before the next start of the machine: start the program under \
             `python -m debugpy --listen PORT` and attach to the port"
        }
    };
    Some(Refusal::PtraceScope {
        scope: rights.scope?,
        remedy: remedy.to_owned(),
    })
}

fn user_name(user: u32) -> String {
    let known = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = known.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(user)).then(|| name.to_owned())
    });
    name.unwrap_or_else(|| user.to_string())
}

/// By its file, its name, or the library it has loaded.
fn is_python(found: &Described) -> bool {
    let by_name = |name: &str| name.starts_with("python") || name.starts_with("pypy");
    let file = found.exe.as_deref().and_then(Path::file_name);
    if file.is_some_and(|name| by_name(&name.to_string_lossy())) || by_name(&found.comm) {
        return true;
    }
    fs::read_to_string(format!("/proc/{}/maps", found.key.pid))
        .is_ok_and(|maps| maps.contains("/libpython"))
}

/// The interpreter that runs in a process. Blocks while it is asked about itself.
pub fn interpreter(
    found: &Described,
    env: &[(OsString, OsString)],
    cwd: &Path,
) -> Result<Interpreter, LaunchError> {
    let pid = found.key.pid;
    Interpreter::probe(&interpreter_file(found), HowFound::Runs(pid), env, cwd)
}

/// Its file, by the name that it was started by where that leads to the same one: an environment's
/// interpreter is a link, and only by its name it finds the environment's packages.
fn interpreter_file(found: &Described) -> PathBuf {
    let pid = found.key.pid;
    let running = fs::metadata(format!("/proc/{pid}/exe")).ok();
    let same = |path: &Path| {
        let (Some(running), Ok(other)) = (&running, fs::metadata(path)) else {
            return false;
        };
        (running.dev(), running.ino()) == (other.dev(), other.ino())
    };
    let started_in = found.cwd.clone().unwrap_or_else(|| PathBuf::from("/"));
    let word = found.argv.first().map(OsStr::new);
    let named = word.and_then(|word| {
        if word.as_bytes().contains(&b'/') {
            return Some(started_in.join(word));
        }
        let environment = environment_of(pid);
        search::on_path(word, Env(&environment), &started_in)
    });
    named
        .filter(|path| same(path))
        .or_else(|| found.exe.clone())
        .unwrap_or_else(|| PathBuf::from(format!("/proc/{pid}/exe")))
}

/// The environment that a process was started with.
fn environment_of(pid: u32) -> Vec<(OsString, OsString)> {
    let raw = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    raw.split(|byte| *byte == 0)
        .filter_map(|entry| {
            let at = entry.iter().position(|byte| *byte == b'=')?;
            let (name, value) = entry.split_at(at);
            let value = value.get(1..)?;
            Some((
                OsStr::from_bytes(name).to_owned(),
                OsStr::from_bytes(value).to_owned(),
            ))
        })
        .collect()
}

/// What is missing to put debugpy into a process of this interpreter, and what to do; `None`:
/// nothing is.
pub fn missing_injector(
    interpreter: &Interpreter,
    debugpy: &Debugpy,
    env: &[(OsString, OsString)],
    cwd: &Path,
) -> Option<String> {
    let has_gdb = search::on_path(OsStr::new("gdb"), Env(env), cwd).is_some();
    if has_gdb || interpreter.version >= REMOTE_EXEC && knows_remote_exec(debugpy) {
        return None;
    }
    let (major, minor) = interpreter.version;
    Some(format!(
        "attaching to a running Python {major}.{minor} needs gdb, and there is none on PATH: \
         install it (`sudo apt install gdb`, `sudo dnf install gdb`), or start the program under \
         `python -m debugpy --listen PORT` and attach to the port"
    ))
}

/// Older builds of debugpy know only gdb.
fn knows_remote_exec(debugpy: &Debugpy) -> bool {
    fs::read_to_string(debugpy.folder.join("debugpy/server/cli.py"))
        .is_ok_and(|text| text.contains("remote_exec"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::testing::Piped;

    fn rights(scope: Option<u8>, may_trace: bool) -> Rights {
        Rights {
            user: 0,
            may_trace,
            scope,
        }
    }

    #[test]
    fn yama_decides_by_its_setting_and_the_capability() {
        for (scope, may_trace, allowed) in [
            (None, false, true),
            (Some(0), false, true),
            (Some(1), false, false),
            (Some(1), true, true),
            (Some(2), false, false),
            (Some(2), true, true),
            (Some(3), true, false),
        ] {
            let found = forbidden(rights(scope, may_trace));
            assert_eq!(found.is_none(), allowed, "{scope:?} {may_trace}: {found:?}");
        }
        let words = forbidden(rights(Some(1), false)).unwrap().to_string();
        assert!(
            words.contains("ptrace_scope is 1") && words.contains("sysctl -w"),
            "{words}"
        );
    }

    #[test]
    fn what_cannot_be_attached_to_is_refused_by_name() {
        let none = BTreeSet::new();
        assert_eq!(examine(u32::MAX, &none), Err(Refusal::Gone));
        let mut shell = Piped::start(&["sh", "-c", "echo $$; cat; true"]);
        let pid = shell.number();
        assert_eq!(
            examine(pid, &none),
            Err(Refusal::NotPython("sh".to_owned()))
        );
        assert_eq!(examine(pid, &BTreeSet::from([pid])), Err(Refusal::Ours));
        assert_eq!(user_name(u32::MAX), u32::MAX.to_string());
    }

    #[test]
    fn a_process_of_another_user_is_refused_without_the_capability() {
        let mut python = Piped::start(&[
            "python3",
            "-c",
            "import os\nprint(os.getpid(), flush=True)\ninput()",
        ]);
        let found = table::describe(python.number()).unwrap();
        let own = rustix::process::geteuid().as_raw();
        let other = Rights {
            user: own + 1,
            may_trace: false,
            scope: None,
        };
        let said = refusal(&found, &BTreeSet::new(), other);
        assert_eq!(said, Some(Refusal::OtherUser(user_name(own))));
        let able = Rights {
            may_trace: true,
            ..other
        };
        assert_eq!(refusal(&found, &BTreeSet::new(), able), None);
    }

    #[test]
    fn a_running_python_is_offered_and_its_interpreter_found_by_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let real = crate::launch::fixtures::python();
        let real = fs::canonicalize(real).unwrap();
        let link = dir.path().join("python");
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let script = "import os\nprint(os.getpid(), flush=True)\ninput()";
        let mut python = Piped::start(&[link.to_str().unwrap(), "-c", script]);
        let pid = python.number();
        let found = table::describe(pid).unwrap();
        assert_eq!(interpreter_file(&found), link);
        let rows = BTreeMap::from([(found.key, RowId(7))]);
        let offers_with = |rows: &BTreeMap<ProcessKey, RowId>| {
            let mut all = offers(&BTreeSet::new(), rows);
            all.retain(|offer| offer.process == found.key);
            all.remove(0)
        };
        assert_eq!(offers_with(&rows).refusal, Some(Refusal::ARow(RowId(7))));
        assert!(!matches!(
            offers_with(&BTreeMap::new()).refusal,
            Some(Refusal::ARow(_) | Refusal::NotPython(_) | Refusal::Gone)
        ));
    }
}
