//! Tables of what can be typed, against small folders with the machine's real Python in them.

use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::symlink;

use super::fixtures::{executable, process_env, python};
use super::*;

mod debugged;
use std::process::Command;

struct Place {
    dir: tempfile::TempDir,
    root: PathBuf,
}

/// `bin` is all of PATH and has python, python3 and python3.9 (whatever its real version).
fn place() -> Place {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let place = Place { dir, root };
    for name in ["bin/python", "bin/python3", "bin/python3.9"] {
        place.link_python(name);
    }
    for name in ["main.py", "pkg/__main__.py", "app.pyz", "-odd.py"] {
        place.file(name, "print(1)\n");
    }
    std::fs::create_dir(place.root.join("empty")).unwrap();
    executable(
        &place.root.join("bin/tool"),
        "#!/usr/bin/env -S python3 -u\n",
    );
    place
}

impl Place {
    fn at(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    fn file(&self, name: &str, text: &str) {
        let path = self.at(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn link_python(&self, name: &str) {
        std::fs::create_dir_all(self.at(name).parent().unwrap()).unwrap();
        symlink(python(), self.at(name)).unwrap();
    }

    fn venv(&self, name: &str) -> PathBuf {
        self.file(
            &format!("{name}/pyvenv.cfg"),
            &format!("home = {}\n", self.at("bin").display()),
        );
        self.link_python(&format!("{name}/bin/python"));
        self.at(&format!("{name}/bin/python"))
    }

    fn ambient(&self) -> Ambient {
        let kept = process_env().into_iter().filter(|(name, _)| name != "PATH");
        let path = [("PATH".into(), self.at("bin").into_os_string())];
        Ambient {
            cwd: self.root.clone(),
            env: kept.chain(path).collect(),
        }
    }

    fn resolve_with(&self, words: &[&str], options: &LaunchOptions) -> Result<Launch, LaunchError> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        resolve(&words, options, &self.ambient())
    }

    fn launch(&self, words: &[&str]) -> Launch {
        self.resolve_with(words, &LaunchOptions::default())
            .unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    fn refused(&self, words: &[&str]) -> LaunchError {
        let refused = self.resolve_with(words, &LaunchOptions::default());
        refused.expect_err(&format!("{words:?}"))
    }
}

fn strings(words: &[OsString]) -> Vec<&str> {
    words.iter().map(|word| word.to_str().unwrap()).collect()
}

/// Typed, flags, target, arguments, title, program.
type PythonRow<'a> = (
    &'a [&'a str],
    &'a [&'a str],
    Target,
    &'a [&'a str],
    &'a str,
    Option<&'a str>,
);

/// Typed, interpreter, flags, target, title.
type FileRow<'a> = (&'a [&'a str], &'a str, &'a [&'a str], &'a str, &'a str);

#[test]
fn python_commands_are_taken_as_typed() {
    let place = place();
    let abs = place.at("main.py").display().to_string();
    let by_path = ["python", &abs];
    let file = |name: &str| Target::File(name.into());
    let table: Vec<PythonRow<'_>> = vec![
        (
            &["python", "main.py", "-x"],
            &[],
            file("main.py"),
            &["-x"],
            "main.py",
            Some("main.py"),
        ),
        (
            &["python3.9", "-u", "main.py"],
            &["-u"],
            file("main.py"),
            &[],
            "main.py",
            Some("main.py"),
        ),
        (&by_path, &[], file(&abs), &[], "main.py", Some("main.py")),
        (
            &["python", "pkg", "a"],
            &[],
            file("pkg"),
            &["a"],
            "pkg",
            Some("pkg/__main__.py"),
        ),
        (
            &["python", "app.pyz"],
            &[],
            file("app.pyz"),
            &[],
            "app.pyz",
            Some("app.pyz"),
        ),
        (
            &["python", "--", "-odd.py"],
            &[],
            file("-odd.py"),
            &[],
            "-odd.py",
            Some("-odd.py"),
        ),
        (
            &["python", "-Om", "pytest", "-n", "2"],
            &["-O"],
            Target::Module("pytest".into()),
            &["-n", "2"],
            "-m pytest",
            None,
        ),
        (
            &["python", "-c", "x", ""],
            &[],
            Target::Code("x".into()),
            &[""],
            "-c",
            None,
        ),
        (
            &["./bin/python3", "main.py"],
            &[],
            file("main.py"),
            &[],
            "main.py",
            Some("main.py"),
        ),
    ];
    for (words, flags, target, args, title, program) in table {
        let launch = place.launch(words);
        assert_eq!(strings(&launch.flags), flags, "{words:?}");
        assert_eq!(launch.target, target, "{words:?}");
        assert_eq!(strings(&launch.args), args, "{words:?}");
        assert_eq!(launch.title, title, "{words:?}");
        assert_eq!(
            launch.program,
            program.map(|name| place.at(name)),
            "{words:?}"
        );
        assert_eq!(launch.interpreter.how_found, HowFound::Typed, "{words:?}");
        assert_eq!(
            launch.interpreter.path.parent(),
            Some(place.at("bin").as_path())
        );
        assert_eq!(launch.cwd, place.root);
    }
}

#[test]
fn files_and_commands_find_their_interpreter() {
    let place = place();
    executable(&place.at("script"), "#!/usr/bin/env python3\n");
    executable(
        &place.at("run.py"),
        &format!("#!{} -x\n", place.at("bin/python").display()),
    );
    place.file("odd.py", "#!/bin/bash\nprint(1)\n");
    place.link_python("my venvs/a/bin/python");
    let long = place.at("my venvs/a/bin/python");
    let text = format!(
        "#!/bin/sh\n'''exec' \"{}\" \"$0\" \"$@\"\n' '''\n",
        long.display()
    );
    executable(&place.at("bin/cli"), &text);
    symlink(place.at("bin/python3"), place.at("snake")).unwrap();
    let tool = place.at("bin/tool").display().to_string();
    let cli = place.at("bin/cli").display().to_string();
    let table: Vec<FileRow<'_>> = vec![
        (
            &["main.py", "--help"],
            "bin/python3",
            &[],
            "main.py",
            "main.py",
        ),
        (&["./main.py"], "bin/python3", &[], "./main.py", "main.py"),
        (&["run.py"], "bin/python", &["-x"], "run.py", "run.py"),
        (&["odd.py"], "bin/python3", &[], "odd.py", "odd.py"),
        (&["./-odd.py"], "bin/python3", &[], "./-odd.py", "-odd.py"),
        (&["-odd.py"], "bin/python3", &[], "-odd.py", "-odd.py"),
        (&["./script"], "bin/python3", &[], "./script", "script"),
        (&["script"], "bin/python3", &[], "script", "script"),
        (&["tool"], "bin/python3", &["-u"], &tool, "tool"),
        (&["cli"], "my venvs/a/bin/python", &[], &cli, "cli"),
        (&["./snake", "main.py"], "snake", &[], "main.py", "main.py"),
    ];
    for (words, interpreter, flags, target, title) in table {
        let launch = place.launch(words);
        assert_eq!(launch.interpreter.path, place.at(interpreter), "{words:?}");
        assert_eq!(strings(&launch.flags), flags, "{words:?}");
        assert_eq!(launch.target, Target::File(target.into()), "{words:?}");
        assert_eq!(launch.title, title, "{words:?}");
    }
    assert_eq!(
        strings(&place.launch(&["tool", "-n", "--"]).args),
        ["-n", "--"]
    );
}

#[test]
fn interpreters_are_tried_in_their_order() {
    let place = place();
    place.file("sub/deep/app.py", "");
    place.link_python("opt/python");
    let how = |launch: &Launch| launch.interpreter.how_found.clone();
    let app = ["sub/deep/app.py"];
    assert_eq!(how(&place.launch(&app)), HowFound::Path);

    let project = place.venv("sub/.venv");
    let launch = place.launch(&app);
    assert_eq!(launch.interpreter.path, project);
    assert_eq!(how(&launch), HowFound::Project(place.at("sub/.venv")));

    let mut options = LaunchOptions::default();
    let active = place.venv("active");
    options.env = vec![("VIRTUAL_ENV".into(), place.at("active").into())];
    let launch = place.resolve_with(&app, &options).unwrap();
    assert_eq!(
        (launch.interpreter.path.clone(), how(&launch)),
        (active, HowFound::Active(place.at("active")))
    );

    options.settings_python = Some(place.at("opt/python"));
    let launch = place.resolve_with(&app, &options).unwrap();
    assert_eq!(
        (launch.interpreter.path.clone(), how(&launch)),
        (place.at("opt/python"), HowFound::Settings)
    );

    let first = place.at("sub/deep/first.py");
    executable(&first, "#!/usr/bin/env python3.9\n");
    let launch = place
        .resolve_with(&["sub/deep/first.py"], &options)
        .unwrap();
    assert_eq!(how(&launch), HowFound::FirstLine(first));

    options.python = Some("sub/.venv".into());
    let launch = place
        .resolve_with(&["sub/deep/first.py"], &options)
        .unwrap();
    assert_eq!(
        (launch.interpreter.path.clone(), how(&launch)),
        (project, HowFound::Option)
    );

    let launch = place
        .resolve_with(&["python3", "main.py"], &options)
        .unwrap();
    assert_eq!(
        (launch.interpreter.path.clone(), how(&launch)),
        (place.at("bin/python3"), HowFound::Typed)
    );
}

#[test]
fn commands_come_from_the_environment_before_path() {
    let place = place();
    let shebang = |folder: &str| format!("#!{}\n", place.at(folder).join("python").display());
    place.venv("venv");
    executable(&place.at("venv/bin/tool"), &shebang("venv/bin"));
    let target = |launch: Launch| launch.target;
    assert_eq!(
        target(place.launch(&["tool"])),
        Target::File(place.at("venv/bin/tool").into())
    );
    // What is no python of PATH is looked up in the project too.
    place.link_python("venv/bin/python3.99");
    assert_eq!(
        place.launch(&["python3.99", "main.py"]).interpreter.path,
        place.at("venv/bin/python3.99")
    );
    assert_eq!(
        place.launch(&["python", "main.py"]).interpreter.path,
        place.at("bin/python")
    );

    place.venv("active");
    executable(&place.at("active/bin/tool"), &shebang("active/bin"));
    let options = LaunchOptions {
        env: vec![("VIRTUAL_ENV".into(), place.at("active").into())],
        ..LaunchOptions::default()
    };
    let launch = place.resolve_with(&["tool"], &options).unwrap();
    assert_eq!(launch.interpreter.path, place.at("active/bin/python"));
    assert_eq!(
        target(launch),
        Target::File(place.at("active/bin/tool").into())
    );
}

#[test]
fn folder_and_environment_pass_through() {
    let place = place();
    place.file("sub/app.py", "");
    let options = LaunchOptions {
        cwd: Some("sub".into()),
        env: vec![
            ("A".into(), "1".into()),
            ("A".into(), "2".into()),
            ("B".into(), "".into()),
        ],
        ..LaunchOptions::default()
    };
    let launch = place.resolve_with(&["python", "app.py"], &options).unwrap();
    assert_eq!(
        (launch.cwd.clone(), launch.program),
        (place.at("sub"), Some(place.at("sub/app.py")))
    );
    let values = |name: &str| {
        let found = launch.env.iter().filter(|(key, _)| key == name);
        found
            .map(|(_, value)| value.to_str().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!((values("A"), values("B")), (vec!["2"], vec![""]));
    assert_eq!(values("PWD"), [place.at("sub").to_str().unwrap()]);
    let gone = LaunchOptions {
        cwd: Some("gone".into()),
        ..LaunchOptions::default()
    };
    let refused = place
        .resolve_with(&["python", "app.py"], &gone)
        .unwrap_err();
    assert!(refused.to_string().contains("gone"), "{refused}");

    executable(&place.at("vars"), "#!/usr/bin/env -S MODE=x python3 -u\n");
    let launch = place.launch(&["./vars"]);
    assert!(launch.env.contains(&("MODE".into(), "x".into())));
    assert_eq!(strings(&launch.flags), ["-u"]);
}

#[test]
fn what_cannot_be_debugged_is_named() {
    let place = place();
    place.file("notes.txt", "hello");
    executable(&place.at("a.out"), "\u{7f}ELF");
    executable(&place.at("bin/bash"), "\u{7f}ELF");
    executable(&place.at("step.sh"), "#!/bin/bash\n");
    executable(&place.at("server.js"), "#!/usr/bin/env node\n");
    executable(&place.at("blank"), "");
    executable(&place.at("stale"), "#!/no/such/python3\n");
    executable(&place.at("bin/python3.2"), "#!/bin/sh\nexit 1\n");
    let table: &[(&[&str], &[&str])] = &[
        (&[], &["no program"]),
        (&["no-such-program"], &["no-such-program", "PATH", "pytest"]),
        (&["./gone.py"], &["./gone.py", "is not there"]),
        (&["pkg"], &["pkg is a folder"]),
        (&["./empty/"], &["./empty/ is a folder"]),
        (&["./notes.txt"], &["notes.txt", "not executable", "chmod"]),
        (&["./a.out"], &["./a.out", "native program", "Python files"]),
        (&["bash", "x.sh"], &["bash", "native program"]),
        (&["./step.sh"], &["step.sh", "bash"]),
        (&["server.js"], &["server.js", "a program for node"]),
        (&["./blank"], &["blank", "first line"]),
        (
            &["./stale"],
            &["/no/such/python3", "first line", "--python"],
        ),
        (&["/dev/null"], &["/dev/null"]),
        (&["python"], &["python has no program"]),
        (&["python", "-u", "-"], &["python -u -"]),
        (&["python", "-V"], &["python -V"]),
        (&["python", "-m"], &["python", "-m lacks"]),
        (&["python", "--frobnicate", "x.py"], &["--frobnicate"]),
        (&["python", "gone.py"], &["gone.py", "no such file"]),
        (&["python", "empty"], &["empty", "__main__.py"]),
        (&["python3.7", "main.py"], &["python3.7", "no such Python"]),
        (&["python3.2", "main.py"], &["python3.2", "does not run"]),
        (&["/opt/gone/python", "main.py"], &["/opt/gone/python"]),
    ];
    for (words, parts) in table {
        let message = place.refused(words).to_string();
        for part in *parts {
            assert!(
                message.contains(part),
                "{words:?}: no {part:?} in {message:?}"
            );
        }
    }
    let options = LaunchOptions {
        python: Some("nopython".into()),
        ..LaunchOptions::default()
    };
    let refused = place
        .resolve_with(&["main.py"], &options)
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("nopython") && refused.contains("from --python"),
        "{refused}"
    );
}

#[test]
fn a_shim_of_pyenv_is_seen_through() {
    let place = place();
    executable(&place.at("real/tool"), "#!/usr/bin/env python3\n");
    let pyenv = place.at("libexec/pyenv");
    let answer = place.at("real/tool");
    let script = format!(
        "#!/bin/sh\n[ \"$1 $2\" = 'which shimmed' ] && echo '{}' || {{ echo 'not found: '$2 >&2; exit 127; }}\n",
        answer.display()
    );
    executable(&pyenv, &script);
    for name in ["shimmed", "unknown"] {
        let shim = format!(
            "#!/usr/bin/env bash\nset -e\nprogram=\"${{0##*/}}\"\nexec \"{}\" exec \"$program\" \"$@\"\n",
            pyenv.display()
        );
        executable(&place.at("bin").join(name), &shim);
    }
    assert_eq!(
        place.launch(&["shimmed"]).target,
        Target::File(answer.into())
    );
    let refused = place.refused(&["unknown"]).to_string();
    assert!(
        refused.contains("pyenv") && refused.contains("not found: unknown"),
        "{refused}"
    );
}

#[test]
fn the_debuggees_command_is_what_was_typed_behind_debugpy() {
    let place = place();
    let odd = OsString::from_vec(vec![0xff, b'a']);
    let words = ["python", "-X", "utf8", "-m", "mod", "--connect"].map(OsString::from);
    let words: Vec<_> = words.into_iter().chain([odd.clone()]).collect();
    let launch = resolve(&words, &LaunchOptions::default(), &place.ambient()).unwrap();
    let command = debuggee_command(&launch, None, Path::new("/d"), "127.0.0.1", 77);
    let python = place.at("bin/python").into_os_string();
    let rest = [
        "-X",
        "utf8",
        "/d/debugpy",
        "--connect",
        "127.0.0.1:77",
        "--wait-for-client",
        "--configure-subProcess",
        "true",
        "-m",
        "mod",
        "--connect",
    ];
    let expected: Vec<OsString> = std::iter::once(python)
        .chain(rest.map(OsString::from))
        .chain([odd])
        .collect();
    assert_eq!(command, expected);

    let tail = |words: &[&str]| {
        let launch = place.launch(words);
        let launcher = Some(Path::new("/l.py"));
        let command = debuggee_command(&launch, launcher, Path::new("/d"), "::1", 7);
        assert_eq!(strings(&command[1..3]), ["/l.py", "/d"]);
        command[3..].to_vec()
    };
    let fixed = [
        "--connect",
        "[::1]:7",
        "--wait-for-client",
        "--configure-subProcess",
        "true",
    ];
    let with = |rest: &[&str]| {
        fixed
            .iter()
            .chain(rest)
            .map(OsString::from)
            .collect::<Vec<_>>()
    };
    assert_eq!(tail(&["main.py", "-c"]), with(&["main.py", "-c"]));
    assert_eq!(
        tail(&["python", "--", "-odd.py", "--"]),
        with(&["./-odd.py", "--"])
    );
    assert_eq!(tail(&["python", "-cpass", "x"]), with(&["-c", "pass", "x"]));
}

#[test]
fn a_real_environment_is_run_by_its_own_interpreter() {
    let place = place();
    let made = Command::new(python())
        .args(["-m", "venv", "--without-pip"])
        .arg(place.at(".venv"))
        .status();
    assert!(made.unwrap().success());
    let launch = place.launch(&["main.py"]);
    assert_eq!(
        launch.interpreter.how_found,
        HowFound::Project(place.at(".venv"))
    );
    assert_eq!(launch.interpreter.facts.prefix, place.at(".venv"));
    assert_eq!(launch.interpreter.executable, place.at(".venv/bin/python"));
    assert!(place.dir.path().exists());
}
