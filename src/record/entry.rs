//! The lines of a journal: its header, and what is kept of a run. Plain data; it must not know of
//! files.

use crate::tree::Input;
use daptree_model::{RowId, Stream};
use serde::{Deserialize, Serialize};

/// The format of the journals that this daptree writes and reads. Grows with every change that an
/// older reader would not understand, also one of [`Input`].
pub const FORMAT: u64 = 1;

/// What a journal's header has in [`Header::journal`].
pub(super) const NAME: &str = "daptree";

/// The first line of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// Always `daptree`.
    pub journal: String,
    /// [`FORMAT`] when it was written.
    pub format: u64,
    /// The version of daptree that wrote it.
    pub version: String,
    /// The settings of the run, without environment values.
    pub settings: serde_json::Value,
    /// After how long an idle tree is closed, in ms; `None`: never.
    #[serde(default)]
    pub idle_ms: Option<u64>,
}

impl Header {
    /// The header of a journal that is begun now.
    pub fn new(settings: serde_json::Value) -> Self {
        Self {
            journal: NAME.to_owned(),
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            settings,
            idle_ms: None,
        }
    }
}

/// What a line keeps.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Entry {
    /// The core heard this.
    Input(Input),
    /// A process wrote, or something was said for it.
    Output {
        /// Whose it is.
        row: RowId,
        /// To which stream.
        stream: Stream,
        /// The root whose terminal shows it too.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        screen: Option<RowId>,
        /// What was written.
        #[serde(with = "text")]
        bytes: Vec<u8>,
    },
    /// A root's terminal has this size from here on.
    Screen {
        /// The root.
        root: RowId,
        /// Cells across.
        columns: u16,
        /// Cells down.
        rows: u16,
        /// A program was started on it: it is empty.
        fresh: bool,
    },
    /// The front ends were given a snapshot of this revision.
    Published(u64),
    /// So many entries could not be kept here: what follows may not be as it was.
    Lost(u64),
}

impl Entry {
    /// What it takes while it waits to be written, in bytes, roughly.
    pub(super) fn weight(&self) -> usize {
        match self {
            Self::Output { bytes, .. } => bytes.len() + 64,
            Self::Input(_) => 512,
            _ => 64,
        }
    }

    /// Whether a session stopped with it: what has to be on the disk.
    pub(super) fn is_stop(&self) -> bool {
        match self {
            Self::Input(Input::Dap(_, crate::dap::message::Message::Event(event))) => {
                event.event == "stopped"
            }
            _ => false,
        }
    }
}

/// Bytes as text where they are text, which they mostly are.
mod text {
    use serde::{Deserialize, Deserializer, Serializer};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Text(String),
        Bytes(Vec<u8>),
    }

    pub fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(bytes) {
            Ok(text) => to.serialize_str(text),
            Err(_) => to.collect_seq(bytes),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        Ok(match Either::deserialize(from)? {
            Either::Text(text) => text.into_bytes(),
            Either::Bytes(bytes) => bytes,
        })
    }
}
