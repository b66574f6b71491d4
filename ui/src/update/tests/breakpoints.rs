//! Keys and prompts of the breakpoints pane, and of the exception filters.

use super::*;
use daptree_model::{
    BreakpointAt, BreakpointId, BreakpointScope, Exception, ExceptionFilter, PathMap, Reach,
};

fn desk() -> Desk {
    let mut desk = Desk::new(fixture::five_stopped());
    desk.keys("6");
    desk
}

fn spec(desk: &Desk) -> BreakpointSpec {
    desk.snapshot.breakpoints[0].spec.clone()
}

fn edited(desk: &Desk, change: impl FnOnce(&mut BreakpointSpec)) -> Vec<Action> {
    let mut spec = spec(desk);
    change(&mut spec);
    command(None, Op::EditBreakpoint(BreakpointId(1), spec))
}

#[test]
fn each_part_of_a_breakpoint_is_typed_into_a_prompt() {
    let mut desk = desk();
    let wanted = edited(&desk, |spec| spec.condition = Some("x > 3".to_owned()));
    assert_eq!(desk.keys("ix > 3\n"), wanted);
    let wanted = edited(&desk, |spec| spec.hit_condition = Some("% 2".to_owned()));
    assert_eq!(desk.keys("=% 2\n"), wanted);
    let wanted = edited(&desk, |spec| spec.log_message = Some("x is {x}".to_owned()));
    assert_eq!(desk.keys("mx is {x}\n"), wanted);
    let wanted = edited(&desk, |spec| spec.once = true);
    assert_eq!(desk.keys("f"), wanted);
    assert!(desk.state.prompt.is_none());
}

#[test]
fn a_scope_is_read_as_it_is_written() {
    for (typed, scope) in [
        ("all", None),
        ("", None),
        ("s3", Some(BreakpointScope::Session(RowId(3)))),
        ("s3+", Some(BreakpointScope::Subtree(RowId(3)))),
        ("gw*", Some(BreakpointScope::Program("gw*".to_owned()))),
        ("sx", Some(BreakpointScope::Program("sx".to_owned()))),
    ] {
        let mut desk = desk();
        let wanted = match scope {
            Some(scope) => edited(&desk, |spec| spec.scope = scope),
            // It is everywhere already: nothing is to be done.
            None => Vec::new(),
        };
        assert_eq!(desk.keys(&format!("w{typed}\n")), wanted, "{typed}");
    }
}

#[test]
fn a_prompt_begins_with_what_there_is_and_empty_takes_it_away() {
    let mut desk = desk();
    let known = Arc::make_mut(&mut desk.snapshot.breakpoints[0]);
    known.spec.condition = Some("x".to_owned());
    known.spec.scope = BreakpointScope::Subtree(RowId(2));
    desk.keys("w");
    assert_eq!(desk.state.prompt.as_ref().unwrap().text, "s2+");
    desk.keys("\u{1b}i");
    assert_eq!(desk.state.prompt.as_ref().unwrap().text, "x");
    // One backspace too many does not leave the prompt.
    let wanted = edited(&desk, |spec| spec.condition = None);
    assert_eq!(desk.keys("\u{8}\u{8}\n"), wanted);
    assert_eq!(desk.keys("iy\u{1b}"), []);
}

#[test]
fn a_function_is_asked_for_from_every_pane() {
    let mut desk = Desk::new(fixture::five_stopped());
    let wanted = command(None, Op::SetBreakpoint(BreakpointSpec::function("cube")));
    assert_eq!(desk.keys("Bcube()\n"), wanted);
    assert_eq!(desk.keys("B\n"), [], "nothing was typed");
}

#[test]
fn without_a_breakpoint_and_for_one_that_is_gone_the_keys_say_so() {
    let mut desk = desk();
    desk.keys("i");
    let all = std::mem::take(&mut desk.snapshot.breakpoints);
    assert_eq!(desk.keys("x\n"), []);
    assert!(message(&desk).contains("gone"));
    desk.publish();
    for key in ["i", "=", "m", "w", "f", "a", "d", " "] {
        assert_eq!(desk.keys(key), []);
        assert!(message(&desk).contains("no breakpoint yet"), "{key}");
    }
    desk.snapshot.breakpoints = all;
    desk.publish();
    assert_eq!(desk.keys("a"), []);
    assert!(message(&desk).contains("nothing is offered"));
}

#[test]
fn what_is_offered_is_accepted_by_a_key() {
    let mut desk = desk();
    let offer = Some(PathMap {
        local: "/srv/shop".to_owned(),
        remote: "/app".to_owned(),
    });
    let reason = "it runs a copy".to_owned();
    let known = Arc::make_mut(&mut desk.snapshot.breakpoints[0]);
    known.reach.insert(RowId(2), Reach::Never { reason, offer });
    assert_eq!(
        desk.keys("a"),
        command(None, Op::AcceptOffer(BreakpointId(1)))
    );
}

#[test]
fn a_function_has_no_line_to_show() {
    let mut desk = desk();
    let known = Arc::make_mut(&mut desk.snapshot.breakpoints[0]);
    known.spec.at = BreakpointAt::Function("cube".to_owned());
    desk.publish();
    assert_eq!(desk.keys("\n"), []);
    assert_eq!(desk.state.pane(), Pane::Breakpoints);
    assert!(message(&desk).contains("cube()"));
}

fn filter(name: &str) -> ExceptionFilter {
    ExceptionFilter {
        filter: name.to_owned(),
        label: format!("{name} exceptions"),
        description: None,
        default: false,
    }
}

#[test]
fn filters_are_switched_in_their_dialog() {
    let mut desk = Desk::new(fixture::five_stopped());
    assert_eq!(desk.keys("E "), [], "no adapter has said what it has");
    desk.keys("\u{1b}");
    desk.change(2, |row| {
        row.exception_filters = vec![filter("raised"), filter("uncaught")];
        row.filters_on = vec!["uncaught".to_owned()];
        let stop = row.stopped.as_mut().unwrap();
        stop.exception = Some(Exception {
            type_name: "ValueError".to_owned(),
            message: "no".to_owned(),
            mode: "always".to_owned(),
            chain: Vec::new(),
        });
    });
    let set = |names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        command(None, Op::SetExceptionFilters(names))
    };
    assert_eq!(desk.keys("E "), set(&["raised", "uncaught"]));
    desk.snapshot.exception_filters = Some(vec!["raised".to_owned(), "uncaught".to_owned()]);
    assert_eq!(
        desk.keys("jjj "),
        set(&["raised"]),
        "the cursor stays in the list"
    );
    assert_eq!(desk.keys("k "), set(&["uncaught"]));
    desk.keys("E");
    assert_eq!(desk.state.dialog, None);
}
