//! H10: what becomes of an order if the storage of jobs does not answer, or if its answer is lost.

use std::time::Duration;

use http::{Method, StatusCode};
use tokio::time::sleep;
use vestibule_tests::{Origin, Program, Redis, TcpProxy, TestResponse, Visitor, wait_until};

use super::held_orders::{HOST, form, location, serve};

/// A job whose lease was lost with its answer starts again after 30 s.
const LIMIT: Duration = Duration::from_mins(1);

/// A gate with its worker in front of a site. The jobs are in a Redis behind a proxy.
struct Shop {
    origin: Origin,
    redis: Redis,
    proxy: TcpProxy,
    visitor: Visitor,
    _program: Program,
}

impl Shop {
    /// A shop whose visitor has placed an order.
    async fn open() -> Self {
        let (origin, redis) = (Origin::start(), Redis::start().await);
        let proxy = TcpProxy::to(redis.port()).await;
        let jobs = format!("redis://127.0.0.1:{}", proxy.port());
        let (address, program) = serve(&origin.url(), 10, "", "", &["--state", "state", "--jobs", &jobs]).await;
        let mut shop = Self { origin, redis, proxy, visitor: Visitor::new(&address, HOST), _program: program };
        shop.visitor.navigate("/").await;
        assert_eq!(shop.submit("first").await.status, StatusCode::OK);
        shop
    }

    async fn submit(&mut self, body: &'static str) -> TestResponse {
        self.visitor.request(form("/echo"), body).await
    }

    /// What the visitor gets once the order has ended.
    async fn outcome(&mut self, submitted: TestResponse) -> TestResponse {
        if submitted.status == StatusCode::OK {
            return submitted;
        }
        let (url, mut last) = (location(&submitted), submitted);
        wait_until("the order has ended", LIMIT, async || {
            last = self.visitor.navigate(&url).await;
            last.status == StatusCode::OK && !last.follows_a_job()
        })
        .await;
        last
    }

    /// The orders that the site received.
    fn orders(&self) -> Vec<String> {
        let orders = self.origin.requests().into_iter().filter(|request| request.method == Method::POST);
        orders.map(|order| String::from_utf8(order.body.to_vec()).unwrap()).collect()
    }
}

#[tokio::test]
async fn order_that_may_be_stored_is_not_forwarded() {
    let mut shop = Shop::open().await;
    shop.redis.freeze();
    let submitted = shop.submit("second").await;
    let page = shop.visitor.navigate(&location(&submitted)).await;
    assert_eq!((page.status, page.follows_a_job()), (StatusCode::OK, true), "{}", page.text());
    assert!(page.text().contains("We’re processing your order"), "{}", page.text());
    assert_eq!(shop.orders(), ["first"]);
    // The server goes on with what has reached it.
    shop.redis.thaw();
    assert_eq!(shop.outcome(submitted).await.json()["body"], "second");
    assert_eq!(shop.orders(), ["first", "second"], "the gate stored it three times with one job ID");
}

#[tokio::test]
async fn order_that_the_storage_does_not_know_is_unknown() {
    let mut shop = Shop::open().await;
    shop.proxy.silence_all();
    let submitted = shop.submit("second").await;
    shop.proxy.pass();
    let page = shop.outcome(submitted).await;
    assert!(page.text().contains("We don’t know whether your order was placed"), "{}", page.text());
    assert_eq!(shop.orders(), ["first"], "it may have been stored, as far as the gate knows");
    let invented = shop.visitor.navigate("/echo?vestibule_job=0NPWV1MDQB2XKF3Y0T5DWZQ").await;
    assert!(invented.text().contains("We don’t know whether your order was placed"), "{}", invented.text());
}

/// F13: the answer is lost each time, sooner or later after the order has reached the storage.
#[tokio::test]
async fn f13_repeated_order_is_never_stored_and_forwarded() {
    let mut shop = Shop::open().await;
    for repetition in 0..5 {
        let Shop { redis, proxy, visitor, .. } = &mut shop;
        redis.freeze();
        let lose = async {
            // The storage may take 250 ms, and the gate asks three times.
            sleep(Duration::from_millis(50 + 200 * repetition)).await;
            proxy.silence();
            redis.thaw();
        };
        let (submitted, ()) = tokio::join!(visitor.request(form("/echo"), "second"), lose);
        let outcome = shop.outcome(submitted).await;
        // The storage may have known the order by an earlier ID, and the gate did not learn that.
        let is_unknown = outcome.text().contains("We don’t know whether your order was placed");
        assert!(is_unknown || outcome.json()["body"] == "second", "{repetition}: {}", outcome.text());
    }
    assert_eq!(shop.orders(), ["first", "second"]);
}
