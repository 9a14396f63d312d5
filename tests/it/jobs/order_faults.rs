//! F12: what becomes of an order if the site refuses it, breaks the connection, or is slow.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::StatusCode;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;
use vestibule_core::jobs::{JobBackend as _, Resolution};
use vestibule_store_redis::{RedisJobs, RedisOptions};
use vestibule_tests::{Redis, TestResponse, Visitor, wait_until};

use super::backends::fixture::settings_of;
use super::held_orders::{HOST, LIMIT, form, location, script, serve};

/// What the site does with an order.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// It reads nothing.
    ResetAtOnce,
    /// It reads the head and a part of the body.
    ResetInBody,
    /// It reads the whole request.
    ResetAfterBody,
    /// It sends a part of its response.
    ResetInResponse,
    /// It answers with this status.
    Status(u16),
    /// It never answers.
    Silence,
    /// The connection breaks after the first order was read; the next ones are placed.
    ResetOnce,
}

/// A site that lets visitors in and fails with every order. It counts the connections with orders.
async fn site(fault: Fault) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let orders = Arc::new(AtomicUsize::new(0));
    let counted = orders.clone();
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            tokio::spawn(answer(connection, fault, counted.clone()));
        }
    });
    (url, orders)
}

async fn answer(mut connection: TcpStream, fault: Fault, orders: Arc<AtomicUsize>) {
    let mut first = [0; 4];
    let is_order = connection.peek(&mut first).await.is_ok() && first == *b"POST";
    if !is_order {
        read(&mut connection, usize::MAX).await;
        respond(&mut connection, "200 OK", "origin").await;
        return;
    }
    let earlier = orders.fetch_add(1, Ordering::SeqCst);
    match fault {
        Fault::ResetOnce if earlier > 0 => {
            read(&mut connection, usize::MAX).await;
            respond(&mut connection, "200 OK", "placed").await;
        }
        Fault::ResetAtOnce => {}
        Fault::ResetInBody => read(&mut connection, 600).await,
        Fault::ResetAfterBody | Fault::ResetOnce => read(&mut connection, usize::MAX).await,
        Fault::ResetInResponse => {
            read(&mut connection, usize::MAX).await;
            let _ = connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nplaced").await;
        }
        Fault::Status(status) => {
            read(&mut connection, usize::MAX).await;
            respond(&mut connection, &format!("{status} Status"), "why").await;
        }
        Fault::Silence => {
            read(&mut connection, usize::MAX).await;
            sleep(LIMIT).await;
        }
    }
}

/// Reads until the client pauses, or this many bytes.
async fn read(connection: &mut TcpStream, most: usize) {
    let mut chunk = [0; 300];
    let mut sum = 0;
    while sum < most
        && let Ok(Ok(length @ 1..)) =
            tokio::time::timeout(Duration::from_millis(200), connection.read(&mut chunk)).await
    {
        sum += length;
    }
}

async fn respond(connection: &mut TcpStream, status: &str, body: &str) {
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    let _ = connection.write_all(format!("{head}{body}").as_bytes()).await;
}

/// An admitted visitor.
async fn visitor(address: &str) -> Visitor {
    let mut visitor = Visitor::new(address, HOST);
    wait_until("admitted", LIMIT, async || visitor.navigate("/").await.text() == "origin").await;
    visitor
}

/// Submits an order, and returns the page that tells what became of it.
async fn outcome(visitor: &mut Visitor) -> TestResponse {
    let submitted = visitor.request(form("/checkout"), "x".repeat(100_000)).await;
    assert_eq!(submitted.status, StatusCode::SEE_OTHER, "{submitted:?}");
    let url = location(&submitted);
    let mut page = visitor.navigate(&url).await;
    wait_until("the order has ended", LIMIT, async || {
        page = visitor.navigate(&url).await;
        !page.follows_a_job()
    })
    .await;
    page
}

#[tokio::test]
async fn order_that_may_have_arrived_is_unknown_and_not_sent_again() {
    for fault in [
        Fault::ResetAtOnce,
        Fault::ResetInBody,
        Fault::ResetAfterBody,
        Fault::ResetInResponse,
        Fault::Status(502),
        Fault::Status(504),
        Fault::Silence,
    ] {
        let (url, orders) = site(fault).await;
        let (address, _program) = serve(&url, 10, "", "timeout = 1\n", &["--state", "state"]).await;
        let mut visitor = visitor(&address).await;
        let page = outcome(&mut visitor).await;
        assert!(page.text().contains("We don’t know whether your order was placed"), "{fault:?}: {}", page.text());
        assert!(page.text().contains("Don’t submit it again"), "{fault:?}");
        let again = visitor.request(script("/checkout"), "x".repeat(100_000)).await;
        assert_eq!(
            (again.status, &again.json()["code"]),
            (StatusCode::GATEWAY_TIMEOUT, &"order_outcome_unknown".into())
        );
        let code = again.json()["params"]["job_id"].as_str().unwrap()[..6].to_owned();
        assert!(page.text().contains(&code), "the visitor can quote the job: {}", page.text());
        assert_eq!(orders.load(Ordering::SeqCst), 1, "{fault:?}: sent once, and the second click is the same order");
    }
}

#[tokio::test]
async fn temporarily_refused_order_is_retried_and_then_not_placed() {
    for status in [429, 503] {
        let (url, orders) = site(Fault::Status(status)).await;
        let (address, _program) = serve(&url, 10, "", "max_attempts = 2\n", &["--state", "state"]).await;
        let mut visitor = visitor(&address).await;
        let page = outcome(&mut visitor).await;
        assert!(page.text().contains("Your order was not placed"), "{status}: {}", page.text());
        assert_eq!(orders.load(Ordering::SeqCst), 2, "{status}");
        let page = outcome(&mut visitor).await;
        assert!(page.text().contains("Your order was not placed"), "{status}: {}", page.text());
        assert_eq!(orders.load(Ordering::SeqCst), 4, "the visitor can submit it again");
    }
}

/// The name of the site is unknown, or it does not speak TLS.
#[tokio::test]
async fn order_without_a_connection_is_not_placed() {
    let (url, orders) = site(Fault::Silence).await;
    for origin in ["https://shop.invalid", &url.replace("http:", "https:")] {
        let settings = "max_attempts = 2\ntimeout = 10\n";
        let (address, _program) = serve(origin, 10, "", settings, &["--state", "state"]).await;
        let mut visitor = Visitor::new(&address, HOST);
        // The site can't be shown, and yet they are admitted. The first visit may have had no ticket.
        for _ in 0..2 {
            visitor.navigate("/").await;
        }
        let waiting = visitor.request(script("/checkout").header("prefer", "respond-async"), "ticket=a").await;
        assert_eq!(waiting.status, StatusCode::ACCEPTED, "{origin}: {waiting:?}");
        wait_until("the order waits to be sent", LIMIT, async || {
            visitor.navigate(&location(&waiting)).await.text().contains("Your order is waiting to be sent")
        })
        .await;
        let page = outcome(&mut visitor).await;
        assert!(page.text().contains("Your order was not placed"), "{origin}: {}", page.text());
    }
    assert_eq!(orders.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn retry_always_sends_an_order_again_that_may_have_arrived() {
    let always = "retry = \"always\"\nmax_attempts = 2\n";
    let (url, orders) = site(Fault::ResetOnce).await;
    let (address, _program) = serve(&url, 10, "", always, &["--state", "state"]).await;
    let placed = visitor(&address).await.request(script("/checkout"), "ticket=a").await;
    assert_eq!((placed.status, placed.text()), (StatusCode::OK, "placed"));
    assert_eq!(orders.load(Ordering::SeqCst), 2);

    let (url, orders) = site(Fault::ResetAfterBody).await;
    let (address, _program) = serve(&url, 10, "", always, &["--state", "state"]).await;
    let page = outcome(&mut visitor(&address).await).await;
    assert!(page.text().contains("We don’t know whether your order was placed"), "{}", page.text());
    assert_eq!(orders.load(Ordering::SeqCst), 2, "after the last attempt nobody knows, either");
}

#[tokio::test]
async fn visitor_reads_what_became_of_an_unknown_order() {
    let (redis, (url, orders)) = (Redis::start().await, site(Fault::ResetAfterBody).await);
    let (address, _program) = serve(&url, 10, "", "", &["--state", "state", "--store", &redis.url()]).await;
    let mut visitor = visitor(&address).await;
    let page = outcome(&mut visitor).await;
    assert!(page.text().contains("We don’t know whether your order was placed"), "{}", page.text());
    let submitted = async |visitor: &mut Visitor| visitor.request(script("/checkout"), "x".repeat(100_000)).await;
    let unknown = submitted(&mut visitor).await;
    let id = unknown.json()["params"]["job_id"].as_str().unwrap().to_owned();
    let (settings, job) = (settings_of("orders.fifo", &json!({ "target": { "kind": "origin" } })), id.parse().unwrap());
    let jobs = RedisJobs::connect(&redis.url(), RedisOptions::default()).unwrap();

    assert!(jobs.store().resolve(&settings, job, Resolution::Placed).await.unwrap());
    let address_of_order = format!("/checkout?vestibule_job={id}");
    let page = visitor.navigate(&address_of_order).await;
    assert!(page.text().contains("Your order was placed"), "{}", page.text());
    assert!(!page.text().contains("We don’t know"), "{}", page.text());
    let again = submitted(&mut visitor).await;
    assert_eq!((again.status, &again.json()["code"]), (StatusCode::CONFLICT, &"order_already_submitted".into()));
    assert_eq!(orders.load(Ordering::SeqCst), 1, "an order that was placed is not sent again");

    assert!(jobs.store().resolve(&settings, job, Resolution::NotPlaced).await.unwrap());
    let page = visitor.navigate(&address_of_order).await;
    assert!(page.text().contains("Your order was not placed"), "{}", page.text());
    outcome(&mut visitor).await;
    assert_eq!(orders.load(Ordering::SeqCst), 2, "it can be submitted again");
}
