//! A front end's end of the engine: replies and events in order, the newest snapshot only.
//! A slow front end delays nobody; what it has not read yet waits here.

use daptree_model::{FromEngine, Reply, Snapshot};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Notify, mpsc};

#[derive(Debug, Default)]
struct Waiting {
    messages: VecDeque<FromEngine>,
    snapshot: Option<Arc<Snapshot>>,
    closed: bool,
}

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    changed: Notify,
}

/// The engine's side of a front end. Dropping it ends the front end's channel once everything
/// was read.
#[derive(Debug)]
pub(super) struct Front {
    shared: Arc<Shared>,
}

impl Front {
    /// Passes messages on to a front end's channel.
    pub(super) fn new(channel: mpsc::Sender<FromEngine>) -> Self {
        let shared = Arc::<Shared>::default();
        tokio::spawn(forward(Arc::clone(&shared), channel));
        Self { shared }
    }

    /// Something that must arrive, in order.
    pub(super) fn send(&self, message: FromEngine) {
        self.change(|waiting| waiting.messages.push_back(message));
    }

    /// The answer to a command. A state from before it that was not read yet is dropped, so that
    /// what is read after the answer shows what came of it; the next one follows at once.
    pub(super) fn reply(&self, reply: Reply) {
        self.change(|waiting| {
            waiting.snapshot = None;
            waiting.messages.push_back(FromEngine::Reply(reply));
        });
    }

    /// The state; an older one that was not read yet is dropped.
    pub(super) fn publish(&self, snapshot: Arc<Snapshot>) {
        self.change(|waiting| waiting.snapshot = Some(snapshot));
    }

    /// For a task that has something to send later.
    pub(super) fn sender(&self) -> Sender {
        Sender(Arc::clone(&self.shared))
    }

    fn change(&self, change: impl FnOnce(&mut Waiting)) {
        self.shared.change(change);
    }
}

/// Sends to a front end, from another task.
#[derive(Debug)]
pub(super) struct Sender(Arc<Shared>);

impl Sender {
    /// Something that must arrive.
    pub(super) fn send(&self, message: FromEngine) {
        self.0.change(|waiting| waiting.messages.push_back(message));
    }
}

impl Shared {
    fn change(&self, change: impl FnOnce(&mut Waiting)) {
        change(&mut self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_one();
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.change(|waiting| waiting.closed = true);
    }
}

async fn forward(shared: Arc<Shared>, channel: mpsc::Sender<FromEngine>) {
    loop {
        let next = {
            let mut waiting = shared
                .waiting
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            // Events were made before the snapshot that follows them: they go first.
            let message = waiting.messages.pop_front();
            let next = message.or_else(|| waiting.snapshot.take().map(FromEngine::Snapshot));
            if next.is_none() && waiting.closed {
                return;
            }
            next
        };
        match next {
            Some(message) => {
                if channel.send(message).await.is_err() {
                    return;
                }
            }
            None => shared.changed.notified().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use daptree_model::{Answer, CommandId, Event, RowId};

    #[tokio::test]
    async fn events_keep_their_order_and_only_the_newest_snapshot_comes() {
        let (send, mut receive) = mpsc::channel(1);
        let front = Front::new(send);
        for seq in 0..100 {
            front.send(FromEngine::Event {
                seq,
                event: Event::Continued(RowId(1)),
            });
            front.publish(Arc::new(Snapshot {
                revision: seq,
                ..Snapshot::default()
            }));
        }
        drop(front);
        let (mut seqs, mut last) = (Vec::new(), None);
        while let Some(message) = receive.recv().await {
            match message {
                FromEngine::Event { seq, .. } => seqs.push(seq),
                FromEngine::Snapshot(snapshot) => {
                    assert!(last < Some(snapshot.revision));
                    last = Some(snapshot.revision);
                }
                _ => {}
            }
        }
        assert_eq!(seqs, (0..100).collect::<Vec<_>>());
        assert_eq!(last, Some(99));
    }

    #[tokio::test]
    async fn no_state_from_before_an_answer_comes_after_it() {
        let (send, mut receive) = mpsc::channel(8);
        let front = Front::new(send);
        let state = |revision| {
            Arc::new(Snapshot {
                revision,
                ..Snapshot::default()
            })
        };
        // Nothing is passed on before we wait.
        front.publish(state(1));
        front.reply(Reply {
            id: CommandId(7),
            result: Ok(Answer::Done),
        });
        front.publish(state(2));
        drop(front);
        assert!(matches!(receive.recv().await, Some(FromEngine::Reply(_))));
        match receive.recv().await {
            Some(FromEngine::Snapshot(snapshot)) => assert_eq!(snapshot.revision, 2),
            other => panic!("{other:?}"),
        }
        assert_eq!(receive.recv().await, None);
    }
}
