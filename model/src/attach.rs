//! What a front end asks to be attached to, and which processes could be. How a target is reached
//! is the engine's part.

use crate::{BreakpointSpec, ProcessKey, RowId};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

/// A program that runs already, to become the root of a tree. It is not daptree's: it is let go in
/// the end, never ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttachRequest {
    /// Where it is.
    pub target: AttachTarget,
    /// Only the user's own code is debugged.
    pub just_my_code: bool,
    /// Exception filters by the adapter's names.
    pub exceptions: Vec<String>,
    /// Live sessions at most; beyond it children are released. 0: no limit.
    pub max_children: u32,
    /// Breakpoints to set before the program is told to go on.
    pub breakpoints: Vec<BreakpointSpec>,
    /// Where the program's sources lie here, in the order in which they are tried.
    pub path_maps: Vec<PathMap>,
    /// The interpreter to run the adapter with; `None`: the target's own.
    pub python: Option<PathBuf>,
    /// The folder that relative names belong to, absolute.
    pub cwd: PathBuf,
    /// The environment in which interpreter, debugpy and gdb are looked for.
    pub env: Vec<(OsString, OsString)>,
}

/// How a running program is reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AttachTarget {
    /// It waits under `debugpy --listen` with an adapter of its own.
    Listening {
        /// Host.
        host: String,
        /// Port of `host`.
        port: u16,
    },
    /// A process of this machine; the debugger is put into it.
    Process {
        /// Its pid.
        pid: u32,
    },
    /// It will connect to us: `debugpy --connect`.
    Listen {
        /// Our address to listen on.
        host: String,
        /// Our port; 0: any.
        port: u16,
    },
}

impl fmt::Display for AttachTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listening { host, port } => f.write_str(&address(host, *port)),
            Self::Process { pid } => write!(f, "pid {pid}"),
            Self::Listen { host, port } => write!(f, "listen {}", address(host, *port)),
        }
    }
}

/// `HOST:PORT`, with brackets around an IPv6 address.
pub fn address(host: &str, port: u16) -> String {
    if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}

/// A folder here and what the program calls it (debugpy: `pathMappings`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PathMap {
    /// Here, absolute.
    pub local: String,
    /// As the program sees it.
    pub remote: String,
}

impl PathMap {
    /// The program's path for one of ours that lies in `local`.
    pub fn to_remote(&self, path: &str) -> Option<String> {
        under(path, &self.local).map(|rest| format!("{}{rest}", self.remote.trim_end_matches('/')))
    }

    /// Our path for one of the program's that lies in `remote`.
    pub fn to_local(&self, path: &str) -> Option<String> {
        under(path, &self.remote).map(|rest| format!("{}{rest}", self.local.trim_end_matches('/')))
    }
}

/// What follows `folder` in `path`, with its slash; empty for the folder itself.
fn under<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(folder.trim_end_matches('/'))?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// A process that might be attached to, for a picker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessOffer {
    /// The process.
    pub process: ProcessKey,
    /// The pid of its parent.
    pub parent: u32,
    /// What a person would call it.
    pub name: String,
    /// Its command line.
    pub command: Vec<String>,
    /// Why it cannot be attached to; `None`: it can.
    pub refusal: Option<Refusal>,
}

/// Why a process cannot be attached to, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase")]
pub enum Refusal {
    /// There is none.
    #[error("there is no such process: see `daptree attach` or ps for those that run")]
    Gone,
    /// It belongs to somebody else.
    #[error("it belongs to the user {0}: run daptree as that user, or as root")]
    OtherUser(String),
    /// No Python runs in it.
    #[error("it runs {0}, not Python")]
    NotPython(String),
    /// Another debugger or tracer holds it.
    #[error("it is traced by pid {0}: the kernel allows one tracer, end that one first")]
    Traced(u32),
    /// It is in the tree already.
    #[error("it is {0} already")]
    ARow(RowId),
    /// It is daptree, or serves it.
    #[error("it is daptree itself or one of its own helpers")]
    Ours,
    /// Another container.
    #[error(
        "it runs in another mount namespace (a container): run daptree in there, or start the \
         program under `python -m debugpy --listen 0.0.0.0:PORT` and attach to that port"
    )]
    Container,
    /// The Yama module of the kernel forbids it.
    #[error(
        "the kernel forbids it: /proc/sys/kernel/yama/ptrace_scope is {scope}, and daptree has no \
         CAP_SYS_PTRACE; {remedy}"
    )]
    PtraceScope {
        /// The setting.
        scope: u8,
        /// The command that allows it, in a sentence.
        remedy: String,
    },
}
