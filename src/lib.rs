//! The engine of daptree as a library.

pub mod dap;
pub mod engine;
