//! What is recorded: which program, where it stops, what is typed and what has to be seen before
//! the next key. A scene waits for what it shows, never for a while.

use crate::recorder::Recorder;
use crate::scrub::Python;
use anyhow::{Context, Result};
use daptree_model::{
    BreakpointSpec, Inspect, LaunchRequest, Row, Snapshot, Stdio, TreeState, Variable,
};
use daptree_ui::state::UiState;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

/// The screen that is recorded, and a small one.
const WIDE: (u16, u16) = (120, 40);
const SMALL: (u16, u16) = (80, 24);

/// A run that is recorded.
pub struct Scene {
    /// Its name, and that of its file.
    pub name: &'static str,
    /// The folder of the program, from the package's.
    pub program: &'static str,
    words: &'static [&'static str],
    /// The breakpoint: a file and the text of its line.
    breakpoint: (&'static str, &'static str),
}

/// All of them.
pub const SCENES: &[Scene] = &[
    Scene {
        name: "pytest",
        program: "fixtures/recordings/programs/pytest",
        words: &["pytest", "-n", "2"],
        breakpoint: ("cart.py", "saved = full * self.discount"),
    },
    Scene {
        name: "demo",
        program: "fixtures/demo",
        words: &["python3", "main.py"],
        breakpoint: ("main.py", "# the breakpoint"),
    },
    Scene {
        name: "pool",
        program: "fixtures/recordings/programs/pool",
        words: &["python3", "parcels.py"],
        breakpoint: ("parcels.py", "return {"),
    },
];

impl Scene {
    /// How the engine starts it. Of this process's environment it gets PATH alone.
    pub fn launch(&self, folder: &Path, python: &Python) -> Result<Box<LaunchRequest>> {
        let (file, text) = self.breakpoint;
        let path = folder.join(file);
        let source = fs::read_to_string(&path)?;
        let line = source
            .lines()
            .position(|line| line.contains(text))
            .with_context(|| format!("{file} has no line with `{text}`"))?;
        let mut search = python.bin.clone().into_os_string();
        if let Some(path) = std::env::var_os("PATH") {
            search.push(":");
            search.push(path);
        }
        let mut env: Vec<(OsString, OsString)> = vec![
            ("PATH".into(), search),
            ("HOME".into(), folder.into()),
            ("LANG".into(), "C.UTF-8".into()),
            ("TERM".into(), "xterm-256color".into()),
        ];
        if python.is_virtual() {
            env.push(("VIRTUAL_ENV".into(), python.prefix.clone().into()));
        }
        Ok(Box::new(LaunchRequest {
            words: self.words.iter().map(OsString::from).collect(),
            cwd: folder.to_owned(),
            env,
            python: None,
            // The front end makes it the size of its pane.
            stdio: Stdio::Terminal {
                columns: 80,
                rows: 24,
            },
            just_my_code: true,
            exceptions: None,
            stop_on_entry: false,
            stop_the_world: false,
            max_children: 256,
            breakpoints: vec![BreakpointSpec::line(
                path.to_string_lossy(),
                u32::try_from(line)? + 1,
            )],
        }))
    }

    /// The size of the screen that the scene is recorded on.
    pub const SIZE: (u16, u16) = WIDE;

    /// Plays it.
    pub async fn play(&self, at: &mut Recorder) -> Result<()> {
        match self.name {
            "pytest" => pytest(at).await,
            "demo" => demo(at).await,
            _ => pool(at).await,
        }
    }
}

/// Two workers of pytest-xdist at one breakpoint; one of them goes a line further.
async fn pytest(at: &mut Recorder) -> Result<()> {
    at.wait("two stopped workers", |s, _| stopped(s, 1) == 2)
        .await?;
    at.wait("the variables of one", inspected).await?;
    at.keys("n").await?;
    at.wait("a step", |s, _| stopped(s, 2) == 1).await?;
    at.wait("the variables after it", inspected).await?;
    // The variables pane, down to `self`, unfolded; its last child `items` as well.
    at.keys("4jjjl").await?;
    at.wait("what the cart holds", inspected).await?;
    at.keys("jjl").await?;
    at.wait("what its items are", inspected).await?;
    at.picture("pytest", WIDE);
    at.picture("pytest-80x24", SMALL);
    Ok(())
}

/// The bundled demo: at the second stops of both packers, and when all is over.
async fn demo(at: &mut Recorder) -> Result<()> {
    at.wait("two stopped packers", |s, _| stopped(s, 1) == 2)
        .await?;
    at.wait("the variables of one", inspected).await?;
    at.keys("CT").await?;
    at.wait("their second stops and first lines", |s, _| {
        stopped(s, 2) == 2 && lines(s) >= 2
    })
    .await?;
    at.wait("the variables of one", inspected).await?;
    at.picture("demo", WIDE);
    at.keys("C").await?;
    at.wait("the end", |s, _| {
        s.trees.iter().all(|tree| tree.state == TreeState::Ended) && lines(s) >= 7
    })
    .await?;
    at.picture("demo-ended", WIDE);
    Ok(())
}

/// Five workers of a process pool, all stopped; the focus goes to the third.
async fn pool(at: &mut Recorder) -> Result<()> {
    at.wait("five stopped workers", |s, _| stopped(s, 1) == 5)
        .await?;
    at.keys("}}").await?;
    at.wait("the variables of the third", inspected).await?;
    at.picture("pool", WIDE);
    Ok(())
}

/// How many sessions stand at their stop of this number, the place known and the tree's
/// breakpoint confirmed by all.
fn stopped(snapshot: &Snapshot, number: u32) -> usize {
    let stands = |row: &Row| {
        let place = row.stopped.as_ref().and_then(|stop| stop.place.as_ref());
        row.is_paused() && row.stop.0 == number && place.is_some()
    };
    let confirmed = snapshot.breakpoints.iter().all(|breakpoint| {
        let (good, asked) = breakpoint.verified();
        good == asked
    });
    if !confirmed {
        return 0;
    }
    snapshot.rows.values().filter(|row| stands(row)).count()
}

fn lines(snapshot: &Snapshot) -> u64 {
    snapshot.output_lines.values().sum()
}

/// Whether all that is unfolded of the focus session's frame has been fetched.
fn inspected(snapshot: &Snapshot, state: &UiState) -> bool {
    let Some(row) = state.focus.and_then(|id| snapshot.rows.get(&id)) else {
        return false;
    };
    let inspect = snapshot.inspects.get(&row.id);
    let Some(inspect) = inspect.filter(|inspect| row.is_paused() && inspect.stop == row.stop)
    else {
        return false;
    };
    let thread = row.stopped.as_ref().and_then(|stop| stop.thread);
    let scopes = thread
        .and_then(|id| inspect.stacks.get(&id))
        .and_then(|stack| stack.frames.get(state.frame))
        .and_then(|frame| inspect.scopes.get(&frame.id));
    let Some(first) = scopes.and_then(|scopes| scopes.iter().find(|scope| !scope.expensive)) else {
        return false;
    };
    let fetched = |path: &Vec<String>| {
        let mut names = path.iter().skip(1);
        let found = names.try_fold(first.reference, |at, name| {
            child(inspect, at, name).map(|variable| variable.reference)
        });
        found.is_some_and(|reference| inspect.pages.contains_key(&reference))
    };
    inspect.pages.contains_key(&first.reference) && state.variables.open.keys().all(fetched)
}

fn child<'a>(inspect: &'a Inspect, reference: i64, name: &str) -> Option<&'a Variable> {
    let page = inspect.pages.get(&reference)?;
    page.variables.iter().find(|variable| variable.name == name)
}
