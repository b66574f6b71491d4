//! Exceptions stop where they are asked to, and nowhere else.

use crate::scene;

#[test]
fn a_failing_test_stops_once_and_pytest_itself_never() {
    let scene = scene(&["test_raises.py"]);
    let trace = scene
        .trace()
        .option("--exceptions")
        .option("userUnhandled")
        .eval("wanted");
    let run = trace.run(&[
        "python",
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "test_raises.py",
    ]);
    assert_eq!(run.code, 1);
    assert_eq!(
        run.places(),
        [scene.place("test_raises.py", "# raises here")]
    );
    let stop = run.stops()[0];
    assert_eq!(stop["reason"], "exception");
    assert_eq!(stop["function"], "test_fails");
    assert_eq!(stop["exception"]["type"], "AssertionError");
    assert!(
        stop["exception"]["message"]
            .as_str()
            .unwrap()
            .contains("assert"),
        "{stop}"
    );
    assert_eq!(run.values("wanted"), ["4"]);
    assert!(run.output("stdout").contains("1 failed, 1 passed"));
}

#[test]
fn an_uncaught_exception_of_a_child_stops_there_and_is_printed_once() {
    let scene = scene(&["uncaught.py"]);
    let trace = scene
        .trace()
        .option("--exceptions")
        .option("uncaught")
        .eval("len(sys.argv)");
    let run = trace.run(&["python", "uncaught.py"]);
    assert_eq!(run.code, 0);
    assert_eq!(run.places(), [scene.place("uncaught.py", "# raises here")]);
    let stop = run.stops()[0];
    assert_eq!(stop["exception"]["type"], "ZeroDivisionError");
    assert_eq!(stop["exception"]["message"], "division by zero");
    assert_eq!(run.values("len(sys.argv)"), ["2"]);
    assert_eq!(run.end(&stop["session"])["exitCode"], 1);
    assert_eq!(run.output("stdout"), "child ended with 1 1\n");
}

#[test]
fn without_the_option_no_exception_stops() {
    let scene = scene(&["uncaught.py"]);
    let run = scene.trace().run(&["python", "uncaught.py"]);
    assert_eq!(run.code, 0);
    assert_eq!(run.stops().len(), 0);
    run.assert_no_warning();
}

#[test]
fn handled_exceptions_stop_when_all_are_asked_for() {
    let scene = scene(&[]);
    let program = "try:\n    {}['key']\nexcept KeyError:\n    print('handled')\n";
    scene.write("handles.py", program);
    let trace = scene
        .trace()
        .option("--exceptions")
        .option("raised,uncaught");
    let run = trace.run(&["python", "handles.py"]);
    assert_eq!(run.code, 0);
    assert_eq!(run.places(), [scene.place("handles.py", "{}['key']")]);
    assert_eq!(run.stops()[0]["exception"]["type"], "KeyError");
    assert_eq!(run.output("stdout"), "handled\n");
}
