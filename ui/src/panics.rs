//! A panic must never leave the terminal raw: the hook gives it back before anything is printed.

use std::cell::Cell;
use std::panic::{self, PanicHookInfo};
use std::sync::Arc;
use tokio::sync::Notify;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

static STRUCK: Notify = Notify::const_new();

type Hook = dyn Fn(&PanicHookInfo<'_>) + Send + Sync;

/// Runs what may panic inside a library and is caught at once: nothing is printed.
pub(crate) fn quietly<T>(run: impl FnOnce() -> T) -> T {
    let before = QUIET.replace(true);
    let result = run();
    QUIET.set(before);
    result
}

/// Waits for a panic that gave the terminal back and has told of itself.
pub(crate) async fn struck() {
    STRUCK.notified().await;
}

/// While it lives, a panic calls `restore` before the hook that was there.
pub(crate) struct HookGuard {
    before: Arc<Hook>,
}

impl HookGuard {
    pub(crate) fn install(restore: fn()) -> Self {
        let before: Arc<Hook> = Arc::from(panic::take_hook());
        let inner = Arc::clone(&before);
        panic::set_hook(Box::new(move |info| {
            if QUIET.get() {
                return;
            }
            restore();
            inner(info);
            STRUCK.notify_one();
        }));
        Self { before }
    }
}

impl Drop for HookGuard {
    fn drop(&mut self) {
        // Setting a hook while panicking would abort.
        if !std::thread::panicking() {
            let before = Arc::clone(&self.before);
            panic::set_hook(Box::new(move |info| before(info)));
        }
    }
}

/// The words of a caught panic.
pub(crate) fn words(payload: &(dyn std::any::Any + Send)) -> String {
    payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without words".to_owned())
}
