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

    /// The queues that match a host, the most exact ones first. Only those of the tenants that have the most exact of them count, so
    /// that a wildcard of one tenant has no part in a host that another one names.
    pub(super) fn of_host(&self, host: &str) -> Vec<Arc<Queue>> {
        let domains = std::iter::successors(domain_above(host), |&domain| domain_above(domain));
        let below = domains.filter_map(|domain| self.below.get(domain));
        let levels = self.exact.get(host).into_iter().chain(below).chain([&self.any]);
        let mut levels = levels.filter(|queues| !queues.is_empty()).peekable();
        let owners = levels.peek().copied().map_or(&[][..], Vec::as_slice);
        let mut found: Vec<Arc<Queue>> = Vec::new();
        for queue in levels.flatten() {
            let is_of_owner = owners.iter().any(|owner| owner.settings.tenant == queue.settings.tenant);
            if is_of_owner && !found.iter().any(|known| Arc::ptr_eq(known, queue)) {
                found.push(queue.clone());
            }
        }
        found
    }
}

fn domain_above(host: &str) -> Option<&str> {
    host.split_once('.').map(|(_, domain)| domain)
}
