//! Records the runs that the README's pictures are drawn from: `cargo run --example record`
//! debugs small real programs with a real engine and writes `fixtures/recordings/*.jsonl`; with
//! names, such as `-- pytest`, those alone. `DAPTREE_RECORD_PYTHON` names the interpreter, which
//! needs pytest and pytest-xdist; else it is `python3`. The pictures themselves are drawn by the
//! example `pictures`.

#[path = "../pictures/recording.rs"]
mod recording;

mod recorder;
mod scenes;
mod scrub;

use anyhow::{Context, Result, bail};
use daptree::cli::{self, Invocation};
use daptree::process::keeper;
use recorder::Recorder;
use scenes::{SCENES, Scene};
use scrub::{Disguise, Python};
use std::fs;
use std::path::Path;

/// The largest recording, in bytes.
const LARGEST: u64 = 300_000;

fn main() -> Result<()> {
    let cwd = std::env::current_dir()?;
    if let Ok(Invocation::Keeper) = cli::parse(std::env::args_os(), &cwd) {
        std::process::exit(keeper::keeper_main());
    }
    let names: Vec<String> = std::env::args().skip(1).collect();
    if let Some(unknown) = names
        .iter()
        .find(|name| SCENES.iter().all(|s| s.name != **name))
    {
        let known: Vec<&str> = SCENES.iter().map(|scene| scene.name).collect();
        bail!(
            "there is no scene `{unknown}`: there are {}",
            known.join(", ")
        );
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let python = Python::find()?;
    for scene in SCENES
        .iter()
        .filter(|s| names.is_empty() || names.iter().any(|n| n == s.name))
    {
        runtime
            .block_on(record(scene, &python))
            .with_context(|| format!("the scene `{}`", scene.name))?;
    }
    Ok(())
}

/// Runs a scene in a folder of its own and hides where that was.
async fn record(scene: &Scene, python: &Python) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let temporary = tempfile::tempdir()?;
    let folder = fs::canonicalize(temporary.path())?.join("shop");
    fs::create_dir(&folder)?;
    for entry in fs::read_dir(root.join(scene.program))? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), folder.join(entry.file_name()))?;
        }
    }
    let mut recorder = Recorder::start(scene.launch(&folder, python)?)?;
    let played = scene.play(&mut recorder).await;
    let stopped = recorder.stop().await;
    played?;
    let entries = stopped?;
    let lines = Disguise::new(&folder, python).lines(&entries)?;
    let path = root.join(format!("fixtures/recordings/{}.jsonl", scene.name));
    fs::write(&path, lines).with_context(|| format!("{}", path.display()))?;
    let size = fs::metadata(&path)?.len();
    println!(
        "fixtures/recordings/{}.jsonl: {} lines, {size} bytes",
        scene.name,
        entries.len()
    );
    if size > LARGEST {
        bail!("{size} bytes are more than the {LARGEST} that a recording may have");
    }
    Ok(())
}
