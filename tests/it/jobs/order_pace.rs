//! Check 3: visitors submit their orders all at once, many of them twice, and the site receives them at its pace.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use futures_util::future::join_all;
use http::{Method, StatusCode};
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};
use vestibule_tests::{TestResponse, Visitor, wait_until};

use super::held_orders::{HOST, LIMIT, location, script, serve};

/// Requests of visitors at a time.
const REQUESTS: usize = 50;

/// What a site received.
#[derive(Default)]
struct Received {
    orders: Vec<(String, Instant)>,
    running: usize,
    most_running: usize,
}

/// A site that takes 100 to 550 ms for an order.
async fn site() -> (String, Arc<Mutex<Received>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let received = Arc::new(Mutex::new(Received::default()));
    let shared = received.clone();
    let router = Router::new().fallback(move |method: Method, body: String| {
        let received = shared.clone();
        async move { if method == Method::POST { place_order(&received, body).await } else { "origin".to_owned() } }
    });
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    (url, received)
}

async fn place_order(received: &Mutex<Received>, order: String) -> String {
    {
        let mut received = received.lock();
        received.orders.push((order.clone(), Instant::now()));
        received.running += 1;
        received.most_running = received.most_running.max(received.running);
    }
    let number: u64 = order.strip_prefix("order=").unwrap().parse().unwrap();
    sleep(Duration::from_millis(100 + 50 * (number % 10))).await;
    received.lock().running -= 1;
    format!("placed {number}")
}

/// Visitors, each with an order.
struct Rush {
    orders: usize,
    per_minute: usize,
    concurrency: usize,
    /// How often a visitor asks what became of the order.
    interval: Duration,
}

impl Rush {
    /// Runs the rush, and returns what the site received.
    async fn run(&self) -> Arc<Mutex<Received>> {
        let (url, received) = site().await;
        let pace = format!("dispatches_per_minute = {}\nconcurrency = {}", self.per_minute, self.concurrency);
        let (address, _program) = serve(&url, self.orders as u64, "", &pace, &["--state", "state"]).await;
        // They share connections.
        let (newcomer, slots) = (Visitor::new(&address, HOST), Semaphore::new(REQUESTS));
        join_all((0..self.orders).map(|number| self.order(newcomer.clone(), number, &slots))).await;
        received
    }

    /// Places an order; every second visitor clicks twice.
    async fn order(&self, mut visitor: Visitor, number: usize, slots: &Semaphore) {
        wait_until("admitted", 3 * LIMIT, async || {
            let _slot = slots.acquire().await;
            visitor.navigate("/").await.text() == "origin"
        })
        .await;
        let click = || script("/checkout").header("prefer", "respond-async");
        let mut clicks = Vec::new();
        for mut click_of in vec![visitor.clone(); 1 + number % 2] {
            let _slot = slots.acquire().await;
            clicks.push(click_of.request(click(), format!("order={number}")).await);
        }
        for click in clicks {
            let answer = self.outcome(&mut visitor, click, slots).await;
            assert_eq!((answer.status, answer.text()), (StatusCode::OK, &*format!("placed {number}")));
        }
    }

    async fn outcome(&self, visitor: &mut Visitor, submitted: TestResponse, slots: &Semaphore) -> TestResponse {
        // The second click may come after the response to the order.
        if submitted.status != StatusCode::ACCEPTED {
            return submitted;
        }
        let url = location(&submitted);
        loop {
            sleep(self.interval).await;
            let _slot = slots.acquire().await;
            let answer = visitor.fetch(&url).await;
            if answer.status != StatusCode::ACCEPTED {
                return answer;
            }
        }
    }

    /// Each order arrived once, no more than `most` within the window, and no more than `concurrency` at a time.
    fn assert_pace(&self, received: &Received, window: Duration, most: usize) {
        let mut orders: Vec<_> = received.orders.iter().map(|(order, _)| order).collect();
        orders.sort_unstable();
        orders.dedup();
        assert_eq!((received.orders.len(), orders.len()), (self.orders, self.orders), "each order once");
        for (at, (_, first)) in received.orders.iter().enumerate() {
            let within = received.orders[at..].iter().take_while(|(_, later)| *later - *first < window).count();
            assert!(within <= most, "{within} orders within {window:?}");
        }
        assert!(received.most_running <= self.concurrency, "{} at a time", received.most_running);
    }
}

#[tokio::test]
async fn rush_of_orders_reaches_the_site_at_its_pace() {
    let rush = Rush { orders: 60, per_minute: 600, concurrency: 5, interval: Duration::from_secs(1) };
    let received = rush.run().await;
    // 10 a second, one second at once, and half a second for delays on the way.
    rush.assert_pace(&received.lock(), Duration::from_secs(3), 45);
}

/// In `make test-all` only.
#[tokio::test]
async fn two_thousand_orders_reach_the_site_at_its_pace() {
    let rush = Rush { orders: 2_000, per_minute: 1_200, concurrency: 20, interval: Duration::from_secs(10) };
    let received = rush.run().await;
    rush.assert_pace(&received.lock(), Duration::from_mins(1), 1_224);
}
