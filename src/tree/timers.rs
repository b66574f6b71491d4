//! Deadlines of the core, as data: the shell wakes the core at the earliest.

use super::{ConnectionId, Millis, Run, Tree};
use daptree_model::RowId;
use std::collections::BTreeSet;

/// What a deadline is for. One that has become pointless is ignored when it fires.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// A request has to be answered.
    Request(ConnectionId, i64),
    /// A child has to be adopted.
    Adoption(RowId),
    /// A refused attach is tried again.
    Attach(RowId),
    /// A stop whose place did not come is shown without.
    Arrival(RowId, u32),
    /// A half-fetched inspection is shown as it is.
    Show(RowId, u32),
    /// A stop that nobody looks at is fetched, so that it can be read after an end.
    Keep(RowId, u32),
    /// Somebody may end a session that stands since then.
    Watchdog(RowId, Millis),
    /// Sessions with which nothing was done for long are closed.
    Idle,
    /// A process's name is asked for again.
    Name(RowId),
    /// A session is asked how it has loaded the files of its breakpoints.
    Look(RowId),
    /// A session ended; its process is looked at if it still lives.
    Linger(RowId, ConnectionId),
    /// A wait is over.
    Wait(u64),
    /// A tree that seemed to be over is looked at again.
    Survey(Run),
    /// Children that nobody reports are looked for.
    Scan(Run),
    /// A closing connection is cut.
    Cut(ConnectionId),
    /// A subtree that was asked to end is ended.
    Force(u64),
}

#[derive(Debug, Default)]
pub(super) struct Timers {
    due: BTreeSet<(Millis, Timer)>,
    told: Option<Millis>,
}

impl Timers {
    pub(super) fn set(&mut self, at: Millis, timer: Timer) {
        self.due.insert((at, timer));
    }

    /// Whether this is due at this time.
    pub(super) fn holds(&self, at: Millis, timer: &Timer) -> bool {
        self.due.contains(&(at, timer.clone()))
    }

    pub(super) fn cancel(&mut self, at: Millis, timer: Timer) {
        self.due.remove(&(at, timer));
    }

    fn pop_due(&mut self, now: Millis) -> Option<Timer> {
        let (at, _) = self.due.first()?;
        if *at > now {
            return None;
        }
        self.due.pop_first().map(|(_, timer)| timer)
    }

    /// The next deadline, when it is not the one that was told last.
    pub(super) fn changed_next(&mut self) -> Option<Millis> {
        let next = self.due.first().map(|(at, _)| *at);
        if next == self.told {
            return None;
        }
        self.told = next;
        next
    }

    fn forget_told(&mut self, now: Millis) {
        if self.told.is_some_and(|at| at <= now) {
            self.told = None;
        }
    }
}

impl Tree {
    pub(super) fn fire_due_timers(&mut self) {
        self.timers.forget_told(self.now);
        while let Some(timer) = self.timers.pop_due(self.now) {
            match timer {
                Timer::Request(connection, seq) => self.request_timed_out(connection, seq),
                Timer::Adoption(row) => self.adoption_timed_out(row),
                Timer::Attach(row) => self.attach_again(row),
                Timer::Arrival(row, stop) => self.arrival_timed_out(row, stop),
                Timer::Show(row, stop) => self.show_inspect(row, stop),
                Timer::Keep(row, stop) => self.fetch_to_keep(row, stop),
                Timer::Watchdog(row, since) => self.warn_of_watchdog(row, since),
                Timer::Idle => self.close_idle(),
                Timer::Name(row) => self.ask_name(row),
                Timer::Look(row) => self.look(row),
                Timer::Linger(row, connection) => self.lingered(row, connection),
                Timer::Wait(number) => self.wait_timed_out(number),
                Timer::Survey(run) => self.survey_again(run),
                Timer::Scan(run) => self.scan(run),
                Timer::Cut(connection) => self.cut(connection),
                Timer::Force(operation) => self.force_end(operation),
            }
        }
    }
}
