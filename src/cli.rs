//! The command line: which words are daptree's and which are the program's. It must not know
//! of interpreters, adapters or terminals; it starts nothing and reads nothing but the files
//! that breakpoints name.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::TypedValueParser as _;
use clap::error::ErrorKind;
use daptree_model::AttachTarget;

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

pub mod attach;
pub mod breakpoint;

pub use attach::AttachCommand;
pub use breakpoint::{BreakpointSpec, LocationError};

/// The exit status of a wrong command line.
pub const USAGE_STATUS: u8 = 2;

const LOC_HELP: &str =
    "Set a breakpoint in every session: FILE:LINE, or \"FILE:LINE if CONDITION\"";

/// What the command line asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum Invocation {
    /// `daptree [run] … PROGRAM ARGS…`: the terminal front end.
    Run(RunRequest),
    /// `daptree trace … -- PROGRAM ARGS…`: events on standard output.
    Trace(TraceRequest),
    /// `daptree attach …` or `daptree listen …`: the terminal front end.
    Attach(AttachCommand),
    /// `daptree replay FILE`: the terminal front end on a journal.
    Replay(PathBuf),
    /// `daptree demo`.
    Demo,
    /// `daptree doctor`.
    Doctor,
    /// `daptree keeper`: the small process that outlives the engine.
    Keeper,
}

/// What `daptree run` was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRequest {
    /// Breakpoints, in the order typed.
    pub breakpoints: Vec<BreakpointSpec>,
    /// Functions to stop at, by their names.
    pub functions: Vec<String>,
    /// Exception filters of the adapter; `None` when the option was not given.
    pub exceptions: Option<Vec<String>>,
    /// `--just-my-code`; `None` when the option was not given (the settings decide, then true).
    pub just_my_code: Option<bool>,
    /// Stop the root at its first line.
    pub stop_on_entry: bool,
    /// When one process stops, hold the others.
    pub stop_the_world: bool,
    /// The most live sessions at once, 0 for no limit; `None` when the option was not given.
    pub max_children: Option<u32>,
    /// `--python`, as typed.
    pub python: Option<OsString>,
    /// `--cwd`, as typed.
    pub cwd: Option<PathBuf>,
    /// `--env`, in the order typed.
    pub env: Vec<(OsString, OsString)>,
    /// Use pipes in place of a pseudo terminal.
    pub no_pty: bool,
    /// Where to keep a journal, as typed.
    pub record: Option<PathBuf>,
    /// The program and its words, byte for byte. Never empty.
    pub program: Vec<OsString>,
}

/// What `daptree trace` was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceRequest {
    /// Breakpoints, in the order typed.
    pub breakpoints: Vec<BreakpointSpec>,
    /// Expressions evaluated at every stop, in the order typed.
    pub evals: Vec<String>,
    /// Exception filters of the adapter; empty when none was named.
    pub exceptions: Vec<String>,
    /// When to end the tree; `None` for no limit.
    pub timeout: Option<Duration>,
    /// How long each stop stands.
    pub hold: Duration,
    /// Stop in the user's own code alone.
    pub just_my_code: bool,
    /// JSON lines in place of text.
    pub json: bool,
    /// What to attach to in place of starting a program.
    pub attach: Option<AttachTarget>,
    /// Where to keep a journal, as typed.
    pub record: Option<PathBuf>,
    /// The program and its words, byte for byte. Empty only with `attach`.
    pub program: Vec<OsString>,
}

/// A command line that starts nothing: a mistake in it, or a request for help or the version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct NotRun {
    /// The whole text to print, with its last newline.
    pub message: String,
    /// 0 for help and version, else [`USAGE_STATUS`].
    pub status: u8,
}

impl Invocation {
    /// Where a journal is to be kept, if one is.
    pub fn record(&self) -> Option<&Path> {
        match self {
            Self::Run(request) => request.record.as_deref(),
            Self::Trace(request) => request.record.as_deref(),
            Self::Attach(command) => command.record.as_deref(),
            _ => None,
        }
    }
}

impl NotRun {
    /// Whether the text belongs on standard output (help, version) and not on standard error.
    pub fn for_stdout(&self) -> bool {
        self.status == 0
    }
}

#[derive(Debug, Parser)]
#[command(
    name = "daptree",
    version,
    about = "A terminal debugger for process trees",
    subcommand_required = true,
    args_conflicts_with_subcommands = true,
    after_help = "`run` may be left out: `daptree -- pytest -n 2`, `daptree -b app.py:12 python app.py`."
)]
struct Typed {
    #[command(subcommand)]
    command: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Debug a program and everything it starts, in the terminal (the default command)
    Run(RunWords),
    /// Run a program, follow its processes and print what happens; needs no terminal
    Trace(TraceWords),
    /// Debug programs that run already, by the port they listen on or by their pid
    Attach(attach::AttachWords),
    /// Wait for a program that connects back, such as one in a container
    Listen(attach::ListenWords),
    /// Look at a run that was recorded with --record, step by step
    Replay {
        /// The journal
        #[arg(value_name = "FILE")]
        journal: PathBuf,
    },
    /// Look around in a small bundled process tree
    Demo,
    /// Say what works on this machine and what to do about the rest
    Doctor,
    #[command(hide = true)]
    Keeper,
}

#[derive(Debug, Args)]
#[command(override_usage = "daptree [run] [OPTIONS] [--] PROGRAM [ARGS]...")]
struct RunWords {
    /// A breakpoint for every session.
    #[arg(short, long = "breakpoint", value_name = "LOC", help = LOC_HELP)]
    breakpoint: Vec<OsString>,
    /// Set a breakpoint at the entry of every function of this name, in every session
    #[arg(long, value_name = "NAME")]
    function: Vec<String>,
    /// Exception filters, such as userUnhandled, uncaught or raised [default: failures of tests]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    exceptions: Option<Vec<String>>,
    /// Stop in your own code alone [default: true]
    #[arg(long, value_name = "BOOL")]
    just_my_code: Option<bool>,
    /// Stop the program at its first line
    #[arg(long)]
    stop_on_entry: bool,
    /// When one process stops, hold all others until it goes on
    #[arg(long)]
    stop_the_world: bool,
    /// The most processes debugged at once; more run free, 0 is no limit [default: 256]
    #[arg(long, value_name = "N")]
    max_children: Option<u32>,
    /// The Python to use where the program does not name one
    #[arg(long, value_name = "PATH")]
    python: Option<OsString>,
    /// The folder the program runs in
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Set a variable in the program's environment
    #[arg(long, value_name = "K=V", value_parser = clap::builder::OsStringValueParser::new().try_map(|text| assignment(&text)))]
    env: Vec<(OsString, OsString)>,
    /// Accept breakpoints in files that are not there yet
    #[arg(long)]
    pending: bool,
    /// Give the program pipes, not a terminal of its own
    #[arg(long)]
    no_pty: bool,
    /// Keep a journal of the run for `daptree replay`; it holds no environment values or tokens
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// The program and its arguments, as in a shell
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true)]
    program: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(override_usage = "daptree trace [OPTIONS] -- PROGRAM [ARGS]...")]
struct TraceWords {
    /// A breakpoint for every session.
    #[arg(short, long = "breakpoint", value_name = "LOC", help = LOC_HELP)]
    breakpoint: Vec<OsString>,
    /// Evaluate an expression at every stop, in the top frame
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    eval: Vec<String>,
    /// Exception filters, such as userUnhandled, uncaught or raised
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    exceptions: Vec<String>,
    /// End the whole tree after so many seconds
    #[arg(long, value_name = "SECS", value_parser = seconds)]
    timeout: Option<Duration>,
    /// How long each stop stands, in seconds
    #[arg(long, value_name = "SECS", default_value = "0", value_parser = seconds)]
    hold: Duration,
    /// Stop in your own code alone
    #[arg(long, value_name = "BOOL", default_value = "true", action = clap::ArgAction::Set)]
    just_my_code: bool,
    /// Print JSON lines
    #[arg(long)]
    json: bool,
    /// Attach to HOST:PORT or to a pid in place of starting a program
    #[arg(long, value_name = "TARGET", hide = true, conflicts_with = "program", value_parser = clap::builder::OsStringValueParser::new().try_map(|text| attach::traced_target(&text)))]
    attach: Option<AttachTarget>,
    /// Keep a journal of the run for `daptree replay`; it holds no environment values or tokens
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// The program and its arguments, as in a shell
    #[arg(
        value_name = "PROGRAM",
        required_unless_present = "attach",
        last = true
    )]
    program: Vec<OsString>,
}

/// Reads a command line, the program's own name first. Relative breakpoint files belong to
/// `cwd`, the working folder daptree was started in.
pub fn parse<I>(words: I, cwd: &Path) -> Result<Invocation, NotRun>
where
    I: IntoIterator<Item = OsString>,
{
    let typed = Typed::command()
        .try_get_matches_from(with_verb(words))
        .and_then(|matches| Typed::from_arg_matches(&matches))
        .map_err(|error| not_run(&error))?;
    match typed.command {
        Verb::Run(words) => {
            let breakpoints = locations(&words.breakpoint, cwd, words.pending)?;
            Ok(Invocation::Run(RunRequest {
                breakpoints,
                functions: words.function,
                exceptions: words.exceptions.map(filters),
                just_my_code: words.just_my_code,
                stop_on_entry: words.stop_on_entry,
                stop_the_world: words.stop_the_world,
                max_children: words.max_children,
                python: words.python,
                cwd: words.cwd,
                env: words.env,
                no_pty: words.no_pty,
                record: words.record,
                program: words.program,
            }))
        }
        Verb::Trace(words) => Ok(Invocation::Trace(TraceRequest {
            breakpoints: locations(&words.breakpoint, cwd, false)?,
            evals: words.eval,
            exceptions: filters(words.exceptions),
            timeout: words.timeout,
            hold: words.hold,
            just_my_code: words.just_my_code,
            json: words.json,
            attach: words.attach,
            record: words.record,
            program: words.program,
        })),
        Verb::Attach(words) => Ok(Invocation::Attach(words.read(cwd)?)),
        Verb::Listen(words) => Ok(Invocation::Attach(words.read(cwd)?)),
        Verb::Replay { journal } => Ok(Invocation::Replay(journal)),
        Verb::Demo => Ok(Invocation::Demo),
        Verb::Doctor => Ok(Invocation::Doctor),
        Verb::Keeper => Ok(Invocation::Keeper),
    }
}

/// Puts `run` in where no command is named. Only the first word can be a command, so
/// `daptree -- demo` runs a program called demo.
fn with_verb<I: IntoIterator<Item = OsString>>(words: I) -> Vec<OsString> {
    const OURS: [&str; 13] = [
        "run",
        "trace",
        "attach",
        "listen",
        "replay",
        "demo",
        "doctor",
        "keeper",
        "help",
        "-h",
        "--help",
        "-V",
        "--version",
    ];
    let mut words: Vec<OsString> = words.into_iter().collect();
    if words.is_empty() {
        words.push("daptree".into());
    }
    let named = words
        .get(1)
        .is_some_and(|first| OURS.iter().any(|ours| first == ours));
    if !named && words.len() > 1 {
        words.insert(1, "run".into());
    }
    words
}

fn locations(typed: &[OsString], cwd: &Path, pending: bool) -> Result<Vec<BreakpointSpec>, NotRun> {
    typed
        .iter()
        .map(|text| BreakpointSpec::parse(text, cwd, pending))
        .collect::<Result<_, _>>()
        .map_err(|error| usage(&error.to_string()))
}

fn usage(what: &str) -> NotRun {
    NotRun {
        message: format!("daptree: {what}\n"),
        status: USAGE_STATUS,
    }
}

fn not_run(error: &clap::Error) -> NotRun {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => NotRun {
            message: error.to_string(),
            status: 0,
        },
        _ => NotRun {
            message: error.to_string(),
            status: USAGE_STATUS,
        },
    }
}

fn filters(typed: Vec<String>) -> Vec<String> {
    typed
        .into_iter()
        .map(|filter| filter.trim().to_owned())
        .filter(|filter| !filter.is_empty())
        .collect()
}

fn assignment(text: &OsStr) -> Result<(OsString, OsString), String> {
    use std::os::unix::ffi::OsStrExt as _;
    let bytes = text.as_bytes();
    match bytes.iter().position(|byte| *byte == b'=') {
        None => Err("a variable is set as NAME=VALUE".to_owned()),
        Some(0) => Err("the name before = is empty".to_owned()),
        Some(at) => {
            let (name, value) = bytes.split_at(at);
            let value = value.get(1..).unwrap_or_default();
            Ok((
                OsStr::from_bytes(name).to_owned(),
                OsStr::from_bytes(value).to_owned(),
            ))
        }
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    text.parse::<f64>()
        .ok()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| "a number of seconds, such as 30 or 0.5".to_owned())
}

#[cfg(test)]
mod tests;
