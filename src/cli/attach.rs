//! The words of `daptree attach` and `daptree listen`: where programs are, and how their paths are
//! called. It must not know how anything is reached.

use super::{BreakpointSpec, LOC_HELP, NotRun, filters, locations, usage};
use clap::Args;
use daptree_model::{AttachTarget, PathMap};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// What `daptree attach` and `daptree listen` were asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct AttachCommand {
    /// Each becomes the root of a tree. Empty: a process is picked in the terminal.
    pub targets: Vec<AttachTarget>,
    /// Breakpoints, in the order typed.
    pub breakpoints: Vec<BreakpointSpec>,
    /// Exception filters of the adapter; `None` when the option was not given.
    pub exceptions: Option<Vec<String>>,
    /// `--just-my-code`; `None` when the option was not given.
    pub just_my_code: Option<bool>,
    /// The most live sessions at once, 0 for no limit; `None` when the option was not given.
    pub max_children: Option<u32>,
    /// `--python`, as typed.
    pub python: Option<OsString>,
    /// `--map`, in the order typed.
    pub path_maps: Vec<PathMap>,
    /// Where to keep a journal, as typed.
    pub record: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(override_usage = "daptree attach [OPTIONS] [HOST:PORT]... [--pid PID]...")]
pub(super) struct AttachWords {
    /// A process that runs; may be given several times
    #[arg(long, value_name = "PID")]
    pid: Vec<u32>,
    #[command(flatten)]
    settings: SettingWords,
    /// Where a program waits under `python -m debugpy --listen HOST:PORT`; none: pick a process
    #[arg(value_name = "HOST:PORT")]
    target: Vec<String>,
}

#[derive(Debug, Args)]
#[command(override_usage = "daptree listen [OPTIONS] [HOST:]PORT")]
pub(super) struct ListenWords {
    #[command(flatten)]
    settings: SettingWords,
    /// Where to wait for a program under `python -m debugpy --connect HOST:PORT`
    #[arg(value_name = "[HOST:]PORT")]
    address: String,
}

#[derive(Debug, Args)]
struct SettingWords {
    /// A breakpoint for every session.
    #[arg(short, long = "breakpoint", value_name = "LOC", help = LOC_HELP)]
    breakpoint: Vec<OsString>,
    /// Exception filters, such as userUnhandled, uncaught or raised
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    exceptions: Option<Vec<String>>,
    /// Stop in your own code alone [default: true]
    #[arg(long, value_name = "BOOL")]
    just_my_code: Option<bool>,
    /// The most processes debugged at once; more run free, 0 is no limit [default: 256]
    #[arg(long, value_name = "N")]
    max_children: Option<u32>,
    /// A folder here and what the program calls it, where the two differ
    #[arg(long = "map", value_name = "LOCAL=REMOTE")]
    map: Vec<String>,
    /// The Python to run the debug adapter with
    #[arg(long, value_name = "PATH")]
    python: Option<OsString>,
    /// Accept breakpoints in files that are not there yet
    #[arg(long)]
    pending: bool,
    /// Keep a journal of it for `daptree replay`; it holds no environment values or tokens
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

impl AttachWords {
    pub(super) fn read(self, cwd: &Path) -> Result<AttachCommand, NotRun> {
        let ports = self.target.iter().map(|text| target(text));
        let pids = self
            .pid
            .iter()
            .map(|pid| Ok(AttachTarget::Process { pid: *pid }));
        let targets: Result<Vec<_>, String> = ports.chain(pids).collect();
        let targets = targets.map_err(|error| usage(&error))?;
        self.settings.read(targets, cwd)
    }
}

impl ListenWords {
    pub(super) fn read(self, cwd: &Path) -> Result<AttachCommand, NotRun> {
        let (host, port) = if self.address.parse::<u16>().is_ok() {
            host_and_port(&format!("127.0.0.1:{}", self.address))
        } else {
            host_and_port(&self.address)
        }
        .map_err(|error| usage(&error))?;
        self.settings
            .read(vec![AttachTarget::Listen { host, port }], cwd)
    }
}

impl SettingWords {
    fn read(self, targets: Vec<AttachTarget>, cwd: &Path) -> Result<AttachCommand, NotRun> {
        let maps: Result<Vec<_>, String> =
            self.map.iter().map(|text| path_map(text, cwd)).collect();
        Ok(AttachCommand {
            targets,
            breakpoints: locations(&self.breakpoint, cwd, self.pending)?,
            exceptions: self.exceptions.map(filters),
            just_my_code: self.just_my_code,
            max_children: self.max_children,
            python: self.python,
            record: self.record,
            path_maps: maps.map_err(|error| usage(&error))?,
        })
    }
}

/// `HOST:PORT`; a number alone could be a port as well as a pid.
pub(super) fn target(text: &str) -> Result<AttachTarget, String> {
    if text.parse::<u32>().is_ok() {
        return Err(format!(
            "{text} may be a port or a process: write 127.0.0.1:{text}, or --pid {text}"
        ));
    }
    let (host, port) = host_and_port(text)?;
    Ok(AttachTarget::Listening { host, port })
}

fn host_and_port(text: &str) -> Result<(String, u16), String> {
    let wanted = || format!("{text}: an address is written as HOST:PORT, such as 127.0.0.1:5678");
    let (host, port) = text.rsplit_once(':').ok_or_else(wanted)?;
    let port = port.parse().map_err(|_| wanted())?;
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let host = match bare {
        Some(address) => address,
        None if host.contains(':') => {
            return Err(format!(
                "{text}: write the address in brackets, as [::1]:{port}"
            ));
        }
        None => host,
    };
    let host = if host.is_empty() { "127.0.0.1" } else { host };
    Ok((host.to_owned(), port))
}

fn path_map(text: &str, cwd: &Path) -> Result<PathMap, String> {
    match text.split_once('=') {
        Some((local, remote)) if !local.is_empty() && !remote.is_empty() => Ok(PathMap {
            local: cwd.join(local).to_string_lossy().into_owned(),
            remote: remote.to_owned(),
        }),
        _ => Err(format!(
            "{text}: a map is written as LOCAL=REMOTE, such as src=/app/src"
        )),
    }
}

/// The target of `trace --attach`: an address, or a pid.
pub(super) fn traced_target(text: &OsStr) -> Result<AttachTarget, String> {
    let text = text.to_string_lossy();
    match text.parse() {
        Ok(pid) => Ok(AttachTarget::Process { pid }),
        Err(_) => target(&text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_numbers_alone_are_asked_about() {
        let listening = |host: &str, port| AttachTarget::Listening {
            host: host.to_owned(),
            port,
        };
        for (text, wanted) in [
            ("127.0.0.1:5678", listening("127.0.0.1", 5678)),
            ("box:1", listening("box", 1)),
            (":5678", listening("127.0.0.1", 5678)),
            ("[::1]:5678", listening("::1", 5678)),
        ] {
            assert_eq!(target(text), Ok(wanted), "{text}");
        }
        for (text, word) in [
            ("5678", "--pid 5678"),
            ("box", "HOST:PORT"),
            ("box:", "HOST:PORT"),
            ("box:99999", "HOST:PORT"),
            ("::1:5678", "[::1]:5678"),
            ("", "HOST:PORT"),
        ] {
            let said = target(text).unwrap_err();
            assert!(said.contains(word), "{text}: {said}");
        }
    }

    #[test]
    fn maps_are_read_from_the_working_folder() {
        let map = path_map("src=/app/src", Path::new("/w")).unwrap();
        assert_eq!(
            (map.local.as_str(), map.remote.as_str()),
            ("/w/src", "/app/src")
        );
        for bad in ["", "src", "=x", "x="] {
            assert!(path_map(bad, Path::new("/w")).is_err(), "{bad}");
        }
    }
}
