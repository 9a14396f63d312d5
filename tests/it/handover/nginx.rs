//! Handover by check, with an nginx in front as the documentation shows it.

use http::{Request, StatusCode};
use serde_json::json;
use vestibule_core::verify_pass;
use vestibule_tests::{GateOptions, Nginx, Visitor};

use crate::scene::{Keeper, Scene, on_each_store, set_cookie};

on_each_store! {
    nginx_shows_the_page_to_who_waits_and_counts_nobody_twice,
    nginx_lets_through_who_is_in_with_a_pass,
    nginx_refuses_what_is_no_page,
    nobody_talks_nginx_into_another_question,
}

/// What the documentation tells people to put into their server block.
const SERVER: &str = r#"
server {
    listen 127.0.0.1:{port};

    location / {
        auth_request /_vestibule/check;
        auth_request_set $vestibule_cookie $upstream_http_set_cookie;
        auth_request_set $vestibule_ticket $upstream_http_x_vestibule_ticket;
        auth_request_set $vestibule_pass $upstream_http_x_vestibule_pass;
        error_page 401 = @wait;
        add_header Set-Cookie $vestibule_cookie always;
        proxy_set_header Host $http_host;
        proxy_set_header X-Vestibule-Pass $vestibule_pass;
        proxy_pass {origin};
    }
    location = /_vestibule/check {
        internal;
        proxy_pass {gate};
        proxy_pass_request_body off;
        proxy_set_header Content-Length "";
        proxy_set_header Host $http_host;
        proxy_set_header X-Forwarded-Host $http_host;
        proxy_set_header X-Forwarded-Uri $request_uri;
        proxy_set_header X-Forwarded-Method $request_method;
        proxy_set_header X-Forwarded-Proto $scheme;
        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        proxy_set_header X-Original-URL "";
        proxy_set_header X-Original-Method "";
    }
    location /_vestibule/ {
        proxy_pass {gate};
        proxy_set_header Host $http_host;
        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        proxy_set_header X-Forwarded-Proto $scheme;
    }
    location @wait {
        proxy_pass {gate};
        proxy_set_header Host $http_host;
        proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
        proxy_set_header X-Forwarded-Proto $scheme;
        proxy_set_header X-Vestibule-Ticket $vestibule_ticket;
        proxy_hide_header X-Vestibule-Ticket;
    }
}
"#;

async fn open(keeper: Keeper, quota: u64) -> (Scene, Nginx) {
    let options = GateOptions { trusted_proxies: 1, ..GateOptions::default() };
    let rules = json!([{ "action": "bypass", "path": "/static/**" }, { "action": "bypass", "method": "TRACE" }]);
    let changes = json!({ "quota": quota, "handover": { "kind": "check" }, "rules": rules });
    let scene = Scene::open_with(keeper, changes, options).await;
    let gate = format!("http://{}", scene.gate.address());
    let nginx = Nginx::start(&SERVER.replace("{gate}", &gate).replace("{origin}", &scene.origin.url())).await;
    (scene, nginx)
}

async fn nginx_shows_the_page_to_who_waits_and_counts_nobody_twice(keeper: Keeper) {
    let (scene, nginx) = open(keeper, 0).await;
    let mut visitor = Visitor::new(&nginx.address(), &scene.host);
    let page = visitor.navigate("/tour?a=1").await;
    assert_eq!(page.status, StatusCode::OK, "{}", nginx.errors());
    assert!(page.text().contains("Acme tour"), "{}", page.text());
    assert!(page.header("x-vestibule-ticket").is_none());
    assert!(visitor.cookie(&scene.cookie_name()).is_some());
    visitor.navigate("/tour?a=1").await;
    assert_eq!(visitor.status(scene.queue.as_str()).await.json()["position"], 1);
    assert_eq!((scene.counts().await, scene.stats().await.counters.joined), ((1, 0), 1), "counted twice");

    scene.change(&json!({ "quota": 1 })).await;
    let through = visitor.navigate("/tour?a=1").await;
    assert!(through.text().contains("origin /tour"), "{}", through.text());
    assert_eq!(scene.origin.requests().len(), 1);
    assert_eq!(scene.stats().await.counters.joined, 1);
}

async fn nginx_lets_through_who_is_in_with_a_pass(keeper: Keeper) {
    let (scene, nginx) = open(keeper, 1).await;
    let mut visitor = Visitor::new(&nginx.address(), &scene.host);
    let answer = visitor.navigate("/echo?x=%20").await;
    let echo = answer.json();
    assert_eq!(echo["uri"], "/echo?x=%20");
    let keys = visitor.fetch("/_vestibule/jwks.json").await.json();
    let pass = echo["headers"]["x-vestibule-pass"].as_str().unwrap();
    verify_pass(&keys, pass, scene.stats().await.now).unwrap();
    assert!(set_cookie(&answer, &scene.cookie_name()).is_some(), "nginx hands the ticket on");
    for _ in 0..5 {
        assert_eq!(visitor.fetch("/echo").await.status, StatusCode::OK);
    }
    assert_eq!(scene.stats().await.counters.joined, 1);
}

async fn nginx_refuses_what_is_no_page(keeper: Keeper) {
    let (scene, nginx) = open(keeper, 0).await;
    let mut visitor = Visitor::new(&nginx.address(), &scene.host);
    let answer = visitor.request(Request::post("/pay").header("accept", "application/json"), "amount=1").await;
    assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(answer.json()["state"], "waiting");
    assert!(scene.origin.requests().is_empty());
    assert_eq!(scene.counts().await, (0, 0));
    assert!(visitor.fetch("/static/app.js").await.text().contains("origin /static/app.js"));
}

async fn nobody_talks_nginx_into_another_question(keeper: Keeper) {
    let (scene, nginx) = open(keeper, 0).await;
    for (name, value) in [
        ("x-original-url", "/static/x"),
        ("x-forwarded-uri", "/static/x"),
        ("x-forwarded-method", "TRACE"),
        ("x-original-method", "TRACE"),
        ("x-forwarded-host", "other.example"),
        ("x-vestibule-pass", "forged"),
    ] {
        let answer = Visitor::new(&nginx.address(), &scene.host).with_header(name, value).fetch("/tour").await;
        assert_eq!(answer.status, StatusCode::TOO_MANY_REQUESTS, "{name}");
    }
    let direct = Visitor::new(&nginx.address(), &scene.host).fetch("/_vestibule/check").await;
    assert_eq!(direct.status, StatusCode::NOT_FOUND, "the question is nginx's alone");
    for target in ["/tour?<", "/static/../tour", "/x/%2e%2e/tour"] {
        let (head, _) = crate::scene::raw(&nginx.address(), &crate::scene::navigation(target, &scene.host, &[])).await;
        assert!(!head.starts_with("http/1.1 5"), "{target}: {head}");
    }
    assert!(scene.origin.requests().is_empty());
}
