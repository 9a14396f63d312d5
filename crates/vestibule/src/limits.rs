//! Connection limits of `vestibule serve`, from its options and the file descriptor limit of the process.

use vestibule_runtime::CountLimits;

use crate::serve_options::ServeOptions;
use crate::server::ConnectionLimits;

/// Descriptors reserved for the store, files and listeners.
const RESERVED: usize = 64;
/// Maximum number of backoffice connections.
const ADMIN_CONNECTIONS: usize = 512;
/// If descriptors are scarce, the backoffice gets one in eight.
const ADMIN_SHARE: usize = 8;
/// Minimum number of connections of a listener.
const CONNECTIONS_MIN: usize = 16;
/// Streams hold their connections, so they get at most one connection in this many, of all and of one client network.
const STREAM_SHARE: usize = 2;
/// The same for tunnels.
const TUNNEL_SHARE: usize = 4;

/// The limits of both listeners, and of the streams and tunnels of the gate.
#[derive(Debug)]
pub(crate) struct Limits {
    pub(crate) gate: ConnectionLimits,
    pub(crate) admin: ConnectionLimits,
    pub(crate) counts: CountLimits,
    /// Of one client network, also behind proxies, which say whose connections they are.
    pub(crate) streams_per_network: usize,
    pub(crate) tunnels_per_network: usize,
}

impl Limits {
    /// Limits for this number of descriptors. A visitor of a proxied site uses two: one to the gate and one to the origin.
    pub(crate) fn new(options: &ServeOptions, descriptors: u64) -> Self {
        let descriptors = usize::try_from(descriptors).unwrap_or(usize::MAX);
        let left = descriptors.saturating_sub(RESERVED);
        let admin = if options.admin_listen.is_some() {
            ADMIN_CONNECTIONS.min(left / ADMIN_SHARE).max(CONNECTIONS_MIN)
        } else {
            0
        };
        let gate = options.connections.min(left.saturating_sub(admin) / 2).max(CONNECTIONS_MIN);
        let per_network = |total: usize, proxies: usize| {
            (proxies == 0).then(|| options.connections_per_address.min(total / 2).max(1))
        };
        let counts = CountLimits {
            connections: gate,
            streams: options.streams_max.min(gate / STREAM_SHARE),
            tunnels: gate / TUNNEL_SHARE,
        };
        let share = |share: usize| (options.connections_per_address.min(gate / 2) / share).max(1);
        Self {
            counts,
            streams_per_network: share(STREAM_SHARE),
            tunnels_per_network: share(TUNNEL_SHARE),
            gate: ConnectionLimits { total: gate, per_network: per_network(gate, options.trusted_proxies) },
            admin: ConnectionLimits { total: admin, per_network: per_network(admin, options.admin_trusted_proxies) },
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::{Cli, Command};

    fn limits(arguments: &[&str], descriptors: u64) -> [(usize, Option<usize>); 2] {
        let parsed = Cli::parse_from([&["vestibule", "serve"], arguments].concat());
        let Command::Serve(options) = parsed.command else { unreachable!("serve was given") };
        let limits = Limits::new(&options, descriptors);
        [limits.gate, limits.admin].map(|limits| (limits.total, limits.per_network))
    }

    #[test]
    fn few_descriptors_lower_connection_limits() {
        let admin = ["--admin-listen", "127.0.0.1:0"];
        assert_eq!(limits(&admin, 256), [(84, Some(42)), (24, Some(12))]);
        assert_eq!(limits(&admin, 1 << 20), [(10_000, Some(256)), (512, Some(256))]);
        assert_eq!(limits(&[], 10)[0], (16, Some(8)));
    }

    #[test]
    fn streams_leave_connections_for_other_requests() {
        let streams = |arguments: &[&str], descriptors: u64| {
            let parsed = Cli::parse_from([&["vestibule", "serve"], arguments].concat());
            let Command::Serve(options) = parsed.command else { unreachable!("serve was given") };
            let limits = Limits::new(&options, descriptors);
            (limits.counts.streams, limits.streams_per_network)
        };
        assert_eq!(streams(&[], 1 << 20), (5000, 128));
        assert_eq!(streams(&["--connections", "100000", "--trusted-proxies", "1"], 1 << 20), (20_000, 128));
        assert_eq!(streams(&["--streams-max", "7"], 1 << 20).0, 7);
        assert_eq!(streams(&["--streams-max", "0"], 1 << 20).0, 0);
        assert_eq!(streams(&[], 10), (8, 4));
    }

    #[test]
    fn tunnels_leave_connections_for_other_requests() {
        let Command::Serve(options) = Cli::parse_from(["vestibule", "serve"]).command else { unreachable!() };
        let limits = |descriptors| {
            let limits = Limits::new(&options, descriptors);
            (limits.counts.tunnels, limits.tunnels_per_network)
        };
        assert_eq!((limits(1 << 20), limits(10)), ((2500, 64), (4, 2)));
    }

    #[test]
    fn trusted_proxies_lift_the_limit_per_address() {
        let gate = ["--admin-listen", "127.0.0.1:0", "--trusted-proxies", "1"];
        assert_eq!(limits(&gate, 4096), [(1764, None), (504, Some(252))]);
        let both = [&gate[..], &["--admin-trusted-proxies", "1"]].concat();
        assert_eq!(limits(&both, 4096), [(1764, None), (504, None)]);
    }
}
