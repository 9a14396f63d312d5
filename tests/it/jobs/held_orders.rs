//! Held orders: `vestibule serve` in front of a site, with visitors who click twice, wait, and come back.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE, REFERER};
use http::request::Builder;
use http::{Method, Request, StatusCode};
use serde_json::json;
use vestibule_core::line::Mode;
use vestibule_core::store::{PutMode, SettingsStore as _};
use vestibule_core::{Clock as _, Micros, SystemClock, verify_pass};
use vestibule_store_redis::{RedisOptions, RedisStore};
use vestibule_tests::{
    FakeTime, Origin, Program, Recorded, Redis, TcpProxy, TestResponse, Visitor, account_keys, account_token,
    free_port, wait_until,
};

pub(super) const LIMIT: Duration = Duration::from_secs(20);
pub(super) const HOST: &str = "shop.example";
pub(super) const PASS_KEYS: &str = "p1:CQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQk";
const FORM: &str = "application/x-www-form-urlencoded";

/// The program in front of a site, whose POST requests are held.
struct Shop {
    origin: Origin,
    address: String,
    program: Program,
}

impl Shop {
    /// `quota` visitors are admitted. `more` is added to the rule with the action `hold`, and `orders` to the job queue.
    async fn open(quota: u64, more: &str, orders: &str) -> Self {
        let origin = Origin::start();
        let (address, program) = serve(&origin.url(), quota, more, orders, &["--state", "state"]).await;
        Self { origin, address, program }
    }

    /// The same with one slot, over this Redis.
    async fn open_over(redis: &Redis, orders: &str) -> Self {
        let origin = Origin::start();
        let options = ["--state", "state", "--store", &redis.url()];
        let (address, program) = serve(&origin.url(), 1, "", orders, &options).await;
        Self { origin, address, program }
    }

    /// A visitor who is admitted, or who waits.
    async fn visitor(&self) -> Visitor {
        let mut visitor = Visitor::new(&self.address, HOST);
        visitor.navigate("/").await;
        visitor
    }

    /// A visitor who has seen the site.
    async fn admitted(&self) -> Visitor {
        let mut visitor = Visitor::new(&self.address, HOST);
        wait_until("admitted", LIMIT, async || visitor.navigate("/").await.text().contains("origin /")).await;
        visitor
    }

    /// The orders that the site received.
    fn orders(&self) -> Vec<Recorded> {
        self.origin.requests().into_iter().filter(|request| request.method == Method::POST).collect()
    }
}

/// Starts a gate whose POST requests are held, and returns its address.
pub(super) async fn serve(origin: &str, quota: u64, more: &str, orders: &str, options: &[&str]) -> (String, Program) {
    let address = format!("127.0.0.1:{}", free_port());
    let settings = format!(
        "[[tenants]]\nid = \"acme\"\nname = \"Acme\"\n\n\
         [[queues]]\nid = \"tour\"\ntenant = \"acme\"\nhosts = [\"*\"]\nquota = {quota}\n\
         handover = {{ kind = \"proxy\", origin = \"{origin}\" }}\n\
         rules = [{{ action = \"hold\", job_queue = \"orders.fifo\", method = [\"POST\"], path = [\"/**\"]{more} }}]\n\n\
         [[job_queues]]\nid = \"orders.fifo\"\ntenant = \"acme\"\ntarget = {{ kind = \"origin\" }}\nmin_backoff = 1\n{orders}\n"
    );
    let mut arguments = vec!["serve", "--listen", &address, "--settings", "vestibule.toml"];
    arguments.extend(options);
    let mut program = Program::vestibule(&arguments).file("vestibule.toml", &settings).start();
    program.until_healthy(&address).await;
    (address, program)
}

/// A clock that stands at this instant.
fn stopped_clock() -> (Arc<FakeTime>, Micros) {
    let now = SystemClock::new().now();
    (Arc::new(FakeTime::at(now)), now)
}

/// A form as a browser submits it.
pub(crate) fn form(path: &str) -> Builder {
    let request = Request::post(path).header(ACCEPT, "text/html,application/xhtml+xml").header(CONTENT_TYPE, FORM);
    request.header("sec-fetch-mode", "navigate").header("sec-fetch-dest", "document")
}

/// The same from a script.
pub(super) fn script(path: &str) -> Builder {
    Request::post(path).header(ACCEPT, "application/json").header(CONTENT_TYPE, FORM).header("sec-fetch-mode", "cors")
}

pub(crate) fn location(response: &TestResponse) -> String {
    response.header("location").unwrap_or_else(|| panic!("no location: {response:?}")).to_owned()
}

#[tokio::test]
async fn double_submitted_form_is_one_order() {
    let shop = Shop::open(10, "", "").await;
    let mut visitor = shop.visitor().await;
    let mut twin = visitor.clone();
    let order = || form("/echo?a=%20b").header("x-forwarded-for", "203.0.113.9").header("x-kept", "1");
    let (first, second) =
        tokio::join!(visitor.request(order(), "ticket=a&seat=1"), twin.request(order(), "ticket=a&seat=1"));
    assert_eq!((first.status, second.status), (StatusCode::OK, StatusCode::OK), "{first:?} {second:?}");
    assert_eq!(first.body, second.body);
    assert_eq!(first.json()["body"], "ticket=a&seat=1");
    assert_eq!(first.json()["uri"], "/echo?a=%20b");

    let orders = shop.orders();
    assert_eq!(orders.len(), 1, "{orders:?}");
    let headers = &orders[0].headers;
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
    assert_eq!(text("host").as_deref(), Some(HOST));
    assert_eq!(text("x-kept").as_deref(), Some("1"));
    assert_eq!(text("x-forwarded-for").as_deref(), Some("127.0.0.1"), "the proxy's rules apply");
    assert_eq!(text("cookie"), None, "the ticket stays secret");
    let jwks = visitor.fetch("/_vestibule/jwks.json").await.json();
    let claims = verify_pass(&jwks, &text("x-vestibule-pass").unwrap(), SystemClock::new().now()).unwrap();
    assert_eq!(claims.job.map(|job| job.to_string()), text("idempotency-key"));
    assert!(text("idempotency-key").is_some_and(|key| key.len() == 23));
    assert!(!first.text().contains("set-cookie") && first.header("x-vestibule-pass").is_none());

    let other = visitor.request(order(), "ticket=a&seat=2").await;
    assert_eq!((other.status, shop.orders().len()), (StatusCode::OK, 2), "another order");
    let again = visitor.request(order().header("idempotency-key", "once-more"), "ticket=a&seat=2").await;
    assert_eq!(again.status, StatusCode::OK);
    assert_eq!(shop.orders()[2].headers["idempotency-key"], "once-more");
    visitor.request(order().header("idempotency-key", ""), "ticket=a&seat=3").await;
    let last = shop.orders().pop().unwrap();
    assert_eq!(last.headers["idempotency-key"].len(), 23, "an empty key is none");
}

/// Two users of one browser have one session.
#[tokio::test]
async fn credentials_of_another_user_make_another_order() {
    let shop = Shop::open(10, "", "").await;
    let mut visitor = shop.visitor().await;
    let order = |credentials: &str| script("/echo").header("authorization", credentials);
    for (sent, orders) in [("Bearer ann", 1), ("bearer bob", 2), ("Bearer ann", 2), ("Basic Y2FybDp4", 3)] {
        let answer = visitor.request(order(sent), "seat=1").await;
        assert_eq!((answer.status, shop.orders().len()), (StatusCode::OK, orders), "{sent}");
        assert_eq!(answer.json()["headers"]["authorization"], sent, "the response is that of the user");
    }
    for count in ["00000001", "00000002"] {
        let signed = format!("Digest username=\"ann\", nc={count}");
        assert_eq!(visitor.request(order(&signed), "seat=2").await.status, StatusCode::OK);
        assert_eq!(shop.orders().len(), 4, "each request of this scheme is signed");
    }
    let key = |credentials: &str| order(credentials).header("idempotency-key", "k1");
    visitor.request(key("Bearer ann"), "seat=3").await;
    let again = visitor.request(key("Bearer ann, renewed"), "seat=3").await;
    assert_eq!((again.status, shop.orders().len()), (StatusCode::OK, 5), "the key decides");
}

#[tokio::test]
async fn slow_order_is_followed_without_javascript() {
    let shop = Shop::open(10, "", "").await;
    let mut visitor = shop.visitor().await;
    let submitted = visitor.request(form("/slow?4000"), "ticket=a").await;
    assert_eq!(submitted.status, StatusCode::SEE_OTHER, "{submitted:?}");
    let url = location(&submitted);
    assert!(url.starts_with("/slow?4000&vestibule_job="), "{url}");

    let page = visitor.navigate(&url).await;
    assert_eq!((page.status, page.follows_a_job()), (StatusCode::OK, true));
    assert!(page.text().contains("We’re processing your order"), "{}", page.text());
    let mut other = shop.visitor().await;
    assert!(!other.navigate(&url).await.text().contains("We’re processing"), "the page is for its session only");

    let mut last = page;
    wait_until("the order is completed", LIMIT, async || {
        last = visitor.navigate(&url).await;
        !last.follows_a_job()
    })
    .await;
    assert_eq!((last.status, last.text()), (StatusCode::OK, "at last"));
    assert_eq!(visitor.navigate(&url).await.text(), "at last", "reloading is harmless");
    let again = visitor.request(form("/slow?4000"), "ticket=a").await;
    assert_eq!((again.status, again.text()), (StatusCode::OK, "at last"), "so is going back and submitting again");
    assert_eq!(shop.orders().len(), 1);
}

/// Settings with accounts, after those of the job queue.
fn identity() -> String {
    // The keys as an inline table of TOML.
    let keys = account_keys().to_string().replace("\":", "\" = ");
    format!(
        "\n[queues.protection.identity]\nissuer = \"https://www.example.com\"\naudience = \"tour\"\n\
         from = [\"cookie:shop_id\"]\nkeys = {keys}"
    )
}

/// From now on, the visitor has a token of the account.
fn sign_in(visitor: &mut Visitor) {
    let expires = SystemClock::new().now().seconds() + 3600;
    let claims = json!({ "iss": "https://www.example.com", "aud": "tour", "sub": "user-1", "exp": expires });
    visitor.set_cookie("shop_id", &account_token("ES256", &claims));
}

#[tokio::test]
async fn account_of_a_visitor_reaches_the_handler() {
    let handler = Origin::start();
    let mails = format!(
        "\n[[job_queues]]\nid = \"mails\"\ntenant = \"acme\"\nproducers = \"visitors\"\n\
         target = {{ kind = \"http\", url = \"{}/mails\" }}\n",
        handler.url()
    );
    let shop = Shop::open(10, "", &(mails + &identity())).await;
    let mut visitor = Visitor::new(&shop.address, HOST);
    sign_in(&mut visitor);
    visitor.navigate("/").await;
    let accepted = visitor.request(script("/_vestibule/jobs/mails"), "text=hello").await;
    assert_eq!(accepted.status, StatusCode::ACCEPTED, "{}", accepted.text());
    wait_until("the handler is called", LIMIT, async || handler.requests().len() == 1).await;
    // The code that docs/integrate.md computes.
    assert_eq!(handler.requests()[0].headers["vestibule-user-id"], "64588pHZiP_8WWnErylZ5g");
}

#[tokio::test]
async fn order_stays_that_of_a_visitor_who_signs_in() {
    let shop = Shop::open(10, "", &identity()).await;
    let mut visitor = shop.visitor().await;
    let guest = visitor.status("tour").await.json()["session"].clone();
    let submitted = visitor.request(form("/slow?8000"), "ticket=a").await;
    let url = location(&submitted);
    sign_in(&mut visitor);
    assert!(visitor.navigate("/").await.text().contains("origin /"));
    assert_ne!(visitor.status("tour").await.json()["session"], guest, "it is that of the account now");

    let page = visitor.navigate(&url).await;
    assert!(page.text().contains("We’re processing your order"), "{}", page.text());
    let again = visitor.request(form("/slow?8000").header("prefer", "respond-async"), "ticket=a").await;
    assert_eq!(location(&again), url, "it is the same order");
    let mut other = shop.visitor().await;
    assert!(!other.navigate(&url).await.text().contains("We’re processing"), "the page is for its visitor only");
    let mut last = page;
    wait_until("the order is completed", LIMIT, async || {
        last = visitor.navigate(&url).await;
        !last.follows_a_job()
    })
    .await;
    assert_eq!((last.text(), shop.orders().len()), ("at last", 1));
}

/// Everyone passes then, but an order that waits is not sent a second time.
#[tokio::test]
async fn bypass_mode_makes_no_order_twice() {
    let redis = Redis::start().await;
    let shop = Shop::open_over(&redis, "").await;
    let mut visitor = shop.admitted().await;
    let order = || form("/slow?8000").header("prefer", "respond-async");
    let url = location(&visitor.request(order(), "ticket=a").await);
    let store = RedisStore::connect(&redis.url(), RedisOptions::default()).unwrap();
    let mut settings = store.settings(&"tour".parse().unwrap()).await.unwrap().unwrap();
    (settings.line.mode, settings.recheck_after) = (Mode::Bypass, 0);
    store.put_settings(&settings, PutMode::Always).await.unwrap();
    // The gate learns of the mode from the store.
    visitor.status("tour").await;

    let again = visitor.request(order(), "ticket=a").await;
    assert_eq!((again.status, location(&again)), (StatusCode::SEE_OTHER, url.clone()));
    let mut newcomer = Visitor::new(&shop.address, HOST);
    assert_eq!(newcomer.request(form("/checkout"), "ticket=b").await.status, StatusCode::OK, "it is not held");
    wait_until("the order is completed", LIMIT, async || visitor.navigate(&url).await.text() == "at last").await;
    assert_eq!(shop.orders().len(), 2);
}

/// H4: whenever the visitor signed in, and on all devices of the account.
#[tokio::test]
async fn signing_in_makes_no_order_twice() {
    let (time, start) = stopped_clock();
    let redis = Redis::start_at(time.clone()).await;
    let pace = "retention = 60\ntimeout = 1\ndeduplication_interval = 60\n";
    let shop = Shop::open_over(&redis, &format!("{pace}{}", identity())).await;
    let mut visitor = shop.admitted().await;
    let order =
        async |visitor: &mut Visitor, seat: &str| visitor.request(form("/redirect"), seat.to_owned()).await.status;
    assert_eq!(order(&mut visitor, "seat=1").await, StatusCode::SEE_OTHER);
    sign_in(&mut visitor);
    visitor.navigate("/").await;
    let session = visitor.status("tour").await.json()["session"].clone();
    let mut phone = Visitor::new(&shop.address, HOST);
    sign_in(&mut phone);
    phone.navigate("/").await;
    assert_eq!(phone.status("tour").await.json()["session"], session);
    for (seconds, seats, orders) in
        [(20, ["seat=1", "seat=2"], 2), (55, ["seat=1", "seat=3"], 3), (64, ["seat=2", "seat=3"], 3)]
    {
        time.set(start.add_seconds(seconds));
        for seat in seats {
            order(&mut visitor, seat).await;
        }
        order(&mut phone, seats[1]).await;
        assert_eq!(shop.orders().len(), orders, "after {seconds} s");
    }
    let jwks = visitor.fetch("/_vestibule/jwks.json").await.json();
    for later in &shop.orders()[1..] {
        let pass = later.headers["x-vestibule-pass"].to_str().unwrap();
        assert_eq!(json!(verify_pass(&jwks, pass, start.add_seconds(55)).unwrap().sub), session);
    }
}

/// H6: 60 s after the delivery.
#[tokio::test]
async fn delivered_order_leaves_a_page_with_its_link() {
    let (time, start) = stopped_clock();
    let redis = Redis::start_at(time.clone()).await;
    let shop = Shop::open_over(&redis, "").await;
    let mut visitor = shop.admitted().await;
    let placed = visitor.request(form("/redirect"), "ticket=a").await;
    assert_eq!((placed.status, placed.header("location")), (StatusCode::SEE_OTHER, Some("/thanks")));
    time.set(start.add_seconds(61));
    let again = visitor.request(form("/redirect"), "ticket=a").await;
    let page = visitor.navigate(&location(&again)).await;
    assert!(page.text().contains("This order has already been submitted"), "{}", page.text());
    assert!(page.text().contains("href=\"&#x2f;thanks\""), "{}", page.text());
    assert_eq!(shop.orders().len(), 1);
    // A page that the shop answered with has no address.
    visitor.leave("tour").await;
    time.set(start.add_seconds(122));
    let mut visitor = shop.admitted().await;
    let placed = visitor.request(form("/checkout"), "ticket=b").await;
    assert_eq!((placed.status, placed.header("location")), (StatusCode::OK, None), "{}", placed.text());
    time.set(start.add_seconds(183));
    let again = visitor.request(form("/checkout"), "ticket=b").await;
    let page = visitor.navigate(&location(&again)).await;
    assert!(page.text().contains("This order has already been submitted"), "{}", page.text());
    assert!(page.text().contains("href=\"&#x2f;\">Continue to "), "{}", page.text());
}

/// H6.
#[tokio::test]
async fn head_request_delivers_no_response() {
    let (time, start) = stopped_clock();
    let redis = Redis::start_at(time.clone()).await;
    let shop = Shop::open_over(&redis, "").await;
    let mut visitor = shop.admitted().await;
    let order = script("/checkout").header("prefer", "respond-async");
    let url = location(&visitor.request(order, "ticket=a").await);
    let completed =
        async || visitor.request(Request::head(&*url).header(ACCEPT, "application/json"), "").await.status == 200;
    wait_until("the order is completed", LIMIT, completed).await;
    time.set(start.add_seconds(61));
    visitor.request(form("/checkout"), "ticket=b").await;
    let response = visitor.fetch(&url).await;
    assert_eq!(response.status, StatusCode::OK, "{}", response.text());
    time.set(start.add_seconds(122));
    visitor.request(form("/checkout"), "ticket=c").await;
    assert_eq!(visitor.fetch(&url).await.status, StatusCode::CONFLICT, "that one did");
}

/// H6.
#[tokio::test]
async fn page_of_an_order_keeps_the_session_active() {
    const ACTIVE_TTL: u64 = 600;
    let (time, start) = stopped_clock();
    let redis = Redis::start_at(time.clone()).await;
    let shop = Shop::open_over(&redis, "").await;
    let mut visitor = shop.admitted().await;
    let page = location(&visitor.request(form("/slow?3000"), "ticket=a").await);
    let order = script("/slow?3000").header("prefer", "respond-async");
    let data = location(&visitor.request(order, "ticket=b").await);
    let mut last = start;
    for (url, is_page) in [(page, true), (data, false)] {
        last = last.add_seconds(ACTIVE_TTL - 1);
        time.set(last);
        let answer = if is_page { visitor.navigate(&url).await } else { visitor.fetch(&url).await };
        assert_ne!(answer.status, StatusCode::TOO_MANY_REQUESTS, "it does not wait");
    }
    let mut next = Visitor::new(&shop.address, HOST);
    assert!(!next.navigate("/").await.text().contains("origin /"), "the slot is not free");
    time.set(last.add_seconds(ACTIVE_TTL));
    wait_until("the session has expired", LIMIT, async || next.navigate("/").await.text().contains("origin /")).await;
}

/// H7.
#[tokio::test]
async fn each_order_has_a_connection_of_its_own() {
    let origin = Origin::start();
    let port = origin.address().rsplit(':').next().unwrap().parse().unwrap();
    let proxy = TcpProxy::to(port).await;
    let url = format!("http://127.0.0.1:{}", proxy.port());
    let (address, _program) = serve(&url, 10, "", "", &["--state", "state"]).await;
    let mut visitor = Visitor::new(&address, HOST);
    wait_until("admitted", LIMIT, async || visitor.navigate("/").await.text().contains("origin /")).await;
    let before = proxy.opened();
    for order in 0..3 {
        let placed = visitor.request(form("/echo"), format!("order={order}")).await;
        assert_eq!(placed.status, StatusCode::OK);
    }
    assert_eq!(proxy.opened() - before, 3);
}

/// H12.
#[tokio::test]
async fn order_is_sent_although_its_session_has_ended() {
    let mut shop = Shop::open(10, "", "").await;
    let mut visitor = shop.visitor().await;
    shop.origin.stop().await;
    let order = script("/echo").header("prefer", "respond-async");
    assert_eq!(visitor.request(order, "ticket=a").await.status, StatusCode::ACCEPTED);
    let left = visitor.leave("tour").await;
    assert!(left.status.is_success(), "{left:?}");
    shop.origin.restart();
    wait_until("the order is sent", LIMIT, async || shop.orders().len() == 1).await;
}

#[tokio::test]
async fn script_follows_the_location_of_an_order() {
    let shop = Shop::open(10, "", "").await;
    let mut visitor = shop.visitor().await;
    let waited = visitor.request(script("/slow?2500"), "ticket=a").await;
    assert_eq!((waited.status, waited.text()), (StatusCode::OK, "at last"), "it waits for longer than a page");

    let order = || script("/slow?1500").header("prefer", "respond-async");
    let accepted = visitor.request(order(), "ticket=b").await;
    assert_eq!((accepted.status, accepted.header("retry-after")), (StatusCode::ACCEPTED, Some("2")));
    let body = accepted.json();
    assert_eq!(body["job_id"], accepted.header("x-job-id").unwrap());
    assert_eq!(
        (&body["job_queue"], &body["state"], &body["duplicate"]),
        (&"orders.fifo".into(), &"queued".into(), &false.into())
    );
    let repeated = visitor.request(order(), "ticket=b").await;
    assert_eq!(repeated.header("x-job-duplicate"), Some("true"));
    assert_eq!(repeated.header("x-job-id"), accepted.header("x-job-id"));
    let mut last = accepted.clone();
    wait_until("the order is completed", LIMIT, async || {
        last = visitor.fetch(&location(&accepted)).await;
        last.status != StatusCode::ACCEPTED
    })
    .await;
    assert_eq!((last.status, last.text()), (StatusCode::OK, "at last"));
    assert_eq!(shop.orders().len(), 2);
}

#[tokio::test]
async fn page_of_the_site_reads_what_became_of_its_order() {
    let shop = Shop::open(10, "", "").await;
    let mut visitor = shop.visitor().await;
    let page = format!("http://{HOST}");
    let allowed = |response: &TestResponse| response.header("access-control-allow-origin").map(str::to_owned);
    let order = script("/slow?3000").header("prefer", "respond-async").header("origin", &page);
    let accepted = visitor.request(order, "ticket=a").await;
    assert_eq!((accepted.status, allowed(&accepted)), (StatusCode::ACCEPTED, Some(page.clone())));
    let status = Request::get(location(&accepted)).header(ACCEPT, "application/json").header("origin", &page);
    let status = visitor.request(status, "").await;
    assert_eq!((status.status, allowed(&status)), (StatusCode::ACCEPTED, Some(page)));
    let foreign = script("/slow?3000").header("prefer", "respond-async").header("origin", "http://evil.example");
    assert_eq!(allowed(&visitor.request(foreign, "ticket=a").await), None);
}

#[tokio::test]
async fn responses_arrive_as_without_hold() {
    let shop = Shop::open(10, "", "").await;
    let mut visitor = shop.visitor().await;
    let cookies = visitor.request(form("/cookies"), "a").await;
    let set: Vec<_> = cookies.headers.get_all("set-cookie").iter().map(|value| value.to_str().unwrap()).collect();
    assert!(set.contains(&"theme=dark; Path=/; HttpOnly"), "{set:?}");
    for status in [204, 302, 400, 404, 409, 500] {
        let response = visitor.request(form(&format!("/status/{status}")), "a").await;
        assert_eq!(response.status, status);
    }
    let large = vec![b'x'; 300 * 1024];
    let forwarded = visitor.request(form("/echo"), large.clone()).await;
    assert_eq!(forwarded.json()["body"].as_str().map(str::len), Some(large.len()), "too large to be held");
    assert!(shop.orders().last().unwrap().headers.get("idempotency-key").is_none());
}

#[tokio::test]
async fn only_active_sessions_have_orders() {
    let shop = Shop::open(0, "", "").await;
    let mut visitor = shop.visitor().await;
    let refused = visitor.request(form("/echo"), "a").await;
    assert_eq!(refused.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(shop.orders().len(), 0);
}

#[tokio::test]
async fn order_waits_for_a_site_that_is_down() {
    let mut shop = Shop::open(10, "", "").await;
    let mut visitor = shop.visitor().await;
    shop.origin.stop().await;
    let submitted = visitor.request(form("/echo"), "ticket=a").await;
    let url = location(&submitted);
    wait_until("the order waits to be sent", LIMIT, async || {
        visitor.navigate(&url).await.text().contains("Your order is waiting to be sent")
    })
    .await;
    shop.origin.restart();
    wait_until("the order is completed", LIMIT, async || !visitor.navigate(&url).await.follows_a_job()).await;
    assert_eq!(shop.orders().len(), 1);
}

/// A form with parts, whose boundary differs each time.
fn with_parts(order: usize, submission: usize) -> (String, String) {
    let boundary = format!("----boundary{order}x{submission}");
    let part =
        format!("--{boundary}\r\nContent-Disposition: form-data; name=\"order\"\r\n\r\n{order}\r\n--{boundary}--\r\n");
    (format!("multipart/form-data; boundary={boundary}"), part)
}

/// F8: 1,000 forms, half of them with parts, each submitted to two gates.
#[tokio::test]
async fn form_submitted_twice_to_two_gates_is_one_order() {
    const ORDERS: usize = 1_000;
    const VISITORS: usize = 50;
    let (origin, redis) = (Origin::start(), Redis::start().await);
    let url = redis.url();
    let options =
        ["--store", &url, "--ticket-keys", "k1:BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc", "--pass-keys", PASS_KEYS];
    let orders = "concurrency = 50\nenqueues_per_minute = 100\n";
    let first = serve(&origin.url(), VISITORS as u64, "", orders, &options).await;
    let second = serve(&origin.url(), VISITORS as u64, "", orders, &options).await;
    let submit = async |visitor: usize| {
        let mut at_first = Visitor::new(&first.0, HOST);
        // A newcomer may have to come twice.
        wait_until("admitted", LIMIT, async || at_first.navigate("/").await.text().contains("origin /")).await;
        let ticket = at_first.cookie("vestibule_tour").unwrap().to_owned();
        let mut at_second = Visitor::new(&second.0, HOST);
        at_second.set_cookie("vestibule_tour", &ticket);
        for order in (visitor..ORDERS).step_by(VISITORS) {
            let request = |submission: usize| {
                let (content_type, body) = if order % 2 == 0 {
                    with_parts(order, submission)
                } else {
                    (FORM.to_owned(), format!("order={order}"))
                };
                (Request::post("/echo").header(ACCEPT, "application/json").header(CONTENT_TYPE, content_type), body)
            };
            let ((one, one_body), (two, two_body)) = (request(1), request(2));
            let (one, two) = tokio::join!(at_first.request(one, one_body), at_second.request(two, two_body));
            assert_eq!((one.status, two.status), (StatusCode::OK, StatusCode::OK), "{order}: {one:?} {two:?}");
            assert_eq!(one.body, two.body, "both get the response to the one order");
        }
    };
    futures_util::future::join_all((0..VISITORS).map(submit)).await;
    let placed: Vec<_> = origin.requests().into_iter().filter(|request| request.method == Method::POST).collect();
    let ids: HashSet<_> = placed.iter().map(|order| order.headers["idempotency-key"].clone()).collect();
    assert_eq!((placed.len(), ids.len()), (ORDERS, ORDERS));
}

#[tokio::test]
async fn page_says_that_an_order_beyond_the_limit_was_not_placed() {
    let shop = Shop::open(10, "", "enqueues_per_minute = 1").await;
    let mut visitor = shop.visitor().await;
    assert_eq!(visitor.request(form("/echo"), "seat=1").await.status, StatusCode::OK);
    for (referer, again) in [
        ("http://shop.example/basket/7", "/basket/7"),
        ("http://shop.example/echo?a", "/echo?a"),
        ("http://other.example/basket", "/echo"),
    ] {
        let page = visitor.request(form("/echo").header(REFERER, referer), "seat=2").await;
        assert_eq!(page.status, StatusCode::TOO_MANY_REQUESTS);
        assert!(page.text().contains("Your order was not placed"), "{}", page.text());
        assert!(page.text().contains(&link_to(again)), "{referer}: {}", page.text());
    }
    let data = visitor.request(script("/echo"), "seat=3").await;
    assert_eq!((data.status, &data.json()["code"]), (StatusCode::TOO_MANY_REQUESTS, &"too_many_jobs".into()));
    assert_eq!(shop.orders().len(), 1);
}

/// A link of a page, whose slashes are escaped.
fn link_to(path: &str) -> String {
    format!("href=\"{}\"", path.replace('/', "&#x2f;"))
}

#[tokio::test]
async fn visitor_tries_again_from_the_page_of_the_form() {
    let mut shop = Shop::open(10, "", "max_attempts = 1").await;
    let mut visitor = shop.visitor().await;
    shop.origin.stop().await;
    let order = form("/echo").header(REFERER, "http://shop.example/basket");
    let url = location(&visitor.request(order, "ticket=a").await);
    wait_until("the order was not placed", LIMIT, async || {
        visitor.navigate(&url).await.text().contains("Your order was not placed")
    })
    .await;
    // As a browser follows the redirect, and as it reloads the page.
    let redirected = Request::get(&url).header(ACCEPT, "text/html").header(REFERER, "http://shop.example/basket");
    let page = visitor.request(redirected, "").await;
    assert!(page.text().contains(&link_to("/basket")), "{}", page.text());
}

/// J19, even at the level `debug`.
#[tokio::test]
async fn contents_stay_out_of_log_and_metrics() {
    const TOKEN: &str = "token-of-prometheus";
    const SECRET: &str = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
    let (origin, redis) = (Origin::start(), Redis::start().await);
    let mails = format!(
        "\n[[job_queues]]\nid = \"mails\"\ntenant = \"acme\"\nproducers = \"visitors\"\n\
         target = {{ kind = \"http\", url = \"{}/echo\", secret = \"{SECRET}\" }}\n",
        origin.url()
    );
    let admin = format!("127.0.0.1:{}", free_port());
    let options = ["--state", "state", "--store", &redis.url(), "--admin-listen", &admin];
    let options = [&options[..], &["--metrics-token", TOKEN, "--log", "debug"]].concat();
    let (address, program) = serve(&origin.url(), 10, "", &mails, &options).await;
    let shop = Shop { origin, address, program };
    let mut visitor = shop.admitted().await;
    let order = form("/echo").header("authorization", "Bearer credentials-of-ada");
    assert!(visitor.request(order, "order=of-ada").await.text().contains("order=of-ada"), "the response contains it");
    let mail = Request::post("/_vestibule/jobs/mails").header(ACCEPT, "application/json");
    let accepted = visitor.request(mail.header(CONTENT_TYPE, "text/plain"), "mail-to-ada").await;
    assert_eq!(accepted.status, StatusCode::ACCEPTED);
    let mut scraper = Visitor::new(&admin, &admin).with_header("authorization", &format!("Bearer {TOKEN}"));
    wait_until("both calls have ended", LIMIT, async || shop.program.log().matches("call ended").count() == 2).await;
    let metrics = scraper.fetch("/metrics").await.text().to_owned();
    assert!(metrics.contains("vestibule_jobs_total"), "{metrics}");
    let log = shop.program.log();
    let secret = SECRET.trim_start_matches("whsec_");
    for content in ["credentials-of-ada", "of-ada", "mail-to-ada", secret, TOKEN] {
        assert!(!log.contains(content), "{content}: {log}");
        assert!(!metrics.contains(content), "{content}: {metrics}");
    }
}
