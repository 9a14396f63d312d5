//! The messages that this process has received and that are not deleted.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use vestibule_core::jobs::{Lease, Payload};
use vestibule_core::{Clock, Micros, SystemClock};
use vestibule_store_redis::MessageId;

use crate::message::Delivery;
use crate::queues::Queues;

/// The message of a job that runs.
pub(crate) struct Held {
    pub(crate) id: MessageId,
    pub(crate) handle: String,
    pub(crate) is_fifo: bool,
    /// Kept for a dead letter.
    pub(crate) payload: Payload,
    /// When the lease ends, unless it is extended.
    until: Micros,
}

/// The messages in flight, by lease, and those that are hidden by the clock of a test.
pub(crate) struct InFlight {
    held: Mutex<HashMap<Lease, Held>>,
    /// SQS hides messages by its own clock. With a clock of a test, they are hidden here, and looked at in every receive.
    concealed: Option<Mutex<Vec<(String, bool)>>>,
    clock: Arc<dyn Clock>,
}

impl InFlight {
    /// No messages, with the clock of a test or by that of this machine.
    pub(crate) fn new(clock: Option<Arc<dyn Clock>>) -> Self {
        let concealed = clock.is_some().then(Mutex::default);
        Self { held: Mutex::default(), concealed, clock: clock.unwrap_or_else(|| Arc::new(SystemClock::new())) }
    }

    pub(crate) fn now(&self) -> Micros {
        self.clock.now()
    }

    /// Whether SQS delays and hides messages.
    pub(crate) const fn is_timed_by_sqs(&self) -> bool {
        self.concealed.is_none()
    }

    /// The message of a job that was leased for this number of seconds.
    pub(crate) fn hold(&self, lease: Lease, is_fifo: bool, delivery: Delivery, seconds: u64) {
        let until = self.now().add_seconds(seconds);
        let Delivery { handle, message, payload, .. } = delivery;
        self.held.lock().insert(lease, Held { id: message.id(), handle, is_fifo, payload, until });
    }

    /// Extends a lease. Returns the handle of its message.
    pub(crate) fn extend(&self, lease: Lease, seconds: u64) -> Option<String> {
        let until = self.now().add_seconds(seconds);
        let mut held = self.held.lock();
        let held = held.get_mut(&lease)?;
        held.until = held.until.max(until);
        Some(held.handle.clone())
    }

    /// The message of a lease that has ended.
    pub(crate) fn take(&self, lease: Lease) -> Option<Held> {
        self.held.lock().remove(&lease)
    }

    /// Forgets the messages whose leases have expired: SQS delivers them again.
    pub(crate) fn expire(&self) {
        let now = self.now();
        let mut held = self.held.lock();
        let expired: Vec<_> = held.iter().filter(|(_, held)| held.until <= now).map(|(lease, _)| *lease).collect();
        for held in expired.iter().filter_map(|lease| held.remove(lease)) {
            if let Some(concealed) = &self.concealed {
                concealed.lock().push((held.handle, held.is_fifo));
            }
        }
    }

    /// Hides messages for these times.
    pub(crate) async fn hide(&self, queues: &Queues, is_fifo: bool, hidden: Vec<(String, Duration)>) {
        match &self.concealed {
            None => queues.hide(is_fifo, hidden).await,
            Some(concealed) => concealed.lock().extend(hidden.into_iter().map(|(handle, _)| (handle, is_fifo))),
        }
    }

    /// Shows the messages again that are hidden by the clock of a test.
    pub(crate) async fn show(&self, queues: &Queues, is_fifo: bool) {
        let Some(concealed) = &self.concealed else { return };
        let shown: Vec<_> = concealed.lock().extract_if(.., |(_, of_fifo)| *of_fifo == is_fifo).collect();
        let shown = shown.into_iter().map(|(handle, _)| (handle, Duration::ZERO)).collect();
        queues.hide(is_fifo, shown).await;
    }
}
