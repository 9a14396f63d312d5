//! Names of the keys of queues.

use fred::types::Key;
use fred::util::redis_keyslot;
use vestibule_core::QueueId;

/// Builds the names of a queue's keys. A queue id contains none of `{`, `}` and `:`, so it can't
/// change the hash tag.
#[derive(Debug, Clone, Copy)]
pub struct Keys<'a>(&'a QueueId);

impl<'a> Keys<'a> {
    /// Hash: id of a queue -> revision of its settings, 0 for one that was removed.
    pub const QUEUES: &'static str = "vestibule:queues";
    /// Hash: id of a tenant -> the tenant as JSON.
    pub const TENANTS: &'static str = "vestibule:tenants";
    /// Hash: the result of the last purge run.
    pub const PURGE: &'static str = "vestibule:purge";

    /// The keys of this queue.
    pub const fn of(queue: &'a QueueId) -> Self {
        Self(queue)
    }

    /// The hash slot of all keys of this queue.
    pub(crate) fn slot(self) -> u16 {
        redis_keyslot(self.line().as_bytes())
    }

    fn named(self, name: &str) -> String {
        format!("vestibule:{{{}}}:{name}", self.0)
    }

    /// Sorted set: waiting session -> arrival.
    pub fn line(self) -> String {
        self.named("line")
    }

    /// Sorted set: active session -> when it was admitted.
    pub fn active(self) -> String {
        self.named("active")
    }

    /// Sorted set: present session -> expiry.
    pub fn pool(self) -> String {
        self.named("pool")
    }

    /// Sorted set: ended session -> expiry of its tombstone.
    pub fn ended(self) -> String {
        self.named("ended")
    }

    /// Hash: start and last use of the state, recovery, last arrival, rate bucket, pace, counters
    /// and waits.
    pub fn state(self) -> String {
        self.named("state")
    }

    /// Hash: the rules used by scripts and the settings document that contains them, or a marker
    /// that the queue was removed.
    pub fn settings(self) -> String {
        self.named("settings")
    }

    /// String: counters of joins by address and network.
    pub fn joins(self) -> String {
        self.named("joins")
    }

    /// Sorted set: the largest networks of joins.
    pub fn networks(self) -> String {
        self.named("networks")
    }

    /// All keys, in the order expected by scripts.
    pub(crate) fn all(self) -> [Key; 8] {
        let sets = [self.line(), self.active(), self.pool(), self.ended()];
        let [line, active, pool, ended] = sets.map(Key::from);
        let [state, settings] = [self.state(), self.settings()].map(Key::from);
        [line, active, pool, ended, state, settings, self.joins().into(), self.networks().into()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_names_are_stable() {
        let queue: QueueId = "acme-tour".parse().unwrap();
        let names = Keys::of(&queue).all().map(|key| key.into_string().unwrap());
        assert_eq!(
            names,
            [
                "vestibule:{acme-tour}:line",
                "vestibule:{acme-tour}:active",
                "vestibule:{acme-tour}:pool",
                "vestibule:{acme-tour}:ended",
                "vestibule:{acme-tour}:state",
                "vestibule:{acme-tour}:settings",
                "vestibule:{acme-tour}:joins",
                "vestibule:{acme-tour}:networks",
            ]
        );
        assert_eq!(Keys::QUEUES, "vestibule:queues");
        assert_eq!(Keys::TENANTS, "vestibule:tenants");
        assert_eq!(Keys::PURGE, "vestibule:purge");
    }
}
