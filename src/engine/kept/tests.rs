//! What is kept over restarts, and what becomes of it when sources or the file itself change.

use super::*;
use daptree_model::BreakpointScope;
use tempfile::TempDir;

struct Desk {
    folder: TempDir,
}

impl Desk {
    fn new() -> Self {
        Self {
            folder: TempDir::new().unwrap(),
        }
    }

    fn open(&self) -> Opened {
        KeptFile::open(&self.folder.path().join("state"), Path::new("/srv/shop"))
    }

    fn source(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

fn kept(specs: impl IntoIterator<Item = BreakpointSpec>) -> Kept {
    let breakpoints = specs.into_iter().map(|spec| KeptBreakpoint {
        spec,
        enabled: true,
        note: None,
    });
    Kept {
        breakpoints: breakpoints.collect(),
        ..Kept::default()
    }
}

fn places(opened: &Opened) -> Vec<String> {
    let all = opened.kept.breakpoints.iter();
    all.map(|known| known.spec.at.to_string()).collect()
}

#[test]
fn what_was_kept_is_there_again() {
    let desk = Desk::new();
    let mut opened = desk.open();
    assert_eq!(opened.kept, Kept::default());
    let path = desk.source("a.py", "one\ntwo\n");
    let mut wanted = kept([
        BreakpointSpec {
            condition: Some("n > 1".to_owned()),
            scope: BreakpointScope::Program("gw*".to_owned()),
            ..BreakpointSpec::line(&path, 2)
        },
        BreakpointSpec::function("main"),
    ]);
    wanted.breakpoints[1].enabled = false;
    wanted.exception_filters = Some(vec!["raised".to_owned()]);
    wanted.maps = vec![PathMap {
        local: "/a".to_owned(),
        remote: "/b".to_owned(),
    }];
    opened.file.write(wanted.clone()).unwrap();
    let again = desk.open();
    assert_eq!(again.kept, wanted);
    assert_eq!(again.trouble, None);
    let other = KeptFile::open(&desk.folder.path().join("state"), Path::new("/srv/other"));
    assert_eq!(other.kept, Kept::default(), "a workspace of its own");
}

#[test]
fn the_file_is_for_its_user_alone() {
    use std::os::unix::fs::MetadataExt as _;
    let desk = Desk::new();
    let mut opened = desk.open();
    opened.file.write(kept([])).unwrap();
    let path = opened.file.path;
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    let folder = path.parent().unwrap();
    assert_eq!(fs::metadata(folder).unwrap().mode() & 0o777, 0o700);
    let new = fs::read_dir(folder)
        .unwrap()
        .filter(|entry| {
            let name = entry.as_ref().unwrap().file_name();
            name.to_string_lossy().contains("new")
        })
        .count();
    assert_eq!(new, 0, "nothing half written stays");
}

#[test]
fn lines_are_found_again_where_their_text_went() {
    let desk = Desk::new();
    let path = desk.source("a.py", "one\ntwo\nthree\n");
    let gone = desk.source("gone.py", "x\n");
    let specs = [
        BreakpointSpec::line(&path, 1),
        BreakpointSpec::line(&path, 2),
        BreakpointSpec::line(&path, 3),
        BreakpointSpec::line(&gone, 1),
    ];
    desk.open().file.write(kept(specs)).unwrap();
    fs::write(&path, "one\nnew\n  two\nother\n").unwrap();
    fs::remove_file(&gone).unwrap();
    let again = desk.open();
    let told: Vec<(String, Option<&str>)> = again
        .kept
        .breakpoints
        .iter()
        .map(|known| {
            let name = known.spec.at.to_string();
            let name = name.rsplit('/').next().unwrap().to_owned();
            (name, known.note.as_deref())
        })
        .collect();
    assert_eq!(
        told,
        [
            ("a.py:1".to_owned(), None),
            ("a.py:3".to_owned(), Some("its line was 2 before")),
            (
                "a.py:3".to_owned(),
                Some("its line has changed, it was `three`")
            ),
            ("gone.py:1".to_owned(), Some("its file is gone")),
        ]
    );
}

#[test]
fn a_broken_file_is_put_aside_and_nothing_of_it_is_lost() {
    for (text, word) in [
        ("{\"version\": 1, ", "EOF"),
        ("[]", "invalid"),
        ("{\"version\": 7}", "version 7"),
        (
            "{\"version\":1,\"workspace\":\"/w\",\"breakpoints\":[],\"exceptionFilters\":null,\"maps\":[],\"more\":1}",
            "more",
        ),
    ] {
        let desk = Desk::new();
        let mut opened = desk.open();
        let path = opened.file.path.clone();
        opened
            .file
            .write(kept([BreakpointSpec::function("f")]))
            .unwrap();
        for number in 1..=2 {
            fs::write(&path, text).unwrap();
            let again = desk.open();
            let aside = path.with_extension(format!("broken-{number}"));
            let trouble = again.trouble.unwrap();
            assert!(trouble.contains(word), "{trouble}");
            assert!(trouble.contains(&aside.display().to_string()), "{trouble}");
            assert_eq!(fs::read_to_string(&aside).unwrap(), text);
            assert!(!path.exists());
        }
    }
}

#[test]
fn two_engines_at_once_keep_what_each_of_them_did() {
    let desk = Desk::new();
    let spec = BreakpointSpec::function;
    let all = [spec("a"), spec("b")];
    desk.open().file.write(kept(all)).unwrap();
    let (mut first, mut second) = (desk.open().file, desk.open().file);
    // One removes `a` and adds `c`, the other adds `d` and switches `b` off.
    first.write(kept([spec("b"), spec("c")])).unwrap();
    let mut others = kept([spec("a"), spec("b"), spec("d")]);
    others.breakpoints[1].enabled = false;
    second.write(others.clone()).unwrap();
    let now = desk.open();
    assert_eq!(places(&now), ["b()", "d()", "c()"]);
    assert!(!now.kept.breakpoints[0].enabled);
    // The first one, which has heard of none of it, changes something else.
    first
        .write(kept([spec("b"), spec("c"), spec("e")]))
        .unwrap();
    let now = desk.open();
    assert!(!now.kept.breakpoints[0].enabled, "{:?}", now.kept);
    assert_eq!(now.kept.breakpoints.len(), 4);
}

#[test]
fn what_cannot_be_written_is_said_by_its_name() {
    let desk = Desk::new();
    fs::write(desk.folder.path().join("state"), "a file").unwrap();
    let error = desk.open().file.write(kept([])).unwrap_err();
    assert!(error.to_string().contains("state/breakpoints"), "{error}");
}

#[tokio::test]
async fn the_last_of_several_changes_is_written_before_the_end() {
    let desk = Desk::new();
    let keeping = Keeping::start(desk.open().file, |input| panic!("{input:?}"));
    for name in ["a", "b", "c"] {
        keeping.keep(kept([BreakpointSpec::function(name)]));
    }
    keeping.finish().await;
    assert_eq!(places(&desk.open()), ["c()"]);
}
