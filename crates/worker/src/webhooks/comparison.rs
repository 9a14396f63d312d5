//! What webhooks tell of a queue, by its statistics now and before.

use serde::{Deserialize, Serialize};
use vestibule_core::jobs::{WebhookEvent, WebhookEventType, WebhookSubject};
use vestibule_core::line::Stats;
use vestibule_core::settings::{Mode, Settings};
use vestibule_core::{MICROS_PER_SECOND, Micros, Timestamp};

/// Seconds without an admission, though visitors wait and slots are free, after which a queue needs an operator. The alert
/// `VestibuleLineNotMoving` has the same.
const NOT_ADMITTING_SECONDS: u64 = 120;

/// What was last seen of a queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SeenQueue {
    at: Micros,
    /// When the state began: another state has other counts.
    state_since: Micros,
    mode: String,
    waiting: u64,
    admitted: u64,
    recovering: bool,
    /// Since when visitors wait and slots are free, but nobody is admitted.
    #[serde(default)]
    stalled_since: Option<Micros>,
}

impl SeenQueue {
    /// A queue as it is.
    pub(crate) fn of(stats: &Stats) -> Self {
        Self {
            at: stats.now,
            state_since: stats.state_since,
            mode: stats.mode.as_str().to_owned(),
            waiting: stats.waiting,
            admitted: stats.counters.admitted + stats.counters.released,
            recovering: stats.recovering,
            stalled_since: None,
        }
    }

    /// What a queue that was not seen before is compared with: nothing has happened, but a recovery has begun, because it may have
    /// lost what was seen before.
    pub(crate) fn before_first(stats: &Stats) -> Self {
        Self { recovering: false, ..Self::of(stats) }
    }

    /// What is seen now, and what has happened since.
    pub(crate) fn next(&self, queue: &Settings, stats: &Stats) -> (Self, Vec<WebhookEvent>) {
        let mut now = Self::of(stats);
        let admitted =
            if now.state_since == self.state_since { now.admitted.saturating_sub(self.admitted) } else { now.admitted };
        if admitted == 0 && self.waiting > 0 && could_admit(stats) {
            now.stalled_since = self.stalled_since.or(Some(self.at));
        }
        let event = |event_type| {
            let subject = WebhookSubject::Queue(queue.id.clone());
            let event = WebhookEvent::new(event_type, queue.tenant.clone(), subject, now.at);
            // Whoever compares with the same statistics finds the same event (W2).
            let event = WebhookEvent { occasion: self.at.0, ..event };
            event.with("waiting", now.waiting).with("active", stats.active).with("quota", stats.rules.quota)
        };
        let mut events = Vec::new();
        if self.mode != now.mode || (self.waiting > 0) != (now.waiting > 0) {
            let changed = event(WebhookEventType::QueueStateChanged).with("mode", now.mode.as_str());
            events.push(changed.with("previous_mode", self.mode.as_str()).with("previous_waiting", self.waiting));
        }
        if admitted > 0 {
            let since = Timestamp::of(self.at).to_string();
            events.push(event(WebhookEventType::QueueAdmitted).with("admitted", admitted).with("since", since));
        }
        let limit = NOT_ADMITTING_SECONDS.max(2 * stats.rules.admissions_every.unwrap_or_default());
        let is_stalled = |seen: &Self| seen.stalled_for().is_some_and(|seconds| seconds >= limit);
        let reasons = [
            ("recovering", now.recovering && !self.recovering),
            ("not_admitting", is_stalled(&now) && !is_stalled(self)),
        ];
        for (reason, _) in reasons.into_iter().filter(|(_, begins)| *begins) {
            events.push(event(WebhookEventType::QueueAttention).with("reason", reason));
        }
        (now, events)
    }

    /// Seconds for which nobody was admitted, though visitors wait and slots are free.
    fn stalled_for(&self) -> Option<u64> {
        self.stalled_since.map(|since| self.at.since(since) / MICROS_PER_SECOND)
    }
}

/// Whether a queue would admit a visitor who waits.
fn could_admit(stats: &Stats) -> bool {
    let has_room = stats.active + stats.reserved < stats.rules.quota;
    let may = matches!(stats.mode, Mode::Open | Mode::Draining) && stats.rules.admissions_per_minute != Some(0);
    stats.waiting > 0 && has_room && may && !stats.recovering
}
