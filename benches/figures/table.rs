//! Figures against their bars, and the table of them.

use anyhow::{Context, Result};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const BEGIN: &str = "<!-- figures:begin -->";
const END: &str = "<!-- figures:end -->";

/// A figure, where it is to be, and what else is known of it.
#[derive(Clone, Debug)]
pub struct Figure {
    /// What was measured.
    pub what: &'static str,
    /// The figure.
    pub value: f64,
    /// At most this; `None`: only told.
    pub bar: Option<f64>,
    /// Such as ` ms`.
    pub unit: &'static str,
    /// In words.
    pub beside: String,
}

impl Figure {
    /// Whether it is where it is to be.
    pub fn holds(&self) -> bool {
        self.bar.is_none_or(|bar| self.value <= bar)
    }

    /// One line for people.
    pub fn line(&self) -> String {
        let bar = self.bar.map_or(String::new(), |bar| {
            format!(" (at most {bar}{})", self.unit)
        });
        let word = if self.holds() { "ok    " } else { "MISSED" };
        format!(
            "{word} {}: {}{bar}; {}",
            self.what,
            self.shown(),
            self.beside
        )
    }

    fn shown(&self) -> String {
        let places = if self.value >= 100.0 || self.value == 0.0 {
            0
        } else if self.value >= 10.0 {
            1
        } else {
            2
        };
        format!("{:.places$}{}", self.value, self.unit)
    }
}

/// Times, sorted.
#[derive(Clone, Debug)]
pub struct Times(Vec<f64>);

impl Times {
    /// In ms.
    pub fn new(times: impl IntoIterator<Item = Duration>) -> Self {
        let mut all: Vec<f64> = times
            .into_iter()
            .map(|time| time.as_secs_f64() * 1e3)
            .collect();
        all.sort_by(f64::total_cmp);
        Self(all)
    }

    /// The value that so many per cent do not exceed; 50: the median.
    pub fn percentile(&self, percent: usize) -> f64 {
        let last = self.0.len().saturating_sub(1);
        self.0
            .get((last * percent).div_ceil(100))
            .copied()
            .unwrap_or(f64::NAN)
    }

    /// Such as `min 3.1, median 4.0, max 9.9 ms of 200`.
    pub fn spread(&self) -> String {
        let [min, median, max] = [0, 50, 100].map(|percent| self.percentile(percent));
        format!(
            "min {min:.1}, median {median:.1}, max {max:.1} ms of {}",
            self.0.len()
        )
    }
}

/// The table in Markdown, with the machine and the day.
pub fn markdown(figures: &[Figure], about: &str) -> Result<String> {
    let mut out = format!("{BEGIN}\n| measured | figure | at most | |\n|---|---:|---:|---|\n");
    for figure in figures {
        let bar = figure
            .bar
            .map_or(String::new(), |bar| format!("{bar}{}", figure.unit));
        let missed = if figure.holds() { "" } else { "**missed** " };
        let (what, shown, beside) = (figure.what, figure.shown(), &figure.beside);
        writeln!(out, "| {what} | {missed}{shown} | {bar} | {beside} |")?;
    }
    writeln!(out, "\n{}; {about}.\n{END}", machine()?)?;
    Ok(out)
}

/// Puts the table where the marks of the file are.
pub fn write(path: &Path, table: &str) -> Result<()> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let marks = text.split_once(BEGIN).and_then(|(before, rest)| {
        let (_, after) = rest.split_once(END)?;
        Some((before, after))
    });
    let (before, after) = marks
        .with_context(|| format!("{}: `{BEGIN}` and `{END}` must stand in it", path.display()))?;
    let after = after.strip_prefix('\n').unwrap_or(after);
    fs::write(path, format!("{before}{table}{after}"))
        .with_context(|| format!("{}: cannot be written", path.display()))
}

fn machine() -> Result<String> {
    let cpu = fs::read_to_string("/proc/cpuinfo")?;
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("a processor without a name", |(_, model)| model.trim());
    let cores = std::thread::available_parallelism()?;
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let load = fs::read_to_string("/proc/loadavg")?;
    let load = load.split_whitespace().next().unwrap_or("unknown");
    let date = Command::new("date").args(["-u", "+%Y-%m-%d"]).output()?;
    let date = String::from_utf8_lossy(&date.stdout).trim().to_owned();
    let kernel = kernel.trim();
    Ok(format!(
        "{date}, {model}, {cores} cores, Linux {kernel}, load {load}"
    ))
}
