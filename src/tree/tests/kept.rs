//! What outlives the engine, and the exception filters of programs that nobody chose any for.

use super::harness::{Bench, at_line};
use crate::tree::{Effect, Input, Kept, KeptBreakpoint};
use daptree_model::{Answer, BreakpointScope, BreakpointSpec, Op};
use serde_json::json;

fn kept(spec: BreakpointSpec) -> KeptBreakpoint {
    KeptBreakpoint {
        spec,
        enabled: true,
        note: None,
    }
}

/// What the engine was told to keep, oldest first.
fn told(bench: &Bench) -> Vec<&Kept> {
    let effects = bench.effects.iter();
    effects
        .filter_map(|effect| match effect {
            Effect::Keep(kept) => Some(kept),
            _ => None,
        })
        .collect()
}

#[test]
fn changes_are_told_where_somebody_keeps_them() {
    let (mut bench, _) = Bench::launched();
    bench.command(Op::SetBreakpoint(at_line(5))).unwrap();
    assert!(told(&bench).is_empty());
    let mut bench = Bench::empty();
    bench.feed(Input::Restored(Kept::default(), None));
    let root = bench.launch_with(|_| {});
    bench.forget();
    bench.command(Op::SetBreakpoint(at_line(5))).unwrap();
    let here = BreakpointSpec {
        scope: BreakpointScope::Session(root),
        ..at_line(6)
    };
    bench.command(Op::SetBreakpoint(here)).unwrap();
    let filters = vec!["raised".to_owned()];
    bench
        .command(Op::SetExceptionFilters(filters.clone()))
        .unwrap();
    let newest = told(&bench).pop().unwrap();
    assert_eq!(
        newest.breakpoints,
        [kept(at_line(5))],
        "rows have other ids next time"
    );
    assert_eq!(newest.exception_filters, Some(filters));
    // What is not kept is not told: a stop, a step.
    bench.forget();
    bench.stop(root, "breakpoint", "/p/main.py", 5);
    assert!(told(&bench).is_empty());
}

#[test]
fn what_was_kept_is_set_before_anything_runs() {
    let mut bench = Bench::empty();
    let off = KeptBreakpoint {
        enabled: false,
        note: Some("its file is gone".to_owned()),
        ..kept(at_line(4))
    };
    let broken = BreakpointSpec {
        scope: BreakpointScope::Program("[".to_owned()),
        ..at_line(9)
    };
    let all = Kept {
        breakpoints: vec![kept(at_line(3)), off, kept(broken)],
        exception_filters: Some(vec!["raised".to_owned()]),
        maps: Vec::new(),
    };
    bench.feed(Input::Restored(all, Some("put aside".to_owned())));
    assert!(told(&bench).is_empty(), "it is kept already");
    assert_eq!(bench.notices(), ["breakpoints", "breakpoints"]);
    bench.launch_with(|request| request.exceptions = None);
    assert_eq!(
        bench.last("setBreakpoints")["breakpoints"],
        json!([{ "line": 3 }])
    );
    assert_eq!(
        bench.last("setExceptionBreakpoints")["filters"],
        json!(["raised"])
    );
    let notes: Vec<_> = bench
        .tree
        .breakpoints
        .values()
        .map(|b| b.note.clone())
        .collect();
    assert_eq!(notes, [None, Some("its file is gone".to_owned())]);
}

#[test]
fn filters_that_a_launch_names_go_before_those_that_were_kept() {
    let mut bench = Bench::empty();
    let all = Kept {
        exception_filters: Some(vec!["raised".to_owned()]),
        ..Kept::default()
    };
    bench.feed(Input::Restored(all, None));
    bench.launch_with(|request| request.exceptions = Some(vec!["uncaught".to_owned()]));
    assert_eq!(
        bench.last("setExceptionBreakpoints")["filters"],
        json!(["uncaught"])
    );
    // What was typed for one run does not become what is kept.
    bench.command(Op::SetBreakpoint(at_line(5))).unwrap();
    let newest = told(&bench).pop().unwrap();
    assert_eq!(newest.exception_filters, Some(vec!["raised".to_owned()]));
}

#[test]
fn a_test_runner_suggests_its_failures_and_so_do_its_workers() {
    for (words, filters) in [
        (vec!["python", "-m", "pytest"], json!(["userUnhandled"])),
        (vec!["python", "main.py"], json!([])),
    ] {
        let mut bench = Bench::empty();
        bench.silent.insert("attach");
        let root = bench.launch_with(|request| request.exceptions = None);
        bench.silent.remove("attach");
        bench.tree.change_row(root, |row| {
            row.command = words.iter().map(|word| (*word).to_owned()).collect();
        });
        let connection = bench.connection(root);
        bench.say(connection, "initialized", json!({}));
        assert_eq!(bench.last("setExceptionBreakpoints")["filters"], filters);
        assert_eq!(json!(bench.row(root).filters_on), filters);
        // Chosen by hand, it is so everywhere.
        let chosen = vec!["raised".to_owned()];
        assert_eq!(
            bench.command(Op::SetExceptionFilters(chosen)),
            Ok(Answer::Told(1))
        );
        assert_eq!(
            bench.last("setExceptionBreakpoints")["filters"],
            json!(["raised"])
        );
    }
}
