//! The floor where many children come at once: whatever was heard is answered at once, whichever
//! child it is of. As the rest of the driver, it uses nothing of daptree.

use super::{Adapter, Driver, Heard, Program, is_over};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// How long nothing may be heard: so many interpreters that start at once take their time.
const LIMIT: Duration = Duration::from_secs(120);

/// Launches a program whose `count` children stop once each. Gives the time until the last of them
/// stood with its place known.
pub fn adopt_all(adapter: &Adapter, program: &Program, count: usize) -> Result<Duration> {
    let mut driver = Driver::start(adapter)?;
    let began = Instant::now();
    let root = driver.launch(adapter, program)?;
    let mut placed = 0;
    while placed < count {
        let heard = if driver.kept.is_empty() {
            let heard = driver.heard.recv_timeout(LIMIT);
            heard.context("the adapter fell silent")?
        } else {
            driver.kept.remove(0)
        };
        if heard.connection == root && is_over(&heard) {
            bail!("the program ended after {placed} stops");
        }
        placed += usize::from(driver.heard_of_a_child(&heard, program)?);
    }
    Ok(began.elapsed())
}

impl Driver {
    /// Does what follows from a message; true when a child's place is known.
    fn heard_of_a_child(&mut self, heard: &Heard, program: &Program) -> Result<bool> {
        let on = heard.connection;
        let word = |pointer| heard.field(pointer).as_str().unwrap_or_default();
        match (word("/type"), word("/command"), word("/event")) {
            ("request", "startDebugging", _) => {
                let answer = json!({
                    "type": "response", "request_seq": heard.field("/seq"),
                    "command": "startDebugging", "success": true, "body": {},
                });
                self.send(on, answer)?;
                let child = self.connect()?;
                let client = json!({
                    "adapterID": "debugpy", "clientID": "driver", "pathFormat": "path",
                    "linesStartAt1": true, "columnsStartAt1": true,
                    "supportsStartDebuggingRequest": true,
                });
                self.ask(child, "initialize", &client)?;
                let mut arguments = heard.field("/arguments/configuration").clone();
                if let Some(fields) = arguments.as_object_mut() {
                    fields.insert("redirectOutput".to_owned(), false.into());
                }
                self.ask(child, "attach", &arguments)?;
            }
            ("event", _, "initialized") => {
                let breakpoints = json!({
                    "source": { "path": program.breakpoint },
                    "breakpoints": [{ "line": program.line }],
                });
                self.ask(on, "setBreakpoints", &breakpoints)?;
                self.ask(on, "setExceptionBreakpoints", &json!({ "filters": [] }))?;
                self.ask(on, "configurationDone", &json!({}))?;
            }
            ("event", _, "stopped") => {
                let thread: &Value = heard.field("/body/threadId");
                let arguments = json!({ "threadId": thread, "levels": 1 });
                self.ask(on, "stackTrace", &arguments)?;
                self.ask(on, "continue", &json!({ "threadId": thread }))?;
            }
            ("response", "stackTrace", _) => return Ok(true),
            ("response", command, _) if heard.field("/success") == false => {
                bail!("{command} was refused: {}", heard.message);
            }
            _ => {}
        }
        Ok(false)
    }
}
