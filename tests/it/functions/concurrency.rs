//! Several instances of the gate over one Redis: what holds for one holds for all of them together.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use http::StatusCode;
use serde_json::json;
use tokio::time::sleep;
use vestibule_core::{Micros, SessionId, Ticket, TicketSigner};
use vestibule_tests::{GateUnderTest, Redis, Visitor};

use super::Site;

const INSTANCES: usize = 6;
const PEOPLE: usize = 300;
const QUOTA: u64 = 25;
/// Between two polls of one visitor.
const POLL: Duration = Duration::from_millis(400);

/// An admitted visitor.
struct Admitted {
    session: SessionId,
    arrival: Micros,
    since: Micros,
}

/// Waits as a queue page does, stays for a moment, and leaves.
async fn visit(site: Arc<Site>, inside: Arc<AtomicU64>) -> Admitted {
    let mut visitor = site.visitor();
    assert_answered(visitor.navigate("/").await.status);
    let first = ticket_of(&site, &visitor);
    loop {
        let answer = visitor.keepalive(site.queue.as_str()).await;
        assert_answered(answer.status);
        if answer.json()["state"] == "admitted" {
            break;
        }
        sleep(POLL).await;
    }
    // Counted while the store counts this slot as taken: never more of these than slots.
    assert!(inside.fetch_add(1, Ordering::SeqCst) < QUOTA, "over-admission");
    assert!(visitor.navigate("/tour").await.text().contains("origin /tour"));
    let ticket = ticket_of(&site, &visitor);
    assert_eq!(ticket.session(), first.session(), "one visitor is one session");
    assert_eq!(ticket.arrival(), first.arrival(), "an arrival never changes");
    inside.fetch_sub(1, Ordering::SeqCst);
    assert_answered(visitor.leave(site.queue.as_str()).await.status);
    let since = ticket.admitted_at().expect("an admitted ticket says since when");
    Admitted { session: ticket.session(), arrival: ticket.arrival(), since }
}

fn assert_answered(status: StatusCode) {
    assert!(!status.is_server_error() && !status.is_client_error(), "{status}");
}

fn ticket_of(site: &Site, visitor: &Visitor) -> Ticket {
    let signer = TicketSigner::new(&GateUnderTest::ticket_keys()).unwrap();
    let cookie = visitor.cookie(&format!("vestibule_{}", site.queue)).expect("a ticket");
    signer.verify(&site.queue, cookie.as_bytes()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn six_instances_keep_order_and_quota() {
    let redis = Redis::start().await;
    let port = redis.port();
    let site = Arc::new(Site::open(INSTANCES, &json!({ "quota": QUOTA, "claim_ttl": 60 }), redis, port).await);
    let inside = Arc::new(AtomicU64::new(0));
    let people = (0..PEOPLE).map(|_| tokio::spawn(visit(Arc::clone(&site), Arc::clone(&inside))));
    let mut admitted = try_join_all(people).await.unwrap();

    assert_eq!(site.balancer.complaints(), Vec::<String>::new(), "every request was answered by the gate");
    let sessions: HashSet<_> = admitted.iter().map(|one| one.session).collect();
    let arrivals: HashSet<_> = admitted.iter().map(|one| one.arrival).collect();
    assert_eq!((sessions.len(), arrivals.len()), (PEOPLE, PEOPLE), "nobody shares a session or an arrival");
    admitted.sort_by_key(|one| one.arrival);
    assert!(admitted.is_sorted_by_key(|one| one.since), "a later arrival was admitted before an earlier one");

    let stats = site.store.stats(&site.queue).await.unwrap();
    assert_eq!((stats.waiting, stats.active), (0, 0));
    assert_eq!((stats.counters.joined, stats.counters.admitted), (PEOPLE as u64, PEOPLE as u64));
    for instance in site.instances() {
        assert_eq!(instance.starts(), 1, "{}", instance.log());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_tabs_over_four_instances_are_one_session() {
    let redis = Redis::start().await;
    let port = redis.port();
    let site = Arc::new(Site::open(4, &json!({}), redis, port).await);
    let mut visitor = site.visitor();
    visitor.navigate("/").await;
    let tabs = (0..100).map(|_| {
        let (site, mut tab) = (Arc::clone(&site), visitor.clone());
        tokio::spawn(async move {
            tab.navigate("/").await;
            ticket_of(&site, &tab).session()
        })
    });
    let sessions: HashSet<_> = join_all(tabs).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(sessions.len(), 1);
    assert_eq!(site.store.stats(&site.queue).await.unwrap().counters.joined, 1);
}
