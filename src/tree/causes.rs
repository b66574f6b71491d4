//! Why a process ended, in words for people: by us, where it stood, by its parent or with it. The
//! kernel tells how a process ended and never who sent a signal to another one: what follows from
//! circumstances alone says `likely`. It must not end anything.

use super::timers::Timer;
use super::watchdogs::{self, Watchdog};
use super::{Millis, Tree};
use daptree_model::{EndStatus, ProcessKey, Row, RowId, Stop, StopNumber};
use std::sync::Arc;

/// Ends that are no further apart, in ms, are one.
const TOGETHER: u64 = 1_000;
/// At which part of a watchdog's time it is warned of.
const WARNING: f64 = 0.3;
/// So soon after a session broke away from its stop its end belongs to that, in ms.
const AFTERMATH: u64 = 1_500;
/// From which part of its time on an end is a watchdog's: it counts from before the stop.
const DUE: f64 = 0.6;

/// Where a session stood when it ended.
#[derive(Clone, Debug)]
pub(super) struct Fall {
    pub stop: StopNumber,
    pub at: Stop,
    /// Until when it stood.
    pub until: Millis,
    /// It left the stop without being told to: something in the process got through, such as a
    /// handler of a signal.
    pub broke_away: bool,
}

/// The signals by which one process ends another.
fn is_ending(status: EndStatus) -> bool {
    const SIGNALS: [i32; 3] = [6, 9, 15];
    matches!(status, EndStatus::Signaled(number) if SIGNALS.contains(&number))
}

impl Tree {
    /// Why a row has just ended this way, where it did not end by itself.
    pub(super) fn cause_of(
        &self,
        row: RowId,
        status: EndStatus,
        fall: Option<&Fall>,
    ) -> Option<String> {
        let data = self.rows.get(&row)?;
        if let Some(ours) = &data.cause {
            return Some(ours.clone());
        }
        let parent = data.view.parent.and_then(|id| self.view(id));
        let handled = fall.is_some_and(|fall| fall.broke_away);
        let parent = parent.filter(|_| is_ending(status) || handled);
        let signal = status.signal_name().unwrap_or_default();
        let Some(fall) = fall else {
            let parent = parent.filter(|parent| self.ended_just_now(parent))?;
            return Some(format!(
                "ended with its parent {} by {signal}",
                named(parent)
            ));
        };
        let stood = fall.until.0.saturating_sub(fall.at.since_ms);
        let place = fall.at.place.as_ref().map_or(String::new(), |place| {
            let file = place.path.rsplit('/').next().unwrap_or(&place.path);
            format!(" at {file}:{}", place.line)
        });
        let Some(parent) = parent else {
            return Some(format!("ended while stopped{place}"));
        };
        let clock = data.stands_since.unwrap_or(Millis(fall.at.since_ms));
        let watched = fall.until.0.saturating_sub(clock.0) as f64 / 1_000.0;
        let watchdog = self
            .watchdog_of(row)
            .filter(|dog| watched >= dog.limit * DUE);
        let how = match (watchdog.and_then(|dog| dog.signal), is_ending(status)) {
            (_, true) => signal,
            (Some(sent), false) => format!("{sent}, which it handled"),
            (None, false) => "by a signal that it handled".to_owned(),
        };
        let held = format!("while stopped for {}{place} ({how})", seconds(stood));
        Some(match watchdog {
            Some(dog) => format!(
                "ended by its parent {}, whose timeout is {}, {held}",
                named(parent),
                limit(&dog)
            ),
            None => format!("likely ended by its parent {} {held}", named(parent)),
        })
    }

    fn ended_just_now(&self, row: &Row) -> bool {
        row.end
            .as_ref()
            .is_some_and(|end| !end.released && end.at_ms + TOGETHER >= self.now.0)
    }

    /// A row ended: those of its children that were ended a moment before were ended with it.
    pub(super) fn ended_with(&mut self, parent: RowId) {
        let Some(name) = self.view(parent).map(named) else {
            return;
        };
        let with: Vec<(RowId, String)> = self
            .rows
            .values()
            .filter(|data| data.view.parent == Some(parent))
            .filter_map(|data| {
                let end = data.view.end.as_ref()?;
                let alone = end.cause.is_none() && is_ending(end.status);
                (alone && self.ended_just_now(&data.view))
                    .then(|| (data.view.id, end.status.signal_name().unwrap_or_default()))
            })
            .collect();
        for (row, signal) in with {
            self.change_row(row, |view| {
                if let Some(end) = &mut view.end {
                    end.cause = Some(format!("ended with its parent {name} by {signal}"));
                }
            });
            self.announce(row);
        }
    }

    /// A session left its stop without being told to.
    pub(super) fn broke_away(&mut self, row: RowId) {
        let until = self.now;
        if let Some(data) = self.rows.get_mut(&row) {
            let stop = data.view.stop;
            data.broke_away = data.view.stopped.clone().map(|at| Fall {
                stop,
                at,
                until,
                broke_away: true,
            });
        }
    }

    /// Remembers where a session stands that is about to end, or stood a moment ago.
    pub(super) fn fell(&mut self, row: RowId) {
        let now = self.now;
        let Some(data) = self.rows.get_mut(&row) else {
            return;
        };
        let stop = data.view.stop;
        if let Some(at) = data.view.stopped.clone() {
            data.fell_at = Some(Fall {
                stop,
                at,
                until: now,
                broke_away: false,
            });
        } else if data.fell_at.is_none() {
            let fall = data.broke_away.take();
            data.fell_at =
                fall.filter(|fall| fall.stop == stop && fall.until.after(AFTERMATH) >= now);
        }
    }

    /// Keeps what was fetched of the stop at which a row ended.
    pub(super) fn keep_last_stop(&mut self, row: RowId, fall: &Fall) {
        let Some(data) = self.rows.get_mut(&row) else {
            return;
        };
        if data.inspect.stop == fall.stop && !data.inspect.stacks.is_empty() {
            data.shown = Some(Arc::new(data.inspect.clone()));
        }
        let stop = fall.stop;
        self.change_row(row, |view| view.ended_at = Some(stop));
    }

    // --- watchdogs

    fn watchdog_of(&self, row: RowId) -> Option<Watchdog> {
        let view = self.view(row)?;
        let parent = view.parent.and_then(|id| self.view(id));
        let alive = parent.filter(|parent| !parent.is_ended() || self.ended_just_now(parent));
        watchdogs::over(&view.command, alive.map(|parent| parent.command.as_slice()))
    }

    /// A session stands: somebody may end it if that takes too long. Steps do not set the clock
    /// back, since a watchdog hears of none.
    pub(super) fn start_watchdog(&mut self, row: RowId) {
        let now = self.now;
        let Some(data) = self.rows.get_mut(&row) else {
            return;
        };
        if data.stands_since.is_some() {
            return;
        }
        data.stands_since = Some(now);
        if let Some(dog) = self.watchdog_of(row) {
            let at = now.after((dog.limit * WARNING * 1_000.0) as u64);
            self.timers.set(at, Timer::Watchdog(row, now));
        }
    }

    /// It still stands: says so before the time is up.
    pub(super) fn warn_of_watchdog(&mut self, row: RowId, since: Millis) {
        let Some(data) = self.rows.get(&row) else {
            return;
        };
        let stands = data.view.is_paused() || data.stepping;
        if !data.is_live() || !stands || data.stands_since != Some(since) {
            return;
        }
        let Some(dog) = self.watchdog_of(row) else {
            return;
        };
        let stood = self.now.0.saturating_sub(since.0) as f64 / 1_000.0;
        let left = (dog.limit - stood).max(0.0).floor();
        let name = &data.view.name;
        let unless = if dog.is_sure {
            ""
        } else {
            " unless its configuration says otherwise"
        };
        let message = format!(
            "{} {} {} (its {}){unless}: continue {name} within {left} s, or {}",
            dog.name,
            dog.deed,
            limit(&dog),
            dog.option,
            dog.remedy
        );
        self.notice("watchdog", message, Some(row), false);
    }
}

fn named(row: &Row) -> String {
    let pid = row.process.map_or(String::new(), |ProcessKey { pid, .. }| {
        format!(" (pid {pid})")
    });
    format!("{}{pid}", row.name)
}

fn limit(dog: &Watchdog) -> String {
    format!("{} s", dog.limit)
}

/// Such as `4.1 s`.
fn seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1_000, ms % 1_000 / 100)
}
