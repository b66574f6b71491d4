//! `daptree doctor`: what works on this machine, and what to do about the rest. The report is a
//! pure function of what was found; the finding is in [`mod@probe`]. It must not change anything
//! but the folders it tests.

use std::fmt::Write as _;
use std::path::PathBuf;

pub mod probe;

pub use probe::{Surroundings, probe};

/// One line of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Whether nothing has to be done.
    pub ok: bool,
    /// Whether daptree cannot debug without it.
    pub needed: bool,
    /// What it is about, such as `interpreter`.
    pub about: &'static str,
    /// What was found.
    pub found: String,
    /// What to do; empty when it is ok.
    pub advice: String,
}

/// The findings about debugpy for the interpreter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DebugpyFound {
    /// The interpreter's own serves.
    Own(String),
    /// daptree's copy is there.
    Managed(String),
    /// None yet; it is fetched at the first run.
    None {
        /// The interpreter's own version, when it has one that does not serve.
        unfit: Option<String>,
    },
}

/// What was found out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Findings {
    /// Path, version and who chose it; else why there is none.
    pub interpreter: Result<String, String>,
    /// debugpy for it; `None` without an interpreter.
    pub debugpy: Option<DebugpyFound>,
    /// Who can fetch debugpy: `pip of …`, `python3 -m pip`, `uv`.
    pub installer: Option<String>,
    /// Whether gdb is on PATH.
    pub gdb: bool,
    /// Whether we are root.
    pub root: bool,
    /// `ptrace_scope` of the kernel, where it has one.
    pub ptrace_scope: Option<u8>,
    /// The system's name and release, such as `Linux 6.18.0`.
    pub kernel: String,
    /// Whether the kernel tells how a process that is not our child ended.
    pub exit_info: bool,
    /// The terminal on standard output.
    pub terminal: TerminalFound,
    /// Name, place, and why it cannot be written.
    pub folders: Vec<(&'static str, PathBuf, Option<String>)>,
}

/// What the environment says of the terminal.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TerminalFound {
    /// Columns and rows; `None` when standard output is no terminal.
    pub size: Option<(u16, u16)>,
    /// `TERM`.
    pub term: String,
    /// `COLORTERM`.
    pub colorterm: String,
    /// The locale of characters, by `LC_ALL`, `LC_CTYPE` and `LANG`.
    pub locale: String,
    /// Whether it is inside tmux.
    pub tmux: bool,
    /// Whether it is inside GNU screen.
    pub screen: bool,
    /// Whether `NO_COLOR` is set.
    pub no_color: bool,
}

/// The smallest terminal the front end draws in: columns and rows.
const SMALLEST: (u16, u16) = (40, 10);

/// The terminal the front end is made for.
const USUAL: (u16, u16) = (80, 24);

fn ok(about: &'static str, found: impl Into<String>) -> Line {
    Line {
        ok: true,
        needed: false,
        about,
        found: found.into(),
        advice: String::new(),
    }
}

fn warn(about: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Line {
    Line {
        ok: false,
        needed: false,
        about,
        found: found.into(),
        advice: advice.into(),
    }
}

fn fail(about: &'static str, found: impl Into<String>, advice: impl Into<String>) -> Line {
    Line {
        needed: true,
        ..warn(about, found, advice)
    }
}

/// The report, one line a finding.
pub fn lines(findings: &Findings) -> Vec<Line> {
    let mut lines = vec![match &findings.interpreter {
        Ok(found) => ok("interpreter", found),
        Err(why) => fail(
            "interpreter",
            why,
            "install Python 3.8 or newer, or name one with --python PATH",
        ),
    }];
    lines.extend(debugpy(findings));
    lines.push(match &findings.installer {
        Some(installer) => ok("pip", installer),
        None => warn(
            "pip",
            "neither pip nor uv was found",
            "install python3-pip; debugpy is fetched with it where Python has none",
        ),
    });
    lines.push(attach(findings));
    lines.push(if findings.exit_info {
        ok(
            "kernel",
            format!("{}, tells how every process ended", findings.kernel),
        )
    } else {
        warn(
            "kernel",
            format!("{}, does not tell how grandchildren ended", findings.kernel),
            "nothing; exit codes of some processes show as unknown before Linux 6.15",
        )
    });
    lines.extend(terminal(&findings.terminal));
    for (about, path, problem) in &findings.folders {
        lines.push(match problem {
            None => ok(about, path.display().to_string()),
            Some(why) => fail(
                about,
                format!("{}: {why}", path.display()),
                format!("correct it, or move it with {}", variable(about)),
            ),
        });
    }
    lines
}

/// The report as text, one line a finding, the last with its newline.
pub fn text(lines: &[Line]) -> String {
    let mut text = String::new();
    for line in lines {
        let _ = if line.ok {
            writeln!(text, "ok {}: {}", line.about, line.found)
        } else {
            writeln!(text, "!! {}: {}: {}", line.about, line.found, line.advice)
        };
    }
    text
}

/// 0 when daptree can debug on this machine, else 1.
pub fn exit_status(lines: &[Line]) -> u8 {
    u8::from(lines.iter().any(|line| line.needed && !line.ok))
}

fn variable(folder: &str) -> &'static str {
    match folder {
        "data folder" => "DAPTREE_DATA_DIR",
        "state folder" => "DAPTREE_STATE_DIR",
        _ => "DAPTREE_RUNTIME_DIR",
    }
}

fn debugpy(findings: &Findings) -> Option<Line> {
    let about = "debugpy";
    Some(match findings.debugpy.as_ref()? {
        DebugpyFound::Own(found) => ok(about, format!("{found}, the interpreter's own")),
        DebugpyFound::Managed(found) => ok(about, format!("{found}, daptree's copy")),
        DebugpyFound::None { unfit } => {
            let found = match unfit {
                Some(version) => format!("{version} of the interpreter cannot join a tree"),
                None => "none yet".to_owned(),
            };
            if findings.installer.is_some() {
                ok(
                    about,
                    format!("{found}; it is fetched from PyPI at the first run"),
                )
            } else {
                fail(
                    about,
                    found,
                    "install pip or uv, or debugpy 1.8.22 into the interpreter",
                )
            }
        }
    })
}

fn attach(findings: &Findings) -> Line {
    let about = "attach";
    if !findings.gdb {
        let found = "no gdb, so running processes cannot be attached to by pid";
        return warn(about, found, "install gdb");
    }
    match findings.ptrace_scope {
        Some(scope @ 1..=2) if !findings.root => warn(
            about,
            format!("gdb, but ptrace_scope is {scope}"),
            "sudo sysctl kernel.yama.ptrace_scope=0, or run daptree as root to attach by pid",
        ),
        Some(3..) => warn(
            about,
            "ptrace is switched off until the next boot",
            "boot with kernel.yama.ptrace_scope below 3 to attach by pid",
        ),
        _ => ok(about, "gdb, and the kernel lets it attach"),
    }
}

fn terminal(found: &TerminalFound) -> Vec<Line> {
    let Some((columns, rows)) = found.size else {
        return vec![warn(
            "terminal",
            "standard output is no terminal",
            "run daptree in one, or use `daptree trace`",
        )];
    };
    let size = format!("{columns}×{rows}");
    let mut lines = vec![if columns < SMALLEST.0 || rows < SMALLEST.1 {
        warn(
            "terminal",
            format!("{size}, too small"),
            "make it at least 40×10, better 120×40",
        )
    } else if columns < USUAL.0 || rows < USUAL.1 {
        warn(
            "terminal",
            format!("{size}, tight"),
            "make it at least 80×24, better 120×40",
        )
    } else {
        ok("terminal", size)
    }];
    let dumb = found.term.is_empty() || found.term == "dumb";
    if dumb {
        let name = if found.term.is_empty() {
            "TERM is not set"
        } else {
            "TERM is dumb"
        };
        lines.push(warn(
            "screen",
            name,
            "set TERM to what your terminal is, such as xterm-256color",
        ));
    }
    lines.push(if found.no_color {
        ok("colours", "none, as NO_COLOR asks")
    } else if matches!(found.colorterm.as_str(), "truecolor" | "24bit") {
        ok("colours", "16 million")
    } else if found.term.contains("256color") || found.term.contains("kitty") {
        ok("colours", format!("256 ({})", found.term))
    } else {
        let advice = "set COLORTERM=truecolor if the terminal can show more";
        warn("colours", format!("16 or fewer ({})", found.term), advice)
    });
    let console = found.term == "linux";
    lines.push(if dumb || console {
        warn(
            "mouse",
            "this terminal reports none",
            "use the keys; every command has one",
        )
    } else {
        ok("mouse", "by SGR reports; hold Shift to select text")
    });
    lines.push(if dumb || console {
        warn(
            "clipboard",
            "this terminal has none",
            "copy from another terminal over ssh or tmux",
        )
    } else if found.tmux {
        let advice = "`set -g set-clipboard on` in tmux.conf, if copied text does not arrive";
        warn("clipboard", "OSC 52 has to pass tmux", advice)
    } else if found.screen {
        warn(
            "clipboard",
            "GNU screen drops OSC 52",
            "use tmux, or copy with the terminal itself",
        )
    } else {
        ok("clipboard", "OSC 52")
    });
    let locale = found.locale.to_ascii_lowercase();
    lines.push(if locale.contains("utf-8") || locale.contains("utf8") {
        ok("characters", found.locale.clone())
    } else {
        let name = if locale.is_empty() {
            "no locale is set"
        } else {
            &found.locale
        };
        warn(
            "characters",
            name,
            "set LANG=C.UTF-8, or lines and marks may show as letters",
        )
    });
    lines
}

#[cfg(test)]
mod tests;
