//! What a request costs the store.

use http::Request;
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use vestibule_tests::{GateOptions, Redis, Visitor, wait_until};

use crate::scene::{Keeper, PATIENCE, Scene, on_each_store, over_own_redis, session_in};

on_each_store! {
    ending_a_session_applies_after_recheck_after,
    ending_a_session_applies_at_once_without_recheck,
}

mod alone {
    use super::*;

    over_own_redis! {
        every_request_is_one_command_to_redis,
        endpoints_without_a_visit_cost_no_redis_command,
        fresh_admitted_tickets_pass_without_a_store_call,
        a_new_gate_asks_the_store_despite_a_fresh_ticket,
    }
}

/// Hears every command that Redis is sent; what a script does within itself is left out.
struct Listener(BufReader<TcpStream>);

impl Listener {
    async fn to(redis: &Redis) -> Self {
        let mut stream = BufReader::new(TcpStream::connect(("127.0.0.1", redis.port())).await.unwrap());
        stream.write_all(b"MONITOR\r\n").await.unwrap();
        stream.read_line(&mut String::new()).await.unwrap();
        Self(stream)
    }

    /// The commands since the last time, by name.
    async fn heard(&mut self, redis: &Redis) -> Vec<String> {
        redis.command(&["ECHO", "that is all"]).await;
        let mut names = Vec::new();
        loop {
            let mut line = String::new();
            self.0.read_line(&mut line).await.unwrap();
            match line.split('"').nth(1) {
                Some("ECHO") => return names,
                Some(name) if !line.contains(" lua] ") => names.push(name.to_ascii_lowercase()),
                _ => {}
            }
        }
    }
}

fn scripts(count: usize) -> Vec<String> {
    vec!["fcall".to_owned(); count]
}

async fn every_request_is_one_command_to_redis(keeper: Keeper) {
    let scene = Scene::open(keeper, json!({ "quota": 1 })).await;
    let (mut inside, mut waiting) = (scene.visitor(), scene.visitor());
    inside.navigate("/").await;
    waiting.navigate("/").await;
    // The first call of each script makes it known to Redis.
    inside.away(scene.queue.as_str()).await;
    let mut listener = Listener::to(scene.keeper.own()).await;
    let mut requests = 0;
    for visitor in [&mut inside, &mut waiting] {
        for path in ["/", "/tour", "/a.png"] {
            visitor.fetch(path).await;
            visitor.navigate(path).await;
        }
        visitor.status(scene.queue.as_str()).await;
        visitor.keepalive(scene.queue.as_str()).await;
        visitor.away(scene.queue.as_str()).await;
        requests += 9;
    }
    scene.visitor().navigate("/new").await;
    scene.visitor().fetch("/nobody").await;
    scene.visitor().request(Request::get("/_vestibule/check").header("x-forwarded-uri", "/"), "").await;
    requests += 3;
    assert_eq!(listener.heard(scene.keeper.own()).await, scripts(requests));
}

async fn endpoints_without_a_visit_cost_no_redis_command(keeper: Keeper) {
    let rules = json!([{ "action": "bypass", "path": "/static/**" }]);
    let scene = Scene::open(keeper, json!({ "quota": 1, "rules": rules })).await;
    scene.visitor().navigate("/").await;
    let mut listener = Listener::to(scene.keeper.own()).await;
    for path in ["/static/app.js", "/_vestibule/queue.js", "/_vestibule/keepalive.js", "/_vestibule/jwks.json"] {
        scene.visitor().fetch(path).await;
    }
    scene.visitor().away(scene.queue.as_str()).await;
    scene.visitor().leave(scene.queue.as_str()).await;
    assert_eq!(listener.heard(scene.keeper.own()).await, scripts(0));
}

async fn fresh_admitted_tickets_pass_without_a_store_call(keeper: Keeper) {
    let scene = Scene::open(keeper, json!({ "quota": 1, "recheck_after": 60 })).await;
    let mut visitor = scene.visitor();
    visitor.navigate("/").await;
    let mut listener = Listener::to(scene.keeper.own()).await;
    for number in 0..50 {
        assert!(visitor.fetch(&format!("/{number}.png")).await.text().contains("origin /"));
    }
    assert_eq!(listener.heard(scene.keeper.own()).await, scripts(0), "a page of fifty files costs one visit");
    let passes = scene.origin.requests().into_iter().filter(|request| request.headers.contains_key("x-vestibule-pass"));
    assert_eq!(passes.count(), 51);
    visitor.keepalive(scene.queue.as_str()).await;
    assert_eq!(listener.heard(scene.keeper.own()).await, scripts(1), "a keepalive always asks");
}

async fn ending_a_session_applies_after_recheck_after(keeper: Keeper) {
    let scene = Scene::open(keeper, json!({ "quota": 1, "recheck_after": 1 })).await;
    let mut visitor = scene.visitor();
    visitor.navigate("/").await;
    let session = session_in(&visitor.keepalive(scene.queue.as_str()).await);
    scene.gate.store().end(&scene.queue, session).await.unwrap();
    wait_until("the end bites", PATIENCE, async || !visitor.fetch("/page").await.text().contains("origin /page")).await;
    assert_eq!(scene.counts().await, (0, 1), "by the store's clock a ticket may still pass unasked");
    scene.keeper.clock.advance(1_000_000);
    scene.gate.store().purge(&scene.queue, 100).await.unwrap();
    assert_eq!(scene.counts().await, (0, 0));
}

async fn ending_a_session_applies_at_once_without_recheck(keeper: Keeper) {
    let scene = Scene::open(keeper, json!({ "quota": 1, "recheck_after": 0 })).await;
    let mut visitor = scene.visitor();
    visitor.navigate("/").await;
    let session = session_in(&visitor.keepalive(scene.queue.as_str()).await);
    scene.gate.store().end(&scene.queue, session).await.unwrap();
    assert_eq!(visitor.fetch("/page").await.status.as_u16(), 429);
}

async fn a_new_gate_asks_the_store_despite_a_fresh_ticket(keeper: Keeper) {
    let scene = Scene::open(keeper, json!({ "quota": 1, "recheck_after": 60 })).await;
    let mut visitor = scene.visitor();
    visitor.navigate("/").await;
    let session = session_in(&visitor.keepalive(scene.queue.as_str()).await);
    scene.gate.store().end(&scene.queue, session).await.unwrap();
    let none = json!({ "tenants": [], "queues": [] });
    let other = scene.keeper.gate(&none, GateOptions::default()).await;
    let mut elsewhere = Visitor::new(other.address(), &scene.host);
    elsewhere.set_cookie(&scene.cookie_name(), visitor.cookie(&scene.cookie_name()).unwrap());
    assert_eq!(elsewhere.fetch("/").await.status.as_u16(), 429, "it does not know the store's time yet");
}
