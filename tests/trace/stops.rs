//! Breakpoints and how long a stop stands.

use crate::scene;
use std::time::{Duration, Instant};

#[test]
fn a_condition_decides() {
    let scene = scene(&["counting.py"]);
    let place = format!(
        "{} if number % 2 == 1",
        scene.at("counting.py", "# stop here")
    );
    let trace = scene
        .trace()
        .option("-b")
        .option(place)
        .eval("number")
        .eval("number +")
        .eval("nobody");
    let run = trace.run(&["python", "counting.py"]);
    assert_eq!(run.code, 0);
    assert_eq!(run.values("number"), ["1", "3"]);
    for failed in [run.values("number +"), run.values("nobody")] {
        assert!(
            failed.iter().all(|value| value.starts_with("error: ")),
            "{failed:?}"
        );
    }
    let lines = run.output("stdout");
    assert_eq!(lines, "number 0\nnumber 1\nnumber 2\nnumber 3\nnumber 4\n");
}

#[test]
fn a_line_beyond_the_end_is_shown_where_it_moved_to() {
    let scene = scene(&["counting.py"]);
    let run = scene
        .trace()
        .option("-b")
        .option("counting.py:99")
        .run(&["python", "counting.py"]);
    assert_eq!(run.code, 0);
    let answers: Vec<_> = run.lines("breakpoint").collect();
    assert_eq!(answers.len(), 1);
    let last = scene.line("counting.py", "# stop here");
    assert_eq!(answers[0]["line"], last, "{}", answers[0]);
    assert_eq!(
        run.places().first(),
        Some(&scene.place("counting.py", "# stop here"))
    );
}

#[test]
fn a_breakpoint_in_another_file_does_not_disturb() {
    let scene = scene(&["counting.py", "leaf.py"]);
    let run = scene
        .trace()
        .stop("leaf.py", "# stop here")
        .run(&["python", "counting.py"]);
    assert_eq!(run.code, 0);
    assert_eq!(run.stops().len(), 0);
    run.assert_no_warning();
}

#[test]
fn each_session_is_held_on_its_own() {
    let hold = Duration::from_secs(3);
    let scene = scene(&["pair.py", "leaf.py"]);
    let trace = scene
        .trace()
        .option("--hold")
        .option("3")
        .stop("leaf.py", "# stop here");
    let begun = Instant::now();
    let run = trace.run(&["python", "pair.py"]);
    assert_eq!(run.code, 0);
    let times = run.stop_times();
    assert_eq!(times.len(), 2);
    assert!(times[1] - times[0] < hold, "the stops did not overlap");
    assert!(begun.elapsed() >= hold);
    assert_eq!(
        run.output_lines("stdout"),
        ["ended with [1, 2]", "leaf 1", "leaf 2"]
    );
    let codes: Vec<_> = run
        .lines("end")
        .filter_map(|end| end["exitCode"].as_i64())
        .collect();
    assert_eq!(codes.iter().sum::<i64>(), 3, "{codes:?}");
}

#[test]
fn a_session_that_dies_while_it_is_held_is_reported_at_once() {
    let scene = scene(&["pair.py", "leaf.py"]);
    let trace = scene
        .trace()
        .option("--hold")
        .option("600")
        .stop("leaf.py", "# stop here");
    let mut trace = trace.start(&["python", "pair.py"]);
    trace.until_stops(2);
    for pid in trace.stopped() {
        daptree_testing::process::send(pid, rustix::process::Signal::KILL);
    }
    let run = trace.finish();
    assert_eq!(run.code, 0);
    let killed = run
        .lines("end")
        .filter(|end| end["signal"] == "SIGKILL")
        .count();
    assert_eq!(killed, 2);
    assert_eq!(run.output_lines("stdout"), ["ended with [-9, -9]"]);
}

#[test]
fn library_code_is_reached_when_it_is_asked_for() {
    let scene = scene(&["words.py"]);
    // A breakpoint in the standard library, once with and once without it being let in.
    scene.write(
        "uses.py",
        "import textwrap\nprint(textwrap.dedent('  x'))\n",
    );
    let library = std::process::Command::new(&scene.python)
        .args([
            "-c",
            "import textwrap, inspect; print(textwrap.__file__); \
                print(inspect.getsourcelines(textwrap.dedent)[1])",
        ])
        .output()
        .unwrap();
    let library = String::from_utf8(library.stdout).unwrap();
    let (file, first) = library.trim().split_once('\n').unwrap();
    let text = std::fs::read_to_string(file).unwrap();
    let from = first.parse::<usize>().unwrap();
    // The last return of the function is reached by every call.
    let offset = text
        .lines()
        .skip(from)
        .position(|line| line.trim_start().starts_with("return"))
        .unwrap();
    let place = format!("{file}:{}", from + offset + 1);
    for (mine, stops) in [("true", 0), ("false", 1)] {
        let trace = scene
            .trace()
            .option("--just-my-code")
            .option(mine)
            .option("-b")
            .option(&place);
        let run = trace.run(&["python", "uses.py"]);
        assert_eq!(run.code, 0);
        assert_eq!(run.stops().len(), stops, "--just-my-code {mine}");
        let reachable = run
            .lines("breakpoint")
            .all(|answer| answer["verified"] == true);
        assert_eq!(reachable, mine == "false", "--just-my-code {mine}");
    }
}
