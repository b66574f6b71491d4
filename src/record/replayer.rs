//! A front end's engine that runs nothing: it replays a journal, by steps or by itself in recorded
//! time. It must not know what the journal says.

use super::player::Player;
use super::reader::Journal;
use crate::engine::read_source;
use crate::tree::Millis;
use daptree_model::{
    Answer, Command, EngineError, FromEngine, Op, Read, ReadOp, ReplayOp, Reply, ToEngine,
};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::{self, Receiver, Sender};

/// How many messages may wait on either side.
const MESSAGES: usize = 256;
/// Frames are not made faster than this, however fast the replay is.
const PACE: Duration = Duration::from_millis(8);
/// The slowest and the fastest replay, in percent of the recorded speed.
const SPEEDS: (u32, u32) = (25, 6_400);

/// Opens a journal for a front end, before its first input. Dropping the sender ends it.
pub fn start(journal: Journal) -> (Sender<ToEngine>, Receiver<FromEngine>) {
    let (to_replay, heard) = mpsc::channel(MESSAGES);
    let (to_front, from_replay) = mpsc::channel(MESSAGES);
    let replayer = Replayer {
        player: Player::new(journal),
        to_front,
        playing: None,
        speed: 100,
    };
    tokio::spawn(replayer.run(heard));
    (to_replay, from_replay)
}

/// The front end is gone.
struct Gone;

struct Replayer {
    player: Player,
    to_front: Sender<FromEngine>,
    /// Since when time passes, and from where on.
    playing: Option<(Instant, Millis)>,
    speed: u32,
}

impl Replayer {
    async fn run(mut self, mut heard: Receiver<ToEngine>) {
        let mut going = self.show().await;
        while going.is_ok() {
            let due = self.due();
            tokio::select! {
                biased;
                message = heard.recv() => match message {
                    Some(message) => going = self.hear(message).await,
                    None => return,
                },
                () = until(due) => going = self.play_on().await,
            }
        }
    }

    async fn hear(&mut self, message: ToEngine) -> Result<(), Gone> {
        match message {
            ToEngine::Replay(op) => self.steer(op).await,
            ToEngine::Read(read) => self.read(read).await,
            ToEngine::Command(command) => self.command(command).await,
            ToEngine::TerminalWatch(root) => {
                self.player.watch(root);
                self.say().await
            }
            // What is looked at, typed and sized changes nothing that was.
            ToEngine::Cancel(_)
            | ToEngine::Interest(_)
            | ToEngine::TerminalInput { .. }
            | ToEngine::TerminalSize { .. } => Ok(()),
        }
    }

    async fn steer(&mut self, op: ReplayOp) -> Result<(), Gone> {
        let at = self.player.at();
        match op {
            ReplayOp::Play => self.set_playing(self.playing.is_none()),
            ReplayOp::Faster => self.set_speed(self.speed.saturating_mul(2)),
            ReplayOp::Slower => self.set_speed(self.speed / 2),
            // Whoever goes somewhere by hand stays there.
            _ => self.set_playing(false),
        }
        match op {
            ReplayOp::Play | ReplayOp::Faster | ReplayOp::Slower => {}
            ReplayOp::Next => self.player.go_to(at + 1),
            ReplayOp::Previous => self.player.go_to(at.saturating_sub(1)),
            ReplayOp::Start => self.player.go_to(0),
            ReplayOp::End => self.player.go_to(u64::MAX),
            ReplayOp::NextStop => self.player.next_stop(),
            ReplayOp::PreviousStop => self.player.previous_stop(),
        }
        self.show().await
    }

    fn set_playing(&mut self, playing: bool) {
        self.playing = playing.then(|| (Instant::now(), self.player.now()));
        self.player.set_pace(playing, self.speed);
    }

    fn set_speed(&mut self, speed: u32) {
        self.speed = speed.clamp(SPEEDS.0, SPEEDS.1);
        self.set_playing(self.playing.is_some());
    }

    /// When the next input is due, if time passes.
    fn due(&self) -> Option<Instant> {
        let (began, from) = self.playing?;
        let Some(next) = self.player.next_at() else {
            return Some(began);
        };
        let ms = next.0.saturating_sub(from.0).saturating_mul(100) / u64::from(self.speed.max(1));
        let due = began.checked_add(Duration::from_millis(ms))?;
        Some(due.max(Instant::now() + PACE))
    }

    /// Replays what time has come to.
    async fn play_on(&mut self) -> Result<(), Gone> {
        if self.player.next_at().is_none() {
            self.set_playing(false);
            return self.show().await;
        }
        while self.due_now() && self.player.step() {
            self.say().await?;
        }
        self.show().await
    }

    fn due_now(&self) -> bool {
        let (Some((began, from)), Some(next)) = (self.playing, self.player.next_at()) else {
            return false;
        };
        let passed = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let passed = passed.saturating_mul(u64::from(self.speed)) / 100;
        next.0 <= from.0.saturating_add(passed)
    }

    async fn command(&mut self, command: Command) -> Result<(), Gone> {
        let result = match command.op {
            // There is nothing to end.
            Op::Shutdown => Ok(Answer::Closed {
                children_closed: 0,
                process_ended: false,
                released: false,
                survivors: Vec::new(),
            }),
            op => Err(EngineError::NotRecorded(format!("`{}`", op.name()))),
        };
        let id = command.id;
        self.send(FromEngine::Reply(Reply { id, result })).await
    }

    async fn read(&mut self, read: Read) -> Result<(), Gone> {
        let id = read.id;
        let result = match (self.player.answer(&read.what), read.what) {
            (Some(answered), _) => answered,
            // The program's files, as far as they are still there.
            (None, ReadOp::File(path)) => {
                let failed = format!("{path}: reading it failed");
                tokio::task::spawn_blocking(move || read_source(&path))
                    .await
                    .unwrap_or(Err(EngineError::Failed(failed)))
            }
            (None, _) => Err(EngineError::NotRecorded("this".to_owned())),
        };
        self.send(FromEngine::Reply(Reply { id, result })).await
    }

    async fn show(&mut self) -> Result<(), Gone> {
        self.player.show();
        self.say().await
    }

    async fn say(&mut self) -> Result<(), Gone> {
        for message in self.player.take_said() {
            self.send(message).await?;
        }
        Ok(())
    }

    async fn send(&mut self, message: FromEngine) -> Result<(), Gone> {
        self.to_front.send(message).await.map_err(|_| Gone)
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due.into()).await,
        None => std::future::pending().await,
    }
}
