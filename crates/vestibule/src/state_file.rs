//! Recovery data in the state folder: a snapshot of the memory store, and the list of queues.
//!
//! The snapshot is written every few seconds, on shutdown, and before a change of an operator is answered. A restart loses
//! nothing; after a crash, the tickets restore what the last snapshot does not have (rule 7, recovery). A listed queue that
//! the store does not have was lost, so it starts in recovery and not as a new queue.

use std::fs::{self, TryLockError};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use tokio::sync::{mpsc, oneshot};
use tracing::{info, warn};
use vestibule_core::settings::Settings;
use vestibule_core::store::{PutMode, PutOutcome, SettingsStore, StoreError};
use vestibule_store_memory::{MemorySnapshot, MemoryStore};

use crate::keys::create_private;
use crate::last_applied_settings::LastAppliedSettings;

/// File with the snapshot of the memory store, as JSON.
const SNAPSHOT_FILE: &str = "memory-store.json";
/// File with the IDs of the queues, one per line.
const QUEUES_FILE: &str = "queues";
/// Interval between snapshots; a killed process loses at most this much of the lines.
const SNAPSHOT_INTERVAL: Duration = Duration::from_secs(3);

/// File that a process with a memory store locks: another one would replace the snapshot by its own.
const LOCK_FILE: &str = "memory-store.lock";

/// Asks for snapshots between those at the interval.
#[derive(Clone)]
pub(crate) struct SnapshotRequests(mpsc::UnboundedSender<oneshot::Sender<()>>);

/// The receiving end of [`SnapshotRequests`].
pub(crate) type RequestedSnapshots = mpsc::UnboundedReceiver<oneshot::Sender<()>>;

impl SnapshotRequests {
    pub(crate) fn new() -> (Self, RequestedSnapshots) {
        let (sender, requested) = mpsc::unbounded_channel();
        (Self(sender), requested)
    }

    /// Waits for a snapshot that contains all changes before this call. If it cannot be written, the log says so.
    pub(crate) async fn written(&self) {
        let (waiting, ended) = oneshot::channel();
        if self.0.send(waiting).is_ok() {
            let _ = ended.await;
        }
    }
}

/// The snapshot of the memory store on disk.
#[derive(Clone)]
pub(crate) struct StateFile {
    file: PathBuf,
    store: Arc<MemoryStore>,
    last_applied: LastAppliedSettings,
    _lock: Arc<fs::File>,
}

impl StateFile {
    /// The snapshot in this folder, which is created. It is locked until the process ends.
    ///
    /// # Errors
    /// Another process uses the folder for its memory store, or it cannot be written.
    pub(crate) fn lock(
        folder: &Path,
        store: Arc<MemoryStore>,
        last_applied: LastAppliedSettings,
    ) -> anyhow::Result<Self> {
        let path = folder.join(LOCK_FILE);
        let created = create_private(folder).and_then(|()| fs::File::create(&path));
        let lock = created.with_context(|| format!("cannot write to the state folder {}", folder.display()))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => bail!(
                "another vestibule keeps the lines of its memory store in {}; pass another folder with --state",
                folder.display()
            ),
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", path.display()));
            }
        }
        Ok(Self { file: folder.join(SNAPSHOT_FILE), store, last_applied, _lock: Arc::new(lock) })
    }

    /// Loads the last snapshot into the store, if there is one.
    ///
    /// # Errors
    /// The file exists but cannot be read; the operator must decide what to do.
    pub(crate) async fn load(&self) -> anyhow::Result<()> {
        let text = match fs::read(&self.file) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            read => read.map_err(|error| self.unreadable(&error))?,
        };
        let snapshot: MemorySnapshot = serde_json::from_slice(&text).map_err(|error| self.unreadable(&error))?;
        self.last_applied.restore(&snapshot.beside).await?;
        let unreadable = self.store.restore(snapshot);
        for skipped in &unreadable {
            warn!(id = %skipped["id"], "skipped a queue or tenant in the state folder that cannot be read");
        }
        if !unreadable.is_empty() {
            // The next snapshot does not have what was skipped.
            let copy = self.file.with_extension("unreadable.json");
            fs::copy(&self.file, &copy).with_context(|| {
                format!("cannot copy the snapshot to {}, whose unreadable parts would be lost", copy.display())
            })?;
            warn!(file = %copy.display(), "kept a copy of the snapshot, which has what was skipped");
        }
        info!(file = %self.file.display(), "restored the last snapshot of the memory store");
        Ok(())
    }

    fn unreadable(&self, error: &dyn std::fmt::Display) -> anyhow::Error {
        let file = self.file.display();
        anyhow::anyhow!("cannot read the snapshot in {file}: {error}; move the file away to start without it")
    }

    /// Writes snapshots until `stop` resolves, and a last one afterwards.
    pub(crate) async fn write_until(self, mut requested: RequestedSnapshots, stop: impl Future<Output = ()>) {
        let mut stop = pin!(stop);
        loop {
            let mut waiting = Vec::new();
            // Between writes only: an interrupted one would continue beside the last one.
            let is_over = tokio::select! {
                () = tokio::time::sleep(SNAPSHOT_INTERVAL) => false,
                Some(first) = requested.recv() => {
                    waiting.push(first);
                    false
                }
                () = &mut stop => true,
            };
            while let Ok(next) = requested.try_recv() {
                waiting.push(next);
            }
            self.write().await;
            // Those who wait go on.
            drop(waiting);
            if is_over {
                break;
            }
        }
    }

    /// Writes a snapshot.
    async fn write(&self) {
        // Before the store is read: settings that were applied since then are applied again, with no effect.
        let beside = match self.last_applied.saved().await {
            Ok(saved) => saved,
            Err(error) => return warn!(%error, "cannot read what the snapshot saves"),
        };
        let this = self.clone();
        let written = tokio::task::spawn_blocking(move || {
            let mut snapshot = this.store.snapshot();
            snapshot.beside = beside;
            let text = serde_json::to_vec(&snapshot)?;
            write_atomically(&this.file, &text)
        });
        match written.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => warn!(%error, "cannot write the snapshot to the state folder"),
            Err(error) => warn!(%error, "the snapshot task failed"),
        }
    }
}

/// Replaces a file atomically, with mode 0600.
fn write_atomically(file: &Path, text: &[u8]) -> io::Result<()> {
    create_private(file.parent().unwrap_or(Path::new(".")))?;
    let new = file.with_extension("new");
    let mut open = fs::OpenOptions::new();
    let mut opened = open.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    opened.write_all(text)?;
    opened.sync_all()?;
    fs::rename(&new, file)
}

/// The queues of the last run.
pub(crate) struct KnownQueues {
    file: PathBuf,
}

impl KnownQueues {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { file: folder.join(QUEUES_FILE) }
    }

    /// Starts recovery of the queues that existed in the last run and are missing in the store.
    pub(crate) async fn restore(&self, store: &dyn SettingsStore, queues: &[Settings]) -> Result<(), StoreError> {
        let Ok(known) = fs::read_to_string(&self.file) else { return Ok(()) };
        for settings in queues.iter().filter(|queue| known.lines().any(|id| id == queue.id.as_str())) {
            match store.settings(&settings.id).await {
                // The store knows queues that were removed.
                Ok(None) => {
                    if let PutOutcome::Stored(_) = store.put_settings(settings, PutMode::Restore).await? {
                        info!(queue = %settings.id, "the store has lost this queue; sessions are restored from tickets first");
                    }
                }
                // Settings that cannot be read are not lost.
                Ok(Some(_)) | Err(StoreError::Corrupt(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Saves the list of queues.
    pub(crate) fn save(&self, queues: &[Settings]) {
        let ids: Vec<&str> = queues.iter().map(|queue| queue.id.as_str()).collect();
        if let Err(error) = write_atomically(&self.file, ids.join("\n").as_bytes()) {
            warn!(%error, "cannot write the list of queues to the state folder");
        }
    }
}
