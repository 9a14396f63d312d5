//! What counters of joins and pre-tickets add to a join, and the joins that limits reject. The operations of a row take turns.

use std::net::{IpAddr, Ipv4Addr};

use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use vestibule_core::line::{ClientDigests, JoinClient, Visit, VisitKind};
use vestibule_core::store::{SettingsStore as _, VisitStore as _};
use vestibule_core::{
    ClientNetworks, Clock as _, FirstVisit, NetworkPrefix, PrefixKind, PutMode, QueueId, SessionId, SystemClock,
};

use crate::{IN_FLIGHT, StoreFixture, settings};

/// Sessions in line.
const WAITING: usize = 100_000;
/// Joins of an operation in a round.
const JOINS: usize = 5_000;
/// Rounds in which the operations take turns. The row says the medians.
const ROUNDS: usize = 7;
/// Networks of the clients, and addresses of a network.
const NETWORKS: u32 = 60_000;
const ADDRESSES: u32 = 16;

/// How a session joins, and the protection of its queue.
struct Operation {
    name: &'static str,
    protection: Value,
    redeems: bool,
    /// The operation that it is compared with.
    beside: usize,
}

fn operations() -> [Operation; 5] {
    let operation = |name, protection, redeems, beside| Operation { name, protection, redeems, beside };
    let none = "none";
    [
        operation("join, limits off", json!({ "pre_ticket_from": none, "mode": "off" }), false, 0),
        operation("join", json!({ "pre_ticket_from": none }), false, 0),
        operation("join, networks not listed", json!({ "pre_ticket_from": none, "show_networks": false }), false, 0),
        operation("join by a pre-ticket", json!({ "pre_ticket_from": 0 }), true, 1),
        operation(
            "join rejected by a limit",
            json!({ "pre_ticket_from": none, "mode": "enforce", "on_exceed": "reject", "per_network": 1, "per_address": 1 }),
            false,
            1,
        ),
    ]
}

impl StoreFixture {
    /// The client with this number, as a gate describes it.
    fn client(&self, queue: &QueueId, number: u32) -> JoinClient {
        let network = number % NETWORKS;
        let address = Ipv4Addr::from_bits((11 << 24) + (network << 8) + number / NETWORKS % ADDRESSES);
        let networks = ClientNetworks::of(IpAddr::from(address)).unwrap();
        let digest = |kind, prefix: String| self.signer.prefix_digest(kind, queue, 1, &prefix).unwrap();
        let prefixes = ClientDigests {
            address: digest(PrefixKind::Address, networks.address.to_string()),
            network: digest(PrefixKind::Network, networks.network.to_string()),
        };
        JoinClient {
            prefixes: Some(prefixes),
            network: Some(NetworkPrefix::of(networks.network)),
            ..JoinClient::default()
        }
    }

    fn joining(&self, queue: &QueueId, number: u32, redeems: bool) -> Visit {
        let session = SessionId::random();
        let visit = if redeems {
            let first = FirstVisit::new(1, session, SystemClock::new().now());
            let token = self.signer.sign_first_visit(queue, &first, None).unwrap();
            Visit::redeeming(self.signer.verify_pre_ticket(queue, token.as_bytes(), None).unwrap())
        } else {
            Visit::joining(session)
        };
        Visit { client: self.client(queue, number), ..visit }
    }

    /// All of these visits, of which either all join or none does.
    async fn visit_all(&self, queue: &QueueId, visits: Vec<Visit>) -> bool {
        let visits = stream::iter(visits).map(|visit| self.store.visit(queue, visit));
        let kinds: Vec<VisitKind> = visits.buffered(IN_FLIGHT).map(|answer| answer.unwrap().kind).collect().await;
        kinds.iter().all(|kind| *kind == VisitKind::Joined)
    }
}

/// Prints the table.
pub(super) async fn run() {
    println!("| operation | CPU of Redis, us | beside | CPU of that, us | ratio |");
    println!("| --- | ---: | --- | ---: | ---: |");
    let (bench, operations) = (StoreFixture::start().await, operations());
    let mut queues = Vec::new();
    for (index, operation) in operations.iter().enumerate() {
        let mut changes = json!({ "protection": { "pre_ticket_from": "none", "mode": "monitor" } });
        let queue = settings(&format!("joins{index}"), &changes);
        bench.store.put_settings(&queue, PutMode::Always).await.unwrap();
        let visits = (0..WAITING as u32).map(|number| bench.joining(&queue.id, number, false)).collect();
        assert!(bench.visit_all(&queue.id, visits).await);
        changes["protection"] = operation.protection.clone();
        let queue = settings(queue.id.as_str(), &changes);
        bench.store.put_settings(&queue, PutMode::Always).await.unwrap();
        queues.push(queue.id);
    }
    let mut costs = operations.each_ref().map(|_| Vec::new());
    for round in 0..ROUNDS {
        for (operation, (queue, costs)) in operations.iter().zip(queues.iter().zip(&mut costs)) {
            let first = (WAITING + round * JOINS) as u32;
            let clients = first..first + JOINS as u32;
            let visits = clients.map(|number| bench.joining(queue, number, operation.redeems)).collect();
            let (work, joined) = bench.work(bench.visit_all(queue, visits), JOINS).await;
            assert!(joined || operation.protection["mode"] == "enforce", "{}", operation.name);
            costs.push(work.cpu_us);
        }
    }
    let medians = costs.map(|mut costs| {
        costs.sort_by(f64::total_cmp);
        costs[costs.len() / 2]
    });
    for (operation, cost) in operations.iter().zip(medians) {
        let (other, beside) = (operations[operation.beside].name, medians[operation.beside]);
        println!("| {} | {cost:.1} | {other} | {beside:.1} | {:.2} |", operation.name, cost / beside);
    }
}
