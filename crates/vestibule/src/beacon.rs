//! `vestibule serve --beacon-url`: records the values of the beacons of draws.

use std::sync::Arc;
use std::time::Duration;

use tracing::{debug, info, warn};
use vestibule_admin::{Via, audit_queue};
use vestibule_core::settings::{BeaconRefusal, BeaconRound, Settings};
use vestibule_core::{EventId, Store};
use vestibule_records::RecordStore;
use vestibule_runtime::{Directory, RecordBeaconError, RecordedBeacon, record_beacon};

use crate::relay::Relay;

/// Pause between two looks for a draw that waits: that between two rounds.
const INTERVAL: Duration = Duration::from_secs(3);
/// Failures after which one is logged as a warning again: once a minute.
const WARN_EVERY: u32 = 20;

/// Records the values of beacons as soon as a relay publishes them.
pub(crate) struct BeaconRecorder {
    pub(crate) relay: Relay,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) records: Arc<dyn RecordStore>,
    pub(crate) directory: Arc<Directory>,
}

impl BeaconRecorder {
    /// Records values forever.
    pub(crate) async fn run(self) {
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut failures = 0_u32;
        loop {
            ticks.tick().await;
            let failed = self.record_all().await;
            for error in &failed {
                let error = format!("{error:#}");
                if failures.is_multiple_of(WARN_EVERY) {
                    warn!(error, "the value of a beacon could not be recorded yet");
                } else {
                    debug!(error, "the value of a beacon could not be recorded yet");
                }
            }
            failures = if failed.is_empty() { 0 } else { failures + 1 };
        }
    }

    /// Records the values that are published. Returns what failed: other draws do not wait for it.
    async fn record_all(&self) -> Vec<anyhow::Error> {
        let queues = self.directory.queues();
        let settings = queues.iter().map(|queue| &queue.settings);
        let awaited: Vec<_> = settings.flat_map(|settings| awaited_rounds(settings)).collect();
        if awaited.is_empty() {
            return Vec::new();
        }
        let now = match self.records.now().await {
            Ok(now) => now,
            Err(error) => return vec![error.into()],
        };
        let mut failed = Vec::new();
        for (settings, event, named) in awaited.into_iter().filter(|(_, _, named)| named.published_at.micros() <= now) {
            let is_over = settings.line.events.iter().any(|found| found.id == event && found.missed_beacon(now));
            if !is_over && let Err(error) = self.record(settings, &event, named).await {
                failed.push(error.context(format!("queue {}, event {event}", settings.id)));
            }
        }
        failed
    }

    async fn record(&self, settings: &Settings, event: &EventId, named: BeaconRound) -> anyhow::Result<()> {
        let signature = self.relay.signature(named).await?;
        match record_beacon(&*self.store, &settings.id, event, named.round, &signature).await {
            Ok(RecordedBeacon { before, after }) => {
                info!(queue = %settings.id, %event, round = named.round, "the value of the beacon is recorded");
                audit_queue(&*self.records, Via::Beacon, Some(&before), Some(&after)).await;
            }
            Err(RecordBeaconError::Refused(BeaconRefusal::Recorded)) => {}
            Err(error) => return Err(error.into()),
        }
        self.directory.reload(&settings.id).await?;
        Ok(())
    }
}

/// The rounds that the draws of a queue wait for, or will.
fn awaited_rounds(settings: &Settings) -> Vec<(&Settings, EventId, BeaconRound)> {
    let awaiting = settings.line.events.planned().filter(|event| event.lacks_beacon_value());
    awaiting.filter_map(|event| Some((settings, event.id.clone(), event.beacon_round()?))).collect()
}
