//! What limits know about the client of a request.

use vestibule_core::line::{ClientDigests, JoinClient};
use vestibule_core::settings::{Settings, class_of};
use vestibule_core::{ClientNetworks, NetworkPrefix, PrefixKind};

use crate::request::RequestInfo;
use crate::state::Gate;

/// The client of a request that may join this queue.
pub(crate) fn join_client(gate: &Gate, info: &RequestInfo, settings: &Settings) -> JoinClient {
    let (queue, line) = (&settings.id, &settings.line);
    let digest = |kind, prefix: &dyn ToString| gate.tickets.prefix_digest(kind, queue, line.epoch, &prefix.to_string());
    let networks = info.origin.address.and_then(ClientNetworks::of);
    let prefixes = networks.and_then(|networks| {
        Some(ClientDigests {
            address: digest(PrefixKind::Address, &networks.address)?,
            network: digest(PrefixKind::Network, &networks.network)?,
        })
    });
    // What a trusted proxy says of the client comes before what lists say of its network.
    let by_rules = info.facts(&gate.clients, |facts| class_of(&settings.rules, facts));
    let in_lists = |address| gate.clients.networks.current().class_of(address, &line.protection);
    JoinClient {
        prefixes,
        network: networks.filter(|_| line.protection.show_networks).map(|networks| NetworkPrefix::of(networks.network)),
        class: by_rules.or_else(|| info.origin.address.and_then(in_lists)),
        extra_hops: info.origin.extra_hops,
    }
}
