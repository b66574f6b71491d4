//! Tables of command lines: what is ours, what is the program's, what is refused.

use super::*;
use std::os::unix::ffi::OsStringExt as _;

fn words(line: &[&str]) -> Vec<OsString> {
    std::iter::once("daptree")
        .chain(line.iter().copied())
        .map(OsString::from)
        .collect()
}

fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("main.py"), "a = 1\nb = 2\n").unwrap();
    std::fs::write(dir.path().join("a:b if c.py"), "a = 1\n").unwrap();
    std::fs::create_dir(dir.path().join("pkg")).unwrap();
    dir
}

fn run(line: &[&str]) -> RunRequest {
    match parse(words(line), folder().path()) {
        Ok(Invocation::Run(run)) => run,
        other => panic!("{line:?} gave {other:?}"),
    }
}

fn refused(line: &[&str]) -> String {
    let refused = parse(words(line), folder().path()).expect_err("refused");
    assert_eq!(refused.status, USAGE_STATUS, "{line:?}");
    assert!(!refused.for_stdout());
    refused.message
}

#[test]
fn the_program_is_found_and_its_words_stay_as_they_are() {
    let table: &[(&[&str], &[&str])] = &[
        (&["--", "pytest", "-n", "2"], &["pytest", "-n", "2"]),
        (&["pytest", "-n", "2"], &["pytest", "-n", "2"]),
        (&["run", "pytest", "-n", "2"], &["pytest", "-n", "2"]),
        (&["run", "--", "pytest"], &["pytest"]),
        (
            &["python", "main.py", "-b", "x"],
            &["python", "main.py", "-b", "x"],
        ),
        (
            &["python", "m.py", "--python", "--cwd"],
            &["python", "m.py", "--python", "--cwd"],
        ),
        (
            &["python", "m.py", "--", "x"],
            &["python", "m.py", "--", "x"],
        ),
        (
            &["python", "--", "m.py", "--help"],
            &["python", "--", "m.py", "--help"],
        ),
        (
            &["--", "python", "--", "m.py", "--", "-V"],
            &["python", "--", "m.py", "--", "-V"],
        ),
        (
            &["-b", "main.py:1", "--", "python", "-c", ""],
            &["python", "-c", ""],
        ),
        (&["--", "--", "x"], &["--", "x"]),
        (&["--", "demo"], &["demo"]),
        (&["--", "-weird", "--env"], &["-weird", "--env"]),
        (&["python", "trace"], &["python", "trace"]),
        (&["m.py", "--", "--", "--"], &["m.py", "--", "--", "--"]),
    ];
    for (line, program) in table {
        let program: Vec<OsString> = program.iter().map(OsString::from).collect();
        assert_eq!(run(line).program, program, "{line:?}");
    }
}

#[test]
fn words_that_are_not_utf8_pass() {
    let odd = OsString::from_vec(vec![b'a', 0xff, b'=', 0xfe]);
    for prefix in [vec![], vec!["run"], vec!["--"], vec!["trace", "--"]] {
        let mut line = words(&prefix);
        line.extend(["m.py".into(), odd.clone()]);
        let program = match parse(line, Path::new("/")).unwrap() {
            Invocation::Run(run) => run.program,
            Invocation::Trace(trace) => trace.program,
            other => panic!("{other:?}"),
        };
        assert_eq!(program, [OsString::from("m.py"), odd.clone()]);
    }
    let mut line = words(&["--env"]);
    line.extend([odd, "m.py".into()]);
    let Ok(Invocation::Run(run)) = parse(line, Path::new("/")) else {
        panic!()
    };
    let name = OsString::from_vec(vec![b'a', 0xff]);
    assert_eq!(run.env, [(name, OsString::from_vec(vec![0xfe]))]);
}

#[test]
fn options_are_read() {
    let line = [
        "--exceptions",
        "raised, uncaught",
        "--just-my-code",
        "false",
        "--stop-on-entry",
        "--stop-the-world",
        "--max-children",
        "0",
        "--python",
        "py",
        "--cwd",
        "sub",
        "--env",
        "A=1=2",
        "--env",
        "B=",
        "--no-pty",
        "-bmain.py:2",
        "-b",
        "main.py:1 if a if b else c",
        "m.py",
    ];
    let run = run(&line);
    assert_eq!(
        run.exceptions,
        Some(vec!["raised".to_owned(), "uncaught".to_owned()])
    );
    assert_eq!(
        (run.just_my_code, run.stop_on_entry, run.no_pty),
        (Some(false), true, true)
    );
    assert!(run.stop_the_world);
    assert_eq!((run.max_children, run.python), (Some(0), Some("py".into())));
    assert_eq!(run.cwd, Some("sub".into()));
    let env: Vec<(OsString, OsString)> = vec![("A".into(), "1=2".into()), ("B".into(), "".into())];
    assert_eq!(run.env, env);
    assert_eq!(run.breakpoints[0].line, 2);
    assert_eq!(
        run.breakpoints[1].condition.as_deref(),
        Some("a if b else c")
    );
    assert!(run.breakpoints[0].path.is_absolute());
}

#[test]
fn trace_is_read() {
    let line = [
        "trace",
        "-b",
        "main.py:1",
        "--eval",
        "-n",
        "--eval",
        "m",
        "--exceptions",
        "raised",
        "--timeout",
        "1.5",
        "--hold",
        "2",
        "--just-my-code",
        "false",
        "--json",
        "--",
        "python",
        "m.py",
        "--json",
    ];
    let Ok(Invocation::Trace(trace)) = parse(words(&line), folder().path()) else {
        panic!()
    };
    assert_eq!(trace.evals, ["-n", "m"]);
    assert_eq!(trace.timeout, Some(Duration::from_millis(1500)));
    assert_eq!((trace.hold, trace.json), (Duration::from_secs(2), true));
    assert!(!trace.just_my_code);
    assert_eq!(trace.program, ["python", "m.py", "--json"]);
    let Ok(Invocation::Trace(plain)) = parse(words(&["trace", "--", "m.py"]), Path::new("/"))
    else {
        panic!()
    };
    assert_eq!(
        (plain.timeout, plain.hold, plain.just_my_code),
        (None, Duration::ZERO, true)
    );
}

#[test]
fn mistakes_name_their_word() {
    let table: &[(&[&str], &str)] = &[
        (&["--bogus", "m.py"], "--bogus"),
        (&["-z", "m.py"], "-z"),
        (&["run", "--"], "PROGRAM"),
        (&["run"], "PROGRAM"),
        (&["-b", "main.py:1"], "PROGRAM"),
        (&["trace", "python", "m.py"], "python"),
        (&["trace"], "PROGRAM"),
        (&["trace", "--pending", "--", "m.py"], "--pending"),
        (&["trace", "--timeout", "soon", "--", "m.py"], "soon"),
        (&["trace", "--timeout", "-1", "--", "m.py"], "-1"),
        (&["trace", "--timeout", "NaN", "--", "m.py"], "NaN"),
        (&["--just-my-code", "perhaps", "m.py"], "perhaps"),
        (&["--max-children", "-1", "m.py"], "-1"),
        (&["--max-children", "many", "m.py"], "many"),
        (&["--env", "PATH", "m.py"], "PATH"),
        (&["--env", "=x", "m.py"], "=x"),
        (&["demo", "extra"], "extra"),
        (&["-b", "main.py", "m.py"], "main.py"),
        (&["-b", "main.py:0", "m.py"], "main.py:0"),
        (&["-b", "main.py:-3", "m.py"], "main.py:-3"),
        (&["-b", "main.py:two", "m.py"], "two"),
        (&["-b", "main.py:99999999999", "m.py"], "99999999999"),
        (&["-b", "main.py:", "m.py"], "main.py:"),
        (&["-b", ":3", "m.py"], ":3"),
        (&["-b", "main.py:1 if ", "m.py"], "if"),
        (&["-b", "main.py:1 if", "m.py"], "if"),
        (&["-b", "gone.py:1", "m.py"], "--pending"),
        (&["-b", "gone.py:1", "m.py"], "gone.py"),
        (&["-b", "pkg:1", "m.py"], "pkg is not a file"),
        (&["trace", "-b", "main.py", "--", "python"], "main.py:LINE"),
    ];
    for (line, word) in table {
        let message = refused(line);
        assert!(
            message.contains(word),
            "{line:?}: {message:?} names no {word:?}"
        );
    }
}

#[test]
fn nothing_typed_shows_help_as_a_mistake_and_help_is_none() {
    let nothing = parse(words(&[]), Path::new("/")).unwrap_err();
    assert_eq!(nothing.status, USAGE_STATUS);
    assert!(nothing.message.contains("Usage"), "{}", nothing.message);
    for line in [["--help"], ["-V"], ["help"]] {
        let help = parse(words(&line), Path::new("/")).unwrap_err();
        assert!(
            help.for_stdout() && help.message.contains("daptree"),
            "{line:?} {help:?}"
        );
    }
}

#[test]
fn locations_divide_at_the_last_colon() {
    let dir = folder();
    let real = dir.path().canonicalize().unwrap();
    let spec = |text: &str| BreakpointSpec::parse(OsStr::new(text), dir.path(), true).unwrap();
    let table = [
        ("main.py:2", "main.py", 2, None),
        ("./main.py:2", "main.py", 2, None),
        ("main.py:77", "main.py", 77, None),
        ("a:b if c.py:1", "a:b if c.py", 1, None),
        (
            "a:b if c.py:1 if x[1:2] if y",
            "a:b if c.py",
            1,
            Some("x[1:2] if y"),
        ),
        (
            "main.py:1 if s == 'x:9 if '",
            "main.py",
            1,
            Some("s == 'x:9 if '"),
        ),
        ("gone.py:4", "gone.py", 4, None),
    ];
    for (text, file, line, condition) in table {
        let expected = BreakpointSpec {
            path: real.join(file),
            line,
            condition: condition.map(str::to_owned),
        };
        assert_eq!(spec(text), expected, "{text}");
    }
    let whole = format!("{}:1", dir.path().join("main.py").display());
    assert_eq!(spec(&whole).path, dir.path().join("main.py"));
}

#[test]
fn a_relative_file_belongs_to_the_real_folder() {
    let dir = folder();
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(dir.path(), &link).unwrap();
    let spec = BreakpointSpec::parse(OsStr::new("main.py:1"), &link, false).unwrap();
    assert_eq!(
        spec.path,
        dir.path().canonicalize().unwrap().join("main.py")
    );
}
