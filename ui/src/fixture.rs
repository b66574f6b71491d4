//! Builders of rows, stops and snapshots for tests and the scripted engine. They know the model
//! alone.
#![allow(dead_code, reason = "tests and the example use different parts")]

use daptree_model::{
    Breakpoint, BreakpointId, BreakpointSpec, BreakpointStatus, End, EndStatus, Follow, Frame,
    Inspect, Page, Place, ProcessKey, Row, RowId, RowState, Scope, Snapshot, Stack, Stop,
    StopNumber, Thread, TreeOrigin, TreeState, TreeView, Variable,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The source that the fixtures stand in.
pub(crate) const MAIN: &str = "/srv/shop/main.py";

/// Its text.
pub(crate) const TEXT: &str = "\
from concurrent.futures import ProcessPoolExecutor
import time


def cube(x):
    \"\"\"The third power.\"\"\"
    time.sleep(0.2)
    res = x ** 3
    return res  # here


if __name__ == \"__main__\":
    with ProcessPoolExecutor(5) as ex:
        print(list(ex.map(cube, [2, 3, 4, 5, 6])))
";

/// A running session.
pub(crate) fn row(id: u32, parent: Option<u32>) -> Row {
    let name = if parent.is_some() {
        format!("SpawnProcess-{}", id - 1)
    } else {
        "main.py".to_owned()
    };
    Row {
        parent: parent.map(RowId),
        parent_session: parent.map(RowId),
        root: RowId(1),
        process: Some(ProcessKey {
            pid: 4_000 + id,
            start: u64::from(id),
        }),
        program: Some(MAIN.to_owned()),
        command: vec!["python".to_owned(), "main.py".to_owned()],
        language: Some("python".to_owned()),
        ..Row::new(RowId(id), name)
    }
}

/// Lets a session stand at its next stop.
pub(crate) fn stop(row: &mut Row, line: u32, reason: &str) {
    row.state = RowState::Paused;
    row.stop = StopNumber(row.stop.0 + 1);
    let place = Place {
        path: MAIN.to_owned(),
        line,
        function: "cube".to_owned(),
    };
    row.last_place = Some(place.clone());
    row.stopped = Some(Stop {
        reason: reason.to_owned(),
        text: None,
        thread: Some(1),
        place: Some(place),
        breakpoints: Vec::new(),
        exception: None,
        since_ms: 0,
    });
}

/// Lets a session run.
pub(crate) fn go(row: &mut Row) {
    row.state = RowState::Running;
    row.stopped = None;
}

/// Lets a process end.
pub(crate) fn end(row: &mut Row, status: EndStatus) {
    row.state = RowState::Ended;
    row.stopped = None;
    row.end = Some(End {
        status,
        cause: None,
        at_ms: 0,
        released: false,
    });
}

/// A process that is not debugged.
pub(crate) fn unfollowed(id: u32, parent: u32, name: &str) -> Row {
    Row {
        name: name.to_owned(),
        follow: Follow::Unfollowed,
        reason: Some("it is no Python process".to_owned()),
        language: None,
        program: None,
        ..row(id, Some(parent))
    }
}

/// A tree of these rows; the first one is its root.
pub(crate) fn snapshot(rows: impl IntoIterator<Item = Row>) -> Snapshot {
    let rows: BTreeMap<RowId, Arc<Row>> = rows
        .into_iter()
        .map(|row| (row.id, Arc::new(row)))
        .collect();
    Snapshot {
        revision: 1,
        trees: vec![TreeView {
            root: RowId(1),
            title: "python main.py".to_owned(),
            cwd: "/srv/shop".to_owned(),
            state: TreeState::Running,
            adapter: "debugpy 1.8.22".to_owned(),
            children_released: 0,
            rows_dropped: 0,
            has_terminal: true,
            runs: 1,
            just_my_code: true,
            stop_the_world: false,
            origin: TreeOrigin::Launched,
        }],
        rows,
        ..Snapshot::default()
    }
}

/// Changes a row of a snapshot.
pub(crate) fn change(snapshot: &mut Snapshot, id: u32, how: impl FnOnce(&mut Row)) {
    if let Some(row) = snapshot.rows.get_mut(&RowId(id)) {
        how(Arc::make_mut(row));
        snapshot.revision += 1;
    }
}

/// A variable; `reference` 0: without children.
pub(crate) fn variable(name: &str, type_name: &str, value: &str, reference: i64) -> Variable {
    Variable {
        name: name.to_owned(),
        value: value.to_owned(),
        type_name: Some(type_name.to_owned()),
        reference,
        children: None,
        evaluate_name: Some(name.to_owned()),
    }
}

fn page(variables: Vec<Variable>, more: bool) -> Page {
    Page {
        variables,
        more,
        error: None,
    }
}

/// What is known of a session at a stop in `cube`.
pub(crate) fn inspect(row: u32, stop: u32, line: u32, x: i64) -> Inspect {
    let frame = |id: i64, name: &str, line: u32, subtle: bool| Frame {
        id,
        name: name.to_owned(),
        path: Some(
            if subtle {
                "/usr/lib/python3/process.py"
            } else {
                MAIN
            }
            .to_owned(),
        ),
        source: if subtle { "process.py" } else { "main.py" }.to_owned(),
        source_reference: 0,
        line,
        subtle,
    };
    let scope = |name: &str, reference: i64, expensive: bool| Scope {
        name: name.to_owned(),
        reference,
        expensive,
    };
    let mut locals = vec![variable("x", "int", &x.to_string(), 0)];
    if line > 8 {
        locals.push(variable("res", "int", &x.pow(3).to_string(), 0));
    }
    locals.push(variable("data", "list", "[1, 2, 3, 4, 5]", 20));
    locals.push(variable("漢字", "str", "'weite Zeichen: 漢字'", 0));
    Inspect {
        row: RowId(row),
        stop: StopNumber(stop),
        threads: vec![Thread {
            id: 1,
            name: "MainThread".to_owned(),
        }],
        stacks: BTreeMap::from([(
            1,
            Stack {
                frames: vec![
                    frame(1, "cube", line, false),
                    frame(2, "_process_worker", 263, true),
                    frame(3, "<module>", 14, false),
                ],
                total: Some(3),
            },
        )]),
        scopes: BTreeMap::from([
            (
                1,
                vec![scope("Locals", 10, false), scope("Globals", 11, true)],
            ),
            (3, vec![scope("Globals", 11, true)]),
        ]),
        pages: BTreeMap::from([
            (10, page(locals, false)),
            (
                20,
                page(
                    (0..5)
                        .map(|n| variable(&n.to_string(), "int", &(n + 1).to_string(), 0))
                        .collect(),
                    true,
                ),
            ),
        ]),
        watches: BTreeMap::new(),
    }
}

/// A breakpoint that some of its sessions verified.
pub(crate) fn breakpoint(id: u32, line: u32, sessions: &[(u32, BreakpointStatus)]) -> Breakpoint {
    let mut made = Breakpoint::new(BreakpointId(id), BreakpointSpec::line(MAIN, line));
    made.sessions = sessions
        .iter()
        .map(|(row, status)| (RowId(*row), status.clone()))
        .collect();
    made
}

/// A root and five workers that stand at line 9, with x = 2 … 6.
pub(crate) fn five_stopped() -> Snapshot {
    let mut rows = vec![row(1, None)];
    for id in 2..=6 {
        let mut worker = row(id, Some(1));
        stop(&mut worker, 9, "breakpoint");
        rows.push(worker);
    }
    let mut made = snapshot(rows);
    for id in 2..=6 {
        made.inspects
            .insert(RowId(id), Arc::new(inspect(id, 1, 9, i64::from(id))));
    }
    let verified: Vec<(u32, BreakpointStatus)> =
        (2..=6).map(|id| (id, BreakpointStatus::Verified)).collect();
    let mut set = breakpoint(1, 9, &verified);
    set.hits = 5;
    made.breakpoints.push(Arc::new(set));
    made
}
