//! What can be typed as the program.

use crate::scene;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

#[test]
fn arguments_arrive_byte_for_byte() {
    let scene = scene(&["words.py"]);
    let words: Vec<OsString> = [
        &b"python"[..],
        b"words.py",
        b"--",
        b"-b",
        b"two words",
        b"",
        b"caf\xe9",
        b"*",
        b"a\nb",
    ]
    .iter()
    .map(|word| OsStr::from_bytes(word).to_owned())
    .collect();
    let run = scene.trace().stop("words.py", "# stop here").run(&words);
    assert_eq!(run.code, 0);
    assert_eq!(run.stops().len(), 1);
    let wanted = r"words [b'--', b'-b', b'two words', b'', b'caf\xe9', b'*', b'a\nb']";
    assert_eq!(run.output("stdout").trim_end(), wanted);
}

#[test]
fn each_way_to_name_a_python_program() {
    let scene = scene(&["tool", "leaf.py"]);
    let cases: [(&[&str], i32, &str); 6] = [
        (
            &["python", "-c", "import sys; print('code', sys.argv)", "x"],
            0,
            "code ['-c', 'x']\n",
        ),
        (&["python", "-m", "leaf", "5"], 5, "leaf 5\n"),
        (
            &["python", "-X", "utf8", "-W", "ignore", "leaf.py", "2"],
            2,
            "leaf 2\n",
        ),
        (&["leaf.py", "3"], 3, "leaf 3\n"),
        (&["./tool", "a", "b"], 0, "tool ['a', 'b']\n"),
        (&["pytest", "--version"], 0, "pytest 9.2.0\n"),
    ];
    for (words, code, out) in cases {
        let run = scene.trace().run(words);
        assert_eq!(run.code, code, "{words:?}");
        assert_eq!(run.output("stdout"), out, "{words:?}");
        assert_eq!(run.names("adopted").len(), 1, "{words:?}");
        run.assert_no_warning();
    }
}

#[test]
fn a_script_without_py_stops_at_its_lines() {
    let scene = scene(&["tool"]);
    let run = scene.trace().stop("tool", "# stop here").run(&["./tool"]);
    assert_eq!(run.code, 0);
    assert_eq!(run.places(), [scene.place("tool", "# stop here")]);
    assert_eq!(run.row("tool")["language"], "python");
}

#[test]
fn a_module_stops_at_its_lines() {
    let scene = scene(&["leaf.py"]);
    let run = scene
        .trace()
        .stop("leaf.py", "# stop here")
        .run(&["python", "-m", "leaf", "0"]);
    assert_eq!(run.places(), [scene.place("leaf.py", "# stop here")]);
    assert_eq!(run.row("-m leaf")["language"], "python");
}

#[test]
fn a_syntax_error_is_the_programs_own() {
    let scene = scene(&["broken.py"]);
    let run = scene.trace().run(&["python", "broken.py"]);
    assert_eq!(run.code, 1);
    let plain = std::process::Command::new(&scene.python)
        .arg("broken.py")
        .current_dir(scene.work())
        .output()
        .unwrap();
    assert_eq!(
        run.output("stderr"),
        String::from_utf8(plain.stderr).unwrap()
    );
    assert_eq!(run.output("stdout"), "");
}

#[test]
fn the_program_finds_itself_as_without_a_debugger() {
    let scene = scene(&[]);
    scene.write(
        "self.py",
        "import os, sys, threading\n\
         print(sys.argv, __name__, __file__, sys.path[0], sys.orig_argv[1:], threading.active_count())\n\
         print(sorted(name for name in os.environ if 'PYDEV' in name or 'DEBUGPY' in name))\n\
         print(sorted(int(fd) for fd in os.listdir('/proc/self/fd'))[:3], os.getcwd())\n",
    );
    let run = scene.trace().run(&["python", "self.py", "word"]);
    let plain = std::process::Command::new(&scene.python)
        .args(["self.py", "word"])
        .current_dir(scene.work())
        .env_clear()
        .envs(scene.env.iter().cloned())
        .output()
        .unwrap();
    let plain = String::from_utf8(plain.stdout).unwrap();
    let out = run.output("stdout");
    let (said, wanted): (Vec<_>, Vec<_>) = (out.lines().collect(), plain.lines().collect());
    // Its arguments, name and place on the path; the debugger's own threads are not hidden.
    let until = |line: &str| line.rsplit_once(" [").unwrap().0.to_owned();
    assert_eq!(until(said[0]), until(wanted[0]));
    assert_eq!(said[2], wanted[2]);
}
