//! Makes a recording tell nothing of the machine it was made on: folders and process numbers are
//! replaced, and what still names one is refused. It must not know what the recording is about.

use crate::recording::Entry;
use anyhow::{Context, Result, bail};
use daptree_model::FromEngine;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder that all recorded programs seem to lie in.
const SHOP: &str = "/home/you/shop";
/// The first process number shown.
const FIRST_PID: u64 = 4_001;

/// The interpreter that the scenes run on.
pub struct Python {
    /// The folder of its commands.
    pub bin: PathBuf,
    /// `sys.prefix`.
    pub prefix: String,
    /// `sys.base_prefix`: the same where it is no virtual environment.
    base: String,
}

impl Python {
    /// Finds it and asks it.
    pub fn find() -> Result<Self> {
        let python = std::env::var_os("DAPTREE_RECORD_PYTHON").unwrap_or_else(|| "python3".into());
        let code = "import sys, os, pytest, xdist; \
                    print(os.path.dirname(sys.executable), sys.prefix, sys.base_prefix, sep='\\n')";
        let output = Command::new(&python).args(["-c", code]).output();
        let output = output.with_context(|| format!("{} cannot be run", python.display()))?;
        let text = String::from_utf8(output.stdout)?;
        let lines: Vec<&str> = text.lines().collect();
        let (true, [bin, prefix, base]) = (output.status.success(), lines.as_slice()) else {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let last = stderr.trim_end().lines().last().unwrap_or_default();
            bail!(
                "{}: {last}; name another one in DAPTREE_RECORD_PYTHON",
                python.display()
            );
        };
        Ok(Self {
            bin: bin.into(),
            prefix: (*prefix).to_owned(),
            base: (*base).to_owned(),
        })
    }

    /// Whether it belongs to a virtual environment.
    pub fn is_virtual(&self) -> bool {
        self.prefix != self.base
    }
}

/// What is replaced by what.
pub struct Disguise {
    folders: Vec<(String, &'static str)>,
    pids: BTreeMap<u64, u64>,
}

impl Disguise {
    /// For a program in a folder, on an interpreter.
    pub fn new(folder: &Path, python: &Python) -> Self {
        let mut folders = vec![
            (folder.display().to_string(), SHOP),
            (python.base.clone(), "/usr"),
        ];
        if python.is_virtual() {
            folders.push((python.prefix.clone(), "/home/you/shop/.venv"));
        }
        if let Ok(home) = std::env::var("HOME") {
            folders.push((home, "/home/you"));
        }
        folders.retain(|(from, to)| from.len() > 1 && from != to);
        // A folder within another one goes first.
        folders.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
        Self {
            folders,
            pids: BTreeMap::new(),
        }
    }

    /// The lines of a recording's file.
    pub fn lines(mut self, entries: &[Entry]) -> Result<String> {
        let mut out = String::new();
        for entry in entries {
            let mut value = match entry {
                Entry::Engine(FromEngine::Terminal { root, reset, bytes }) => {
                    let text = self.text(&String::from_utf8_lossy(bytes));
                    serde_json::to_value(Entry::Engine(FromEngine::Terminal {
                        root: *root,
                        reset: *reset,
                        bytes: text.into_bytes(),
                    }))?
                }
                entry => serde_json::to_value(entry)?,
            };
            self.value(&mut value);
            let line = value.to_string();
            self.check(&line)?;
            out.push_str(&line);
            out.push('\n');
        }
        Ok(out)
    }

    fn text(&self, text: &str) -> String {
        let replace = |text: String, (from, to): &(String, &str)| text.replace(from, to);
        self.folders.iter().fold(text.to_owned(), replace)
    }

    fn value(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.value(value)),
            Value::Object(fields) => {
                if let Some(pid) = fields.get("pid").and_then(Value::as_u64) {
                    let next = FIRST_PID + self.pids.len() as u64;
                    let shown = *self.pids.entry(pid).or_insert(next);
                    fields.insert("pid".to_owned(), shown.into());
                    fields.insert("start".to_owned(), 0.into());
                }
                fields.values_mut().for_each(|value| self.value(value));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn check(&self, line: &str) -> Result<()> {
        let temporary = std::env::temp_dir().display().to_string();
        let froms = self.folders.iter().map(|(from, _)| from.as_str());
        for named in froms.chain([temporary.as_str()]) {
            if let Some(at) = line.find(named) {
                let around: String = line.chars().skip(at.saturating_sub(40)).take(120).collect();
                bail!("the recording still names {named}: … {around} …");
            }
        }
        Ok(())
    }
}
