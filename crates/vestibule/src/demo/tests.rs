//! The demo with few visitors and short timeouts.

use tokio::time::{sleep, timeout};

use super::*;

/// Maximum time until the line has moved.
const LIMIT: Duration = Duration::from_mins(1);

async fn open(quota: u64) -> (Demo, SocketAddr) {
    let fast = |shop| {
        let mut document = queue::document(quota, shop)?;
        document.queues[0].line.waiting_ttl = 3;
        document.queues[0].line.claim_ttl = 3;
        Ok(document)
    };
    let mut demo = Demo::open(quota, fast).await.unwrap();
    let gate = Server::bind(&Listen::Tcp(([127, 0, 0, 1], 0).into())).unwrap();
    let address = gate.tcp_address().unwrap();
    demo.tasks.spawn(gate.serve(demo.router.clone(), std::future::pending(), SHUTDOWN_GRACE));
    (demo, address)
}

#[tokio::test]
async fn simulated_visitors_wait_shop_leave_and_respect_the_quota() {
    let (mut demo, address) = open(3).await;
    demo.tasks.spawn(run_workload(address, 12, 1));
    let queue = queue::queue_id().unwrap();
    let line_moves = async {
        loop {
            let stats = demo.store.stats(&queue).await.unwrap();
            assert!(stats.active <= 3, "{} active", stats.active);
            if stats.waiting > 0 && stats.counters.admitted > 3 && stats.counters.left > 0 {
                return;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(LIMIT, line_moves).await.expect("the line moves");
}

#[test]
fn listeners_on_all_addresses_are_reached_on_loopback() {
    let reached = |address: &str| reachable(address.parse().unwrap()).to_string();
    assert_eq!(reached("0.0.0.0:80"), "127.0.0.1:80");
    assert_eq!(reached("[::]:80"), "[::1]:80");
    assert_eq!(reached("192.0.2.7:80"), "192.0.2.7:80");
}
