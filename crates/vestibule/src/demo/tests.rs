//! The demo's pieces together, with few visitors and short times.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::habits::{Ending, Habits, Patience, Plan};
use super::visitor::{Sight, Visitor, connections};
use super::*;

/// How long anybody of these few may have to wait.
const WAIT_MAX: Duration = Duration::from_secs(30);

const QUICK: Plan = Plan {
    patience: Patience::StayCounts,
    shopping: Duration::from_millis(100),
    ending: Ending::Buys,
    pause: Duration::from_millis(100),
};

/// A running demo whose line is asked every second.
async fn open(quota: u64) -> (Demo, SocketAddr) {
    let quick = |shop| {
        let mut document = queue::document(quota, shop)?;
        document.queues[0].line.waiting_ttl = 3;
        document.queues[0].line.claim_ttl = 3;
        Ok(document)
    };
    let mut demo = Demo::open(quota, quick).await.unwrap();
    let gate = Server::bind(&Listen::Tcp(([127, 0, 0, 1], 0).into())).unwrap();
    let address = gate.tcp_address().unwrap();
    demo.tasks.spawn(gate.serve(demo.router.clone(), std::future::pending(), DRAIN));
    (demo, address)
}

fn quick_habits() -> Habits {
    Habits {
        arrival: 0.2,
        shopping: 0.1..0.9,
        pause: 0.2..0.5,
        patience: 0.5..2.0,
        absence: 0.3..1.0,
        ..Habits::default()
    }
}

/// Looks all the time how many are in the shop, until the visit is over. Returns the most.
async fn most_inside(demo: &Demo, mut visit: std::pin::Pin<&mut impl Future<Output = ()>>) -> u64 {
    let queue = queue::queue_id().unwrap();
    let mut most = 0;
    loop {
        most = most.max(demo.store.stats(&queue).await.unwrap().active);
        if timeout(Duration::from_millis(10), &mut visit).await.is_ok() {
            return most;
        }
    }
}

#[tokio::test]
async fn who_comes_behind_the_crowd_waits_gets_in_and_never_are_more_inside_than_the_quota() {
    let (mut demo, address) = open(3).await;
    demo.tasks.spawn(crowd::gather(address, 15, 3, 1, quick_habits()));
    sleep(Duration::from_millis(400)).await;

    let mut visitor = Visitor::new(connections(), address);
    assert!(matches!(visitor.open("/").await.unwrap(), Sight::Line { .. }), "the crowd is there first");
    let began = Instant::now();
    let visit = async { timeout(WAIT_MAX, crowd::visit(&mut visitor, &QUICK)).await.unwrap().unwrap() };
    let most = most_inside(&demo, std::pin::pin!(visit)).await;
    assert_eq!(most, 3, "most of those inside at once");

    let queue = queue::queue_id().unwrap();
    let stats = demo.store.stats(&queue).await.unwrap();
    assert!(stats.counters.admitted > 3, "the line moved within {:?}", began.elapsed());
    assert!(stats.counters.left > 0, "places were given up");
}

#[tokio::test]
async fn a_shop_for_one_is_entered_in_the_order_of_arrival() {
    let (_demo, address) = open(1).await;
    let entered = Arc::new(Mutex::new(Vec::new()));
    let mut visitors = JoinSet::new();
    for number in 0..4 {
        let mut visitor = Visitor::new(connections(), address);
        let sight = visitor.open("/").await.unwrap();
        assert_eq!(sight == Sight::Shop, number == 0, "only the first finds the shop empty");
        let entered = entered.clone();
        visitors.spawn(async move {
            assert!(crowd::wait(&mut visitor, Patience::StayCounts).await.unwrap());
            entered.lock().await.push(number);
            visitor.leave().await.unwrap();
        });
    }
    timeout(WAIT_MAX, visitors.join_all()).await.unwrap();
    assert_eq!(*entered.lock().await, [0, 1, 2, 3]);
}

#[tokio::test]
async fn a_shop_without_a_crowd_is_entered_at_once_and_sells() {
    let (_demo, address) = open(1).await;
    let mut visitor = Visitor::new(connections(), address);
    crowd::visit(&mut visitor, &QUICK).await.unwrap();
    visitor.forget();
    visitor.open("/").await.unwrap();
    let entered = timeout(WAIT_MAX, crowd::wait(&mut visitor, Patience::StayCounts)).await.unwrap();
    assert!(entered.unwrap(), "the slot of the visitor who bought is free again");
}

#[test]
fn what_listens_everywhere_is_reached_here() {
    let reached = |address: &str| reachable(address.parse().unwrap()).to_string();
    assert_eq!(reached("0.0.0.0:80"), "127.0.0.1:80");
    assert_eq!(reached("[::]:80"), "[::1]:80");
    assert_eq!(reached("192.0.2.7:80"), "192.0.2.7:80");
}
