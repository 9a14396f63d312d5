//! Challenges of newcomers who have to prove work: how many this process makes, and how many wrong proofs it verifies.
//!
//! A challenge costs one key derivation, and a proof two MACs. So the challenges of a second are shared fairly among networks, and an
//! address that sends wrong proofs has to wait.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ipnet::IpNet;
use quick_cache::sync::Cache;
use tokio::time::Instant;
use vestibule_core::{Challenge, ChallengeSigner, ChallengeTerms, MICROS_PER_SECOND, Micros, QueueId, SessionId};

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

/// All that a challenge depends on.
#[derive(Clone, PartialEq, Eq, Hash)]
struct ChallengeKey {
    queue: QueueId,
    epoch: u64,
    session: SessionId,
    difficulty: u64,
    base: u64,
    effort: u64,
    minute: u64,
}

/// The challenges of this process.
pub(crate) struct Challenges {
    kept: Cache<ChallengeKey, Challenge>,
    budget: Mutex<Budget>,
    invalid: Mutex<HashMap<IpNet, InvalidProofs>>,
    hasher: RandomState,
}

impl Default for Challenges {
    fn default() -> Self {
        Self {
            kept: Cache::new(KEPT),
            budget: Mutex::new(Budget::new(Instant::now())),
            invalid: Mutex::default(),
            hasher: RandomState::new(),
        }
    }
}

impl Challenges {
    /// The challenge of these terms for a client of this network. `None` if too many are asked for in this second.
    pub(crate) fn challenge(
        &self,
        signer: &ChallengeSigner,
        terms: &ChallengeTerms<'_>,
        now: Micros,
        network: Option<IpNet>,
    ) -> Option<Challenge> {
        let key = ChallengeKey {
            queue: terms.queue.clone(),
            epoch: terms.epoch,
            session: terms.session,
            difficulty: terms.difficulty,
            base: terms.base,
            effort: terms.effort,
            minute: now.0 / MICROS_PER_SECOND / MINUTE,
        };
        if let Some(kept) = self.kept.get(&key) {
            return Some(kept);
        }
        let bucket = self.hasher.hash_one(network) as usize % BUCKETS;
        if !locked(&self.budget).take(Instant::now(), bucket) {
            return None;
        }
        let challenge = signer.challenge(terms, now)?;
        self.kept.insert(key, challenge.clone());
        Some(challenge)
    }

    /// Seconds for which this address has to wait, since it sent too many invalid proofs.
    pub(crate) fn must_wait(&self, address: Option<IpNet>) -> Option<u64> {
        let invalid = locked(&self.invalid);
        let proofs = invalid.get(&address?)?;
        let rest = INVALID_WINDOW.checked_sub(proofs.since.elapsed()).filter(|rest| !rest.is_zero())?;
        (proofs.count >= INVALID_MAX).then(|| rest.as_secs().max(1))
    }

    /// Counts an invalid proof of this address. From the last one that is possible on, it waits for the whole window.
    pub(crate) fn count_invalid(&self, address: Option<IpNet>) {
        let Some(address) = address else { return };
        let (now, mut invalid) = (Instant::now(), locked(&self.invalid));
        if invalid.len() >= ADDRESSES_MAX && !invalid.contains_key(&address) {
            invalid.retain(|_, proofs| proofs.since.elapsed() < INVALID_WINDOW);
            if invalid.len() >= ADDRESSES_MAX {
                return;
            }
        }
        let proofs = invalid.entry(address).or_insert(InvalidProofs { since: now, count: 0 });
        if proofs.since.elapsed() >= INVALID_WINDOW {
            *proofs = InvalidProofs { since: now, count: 0 };
        }
        proofs.count += 1;
        if proofs.count == INVALID_MAX {
            proofs.since = now;
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Invalid proofs of one address.
struct InvalidProofs {
    since: Instant,
    count: u32,
}

/// The challenges of one second. Each network may get an equal part of them, so one that asks for many does not take those of
/// others.
struct Budget {
    since: Instant,
    made: u32,
    /// Challenges by bucket, and whether the bucket asked at all.
    buckets: [Option<u32>; BUCKETS],
    /// Number of buckets that asked in this second and in the one before.
    asking: u32,
    asked_before: u32,
}

impl Budget {
    const fn new(now: Instant) -> Self {
        Self { since: now, made: 0, buckets: [None; BUCKETS], asking: 0, asked_before: 0 }
    }

    /// Whether a client of this bucket gets one more.
    fn take(&mut self, now: Instant, bucket: usize) -> bool {
        let passed = now.duration_since(self.since);
        if passed >= Duration::from_secs(1) {
            let is_next = passed < Duration::from_secs(2);
            *self = Self { asked_before: if is_next { self.asking } else { 0 }, ..Self::new(now) };
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
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn challenges_are_shared_among_networks() {
        let start = Instant::now();
        let mut budget = Budget::new(start);
        let granted = |budget: &mut Budget, now, bucket, count: usize| {
            (0..count).filter(|_| budget.take(now, bucket)).count() as u32
        };
        assert_eq!(granted(&mut budget, start, 1, 400), PER_SECOND, "nobody else asks");
        assert_eq!(granted(&mut budget, start, 2, 1), 0, "all are made");
        let next = start + Duration::from_secs(1);
        assert_eq!(granted(&mut budget, next, 1, 400), PER_SECOND / 2, "another network asked before");
        assert_eq!(granted(&mut budget, next, 2, 5), 5);
        let quiet = next + Duration::from_secs(5);
        assert_eq!(granted(&mut budget, quiet, 3, 400), PER_SECOND);
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
        tokio::time::advance(INVALID_WINDOW).await;
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
        assert_eq!(locked(&challenges.invalid).len(), ADDRESSES_MAX);
    }
}
