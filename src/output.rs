//! What the programs of a tree print: decoded, cleaned of control sequences, kept once in order
//! of arrival, bounded, read by cursor. It must not know where bytes come from, nor who reads.

pub mod clean;
pub mod decode;
pub mod row;
pub mod store;

pub use decode::Decoder;
pub use store::{Counts, Limits, Line, OutputStore, Partial};

/// What a piece of output was written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StreamKind {
    /// Standard output, a pipe.
    Stdout,
    /// Standard error, a pipe.
    Stderr,
    /// A terminal: standard output and standard error together.
    Terminal,
    /// Said by the debug adapter or by daptree, not by the program.
    Console,
}
