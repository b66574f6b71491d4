//! The engine of daptree as a library.

pub mod cli;
pub mod doctor;
pub mod launch;
pub mod settings;
