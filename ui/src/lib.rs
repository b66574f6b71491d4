//! The terminal front end of daptree. Three functions carry it: [`update`] changes the state,
//! [`view`] draws it, and [`run`] owns the terminal and moves words between both and the engine.
//! Of the packages of daptree it knows the model alone.
//!
//! - `commands` is the one table of keys; `layout` says where panes stand; `rows` flattens
//!   the snapshot into what lists show.
//! - `state` and `update` are the decisions, `view` the drawing; both are pure.
//! - `windows` holds what was read, `highlight` colours sources on a thread of its own.
//! - `front` joins them without a terminal (tests and pictures use it), `terminal` is the loop.

pub mod commands;
pub mod highlight;
pub mod layout;
pub mod picture;
pub mod rows;
pub mod state;
pub mod theme;
pub mod windows;

mod ansi;
#[cfg(test)]
mod fake;
#[cfg(test)]
mod fixture;
mod front;
mod keyboard;
mod options;
mod paint;
mod panics;
mod screen;
mod terminal;
mod update;
mod view;

pub use commands::keys_markdown;
pub use front::Front;
pub use options::{Outcome, UiError, UiOptions};
pub use terminal::run;
pub use theme::{Theme, ThemeError};
pub use update::{Input, update};
pub use view::{Painted, view};
pub use windows::Windows;
