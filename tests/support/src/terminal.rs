//! A terminal with daptree in it: a pty whose screen is read as a person reads it. It must not know
//! how the screen is drawn; it waits on what stands there.

use crate::process::{self, ended_by};
use crate::{PATIENCE, Scene};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, SlavePty, native_pty_system};
use rustix::process::Signal;
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Instant;
use vt100::{Parser, Screen};

#[derive(Default)]
struct Shown {
    parser: Mutex<Parser>,
    changed: Condvar,
    closing: AtomicBool,
}

/// daptree in a terminal. The terminal outlives it, as a shell's does.
pub struct Terminal {
    /// daptree's own pid.
    pub pid: u32,
    child: Box<dyn Child + Send + Sync>,
    reaped: bool,
    master: Option<Box<dyn MasterPty + Send>>,
    slave: Option<Box<dyn SlavePty + Send>>,
    keys: Option<Box<dyn Write + Send>>,
    shown: Arc<Shown>,
    reader: Option<JoinHandle<()>>,
    before: String,
}

impl Terminal {
    /// Starts daptree with these words in the scene's folder, in a terminal of 120 × 40.
    pub fn start(scene: &Scene, words: &[impl AsRef<OsStr>]) -> Self {
        Self::start_sized(scene, (120, 40), words)
    }

    /// As [`Terminal::start`], with columns and rows.
    pub fn start_sized(scene: &Scene, size: (u16, u16), words: &[impl AsRef<OsStr>]) -> Self {
        let pair = native_pty_system().openpty(pty_size(size)).expect("a pty");
        let mut command = CommandBuilder::new(&scene.binary);
        command.args(words);
        command.cwd(scene.work());
        command.env_clear();
        for (name, value) in &scene.env {
            command.env(name, value);
        }
        let before = settings(pair.master.as_ref());
        let child = pair.slave.spawn_command(command).expect("daptree starts");
        let mut output = pair.master.try_clone_reader().expect("a reader");
        let shown = Arc::new(Shown {
            parser: Mutex::new(Parser::new(size.1, size.0, 0)),
            ..Shown::default()
        });
        let theirs = Arc::clone(&shown);
        let reader = std::thread::spawn(move || {
            let mut bytes = vec![0; 65_536];
            while let Ok(count) = output.read(&mut bytes) {
                if count == 0 || theirs.closing.load(Ordering::Acquire) {
                    break;
                }
                theirs
                    .parser
                    .lock()
                    .expect("a parser")
                    .process(&bytes[..count]);
                theirs.changed.notify_all();
            }
        });
        Self {
            pid: child.process_id().expect("a pid"),
            child,
            reaped: false,
            keys: Some(pair.master.take_writer().expect("a writer")),
            master: Some(pair.master),
            slave: Some(pair.slave),
            shown,
            reader: Some(reader),
            before,
        }
    }

    /// Types.
    pub fn press(&mut self, keys: &str) {
        let writer = self.keys.as_mut().expect("an open terminal");
        writer
            .write_all(keys.as_bytes())
            .and_then(|()| writer.flush())
            .expect("keys are taken");
    }

    /// Waits until the screen is as wanted.
    pub fn until(&self, what: &str, wanted: impl Fn(&Screen) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        let mut parser = self.shown.parser.lock().expect("a parser");
        while !wanted(parser.screen()) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let contents = parser.screen().contents();
                drop(parser);
                panic!("never on the screen: {what}. There is:\n{contents}");
            }
            parser = self
                .shown
                .changed
                .wait_timeout(parser, left)
                .expect("a parser")
                .0;
        }
    }

    /// Waits until all these texts are on the screen.
    pub fn until_shown(&self, texts: &[&str]) {
        self.until(&format!("{texts:?}"), |screen| {
            let contents = screen.contents();
            texts.iter().all(|text| contents.contains(text))
        });
    }

    /// Waits until a line of the screen holds all these texts.
    pub fn until_line(&self, texts: &[&str]) {
        self.until(&format!("a line with {texts:?}"), |screen| {
            let contents = screen.contents();
            contents
                .lines()
                .any(|line| texts.iter().all(|text| line.contains(text)))
        });
    }

    /// What something of the screen is now.
    pub fn look<T>(&self, of: impl Fn(&Screen) -> T) -> T {
        of(self.shown.parser.lock().expect("a parser").screen())
    }

    /// What is on the screen.
    pub fn contents(&self) -> String {
        self.shown
            .parser
            .lock()
            .expect("a parser")
            .screen()
            .contents()
    }

    /// Gives the terminal another size, in columns and rows.
    pub fn resize(&self, size: (u16, u16)) {
        self.shown
            .parser
            .lock()
            .expect("a parser")
            .screen_mut()
            .set_size(size.1, size.0);
        self.master
            .as_ref()
            .expect("an open terminal")
            .resize(pty_size(size))
            .expect("a size");
    }

    /// Sends a signal to daptree.
    pub fn signal(&self, signal: Signal) {
        process::send(self.pid, signal);
    }

    /// Closes the terminal, as a window that is closed does.
    pub fn close(&mut self) {
        // The reader holds the terminal too, until something more is drawn.
        self.shown.closing.store(true, Ordering::Release);
        self.resize((100, 30));
        self.reader
            .take()
            .expect("an open terminal")
            .join()
            .expect("a reader");
        self.keys = None;
        self.slave = None;
        self.master = None;
    }

    /// Waits for daptree's end; gives its exit status.
    pub fn wait_ended(&mut self) -> u32 {
        let ended = ended_by(self.pid, Instant::now() + PATIENCE);
        assert!(ended, "daptree still runs after {PATIENCE:?}");
        self.reaped = true;
        self.child.wait().expect("an end").exit_code()
    }

    /// Waits for daptree's end and for the terminal as it was before; gives the exit status.
    pub fn leave(&mut self) -> u32 {
        let code = self.wait_ended();
        self.until("the screen from before, with a cursor", |screen| {
            !screen.alternate_screen() && !screen.hide_cursor() && !screen.bracketed_paste()
        });
        let after = settings(self.master.as_deref().expect("an open terminal"));
        assert_eq!(after, self.before, "the terminal's settings");
        assert!(!self.contents().contains("panicked"), "{}", self.contents());
        code
    }
}

fn pty_size((cols, rows): (u16, u16)) -> PtySize {
    PtySize {
        rows,
        cols,
        pixel_width: 0,
        pixel_height: 0,
    }
}

/// As `stty -a` shows them.
fn settings(master: &(dyn MasterPty + Send)) -> String {
    format!(
        "{:?}",
        master.get_termios().expect("the terminal's settings")
    )
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the screen:\n{}", self.contents());
        }
        if !self.reaped {
            process::send(self.pid, Signal::KILL);
            let _ = self.child.wait();
        }
    }
}
