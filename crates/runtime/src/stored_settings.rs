//! Reads the stored settings that a document is compared with.

use std::collections::BTreeSet;

use vestibule_core::QueueId;
use vestibule_core::settings::{Document, StoredSettings, Unlisted};
use vestibule_core::store::{SettingsStore, StoreError};

/// Reads the tenants, the queues of a document, and of the other queues those that `unlisted` is about: these, or all.
///
/// # Errors
/// Returns the store's error. If a queue that the document does not contain cannot be read, it is listed as unreadable.
pub async fn stored_settings(
    store: &dyn SettingsStore,
    document: &Document,
    unlisted: Unlisted<'_>,
) -> Result<StoredSettings, StoreError> {
    let mut stored = StoredSettings { tenants: store.tenants().await?, ..StoredSettings::default() };
    let listed: BTreeSet<QueueId> = document.queues.iter().map(|queue| queue.id.clone()).collect();
    let mut ids = listed.clone();
    for (id, revision) in store.queues().await? {
        match unlisted {
            // A removed queue stays in the index with revision 0.
            _ if revision == 0 => stored.removed.push(id),
            Unlisted::Keep | Unlisted::Remove => drop(ids.insert(id)),
            Unlisted::RemoveOnly(_) => {}
        }
    }
    if let Unlisted::RemoveOnly(only) = unlisted {
        ids.extend(only.iter().cloned());
    }
    for id in ids {
        match store.settings(&id).await {
            Ok(settings) => stored.queues.extend(settings),
            Err(StoreError::Corrupt(_)) if !listed.contains(&id) => stored.unreadable.push(id),
            Err(error) => return Err(error),
        }
    }
    Ok(stored)
}
