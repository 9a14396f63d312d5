//! The harness keeps its own promises.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use http::StatusCode;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use vestibule_tests::{Cluster, Nginx, Origin, Redis, Sentinel, Value, Visitor, wait_until};

#[tokio::test]
async fn redis_starts_responds_and_stops() {
    let redis = Redis::start().await;
    assert_eq!(redis.command(&["SET", "greeting", "hello\r\nthere"]).await, Value::Text("OK".to_owned()));
    assert_eq!(redis.command(&["GET", "greeting"]).await.text(), "hello\r\nthere");
    assert_eq!(redis.command(&["GET", "nothing"]).await, Value::Nil);
    assert_eq!(redis.calls("get").await, 2);
    assert!(redis.commands_processed().await >= 4);

    redis.kill();
    assert!(redis.try_command(&["PING"]).await.is_err());

    redis.restart_empty().await;
    assert_eq!(redis.command(&["DBSIZE"]).await.integer(), 0);

    let port = redis.port();
    drop(redis);
    assert!(tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err(), "it outlived its value");
}

#[tokio::test]
async fn frozen_redis_responds_only_after_thaw() {
    let redis = Redis::start().await;
    redis.freeze();
    let asked = timeout(Duration::from_millis(500), redis.try_command(&["PING"])).await;
    assert!(asked.is_err(), "it answered {asked:?}");

    redis.thaw();
    assert_eq!(redis.command(&["PING"]).await.text(), "PONG");
}

#[tokio::test]
async fn shared_redis_is_started_once() {
    assert_eq!(Redis::shared().await.port(), Redis::shared().await.port());
    assert_eq!(Redis::shared().await.command(&["PING"]).await.text(), "PONG");
}

#[tokio::test]
async fn cluster_serves_every_slot() {
    let cluster = Cluster::start().await;
    for node in cluster.nodes() {
        assert!(node.command(&["CLUSTER", "INFO"]).await.text().contains("cluster_state:ok"));
    }
    for key in ["{a}:line", "{b}:line", "{c}:line"] {
        assert_eq!(cluster.command(key, &["SET", key, "1"]).await, Value::Text("OK".to_owned()));
    }
    cluster.flush().await;
    assert_eq!(cluster.command("{a}:line", &["GET", "{a}:line"]).await, Value::Nil);
}

#[tokio::test]
async fn cluster_replaces_a_dead_primary() {
    let cluster = Cluster::with_replicas().await;
    let primary = cluster.primary_of("{a}").await.unwrap();
    let before = primary.port();
    primary.kill();
    wait_until("the replica serves the key", Duration::from_secs(30), async || {
        cluster.primary_of("{a}").await.is_some_and(|primary| primary.port() != before)
    })
    .await;
}

#[tokio::test]
async fn sentinels_replace_a_dead_primary() {
    let sentinel = Sentinel::start_with(3).await;
    assert_eq!(sentinel.url().matches("127.0.0.1:").count(), 3);
    sentinel.fail_primary();
    sentinel.until_promoted().await;
    assert_eq!(sentinel.replica().command(&["SET", "key", "1"]).await, Value::Text("OK".to_owned()));
}

#[tokio::test]
async fn nginx_serves() {
    let origin = Origin::start();
    let servers = format!("server {{ listen 127.0.0.1:{{port}}; location / {{ proxy_pass {}; }} }}", origin.url());
    let nginx = Nginx::start(&servers).await;
    let answer = Visitor::new(&nginx.address(), "shop.test").navigate("/tour").await;
    assert_eq!(answer.status, StatusCode::OK);
    assert!(answer.text().contains("origin /tour"), "{}", nginx.errors());
}

#[tokio::test]
async fn origin_records_requests_and_restarts_on_its_port() {
    let mut origin = Origin::start();
    let mut visitor = Visitor::new(&origin.address(), "shop.test").with_header("x-forwarded-for", "192.0.2.7");
    let echo = visitor.post("/echo?a=%20b").await.json();
    assert_eq!(echo["uri"], "/echo?a=%20b");
    assert_eq!(echo["headers"]["host"], "shop.test");
    assert_eq!(echo["headers"]["x-forwarded-for"], "192.0.2.7");
    assert_eq!(origin.requests()[0].method, "POST");
    assert_eq!(visitor.fetch("/status/418").await.status, StatusCode::IM_A_TEAPOT);
    assert_eq!(visitor.fetch("/stream").await.text().lines().count(), 5);

    origin.stop().await;
    assert!(visitor.try_get("/").await.is_err());
    origin.restart();
    assert!(visitor.navigate("/").await.text().contains("origin /"));
    assert_eq!(origin.requests().len(), 4);
}

#[tokio::test]
async fn visitor_keeps_and_sends_cookies() {
    let origin = Origin::start();
    let mut visitor = Visitor::new(&origin.address(), "shop.test");
    assert_eq!(visitor.fetch("/cookies").await.headers.get_all("set-cookie").iter().count(), 3);
    assert_eq!(visitor.cookie("theme"), Some("dark"));
    assert_eq!(visitor.fetch("/echo").await.json()["headers"]["cookie"], "basket=1; seen=yes; theme=dark");
}

#[tokio::test]
async fn web_socket_echoes_messages() {
    let origin = Origin::start();
    let mut visitor = Visitor::new(&origin.address(), "shop.test");
    let mut socket = visitor.web_socket("/ws").await.unwrap();
    socket.send(Message::text("hello")).await.unwrap();
    assert_eq!(socket.next().await.unwrap().unwrap(), Message::text("hello"));
    assert_eq!(visitor.web_socket("/status/429").await.unwrap_err().status, StatusCode::TOO_MANY_REQUESTS);
}
