//! Replays a recorded run into a front end without a terminal and draws its pictures. The same
//! recording gives the same bytes: there is no clock here, and syntax colours are waited for.

use crate::recording::{Answers, Entry};
use daptree_model::{FromEngine, Reply, ToEngine};
use daptree_ui::highlight::{self, Coloured, Request};
use daptree_ui::{Front, UiOptions, picture};
use std::io::{self, BufRead};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

/// How long the worker may take to colour a source.
const COLOURING: Duration = Duration::from_secs(60);

/// Why a recording gives no pictures.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The file or a thread.
    #[error("{}: cannot be read: {source}", path.display())]
    Unreadable {
        /// The recording.
        path: PathBuf,
        /// The system's words.
        source: io::Error,
    },
    /// A line is none of ours.
    #[error("{}:{line}: no line of a recording: {source}; renew it with `cargo run --example record`", path.display())]
    Malformed {
        /// The recording.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// The parser's words.
        source: serde_json::Error,
    },
    /// The front end asks what was never asked while recording.
    #[error(
        "{name}: the recording does not hold {what}; renew it with `cargo run --example record`"
    )]
    NotRecorded {
        /// The next picture.
        name: String,
        /// The read.
        what: String,
    },
    /// No syntax colours.
    #[error("the thread for syntax colours could not be started: {0}")]
    NoColours(#[from] io::Error),
    /// The worker did not answer.
    #[error("{0}: its syntax colours did not come within {limit} s", limit = COLOURING.as_secs())]
    ColoursLate(String),
}

/// The recordings in a folder, by name.
pub fn recordings(folder: &Path) -> Result<Vec<PathBuf>, ReplayError> {
    let unreadable = |source| ReplayError::Unreadable {
        path: folder.to_owned(),
        source,
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "jsonl")
        {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The lines of a recording.
pub fn read(path: &Path) -> Result<Vec<Entry>, ReplayError> {
    let unreadable = |source| ReplayError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut entries = Vec::new();
    for (index, line) in io::BufReader::new(file).lines().enumerate() {
        let line = line.map_err(unreadable)?;
        let entry = serde_json::from_str(&line).map_err(|source| ReplayError::Malformed {
            path: path.to_owned(),
            line: index + 1,
            source,
        })?;
        entries.push(entry);
    }
    Ok(entries)
}

/// The pictures of a recording: name and SVG text, those of one size after the other.
pub fn pictures(entries: &[Entry]) -> Result<Vec<(String, String)>, ReplayError> {
    let mut sizes = Vec::new();
    for entry in entries {
        if let Entry::Picture { size, .. } = entry
            && !sizes.contains(size)
        {
            sizes.push(*size);
        }
    }
    let mut out = Vec::new();
    for size in sizes {
        let mut stage = Stage::new(size)?;
        for (index, entry) in entries.iter().enumerate() {
            match entry {
                Entry::Keys(keys) => stage.front.type_keys(keys),
                Entry::Engine(message) => stage.front.engine([message.clone()]),
                Entry::Answer { what, result } => {
                    stage.answers.learn(what, result);
                }
                Entry::Picture { name, size: of } if *of == size => {
                    out.push((name.clone(), picture::svg(&stage.front.frame())));
                }
                Entry::Picture { .. } => {}
            }
            // What an answer is for comes after it.
            if !matches!(entry, Entry::Answer { .. }) {
                stage.settle(|| next_picture(entries, index))?;
            }
        }
    }
    Ok(out)
}

fn next_picture(entries: &[Entry], from: usize) -> String {
    let names = entries.iter().skip(from).find_map(|entry| match entry {
        Entry::Picture { name, .. } => Some(name.clone()),
        _ => None,
    });
    names.unwrap_or_default()
}

/// A front end with recorded answers in the place of the engine.
struct Stage {
    front: Front,
    answers: Answers,
    /// What the front end wants coloured: caught, so that each result can be waited for.
    wanted: Receiver<Request>,
    worker: Sender<Request>,
    coloured: Receiver<Coloured>,
}

impl Stage {
    fn new(size: (u16, u16)) -> Result<Self, ReplayError> {
        let (want, wanted) = mpsc::channel();
        let (done, coloured) = mpsc::channel();
        let worker = highlight::start(move |lines| done.send(lines).is_ok())?;
        let mut front = Front::new(UiOptions::default(), size);
        front.colour_with(want);
        Ok(Self {
            front,
            answers: Answers::default(),
            wanted,
            worker,
            coloured,
        })
    }

    /// Answers what the front end asks until it has no question left. Commands and interests need
    /// no answer: what they led to is in the recording.
    fn settle(&mut self, name: impl Fn() -> String) -> Result<(), ReplayError> {
        while let Some(message) = self.front.outgoing().pop_front() {
            let ToEngine::Read(read) = message else {
                continue;
            };
            let result = self.answers.answer(&read.what);
            let result = result.ok_or_else(|| ReplayError::NotRecorded {
                name: name(),
                what: format!("{:?}", read.what),
            })?;
            let reply = Reply {
                id: read.id,
                result,
            };
            self.front.engine([FromEngine::Reply(reply)]);
        }
        while let Ok(request) = self.wanted.try_recv() {
            self.colour(request)?;
        }
        Ok(())
    }

    fn colour(&mut self, request: Request) -> Result<(), ReplayError> {
        let key = request.key.clone();
        let to = request.to.min(request.text.lines().count());
        let late = || ReplayError::ColoursLate(key.clone());
        self.worker.send(request).map_err(|_| late())?;
        loop {
            let lines = self.coloured.recv_timeout(COLOURING).map_err(|_| late())?;
            let last = lines.exact && lines.from + lines.lines.len() >= to;
            self.front.colours(lines);
            if last {
                return Ok(());
            }
        }
    }
}
