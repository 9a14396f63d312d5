//! F11: workers that are stopped or killed while they send an order, each in a process of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::{Method, StatusCode};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use vestibule_core::jobs::JobBackend as _;
use vestibule_core::{Clock as _, Micros, SystemClock};
use vestibule_store_redis::{RedisJobs, RedisOptions};
use vestibule_tests::{FakeTime, Origin, Program, Redis, TestResponse, Visitor, wait_until};

use super::backends::fixture::settings_of;
use super::held_orders::{HOST, LIMIT, PASS_KEYS, location, script, serve};

/// The function that records `sent`, as the worker calls it.
const MARK: &[u8] = b"extend_leases";
/// Longer than a lease, in seconds.
const LEASE: u64 = 40;

/// When a worker is interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    /// It asks to record `sent`.
    BeforeMark,
    /// `sent` is recorded, and the worker does not know it yet.
    AfterMark,
    /// The site has the order, and has not answered.
    AfterSending,
}

/// A way to Redis on which the mark, or the answer to it, waits.
struct Gateway {
    port: u16,
    hold: Arc<Hold>,
}

struct Hold {
    moment: Moment,
    is_reached: watch::Sender<bool>,
    is_released: watch::Sender<bool>,
}

impl Hold {
    async fn wait(&self) {
        self.is_reached.send_replace(true);
        let _ = self.is_released.subscribe().wait_for(|it| *it).await;
    }
}

impl Gateway {
    async fn to(redis: u16, moment: Moment) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let hold = Hold { moment, is_reached: watch::Sender::new(false), is_released: watch::Sender::new(false) };
        let hold = Arc::new(hold);
        let shared = hold.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, redis, shared.clone()));
            }
        });
        Self { port, hold }
    }

    /// Waits until the mark, or the answer to it, waits.
    async fn reached(&self) {
        wait_until("the order is about to be sent", LIMIT, async || *self.hold.is_reached.borrow()).await;
    }

    fn release(&self) {
        self.hold.is_released.send_replace(true);
    }
}

async fn carry(client: TcpStream, redis: u16, hold: Arc<Hold>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_redis, mut to_redis) = TcpStream::connect(("127.0.0.1", redis)).await.unwrap().into_split();
    let is_marked = AtomicBool::new(false);
    let requests = async {
        let mut chunk = vec![0; 64 * 1024];
        while let Ok(length @ 1..) = from_client.read(&mut chunk).await {
            if chunk[..length].windows(MARK.len()).any(|part| part == MARK) {
                is_marked.store(true, Ordering::SeqCst);
                if hold.moment == Moment::BeforeMark {
                    hold.wait().await;
                }
            }
            if to_redis.write_all(&chunk[..length]).await.is_err() {
                return;
            }
        }
    };
    let answers = async {
        let mut chunk = vec![0; 64 * 1024];
        while let Ok(length @ 1..) = from_redis.read(&mut chunk).await {
            if is_marked.load(Ordering::SeqCst) && hold.moment == Moment::AfterMark {
                hold.wait().await;
            }
            if to_client.write_all(&chunk[..length]).await.is_err() {
                return;
            }
        }
    };
    // A killed worker takes its connections along; what it has said before still counts.
    tokio::join!(requests, answers);
}

/// A shop whose visitor has submitted an order, and the worker that was about to send it.
struct Interrupted {
    origin: Origin,
    redis: Redis,
    time: Arc<FakeTime>,
    start: Micros,
    visitor: Visitor,
    url: String,
    gateway: Gateway,
    worker: Program,
    _gate: Program,
}

fn worker(redis: u16) -> Program {
    let url = format!("redis://127.0.0.1:{redis}");
    let options = ["--state", "state", "--pass-keys", PASS_KEYS, "--store-timeout-ms", "10000"];
    Program::vestibule(&[&["work", "--store", &url][..], &options].concat()).start()
}

impl Interrupted {
    async fn at(moment: Moment) -> Self {
        let (origin, start) = (Origin::start(), SystemClock::new().now());
        let time = Arc::new(FakeTime::at(start));
        let redis = Redis::start_at(time.clone()).await;
        let url = redis.url();
        let options = ["--store", &url, "--state", "state", "--pass-keys", PASS_KEYS, "--no-worker"];
        let (address, gate) = serve(&origin.url(), 10, "", "", &options).await;
        let mut visitor = Visitor::new(&address, HOST);
        wait_until("admitted", LIMIT, async || visitor.navigate("/").await.text().contains("origin /")).await;
        let gateway = Gateway::to(redis.port(), moment).await;
        let worker = worker(gateway.port);
        let submitted = visitor.request(script("/slow?1000").header("prefer", "respond-async"), "ticket=a").await;
        assert_eq!(submitted.status, StatusCode::ACCEPTED, "{submitted:?}");
        let url = location(&submitted);
        let it = Self { origin, redis, time, start, visitor, url, gateway, worker, _gate: gate };
        match moment {
            Moment::AfterSending => wait_until("the order is sent", LIMIT, async || it.orders() == 1).await,
            Moment::BeforeMark | Moment::AfterMark => it.gateway.reached().await,
        }
        it
    }

    /// The number of orders that the site received.
    fn orders(&self) -> usize {
        self.origin.requests().iter().filter(|request| request.method == Method::POST).count()
    }

    /// Lets the lease of the worker end while another one runs. Returns what the visitor gets then.
    async fn taken_over(&mut self) -> (TestResponse, Program) {
        let other = worker(self.redis.port());
        self.time.set(self.start.add_seconds(LEASE));
        self.answer_that(|answer| answer.status != StatusCode::ACCEPTED || answer.json()["state"] == "retrying").await;
        // If it is sent again, then now.
        self.time.set(self.start.add_seconds(2 * LEASE));
        (self.answer_that(|answer| answer.status != StatusCode::ACCEPTED).await, other)
    }

    async fn answer_that(&mut self, is_awaited: impl Fn(&TestResponse) -> bool) -> TestResponse {
        let mut answer = None;
        wait_until("the state of the order changes", LIMIT, async || {
            answer = Some(self.visitor.fetch(&self.url).await).filter(&is_awaited);
            answer.is_some()
        })
        .await;
        answer.unwrap()
    }
}

#[tokio::test]
async fn f11_order_of_a_killed_worker_is_sent_once_at_most() {
    for (moment, status, orders) in [
        (Moment::BeforeMark, StatusCode::OK, 1),
        (Moment::AfterMark, StatusCode::GATEWAY_TIMEOUT, 0),
        (Moment::AfterSending, StatusCode::GATEWAY_TIMEOUT, 1),
    ] {
        let mut shop = Interrupted::at(moment).await;
        shop.worker.kill();
        let (outcome, _other) = shop.taken_over().await;
        assert_eq!((outcome.status, shop.orders()), (status, orders), "{moment:?}: {}", outcome.text());
    }
}

#[tokio::test]
async fn f11_order_of_a_stopped_worker_is_sent_once() {
    for moment in [Moment::BeforeMark, Moment::AfterMark, Moment::AfterSending] {
        let mut shop = Interrupted::at(moment).await;
        shop.worker.signal("STOP");
        let (outcome, _other) = shop.taken_over().await;
        if moment == Moment::BeforeMark {
            assert_eq!(outcome.text(), "at last", "the other worker has sent it");
        } else {
            assert_eq!(outcome.json()["code"], "order_outcome_unknown", "{moment:?}");
        }
        shop.gateway.release();
        shop.worker.signal("CONT");
        if moment == Moment::BeforeMark {
            let settings = settings_of("orders.fifo", &json!({ "target": { "kind": "origin" } }));
            let jobs = RedisJobs::connect(&shop.redis.url(), RedisOptions::default()).unwrap();
            wait_until("the mark is refused", LIMIT, async || {
                jobs.store().stats(&settings).await.is_ok_and(|stats| stats.counters.refused > 0)
            })
            .await;
        }
        let late = shop.answer_that(|answer| answer.status == StatusCode::OK).await;
        assert_eq!((late.text(), shop.orders()), ("at last", 1), "{moment:?}");
    }
}
