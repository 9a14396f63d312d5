//! Remembers over a restart in which queues of the memory store people stood in line.
//!
//! Their tickets hold their places, but the new process can't know of them: without a word from the old one, whoever
//! comes first would find an empty line and free places. So the queues with a line are written to the state folder, and
//! begin as lost states do: tickets are taken back before anybody new is admitted.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tracing::{info, warn};
use vestibule_core::settings::Settings;
use vestibule_core::{PutMode, Store};

/// Name of the file: one id of a queue a line.
const FILE: &str = "unfinished";
/// Time between two looks at the lines: what a process that is killed has not written is at most this old.
const EVERY: Duration = Duration::from_secs(1);

/// The queues in which people stood in line.
#[derive(Clone)]
pub(crate) struct Unfinished {
    file: PathBuf,
    store: Arc<dyn Store>,
}

impl Unfinished {
    pub(crate) fn new(folder: &Path, store: Arc<dyn Store>) -> Self {
        Self { file: folder.join(FILE), store }
    }

    /// Begins the queues that were left with a line, unless no ticket of them can be good any more.
    pub(crate) async fn take_up(&self, queues: &[Settings]) {
        let Ok(left) = fs::read_to_string(&self.file) else { return };
        let written = fs::metadata(&self.file).and_then(|file| file.modified()).ok();
        let age = written.and_then(|written| written.elapsed().ok()).unwrap_or_default();
        for settings in queues.iter().filter(|queue| left.lines().any(|id| id == queue.id.as_str())) {
            if age >= Duration::from_secs(settings.line.hold_ttl) {
                continue;
            }
            if self.store.put_settings(settings, PutMode::Restore).await.is_ok() {
                info!(queue = %settings.id, "people stood in line when the program ended; their tickets are taken back first");
            }
        }
    }

    /// Writes the queues with a line, now and then, for ever.
    pub(crate) async fn keep_writing(self) {
        loop {
            tokio::time::sleep(EVERY).await;
            self.write().await;
        }
    }

    /// Writes the queues with a line.
    pub(crate) async fn write(&self) {
        let mut left = String::new();
        for (queue, _) in self.store.queues().await.unwrap_or_default() {
            if self.store.stats(&queue).await.is_ok_and(|stats| stats.waiting > 0) {
                left.push_str(queue.as_str());
                left.push('\n');
            }
        }
        let written = if left.is_empty() { self.remove() } else { self.keep(&left) };
        if let Err(error) = written {
            warn!(%error, "which queues have a line can't be written to the state folder");
        }
    }

    fn keep(&self, left: &str) -> std::io::Result<()> {
        fs::create_dir_all(self.file.parent().unwrap_or(Path::new(".")))?;
        fs::write(&self.file, left)
    }

    fn remove(&self) -> std::io::Result<()> {
        match fs::remove_file(&self.file) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}
