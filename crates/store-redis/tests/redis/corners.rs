//! Cases that random operations seldom meet: the same answers here and in the memory store.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use vestibule_core::line::{PACE_WINDOW, Visit};
use vestibule_core::{ManualClock, PutMode, Store, VerifiedTicket};
use vestibule_store_redis::{Keys, RedisOptions, RedisStore};

use super::reference::{both, pair};
use super::server::Server;
use super::tools::{START, Tickets, joining, queue, session, settings};

#[tokio::test]
async fn a_head_of_lapsed_sessions_is_cleared_in_the_same_batches() {
    let server = Server::start().await;
    let mut pair = pair(&server, 0, &json!({ "quota": 0 })).await;
    for number in 0..300 {
        pair.join_crowd(number).await;
    }
    pair.pass_seconds(&[30]);
    both!(pair, put_settings(&settings(&json!({ "quota": 3 })), PutMode::Always)).unwrap();
    pair.compare(true).await;
    pair.join_crowd(1000).await;
    pair.compare(true).await;
}

#[tokio::test]
async fn the_pace_is_counted_in_the_same_windows() {
    let server = Server::start().await;
    let fields = json!({ "quota": 0, "waiting_ttl": 3600, "claim_ttl": 3600, "hold_ttl": 3600 });
    let mut pair = pair(&server, 0, &fields).await;
    for number in 0..20 {
        pair.join_crowd(number).await;
    }
    let fields = json!({ "quota": 1, "waiting_ttl": 3600, "claim_ttl": 3600, "hold_ttl": 3600 });
    both!(pair, put_settings(&settings(&fields), PutMode::Always)).unwrap();
    let window = PACE_WINDOW;
    let pauses = [1, window - 1, window, window + 1, 2 * window - 1, 2 * window, 2 * window + 1, 1, 3 * window];
    for (number, seconds) in pauses.into_iter().enumerate() {
        pair.pass_seconds(&[seconds]);
        both!(pair, end(&queue(), session(1000 + number as u32))).unwrap();
        pair.compare(false).await;
    }
}

#[tokio::test]
async fn stays_are_counted_in_the_same_windows_as_short_or_long() {
    let server = Server::start().await;
    let fields = json!({ "quota": 20, "active_ttl": 400, "waiting_ttl": 3600, "claim_ttl": 3600, "hold_ttl": 3600 });
    let mut pair = pair(&server, 0, &fields).await;
    for number in 0..60 {
        pair.join_crowd(number).await;
    }
    let (mut short, mut long) = (0, 0);
    for (number, seconds) in [0, 1, PACE_WINDOW / 2, PACE_WINDOW, PACE_WINDOW - 1].into_iter().enumerate() {
        pair.pass_seconds(&[seconds]);
        both!(pair, end(&queue(), session(1000 + 8 * number as u32))).unwrap();
        pair.compare(false).await;
        let pace = pair.memory.stats(&queue()).await.unwrap().pace;
        short = short.max(pace.stays_before.short);
        long = long.max(pace.stays_before.long);
    }
    assert!(short > 0 && long > 0, "{short} {long}: both are counted, and kept for a window");
}

#[tokio::test]
async fn a_ticket_older_than_the_state_shows_the_loss_though_its_bearer_is_present() {
    let server = Server::start().await;
    let mut pair = pair(&server, 0, &json!({ "quota": 0 })).await;
    let joined = both!(pair, visit(&queue(), joining(1))).unwrap();
    let old = pair.tickets.of(&joined);
    pair.pass_seconds(&[1]);
    both!(pair, remove_queue(&queue())).unwrap();
    both!(pair, put_settings(&settings(&json!({ "quota": 0 })), PutMode::Always)).unwrap();
    both!(pair, visit(&queue(), joining(1))).unwrap();
    let visit = Visit { ticket: Some(old), join: None };
    assert!(both!(pair, visit(&queue(), visit.clone())).unwrap().recovering);
}

/// Another server takes over, which has not heard of the visit that moved the expiry from 61 to 101.
#[tokio::test]
async fn no_ticket_says_for_long_what_a_failover_made_wrong() {
    // Whether the visit is sent over the connection that breaks, is made while it breaks, or comes after that.
    for (visits_together, later) in [(1, false), (64, false), (64, true)] {
        let (server, clock, tickets) = (Server::start().await, Arc::new(ManualClock::at(START)), Tickets::new());
        let (timeout, pool_key) = (Duration::from_secs(5), Keys::of(&queue()).pool());
        let options = RedisOptions { timeout, clock: Some(clock.clone()), visits_together };
        let store = RedisStore::connect(&server.url(), options).unwrap();
        store.put_settings(&settings(&json!({ "quota": 0, "waiting_ttl": 60 })), PutMode::Always).await.unwrap();
        let visit = async |visit: Visit| tickets.of(&store.visit(&queue(), visit).await.unwrap());
        let ask = async |ticket: VerifiedTicket| visit(Visit { ticket: Some(ticket), join: None }).await;
        let lapses = async || store.find(&queue(), session(1)).await.unwrap().unwrap().expires_at;

        let joined = visit(joining(1)).await;
        clock.advance(1_000_000);
        let ticket = ask(joined).await;
        server.command(&format!("COPY {pool_key} {pool_key}:before"));
        clock.advance(40_000_000);
        let mut ticket = ask(ticket).await;
        assert_eq!((lapses().await, ticket.present_until()), (START.plus_seconds(101), Some(START.plus_seconds(101))));

        server.command(&format!("RENAME {pool_key}:before {pool_key}"));
        server.command("CLIENT KILL TYPE normal");
        if later {
            store.stats(&queue()).await.unwrap();
        }
        for _ in 0..2 {
            clock.advance(1_000_000);
            ticket = ask(ticket).await;
            let lapses = lapses().await;
            assert!(ticket.present_until().is_none_or(|until| until <= lapses), "{visits_together} {later} {ticket:?}");
        }
        assert!(lapses().await >= START.plus_seconds(102), "{visits_together} {later}");
    }
}
