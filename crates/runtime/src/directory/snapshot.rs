//! The cached queues, by ID and by host.

use std::collections::HashMap;
use std::sync::Arc;

use vestibule_core::QueueId;
use vestibule_core::settings::HostPattern;

use super::queue::Queue;

#[derive(Default)]
pub(super) struct Snapshot {
    pub(super) queues: HashMap<QueueId, Arc<Queue>>,
    exact: HashMap<String, Vec<Arc<Queue>>>,
    below: HashMap<String, Vec<Arc<Queue>>>,
    any: Vec<Arc<Queue>>,
}

impl Snapshot {
    /// Queues of one host are matched in the order of their IDs.
    pub(super) fn of(mut queues: Vec<Arc<Queue>>) -> Self {
        queues.sort_by(|a, b| a.settings.id.cmp(&b.settings.id));
        let mut snapshot = Self::default();
        for queue in queues {
            for host in &queue.settings.hosts {
                match host {
                    HostPattern::Exact(name) => snapshot.exact.entry(name.clone()).or_default().push(queue.clone()),
                    HostPattern::Wildcard(name) => snapshot.below.entry(name.clone()).or_default().push(queue.clone()),
                    HostPattern::Any => snapshot.any.push(queue.clone()),
                }
            }
            snapshot.queues.insert(queue.settings.id.clone(), queue);
        }
        snapshot
    }

    pub(super) fn of_host(&self, host: &str) -> Vec<Arc<Queue>> {
        let mut found = self.exact.get(host).cloned().unwrap_or_default();
        let mut rest = host;
        while let Some((_, domain)) = rest.split_once('.') {
            found.extend(self.below.get(domain).into_iter().flatten().cloned());
            rest = domain;
        }
        found.extend(self.any.iter().cloned());
        found
    }
}
