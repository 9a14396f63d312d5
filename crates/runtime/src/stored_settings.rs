//! Reads the stored settings that a document is compared with, and writes what differs.

use std::collections::BTreeMap;

use vestibule_core::settings::{Document, QueueChange, StoredSettings, Unlisted, UnreadableQueue};
use vestibule_core::store::{PutMode, PutOutcome, SettingsStore, StoreError};

/// Reads the tenants, the queues of a document, and of the other queues those that `unlisted` is about: these, or all.
///
/// # Errors
/// Returns the store's error. A queue that cannot be read is listed as unreadable.
pub async fn stored_settings(
    store: &dyn SettingsStore,
    document: &Document,
    unlisted: Unlisted<'_>,
) -> Result<StoredSettings, StoreError> {
    let mut stored = StoredSettings { tenants: store.tenants().await?, ..StoredSettings::default() };
    let mut ids: BTreeMap<_, _> = document.queues.iter().map(|queue| (queue.id.clone(), 0)).collect();
    if let Unlisted::RemoveOnly(only) = unlisted {
        ids.extend(only.iter().map(|id| (id.clone(), 0)));
    }
    for (id, revision) in store.queues().await? {
        match unlisted {
            // A removed queue stays in the index with revision 0.
            _ if revision == 0 => stored.removed.push(id),
            Unlisted::Keep | Unlisted::Remove => drop(ids.insert(id, revision)),
            Unlisted::RemoveOnly(_) => drop(ids.get_mut(&id).map(|known| *known = revision)),
        }
    }
    for (id, revision) in ids {
        match store.settings(&id).await {
            Ok(settings) => stored.queues.extend(settings),
            Err(StoreError::Corrupt(reason)) => stored.unreadable.push(UnreadableQueue { id, revision, reason }),
            Err(error) => return Err(error),
        }
    }
    Ok(stored)
}

/// The same for processes that replace no settings which they cannot read: a newer version may have written them.
///
/// # Errors
/// Also returns an error if a queue of the document cannot be read.
pub async fn readable_settings(
    store: &dyn SettingsStore,
    document: &Document,
    unlisted: Unlisted<'_>,
) -> Result<StoredSettings, StoreError> {
    let stored = stored_settings(store, document, unlisted).await?;
    match stored.unreadable.iter().find(|it| document.queues.iter().any(|queue| queue.id == it.id)) {
        Some(UnreadableQueue { reason, .. }) => {
            Err(StoreError::Corrupt(format!("{reason}; `vestibule apply` replaces settings that cannot be read")))
        }
        None => Ok(stored),
    }
}

/// Writes a new or changed queue of a plan. Returns its revision, or `None` if someone else has changed the queue since the plan was
/// made: it stays as it is.
///
/// # Errors
/// Returns the store's error. The settings may or may not have been written.
pub async fn write_queue(store: &dyn SettingsStore, change: &QueueChange) -> Result<Option<u64>, StoreError> {
    match store.put_settings(&change.settings, PutMode::of(change)).await {
        Ok(PutOutcome::Stored(revision)) => Ok(Some(revision)),
        Ok(PutOutcome::Conflict(_) | PutOutcome::Removed) | Err(StoreError::UnknownQueue(_)) => Ok(None),
        Err(error) => Err(error),
    }
}
