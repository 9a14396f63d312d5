//! The options of `vestibule demo`.

use std::net::SocketAddr;

use clap::Args;

use crate::arguments::whole;

#[derive(Args)]
pub(crate) struct DemoOptions {
    /// Listen address of the gate; port 0 picks a free port
    #[arg(long, default_value = "127.0.0.1:8080", value_name = "ADDR")]
    pub(crate) listen: SocketAddr,

    /// Quota: maximum number of active visitors (1 to 10000)
    #[arg(long, default_value_t = 20, value_parser = whole::<u64>(1..=10_000), value_name = "N")]
    pub(crate) quota: u64,

    /// Number of simulated visitors (0 to 5000)
    #[arg(long, default_value_t = 200, value_parser = whole::<u32>(0..=5_000), value_name = "N")]
    pub(crate) visitors: u32,

    /// Seed of the simulation
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) seed: u64,

    /// Listen address of the backoffice; if the port is in use, a free port is picked
    #[arg(long, default_value = "127.0.0.1:8081", value_name = "ADDR")]
    pub(crate) admin_listen: SocketAddr,

    /// Log level: error, warn, info or debug, or a comma-separated list of module=level
    // All simulated visitors have the address of this machine, which the log of client addresses would report.
    #[arg(
        long,
        env = "VESTIBULE_LOG",
        default_value = "warn,vestibule_records::client_address=error",
        value_name = "LEVELS"
    )]
    pub(crate) log: String,
}
