//! Measures what daptree promises and prints it beside its bars. Ratios are measured in one run,
//! the bare driver and the product in turn.
//!
//!     cargo bench --bench figures -- [--rounds N] [--only WORD] [--build] [--write README.md]
//!
//! `DAPTREE_BENCH_PYTHON` chooses the interpreter. `--only` runs the parts whose name holds the
//! word (adoption, crowd, start, steps, pause, states, screen, memory); `--build` adds a release build from nothing;
//! `--write` puts the table between the marks of a file; `--strict` fails where a bar is missed.

mod driver;
mod ears;
mod product;
mod setting;
mod states;
mod table;
mod terminal;

use anyhow::{Context, Result, bail};
use clap::Parser;
use ears::Ears;
use setting::Setting;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use table::{Figure, Times};
use terminal::Screen;

/// Children of one run of a tree.
const CHILDREN: usize = 6;
/// Steps of one round.
const STEPS: usize = 200;
const KEYS: usize = 1_000;
/// Children that come at once.
const CROWD: usize = 128;
/// Sessions whose state is shown, and how often each of them stops.
const SHOWN: usize = 256;
const STOPS: usize = 4;
const IDLE: Duration = Duration::from_secs(10);
const SESSIONS: usize = 8;
/// Live sessions that are paused at once.
const LIVE: usize = 16;

#[derive(Parser)]
struct Arguments {
    /// How often each part is measured.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    #[arg(long)]
    only: Option<String>,
    #[arg(long)]
    build: bool,
    #[arg(long)]
    write: Option<PathBuf>,
    #[arg(long)]
    strict: bool,
    /// What `cargo bench` says; without it this is a run of the tests, where nothing is measured.
    #[arg(long)]
    bench: bool,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    if !arguments.bench {
        return Ok(ExitCode::SUCCESS);
    }
    let setting = Setting::new()?;
    let ears = Ears::open()?;
    let rounds = arguments.rounds;
    let wanted = |name: &str| {
        arguments
            .only
            .as_deref()
            .is_none_or(|word| name.contains(word))
    };
    let mut figures = Vec::new();
    let mut add = |new: Vec<Figure>| {
        for figure in new {
            println!("{}", figure.line());
            figures.push(figure);
        }
    };
    if wanted("adoption") {
        add(adoption(&setting, &ears, rounds)?);
    }
    if wanted("crowd") {
        add(vec![crowd(&setting, &ears, rounds.div_ceil(2))?]);
    }
    if wanted("start") {
        add(start(&setting, &ears, rounds * 2)?);
    }
    if wanted("steps") {
        add(steps(&setting, rounds)?);
    }
    if wanted("pause") {
        add(pauses(&setting, rounds)?);
    }
    if wanted("states") {
        add(vec![states()?]);
    }
    if wanted("screen") {
        add(screen(&setting, rounds * 3)?);
    }
    if wanted("memory") {
        add(memory(&setting)?);
    }
    if arguments.build {
        add(vec![build()?]);
    }
    if let Some(path) = &arguments.write {
        table::write(path, &table::markdown(&figures, &setting.about)?)?;
    }
    let holds = figures.iter().all(Figure::holds);
    Ok(if arguments.strict && !holds {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// From a child's report to its first stop, with its place.
fn adoption(setting: &Setting, ears: &Ears, rounds: usize) -> Result<Vec<Figure>> {
    let program = setting::parent("parent.py", CHILDREN)?;
    let (mut quick, mut plain, mut ours) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        quick.extend(driver::first_stops(&setting.adapter(true), &program)?);
        ours.extend(product::first_stops(setting, ears, &program)?);
        plain.extend(driver::first_stops(&setting.adapter(false), &program)?);
    }
    let placed = |stops: &[driver::FirstStop]| Times::new(stops.iter().map(|stop| stop.placed));
    let stopped = |stops: &[driver::FirstStop]| Times::new(stops.iter().map(|stop| stop.stopped));
    eprintln!(
        "report → stopped event: quick {}; daptree {}; plain {}",
        stopped(&quick).spread(),
        stopped(&ours).spread(),
        stopped(&plain).spread()
    );
    let (quick, plain, ours) = (placed(&quick), placed(&plain), placed(&ours));
    let ratio = |floor: &Times| ours.percentile(50) / floor.percentile(50);
    Ok(vec![
        Figure {
            what: "child reported → stopped, against a bare driver on the quick adapter",
            value: ratio(&quick),
            bar: Some(1.15),
            unit: " ×",
            beside: format!("daptree {}; driver {}", ours.spread(), quick.spread()),
        },
        Figure {
            what: "child reported → stopped, against a bare driver on debugpy's plain adapter",
            value: ratio(&plain),
            bar: Some(0.5),
            unit: " ×",
            beside: format!("driver {}", plain.spread()),
        },
    ])
}

/// Many children at once, until the last of them stands.
fn crowd(setting: &Setting, ears: &Ears, rounds: usize) -> Result<Figure> {
    let program = setting::parent("many.py", CROWD)?;
    let (mut floor, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        floor.push(driver::adopt_all(&setting.adapter(true), &program, CROWD)?);
        ours.push(product::adopt_all(setting, ears, &program, CROWD)?);
    }
    let (floor, ours) = (Times::new(floor), Times::new(ours));
    Ok(Figure {
        what: "128 children at once, all stopped, against a bare driver",
        value: ours.percentile(50) / floor.percentile(50),
        bar: Some(1.1),
        unit: " ×",
        beside: format!("daptree {}; driver {}", ours.spread(), floor.spread()),
    })
}

fn states() -> Result<Figure> {
    let times = Times::new(states::snapshots(SHOWN, STOPS)?);
    Ok(Figure {
        what: "the state of 256 sessions after an input, 99 of 100",
        value: times.percentile(99),
        bar: Some(1.0),
        unit: " ms",
        beside: times.spread(),
    })
}

fn start(setting: &Setting, ears: &Ears, rounds: usize) -> Result<Vec<Figure>> {
    let starts: Vec<_> = (0..rounds)
        .map(|_| product::start(setting, ears))
        .collect::<Result<_>>()?;
    let figure = |what, bar, part: fn(&product::Start) -> Duration| {
        let times = Times::new(starts.iter().map(part));
        let beside = times.spread();
        Figure {
            what,
            value: times.percentile(50),
            bar,
            unit: " ms",
            beside,
        }
    };
    Ok(vec![
        figure("adapter started → listens", Some(150.0), |start| {
            start.adapter
        }),
        figure("program spawned → configured", Some(250.0), |start| {
            start.configured
        }),
        figure("program spawned → its first line", Some(250.0), |start| {
            start.first_line
        }),
        figure(
            "launch asked for → the program's first line",
            None,
            |start| start.whole,
        ),
    ])
}

fn steps(setting: &Setting, rounds: usize) -> Result<Vec<Figure>> {
    let program = setting::steps()?;
    let (mut floor, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        floor.extend(driver::steps(&setting.adapter(true), &program, STEPS)?);
        ours.extend(product::steps(setting, &program, STEPS)?);
    }
    let (floor, ours) = (Times::new(floor), Times::new(ours));
    let beside = format!("{}; bare driver {}", ours.spread(), floor.spread());
    let value = ours.percentile(50);
    let what = "step over → stack and variables in the snapshot";
    Ok(vec![Figure {
        what,
        value,
        bar: Some(10.0),
        unit: " ms",
        beside,
    }])
}

/// Everything that runs is paused at once, and one stop holds everything else.
fn pauses(setting: &Setting, rounds: usize) -> Result<Vec<Figure>> {
    let (mut all, mut world) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (paused, held) = product::pauses(setting, &setting::lines(LIVE), LIVE)?;
        all.extend(paused);
        world.extend(held);
    }
    let (all, world) = (Times::new(all), Times::new(world));
    let figure = |what, times: &Times| Figure {
        what,
        value: times.percentile(50),
        bar: Some(100.0),
        unit: " ms",
        beside: times.spread(),
    };
    Ok(vec![
        figure("pause all → the last of 16 live sessions stands", &all),
        figure("one of 16 stops → the last of the others is held", &world),
    ])
}

fn screen(setting: &Setting, rounds: usize) -> Result<Vec<Figure>> {
    let program = setting::steps()?;
    let mut firsts = Vec::new();
    for _ in 0..rounds {
        firsts.push(Screen::open(setting, &program)?.first_frame()?);
    }
    let firsts = Times::new(firsts);
    let mut screen = Screen::open(setting, &program)?;
    screen.first_frame()?;
    screen.wait_for("1 stopped")?;
    let keys = (0..KEYS)
        .map(|_| screen.key(b"\t"))
        .collect::<Result<Vec<_>>>()?;
    let keys = Times::new(keys);
    screen.wait_for("1 stopped")?;
    let before = screen.cpu()?.as_secs_f64();
    let idle = screen.idle(IDLE)?;
    Ok(vec![
        Figure {
            what: "process started → first frame",
            value: firsts.percentile(50),
            bar: Some(50.0),
            unit: " ms",
            beside: firsts.spread(),
        },
        Figure {
            what: "key → frame, 99 of 100",
            value: keys.percentile(99),
            bar: Some(16.0),
            unit: " ms",
            beside: keys.spread(),
        },
        Figure {
            what: "drawn while nothing happens",
            value: idle.bytes as f64,
            bar: Some(0.0),
            unit: " bytes",
            beside: "10 s with a stopped session".to_owned(),
        },
        Figure {
            what: "processor time while nothing happens",
            value: idle.cpu,
            bar: Some(0.5),
            unit: " % of a core",
            beside: format!("the same 10 s; {before:.2} s of it before"),
        },
    ])
}

fn memory(setting: &Setting) -> Result<Vec<Figure>> {
    let program = setting::parent("many.py", SESSIONS)?;
    let mut screen = Screen::open(setting, &program)?;
    screen.first_frame()?;
    screen.wait_for(&format!("{SESSIONS} stopped"))?;
    let memory = screen.memory()?;
    Ok(vec![Figure {
        what: "daptree's memory with 8 stopped sessions",
        value: memory.resident,
        bar: Some(60.0),
        unit: " MB",
        beside: format!("resident; proportional {:.1} MB", memory.proportional),
    }])
}

fn build() -> Result<Figure> {
    let target = tempfile::tempdir()?;
    let (used, began) = (cpu_of_children()?, Instant::now());
    let status = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()))
        .args(["build", "--release", "--locked", "-j2"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("CARGO_TARGET_DIR", target.path())
        .stdin(Stdio::null())
        .status()
        .context("cargo could not be started")?;
    let wall = began.elapsed().as_secs_f64();
    if !status.success() {
        bail!("the build failed ({status})");
    }
    let minutes = (cpu_of_children()? - used) / 60.0;
    Ok(Figure {
        what: "release build from nothing on two cores",
        value: wall / 60.0,
        bar: Some(8.0),
        unit: " min",
        beside: format!("{minutes:.1} min of processor time; crates fetched before"),
    })
}

/// Processor time of the children that were waited for, in s.
fn cpu_of_children() -> Result<f64> {
    let stat = procfs::process::Process::myself()?.stat()?;
    let ticks = (stat.cutime + stat.cstime) as f64;
    Ok(ticks / procfs::ticks_per_second() as f64)
}
