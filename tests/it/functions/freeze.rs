//! Between two invocations Lambda stops a function in its tracks, for minutes, while the world goes on.

use std::time::Duration;

use http::StatusCode;
use serde_json::json;
use tokio::time::sleep;
use vestibule_tests::{Redis, TcpProxy, Visitor, wait_until};

use super::Site;
use crate::gate_fixture::{TIMEOUT, session_in};

/// A connection younger than this is not taken for dead: the store's own measure, which goes by the machine's clock.
const CONNECTING: Duration = Duration::from_secs(2);

/// A function of one instance that freezes, and reaches Redis over a proxy that can be cut.
struct Frozen {
    site: Site,
    tcp_proxy: TcpProxy,
    visitor: Visitor,
}

impl Frozen {
    /// With a visitor in line, the function frozen.
    async fn open() -> Self {
        let redis = Redis::start().await;
        let tcp_proxy = TcpProxy::to(redis.port()).await;
        let port = tcp_proxy.port();
        let site = Site::open(1, &json!({}), redis, port).await;
        site.instances()[0].freezes_between_invocations();
        let mut visitor = site.visitor();
        visitor.navigate("/").await;
        assert!(site.instances()[0].is_frozen());
        Self { site, tcp_proxy, visitor }
    }

    /// The next request thaws the function, and the visitor is who they were.
    async fn assert_thaws(&mut self) {
        let answer = self.visitor.status(self.site.queue.as_str()).await;
        let said = (answer.status, answer.json()["state"].clone(), answer.json()["position"].clone());
        assert_eq!(said, (StatusCode::OK, json!("waiting"), json!(1)), "{}", self.site.balancer.function().log());
        let stats = self.site.store.stats(&self.site.queue).await.unwrap();
        assert_eq!((stats.waiting, stats.counters.joined), (1, 1), "the same visitor, counted once");
        assert_eq!(self.site.balancer.complaints(), Vec::<String>::new());
        assert_eq!(self.site.instances()[0].starts(), 1, "the process went on");
    }
}

#[tokio::test]
async fn a_thawed_process_reuses_a_live_connection() {
    let mut frozen = Frozen::open().await;
    let opened = frozen.tcp_proxy.opened();
    for _ in 0..5 {
        frozen.assert_thaws().await;
    }
    assert_eq!(frozen.tcp_proxy.opened(), opened, "no new connection");
}

#[tokio::test]
async fn a_reset_connection_costs_one_reconnect() {
    let mut frozen = Frozen::open().await;
    let opened = frozen.tcp_proxy.opened();
    frozen.tcp_proxy.reset();
    frozen.assert_thaws().await;
    assert_eq!(frozen.tcp_proxy.opened(), opened + 1);
}

#[tokio::test]
async fn a_closed_connection_costs_one_reconnect() {
    let mut frozen = Frozen::open().await;
    let opened = frozen.tcp_proxy.opened();
    frozen.tcp_proxy.close();
    frozen.assert_thaws().await;
    assert_eq!(frozen.tcp_proxy.opened(), opened + 1);
}

#[tokio::test]
async fn a_silent_connection_costs_one_reconnect() {
    let mut frozen = Frozen::open().await;
    let opened = frozen.tcp_proxy.opened();
    frozen.tcp_proxy.silence();
    sleep(CONNECTING).await;
    frozen.assert_thaws().await;
    assert_eq!(frozen.tcp_proxy.opened(), opened + 1);
    frozen.assert_thaws().await;
}

#[tokio::test]
async fn a_killed_function_is_replaced_between_requests() {
    let mut frozen = Frozen::open().await;
    let before = session_in(&frozen.visitor.fetch("/").await);
    frozen.site.instances()[0].kill();
    assert_eq!(session_in(&frozen.visitor.fetch("/").await), before);
    assert_eq!((frozen.site.instances()[0].starts(), frozen.site.balancer.complaints()), (2, Vec::new()));
}

#[tokio::test]
async fn a_function_serves_once_redis_is_available() {
    let redis = Redis::start().await;
    let port = redis.port();
    let site = Site::open(1, &json!({ "quota": 1 }), redis, port).await;
    site.redis.kill();
    site.instances()[0].freezes_between_invocations();
    let answer = site.visitor().navigate("/").await;
    assert!(answer.text().contains("One moment"), "{}", answer.text());
    assert!(answer.header("retry-after").is_some() && !answer.status.is_server_error(), "{:?}", answer.headers);
    let health = site.balancer.check_health("/_vestibule/health").await;
    assert_eq!(health, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(site.balancer.complaints(), Vec::<String>::new(), "the gate answers, and not the load balancer");

    site.redis.restart_empty().await;
    site.settle(&json!({ "quota": 1 })).await;
    let mut visitor = site.visitor();
    wait_until("the gate serves", TIMEOUT, async || visitor.navigate("/").await.text().contains("origin /")).await;
    assert_eq!(site.balancer.check_health("/_vestibule/health").await, StatusCode::OK);
    assert_eq!(site.instances()[0].starts(), 1, "{}", site.balancer.function().log());
}
