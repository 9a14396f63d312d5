//! The log of queues whose client addresses are not reliable.

use tracing::{info, warn};
use vestibule_core::line::ClientAddressState;
use vestibule_core::{QueueId, StoreError};

use crate::store::{EphemeralKey, EphemeralKind, RecordStore};

/// Seconds for which a logged state is kept: longer than a minute, after which it is looked at again.
const LOGGED_TTL: u64 = 900;

/// Logs each change of whether client addresses are reliable. Any process may look next, so the records have the state that was logged.
pub(crate) async fn log_client_address(
    records: &dyn RecordStore,
    queue: &QueueId,
    state: ClientAddressState,
) -> Result<(), StoreError> {
    let key = EphemeralKey::new(EphemeralKind::ClientAddress, queue.as_str());
    let logged = records.get_ephemeral(&key).await?;
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
