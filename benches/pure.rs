//! The pure parts on their own: messages in and out, a snapshot to a frame. No process is started.

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use daptree::dap::codec::{Decoder, encode};
use daptree::dap::message::Message;
use daptree_model::{FromEngine, ProcessKey, Row, RowId, Snapshot};
use daptree_ui::{Front, UiOptions};
use serde_json::{Value, json};
use std::hint::black_box;
use std::sync::Arc;

/// Rows of the tree that is drawn.
const ROWS: u32 = 64;

/// A `stackTrace` answer of twenty frames.
fn stack() -> Value {
    let frames: Vec<Value> = (1..=20)
        .map(|id| {
            json!({
                "id": id, "name": format!("function_{id}"), "line": id * 10, "column": 1,
                "source": { "path": "/home/me/project/package/module.py", "sourceReference": 0 },
            })
        })
        .collect();
    json!({
        "seq": 20, "type": "response", "request_seq": 10, "success": true,
        "command": "stackTrace", "body": { "stackFrames": frames, "totalFrames": 20 },
    })
}

fn messages(criterion: &mut Criterion) {
    let Ok(frame) = encode(&stack()) else {
        return;
    };
    let mut group = criterion.benchmark_group("stack of 20 frames");
    group.throughput(Throughput::Bytes(frame.len() as u64));
    group.bench_function("bytes to message", |bencher| {
        let mut decoder = Decoder::new();
        bencher.iter(|| {
            decoder.push(black_box(&frame));
            let body = decoder.next().ok().flatten().unwrap_or_default();
            black_box(Message::from_slice(body).is_ok())
        });
    });
    if let Ok(message) = serde_json::from_value::<Message>(stack()) {
        group.bench_function("message to bytes", |bencher| {
            bencher.iter(|| encode(black_box(&message)).is_ok());
        });
    }
    group.finish();
}

fn row(number: u32) -> Row {
    let id = RowId(number);
    let parent = (number > 1).then_some(RowId(1));
    Row {
        parent,
        parent_session: parent,
        root: RowId(1),
        process: Some(ProcessKey {
            pid: 1_000 + number,
            start: 1,
        }),
        program: Some("/home/me/project/worker.py".to_owned()),
        command: vec!["python".to_owned(), "worker.py".to_owned()],
        language: Some("python".to_owned()),
        ..Row::new(id, format!("worker-{number}"))
    }
}

fn frames(criterion: &mut Criterion) {
    let rows = (1..=ROWS)
        .map(|number| (RowId(number), Arc::new(row(number))))
        .collect();
    let snapshot = Arc::new(Snapshot {
        revision: 1,
        rows,
        ..Snapshot::default()
    });
    let front = || Front::new(UiOptions::default(), (200, 60));
    let mut group = criterion.benchmark_group("64 rows at 200x60");
    group.bench_function("a snapshot to the front end", |bencher| {
        bencher.iter_batched_ref(
            front,
            |front| front.engine([FromEngine::Snapshot(Arc::clone(&snapshot))]),
            BatchSize::SmallInput,
        );
    });
    group.bench_function("a frame", |bencher| {
        let mut front = front();
        front.engine([FromEngine::Snapshot(Arc::clone(&snapshot))]);
        bencher.iter(|| black_box(front.frame().area));
    });
    group.finish();
}

criterion_group!(pure, messages, frames);
criterion_main!(pure);
