//! Breakpoints over restarts: one file for each workspace, read when the engine starts and written
//! by a task of its own a moment after something changed. Two engines of one workspace may write
//! at once: each brings its own changes into what the file says by then. It must not know what a
//! breakpoint does.

use crate::tree::{Input, Kept, KeptBreakpoint};
use daptree_model::{BreakpointAt, BreakpointSpec, PathMap};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// The format of the file.
const VERSION: u32 = 1;
/// Changes that follow each other so closely are written once.
const TOGETHER: Duration = Duration::from_millis(200);
/// A source longer than this is not compared, in bytes.
const LONGEST: u64 = 2 << 20;
/// How far a line is looked for that is not where it was.
const FAR: usize = 200;

/// Why the file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub(super) enum KeptError {
    /// The system said no.
    #[error("{}: {what}: {source}; breakpoints are not kept until this is put right", path.display())]
    System {
        path: PathBuf,
        what: &'static str,
        source: io::Error,
    },
}

/// The file as it is written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Stored {
    version: u32,
    workspace: PathBuf,
    breakpoints: Vec<StoredBreakpoint>,
    exception_filters: Option<Vec<String>>,
    maps: Vec<PathMap>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StoredBreakpoint {
    spec: BreakpointSpec,
    enabled: bool,
    /// The text of its line when it was set, to find it again by.
    text: Option<String>,
}

/// The file of one workspace, and what this engine last had of it.
#[derive(Debug)]
pub(super) struct KeptFile {
    path: PathBuf,
    workspace: PathBuf,
    base: Kept,
    texts: BTreeMap<BreakpointAt, String>,
}

/// What was read at the start.
#[derive(Debug)]
pub(super) struct Opened {
    pub file: KeptFile,
    pub kept: Kept,
    /// What is to be said about it.
    pub trouble: Option<String>,
}

impl KeptFile {
    /// Reads what was kept of a workspace, a real path.
    pub(super) fn open(state: &Path, workspace: &Path) -> Opened {
        let mut name = String::new();
        let digest = Sha256::digest(workspace.as_os_str().as_encoded_bytes());
        for byte in digest.iter().take(8) {
            let _ = write!(name, "{byte:02x}");
        }
        let path = state.join("breakpoints").join(format!("{name}.json"));
        let mut file = Self {
            path,
            workspace: workspace.to_path_buf(),
            base: Kept::default(),
            texts: BTreeMap::new(),
        };
        let (stored, trouble) = file.read();
        let kept = file.take_up(stored);
        file.base = kept.clone();
        for known in &mut file.base.breakpoints {
            known.note = None;
        }
        Opened {
            file,
            kept,
            trouble,
        }
    }

    /// The file's content. One that cannot be used is put aside, and that is said.
    fn read(&self) -> (Stored, Option<String>) {
        let text = match fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return (Stored::default(), None);
            }
            Err(error) => return (Stored::default(), Some(self.put_aside(&error.to_string()))),
        };
        match serde_json::from_str::<Version>(&text) {
            Ok(Version { version }) if version != VERSION => {
                let why = format!("it is of version {version}, and this daptree knows {VERSION}");
                return (Stored::default(), Some(self.put_aside(&why)));
            }
            _ => {}
        }
        match serde_json::from_str(&text) {
            Ok(stored) => (stored, None),
            Err(error) => (Stored::default(), Some(self.put_aside(&error.to_string()))),
        }
    }

    /// Renames the file so that nothing writes over it; says so.
    fn put_aside(&self, why: &str) -> String {
        let about = format!(
            "the breakpoints kept for {} cannot be read: {why}",
            self.workspace.display()
        );
        let free = (1..100).map(|number| self.path.with_extension(format!("broken-{number}")));
        for aside in free {
            if aside.exists() {
                continue;
            }
            return match fs::rename(&self.path, &aside) {
                Ok(()) => format!("{about}; nothing is lost, it is now {}", aside.display()),
                Err(error) => format!("{about}, and it cannot be put aside: {error}"),
            };
        }
        format!(
            "{about}, and there are too many like it: remove some of {}",
            self.path.with_extension("broken-*").display()
        )
    }

    /// Looks where the lines are now.
    fn take_up(&mut self, stored: Stored) -> Kept {
        let mut sources: BTreeMap<String, Option<Vec<String>>> = BTreeMap::new();
        let mut breakpoints = Vec::new();
        for StoredBreakpoint {
            mut spec,
            enabled,
            text,
        } in stored.breakpoints
        {
            let mut note = None;
            if let BreakpointAt::Line { path, line } = &mut spec.at {
                let lines = sources
                    .entry(path.clone())
                    .or_insert_with(|| lines_of(path));
                (*line, note) = find_again(path, *line, text.as_deref(), lines.as_deref());
            }
            if let Some(text) = text {
                self.texts.insert(spec.at.clone(), text);
            }
            breakpoints.push(KeptBreakpoint {
                spec,
                enabled,
                note,
            });
        }
        Kept {
            breakpoints,
            exception_filters: stored.exception_filters,
            maps: stored.maps,
        }
    }

    /// Brings this engine's changes into the file.
    fn write(&mut self, ours: Kept) -> Result<Option<String>, KeptError> {
        let failed = |path: &Path, what, source| KeptError::System {
            path: path.to_path_buf(),
            what,
            source,
        };
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(|source| failed(folder, "the folder cannot be made", source))?;
        let lock = self.path.with_extension("lock");
        let locked =
            private(&lock, false).map_err(|source| failed(&lock, "it cannot be opened", source))?;
        let mut locked = fd_lock::RwLock::new(locked);
        let _held = locked
            .write()
            .map_err(|source| failed(&lock, "it cannot be locked", source))?;
        let (theirs, trouble) = self.read();
        let merged = self.merge(&ours, theirs);
        let new = self
            .path
            .with_extension(format!("new-{}", std::process::id()));
        let text = serde_json::to_vec_pretty(&merged)
            .map_err(|error| failed(&new, "it cannot be made", error.into()))?;
        let written = private(&new, true).and_then(|mut file| {
            file.write_all(&text)?;
            file.sync_all()
        });
        written
            .and_then(|()| fs::rename(&new, &self.path))
            .map_err(|source| failed(&new, "it cannot be written", source))?;
        self.base = ours;
        Ok(trouble)
    }

    /// What this engine changed since it last looked goes over what the file says by now.
    fn merge(&mut self, ours: &Kept, theirs: Stored) -> Stored {
        let mut places: Vec<BreakpointAt> = Vec::new();
        let all = ours.breakpoints.iter().map(|known| &known.spec.at);
        for at in all.chain(theirs.breakpoints.iter().map(|known| &known.spec.at)) {
            if !places.contains(at) {
                places.push(at.clone());
            }
        }
        let own: BTreeSet<&BreakpointAt> = ours.breakpoints.iter().map(|k| &k.spec.at).collect();
        self.texts.retain(|at, _| own.contains(at));
        let mut breakpoints = Vec::new();
        for at in places {
            let mine = find(&ours.breakpoints, &at);
            let stored = theirs.breakpoints.iter().find(|known| known.spec.at == at);
            if mine == find(&self.base.breakpoints, &at) {
                breakpoints.extend(stored.cloned());
            } else if let Some(mine) = mine {
                breakpoints.push(StoredBreakpoint {
                    spec: mine.spec.clone(),
                    enabled: mine.enabled,
                    text: self.text_at(&at),
                });
            }
        }
        let exception_filters = if ours.exception_filters == self.base.exception_filters {
            theirs.exception_filters
        } else {
            ours.exception_filters.clone()
        };
        let mut maps = theirs.maps;
        maps.retain(|map| ours.maps.contains(map) || !self.base.maps.contains(map));
        for map in &ours.maps {
            if !maps.contains(map) {
                maps.push(map.clone());
            }
        }
        Stored {
            version: VERSION,
            workspace: self.workspace.clone(),
            breakpoints,
            exception_filters,
            maps,
        }
    }

    /// The text of a line, as it was when it was first asked for.
    fn text_at(&mut self, at: &BreakpointAt) -> Option<String> {
        if let Some(text) = self.texts.get(at) {
            return Some(text.clone());
        }
        let BreakpointAt::Line { path, line } = at else {
            return None;
        };
        let lines = lines_of(path)?;
        let text = lines.get((*line as usize).checked_sub(1)?)?;
        self.texts.insert(at.clone(), text.clone());
        Some(text.clone())
    }
}

#[derive(Deserialize)]
struct Version {
    version: u32,
}

fn find<'a>(all: &'a [KeptBreakpoint], at: &BreakpointAt) -> Option<&'a KeptBreakpoint> {
    all.iter().find(|known| known.spec.at == *at)
}

fn private(path: &Path, empty: bool) -> io::Result<File> {
    OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(empty)
        .mode(0o600)
        .open(path)
}

/// The lines of a source without the space around them; `None` where it cannot be read.
fn lines_of(path: &str) -> Option<Vec<String>> {
    let size = fs::metadata(path).ok().filter(fs::Metadata::is_file)?.len();
    if size > LONGEST {
        return None;
    }
    let bytes = fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    Some(text.lines().map(|line| line.trim().to_owned()).collect())
}

/// Where a line is now, and what is to be said about it.
fn find_again(
    path: &str,
    line: u32,
    text: Option<&str>,
    lines: Option<&[String]>,
) -> (u32, Option<String>) {
    let Some(lines) = lines else {
        let gone = !Path::new(path).exists();
        return (line, gone.then(|| "its file is gone".to_owned()));
    };
    let Some(text) = text else {
        return (line, None);
    };
    let at = (line as usize).saturating_sub(1);
    if lines.get(at).is_some_and(|now| now == text) {
        return (line, None);
    }
    let nearest = lines
        .iter()
        .enumerate()
        .filter(|(index, now)| !text.is_empty() && *now == text && index.abs_diff(at) <= FAR)
        .min_by_key(|(index, _)| index.abs_diff(at));
    match nearest {
        Some((index, _)) => {
            let now = u32::try_from(index + 1).unwrap_or(line);
            (now, Some(format!("its line was {line} before")))
        }
        None => (line, Some(format!("its line has changed, it was `{text}`"))),
    }
}

/// The task that writes.
#[derive(Debug)]
pub(super) struct Keeping {
    changes: mpsc::UnboundedSender<Kept>,
    task: JoinHandle<()>,
}

impl Keeping {
    /// Starts the task; what goes wrong is told through `tell`.
    pub(super) fn start(mut file: KeptFile, tell: impl Fn(Input) + Send + 'static) -> Self {
        let (changes, mut inbox) = mpsc::unbounded_channel::<Kept>();
        let task = tokio::spawn(async move {
            while let Some(mut newest) = inbox.recv().await {
                let mut over = false;
                loop {
                    match tokio::time::timeout(TOGETHER, inbox.recv()).await {
                        Ok(Some(newer)) => newest = newer,
                        Ok(None) => {
                            over = true;
                            break;
                        }
                        Err(_) => break,
                    }
                }
                let writing = tokio::task::spawn_blocking(move || {
                    let result = file.write(newest);
                    (file, result)
                });
                let Ok((back, result)) = writing.await else {
                    return;
                };
                file = back;
                match result {
                    Ok(None) => {}
                    Ok(Some(trouble)) => tell(Input::NotKept(trouble)),
                    Err(error) => {
                        tracing::error!("{error}");
                        tell(Input::NotKept(error.to_string()));
                    }
                }
                if over {
                    return;
                }
            }
        });
        Self { changes, task }
    }

    /// This is to be kept.
    pub(super) fn keep(&self, kept: Kept) {
        // The task ends with this sender only.
        let _ = self.changes.send(kept);
    }

    /// Waits until everything is written, for a second at most.
    pub(super) async fn finish(self) {
        drop(self.changes);
        let _ = tokio::time::timeout(Duration::from_secs(1), self.task).await;
    }
}

#[cfg(test)]
mod tests;
