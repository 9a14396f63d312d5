//! Whether the client addresses of queues are reliable, as any process sees and logs it.

use tracing::{info, warn};
use vestibule_core::line::{ClientAddressState, Stats};
use vestibule_core::{QueueId, StoreError};

use crate::store::{EphemeralKey, EphemeralKind, RecordStore};

/// Seconds for which a logged state is kept: longer than a minute, after which it is looked at again.
const LOGGED_TTL: u64 = 900;

/// The state of the client addresses of a queue. While too few sessions join to tell, it is the one that was logged last: an alert does
/// not resolve because nobody comes.
///
/// # Errors
/// Returns the error of the store.
pub async fn client_address_state(
    records: &dyn RecordStore,
    queue: &QueueId,
    stats: &Stats,
) -> Result<ClientAddressState, StoreError> {
    if let Some(state) = stats.limits.client_address {
        return Ok(state);
    }
    let logged = records.get_ephemeral(&key_of(queue, stats)).await?;
    let is_logged = |state: &ClientAddressState| logged.as_deref() == Some(state.as_str());
    Ok(ClientAddressState::ALL.into_iter().find(is_logged).unwrap_or_default())
}

/// Where the state is logged. A queue that was reset, or created again, has none yet.
fn key_of(queue: &QueueId, stats: &Stats) -> EphemeralKey {
    EphemeralKey::new(EphemeralKind::ClientAddress, format!("{queue}-{}", stats.state_since.0))
}

/// Logs each change of whether client addresses are reliable. Any process may look next, so the records have the state that was logged.
/// While too few sessions join to tell, that state stays.
pub(crate) async fn log_client_address(
    records: &dyn RecordStore,
    queue: &QueueId,
    stats: &Stats,
) -> Result<(), StoreError> {
    let key = key_of(queue, stats);
    let logged = records.get_ephemeral(&key).await?;
    let Some(current) = stats.limits.client_address else {
        return match logged {
            Some(logged) => records.set_ephemeral(&key, &logged, LOGGED_TTL).await,
            None => Ok(()),
        };
    };
    if current == ClientAddressState::Ok {
        if logged.is_some() && records.take_ephemeral(&key).await?.is_some() {
            info!(%queue, "client addresses are reliable again");
        }
        return Ok(());
    }
    if logged.as_deref() != Some(current.as_str()) {
        warn!(%queue, state = current.as_str(), "client addresses are not reliable; check --trusted-proxies and --client-address");
    }
    records.set_ephemeral(&key, current.as_str(), LOGGED_TTL).await
}
