//! What cannot be run: one clear message, the right status, nothing started.

use crate::scene;

#[test]
fn a_program_that_cannot_be_run_is_named() {
    let scene = scene(&["leaf.py"]);
    std::fs::create_dir(scene.file("folder")).unwrap();
    scene.write("plain.sh", "#!/bin/sh\necho x\n");
    scene.write("tool", "#!/usr/bin/env python3\nprint(1)\n");
    let cases: [(&[&str], &[&str]); 7] = [
        (&["missing.py"], &["missing.py", "no such"]),
        (
            &["no-such-command-anywhere"],
            &["no-such-command-anywhere", "PATH"],
        ),
        (&["python", "missing.py"], &["missing.py", "no such file"]),
        (&["./folder"], &["./folder", "folder"]),
        (&["python", "folder"], &["folder", "__main__.py"]),
        (&["./tool"], &["./tool", "not executable", "chmod +x"]),
        (&["ls"], &["ls", "cannot debug", "Python"]),
    ];
    for (words, said) in cases {
        scene.trace().run(words).assert_refused(125, said);
    }
}

#[test]
fn a_wrong_command_line_starts_nothing() {
    let scene = scene(&["leaf.py"]);
    let cases: [(&[&str], &[&str]); 10] = [
        (&["-b", "leaf.py"], &["-b leaf.py", "no line", "leaf.py:12"]),
        (&["-b", "leaf.py:0"], &["leaf.py:0", "from 1"]),
        (&["-b", "leaf.py:x"], &["leaf.py:x", "\"x\""]),
        (&["-b", ":3"], &[":3", "no file"]),
        (&["-b", "nowhere.py:3"], &["nowhere.py", "no file"]),
        (&["-b", ".:3"], &["not a file"]),
        (&["-b", "leaf.py:3 if "], &["if", "condition"]),
        (&["--colour"], &["--colour", "unexpected"]),
        (&["--timeout=-1"], &["--timeout"]),
        (
            &["--just-my-code", "perhaps"],
            &["--just-my-code", "perhaps"],
        ),
    ];
    for (options, said) in cases {
        let mut trace = scene.trace();
        for option in options {
            trace = trace.option(option);
        }
        trace
            .run(&["python", "leaf.py", "0"])
            .assert_refused(2, said);
    }
    scene
        .trace()
        .run(&[] as &[&str])
        .assert_refused(2, &["PROGRAM"]);
}

#[test]
fn the_terminal_front_end_says_that_it_needs_a_terminal() {
    let scene = scene(&["leaf.py"]);
    let out = std::process::Command::new(&scene.binary)
        .args(["--", "python", "leaf.py", "0"])
        .current_dir(scene.work())
        .env_clear()
        .envs(scene.env.iter().cloned())
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(125));
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(
        said.contains("needs a terminal") && said.contains("daptree trace"),
        "{said}"
    );
    assert_eq!(out.stdout, b"");
}

#[test]
fn a_data_folder_that_cannot_be_written_is_named() {
    let mut scene = scene(&["leaf.py"]);
    let file = scene.write("taken", "a file where a folder should be");
    scene.set("DAPTREE_DATA_DIR", file.join("data"));
    let run = scene.trace().run(&["python", "leaf.py", "0"]);
    run.assert_refused(125, &["taken", "DAPTREE_DATA_DIR"]);
}
