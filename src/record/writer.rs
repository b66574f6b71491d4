//! Writes a journal while a run goes on: a thread of its own behind a bounded queue, so that neither
//! the engine nor a program ever waits for the disk. What the queue has no room for is lost, and the
//! journal says so. It must not know what the entries mean, but for what is secret in them.

use super::JournalError;
use super::entry::{Entry, Header};
use super::secrets::Secrets;
use crate::tree::{Input, Millis};
use daptree_model::{Op, ToEngine};
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;
use std::time::Instant;

/// How many entries may wait to be written.
const ENTRIES: usize = 65_536;
/// How many bytes they may hold together, roughly.
const BYTES: usize = 64 << 20;

enum Message {
    Entry(Millis, Entry),
    End,
}

#[derive(Debug, Default)]
struct Waiting {
    bytes: AtomicUsize,
    /// Lost since the last entry that was taken.
    lost: AtomicU64,
    /// Lost in all.
    lost_in_all: AtomicU64,
}

/// Takes entries for a journal. Clones write to the same one.
#[derive(Clone, Debug)]
pub struct Recorder {
    began: Instant,
    queue: SyncSender<Message>,
    waiting: Arc<Waiting>,
}

/// A journal that is being written.
#[derive(Debug)]
pub struct Recording {
    path: PathBuf,
    queue: SyncSender<Message>,
    waiting: Arc<Waiting>,
    thread: JoinHandle<io::Result<u64>>,
}

/// What a journal holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Entries in it.
    pub entries: u64,
    /// Entries that the queue had no room for.
    pub lost: u64,
}

impl Written {
    /// Says on standard error what is missing, if anything is.
    pub fn tell(&self) {
        if self.lost > 0 {
            let Self { entries, lost } = self;
            eprintln!(
                "daptree: the journal lacks {lost} entries that could not be written in time \
                 (it has {entries}): its replay is not the run from there on"
            );
        }
    }
}

impl Recording {
    /// Begins a journal in a file that only its owner may read. An earlier one is replaced.
    pub fn start(path: &Path, header: &Header) -> Result<(Self, Recorder), JournalError> {
        let unwritable = |source| JournalError::Unwritable {
            path: path.to_owned(),
            source,
        };
        let file = create(path, header).map_err(unwritable)?;
        Self::write_to(path, file).map_err(unwritable)
    }

    fn write_to(path: &Path, file: impl Write + Send + 'static) -> io::Result<(Self, Recorder)> {
        let (queue, entries) = sync_channel(ENTRIES);
        let waiting = Arc::<Waiting>::default();
        let theirs = Arc::clone(&waiting);
        let thread = std::thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || write_all(file, &entries, &theirs))?;
        let recorder = Recorder {
            began: Instant::now(),
            queue: queue.clone(),
            waiting: Arc::clone(&waiting),
        };
        let recording = Self {
            path: path.to_owned(),
            queue,
            waiting,
            thread,
        };
        Ok((recording, recorder))
    }

    /// Writes what still waits and closes the file. Blocks until that is done.
    pub fn finish(self) -> Result<Written, JournalError> {
        // The thread may have given up already; then it says why.
        let _ = self.queue.send(Message::End);
        let ended = self.thread.join();
        let ended = ended.unwrap_or_else(|_| Err(io::Error::other("its thread failed")));
        let entries = ended.map_err(|source| JournalError::Unwritable {
            path: self.path,
            source,
        })?;
        Ok(Written {
            entries,
            lost: self.waiting.lost_in_all.load(Ordering::Relaxed),
        })
    }
}

impl Recorder {
    /// When the times in the journal begin.
    pub fn began(&self) -> Instant {
        self.began
    }

    /// Keeps an entry that happened now. Never waits.
    pub fn record_now(&self, entry: Entry) {
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.record(Millis(ms), entry);
    }

    /// Keeps an entry of this time. Never waits: what there is no room for is lost and counted.
    pub fn record(&self, at: Millis, entry: Entry) {
        let lost = self.waiting.lost.swap(0, Ordering::Relaxed);
        if lost > 0 && !self.send(at, Entry::Lost(lost)) {
            self.lose(lost);
        }
        if !self.send(at, entry) {
            self.lose(1);
            self.waiting.lost_in_all.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn lose(&self, count: u64) {
        self.waiting.lost.fetch_add(count, Ordering::Relaxed);
    }

    fn send(&self, at: Millis, entry: Entry) -> bool {
        let weight = entry.weight();
        let before = self.waiting.bytes.fetch_add(weight, Ordering::Relaxed);
        let taken = before < BYTES && self.queue.try_send(Message::Entry(at, entry)).is_ok();
        if !taken {
            self.waiting.bytes.fetch_sub(weight, Ordering::Relaxed);
        }
        taken
    }
}

fn create(path: &Path, header: &Header) -> io::Result<File> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?;
    // One that was there keeps its mode otherwise.
    if file.metadata()?.is_file() {
        file.set_permissions(Permissions::from_mode(0o600))?;
    }
    let mut line = serde_json::to_vec(header)?;
    line.push(b'\n');
    file.write_all(&line)?;
    Ok(file)
}

/// The thread's whole life. Gives how many entries it wrote.
fn write_all(file: impl Write, entries: &Receiver<Message>, waiting: &Waiting) -> io::Result<u64> {
    let mut file = BufWriter::new(file);
    let mut secrets = Secrets::new();
    let mut count = 0;
    loop {
        let message = match entries.try_recv() {
            Ok(message) => message,
            Err(TryRecvError::Disconnected) => break,
            Err(TryRecvError::Empty) => {
                // Whatever becomes of daptree now, what happened so far can be read.
                file.flush()?;
                match entries.recv() {
                    Ok(message) => message,
                    Err(_) => break,
                }
            }
        };
        let Message::Entry(at, entry) = message else {
            break;
        };
        waiting.bytes.fetch_sub(entry.weight(), Ordering::Relaxed);
        let written = write_entry(&mut file, &mut secrets, at, &entry);
        written
            .inspect_err(|error| tracing::error!("the journal could not be written: {error}"))?;
        if entry.is_stop() {
            file.flush()?;
        }
        count += 1;
    }
    file.flush()?;
    Ok(count)
}

fn write_entry(
    file: &mut impl Write,
    secrets: &mut Secrets,
    at: Millis,
    entry: &Entry,
) -> io::Result<()> {
    if let Entry::Input(Input::Client(_, ToEngine::Command(command))) = entry {
        let env = match &command.op {
            Op::Launch(request) => request.env.as_slice(),
            Op::Attach(request) => request.env.as_slice(),
            _ => &[],
        };
        let text = |(name, value): &(_, _)| (lossy(name), lossy(value));
        let env: Vec<(String, String)> = env.iter().map(text).collect();
        let env = env.iter();
        secrets.learn_env(env.map(|(name, value)| (name.as_str(), value.as_str())));
    }
    let mut value = serde_json::to_value((at.0, entry))?;
    secrets.scrub(&mut value);
    let mut line = serde_json::to_vec(&value)?;
    line.push(b'\n');
    file.write_all(&line)
}

fn lossy(text: &std::ffi::OsString) -> String {
    text.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
