//! The engine of daptree as a library.

pub mod adapter;
pub mod cli;
pub mod demo;
pub mod logs;
pub mod run;
pub mod dap;
pub mod doctor;
pub mod engine;
pub mod launch;
pub mod output;
pub mod process;
pub mod settings;
pub mod trace;
pub mod tree;
