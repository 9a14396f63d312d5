//! Metrics of the streams of this process.

use prometheus::proto::MetricFamily;
use vestibule_runtime::StreamCounts;

use crate::catalog::{STREAM_UPDATES, STREAMS, STREAMS_LIMIT};
use crate::family::MetricFamilyBuilder;

/// The counts so far.
pub(crate) fn families(counts: &StreamCounts) -> Vec<MetricFamily> {
    let values = [
        (&STREAMS, counts.open() as f64),
        (&STREAMS_LIMIT, counts.limit() as f64),
        (&STREAM_UPDATES, counts.updates() as f64),
    ];
    let families = values.map(|(metric, value)| {
        let mut family = MetricFamilyBuilder::new(metric);
        family.add(&[], value);
        family.finish()
    });
    families.into_iter().flatten().collect()
}
