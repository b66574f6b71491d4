//! The shape of the code: what may know what, and how long a file may be. It reads the sources as
//! text, so that an arrow that is drawn the wrong way fails a test and not a review.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    reason = "this is test code: what goes wrong in it fails the test at once"
)]

use std::fs;
use std::path::{Path, PathBuf};

/// What talks to the world outside, which the pure parts must not.
const WORLD: [&str; 9] = [
    "tokio",
    "rustix",
    "libc",
    "std::net",
    "std::fs",
    "std::process",
    "std::env",
    "std::time::Instant",
    "std::time::SystemTime",
];
/// Parts of this crate that are not pure.
const SHELL: [&str; 7] = [
    "crate::engine",
    "crate::process",
    "crate::output",
    "crate::launch",
    "crate::trace",
    "crate::run",
    "crate::settings",
];
/// A file longer than this is to be split soon.
const LONG: usize = 600;
/// A file longer than this is a defect.
const TOO_LONG: usize = 900;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in
            fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                found.push(path);
            }
        }
    }
    assert!(!found.is_empty(), "no sources in {folder}");
    found
}

fn is_test(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "tests") || path.ends_with("tests.rs")
}

/// The lines of code of a file without its tests and comments, with their numbers. Braces of `use`
/// are opened: `use std::{fs, net}` reads `use std::fs` and `use std::net`.
fn code(path: &Path) -> Vec<(usize, String)> {
    let text = fs::read_to_string(path).unwrap();
    let text = text
        .split("#[cfg(test)]\nmod tests")
        .next()
        .unwrap_or_default()
        .to_owned();
    let mut lines = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split("//").next().unwrap_or_default().trim();
        let (at, whole) = match open.take() {
            Some((at, before)) => (at, format!("{before}{line}")),
            None => (number, line.to_owned()),
        };
        let used = whole
            .trim_start_matches("pub ")
            .trim_start_matches("pub(super) ");
        if used.starts_with("use ") && !whole.ends_with(';') {
            open = Some((at, whole));
        } else if let Some(tree) = used.strip_prefix("use ") {
            let tree = tree.trim_end_matches(';');
            lines.extend(paths(tree).into_iter().map(|path| (at, path)));
        } else {
            lines.push((at, whole));
        }
    }
    lines
}

/// `a::{b, c::{d}}` as `a::b` and `a::c::d`.
fn paths(tree: &str) -> Vec<String> {
    let Some((head, rest)) = tree.split_once('{') else {
        return vec![tree.trim().to_owned()];
    };
    let inside = rest.trim_end().strip_suffix('}').unwrap_or(rest);
    let (mut depth, mut from, mut parts) = (0, 0, Vec::new());
    for (at, char) in inside.char_indices() {
        match char {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(inside.get(from..at).unwrap_or_default());
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(inside.get(from..).unwrap_or_default());
    let parts = parts.into_iter().filter(|part| !part.trim().is_empty());
    parts
        .flat_map(|part| paths(&format!("{}{}", head.trim(), part.trim())))
        .collect()
}

/// Whether a line names a path: as a whole word, not as the tail of a longer one.
fn names(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let word = |char: char| char.is_alphanumeric() || char == '_' || char == ':';
        let before = line.get(..at).and_then(|head| head.chars().next_back());
        let after = line
            .get(at + path.len()..)
            .and_then(|tail| tail.chars().next());
        !before.is_some_and(word)
            && !after.is_some_and(|char| char.is_alphanumeric() || char == '_')
            // `rustix` alone is a word like another; a crate is named with its path.
            && (path.contains("::") || after == Some(':') || after.is_none())
    })
}

fn violations(files: &[PathBuf], forbidden: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for path in files.iter().filter(|path| !is_test(path)) {
        for (number, line) in code(path) {
            for name in forbidden.iter().filter(|name| names(&line, name)) {
                found.push(format!("{}:{number} names {name}: {line}", path.display()));
            }
        }
    }
    found
}

fn part(name: &str) -> Vec<PathBuf> {
    let mut files = sources(&format!("src/{name}"));
    files.push(root().join(format!("src/{name}.rs")));
    files
}

#[test]
fn the_wire_the_adapters_and_the_core_know_nothing_of_the_world() {
    for pure in ["dap", "adapter", "tree"] {
        let mut forbidden: Vec<&str> = WORLD.to_vec();
        forbidden.extend(SHELL);
        // The codec is for whoever reads and writes; it does neither.
        let found = violations(&part(pure), &forbidden);
        assert!(found.is_empty(), "{found:#?}");
    }
}

#[test]
fn arrows_point_one_way() {
    let found = violations(
        &part("dap"),
        &["crate::adapter", "crate::tree", "daptree_model"],
    );
    assert!(found.is_empty(), "{found:#?}");
    let found = violations(&part("adapter"), &["crate::tree"]);
    assert!(found.is_empty(), "{found:#?}");
    let found = violations(
        &part("engine"),
        &["crate::trace", "crate::run", "daptree_ui", "crate::cli"],
    );
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn the_front_end_knows_the_model_alone_and_the_model_nobody() {
    let manifest =
        |package: &str| fs::read_to_string(root().join(package).join("Cargo.toml")).unwrap();
    let ours = |text: &str| {
        let lines = text
            .lines()
            .map(str::trim)
            .filter(|line| line.starts_with("daptree"));
        lines
            .map(|line| line.split(['.', ' ', '=']).next().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(ours(&manifest("ui")), ["daptree-model"]);
    assert_eq!(ours(&manifest("model")), Vec::<String>::new());
    for package in ["tokio", "ratatui", "rustix"] {
        assert!(
            !manifest("model").contains(package),
            "the model knows {package}"
        );
    }
    let forbidden = [
        "std::net",
        "std::fs",
        "std::process",
        "std::env",
        "std::time",
    ];
    let found = violations(&sources("model/src"), &forbidden);
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn only_one_file_is_unsafe() {
    let unsafe_files: Vec<PathBuf> = [sources("src"), sources("ui/src"), sources("model/src")]
        .concat()
        .into_iter()
        .filter(|path| code(path).iter().any(|(_, line)| line.contains("unsafe {")))
        .collect();
    assert_eq!(unsafe_files, [root().join("src/process/kernel.rs")]);
}

#[test]
fn files_are_short_and_say_what_they_are() {
    let mut long = Vec::new();
    for path in [
        sources("src"),
        sources("ui/src"),
        sources("model/src"),
        sources("tests"),
    ]
    .concat()
    {
        let text = fs::read_to_string(&path).unwrap();
        assert!(path.file_name().unwrap() != "mod.rs", "{}", path.display());
        assert!(
            text.starts_with("//! "),
            "{} does not say what it is",
            path.display()
        );
        let lines = text.lines().count();
        if lines > LONG {
            println!("{} has {lines} lines: split it", path.display());
        }
        if lines > TOO_LONG {
            long.push(path);
        }
    }
    assert!(long.is_empty(), "longer than {TOO_LONG} lines: {long:#?}");
}

#[test]
fn what_is_forbidden_is_found() {
    for (line, path, found) in [
        ("tokio::time::sleep(x)", "tokio", true),
        ("let tokio = 1;", "tokio", false),
        ("std::fs::read(x)", "std::fs", true),
        ("std::fsync()", "std::fs", false),
        ("my_std::fs::x", "std::fs", false),
        ("std::time::Duration", "std::time::Instant", false),
    ] {
        assert_eq!(names(line, path), found, "{line}");
    }
    assert_eq!(
        paths("std::{fs, time::{Duration, Instant}}"),
        ["std::fs", "std::time::Duration", "std::time::Instant"]
    );
}
