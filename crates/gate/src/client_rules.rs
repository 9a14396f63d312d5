//! What a process knows about clients: where their addresses are, and which networks mean something.

use vestibule_core::settings::TrustedHeaders;
use vestibule_runtime::ClientAddressSource;

use crate::network_lists::NetworkLists;

/// How requests are attributed to clients.
#[derive(Clone, Default)]
pub struct ClientRules {
    /// Which header states the client address: `VESTIBULE_CLIENT_ADDRESS`.
    pub source: ClientAddressSource,
    /// Lists of networks: `VESTIBULE_NETWORKS`.
    pub networks: NetworkLists,
    /// Headers that only a trusted proxy may send: `VESTIBULE_TRUSTED_HEADERS`.
    pub trusted_headers: TrustedHeaders,
}
