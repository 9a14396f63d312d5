//! What outlasts the program in its state folder: the state of the memory store, and which queues there were.
//!
//! The memory store's state is written on an orderly stop and every few seconds, so a restart loses nothing, and a crash the
//! last moments, which the tickets of those moments show (rule 7, recovery). A queue that was there before, but that the store
//! does not hold now, was lost: it begins in recovery and not as a new one.

use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tracing::{info, warn};
use vestibule_core::settings::Settings;
use vestibule_core::{MemorySnapshot, MemoryStore, PutMode, Store, StoreError};

/// Name of the file with the memory store's state, as JSON.
const STATE: &str = "memory-store.json";
/// Name of the file with the queues that there were: one id a line.
const QUEUES: &str = "queues";
/// Time between two writes of the memory store's state: what a process that is killed has not written is at most this old.
const EVERY: Duration = Duration::from_secs(3);

/// The memory store's state on disk.
#[derive(Clone)]
pub(crate) struct StateFile {
    file: PathBuf,
    store: Arc<MemoryStore>,
}

impl StateFile {
    pub(crate) fn new(folder: &Path, store: Arc<MemoryStore>) -> Self {
        Self { file: folder.join(STATE), store }
    }

    /// Puts the state that was written last into the store, if there is one.
    ///
    /// # Errors
    /// The file is there and can't be read: what to do about it is for the operator to say.
    pub(crate) fn take_up(&self) -> anyhow::Result<()> {
        let text = match fs::read(&self.file) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            read => read.map_err(|error| self.unreadable(&error))?,
        };
        let snapshot: MemorySnapshot = serde_json::from_slice(&text).map_err(|error| self.unreadable(&error))?;
        for settings in self.store.restore(snapshot) {
            warn!(%settings, "a queue in the state folder has settings that can't be read, so it is left out");
        }
        info!(file = %self.file.display(), "going on with the state in which the program ended");
        Ok(())
    }

    fn unreadable(&self, error: &dyn std::fmt::Display) -> anyhow::Error {
        let file = self.file.display();
        anyhow::anyhow!("the state in {file} can't be read: {error}; move the file away to begin without it")
    }

    /// Writes the state every few seconds, for ever.
    pub(crate) async fn keep_writing(self) {
        loop {
            tokio::time::sleep(EVERY).await;
            self.write().await;
        }
    }

    /// Writes the state.
    pub(crate) async fn write(&self) {
        let this = self.clone();
        let written = tokio::task::spawn_blocking(move || {
            let text = serde_json::to_vec(&this.store.snapshot())?;
            write_whole(&this.file, &text)
        });
        match written.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => warn!(%error, "the state can't be written to the state folder"),
            Err(error) => warn!(%error, "writing the state to the state folder broke off"),
        }
    }
}

/// Writes a file that is there as a whole or as it was before, for this user alone.
fn write_whole(file: &Path, text: &[u8]) -> io::Result<()> {
    fs::create_dir_all(file.parent().unwrap_or(Path::new(".")))?;
    let new = file.with_extension("new");
    let mut open = fs::OpenOptions::new();
    let mut opened = open.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    opened.write_all(text)?;
    opened.sync_all()?;
    fs::rename(&new, file)
}

/// Which queues there were when the program ran last.
pub(crate) struct KnownQueues {
    file: PathBuf,
}

impl KnownQueues {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { file: folder.join(QUEUES) }
    }

    /// Restores those of the queues that were there before and that the store does not hold.
    ///
    /// # Errors
    /// The store's.
    pub(crate) async fn restore(&self, store: &dyn Store, queues: &[Settings]) -> Result<(), StoreError> {
        let Ok(known) = fs::read_to_string(&self.file) else { return Ok(()) };
        for settings in queues.iter().filter(|queue| known.lines().any(|id| id == queue.id.as_str())) {
            if store.settings(&settings.id).await?.is_none() {
                info!(queue = %settings.id, "the store has lost this queue; its tickets are taken back first");
                store.put_settings(settings, PutMode::Restore).await?;
            }
        }
        Ok(())
    }

    /// Notes which queues there are.
    pub(crate) fn note(&self, queues: &[Settings]) {
        let ids: Vec<&str> = queues.iter().map(|queue| queue.id.as_str()).collect();
        if let Err(error) = write_whole(&self.file, ids.join("\n").as_bytes()) {
            warn!(%error, "the queues can't be noted in the state folder");
        }
    }
}
