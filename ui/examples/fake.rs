//! The front end on a scripted engine, to look at and to try keys on:
//! `cargo run -p daptree-ui --example fake`. With `--svg FOLDER` it writes pictures instead;
//! with `--panic` a thread of the engine panics when the first command comes.

#[path = "../src/fake.rs"]
mod fake;
#[path = "../src/fixture.rs"]
mod fixture;

use daptree_ui::commands::Pane;
use daptree_ui::{Front, UiOptions, picture, run};
use fake::FakeEngine;
use std::error::Error;
use tokio::sync::mpsc;

#[tokio::main]
#[allow(clippy::panic, reason = "`--panic` shows what a panic elsewhere does")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, folder] = arguments.as_slice()
        && flag == "--svg"
    {
        return pictures(folder);
    }
    let options = UiOptions {
        ascii: arguments.iter().any(|argument| argument == "--ascii"),
        ..UiOptions::default()
    };
    let panics = arguments.iter().any(|argument| argument == "--panic");
    let (to_engine, mut requests) = mpsc::channel(256);
    let (answers, from_engine) = mpsc::channel(256);
    tokio::spawn(async move {
        let mut engine = FakeEngine::new();
        if answers.send(engine.publish()).await.is_err() {
            return;
        }
        while let Some(message) = requests.recv().await {
            if panics && matches!(message, daptree_model::ToEngine::Command(_)) {
                let struck = tokio::spawn(async { std::panic::panic_any("as asked") });
                let _ = struck.await;
            }
            for answer in engine.handle(message) {
                if answers.send(answer).await.is_err() {
                    return;
                }
            }
        }
    });
    let outcome = run(options, to_engine, from_engine).await?;
    println!("{outcome:?}");
    Ok(())
}

fn pictures(folder: &str) -> Result<(), Box<dyn Error>> {
    for (columns, rows) in [(120, 40), (80, 24), (40, 12)] {
        for pane in Pane::ALL {
            let mut engine = FakeEngine::new();
            let mut front = Front::new(UiOptions::default(), (columns, rows));
            let (worker, colours) = colours()?;
            front.colour_with(worker);
            front.engine([engine.publish()]);
            let digit = char::from(b'0' + pane.number());
            front.type_keys(&digit.to_string());
            settle(&mut front, &mut engine);
            while let Ok(coloured) = colours.recv_timeout(std::time::Duration::from_millis(300)) {
                front.colours(coloured);
            }
            let name = format!("{folder}/{}-{columns}x{rows}.svg", pane.name());
            std::fs::write(name, picture::svg(&front.frame()))?;
        }
    }
    Ok(())
}

type Colours = (
    std::sync::mpsc::Sender<daptree_ui::highlight::Request>,
    std::sync::mpsc::Receiver<daptree_ui::highlight::Coloured>,
);

fn colours() -> std::io::Result<Colours> {
    let (out, colours) = std::sync::mpsc::channel();
    let worker = daptree_ui::highlight::start(move |lines| out.send(lines).is_ok())?;
    Ok((worker, colours))
}

fn settle(front: &mut Front, engine: &mut FakeEngine) {
    while let Some(message) = front.outgoing().pop_front() {
        let answers = engine.handle(message);
        front.engine(answers);
    }
}
