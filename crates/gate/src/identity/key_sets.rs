//! Keys of identities that are fetched. A set is used for ten minutes, then a newer one is fetched in the background; the last valid one is
//! kept for a day. Nobody but the visitors whose tokens need a set that was never fetched waits for it, and for a short time only.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode, header};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;
use tokio::time::timeout;
use tracing::warn;
use vestibule_core::QueueId;
use vestibule_core::identity::KeySet;
use vestibule_core::settings::{HttpsUrl, Identity, Reach};
use vestibule_freeze::FreezeAwareInstant;
use vestibule_http_client::{AddressCheck, HttpClient, Options};
use vestibule_runtime::Queue;

/// How long a set is used without asking for a newer one.
const FRESH_FOR: Duration = Duration::from_mins(10);
/// How long the last valid set is used while no newer one can be fetched.
const KEPT_FOR: Duration = Duration::from_hours(24);
/// Minimum time between two fetches from one address.
const FETCH_INTERVAL: Duration = Duration::from_mins(1);
/// Time limit of a fetch.
const FETCH_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a visitor waits for a fetch.
const WAIT_MAX: Duration = Duration::from_secs(1);
/// Maximum size of a set in bytes.
const SET_MAX: usize = 64 * 1024;
/// Maximum number of sources: the key IDs of load balancers come from tokens.
const SOURCES_MAX: usize = 256;

/// How often a queue asks for keys of a load balancer that are not known: their IDs come from tokens, and so from anybody. One fetch
/// in this time.
const UNKNOWN_KEY_INTERVAL: Duration = FETCH_INTERVAL;

/// Where keys are fetched. Tenants that may connect to different addresses share no set: one that may not use an address neither gets
/// its keys nor keeps others from fetching them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct KeySource {
    pub(super) address: String,
    /// The addresses that its host may have.
    pub(super) reach: Reach,
}

/// Sets by their source.
#[derive(Default)]
pub(crate) struct KeySets {
    sets: Mutex<HashMap<KeySource, Arc<Entry>>>,
    /// When each queue last asked for a key that is not known.
    unknown_asked: Mutex<HashMap<QueueId, FreezeAwareInstant>>,
}

/// What is known of one source.
struct Entry {
    state: Mutex<State>,
    /// The number of fetches that have ended.
    ended: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    keys: Option<(Arc<KeySet>, FreezeAwareInstant)>,
    fetched_at: Option<FreezeAwareInstant>,
    is_fetching: bool,
    used_at: Option<FreezeAwareInstant>,
}

impl Entry {
    fn new() -> Self {
        Self { state: Mutex::default(), ended: watch::channel(0).0 }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// The last valid set, and whether it is fresh.
    fn keys(&self) -> Option<(Arc<KeySet>, bool)> {
        let state = self.state();
        let (keys, at) = state.keys.as_ref().filter(|(_, at)| at.elapsed() < KEPT_FOR)?;
        Some((keys.clone(), at.elapsed() < FRESH_FOR))
    }

    fn unused_for(&self) -> Option<Duration> {
        self.state().used_at.map(|at| at.elapsed())
    }

    /// Whether a fetch begins now; none does if another is under way, or ended a short time ago.
    fn begins_fetch(&self) -> bool {
        let mut state = self.state();
        let is_soon = state.fetched_at.is_some_and(|at| at.elapsed() < FETCH_INTERVAL);
        if state.is_fetching || is_soon {
            return false;
        }
        state.is_fetching = true;
        state.fetched_at = Some(FreezeAwareInstant::now());
        true
    }

    fn end_fetch(&self, keys: Option<KeySet>) {
        let mut state = self.state();
        state.is_fetching = false;
        if let Some(keys) = keys {
            state.keys = Some((Arc::new(keys), FreezeAwareInstant::now()));
        }
        drop(state);
        self.ended.send_modify(|ended| *ended += 1);
    }
}

/// The addresses that keys may be fetched from: only the tenant can allow internal ones.
pub(super) fn reach_of(queue: &Queue, identity: &Identity) -> Reach {
    let origin = identity.jwks.as_ref().map(HttpsUrl::origin);
    let tenant = queue.tenant.as_ref();
    origin.zip(tenant).map_or(Reach::Public, |(origin, tenant)| tenant.reach(origin))
}

impl KeySets {
    /// The set of a source. Waits for it only if none is known.
    pub(super) async fn get(&self, source: &KeySource) -> Option<Arc<KeySet>> {
        let entry = self.entry(source);
        if let Some((keys, is_fresh)) = entry.keys() {
            if !is_fresh {
                Self::fetch(&entry, source);
            }
            return Some(keys);
        }
        Self::wait_for_fetch(&entry, source).await;
        entry.keys().map(|(keys, _)| keys)
    }

    /// The key of a load balancer. One that is not known is fetched if this queue has asked for no other a short time
    /// ago, so that invented key IDs neither cause many fetches nor take the room of known keys.
    pub(super) async fn get_named(&self, queue: &QueueId, source: &KeySource) -> Option<Arc<KeySet>> {
        if !self.is_known(source) && !self.begins_unknown(queue) {
            return None;
        }
        self.get(source).await
    }

    /// Whether there is a set of this source, or a fetch of it is under way.
    fn is_known(&self, source: &KeySource) -> bool {
        let sets = self.sets.lock();
        sets.get(source).is_some_and(|entry| entry.keys().is_some() || entry.state().is_fetching)
    }

    fn begins_unknown(&self, queue: &QueueId) -> bool {
        let mut asked = self.unknown_asked.lock();
        asked.retain(|_, at| at.elapsed() < UNKNOWN_KEY_INTERVAL);
        if asked.contains_key(queue) {
            return false;
        }
        asked.insert(queue.clone(), FreezeAwareInstant::now());
        true
    }

    /// The set of a source after a fetch, if one may begin now or is under way.
    pub(super) async fn get_newer(&self, source: &KeySource) -> Option<Arc<KeySet>> {
        let entry = self.entry(source);
        Self::wait_for_fetch(&entry, source).await;
        entry.keys().map(|(keys, _)| keys)
    }

    /// The entry of a source. If there are too many, those without keys are forgotten, which include those of invented key IDs, and
    /// else the one that was not used for longest: one tenant cannot take the room of another.
    fn entry(&self, source: &KeySource) -> Arc<Entry> {
        let mut sets = self.sets.lock();
        if sets.len() >= SOURCES_MAX && !sets.contains_key(source) {
            sets.retain(|_, entry| entry.keys().is_some());
        }
        if sets.len() >= SOURCES_MAX
            && !sets.contains_key(source)
            && let Some(oldest) =
                sets.iter().max_by_key(|(_, entry)| entry.unused_for()).map(|(oldest, _)| oldest.clone())
        {
            sets.remove(&oldest);
        }
        let entry = sets.entry(source.clone()).or_insert_with(|| Arc::new(Entry::new())).clone();
        entry.state().used_at = Some(FreezeAwareInstant::now());
        entry
    }

    async fn wait_for_fetch(entry: &Arc<Entry>, source: &KeySource) {
        let mut ended = entry.ended.subscribe();
        Self::fetch(entry, source);
        if entry.state().is_fetching {
            let _ = timeout(WAIT_MAX, ended.changed()).await;
        }
    }

    /// Fetches a set in the background, at most once a minute.
    fn fetch(entry: &Arc<Entry>, source: &KeySource) {
        if !entry.begins_fetch() {
            return;
        }
        let (entry, client, address) = (entry.clone(), client(&source.reach), source.address.clone());
        tokio::spawn(async move {
            let keys = match client {
                Some(client) => fetch_keys(&client, &address).await,
                None => Err("no certificate authority can be trusted".to_owned()),
            };
            if let Err(error) = &keys {
                warn!(address, error, "the keys of accounts could not be fetched");
            }
            entry.end_fetch(keys.ok());
        });
    }
}

fn client(reach: &Reach) -> Option<HttpClient> {
    let reach = reach.clone();
    let check = AddressCheck::new(move |address| reach.allows(address));
    let options = Options { timeout: FETCH_TIMEOUT, response_max: SET_MAX, check, ..Options::default() };
    HttpClient::new(options).ok()
}

/// The set at an address: a JWK set, or the key of a load balancer.
async fn fetch_keys(client: &HttpClient, address: &str) -> Result<KeySet, String> {
    let request = Request::get(address).header(header::ACCEPT, "application/json, */*").body(Bytes::new());
    let response = client.send(request.map_err(|error| error.to_string())?).await.map_err(|error| error.to_string())?;
    if response.status() != StatusCode::OK {
        return Err(format!("status {}", response.status().as_u16()));
    }
    if let Ok(document) = serde_json::from_slice(response.body()) {
        return KeySet::from_fetched(&document).map_err(|error| error.to_string());
    }
    let kid = address.rsplit('/').next().unwrap_or_default();
    let pem = std::str::from_utf8(response.body()).map_err(|_| "neither a JWK set nor a key".to_owned())?;
    KeySet::from_p256_pem(kid, pem).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::net::TcpListener;

    use super::*;

    fn public(address: &str) -> KeySource {
        KeySource { address: address.to_owned(), reach: Reach::Public }
    }

    /// One tenant may not connect to the address of another one.
    #[tokio::test]
    async fn keys_of_one_reach_are_not_those_of_another() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let refused = public(&format!("http://localhost:{}/jwks.json", listener.local_addr().unwrap().port()));
        let allowed = KeySource { reach: Reach::Any, ..refused.clone() };
        let (sets, mut connections) = (KeySets::default(), 0);
        for (source, connected) in [(&refused, 0), (&allowed, 1)] {
            tokio::select! {
                biased;
                Ok(_) = listener.accept() => connections += 1,
                keys = sets.get(source) => assert!(keys.is_none()),
            }
            assert_eq!(connections, connected, "{source:?}");
        }
        sets.entry(&allowed).end_fetch(Some(some_keys()));
        assert!(sets.get(&allowed).await.is_some() && sets.get(&refused).await.is_none());
    }

    fn some_keys() -> KeySet {
        let x = "11qYAycoxSzvJ5ubBIZJYFQcyf8tJOrKbGSxCVQCxhk";
        let set = json!({ "keys": [{ "kty": "OKP", "crv": "Ed25519", "kid": "k", "alg": "EdDSA", "x": x }] });
        KeySet::from_fetched(&set).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn addresses_of_one_tenant_leave_room_for_others() {
        let (sets, own) = (KeySets::default(), public("https://www.example.com/jwks.json"));
        sets.entry(&own).end_fetch(Some(some_keys()));
        for number in 0..2 * SOURCES_MAX {
            tokio::time::advance(Duration::from_millis(10)).await;
            sets.entry(&public(&format!("https://other.example/{number}"))).end_fetch(Some(some_keys()));
            if number % 100 == 0 {
                assert!(sets.entry(&own).keys().is_some(), "{number}");
            }
        }
        assert_eq!(sets.sets.lock().len(), SOURCES_MAX);
    }

    /// What is known after a freeze of this length during which the monotonic clock stood still.
    fn freeze(sets: &KeySets, source: &KeySource, length: Duration) {
        let entry = sets.entry(source);
        let mut state = entry.state();
        state.fetched_at = state.fetched_at.and_then(|at| at.before_freeze(length));
        state.keys = state.keys.take().and_then(|(keys, at)| Some((keys, at.before_freeze(length)?)));
        drop(state);
        for asked in sets.unknown_asked.lock().values_mut() {
            *asked = asked.before_freeze(length).unwrap();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn keys_age_while_the_process_is_frozen() {
        let source = public("https://www.example.com/jwks.json");
        let (sets, queue) = (KeySets::default(), "tour".parse().unwrap());
        let entry = sets.entry(&source);
        let fetch = || {
            let begins = entry.begins_fetch();
            if begins {
                entry.end_fetch(Some(some_keys()));
            }
            begins
        };
        let is_fresh = || entry.keys().map(|(_, is_fresh)| is_fresh);
        assert!(fetch() && !fetch() && sets.begins_unknown(&queue) && !sets.begins_unknown(&queue));
        freeze(&sets, &source, FETCH_INTERVAL);
        assert!(fetch() && sets.begins_unknown(&queue), "a minute has passed");
        assert_eq!(is_fresh(), Some(true));
        freeze(&sets, &source, FRESH_FOR);
        assert_eq!(is_fresh(), Some(false), "ten minutes have passed");
        freeze(&sets, &source, KEPT_FOR);
        assert_eq!(is_fresh(), None, "a day has passed");
    }
}
