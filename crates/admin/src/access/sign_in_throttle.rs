//! Slows down attackers who guess passwords, without locking out the operators whose names they use.
//!
//! Attempts are counted before the password is checked, so that concurrent ones all count. A successful attempt is subtracted
//! again, so that only failures count: an office behind one address can sign in any number of times. IPv6 addresses count by
//! their /64 network, which is what one subscriber has. After the free attempts, one is accepted per delay, and delays double.
//! Attackers guess the password of a name from many addresses, so the delay of a name is short. It does not apply to an address
//! from which that name has signed in before: a stranger can't keep an operator out of the usual office.

use std::net::IpAddr;

use vestibule_core::{MICROS_PER_SECOND, Micros, StoreError};
use vestibule_records::{EphemeralKey, EphemeralKind, RecordStore};

use crate::access::OperatorName;
use crate::problem::Problem;
use crate::secret::hash;

/// Seconds for which attempts are counted.
const COUNTED: u64 = 900;
/// Seconds for which an address stays known to a name: 30 days.
const KNOWN: u64 = 30 * 86_400;
/// Sign-ins at the identity provider that one address may start freely.
const STARTS: u64 = 300;

/// What attempts are counted by: how many are free, and the longest delay in seconds after them.
struct AttemptLimit {
    id: String,
    free: u64,
    longest: u64,
}

/// The attempts of one name from one address.
pub(crate) struct SignInThrottle {
    pair: AttemptLimit,
    address: AttemptLimit,
    name: AttemptLimit,
}

impl AttemptLimit {
    fn new(what: &str, free: u64, longest: u64) -> Self {
        Self { id: hash(what), free, longest }
    }

    fn of_address(address: &str) -> Self {
        Self::new(&format!("address {address}"), 30, 900)
    }
}

impl SignInThrottle {
    /// Takes the start of a sign-in at the identity provider, or says how long to wait. Starts have a limit of their own,
    /// since each is remembered for a while; they are no failures.
    pub(crate) async fn start(records: &dyn RecordStore, address: Option<IpAddr>, now: Micros) -> Result<(), Problem> {
        let address = written(address);
        AttemptLimit::of_address(&address).check(records, now).await?;
        let starts = AttemptLimit::new(&format!("starts {address}"), STARTS, 900);
        starts.check(records, now).await?;
        starts.count(records, now).await
    }

    /// Counts a sign-in at the identity provider that failed.
    pub(crate) async fn failed(records: &dyn RecordStore, address: Option<IpAddr>, now: Micros) -> Result<(), Problem> {
        AttemptLimit::of_address(&written(address)).count(records, now).await
    }

    /// Addresses are stored as hashes only. All unknown addresses count as one.
    pub(crate) fn of(name: &OperatorName, address: Option<IpAddr>) -> Self {
        let address = written(address);
        Self {
            pair: AttemptLimit::new(&format!("pair {name} {address}"), 5, 900),
            address: AttemptLimit::of_address(&address),
            name: AttemptLimit::new(&format!("name {name}"), 20, 30),
        }
    }

    /// Takes an attempt, or says how long to wait.
    pub(crate) async fn attempt(&self, records: &dyn RecordStore, now: Micros) -> Result<(), Problem> {
        let limits = self.limits(records).await?;
        for limit in &limits {
            limit.check(records, now).await?;
        }
        for limit in limits {
            limit.count(records, now).await?;
        }
        Ok(())
    }

    /// The password was right: the address is known from here on, what it failed with this name is forgotten, and this
    /// attempt does not count.
    pub(crate) async fn succeeded(&self, records: &dyn RecordStore) -> Result<(), StoreError> {
        records.set_ephemeral(&self.known(), "", KNOWN).await?;
        records.decrement(&self.address.failures()).await?;
        records.decrement(&self.name.failures()).await?;
        records.take_ephemeral(&self.pair.failures()).await?;
        records.take_ephemeral(&self.pair.slowed()).await.map(drop)
    }

    /// The password was right, but a code is missing: this attempt and the delay that it began do not count, so that the code
    /// can follow at once. What failed before still counts.
    pub(crate) async fn withdraw(&self, records: &dyn RecordStore) -> Result<(), StoreError> {
        for limit in self.limits(records).await? {
            records.decrement(&limit.failures()).await?;
            // No attempt is taken during a delay, so this one began it.
            records.take_ephemeral(&limit.slowed()).await?;
        }
        Ok(())
    }

    /// What an attempt counts for: the name does not count where it has signed in before.
    async fn limits(&self, records: &dyn RecordStore) -> Result<Vec<&AttemptLimit>, StoreError> {
        let known = records.get_ephemeral(&self.known()).await?.is_some();
        Ok(if known { vec![&self.pair, &self.address] } else { vec![&self.pair, &self.address, &self.name] })
    }

    fn known(&self) -> EphemeralKey {
        EphemeralKey::new(EphemeralKind::KnownAddress, &self.pair.id)
    }
}

impl AttemptLimit {
    fn failures(&self) -> EphemeralKey {
        EphemeralKey::new(EphemeralKind::Failures, &self.id)
    }

    fn slowed(&self) -> EphemeralKey {
        EphemeralKey::new(EphemeralKind::Slowed, &self.id)
    }

    async fn check(&self, records: &dyn RecordStore, now: Micros) -> Result<(), Problem> {
        match records.get_ephemeral(&self.slowed()).await? {
            Some(until) => Err(Problem::RateLimited(left(&until, now))),
            None => Ok(()),
        }
    }

    async fn count(&self, records: &dyn RecordStore, now: Micros) -> Result<(), Problem> {
        let attempts = records.increment(&self.failures(), COUNTED).await?;
        let Some(past) = attempts.checked_sub(self.free + 1) else { return Ok(()) };
        let delay = 1_u64.checked_shl(past as u32).unwrap_or(self.longest).min(self.longest);
        let until = now.add_seconds(delay).0.to_string();
        if records.set_ephemeral_if_absent(&self.slowed(), &until, delay).await? {
            Ok(())
        } else {
            Err(Problem::RateLimited(delay))
        }
    }
}

/// What an address counts as: IPv4 by itself, however it is written, IPv6 by its /64.
fn written(address: Option<IpAddr>) -> String {
    match address.map(|address| address.to_canonical()) {
        None => "unknown".to_owned(),
        Some(IpAddr::V4(address)) => address.to_string(),
        Some(IpAddr::V6(address)) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
        }
    }
}

fn left(until: &str, now: Micros) -> u64 {
    let until = Micros(until.parse().unwrap_or(now.0));
    until.since(now).div_ceil(MICROS_PER_SECOND).max(1)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use vestibule_core::{Clock as _, ManualClock};
    use vestibule_store_memory::MemoryRecords;

    use super::*;

    struct Bench {
        records: MemoryRecords,
        clock: Arc<ManualClock>,
    }

    impl Bench {
        fn new() -> Self {
            let clock = Arc::new(ManualClock::at(Micros(1_700_000_000_000_000)));
            Self { records: MemoryRecords::new(clock.clone()), clock }
        }

        async fn attempt(&self, name: &str, address: &str) -> Result<(), u64> {
            match throttle(name, address).attempt(&self.records, self.clock.now()).await {
                Ok(()) => Ok(()),
                Err(Problem::RateLimited(seconds)) => Err(seconds),
                Err(other) => panic!("{other}"),
            }
        }
    }

    fn throttle(name: &str, address: &str) -> SignInThrottle {
        SignInThrottle::of(&name.parse().unwrap(), address.parse().ok())
    }

    #[tokio::test]
    async fn delay_grows_after_the_free_attempts() {
        let bench = Bench::new();
        for _ in 0..5 {
            assert_eq!(bench.attempt("zoe", "192.0.2.1").await, Ok(()));
        }
        for delay in [1, 2, 4, 8] {
            assert_eq!(bench.attempt("zoe", "192.0.2.1").await, Ok(()));
            assert_eq!(bench.attempt("zoe", "192.0.2.1").await, Err(delay));
            bench.clock.advance(delay * 1_000_000);
        }
        assert_eq!(bench.attempt("zoe", "192.0.2.2").await, Ok(()), "another address is not held up by it");
        bench.clock.advance(900_000_000);
        assert_eq!(bench.attempt("zoe", "192.0.2.1").await, Ok(()), "after a while it is forgotten");
    }

    #[tokio::test]
    async fn concurrent_attempts_are_limited() {
        let bench = Bench::new();
        let attempts = futures_util::future::join_all((0..50).map(|_| bench.attempt("zoe", "192.0.2.1"))).await;
        assert_eq!(attempts.iter().filter(|attempt| attempt.is_ok()).count(), 6);
    }

    #[tokio::test]
    async fn failed_attempts_do_not_block_known_addresses() {
        let bench = Bench::new();
        throttle("zoe", "192.0.2.1").succeeded(&bench.records).await.unwrap();
        for stranger in 0..21 {
            assert_eq!(bench.attempt("zoe", &format!("198.51.100.{stranger}")).await, Ok(()));
        }
        assert_eq!(bench.attempt("zoe", "203.0.113.9").await, Err(1), "elsewhere the name is slowed");
        assert_eq!(bench.attempt("zoe", "192.0.2.1").await, Ok(()));
    }

    #[tokio::test]
    async fn successful_sign_ins_do_not_count() {
        let bench = Bench::new();
        for name in 0..100 {
            let name = format!("name-{name}");
            assert_eq!(bench.attempt(&name, "192.0.2.1").await, Ok(()));
            throttle(&name, "192.0.2.1").succeeded(&bench.records).await.unwrap();
        }
    }

    #[tokio::test]
    async fn withdrawn_attempt_does_not_count_and_forgets_no_failure() {
        let bench = Bench::new();
        for _ in 0..5 {
            assert_eq!(bench.attempt("zoe", "192.0.2.1").await, Ok(()));
            throttle("zoe", "192.0.2.1").withdraw(&bench.records).await.unwrap();
            assert_eq!(bench.attempt("zoe", "192.0.2.1").await, Ok(()));
        }
        assert_eq!(bench.attempt("zoe", "192.0.2.1").await, Ok(()), "the sixth that counts begins the delay");
        throttle("zoe", "192.0.2.1").withdraw(&bench.records).await.unwrap();
        assert_eq!(bench.attempt("zoe", "192.0.2.1").await, Ok(()), "which was withdrawn");
        assert_eq!(bench.attempt("zoe", "192.0.2.1").await, Err(1));
    }

    #[tokio::test]
    async fn ipv6_addresses_count_by_64() {
        let bench = Bench::new();
        for host in 0..31 {
            assert_eq!(bench.attempt(&format!("name-{host}"), &format!("2001:db8:0:1::{host:x}")).await, Ok(()));
        }
        assert_eq!(bench.attempt("one-more", "2001:db8:0:1:ffff::1").await, Err(1));
        assert_eq!(bench.attempt("one-more", "2001:db8:0:2::1").await, Ok(()));
        assert_eq!(written("::ffff:192.0.2.1".parse().ok()), "192.0.2.1");
    }

    #[tokio::test]
    async fn one_address_cannot_try_many_names() {
        let bench = Bench::new();
        for name in 0..31 {
            assert_eq!(bench.attempt(&format!("name-{name}"), "192.0.2.1").await, Ok(()));
        }
        assert_eq!(bench.attempt("one-more", "192.0.2.1").await, Err(1));
    }
}
