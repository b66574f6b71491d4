//! Payloads as adapters send them, good and odd, and what goes back out.

use super::*;
use crate::dap::message::{BodyError, Event, Request, Response};
use serde_json::json;

fn event(name: &str, body: Value) -> Event {
    Event::new(1, name, Some(body))
}

fn answer(body: Value) -> Response {
    Response::ok(1, &Request::new(1, "any", None), Some(body))
}

#[test]
fn debugpy_reports_a_child_as_request_and_as_event() {
    let configuration = json!({
        "type": "python", "redirectOutput": true, "python": [""], "name": "Subprocess 10594",
        "subProcessId": 10594, "connect": {"host": "127.0.0.1", "port": 48341},
    });
    let arguments = json!({"request": "attach", "configuration": configuration});
    let request = Request::new(9, "startDebugging", Some(arguments.clone()));
    let report: StartDebuggingRequestArguments = request.arguments_as().unwrap();
    assert_eq!(report.request, "attach");
    assert_eq!(report.configuration["connect"]["port"], 48341);
    assert_eq!(serde_json::to_value(&report).unwrap(), arguments);

    let attach: DebugpyAttachEvent = event(DebugpyAttachEvent::EVENT, configuration.clone())
        .body_as()
        .unwrap();
    assert_eq!(Value::Object(attach.configuration), configuration);
}

#[test]
fn debugpy_says_where_it_listens() {
    let waiting: DebugpyWaitingForServerEvent = event(
        "debugpyWaitingForServer",
        json!({"host": "127.0.0.1", "port": 40001}),
    )
    .body_as()
    .unwrap();
    assert_eq!((waiting.host.as_str(), waiting.port), ("127.0.0.1", 40001));
    let sockets = json!({"sockets": [{"host": "127.0.0.1", "port": 1, "internal": true},
                                     {"host": "::1", "port": 2}]});
    let sockets: DebugpySocketsEvent = event("debugpySockets", sockets).body_as().unwrap();
    let internal: Vec<_> = sockets
        .sockets
        .iter()
        .map(|socket| socket.internal)
        .collect();
    assert_eq!(internal, [true, false]);
    let too_high = event(
        "debugpyWaitingForServer",
        json!({"host": "h", "port": 70000}),
    );
    assert!(too_high.body_as::<DebugpyWaitingForServerEvent>().is_err());
}

#[test]
fn a_source_goes_back_with_all_it_came_with() {
    let sent = json!({"name": "a.js", "path": "/a.js", "sourceReference": 7,
                      "adapterData": {"k": [1]}, "checksums": [{"algorithm": "MD5", "checksum": "0"}],
                      "sources": [{"path": "/b.ts", "x": 1}], "vendor": {"y": null}});
    let source: Source = serde_json::from_value(sent.clone()).unwrap();
    assert_eq!(source.source_reference, Some(7));
    assert_eq!(serde_json::to_value(&source).unwrap(), sent);
}

#[test]
fn null_lists_are_empty_and_absent_numbers_zero() {
    let stack: StackTraceResponse = answer(json!({"stackFrames": null})).body_as().unwrap();
    assert_eq!(stack, StackTraceResponse::default());
    let scopes: ScopesResponse =
        answer(json!({"scopes": [{"name": "Locals", "variablesReference": 3}]}))
            .body_as()
            .unwrap();
    assert!(!scopes.scopes[0].expensive);
    let value: EvaluateResponse = answer(json!({"result": "1", "type": null}))
        .body_as()
        .unwrap();
    assert_eq!(value.variables_reference, 0);
    let set: SetBreakpointsResponse =
        answer(json!({"breakpoints": [{"verified": true, "line": 3}, {}]}))
            .body_as()
            .unwrap();
    assert_eq!(set.breakpoints[0].line, Some(3));
    assert!(!set.breakpoints[1].verified);
}

#[test]
fn an_absent_body_is_read_as_an_empty_object() {
    let silent = Response::ok(1, &Request::new(1, "continue", None), None);
    let body: ContinueResponse = silent.result_as().unwrap();
    assert_eq!(body.all_threads_continued, None);
    silent.result_as::<NoBody>().unwrap();
    let ended: TerminatedEvent = Event::new(1, "terminated", None).body_as().unwrap();
    assert_eq!(ended.restart, None);
    let error = Event::new(1, "exited", None)
        .body_as::<ExitedEvent>()
        .unwrap_err();
    assert!(error.to_string().contains("exitCode"), "{error}");
}

#[test]
fn a_wrong_type_deep_inside_is_named_by_its_path() {
    let frames = json!({"stackFrames": [{"id": 1, "name": "f"}, {"id": 2, "name": "g",
                        "source": {"path": 5}}]});
    let error = answer(frames).body_as::<StackTraceResponse>().unwrap_err();
    let BodyError::Shape { path, name, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(name, "any");
    assert!(path.starts_with("stackFrames[1].source"), "{path}");
}

#[test]
fn requests_leave_out_what_is_not_said() {
    let request = Request::of(
        4,
        &SetBreakpointsArguments {
            source: Source::at("/w/a.py"),
            breakpoints: vec![SourceBreakpoint {
                line: 3,
                hit_condition: Some(">2".to_owned()),
                ..SourceBreakpoint::default()
            }],
            ..SetBreakpointsArguments::default()
        },
    );
    assert_eq!(request.command, "setBreakpoints");
    assert_eq!(
        request.arguments,
        Some(json!({"source": {"path": "/w/a.py"},
                    "breakpoints": [{"line": 3, "hitCondition": ">2"}]}))
    );
    let none = Request::of(5, &SetExceptionBreakpointsArguments::default());
    assert_eq!(none.arguments, Some(json!({"filters": []})));
    let threads = Request::of(6, &ThreadsArguments {});
    assert_eq!(threads.arguments, Some(json!({})));
}

#[test]
fn names_that_do_not_follow_the_rule_are_the_protocols() {
    let arguments = InitializeRequestArguments {
        client_id: Some("daptree".to_owned()),
        adapter_id: "debugpy".to_owned(),
        lines_start_at1: Some(true),
        supports_ansi_styling: Some(true),
        ..InitializeRequestArguments::default()
    };
    assert_eq!(
        serde_json::to_value(&arguments).unwrap(),
        json!({"clientID": "daptree", "adapterID": "debugpy", "linesStartAt1": true,
               "supportsANSIStyling": true})
    );
    let variable = json!({"name": "x", "value": "1", "type": "int", "variablesReference": 0});
    let read: Variable = serde_json::from_value(variable.clone()).unwrap();
    assert_eq!(read.type_name.as_deref(), Some("int"));
    assert_eq!(serde_json::to_value(&read).unwrap(), variable);
}

#[test]
fn capabilities_change_only_where_the_event_says() {
    let mut known: Capabilities = serde_json::from_value(json!({
        "supportsConfigurationDoneRequest": true, "supportsStepBack": true, "supportsVendor": 1,
        "exceptionBreakpointFilters": [{"filter": "raised", "label": "Raised", "default": false}],
    }))
    .unwrap();
    let changed: CapabilitiesEvent = event(
        CapabilitiesEvent::EVENT,
        json!({"capabilities": {"supportsStepBack": false, "supportTerminateDebuggee": true}}),
    )
    .body_as()
    .unwrap();
    known.merge(&changed.capabilities).unwrap();
    assert_eq!(known.supports_configuration_done_request, Some(true));
    assert_eq!(known.supports_step_back, Some(false));
    assert_eq!(known.support_terminate_debuggee, Some(true));
    assert_eq!(known.extra["supportsVendor"], 1);
    assert_eq!(
        known.exception_breakpoint_filters.unwrap()[0].filter,
        "raised"
    );
}

#[test]
fn variables_of_an_error_are_filled_in() {
    let text = |format: &str, variables: Value| {
        serde_json::from_value::<ErrorMessage>(json!({"id": 1, "format": format,
                                                      "variables": variables}))
        .unwrap()
        .text()
    };
    assert_eq!(
        text("no {what} at {line}", json!({"what": "code", "line": 3})),
        "no code at 3"
    );
    assert_eq!(text("{a}{b}", json!({"a": "{b}", "b": "x"})), "{b}x");
    assert_eq!(text("{unknown} {", json!({})), "{unknown} {");
    assert_eq!(text("as is {x}", Value::Null), "as is {x}");
    assert_eq!(text("{ {x}", json!({"x": "ä"})), "{ ä");
}

#[test]
fn an_environment_may_remove_variables() {
    let arguments: RunInTerminalRequestArguments =
        serde_json::from_value(json!({"cwd": "/", "args": ["a"], "env": {"A": "1", "B": null}}))
            .unwrap();
    let env = arguments.env.unwrap();
    assert_eq!(env["A"].as_deref(), Some("1"));
    assert_eq!(env["B"], None);
}
