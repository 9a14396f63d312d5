//! Metrics of the connections of visitors to this process.

use prometheus::proto::MetricFamily;
use vestibule_runtime::ConnectionCounts;

use crate::catalog::{
    CONNECTIONS, CONNECTIONS_DISPLACED, CONNECTIONS_LIMIT, CONNECTIONS_REFUSED, STREAMS, STREAMS_LIMIT, TUNNELS,
    TUNNELS_LIMIT,
};
use crate::family::MetricFamilyBuilder;

/// The counts so far.
pub(crate) fn families(counts: &ConnectionCounts) -> Vec<MetricFamily> {
    let ConnectionCounts { connections, streams, tunnels, refused, displaced } = counts;
    let values = [
        (&CONNECTIONS, connections.open() as f64),
        (&CONNECTIONS_LIMIT, connections.limit() as f64),
        (&CONNECTIONS_REFUSED, refused.get() as f64),
        (&CONNECTIONS_DISPLACED, displaced.get() as f64),
        (&TUNNELS, tunnels.open() as f64),
        (&TUNNELS_LIMIT, tunnels.limit() as f64),
        (&STREAMS, streams.open() as f64),
        (&STREAMS_LIMIT, streams.limit() as f64),
    ];
    let families = values.map(|(metric, value)| {
        let mut family = MetricFamilyBuilder::new(metric);
        family.add(&[], value);
        family.finish()
    });
    families.into_iter().flatten().collect()
}
