//! What the program reads and writes is its own.

use crate::scene;

#[test]
fn what_a_child_writes_into_a_pipe_is_unchanged_and_output_comes_once() {
    let scene = scene(&["captured.py"]);
    let run = scene
        .trace()
        .stop("captured.py", "# stop here")
        .run(&["python", "captured.py"]);
    assert_eq!(run.code, 0);
    assert_eq!(run.stops().len(), 1);
    assert_eq!(
        run.output("stdout"),
        "captured b'to stdout\\n' b'to stderr\\n'\n"
    );
    assert_eq!(run.output("stderr"), "root to stderr\n");
}

#[test]
fn standard_input_is_empty_unless_it_is_given() {
    let scene = scene(&["stdin.py"]);
    let run = scene.trace().run(&["python", "stdin.py"]);
    assert_eq!(run.output("stdout"), "read ''\n");
    let run = scene
        .trace()
        .stdin("größer\nzwei\n".as_bytes())
        .run(&["python", "stdin.py"]);
    assert_eq!(run.output("stdout"), "read 'größer\\nzwei\\n'\n");
    assert_eq!(run.code, 0);
}

#[test]
fn text_that_is_not_utf8_gets_replacement_characters() {
    let scene = scene(&[]);
    scene.write(
        "raw.py",
        "import os\nos.write(1, b'a\\xff\\xe2\\x82')\nos.write(1, b'\\xac\\n')\n",
    );
    let run = scene.trace().run(&["python", "raw.py"]);
    assert_eq!(run.output("stdout"), "a\u{fffd}€\n");
}

#[test]
fn much_output_is_complete_or_counted() {
    let scene = scene(&[]);
    scene.write(
        "flood.py",
        "for number in range(20000):\n    print('line', number)\n",
    );
    let run = scene.trace().run(&["python", "flood.py"]);
    assert_eq!(run.code, 0);
    let out = run.output("stdout");
    let cut = run
        .lines("warning")
        .any(|warning| warning["code"] == "outputCut");
    assert!(
        cut || out.lines().count() == 20_000,
        "{} lines",
        out.lines().count()
    );
    assert!(out.ends_with("line 19999\n"));
}

#[test]
fn for_people_the_same_is_said_in_words() {
    let scene = scene(&["fork.py"]);
    let out = std::process::Command::new(&scene.binary)
        .args([
            "trace",
            "-b",
            &scene.at("fork.py", "# stop here"),
            "--eval",
            "number",
            "--",
        ])
        .args(["python", "fork.py"])
        .current_dir(scene.work())
        .env_clear()
        .envs(scene.env.iter().cloned())
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(out.status.success(), "{text}");
    for part in [
        "s1  fork.py pid ",
        "under s1, adopted",
        "stop 1 breakpoint at ",
        "number = 14",
        "ended: exit 3",
        "exit 0: 2 processes, 1 stops",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
}
