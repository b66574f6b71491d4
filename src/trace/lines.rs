//! The lines of a trace, as JSON or as text for people. It must not know where they come from.

use super::stops::StopInProgress;
use daptree_model::{EndStatus, Follow, Row, RowId, Stream};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

/// Writes lines, each at once.
#[derive(Debug)]
pub(super) struct Printer {
    json: bool,
    /// The last session line of each row: it comes again only when something changed.
    said: BTreeMap<RowId, String>,
    /// Text mode: what a row wrote since its last line end.
    partial: BTreeMap<(RowId, Stream), String>,
}

/// What the last line says.
#[derive(Debug)]
pub(super) struct Summary {
    pub code: i32,
    pub signal: Option<String>,
    pub sessions: usize,
    pub stops: u32,
    pub elapsed: Duration,
    pub left: Vec<u32>,
}

impl Printer {
    pub(super) fn new(json: bool) -> Self {
        Self {
            json,
            said: BTreeMap::new(),
            partial: BTreeMap::new(),
        }
    }

    fn line(line: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(line.as_bytes())?;
        out.write_all(b"\n")?;
        out.flush()
    }

    fn object(value: &Value) -> io::Result<()> {
        Self::line(&value.to_string())
    }

    pub(super) fn session(&mut self, row: &Row) -> io::Result<()> {
        let pid = row.process.map(|process| process.pid);
        let follow = follow_word(row.follow);
        let line = if self.json {
            json!({
                "type": "session",
                "session": row.id.to_string(),
                "parent": row.parent.map(|id| id.to_string()),
                "pid": pid,
                "name": row.name,
                "program": row.program,
                "language": row.language,
                "follow": follow,
            })
            .to_string()
        } else {
            let under = row
                .parent
                .map(|id| format!(" under {id}"))
                .unwrap_or_default();
            let pid = pid.map(|pid| format!(" pid {pid}")).unwrap_or_default();
            let why = row
                .reason
                .as_deref()
                .map(|why| format!(" ({why})"))
                .unwrap_or_default();
            format!("{}  {}{pid}{under}, {follow}{why}", row.id, row.name)
        };
        if self.said.get(&row.id) == Some(&line) {
            return Ok(());
        }
        Self::line(&line)?;
        self.said.insert(row.id, line);
        Ok(())
    }

    pub(super) fn breakpoint(
        &self,
        row: RowId,
        path: &str,
        line: u32,
        verified: bool,
        message: Option<&str>,
    ) -> io::Result<()> {
        if self.json {
            let mut value = json!({
                "type": "breakpoint", "session": row.to_string(), "file": path, "line": line,
                "verified": verified,
            });
            if let (Some(message), Some(fields)) = (message, value.as_object_mut()) {
                fields.insert("message".to_owned(), json!(message));
            }
            return Self::object(&value);
        }
        let how = if verified { "set" } else { "not set" };
        let message = message.map(|text| format!(": {text}")).unwrap_or_default();
        Self::line(&format!("{row}  breakpoint {path}:{line} {how}{message}"))
    }

    pub(super) fn stop(
        &self,
        row: RowId,
        pid: Option<u32>,
        stop: &StopInProgress,
        evals: &[String],
    ) -> io::Result<()> {
        let place = stop.at.place.as_ref();
        if self.json {
            let values: Map<String, Value> = stop
                .values
                .iter()
                .filter_map(|(index, value)| Some((evals.get(*index)?.clone(), json!(value))))
                .collect();
            let mut value = json!({
                "type": "stop",
                "session": row.to_string(),
                "pid": pid,
                "stop": stop.stop.0,
                "reason": stop.at.reason,
                "file": place.map(|place| place.path.as_str()),
                "line": place.map(|place| place.line),
                "function": place.map(|place| place.function.as_str()),
                "thread": stop.thread,
                "values": values,
            });
            if let (Some(raised), Some(fields)) = (&stop.exception, value.as_object_mut()) {
                let raised = json!({
                    "type": raised.type_name, "message": raised.message, "mode": raised.mode,
                });
                fields.insert("exception".to_owned(), raised);
            }
            return Self::object(&value);
        }
        let at = place.map_or_else(
            || "an unknown place".to_owned(),
            |place| format!("{}:{} in {}", place.path, place.line, place.function),
        );
        let thread = stop
            .thread
            .as_deref()
            .map(|name| format!(" [{name}]"))
            .unwrap_or_default();
        let raised = stop
            .exception
            .as_ref()
            .map(|raised| format!(" {}: {}", raised.type_name, raised.message))
            .unwrap_or_default();
        Self::line(&format!(
            "{row}  stop {} {}{raised} at {at}{thread}",
            stop.stop, stop.at.reason
        ))?;
        for (index, expression) in evals.iter().enumerate() {
            if let Some(value) = stop.values.get(&index) {
                Self::line(&format!("{row}      {expression} = {value}"))?;
            }
        }
        Ok(())
    }

    pub(super) fn output(
        &mut self,
        row: RowId,
        name: &str,
        stream: Stream,
        text: &str,
    ) -> io::Result<()> {
        if self.json {
            let category = match stream {
                Stream::Stdout | Stream::Terminal => "stdout",
                Stream::Stderr => "stderr",
                Stream::Console => "console",
            };
            return Self::object(&json!({
                "type": "output", "session": row.to_string(), "category": category, "text": text,
            }));
        }
        let partial = self.partial.entry((row, stream)).or_default();
        partial.push_str(text);
        while let Some(end) = partial.find('\n') {
            let line: String = partial.drain(..=end).collect();
            Self::line(&format!(
                "{row}  {name} | {}",
                line.trim_end_matches(['\r', '\n'])
            ))?;
        }
        Ok(())
    }

    pub(super) fn end(&self, row: RowId, status: EndStatus, cause: Option<&str>) -> io::Result<()> {
        let code = match status {
            EndStatus::Exited(code) => Some(code),
            _ => None,
        };
        if self.json {
            return Self::object(&json!({
                "type": "end", "session": row.to_string(), "exitCode": code,
                "signal": status.signal_name(), "cause": cause,
            }));
        }
        let how = match status {
            EndStatus::Exited(code) => format!("exit {code}"),
            EndStatus::Signaled(_) => status.signal_name().unwrap_or_default(),
            EndStatus::Unknown => "unknown how".to_owned(),
        };
        let cause = cause.map(|cause| format!(", {cause}")).unwrap_or_default();
        Self::line(&format!("{row}  ended: {how}{cause}"))
    }

    pub(super) fn warning(&self, code: &str, message: &str, row: Option<RowId>) -> io::Result<()> {
        if self.json {
            let mut value = json!({ "type": "warning", "code": code, "message": message });
            if let (Some(row), Some(fields)) = (row, value.as_object_mut()) {
                fields.insert("session".to_owned(), json!(row.to_string()));
            }
            return Self::object(&value);
        }
        let row = row.map(|row| format!("{row}  ")).unwrap_or_default();
        Self::line(&format!("{row}warning: {message}"))
    }

    pub(super) fn summary(&mut self, summary: &Summary) -> io::Result<()> {
        for ((row, _), text) in std::mem::take(&mut self.partial) {
            if !self.json && !text.is_empty() {
                Self::line(&format!("{row}  | {text}"))?;
            }
        }
        let elapsed = u64::try_from(summary.elapsed.as_millis()).unwrap_or(u64::MAX);
        if self.json {
            return Self::object(&json!({
                "type": "summary", "exitCode": summary.code, "signal": summary.signal,
                "sessions": summary.sessions, "stops": summary.stops, "elapsedMs": elapsed,
                "left": summary.left,
            }));
        }
        let left = if summary.left.is_empty() {
            String::new()
        } else {
            let pids: Vec<String> = summary.left.iter().map(u32::to_string).collect();
            format!(", still alive: {}", pids.join(" "))
        };
        Self::line(&format!(
            "exit {}: {} processes, {} stops, {elapsed} ms{left}",
            summary.code, summary.sessions, summary.stops
        ))
    }
}

fn follow_word(follow: Follow) -> &'static str {
    match follow {
        Follow::Adopted => "adopted",
        Follow::Helper => "helper",
        Follow::Released => "released",
        Follow::Unfollowed => "unfollowed",
    }
}
