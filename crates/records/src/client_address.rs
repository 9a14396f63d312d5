//! The log of queues whose client addresses are not reliable.

use tracing::{info, warn};
use vestibule_core::line::ClientAddressState;
use vestibule_core::{QueueId, StoreError};

use crate::store::{EphemeralKey, EphemeralKind, RecordStore};

/// Seconds for which a logged state is kept: longer than a minute, after which it is looked at again.
const LOGGED_TTL: u64 = 900;

/// Logs each change of whether client addresses are reliable. Any process may look next, so the records have the state that was logged.
/// While too few sessions join to tell, that state stays.
pub(crate) async fn log_client_address(
    records: &dyn RecordStore,
    queue: &QueueId,
    state: Option<ClientAddressState>,
) -> Result<(), StoreError> {
    let key = EphemeralKey::new(EphemeralKind::ClientAddress, queue.as_str());
    let logged = records.get_ephemeral(&key).await?;
    let Some(state) = state else {
        return match logged {
            Some(logged) => records.set_ephemeral(&key, &logged, LOGGED_TTL).await,
            None => Ok(()),
        };
    };
    if state == ClientAddressState::Ok {
        if logged.is_some() && records.take_ephemeral(&key).await?.is_some() {
            info!(%queue, "client addresses are reliable again");
        }
        return Ok(());
    }
    if logged.as_deref() != Some(state.as_str()) {
        warn!(%queue, state = state.as_str(), "client addresses are not reliable; check --trusted-proxies and --client-address");
    }
    records.set_ephemeral(&key, state.as_str(), LOGGED_TTL).await
}
