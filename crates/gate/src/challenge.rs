//! Challenges of newcomers who have to prove work: how many this process makes, and how many wrong proofs of an address it takes.
//!
//! A challenge costs one key derivation, and a proof two MACs. So the challenges of a second are shared fairly among networks, and an
//! address that sends wrong proofs has to wait.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::time::Duration;

use ipnet::IpNet;
use parking_lot::Mutex;
use quick_cache::sync::Cache;
use vestibule_core::{Challenge, ChallengeSigner, ChallengeTerms, MICROS_PER_SECOND, Micros};
use vestibule_freeze::FreezeAwareInstant;

/// Maximum number of challenges that a process makes per second.
const PER_SECOND: u32 = 200;
/// Networks share this many buckets.
const BUCKETS: usize = 256;
/// Number of challenges that are kept: who asks again gets the same one.
const KEPT: usize = 4096;
/// Seconds of a minute, for which a challenge is the same.
const MINUTE: u64 = 60;
/// Invalid proofs of an address within [`INVALID_WINDOW`] after which it has to wait.
const INVALID_MAX: u32 = 20;
const INVALID_WINDOW: Duration = Duration::from_secs(MINUTE);
/// Maximum number of addresses whose invalid proofs are counted.
const ADDRESSES_MAX: usize = 8192;

/// The challenges of this process.
pub(crate) struct Challenges {
    /// By terms and minute.
    kept: Cache<(ChallengeTerms, u64), Challenge>,
    budget: Mutex<Budget>,
    invalid: Mutex<CountedAddresses>,
    hasher: RandomState,
}

impl Default for Challenges {
    fn default() -> Self {
        Self {
            kept: Cache::new(KEPT),
            budget: Mutex::new(Budget::new()),
            invalid: Mutex::new(CountedAddresses { addresses: HashMap::new(), swept_at: FreezeAwareInstant::now() }),
            hasher: RandomState::new(),
        }
    }
}

impl Challenges {
    /// The challenge of these terms for a client of this network. `None` if too many are asked for in this second.
    pub(crate) fn challenge(
        &self,
        signer: &ChallengeSigner,
        terms: ChallengeTerms,
        now: Micros,
        network: Option<IpNet>,
    ) -> Option<Challenge> {
        let key = (terms, now.0 / MICROS_PER_SECOND / MINUTE);
        if let Some(kept) = self.kept.get(&key) {
            return Some(kept);
        }
        let bucket = self.hasher.hash_one(network) as usize % BUCKETS;
        if !self.budget.lock().take(bucket) {
            return None;
        }
        let challenge = signer.challenge(&key.0, now)?;
        self.kept.insert(key, challenge.clone());
        Some(challenge)
    }

    /// Seconds for which this address has to wait, since it sent too many invalid proofs.
    pub(crate) fn must_wait(&self, address: Option<IpNet>) -> Option<u64> {
        let invalid = self.invalid.lock();
        let proofs = invalid.addresses.get(&address?)?;
        let rest = INVALID_WINDOW.checked_sub(proofs.since.elapsed()).filter(|rest| !rest.is_zero())?;
        (proofs.count >= INVALID_MAX).then(|| rest.as_secs() + u64::from(rest.subsec_nanos() > 0))
    }

    /// Counts an invalid proof of this address. From the last one that is possible on, it waits for the whole window.
    pub(crate) fn count_invalid(&self, address: Option<IpNet>) {
        let Some(address) = address else { return };
        let (now, mut invalid) = (FreezeAwareInstant::now(), self.invalid.lock());
        // Addresses are kept no longer than they are needed, for two windows at most.
        if invalid.swept_at.elapsed() >= INVALID_WINDOW {
            invalid.swept_at = now;
            invalid.addresses.retain(|_, proofs| proofs.since.elapsed() < INVALID_WINDOW);
        }
        let addresses = &mut invalid.addresses;
        if addresses.len() >= ADDRESSES_MAX && !addresses.contains_key(&address) {
            return;
        }
        let proofs = addresses.entry(address).or_insert(InvalidProofs { since: now, count: 0 });
        if proofs.since.elapsed() >= INVALID_WINDOW {
            *proofs = InvalidProofs { since: now, count: 0 };
        }
        proofs.count += 1;
        if proofs.count == INVALID_MAX {
            proofs.since = now;
        }
    }
}

/// The addresses that sent invalid proofs.
struct CountedAddresses {
    addresses: HashMap<IpNet, InvalidProofs>,
    /// When the old ones were removed.
    swept_at: FreezeAwareInstant,
}

/// Invalid proofs of one address.
struct InvalidProofs {
    since: FreezeAwareInstant,
    count: u32,
}

/// The challenges of one second. Each network may get an equal part of them, so one that asks for many does not take those of
/// others.
struct Budget {
    since: FreezeAwareInstant,
    made: u32,
    /// Challenges by bucket, and whether the bucket asked at all.
    buckets: [Option<u32>; BUCKETS],
    /// Number of buckets that asked in this second and in the one before.
    asking: u32,
    asked_before: u32,
}

impl Budget {
    fn new() -> Self {
        Self { since: FreezeAwareInstant::now(), made: 0, buckets: [None; BUCKETS], asking: 0, asked_before: 0 }
    }

    /// Whether a client of this bucket gets one more.
    fn take(&mut self, bucket: usize) -> bool {
        let passed = self.since.elapsed();
        if passed >= Duration::from_secs(1) {
            let is_next = passed < Duration::from_secs(2);
            *self = Self { asked_before: if is_next { self.asking } else { 0 }, ..Self::new() };
        }
        let Some(taken) = self.buckets.get_mut(bucket) else { return false };
        if taken.is_none() {
            self.asking += 1;
        }
        let taken = taken.get_or_insert(0);
        let share = (PER_SECOND / self.asking.max(self.asked_before)).max(1);
        let is_granted = self.made < PER_SECOND && *taken < share;
        if is_granted {
            *taken += 1;
            self.made += 1;
        }
        is_granted
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn challenges_are_shared_among_networks() {
        let mut budget = Budget::new();
        let granted =
            |budget: &mut Budget, bucket, count: usize| (0..count).filter(|_| budget.take(bucket)).count() as u32;
        assert_eq!(granted(&mut budget, 1, 400), PER_SECOND, "nobody else asks");
        assert_eq!(granted(&mut budget, 2, 1), 0, "all are made");
        advance(Duration::from_secs(1)).await;
        assert_eq!(granted(&mut budget, 1, 400), PER_SECOND / 2, "another network asked before");
        assert_eq!(granted(&mut budget, 2, 5), 5);
        advance(Duration::from_secs(5)).await;
        assert_eq!(granted(&mut budget, 3, 400), PER_SECOND);
    }

    #[tokio::test(start_paused = true)]
    async fn limits_end_while_the_process_is_frozen() {
        let (mut budget, challenges) = (Budget::new(), Challenges::default());
        let address = Some("203.0.113.9/32".parse().unwrap());
        while budget.take(1) {}
        budget.since = budget.since.before_freeze(Duration::from_secs(1)).unwrap();
        assert!(budget.take(1), "a second has passed");
        for _ in 0..INVALID_MAX {
            challenges.count_invalid(address);
        }
        for proofs in challenges.invalid.lock().addresses.values_mut() {
            proofs.since = proofs.since.before_freeze(INVALID_WINDOW).unwrap();
        }
        assert_eq!(challenges.must_wait(address), None, "a minute has passed");
    }

    #[tokio::test(start_paused = true)]
    async fn address_with_invalid_proofs_waits_for_a_minute() {
        let challenges = Challenges::default();
        let address = Some("203.0.113.9/32".parse().unwrap());
        for _ in 0..INVALID_MAX {
            assert_eq!(challenges.must_wait(address), None);
            challenges.count_invalid(address);
        }
        assert_eq!(challenges.must_wait(address), Some(60));
        assert_eq!(challenges.must_wait(Some("203.0.113.10/32".parse().unwrap())), None);
        assert_eq!(challenges.must_wait(None), None, "an address that is not usable may be that of everyone");
        advance(INVALID_WINDOW).await;
        assert_eq!(challenges.must_wait(address), None);
        challenges.count_invalid(address);
        assert_eq!(challenges.must_wait(address), None);
    }

    #[tokio::test(start_paused = true)]
    async fn counted_addresses_are_bounded() {
        let challenges = Challenges::default();
        for number in 0..ADDRESSES_MAX as u32 + 100 {
            challenges.count_invalid(Some(IpNet::from(std::net::IpAddr::from(number.to_be_bytes()))));
        }
        let kept = || challenges.invalid.lock().addresses.len();
        assert_eq!(kept(), ADDRESSES_MAX);
        advance(INVALID_WINDOW).await;
        challenges.count_invalid(Some("203.0.113.9/32".parse().unwrap()));
        assert_eq!(kept(), 1, "the others are no longer needed");
    }
}
