//! `vestibule demo`: a sample shop, the gate before it and a crowd that wants in, in one process.

mod crowd;
mod habits;
mod queue;
mod report;
mod shop;
#[cfg(test)]
mod tests;
mod visitor;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::task::JoinSet;
use vestibule_core::settings::Document;
use vestibule_core::{MemoryStore, Store, SystemClock};
use vestibule_http::{LogFormat, init_telemetry};

use self::habits::Habits;
use crate::cli::{DemoOptions, Listen};
use crate::serve::{keep_purging, stop_signal};
use crate::server::Server;

/// How long requests under way may take to end once the demo is told to stop.
const DRAIN: Duration = Duration::from_secs(1);
/// What to do about an address that can't be had.
const ELSEWHERE: &str =
    "Give another address, such as --listen 127.0.0.1:8081, or --listen 127.0.0.1:0 for any port that is free";

/// Runs until told to stop.
pub(crate) async fn demo(options: DemoOptions) -> anyhow::Result<ExitCode> {
    init_telemetry(&options.log, LogFormat::Text).map_err(|reason| anyhow::anyhow!("VESTIBULE_LOG {reason}"))?;
    let stop = stop_signal()?;
    let gate =
        Server::bind(&Listen::Tcp(options.listen)).await.map_err(|error| anyhow::anyhow!("{error:#}\n{ELSEWHERE}"))?;
    let address = reachable(gate.tcp_address().context("a socket file is no address for the demo")?);
    let habits = Habits::default();
    report::introduce(&options, &habits, address);

    let mut demo = Demo::open(options.quota, |shop| queue::document(options.quota, shop)).await?;
    demo.tasks.spawn(report::keep_reporting(demo.store.clone()));
    demo.tasks.spawn(crowd::gather(address, options.crowd, options.quota, options.seed, habits));
    gate.serve(demo.router.clone(), stop, DRAIN).await;
    demo.tasks.shutdown().await;
    report::end();
    Ok(ExitCode::SUCCESS)
}

/// The shop and the gate's router before it. What runs beside them ends with it.
struct Demo {
    store: Arc<dyn Store>,
    router: axum::Router,
    tasks: JoinSet<()>,
}

impl Demo {
    /// Opens the shop on a free port, and a queue before it with these settings (made from the shop's address).
    async fn open(quota: u64, document: impl FnOnce(SocketAddr) -> anyhow::Result<Document>) -> anyhow::Result<Self> {
        let shop = Server::bind(&Listen::Tcp((Ipv4Addr::LOCALHOST, 0).into())).await?;
        let document = document(shop.tcp_address().context("the shop has no address")?)?;
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(SystemClock::new()));
        let router = vestibule_gate::router(queue::gate(store.clone(), &document).await?);
        let mut tasks = JoinSet::new();
        tasks.spawn(shop.serve(shop::shop(quota), std::future::pending(), DRAIN));
        tasks.spawn(keep_purging(store.clone()));
        Ok(Self { store, router, tasks })
    }
}

/// Where this machine reaches what listens at `address`: a listener on every address is no address to call.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}
