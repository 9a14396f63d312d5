//! What a process knows about clients: where their addresses are, and which networks mean something.

use crate::{ClientAddressSource, NetworkLists};

/// How requests are attributed to clients.
#[derive(Clone, Default)]
pub struct ClientRules {
    /// Which header states the client address: `VESTIBULE_CLIENT_ADDRESS`.
    pub source: ClientAddressSource,
    /// Lists of networks: `VESTIBULE_NETWORKS`.
    pub networks: NetworkLists,
}
