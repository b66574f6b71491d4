//! Real runs under debugpy beside runs without it: the program must not see the difference.

use std::process::Command;

use super::{Place, place, strings};
use crate::launch::fixtures::{process_env, python};
use crate::launch::{Launch, debuggee_command, debugpy, shim};
use std::path::Path;

/// A program that tells how it finds itself, without what a debugger cannot hide: the words of
/// the whole command line, and the variables and modules of debugpy.
const SELF: &str = r#"
import os, sys
main = sys.modules["__main__"]
print(sys.argv, sys.path, sys.flags, sys._xoptions, sys.warnoptions)
print(__name__, globals().get("__file__"), main.__dict__ is globals(), __package__)
print(type(__loader__).__name__, (__spec__ or main).__class__.__name__, sorted(globals()))
print(type(__builtins__), sys.excepthook is sys.__excepthook__, os.getcwd())
sys.stdout.flush()
"#;

/// What a run wrote to its two streams, its status, and the stacks it stopped with.
type Run = (String, String, Option<i32>);

fn debugged(place: &Place, launch: &Launch, data: &Path) -> (Run, Vec<Vec<String>>) {
    use std::io::Write as _;
    let debugpy = debugpy::find_or_install(&launch.interpreter, data, &mut |_| {}).unwrap();
    let adapter =
        debugpy::adapter_interpreter(&launch.interpreter, &debugpy, &process_env(), data).unwrap();
    let shim = shim::write_shim(data).unwrap();
    let launcher = shim::write_launcher(data).unwrap();
    let stops = place.at("stops.json");
    let adapter = shim::adapter_command(&adapter, &shim, &debugpy.folder, &launch.env);
    let program = debuggee_command(launch, Some(&launcher), &debugpy.folder, "127.0.0.1", 1);
    let job = serde_json::json!({
        "adapter": strings(&adapter),
        "program": strings(&program),
        "cwd": launch.cwd,
        "stops": stops,
    });
    let mut driver = Command::new(python())
        .args(["-c", include_str!("drive.py")])
        .env_clear()
        .envs(launch.env.iter().cloned())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    driver
        .stdin
        .take()
        .unwrap()
        .write_all(job.to_string().as_bytes())
        .unwrap();
    let run = run_of(&driver.wait_with_output().unwrap());
    let stops = std::fs::read(&stops).unwrap_or_else(|_| panic!("the run failed: {run:?}"));
    (run, serde_json::from_slice(&stops).unwrap())
}

fn run_of(output: &std::process::Output) -> Run {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        text(&output.stdout),
        text(&output.stderr),
        output.status.code(),
    )
}

/// Needs the package index once, where the interpreter has no debugpy.
#[test]
fn a_program_finds_itself_as_without_a_debugger_from_pypi() {
    let place = place();
    let data = tempfile::tempdir().unwrap();
    place.file("self.py", SELF);
    place.file("box/__main__.py", SELF);
    place.file("fails.py", "def f():\n    1 / 0\n\n\nf()\n");
    place.file("bad.py", "x = (\n");
    place.file(
        "sub/chdir.py",
        "import os\nos.chdir('/')\nimport beside\nprint(__file__)\n",
    );
    place.file("sub/beside.py", "");
    let table: &[(&[&str], &[&[&str]])] = &[
        (&["python", "self.py", "a", "--connect", ""], &[]),
        (&["python", "-I", "-X", "utf8", "./self.py"], &[]),
        (&["python", "-O", "-W", "error", "-m", "self", "-m"], &[]),
        (&["python", "-E", "-S", "box", "x"], &[]),
        (&["python", "-c", SELF, "-c", "b"], &[]),
        (&["python", "sub/chdir.py"], &[]),
        (&["python", "fails.py"], &[&["f", "<module>"]]),
        (&["python", "-c", "1 / 0"], &[&["<module>"]]),
        (&["python", "bad.py"], &[]),
        // debugpy counts a failing exit as unhandled.
        (
            &["python", "-c", "import sys; sys.exit(7)"],
            &[&["<module>"]],
        ),
        (
            &["python", "-c", "import sys; sys.exit('bye')"],
            &[&["<module>"]],
        ),
    ];
    for (words, stacks) in table {
        let launch = place.launch(words);
        let plain = Command::new(&launch.interpreter.path)
            .args(&words[1..])
            .current_dir(&launch.cwd)
            .env_clear()
            .envs(launch.env.iter().cloned())
            .output()
            .unwrap();
        let (run, stops) = debugged(&place, &launch, data.path());
        assert_eq!(run, run_of(&plain), "{words:?}");
        assert_eq!(stops, *stacks, "{words:?}");
    }
}
