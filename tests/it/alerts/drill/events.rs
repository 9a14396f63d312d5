//! Alerts about events and streams.

use serde_json::{Value, json};
use vestibule_core::{Clock as _, Micros, SystemClock, Timestamp};
use vestibule_tests::{EventStream, Visitor};

use super::{STREAMS_MAX, Site, Watch, put};

/// An event that starts in this many seconds, or started that long ago.
fn event(starts_in: i64, more: &Value) -> Value {
    let now = SystemClock::new().now().seconds();
    let at = |seconds: i64| Timestamp::of(Micros(now.saturating_add_signed(seconds) * 1_000_000)).to_string();
    let mut event = json!({
        "id": "sale", "lobby_at": at(starts_in - 1_800), "starts_at": at(starts_in), "ends_at": at(starts_in + 7_200),
    });
    event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({ "mode": "scheduled", "events": [event] })
}

/// An event that is soon: it matters when the store fails.
pub(super) async fn event_is_soon(site: &Site) {
    put(&site.store, "soon", event(600, &json!({ "order": "arrival" }))).await;
}

/// No gate knows the sale key of a draw; then the event is taken away.
pub(super) async fn sale_key_is_missing(watch: &Watch, site: &Site) {
    put(&site.store, "keyless", event(3_600, &json!({ "key": "lost", "salt": "a" }))).await;
    watch.fires("VestibuleSaleKeyMissing", "keyless").await;
    put(&site.store, "keyless", json!({})).await;
    watch.resolves("VestibuleSaleKeyMissing", "keyless").await;
}

/// A draw waits for its beacon; then the event is taken away.
pub(super) async fn beacon_is_missing(watch: &Watch, site: &Site) {
    let drawn = json!({ "key": "lost", "salt": "a", "beacon": "drand-quicknet" });
    put(&site.store, "unlit", event(-120, &drawn)).await;
    watch.fires("VestibuleEventBeaconMissing", "unlit").await;
    put(&site.store, "unlit", json!({})).await;
    watch.resolves("VestibuleEventBeaconMissing", "unlit").await;
}

/// As many streams are open as may be.
pub(super) async fn streams_are_at_their_limit(watch: &Watch, site: &Site) {
    put(&site.store, "watched", json!({ "quota": 0 })).await;
    let mut open: Vec<(Visitor, EventStream)> = Vec::new();
    for _ in 0..STREAMS_MAX {
        let mut visitor = Visitor::new(&site.gate, "watched.example.com");
        site.until_queued(&mut visitor).await;
        visitor.status("watched").await;
        let stream = visitor.event_stream("/_vestibule/stream?queue=watched").await.unwrap();
        open.push((visitor, stream));
    }
    watch.fires("VestibuleStreamsAtLimit", &site.admin).await;
    drop(open);
    watch.resolves("VestibuleStreamsAtLimit", &site.admin).await;
}
