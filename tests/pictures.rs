//! The pictures of the README are what the recorded runs look like in the present front end.

#[path = "../examples/pictures/recording.rs"]
mod recording;
#[path = "../examples/pictures/replay.rs"]
mod replay;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const RENEW: &str = "look at the difference; if it is meant, `cargo run --example pictures` renews \
                     the pictures and `cargo run --example record` the recordings";

#[test]
fn the_pictures_are_those_of_the_recordings() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut drawn = BTreeMap::new();
    for path in replay::recordings(&root.join("fixtures/recordings")).unwrap() {
        let entries = replay::read(&path).unwrap();
        drawn.extend(replay::pictures(&entries).unwrap());
        let size = fs::metadata(&path).unwrap().len();
        assert!(size <= 300_000, "{}: {size} bytes", path.display());
    }
    let mut committed = BTreeMap::new();
    for entry in fs::read_dir(root.join("screenshots")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        committed.insert(name, fs::read_to_string(path).unwrap());
    }
    let names = |of: &BTreeMap<String, String>| of.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&drawn), names(&committed), "{RENEW}");
    for (name, svg) in &drawn {
        let lines = || svg.lines().zip(committed[name].lines());
        if let Some((now, then)) = lines().find(|(now, then)| now != then) {
            panic!("screenshots/{name}.svg: now `{now}`, then `{then}`: {RENEW}");
        }
        assert_eq!(svg.len(), committed[name].len(), "{name}: {RENEW}");
    }
}

#[test]
fn the_recordings_name_no_machine() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for path in replay::recordings(&root.join("fixtures/recordings")).unwrap() {
        let text = fs::read_to_string(&path).unwrap();
        for named in ["/tmp/", "/root/", "/var/", "/Users/", "TOKEN", "DAPTREE_"] {
            assert!(!text.contains(named), "{}: {named}", path.display());
        }
        assert!(text.contains("/home/you/shop"));
        for home in text.split("/home/").skip(1) {
            assert!(
                home.starts_with("you/"),
                "{}: /home/{home:.20}",
                path.display()
            );
        }
        for pid in text.split("\"pid\":").skip(1) {
            assert!(pid.starts_with("40"), "{}: pid {pid:.8}", path.display());
        }
    }
}

#[test]
fn a_recording_that_lacks_an_answer_or_is_none_is_refused_by_name() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("fixtures/recordings/demo.jsonl");
    let mut entries = replay::read(&path).unwrap();
    entries.retain(|entry| !matches!(entry, recording::Entry::Answer { .. }));
    let error = replay::pictures(&entries).unwrap_err().to_string();
    assert!(error.contains("demo") && error.contains("File"), "{error}");

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bad.jsonl");
    fs::write(&path, "{\"keys\":\"n\"}\n{\"keys\":1}\n").unwrap();
    let error = replay::read(&path).unwrap_err().to_string();
    assert!(
        error.contains("bad.jsonl:2") && error.contains("--example record"),
        "{error}"
    );
}
