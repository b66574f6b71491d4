//! Draws the pictures of the README: `cargo run --example pictures` replays the recorded runs in
//! `fixtures/recordings` and writes `screenshots/*.svg`. It starts no program and no engine.

mod recording;
mod replay;

use anyhow::{Context, Result};
use std::path::Path;

fn main() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = root.join("screenshots");
    std::fs::create_dir_all(&folder).with_context(|| format!("{}", folder.display()))?;
    for path in replay::recordings(&root.join("fixtures/recordings"))? {
        for (name, svg) in replay::pictures(&replay::read(&path)?)? {
            let target = folder.join(format!("{name}.svg"));
            std::fs::write(&target, &svg)
                .with_context(|| format!("{}: cannot be written", target.display()))?;
            println!("screenshots/{name}.svg: {} bytes", svg.len());
        }
    }
    Ok(())
}
