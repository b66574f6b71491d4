//! The engine of daptree as a library.

pub mod adapter;
pub mod dap;
pub mod engine;
pub mod tree;
