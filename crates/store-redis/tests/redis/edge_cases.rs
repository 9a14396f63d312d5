//! Cases that random operations rarely reach: the same answers as the memory store.

use serde_json::json;
use vestibule_core::line::{PACE_WINDOW, Visit, VisitKind};
use vestibule_core::store::{OperationsStore as _, SettingsStore as _, VisitStore as _};
use vestibule_core::{PutMode, PutOutcome, Ticket};

use super::reference::{Pair, both, pair};
use super::server::Server;
use super::tools::{joining, queue, session, settings};

#[tokio::test]
async fn expired_head_is_removed_in_the_same_batches() {
    let server = Server::start().await;
    let mut pair = pair(&server, 0, &json!({ "quota": 0 })).await;
    for number in 0..300 {
        pair.join_many(number).await;
    }
    pair.pass_seconds(&[30]);
    both!(pair, put_settings(&settings(&json!({ "quota": 3 })), PutMode::Always)).unwrap();
    pair.compare(true).await;
    pair.join_many(1000).await;
    pair.compare(true).await;
}

#[tokio::test]
async fn pace_uses_the_same_windows() {
    let server = Server::start().await;
    let fields = json!({ "quota": 0, "waiting_ttl": 3600, "claim_ttl": 3600, "hold_ttl": 3600 });
    let mut pair = pair(&server, 0, &fields).await;
    for number in 0..20 {
        pair.join_many(number).await;
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
async fn stays_use_the_same_windows_and_lengths() {
    let server = Server::start().await;
    let fields = json!({
        "quota": 20, "active_ttl": 400, "waiting_ttl": 3600, "claim_ttl": 3600, "hold_ttl": 3600,
        "handover": { "kind": "check" }, "recheck_after": 0,
    });
    let mut pair = pair(&server, 0, &fields).await;
    for number in 0..60 {
        pair.join_many(number).await;
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

/// Both stores with a queue of two slots, one active and one waiting session, and their tickets.
async fn half_full<'a>(server: &'a Server, fields: &serde_json::Value) -> (Pair<'a>, Ticket, Ticket) {
    let pair = pair(server, 0, fields).await;
    let active = both!(pair, visit(&queue(), joining(1))).unwrap();
    let active = both!(pair, visit(&queue(), Visit::keeping(pair.tickets.of(&active)))).unwrap();
    let waiting = both!(pair, visit(&queue(), joining(2))).unwrap();
    let tickets = (pair.tickets.of(&active), pair.tickets.of(&waiting));
    (pair, tickets.0, tickets.1)
}

#[tokio::test]
async fn old_ticket_of_a_present_session_starts_recovery() {
    let server = Server::start().await;
    let (mut pair, _, waiting) = half_full(&server, &json!({ "quota": 1 })).await;
    pair.pass_seconds(&[1]);
    both!(pair, remove_queue(&queue())).unwrap();
    both!(pair, put_settings(&settings(&json!({ "quota": 0 })), PutMode::Always)).unwrap();
    both!(pair, visit(&queue(), joining(2))).unwrap();
    assert!(both!(pair, visit(&queue(), Visit::keeping(waiting.clone()))).unwrap().recovering);
}

#[tokio::test]
async fn ticket_of_a_lost_reset_brings_its_epoch_back() {
    let server = Server::start().await;
    let mut pair = pair(&server, 0, &json!({ "quota": 1 })).await;
    both!(pair, put_settings(&settings(&json!({ "quota": 1 })), PutMode::Always)).unwrap();
    both!(pair, visit(&queue(), joining(9))).unwrap();
    pair.keep_state();
    pair.pass_seconds(&[4]);
    let epoch = both!(pair, reset(&queue())).unwrap();
    let mut tickets = Vec::new();
    for number in 1..=3 {
        let answer = both!(pair, visit(&queue(), joining(number))).unwrap();
        tickets.push(pair.tickets.of(&answer));
    }
    pair.pass_seconds(&[1]);
    pair.roll_back();
    // The last one comes back first.
    for ticket in tickets.iter().rev() {
        let answer = both!(pair, visit(&queue(), Visit::keeping(ticket.clone()))).unwrap();
        assert_eq!((answer.epoch, answer.kind), (epoch, VisitKind::Restored));
    }
    let stats = both!(pair, stats(&queue())).unwrap();
    assert_eq!((stats.waiting, stats.active), (2, 1), "nobody is left of the line before the reset");
    let newer = settings(&json!({ "quota": 7, "epoch": epoch, "revision": 99 }));
    let restored = both!(pair, put_settings(&newer, PutMode::Restore)).unwrap();
    assert!(matches!(restored, PutOutcome::Conflict(_)), "an operator's settings are not provisional");
}
