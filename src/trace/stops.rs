//! A stop whose line is being put together.

use daptree_model::{Answer, CommandId, Exception, Reply, Stop, StopNumber};
use std::collections::BTreeMap;
use std::time::Instant;

/// What is known of a stop so far.
#[derive(Debug)]
pub(super) struct StopInProgress {
    pub stop: StopNumber,
    pub at: Stop,
    /// Reads that are not answered yet; the index of an expression, or `None` for the rest.
    pub waiting: BTreeMap<CommandId, Option<usize>>,
    /// The values by the index of their expression, in words.
    pub values: BTreeMap<usize, String>,
    pub thread: Option<String>,
    pub exception: Option<Exception>,
    pub printed: bool,
    pub hold_until: Option<Instant>,
}

impl StopInProgress {
    pub(super) fn new(stop: StopNumber, at: Stop) -> Self {
        Self {
            stop,
            exception: at.exception.clone(),
            at,
            waiting: BTreeMap::new(),
            values: BTreeMap::new(),
            thread: None,
            printed: false,
            hold_until: None,
        }
    }

    pub(super) fn lacks_exception(&self) -> bool {
        self.at.reason == "exception" && self.exception.is_none()
    }

    pub(super) fn answered(&mut self, reply: Reply, evals: &[String]) {
        let Some(index) = self.waiting.remove(&reply.id) else {
            return;
        };
        match reply.result {
            Ok(Answer::Threads(threads)) => {
                let stopped = threads
                    .into_iter()
                    .find(|thread| Some(thread.id) == self.at.thread);
                self.thread = stopped.map(|thread| thread.name);
            }
            Ok(Answer::Evaluation(evaluation)) => {
                let value = evaluation
                    .value
                    .unwrap_or_else(|error| format!("error: {error}"));
                if let Some(index) = index.filter(|index| *index < evals.len()) {
                    self.values.insert(index, value);
                }
            }
            Ok(Answer::Exception(exception)) => self.exception = Some(exception),
            Ok(_) => {}
            Err(error) => {
                if let Some(index) = index {
                    self.values.insert(index, format!("error: {error}"));
                }
            }
        }
    }
}
