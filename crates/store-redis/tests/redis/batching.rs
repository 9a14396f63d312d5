//! Concurrent visits to one queue.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use vestibule_core::line::VisitKind;
use vestibule_core::store::VisitStore as _;

use super::outages::{patient, write};
use super::server::Server;
use super::tools::{joining, queue};

const VISITS: u32 = 500;
/// Visits that one script serves.
const TOGETHER: u64 = 64;

#[tokio::test]
async fn concurrent_visits_are_batched_in_order_of_arrival() {
    let server = Server::start().await;
    let store = patient(&server);
    write(&store).await.unwrap();
    server.command("CONFIG RESETSTAT");
    let queue = queue();
    let answers = join_all((0..VISITS).map(|number| store.visit(&queue, joining(number)))).await;
    let arrivals: Vec<_> = answers.into_iter().map(|answer| answer.unwrap().session.unwrap().arrival).collect();
    assert!(arrivals.is_sorted_by(|one, next| one < next), "{arrivals:?}");
    let scripts = server.calls()["fcall"];
    assert!(scripts <= 2 + u64::from(VISITS).div_ceil(TOGETHER) + 1, "{scripts} scripts");
}

#[tokio::test]
async fn canceled_visit_does_not_cancel_its_batch() {
    let server = Server::start().await;
    let store = Arc::new(patient(&server));
    write(&store).await.unwrap();
    server.signal("-STOP");
    let mut visits = Vec::new();
    for number in 0..VISITS {
        let store = store.clone();
        visits.push(tokio::spawn(async move { store.visit(&queue(), joining(number)).await }));
        tokio::task::yield_now().await;
    }
    tokio::time::sleep(Duration::from_millis(20)).await;
    let others = visits.split_off(visits.len() / 2);
    visits.iter().for_each(tokio::task::JoinHandle::abort);
    server.signal("-CONT");
    for visit in others {
        assert_eq!(visit.await.unwrap().unwrap().kind, VisitKind::Joined);
    }
    let again = store.visit(&queue(), joining(VISITS - 1)).await.unwrap();
    assert_eq!(again.kind, VisitKind::Renewed, "and each joined once");
}
