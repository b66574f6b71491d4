//! Command lines and messages as debugpy 1.8.22 was seen to make them.

use super::*;
use crate::dap::message::Request;

fn words(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

fn name_of(command: &[String]) -> String {
    Debugpy.identify(command).name
}

#[test]
fn a_script_child_is_called_by_its_script() {
    let command = words(
        "/v/python -u /v/debugpy/_vendored/pydevd/pydevd.py --port 4 --ppid 3 --client 127.0.0.1 \
         --debug-mode debugpy-dap --multiprocess --file /app/child.py one two",
    );
    let identity = Debugpy.identify(&command);
    assert_eq!(identity.name, "child.py");
    assert_eq!(identity.program.as_deref(), Some("/app/child.py"));
    assert_eq!(
        identity.command,
        words("/v/python -u /app/child.py one two")
    );
    assert_eq!(identity.role, Role::Program);
    assert!(Debugpy.will_report(&command));
}

#[test]
fn a_module_child_is_called_by_its_module() {
    let command = words("/v/python /v/pydevd/pydevd.py --port 4 --module --file helper 4");
    let identity = Debugpy.identify(&command);
    assert_eq!(identity.name, "-m helper");
    assert_eq!(identity.program, None);
    assert_eq!(identity.command, words("/v/python -m helper 4"));
}

#[test]
fn inline_code_is_freed_of_pydevd() {
    let code = "import sys; import pydevd; pydevd.settrace(host='h', **{'ppid': 1}); \
                from multiprocessing.spawn import spawn_main; spawn_main()";
    let command = vec!["python".to_owned(), "-c".to_owned(), code.to_owned()];
    let identity = Debugpy.identify(&command);
    assert_eq!(
        identity.command.get(2).map(String::as_str),
        Some("from multiprocessing.spawn import spawn_main; spawn_main()")
    );
    assert_eq!(identity.name, "-c");
    assert_eq!(identity.role, Role::Program);
}

#[test]
fn machinery_is_told_from_programs() {
    let code = |text: &str| vec!["python".to_owned(), "-c".to_owned(), text.to_owned()];
    let table = [
        (
            "from multiprocessing.resource_tracker import main;main(6)",
            Role::Tracker,
        ),
        (
            "from multiprocessing.forkserver import main; main(1, 2)",
            Role::Forker,
        ),
        (
            "from joblib.externals.loky.backend.resource_tracker import main; main(1)",
            Role::Tracker,
        ),
        (
            "from multiprocessing.spawn import spawn_main; spawn_main()",
            Role::Program,
        ),
        ("import sys;exec(eval(sys.stdin.readline()))", Role::Program),
    ];
    for (text, role) in table {
        assert_eq!(Debugpy.identify(&code(text)).role, role, "{text}");
    }
    let tracker = "from multiprocessing.resource_tracker import main;main(6)";
    assert_eq!(name_of(&code(tracker)), "resource_tracker");
}

#[test]
fn a_root_is_what_the_user_typed() {
    let command = words(
        "/v/python -X utf8 /d/debugpy --connect 127.0.0.1:5 --wait-for-client \
         --configure-subProcess true -m pytest -n 2",
    );
    let identity = Debugpy.identify(&command);
    assert_eq!(identity.command, words("/v/python -X utf8 -m pytest -n 2"));
    assert_eq!(identity.name, "-m pytest");
}

#[test]
fn a_root_that_the_launcher_runs_is_what_the_user_typed() {
    let command = words(
        "/v/python -u /d/shims/ab12-debugpy_launcher.py /d/site --connect 127.0.0.1:5 \
         --wait-for-client --configure-subProcess true main.py 3",
    );
    let identity = Debugpy.identify(&command);
    assert_eq!(identity.command, words("/v/python -u main.py 3"));
    assert_eq!(identity.program.as_deref(), Some("main.py"));
}

#[test]
fn a_program_that_listens_by_the_module_is_what_the_user_typed() {
    let command = words("/v/python -m debugpy --listen 5678 --wait-for-client main.py 3");
    let identity = Debugpy.identify(&command);
    assert_eq!(identity.command, words("/v/python main.py 3"));
    assert_eq!(identity.name, "main.py");
    let other = words("/v/python -m debugpyx --listen 5678");
    assert_eq!(Debugpy.identify(&other).command, other);
}

#[test]
fn odd_command_lines_have_a_name() {
    assert_eq!(name_of(&[]), "python");
    assert_eq!(name_of(&words("/usr/bin/python3")), "python3");
    assert_eq!(name_of(&words("python -X")), "python");
    assert_eq!(name_of(&words("python app/")), "app");
    assert_eq!(name_of(&words("python /v/pydevd.py --port 1")), "pydevd.py");
}

#[test]
fn both_report_forms_are_read() {
    let configuration = json!({
        "type": "python", "subProcessId": 7, "connect": { "host": "127.0.0.1", "port": 48341 },
    });
    let request = Request::new(
        3,
        "startDebugging",
        Some(json!({ "request": "attach", "configuration": configuration })),
    );
    let event = Event::new(4, "debugpyAttach", Some(configuration.clone()));
    for message in [Message::Request(request), Message::Event(event)] {
        let report = Debugpy.report(&message).expect("a report");
        assert_eq!((report.pid, report.port), (7, 48341));
        let settings = SessionSettings::default();
        let arguments = Debugpy.adopt(&report, &settings);
        assert_eq!(arguments["redirectOutput"], json!(false));
        assert_eq!(arguments["justMyCode"], json!(false));
        assert_eq!(arguments["subProcessId"], json!(7));
    }
}

#[test]
fn reports_without_a_process_are_none() {
    for body in [
        json!({}),
        json!({ "subProcessId": -1, "connect": { "port": 1 } }),
        json!(3),
    ] {
        let event = Event::new(4, "debugpyAttach", Some(body));
        assert_eq!(Debugpy.report(&Message::Event(event)), None);
    }
}

#[test]
fn names_of_programs_are_read() {
    assert_eq!(Debugpy.name_in("'gw0'").as_deref(), Some("gw0"));
    for none in ["''", "'MainProcess'", "None", ""] {
        assert_eq!(Debugpy.name_in(none), None, "{none}");
    }
    assert_eq!(Debugpy.function_name("task (Current frame)"), "task");
    let id = "mod.MyError       (note: full exception trace is shown but execution is paused";
    assert_eq!(Debugpy.exception_type(id), "MyError");
}

#[test]
fn an_attach_that_met_the_connection_from_before_an_exec_is_tried_again() {
    for (refusal, again) in [
        ("Server[pid=200] is already being debugged.", true),
        ("Server[3] disconnected unexpectedly", true),
        ("Debug server did not connect back in time", false),
    ] {
        assert_eq!(Debugpy.is_still_held(refusal), again, "{refusal}");
    }
}
