//! Interpreters that are too old, broken, or without debugpy.

use crate::scene;
use daptree_testing::Scene;
use std::path::PathBuf;
use std::process::Command;

/// Puts an executable script into the working folder. Another process writes it: a file that this
/// one has open for writing while a test beside it forks could not be executed.
fn executable(scene: &Scene, name: &str, text: &str) -> PathBuf {
    let source = scene.write(&format!("{name}.source"), text);
    let path = scene.file(name);
    let done = Command::new("install")
        .args(["-m", "755"])
        .arg(source)
        .arg(&path)
        .status();
    assert!(done.unwrap().success());
    path
}

/// An environment without debugpy and without pip.
fn bare_python(scene: &Scene) -> PathBuf {
    let folder = scene.file("bare");
    let made = Command::new(&scene.python)
        .args(["-m", "venv", "--without-pip"])
        .arg(&folder)
        .status();
    assert!(made.unwrap().success());
    folder.join("bin/python")
}

#[test]
fn an_old_interpreter_is_refused_before_anything_is_started() {
    let scene = scene(&["leaf.py"]);
    // It answers every question as Python 3.6 does: with its version and no more.
    let answer = r#"{"version":[3,6,15],"executable":"/old/python","prefix":"/old","implementation":"cpython","tag":"","platform":"","glibc":"","pip":false,"debugpy":null}"#;
    let old = executable(
        &scene,
        "python3.6",
        &format!("#!/bin/sh\nprintf '\\n@daptree %s\\n' '{answer}'\n"),
    );
    let run = scene
        .trace()
        .run(&[old.as_os_str(), "leaf.py".as_ref(), "0".as_ref()]);
    run.assert_refused(125, &["python3.6", "3.6.15", "3.8 or newer", "--python"]);
}

#[test]
fn an_interpreter_that_does_not_run_is_named() {
    let scene = scene(&["leaf.py"]);
    let broken = executable(
        &scene,
        "python3",
        "#!/bin/sh\necho torn apart >&2\nexit 7\n",
    );
    let run = scene
        .trace()
        .run(&[broken.as_os_str(), "leaf.py".as_ref(), "0".as_ref()]);
    run.assert_refused(125, &["python3", "does not run", "torn apart"]);
}

#[test]
fn without_debugpy_and_without_a_network_the_command_is_said() {
    let mut scene = scene(&["leaf.py"]);
    let python = bare_python(&scene);
    let nobody = "http://127.0.0.1:9";
    scene.set("PIP_INDEX_URL", nobody);
    scene.set("PIP_RETRIES", "0");
    scene.set("PIP_NO_INDEX", "");
    scene.set("PIP_FIND_LINKS", "");
    scene.set("PIP_CONFIG_FILE", "/dev/null");
    scene.set("UV_INDEX_URL", nobody);
    let run = scene
        .trace()
        .run(&[python.as_os_str(), "leaf.py".as_ref(), "0".as_ref()]);
    let folder = scene.work().parent().unwrap().join("data");
    let folder = folder.to_str().unwrap().to_owned();
    run.assert_refused(
        125,
        &[
            "debugpy 1.8.",
            "could not be fetched",
            "install",
            "--target",
            &folder,
        ],
    );
    assert!(
        !scene
            .work()
            .parent()
            .unwrap()
            .join("data/adapters/debugpy")
            .exists()
    );
}

/// A debugpy that looks right and whose adapter does what it is told.
fn fake_debugpy(scene: &mut Scene, adapter: &str) {
    scene.write(
        "fake/debugpy/__init__.py",
        "__version__ = '1.8.99'\ndef connect(address, *, parent_session_pid=None): pass\n",
    );
    scene.write("fake/debugpy/__main__.py", "");
    scene.write("fake/debugpy/adapter/__init__.py", "");
    scene.write("fake/debugpy/adapter/__main__.py", adapter);
    let folder = scene.file("fake");
    scene.set("PYTHONPATH", folder);
}

#[test]
fn an_adapter_that_dies_at_start_is_said_with_its_last_words() {
    let mut scene = scene(&["leaf.py"]);
    fake_debugpy(
        &mut scene,
        "import os, sys\nsys.stderr.write('the floor is gone\\n')\nsys.stderr.flush()\nos.kill(os.getpid(), 9)\n",
    );
    let python = bare_python(&scene);
    let run = scene
        .trace()
        .run(&[python.as_os_str(), "leaf.py".as_ref(), "0".as_ref()]);
    run.assert_refused(125, &["adapter", "the floor is gone"]);
}
