//! A program that somebody else started: it runs before daptree comes and after it has left.

use daptree_testing::{PATIENCE, Scene, process};
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// A program with its output in a file.
pub struct Target<'a> {
    scene: &'a Scene,
    child: Child,
    output: PathBuf,
    endpoints: PathBuf,
}

impl<'a> Target<'a> {
    /// Starts Python with these words, in the scene's folder.
    pub fn start(scene: &'a Scene, words: &[&str]) -> Self {
        let output = scene.file("output");
        let endpoints = scene.file("endpoints");
        let file = File::create(&output).expect("a file for the output");
        let child = Command::new(&scene.python)
            .args(words)
            .current_dir(scene.work())
            .env_clear()
            .envs(scene.env.iter().cloned())
            .env("DEBUGPY_ADAPTER_ENDPOINTS", &endpoints)
            .stdin(Stdio::null())
            .stdout(file.try_clone().expect("the same file"))
            .stderr(file)
            .spawn()
            .expect("the program starts");
        Self {
            scene,
            child,
            output,
            endpoints,
        }
    }

    /// Starts a program under `debugpy --listen`, with these words before the program.
    pub fn listen(scene: &'a Scene, options: &[&str], program: &[&str]) -> Self {
        let words = [
            &["-m", "debugpy", "--listen", "127.0.0.1:0"],
            options,
            program,
        ];
        Self::start(scene, &words.concat())
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The port that its adapter listens on, once it does.
    pub fn port(&self) -> u16 {
        let port = || {
            let text = fs::read_to_string(&self.endpoints).ok()?;
            let (_, rest) = text.split_once("\"client\"")?;
            let (_, rest) = rest.split_once("\"port\": ")?;
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok()
        };
        process::watch(self.pid(), PATIENCE, || port().is_some());
        port().expect("a port")
    }

    /// What it wrote so far.
    pub fn output(&self) -> String {
        fs::read_to_string(&self.output).unwrap_or_default()
    }

    /// Waits until it wrote so many lines with `text`; gives the words after it.
    pub fn until(&self, text: &str, count: usize) -> Vec<String> {
        let found = || -> Vec<String> {
            let output = self.output();
            let lines = output.lines().filter_map(|line| line.split_once(text));
            lines.map(|(_, rest)| rest.trim().to_owned()).collect()
        };
        process::watch(self.pid(), PATIENCE, || found().len() >= count);
        found()
    }

    /// Tells every beating program to end.
    pub fn end(&self) {
        self.scene.write("end", "");
    }

    /// Waits for its end; its output must hold `last`, and nothing of it may be left.
    pub fn finish(mut self, last: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        let ended = process::ended_by(self.pid(), deadline);
        assert!(ended, "{} runs on: {}", self.pid(), self.output());
        // The engine of the test may have reaped it.
        let _ = self.child.wait();
        let output = self.output();
        assert!(output.contains(last), "no {last:?} in {output:?}");
        assert!(!output.contains("Traceback"), "{output}");
        output
    }
}

impl Drop for Target<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
