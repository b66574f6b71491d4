//! The policy for debugpy: children arrive as `startDebugging` (or `debugpyAttach`) on their
//! parent's connection and are adopted over a second connection to the same adapter.
//! Pure: it must not know where debugpy lies or how it is started.

use super::{Conditions, Found, Identity, Policy, Report, Role, SessionSettings, Whereabouts};
use crate::dap::message::{Event, Message};
use daptree_model::{AttachTarget, BreakpointId, BreakpointSpec, Cause};
use serde_json::{Value, json};

mod attach;
mod breakpoints;
mod exceptions;

/// debugpy 1.8.
#[derive(Clone, Copy, Debug, Default)]
pub struct Debugpy;

/// Gives the worker id of pytest-xdist, else the name that multiprocessing knows the process by.
/// It looks only at modules that are loaded already, and evaluates without a frame.
const NAME: &str = "(lambda s, e: e.get('PYTEST_XDIST_WORKER') or \
    (lambda m: m and m.current_process().name or '')(s.get('multiprocessing.process')))\
    (__import__('sys').modules, __import__('os').environ)";

/// Replaces descriptors 1 and 2 where they are a stream of the tree. What is a pipe, a file or a
/// terminal of the program's own is left alone.
const TAKE_STREAMS: &str = "(lambda os, own: [os.close(new) for fd in (1, 2) \
    for stat in [os.fstat(fd)] \
    for path in [own.get('%d:%d:%d' % (stat.st_dev, stat.st_ino, stat.st_rdev))] if path \
    for new in [os.open(path, os.O_WRONLY | os.O_NOCTTY)] if [os.dup2(new, fd)]])";

/// At the end of a process pydevd waits for its reader, which at that moment waits for the one that
/// waits for it, until both give up after 0.5 s. A reader that was told to end need not wait.
const LEAVE_AT_ONCE: &str = "(lambda reader, name: setattr(reader, name, \
    (lambda wait: lambda self: self._kill_received or wait(self))(getattr(reader, name))))\
    (__import__('sys').modules['_pydevd_bundle.pydevd_comm'].ReaderThread, \
    '_terminate_on_socket_close')";

/// A text as Python writes it.
fn python_text(text: &str) -> String {
    let mut out = String::from("'");
    for character in text.chars() {
        match character {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\'' | '\\' => out.extend(['\\', character]),
            _ => out.push(character),
        }
    }
    out.push('\'');
    out
}

/// An expression that runs a file of ours in a space of its own, and gives what it calls `found`.
fn run_in(code: &str, space: &str) -> String {
    let code = python_text(code);
    format!("(lambda scope: (exec({code}, scope), scope['found'])[1])({space})")
}

impl Policy for Debugpy {
    fn id(&self) -> &'static str {
        "debugpy"
    }

    fn language(&self) -> &'static str {
        "python"
    }

    fn initialize(&self) -> Value {
        json!({
            "clientID": "daptree",
            "clientName": "daptree",
            "adapterID": "debugpy",
            "locale": "en",
            "linesStartAt1": true,
            "columnsStartAt1": true,
            "pathFormat": "path",
            "supportsVariableType": true,
            "supportsVariablePaging": true,
            "supportsRunInTerminalRequest": false,
            "supportsStartDebuggingRequest": true,
            "supportsInvalidatedEvent": true,
        })
    }

    fn await_root(&self, settings: &SessionSettings) -> Value {
        json!({
            "type": "python",
            "request": "attach",
            "name": "root",
            "listen": { "host": "127.0.0.1", "port": 0 },
            "redirectOutput": false,
            "justMyCode": settings.just_my_code,
            "subProcess": true,
            "showReturnValue": true,
        })
    }

    fn attach_root(&self, target: &AttachTarget, settings: &SessionSettings) -> Value {
        attach::arguments(target, settings)
    }

    fn connect_command(&self, host: &str, port: u16) -> String {
        attach::connect_command(host, port)
    }

    fn whereabouts_expression(&self) -> &'static str {
        attach::WHEREABOUTS
    }

    fn whereabouts_in(&self, value: &str) -> Option<Whereabouts> {
        attach::whereabouts_in(value)
    }

    fn parting_expression(&self) -> Option<&'static str> {
        Some(attach::PARTING)
    }

    fn injection_failure(&self, said: &str) -> Option<String> {
        attach::injection_failure(said)
    }

    fn is_injection_chat(&self, text: &str) -> bool {
        text.starts_with("Attaching to PID: ")
    }

    fn unreported(&self, pid: u32, host: &str, port: u16) -> Report {
        attach::report("subProcessId", pid, host, port)
    }

    fn injected(&self, pid: u32, host: &str, port: u16) -> Report {
        attach::report("processId", pid, host, port)
    }

    fn speaks(&self, command: &[String], short_name: &str) -> bool {
        attach::is_python(command, short_name)
    }

    fn root_endpoint(&self, event: &Event) -> Option<(String, u16)> {
        if event.event != "debugpyWaitingForServer" {
            return None;
        }
        let body = event.body.as_ref()?;
        let port = u16::try_from(body.get("port")?.as_u64()?).ok()?;
        let host = body
            .get("host")
            .and_then(Value::as_str)
            .unwrap_or("127.0.0.1");
        Some((host.to_owned(), port))
    }

    fn report(&self, message: &Message) -> Option<Report> {
        let configuration = match message {
            Message::Request(request) if request.command == "startDebugging" => {
                request.arguments.as_ref()?.get("configuration")?
            }
            Message::Event(event) if event.event == "debugpyAttach" => event.body.as_ref()?,
            _ => return None,
        };
        let pid = u32::try_from(configuration.get("subProcessId")?.as_u64()?).ok()?;
        let connect = configuration.get("connect")?;
        let port = u16::try_from(connect.get("port")?.as_u64()?).ok()?;
        let host = connect
            .get("host")
            .and_then(Value::as_str)
            .unwrap_or("127.0.0.1");
        Some(Report {
            pid,
            host: host.to_owned(),
            port,
            configuration: configuration.clone(),
        })
    }

    fn adopt(&self, report: &Report, settings: &SessionSettings) -> Value {
        let mut arguments = report.configuration.clone();
        if let Value::Object(fields) = &mut arguments {
            // The output of a launched tree comes through the terminal or pipe that each process
            // inherited; the redirect would double it, and slow a flooding child more than twenty times.
            let redirect = settings.redirect_output;
            fields.insert("redirectOutput".to_owned(), Value::Bool(redirect));
            attach::add_path_maps(fields, settings);
            fields.insert("justMyCode".to_owned(), Value::Bool(settings.just_my_code));
            fields.insert("request".to_owned(), json!("attach"));
        }
        arguments
    }

    fn identify(&self, command: &[String]) -> Identity {
        identify(command)
    }

    fn name_expression(&self) -> Option<&'static str> {
        Some(NAME)
    }

    fn settling_in(&self, streams: &[(String, String)]) -> Option<String> {
        if streams.is_empty() {
            return Some(LEAVE_AT_ONCE.to_owned());
        }
        let pairs: Vec<String> = streams
            .iter()
            .map(|(inherited, path)| format!("{}: {}", python_text(inherited), python_text(path)))
            .collect();
        Some(format!(
            "({TAKE_STREAMS}(__import__('os'), {{{}}}), {LEAVE_AT_ONCE})",
            pairs.join(", ")
        ))
    }

    fn name_in(&self, value: &str) -> Option<String> {
        let name = value.trim().trim_matches(['\'', '"']);
        (!name.is_empty() && name != "MainProcess" && name != "None").then(|| name.to_owned())
    }

    fn conditions(
        &self,
        id: BreakpointId,
        spec: &BreakpointSpec,
        name: Option<&str>,
    ) -> Option<Conditions> {
        breakpoints::conditions(id, spec, name)
    }

    fn function_name_for<'a>(&self, name: &'a str) -> Result<&'a str, String> {
        let bare = name.rsplit('.').next().unwrap_or(name);
        if bare == name {
            return Ok(name);
        }
        Err(format!(
            "debugpy knows functions by their bare names: write `{bare}`, which stops in every \
             function called so"
        ))
    }

    fn loaded_expression(&self, files: &[String]) -> Option<String> {
        Some(breakpoints::loaded_expression(files))
    }

    fn loaded_in(&self, value: &str) -> Option<Vec<Found>> {
        breakpoints::loaded_in(value)
    }

    fn suggested_filters(&self, command: &[String]) -> Vec<String> {
        // A failing test is raised in the user's code and caught by pytest: only this one stops.
        if exceptions::runs_pytest(command, &identify(command).name) {
            vec!["userUnhandled".to_owned()]
        } else {
            Vec::new()
        }
    }

    fn exception_chain(&self, stack_trace: &str) -> Vec<Cause> {
        exceptions::chain(stack_trace)
    }

    fn function_name<'a>(&self, name: &'a str) -> &'a str {
        name.strip_suffix(" (Current frame)").unwrap_or(name)
    }

    fn exception_type(&self, exception_id: &str) -> String {
        let bare = exception_id
            .split("(note:")
            .next()
            .unwrap_or_default()
            .trim();
        bare.rsplit('.').next().unwrap_or(bare).to_owned()
    }

    fn is_one_at_a_time(&self, command: &str, arguments: &Value) -> bool {
        // pydevd's stopped thread is woken once for all that is queued, takes one and sleeps for
        // 200 ms. Evaluations without a frame are another thread's.
        match command {
            "variables" | "setVariable" | "setExpression" | "exceptionInfo" | "next" | "stepIn"
            | "stepOut" => true,
            "evaluate" | "completions" => arguments.get("frameId").is_some(),
            _ => false,
        }
    }

    fn is_exit(&self, exception_id: &str) -> bool {
        self.exception_type(exception_id) == "SystemExit"
    }

    fn ends_a_test(&self, stack_trace: &str) -> bool {
        exceptions::ends_a_test(stack_trace)
    }

    fn expected_expression(&self) -> Option<String> {
        Some(run_in(exceptions::EXPECTED, "{}"))
    }

    fn is_expected(&self, value: &str) -> bool {
        value == "True"
    }

    fn is_still_held(&self, refusal: &str) -> bool {
        // Either the adapter has not noticed that the earlier image's connection is gone, or it
        // noticed while it was about to use it.
        refusal.contains("already being debugged") || refusal.contains("disconnected unexpectedly")
    }

    fn will_report(&self, command: &[String]) -> bool {
        // A child that was forked has the command line of its parent.
        command
            .iter()
            .any(|word| is_pydevd(word) || is_launcher(word))
            || inline_pydevd(command).is_some()
    }
}

fn is_pydevd(word: &str) -> bool {
    word.ends_with("/pydevd.py")
}

fn is_launcher(word: &str) -> bool {
    word.ends_with("debugpy_launcher.py")
}

/// Where in the command line the `-c` code stands that pydevd was put in front of, and where in
/// that code the user's own begins.
fn inline_pydevd(command: &[String]) -> Option<(usize, usize)> {
    let at = command.iter().position(|word| word == "-c")? + 1;
    let code = command.get(at)?;
    if !code.contains("pydevd.settrace(") {
        return None;
    }
    let end = code.find("}); ")? + "}); ".len();
    Some((at, end))
}

/// The command line as the program's author wrote it.
fn without_debugger(command: &[String]) -> Vec<String> {
    if let Some((at, start)) = inline_pydevd(command) {
        let mut words = command.to_vec();
        if let Some(code) = words.get_mut(at) {
            *code = code.get(start..).unwrap_or_default().to_owned();
        }
        return words;
    }
    let Some(pydevd) = command.iter().position(|word| is_pydevd(word)) else {
        return without_debugpy(command);
    };
    let Some(file) = command
        .iter()
        .skip(pydevd)
        .position(|word| word == "--file")
    else {
        return command.to_vec();
    };
    let file = pydevd + file;
    let module = command
        .iter()
        .take(file)
        .skip(pydevd)
        .any(|word| word == "--module");
    let mut words: Vec<String> = command.iter().take(pydevd).cloned().collect();
    if module {
        words.push("-m".to_owned());
    }
    words.extend(command.iter().skip(file + 1).cloned());
    words
}

/// A root: `python …/debugpy --connect host:port [--wait-for-client] … target args`, or the same
/// after `…/debugpy_launcher.py FOLDER` or `-m debugpy`.
fn without_debugpy(command: &[String]) -> Vec<String> {
    let is_debugpy = |word: &String| word.ends_with("/debugpy");
    let is_module = |at: usize| {
        let next = command.get(at + 1).map(String::as_str);
        command.get(at).is_some_and(|word| word == "-m") && next == Some("debugpy")
    };
    let Some(at) = command
        .iter()
        .enumerate()
        .position(|(at, word)| is_debugpy(word) || is_launcher(word) || is_module(at))
    else {
        return command.to_vec();
    };
    let own = if command.get(at).is_some_and(is_debugpy) {
        1
    } else {
        2
    };
    let mut words: Vec<String> = command.iter().take(at).cloned().collect();
    let mut rest = command.iter().skip(at + own).peekable();
    while let Some(word) = rest.peek() {
        match word.as_str() {
            "--connect" | "--adapter-access-token" | "--listen" | "--log-to" => {
                rest.next();
                rest.next();
            }
            "--wait-for-client" | "--log-to-stderr" => {
                rest.next();
            }
            _ if word.starts_with("--configure-") => {
                rest.next();
                rest.next();
            }
            _ => break,
        }
    }
    words.extend(rest.cloned());
    words
}

fn identify(command: &[String]) -> Identity {
    let command = without_debugger(command);
    let mut words = command.iter().skip(1).peekable();
    let (mut name, mut program, mut code) = (None, None, None);
    while let Some(word) = words.next() {
        if word == "-" || !word.starts_with('-') {
            name = Some(base_name(word));
            program = Some(word.clone());
            break;
        }
        match word.as_str() {
            "-m" => {
                name = words.peek().map(|module| format!("-m {module}"));
                break;
            }
            "-c" => {
                code = words.next().cloned();
                name = Some("-c".to_owned());
                break;
            }
            "-X" | "-W" | "--check-hash-based-pycs" => {
                words.next();
            }
            _ => {}
        }
    }
    let (role, machinery) = role_of(code.as_deref(), name.as_deref());
    let name = machinery
        .map(str::to_owned)
        .or(name)
        .or_else(|| command.first().map(|word| base_name(word)))
        .unwrap_or_else(|| "python".to_owned());
    Identity {
        name,
        program,
        command,
        role,
    }
}

/// Whether code given to `-c`, or a module, is the machinery of multiprocessing or loky.
fn role_of(code: Option<&str>, name: Option<&str>) -> (Role, Option<&'static str>) {
    let code = code.unwrap_or_default();
    let name = name.unwrap_or_default();
    let imports = |module: &str| code.contains(module) || name == format!("-m {module}");
    if imports("multiprocessing.forkserver") {
        (Role::Forker, Some("forkserver"))
    } else if imports("multiprocessing.resource_tracker")
        || imports("multiprocessing.semaphore_tracker")
        || imports("loky.backend.resource_tracker")
    {
        (Role::Tracker, Some("resource_tracker"))
    } else {
        (Role::Program, None)
    }
}

fn base_name(word: &str) -> String {
    let trimmed = word.trim_end_matches('/');
    trimmed.rsplit('/').next().unwrap_or(trimmed).to_owned()
}

#[cfg(test)]
mod tests;
