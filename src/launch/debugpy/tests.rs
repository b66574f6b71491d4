//! Which debugpy is taken, and real installs of it. Those whose name ends in `from_pypi` need
//! the network.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use super::*;
use crate::launch::fixtures::{process_env, python};
use crate::launch::interpreter::HowFound;

/// The real interpreter, as if it had no debugpy of its own.
fn bare() -> Interpreter {
    let mut found =
        Interpreter::probe(&python(), HowFound::Path, &process_env(), Path::new("/")).unwrap();
    found.facts.debugpy = None;
    found
}

fn put(folder: &Path) {
    std::fs::create_dir_all(folder.join("debugpy")).unwrap();
    std::fs::write(folder.join("debugpy/__main__.py"), "").unwrap();
}

fn own(version: &str, joins: bool) -> OwnDebugpy {
    OwnDebugpy {
        version: version.to_owned(),
        folder: "/own".into(),
        joins,
    }
}

#[test]
fn the_interpreters_own_is_taken_when_it_can_join() {
    let dir = tempfile::tempdir().unwrap();
    let mut interpreter = bare();
    put(&Build::of(&interpreter).folder(dir.path()));
    for (version, joins, origin) in [
        ("1.8.22", true, Origin::Own),
        ("1.8.19", true, Origin::Own),
        ("1.8.0", false, Origin::Managed),
        ("1.9.0", true, Origin::Managed),
        ("2.0.0", true, Origin::Managed),
    ] {
        interpreter.facts.debugpy = Some(own(version, joins));
        let found = find(&interpreter, dir.path()).unwrap();
        assert_eq!(found.origin, origin, "{version} {joins}");
    }
}

#[test]
fn each_abi_has_its_folder() {
    let mut interpreter = bare();
    let mut folder = |platform: &str, tag: &str, glibc| {
        interpreter.facts.platform = platform.to_owned();
        interpreter.facts.abi_tag = tag.to_owned();
        interpreter.facts.glibc = glibc;
        Build::of(&interpreter).folder(Path::new("/d"))
    };
    let at = |tag: &str| Path::new("/d/adapters").join(format!("debugpy-1.8.22-{tag}"));
    assert_eq!(folder("linux-x86_64", "cp311", Some((2, 36))), at("cp311"));
    assert_eq!(folder("linux-x86_64", "cp311", Some((2, 31))), at("pure"));
    assert_eq!(folder("linux-x86_64", "cp311", None), at("pure"));
    assert_eq!(folder("linux-x86_64", "cp38", Some((2, 36))), at("pure"));
    assert_eq!(folder("linux-x86_64", "cp313t", Some((2, 36))), at("pure"));
    assert_eq!(folder("linux-x86_64", "pp310", Some((2, 36))), at("pure"));
    assert_eq!(folder("linux-aarch64", "cp311", Some((2, 36))), at("pure"));
    assert_eq!(folder("macosx-15.0-universal2", "cp311", None), at("cp311"));
}

#[test]
fn a_folder_that_is_not_whole_is_never_used() {
    let dir = tempfile::tempdir().unwrap();
    let interpreter = bare();
    let place = Build::of(&interpreter).folder(dir.path());
    std::fs::create_dir_all(place.join("debugpy")).unwrap();
    put(&dir.path().join("adapters/.new-1/site"));
    assert_eq!(find(&interpreter, dir.path()), None);
}

#[test]
fn the_pure_copy_serves_interpreters_without_pip() {
    let dir = tempfile::tempdir().unwrap();
    let mut interpreter = bare();
    interpreter.facts.platform = "linux-x86_64".to_owned();
    interpreter.facts.abi_tag = "cp311".to_owned();
    interpreter.facts.glibc = Some((2, 36));
    put(&Build::Pure.folder(dir.path()));
    interpreter.facts.has_pip = true;
    assert_eq!(find(&interpreter, dir.path()), None);
    interpreter.facts.has_pip = false;
    assert!(find(&interpreter, dir.path()).is_some());
}

#[test]
fn every_pin_is_a_hash() {
    for pin in pins::SHA256 {
        assert!(
            pin.len() == 64 && pin.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{pin}"
        );
    }
}

/// In a process of its own, since the variables that point pip elsewhere are the process's.
#[test]
fn offline_says_the_commands() {
    const CHILD: &str = "DAPTREE_TEST_OFFLINE";
    if let Some(data) = std::env::var_os(CHILD) {
        let refused = find_or_install(&bare(), Path::new(&data), &mut |_| {}).unwrap_err();
        println!("{refused}");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let adapters = dir.path().join("adapters");
    put(&adapters.join(".new-1/site"));
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "launch::debugpy::tests::offline_says_the_commands",
            "--nocapture",
        ])
        .env(CHILD, dir.path())
        .env("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
        .env("PIP_EXTRA_INDEX_URL", "")
        .env("PIP_FIND_LINKS", "")
        .env("PIP_CONFIG_FILE", "/dev/null")
        .env("PIP_NO_CACHE_DIR", "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    let place = Build::of(&bare()).folder(dir.path());
    for part in [
        "debugpy 1.8.22 for Python 3.",
        "the package index cannot be reached",
        "refused",
        &format!(
            "-m pip install --no-deps --target {} debugpy==1.8.22",
            place.display()
        ),
        "pip download debugpy==1.8.22 --no-deps --only-binary :all: --platform",
        &format!(
            "python3 -m zipfile -e debugpy-1.8.22-*.whl {}",
            place.display()
        ),
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    let left: Vec<_> = std::fs::read_dir(&adapters)
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(left, [".lock"], "nothing half-made stays");
}

#[test]
fn a_data_folder_that_cannot_be_written_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("file");
    std::fs::write(&data, "").unwrap();
    let refused = find_or_install(&bare(), &data, &mut |_| {})
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("DAPTREE_DATA_DIR") && refused.contains("adapters"),
        "{refused}"
    );
}

#[test]
fn two_at_once_install_one_whole_copy_from_pypi() {
    let dir = tempfile::tempdir().unwrap();
    let interpreter = bare();
    let lines = std::sync::Mutex::new(Vec::new());
    let install = || {
        find_or_install(&interpreter, dir.path(), &mut |progress| {
            lines.lock().unwrap().push(progress.line);
        })
        .unwrap()
    };
    let (first, second) = std::thread::scope(|scope| {
        let other = scope.spawn(install);
        (install(), other.join().unwrap())
    });
    assert_eq!(first, second);
    assert_eq!(
        (first.version.as_str(), first.origin),
        (pins::VERSION, Origin::Managed)
    );
    let lines = lines.into_inner().unwrap();
    let begun = lines
        .iter()
        .filter(|line| line.starts_with("fetching debugpy 1.8.22 for Python"));
    assert_eq!(begun.count(), 1, "{lines:?}");
    assert_eq!(
        find_or_install(&interpreter, dir.path(), &mut |_| panic!()).unwrap(),
        first
    );

    // It is the package that the interpreter can use, and it joins.
    let env = [("PYTHONPATH".into(), first.folder.clone().into())];
    let asked = Interpreter::probe(&python(), HowFound::Path, &env, dir.path()).unwrap();
    let own = asked.facts.debugpy.unwrap();
    assert_eq!(
        (own.version.as_str(), own.joins, own.folder),
        (pins::VERSION, true, first.folder)
    );
    let mode = std::fs::metadata(dir.path().join("adapters/.lock"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o002, 0);
}

#[test]
fn an_interpreter_without_pip_borrows_one_from_pypi() {
    let dir = tempfile::tempdir().unwrap();
    let venv = dir.path().join("a venv");
    let made = Command::new(python())
        .args(["-m", "venv", "--without-pip"])
        .arg(&venv)
        .status();
    assert!(made.unwrap().success());
    let path = venv.join("bin/python");
    let interpreter =
        Interpreter::probe(&path, HowFound::Option, &process_env(), dir.path()).unwrap();
    assert!(!interpreter.facts.has_pip && interpreter.facts.debugpy.is_none());
    let found = find_or_install(&interpreter, dir.path(), &mut |_| {}).unwrap();
    assert_eq!(found.origin, Origin::Managed);
    let asked = Command::new(&path)
        .args(["-c", "import debugpy; print(debugpy.__version__)"])
        .env("PYTHONPATH", &found.folder)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&asked.stdout).trim(), pins::VERSION);
}

#[test]
fn an_old_program_gets_another_python_for_the_adapter() {
    let mut old = bare();
    let env = process_env();
    let managed = Debugpy {
        folder: "/d".into(),
        version: pins::VERSION.to_owned(),
        origin: Origin::Managed,
    };
    let own = Debugpy {
        version: "1.8.9".to_owned(),
        origin: Origin::Own,
        ..managed.clone()
    };
    assert_eq!(
        adapter_interpreter(&old, &managed, &[], Path::new("/")).unwrap(),
        old
    );
    old.version = (3, 8);
    let chosen = adapter_interpreter(&old, &managed, &env, Path::new("/")).unwrap();
    assert!(chosen.version >= OLDEST_ADAPTER);
    let refused = adapter_interpreter(&old, &managed, &[], Path::new("/")).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("Python 3.8 needs a Python 3.10"),
        "{refused}"
    );
    assert_eq!(
        adapter_interpreter(&old, &own, &[], Path::new("/")).unwrap(),
        old
    );
}
