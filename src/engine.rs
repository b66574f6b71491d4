//! The shell around the core: it owns connections, tasks and timers, runs effects and feeds
//! inputs. It must not know of a front end or of one adapter's habits.

pub mod connection;
