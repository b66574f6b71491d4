//! The ids that name things on both sides of the channel. Each is a counter of the engine;
//! none is ever used twice. They must not carry meaning beyond identity.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

macro_rules! counter {
    ($(#[$doc:meta])* $name:ident, $inner:ty, $prefix:literal) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    };
}

counter!(
    /// A row of the forest: one process for its whole life, through `exec`; a root row is a slot
    /// that outlives its runs. Written `s1`, `s2` …
    RowId, u32, "s"
);
counter!(
    /// Counts the stops of one session; a command is decided on one of them. 0: never stopped.
    StopNumber, u32, ""
);
counter!(
    /// A command or read of one front end; its reply carries it back.
    CommandId, u64, "c"
);
counter!(
    /// A connected front end.
    ClientId, u32, "client"
);
counter!(
    /// A breakpoint of a tree.
    BreakpointId, u32, "b"
);

/// The text is not a row id such as `s3`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no session id: one looks like `s3`")]
pub struct NotARowId(pub String);

impl FromStr for RowId {
    type Err = NotARowId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.strip_prefix('s')
            .and_then(|digits| digits.parse().ok())
            .map(RowId)
            .ok_or_else(|| NotARowId(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_ids_read_back() {
        assert_eq!("s12".parse(), Ok(RowId(12)));
        assert_eq!(RowId(12).to_string(), "s12");
        for bad in ["", "s", "12", "s-1", "sx", "s99999999999"] {
            assert!(bad.parse::<RowId>().is_err(), "{bad}");
        }
    }
}
