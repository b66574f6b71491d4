//! Tests of the core: each rule as a table test of a few lines, and all of them at once by
//! simulation. They must not touch processes, sockets or clocks.

mod adoption;
mod attach;
mod attach_by_pid;
mod breakpoints;
mod broken;
mod closing;
mod commands;
mod ends;
mod exec;
mod exits;
mod faults;
mod groups;
mod harness;
mod idle;
mod inspect;
mod kept;
mod parting;
mod reach;
mod scopes;
mod simulation;
mod stops;
mod waits;
