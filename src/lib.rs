//! The engine of daptree as a library.

pub mod adapter;
pub mod cli;
pub mod dap;
pub mod demo;
pub mod doctor;
pub mod engine;
pub mod launch;
pub mod logs;
pub mod output;
pub mod process;
pub mod run;
pub mod settings;
pub mod trace;
pub mod tree;

use daptree_model::Stdio;

/// The terminal that a root gets before a front end has shown it: that of daptree itself.
fn launch_size() -> Stdio {
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stdout()).ok();
    let (columns, rows) = size.map_or((80, 24), |size| (size.ws_col.max(2), size.ws_row.max(1)));
    Stdio::Terminal { columns, rows }
}
