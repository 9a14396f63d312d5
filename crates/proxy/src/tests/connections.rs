use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::body::Body;
use http::{Request, Uri};
use http_body_util::BodyExt as _;
use tokio::io::AsyncWriteExt;
use vestibule_core::settings::Reach;

use super::support::{Gate, ask, head_of, origin};
use crate::ProxyLimits;
use crate::pool::Pool;
use crate::proxy::REPEAT_WITHIN;
use crate::request_body::{RequestBody, UploadProgress};

/// Responds to every request with the number of its connection.
async fn numbering() -> Uri {
    let connections = Arc::new(AtomicUsize::new(0));
    origin(move |mut socket| {
        let number = connections.fetch_add(1, Ordering::SeqCst);
        async move {
            while head_of(&mut socket).await.is_some() {
                let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n{number}");
                socket.write_all(answer.as_bytes()).await.unwrap();
            }
        }
    })
    .await
}

async fn connection_used(pool: &Pool, origin: &Uri) -> String {
    let body = RequestBody::new(Body::empty(), UploadProgress::start(), None).ok().unwrap();
    let request = Request::get(origin.clone()).header("host", "origin").body(body).unwrap();
    let answer = pool.client().request(request).await.unwrap();
    String::from_utf8(answer.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

#[tokio::test]
async fn connection_is_not_reused_after_a_freeze() {
    let (origin, limits) = (numbering().await, ProxyLimits::default());
    let pool = Pool::new(
        vestibule_tls::client_config().unwrap(),
        ProxyLimits { idle_timeout: Duration::from_mins(5), ..limits },
        Reach::Any,
    );
    assert_eq!(connection_used(&pool, &origin).await, "0");
    assert_eq!(connection_used(&pool, &origin).await, "0");
    pool.sleep(Duration::from_mins(4));
    assert_eq!(connection_used(&pool, &origin).await, "0");
    pool.sleep(Duration::from_mins(6));
    assert_eq!(connection_used(&pool, &origin).await, "1", "the network has forgotten the other one");
    assert_eq!(connection_used(&pool, &origin).await, "1");
}

#[tokio::test]
async fn names_are_resolved_again_under_steady_traffic() {
    let origin = numbering().await;
    let pool = Pool::new(vestibule_tls::client_config().unwrap(), ProxyLimits::default(), Reach::Any);
    assert_eq!(connection_used(&pool, &origin).await, "0");
    pool.grow_old(Duration::from_secs(50));
    assert_eq!(connection_used(&pool, &origin).await, "0");
    pool.grow_old(Duration::from_secs(20));
    assert_eq!(connection_used(&pool, &origin).await, "1");
}

/// Closes each connection after its first response, without saying so, and counts the requests.
async fn closing_once_answered() -> (Uri, Arc<AtomicUsize>) {
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = requests.clone();
    let uri = origin(move |mut socket| {
        let counted = counted.clone();
        async move {
            head_of(&mut socket).await;
            counted.fetch_add(1, Ordering::SeqCst);
            socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.unwrap();
            if head_of(&mut socket).await.is_some() {
                counted.fetch_add(1, Ordering::SeqCst);
            }
        }
    })
    .await;
    (uri, requests)
}

#[tokio::test]
async fn safe_request_is_sent_again_if_its_connection_was_closed() {
    let (origin, requests) = closing_once_answered().await;
    let gate = Gate::before(origin).open().await;
    for (method, received, status) in [("GET", 1, "200"), ("GET", 3, "200"), ("POST", 4, "200"), ("POST", 5, "502")] {
        let got = ask(&gate, &[&format!("{method} / HTTP/1.1"), "content-length: 0"]).await;
        assert!(got.starts_with(&format!("HTTP/1.1 {status} ")), "{method}: {got}");
        assert_eq!(requests.load(Ordering::SeqCst), received, "{method}");
    }
}

#[tokio::test]
async fn request_that_the_origin_worked_on_is_not_sent_again() {
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = requests.clone();
    let origin = origin(move |mut socket| {
        let counted = counted.clone();
        async move {
            head_of(&mut socket).await;
            counted.fetch_add(1, Ordering::SeqCst);
            tokio::time::sleep(REPEAT_WITHIN + Duration::from_millis(100)).await;
        }
    })
    .await;
    let got = ask(&Gate::before(origin).open().await, &["GET / HTTP/1.1"]).await;
    assert!(got.starts_with("HTTP/1.1 502 "), "{got}");
    assert_eq!(requests.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn response_may_have_hundreds_of_fields() {
    let origin = origin(|mut socket| async move {
        head_of(&mut socket).await;
        let cookies: Vec<_> = (0..400).map(|number| format!("set-cookie: c{number}=1\r\n")).collect();
        let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n{}\r\n", cookies.concat());
        socket.write_all(answer.as_bytes()).await.unwrap();
    })
    .await;
    let got = ask(&Gate::before(origin).open().await, &["GET / HTTP/1.1"]).await;
    assert!(got.starts_with("HTTP/1.1 200 ") && got.contains("set-cookie: c399=1"), "{got}");
}

/// The response of a gate with this reach for an origin at the port of `origin`.
async fn asked_of(host: &str, origin: &Uri, reach: Reach) -> String {
    let mut gate = Gate::before(format!("http://{host}:{}", origin.port().unwrap()).parse().unwrap());
    gate.reach = reach;
    ask(&gate.open().await, &["GET / HTTP/1.1"]).await
}

#[tokio::test]
async fn internal_addresses_are_refused_after_resolving() {
    let origin = numbering().await;
    for host in ["127.0.0.1", "localhost", "2130706433", "127.1", "[::ffff:127.0.0.1]", "0.0.0.0"] {
        for reach in [Reach::Public, Reach::Private] {
            let got = asked_of(host, &origin, reach).await;
            assert!(got.starts_with("HTTP/1.1 502 ") && got.ends_with("Unreachable"), "{host}: {got}");
        }
    }
    for host in ["127.0.0.1", "localhost", "127.1"] {
        let got = asked_of(host, &origin, Reach::Any).await;
        assert!(got.starts_with("HTTP/1.1 200 "), "{host}: {got}");
    }
}
