//! H10: what becomes of an order that the storage of jobs does not accept or has no room for, and if its answer is lost.

use std::time::Duration;

use http::{Method, StatusCode};
use tokio::time::sleep;
use vestibule_tests::{Origin, Program, Recorded, Redis, TcpProxy, TestResponse, Visitor, free_port, wait_until};

use super::held_orders::{HOST, form, location, script, serve};

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
        let visitor = visitor_of(&address).await;
        let mut shop = Self { origin, redis, proxy, visitor, _program: program };
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
        orders_of(&self.origin).into_iter().map(|order| String::from_utf8(order.body.to_vec()).unwrap()).collect()
    }
}

/// A visitor who is admitted.
async fn visitor_of(address: &str) -> Visitor {
    let mut visitor = Visitor::new(address, HOST);
    visitor.navigate("/").await;
    visitor
}

/// The orders that this site received.
fn orders_of(origin: &Origin) -> Vec<Recorded> {
    origin.requests().into_iter().filter(|request| request.method == Method::POST).collect()
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

#[tokio::test]
async fn full_job_queue_forwards_or_refuses() {
    const TOKEN: &str = "token-of-prometheus";
    for (more, status, orders, counted) in [
        ("", StatusCode::OK, 1, "{job_queue=\"orders.fifo\",action=\"forwarded\"} 1"),
        (
            ", on_failure = \"refuse\"",
            StatusCode::SERVICE_UNAVAILABLE,
            0,
            "{job_queue=\"orders.fifo\",action=\"refused\"} 2",
        ),
    ] {
        let (origin, admin) = (Origin::start(), format!("127.0.0.1:{}", free_port()));
        let options = ["--state", "state", "--admin-listen", &admin, "--metrics-token", TOKEN];
        let (address, _program) = serve(&origin.url(), 10, more, "max_bytes = 1\n", &options).await;
        let mut visitor = visitor_of(&address).await;
        let page = visitor.request(form("/echo"), "ticket=a").await;
        assert_eq!(page.status, status);
        if status == StatusCode::SERVICE_UNAVAILABLE {
            assert!(page.text().contains("Your order was not placed"), "{}", page.text());
            assert_eq!(page.header("retry-after"), Some("5"));
            let data = visitor.request(script("/echo"), "ticket=a").await;
            assert_eq!((data.status, &data.json()["code"]), (status, &"order_not_placed".into()));
        }
        assert_eq!(orders_of(&origin).len(), orders, "{more}");
        let mut scraper = Visitor::new(&admin, &admin).with_header("authorization", &format!("Bearer {TOKEN}"));
        let metrics = scraper.fetch("/metrics").await.text().to_owned();
        assert!(metrics.contains(&format!("vestibule_orders_not_held_total{counted}\n")), "{metrics}");
    }
}

/// Places an order, breaks the storage, and submits another order, of which this many reach the site.
async fn assert_not_stored(
    more: &str,
    status: StatusCode,
    orders: usize,
    break_storage: impl AsyncFnOnce(&Redis, &mut Visitor),
) {
    let (origin, redis) = (Origin::start(), Redis::start().await);
    let (address, _program) = serve(&origin.url(), 10, more, "", &["--state", "state", "--jobs", &redis.url()]).await;
    let mut visitor = visitor_of(&address).await;
    assert_eq!(visitor.request(form("/echo"), "ticket=a").await.status, StatusCode::OK);
    break_storage(&redis, &mut visitor).await;
    let before = orders_of(&origin).len();
    let page = visitor.request(form("/echo"), "ticket=c").await;
    assert_eq!((page.status, orders_of(&origin).len() - before), (status, orders), "{more}: {}", page.text());
    let is_refused = page.text().contains("Your order was not placed");
    assert_eq!(is_refused, status == StatusCode::SERVICE_UNAVAILABLE, "{}", page.text());
}

#[tokio::test]
async fn order_without_job_storage_is_forwarded_or_refused() {
    for (more, status, orders) in
        [("", StatusCode::OK, 1), (", on_failure = \"refuse\"", StatusCode::SERVICE_UNAVAILABLE, 0)]
    {
        assert_not_stored(more, status, orders, async |redis, visitor| {
            redis.kill();
            // The first order may be under way while the connection breaks.
            wait_until("the loss is known", LIMIT, async || {
                visitor.request(form("/echo"), "ticket=b").await.status != StatusCode::SEE_OTHER
            })
            .await;
        })
        .await;
    }
}

#[tokio::test]
async fn order_rejected_by_job_storage_is_forwarded_or_refused() {
    let out_of_memory = &["CONFIG", "SET", "maxmemory", "1"][..];
    let without_replicas = &["CONFIG", "SET", "min-replicas-to-write", "1"][..];
    for (more, status, orders, command) in [
        ("", StatusCode::OK, 1, out_of_memory),
        ("", StatusCode::OK, 1, without_replicas),
        (", on_failure = \"refuse\"", StatusCode::SERVICE_UNAVAILABLE, 0, out_of_memory),
    ] {
        println!("{command:?}");
        assert_not_stored(more, status, orders, async |redis, _| drop(redis.command(command).await)).await;
    }
}

#[tokio::test]
async fn order_whose_response_has_no_room_is_not_called_a_duplicate() {
    let (origin, orders) = (Origin::start(), "max_bytes = 3000\nenqueues_per_minute = 100\n");
    let (address, _program) = serve(&origin.url(), 10, "", orders, &["--state", "state"]).await;
    let mut visitor = visitor_of(&address).await;
    let mut last = visitor.request(form("/echo"), "ticket=0").await;
    assert_eq!(last.status, StatusCode::OK);
    for ticket in 1..20 {
        last = visitor.request(form("/echo"), format!("ticket={ticket}")).await;
        if last.status != StatusCode::OK {
            break;
        }
    }
    let url = location(&last);
    let page = visitor.navigate(&url).await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.text().contains("The shop has received your order"), "{}", page.text());
    let followed = format!("/_vestibule/jobs/orders.fifo/{}", url.rsplit('=').next().unwrap());
    assert!(visitor.navigate(&followed).await.text().contains("The shop has received your order"));

    let ordered = visitor.request(script("/echo"), "ticket=script").await;
    assert_eq!((ordered.status, ordered.text()), (StatusCode::OK, ""), "a script gets the status");
    // Smaller responses fill the rest of the room.
    let mut failed = last;
    for ticket in 0..50 {
        failed = visitor.request(form("/status/500"), format!("failed={ticket}")).await;
        if failed.status != StatusCode::INTERNAL_SERVER_ERROR {
            break;
        }
    }
    let page = visitor.navigate(&location(&failed)).await;
    assert!(page.text().contains("We don’t know whether your order was placed"), "{}", page.text());
    let redirected = visitor.request(form("/redirect"), "ticket=redirect").await;
    assert_eq!((redirected.status, redirected.header("location")), (StatusCode::SEE_OTHER, Some("/thanks")));
}
