//! The state as front ends see it. Shares what has not changed.

use super::{Tree, TreeData};
use daptree_model::{RowId, Snapshot, TreeView};
use std::sync::Arc;

/// Makes the snapshot of the present state.
pub(super) fn make(tree: &Tree) -> Snapshot {
    Snapshot {
        revision: tree.revision,
        at_ms: tree.now.0,
        trees: tree
            .trees
            .iter()
            .map(|(root, data)| tree_view(*root, data, tree.stops_as_one(*root)))
            .collect(),
        rows: tree
            .rows
            .iter()
            .map(|(id, data)| (*id, Arc::clone(&data.view)))
            .collect(),
        breakpoints: tree.breakpoints.values().cloned().collect(),
        exception_filters: tree.exception_filters.clone(),
        inspects: tree
            .rows
            .iter()
            .filter_map(|(id, data)| data.shown.clone().map(|shown| (*id, shown)))
            .collect(),
        output_revision: tree.output_revision,
        output_lines: tree.output.clone(),
        notices: tree.notices.iter().cloned().collect(),
        replay: None,
    }
}

fn tree_view(root: RowId, data: &TreeData, stop_the_world: bool) -> TreeView {
    TreeView {
        root,
        title: data.origin.title(),
        cwd: data.origin.cwd(),
        state: data.state.clone(),
        adapter: data.adapter.clone(),
        children_released: data.children_released,
        rows_dropped: data.rows_dropped,
        has_terminal: data.origin.has_terminal(),
        runs: data.run,
        just_my_code: data.origin.just_my_code(),
        origin: data.origin.view(),
        stop_the_world,
    }
}
