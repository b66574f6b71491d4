//! "Verified, but can never be hit here": when a process is asked what it has loaded, and what
//! comes of its answer.

use super::harness::{Bench, at_line};
use daptree_model::{Answer, Breakpoint, BreakpointId, EngineError, Event, Op, PathMap, Reach};

const FILE: &str = "/p/main.py";

fn looks(bench: &Bench) -> usize {
    let asked = bench.sent.iter().filter(|(_, request)| {
        let arguments = request.arguments.clone().unwrap_or_default();
        arguments["expression"].to_string().contains("'asked'")
    });
    asked.count()
}

fn only(bench: &Bench) -> &Breakpoint {
    &bench.tree.breakpoints[&BreakpointId(1)]
}

fn with_breakpoint() -> (Bench, daptree_model::RowId) {
    Bench::launched_with(|request| request.breakpoints = vec![at_line(3)])
}

#[test]
fn a_process_is_asked_once_a_moment_later_and_never_at_a_stop() {
    let (mut bench, root) = with_breakpoint();
    bench.loaded.insert(FILE, ("loaded", ""));
    bench.stop(root, "breakpoint", FILE, 3);
    assert_eq!(looks(&bench), 0);
    bench.pass(1_500);
    assert_eq!(looks(&bench), 1);
    assert_eq!(only(&bench).reach[&root], Reach::Loaded);
    bench.command(Op::Continue(root)).unwrap();
    bench.stop(root, "breakpoint", FILE, 3);
    bench.pass(60_000);
    assert_eq!(looks(&bench), 1);
}

#[test]
fn what_is_not_loaded_is_looked_for_once_more_and_is_no_error() {
    let (mut bench, root) = with_breakpoint();
    bench.loaded.insert(FILE, ("not", ""));
    bench.pass(1_500);
    assert_eq!(only(&bench).reach[&root], Reach::NotYet);
    assert_eq!(only(&bench).verified(), (1, 1));
    bench.loaded.insert(FILE, ("loaded", ""));
    bench.pass(5_000);
    assert_eq!(looks(&bench), 2);
    assert_eq!(only(&bench).reach[&root], Reach::Loaded);
    // Never more than twice.
    let (mut bench, _) = with_breakpoint();
    bench.loaded.insert(FILE, ("not", ""));
    bench.pass(60_000);
    assert_eq!(looks(&bench), 2);
}

#[test]
fn without_breakpoints_nothing_is_asked() {
    let (mut bench, root) = Bench::launched();
    bench.report(root, 200);
    bench.pass(10_000);
    assert_eq!(looks(&bench), 0);
}

#[test]
fn a_copy_is_named_and_its_map_is_offered_and_taken_up() {
    let (mut bench, root) = with_breakpoint();
    bench.loaded.insert(FILE, ("copy", "/b/lib/p/main.py"));
    bench.forget_events();
    bench.pass(1_500);
    let map = PathMap {
        local: "/p".to_owned(),
        remote: "/b/lib/p".to_owned(),
    };
    let (row, reason, offer) = only(&bench).out_of_reach().unwrap();
    assert_eq!((row, offer), (root, Some(&map)));
    assert!(reason.contains("/b/lib/p/main.py"), "{reason}");
    assert_eq!(only(&bench).verified(), (0, 1));
    let told = bench.events.iter().any(
        |event| matches!(event, Event::Breakpoint { verified: false, message: Some(why), .. } if why == reason),
    );
    assert!(told, "{:?}", bench.events);
    bench.forget();
    bench.loaded.clear();
    bench.loaded.insert(FILE, ("not", ""));
    bench.loaded.insert("/b/lib/p/main.py", ("loaded", ""));
    let id = BreakpointId(1);
    assert_eq!(bench.command(Op::AcceptOffer(id)), Ok(Answer::Done));
    let sent = bench.last("setBreakpoints");
    assert_eq!(sent["source"]["path"], "/b/lib/p/main.py");
    assert_eq!(sent["breakpoints"][0]["line"], 3);
    bench.pass(1_500);
    assert_eq!(only(&bench).reach[&root], Reach::Loaded);
    // A stop in the copy is one at the breakpoint, and is shown under our name.
    bench.stop(root, "breakpoint", "/b/lib/p/main.py", 3);
    let view = bench.row(root);
    let stop = view.stopped.as_ref().unwrap();
    assert_eq!(stop.breakpoints, [id]);
    assert_eq!(stop.place.as_ref().unwrap().path, FILE);
    // There is nothing more to take up.
    let again = bench.command(Op::AcceptOffer(id));
    assert!(matches!(again, Err(EngineError::Failed(_))), "{again:?}");
}

#[test]
fn a_name_that_the_code_carries_is_told_and_nothing_is_offered_where_no_such_file_is() {
    for (how, offers) in [("code", true), ("lost", false)] {
        let (mut bench, _) = with_breakpoint();
        bench.loaded.insert(FILE, (how, "/old/main.py"));
        bench.pass(1_500);
        let (_, reason, offer) = only(&bench).out_of_reach().unwrap();
        assert!(reason.contains("/old/main.py"), "{reason}");
        assert_eq!(offer.is_some(), offers, "{how}");
    }
}

#[test]
fn nonsense_and_silence_say_nothing() {
    let (mut bench, root) = with_breakpoint();
    bench.loaded.insert(FILE, ("sideways", ""));
    bench.pass(60_000);
    assert!(!only(&bench).reach.contains_key(&root));
    let (mut bench, root) = with_breakpoint();
    bench.silent.insert("evaluate");
    bench.pass(60_000);
    assert!(!only(&bench).reach.contains_key(&root));
    assert_eq!(only(&bench).verified(), (1, 1));
}

#[test]
fn paths_that_are_given_are_told_under_both_names() {
    let mut bench = Bench::empty();
    bench.feed(crate::tree::Input::Maps(vec![PathMap {
        local: "/p".to_owned(),
        remote: "/app".to_owned(),
    }]));
    bench.launch_with(|request| request.breakpoints = vec![at_line(3)]);
    let told: Vec<String> = bench
        .sent
        .iter()
        .filter(|(_, request)| request.command == "setBreakpoints")
        .map(|(_, request)| {
            let arguments = request.arguments.clone().unwrap_or_default();
            arguments["source"]["path"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(told, ["/app/main.py", "/p/main.py"]);
}
