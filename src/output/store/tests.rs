//! What the store promises, against a model that keeps everything. It must not look inside.

use super::*;
use proptest::prelude::*;
use std::time::Instant;

const OUT: StreamKind = StreamKind::Stdout;

fn texts(lines: &[Line<'_>]) -> Vec<String> {
    lines.iter().map(|line| line.text.to_owned()).collect()
}

fn small() -> OutputStore {
    OutputStore::new(Limits {
        row: 64,
        total: 150,
    })
}

#[test]
fn whole_lines_take_their_place_when_they_are_complete() {
    let mut store = OutputStore::new(Limits::default());
    store.append(1, OUT, b"a1\na");
    store.append(2, StreamKind::Terminal, b"b1\n");
    store.append(1, StreamKind::Stderr, b"e1\n");
    assert_eq!(
        store.partials(None).map(|it| it.text).collect::<Vec<_>>(),
        ["a"]
    );
    store.append(1, OUT, b"2\n");
    assert_eq!(texts(&store.lines(None, 0..10)), ["a1", "b1", "e1", "a2"]);
    assert_eq!(texts(&store.lines(Some(1), 0..10)), ["a1", "e1", "a2"]);
    let last = store.lines(Some(1), 2..3)[0];
    assert_eq!(
        (last.row, last.number, last.sequence, last.stream),
        (1, 2, 3, OUT)
    );
    assert_eq!(texts(&store.lines_before(None, u64::MAX, 2)), ["e1", "a2"]);
    assert_eq!(texts(&store.lines_before(None, 3, 2)), ["b1", "e1"]);
    assert_eq!(texts(&store.lines_from(None, 1, 2)), ["b1", "e1"]);
    assert_eq!(texts(&store.lines_before(Some(1), 2, 9)), ["a1", "e1"]);
    assert_eq!(store.extent(None), 0..4);
    assert_eq!(store.extent(Some(2)), 0..1);
    assert_eq!(store.partials(None).count(), 0);
}

#[test]
fn the_unknown_is_empty() {
    let store = small();
    assert_eq!(store.lines(None, 0..9), []);
    assert_eq!(store.lines(Some(7), 0..9), []);
    assert_eq!(store.lines_before(Some(7), u64::MAX, 9), []);
    assert_eq!(store.lines_from(None, u64::MAX, 9), []);
    assert_eq!(store.extent(Some(7)), 0..0);
    assert_eq!(store.counts(Some(7)), Counts::default());
    assert_eq!(store.revision(Some(7)), 0);
}

#[test]
fn a_flood_leaves_the_lines_of_others() {
    let mut store = small();
    store.append(1, OUT, b"first\n");
    for number in 0..1000 {
        store.append(2, OUT, format!("{number}\n").as_bytes());
        store.append(3, OUT, format!("{number}\n").as_bytes());
    }
    assert_eq!(texts(&store.lines_from(None, 0, 1)), ["first"]);
    assert!(store.merged.len() < 600, "{} runs", store.merged.len());
    assert_eq!(
        texts(&store.lines_before(None, u64::MAX, 2)),
        ["999", "999"]
    );
    assert!(store.counts(Some(2)).bytes <= 64);
    assert!(store.counts(None).bytes <= 150);
    store.remove(2);
    assert!(
        store
            .lines(None, 0..u64::MAX)
            .iter()
            .all(|line| line.row != 2)
    );
    assert_eq!(store.rows().collect::<Vec<_>>(), [1, 3]);
}

#[test]
fn the_end_of_a_stream_makes_a_line_of_the_rest() {
    let mut store = small();
    store.append(1, OUT, b"half \xf0\x9f");
    store.finish(1, OUT);
    store.finish(1, OUT);
    let lines = store.lines(Some(1), 0..9);
    assert_eq!(texts(&lines), ["half \u{fffd}"]);
    assert!(!lines[0].ended);
    assert_eq!(store.partials(None).count(), 0);
}

#[test]
fn revisions_tell_what_has_changed() {
    let mut store = small();
    store.append(1, OUT, b"x");
    let (one, all) = (store.revision(Some(1)), store.revision(None));
    store.append(2, OUT, b"y\n");
    assert_eq!(store.revision(Some(1)), one);
    assert!(store.revision(None) > all);
}

/// What was written, cut into lines by the simplest means.
#[derive(Default)]
struct Model {
    pending: BTreeMap<u32, String>,
    /// In order of completion: row, text, whether ended.
    lines: Vec<(u32, String, bool)>,
}

impl Model {
    fn append(&mut self, row: u32, text: &str) {
        let pending = self.pending.entry(row).or_default();
        pending.push_str(text);
        while let Some(at) = pending.find('\n') {
            let rest = pending.split_off(at + 1);
            let line = std::mem::replace(pending, rest);
            self.lines
                .push((row, line.trim_end_matches('\n').to_owned(), true));
        }
    }
}

proptest! {
    #[test]
    fn what_is_read_is_what_was_written_without_what_was_dropped(
        writes in prop::collection::vec((0_u32..4, "[a-zß€]{0,9}\n?[a-z]{0,3}\n?"), 0..200),
        row_limit in 0_usize..80, total in 0_usize..200, cut in 0_usize..12,
    ) {
        let mut store = OutputStore::new(Limits { row: row_limit, total });
        let mut model = Model::default();
        for (row, text) in &writes {
            model.append(*row, text);
            let (left, right) = text.as_bytes().split_at(cut.min(text.len()));
            store.append(*row, OUT, left);
            store.append(*row, OUT, right);
        }
        for row in 0..4 {
            store.finish(row, OUT);
            if let Some(rest) = model.pending.remove(&row).filter(|rest| !rest.is_empty()) {
                model.lines.push((row, rest, false));
            }
        }
        let size = |(_, text, ended): &(u32, String, bool)| text.len() as u64 + u64::from(*ended);

        let all = store.lines(None, 0..u64::MAX);
        for line in &all {
            let (row, text, ended) = &model.lines[line.sequence as usize];
            prop_assert_eq!((line.row, line.text, line.ended), (*row, text.as_str(), *ended));
        }
        prop_assert!(all.windows(2).all(|pair| pair[0].sequence < pair[1].sequence));
        let counts = store.counts(None);
        prop_assert!(counts.bytes <= total as u64);
        prop_assert_eq!(counts.lines, model.lines.len() as u64);
        prop_assert_eq!(counts.dropped_lines, counts.lines - all.len() as u64);
        prop_assert_eq!(counts.bytes + counts.dropped_bytes, model.lines.iter().map(size).sum::<u64>());

        for row in 0..4 {
            let written: Vec<_> = model.lines.iter().filter(|line| line.0 == row).collect();
            let counts = store.counts(Some(row));
            let kept = store.lines(Some(row), 0..u64::MAX);
            prop_assert!(counts.bytes <= row_limit as u64);
            prop_assert_eq!(counts.lines, written.len() as u64);
            let (gone, rest) = written.split_at(counts.dropped_lines as usize);
            prop_assert_eq!(counts.dropped_bytes, gone.iter().map(|line| size(line)).sum::<u64>());
            let expected: Vec<&str> = rest.iter().map(|line| line.1.as_str()).collect();
            prop_assert_eq!(kept.iter().map(|line| line.text).collect::<Vec<_>>(), expected);
            prop_assert_eq!(store.extent(Some(row)), counts.dropped_lines..counts.lines);
        }

        let middle = counts.lines / 2;
        let split: Vec<_> = store.lines_before(None, middle, usize::MAX).into_iter()
            .chain(store.lines_from(None, middle, usize::MAX)).collect();
        prop_assert_eq!(split, all);
    }
}

/// Run by `cargo test --release -- --ignored --nocapture`.
#[test]
#[ignore = "measures; meaningful in a release build only"]
fn speed_and_size() {
    let line = format!("{}\n", "x".repeat(41));
    let chunk = line.repeat(1500).into_bytes();
    let mut store = OutputStore::new(Limits {
        row: usize::MAX,
        total: usize::MAX,
    });
    let begun = Instant::now();
    for turn in 0..1000 {
        store.append(turn % 4, StreamKind::Terminal, &chunk);
    }
    let took = begun.elapsed();
    let lines = store.counts(None).lines;
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let memory = status
        .lines()
        .find(|line| line.starts_with("VmRSS"))
        .unwrap();
    println!(
        "{lines} lines, {} bytes in {took:?}; {memory}",
        store.counts(None).bytes
    );
    assert!(took.as_secs_f64() < lines as f64 / 1e6);
}
