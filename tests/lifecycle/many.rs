//! Many children that come at once: none is lost. `DAPTREE_TEST_CHILDREN` says how many.

use crate::{below, code, scene};
use daptree_model::{Follow, Op, RowState};
use daptree_testing::Front;

/// How many where nothing is said: enough that several are adopted at the same time.
const CHILDREN: usize = 48;

#[test]
fn of_many_children_at_once_none_is_lost() {
    let asked = std::env::var("DAPTREE_TEST_CHILDREN").ok();
    let count = asked.map_or(CHILDREN, |count| count.parse().unwrap());
    let scene = scene();
    let mut front = Front::start(&scene);
    let root = front.launch(
        &["python", "descend.py", "1", &count.to_string()],
        &[("descend.py", "# bottom")],
    );
    let paused = front.until_paused(count);
    let snapshot = front.snapshot();
    assert_eq!(below(&snapshot, root), paused);
    assert_eq!(snapshot.trees[0].children_released, 0);
    assert!(
        snapshot
            .rows
            .values()
            .all(|row| row.follow == Follow::Adopted)
    );
    let told = front.command(Op::ContinueAll(root));
    let expected = daptree_model::Answer::Told(u32::try_from(count).unwrap());
    assert_eq!(told, Ok(expected));
    assert_eq!(front.wait(root).state, RowState::Ended);
    let snapshot = front.snapshot();
    assert!(paused.iter().all(|id| code(&snapshot.rows[id]) == Some(3)));
    assert_eq!(code(&snapshot.rows[&root]), Some(0));
}
