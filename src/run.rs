//! stand-in
use crate::cli::RunRequest; use crate::engine::EngineConfig; use crate::launch::Ambient; use crate::settings::Settings;
pub async fn run(_: RunRequest, _: &Settings, _: Ambient, _: EngineConfig) -> anyhow::Result<i32> { Ok(0) }
