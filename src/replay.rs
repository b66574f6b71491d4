//! `daptree replay`: the terminal front end on a journal in the place of an engine. It starts no
//! program and touches no process.

use crate::record::{self, Journal};
use crate::run::HUNG_UP;
use crate::trace::FAILED;
use anyhow::Result;
use daptree_ui::{Outcome, UiOptions};
use std::path::Path;

/// Shows a journal until the user leaves. Gives the exit status.
pub async fn run(path: &Path) -> Result<i32> {
    let journal = Journal::read(path)?;
    let lacks = journal.lacks();
    let (to_replay, from_replay) = record::replay(journal);
    let outcome = daptree_ui::run(UiOptions::default(), to_replay, from_replay).await?;
    if let Some(lacks) = lacks {
        eprintln!("daptree: {}: the journal has {lacks}", path.display());
    }
    Ok(match outcome {
        Outcome::Quit { .. } => 0,
        Outcome::Signal(number) => 128 + number,
        Outcome::TerminalLost => HUNG_UP,
        Outcome::LaunchFailed(message) => {
            eprintln!("daptree: {message}");
            FAILED
        }
    })
}
