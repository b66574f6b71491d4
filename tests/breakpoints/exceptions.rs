//! Which exceptions stop when nobody chose any, and what a stop says of what led to it.

use crate::{run_through, scene};
use daptree_model::{Answer, Cause, Op, RowId};
use daptree_testing::Front;

const TESTS: &str = "import pytest, unittest\n\n\ndef look(key):\n    try:\n        return {}[key]\n\
    \x20   except KeyError as error:\n        raise ValueError('no such key') from error\n\n\n\
    def test_fails():\n    look('k')  # fails here\n\n\n\
    def test_skips():\n    pytest.skip('not today')\n\n\n\
    @pytest.mark.xfail\ndef test_expected():\n    pytest.xfail('known')\n\n\n\
    def test_raises():\n    with pytest.raises((KeyError, ValueError)):\n        look('k')\n\n\n\
    def test_calls():\n    pytest.raises(ValueError, look, 'k')\n\n\n\
    class TestUnit(unittest.TestCase):\n    def test_asserts(self):\n        \
    with self.assertRaises(ValueError):\n            look('k')\n\n    def test_skips(self):\n        \
    self.skipTest('no')\n\n\n\
    def test_waits_for_another():\n    with pytest.raises(KeyError):\n        look('k')  # not this\n";

/// Runs pytest with the filters that it suggests. Gives the root.
fn launch_pytest(front: &mut Front<'_>, words: &[&str]) -> RowId {
    let pytest = ["python", "-m", "pytest", "-q", "-pno:cacheprovider"];
    let mut request = front.request(&[&pytest, words].concat(), &[]);
    request.exceptions = None;
    front.launch_as(request)
}

#[test]
fn a_failing_test_stops_by_itself_and_says_what_led_to_it() {
    let scene = scene();
    scene.write("test_chain.py", TESTS);
    let mut front = Front::start(&scene);
    let root = launch_pytest(&mut front, &["test_chain.py"]);
    front.until_paused(1);
    let row = front.row(root);
    assert_eq!(row.filters_on, ["userUnhandled"]);
    let stop = row.stopped.as_ref().unwrap();
    assert_eq!(stop.reason, "exception");
    let raised = stop.exception.as_ref().unwrap();
    assert_eq!(
        (raised.type_name.as_str(), raised.message.as_str()),
        ("ValueError", "no such key")
    );
    let cause = Cause {
        type_name: "KeyError".to_owned(),
        message: "'k'".to_owned(),
        is_direct: true,
    };
    assert_eq!(raised.chain, [cause]);
    // A test that is skipped, or known to fail, is no fault.
    assert_eq!(run_through(&mut front, root), [root, root]);
    front.until_output("2 failed, 3 passed, 2 skipped, 1 xfailed");
}

#[test]
fn the_workers_of_a_test_run_stop_too_and_other_programs_do_not() {
    let scene = scene();
    scene.write("test_chain.py", TESTS);
    scene.write("plain.py", "raise ValueError('no')\n");
    let mut front = Front::start(&scene);
    let root = launch_pytest(&mut front, &["-n", "1", "test_chain.py"]);
    let worker = front.until_paused(1)[0];
    assert_ne!(worker, root);
    assert_eq!(run_through(&mut front, root), [worker, worker]);
    let mut request = front.request(&["python", "plain.py"], &[]);
    request.exceptions = None;
    let plain = front.launch_as(request);
    front.until_ended(plain);
    assert_eq!(front.row(plain).stop.0, 0);
}

#[test]
fn filters_that_are_chosen_reach_a_program_that_is_under_way() {
    let scene = scene();
    scene.write(
        "tries.py",
        "first = 1  # first\ntry:\n    int('x')  # raises here\nexcept ValueError:\n\
         \x20   print('handled')\n",
    );
    let mut front = Front::start(&scene);
    let root = front.launch(&["python", "tries.py"], &[("tries.py", "# first")]);
    front.until_paused(1);
    let filters = vec!["raised".to_owned()];
    assert_eq!(
        front.command(Op::SetExceptionFilters(filters.clone())),
        Ok(Answer::Told(1))
    );
    front.go_on(root);
    let snapshot = front.until("the exception", |snapshot| {
        let row = &snapshot.rows[&root];
        row.is_paused() && row.stop.0 == 2
    });
    let row = &snapshot.rows[&root];
    assert_eq!(row.filters_on, filters);
    let raised = row.stopped.as_ref().unwrap().exception.as_ref().unwrap();
    assert_eq!(
        (raised.type_name.as_str(), raised.chain.len()),
        ("ValueError", 0)
    );
    front.go_on(root);
    front.until_output("handled");
}
