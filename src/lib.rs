//! The engine of daptree as a library.

pub mod output;
pub mod process;
