//! What derives from an account under a ticket key (rule 24): its session in a queue, and fingerprints of the tokens that name it.

use super::account_key::AccountKey;
use super::ticket::TicketSigner;
use crate::identity::Account;
use crate::{QueueId, SessionId};

/// Length of the digest of a token, in bytes.
pub(super) const DIGEST_LEN: usize = 16;

/// A keyed digest of a token: what was verified under it need not be verified again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenDigest([u8; DIGEST_LEN]);

impl TokenDigest {
    /// The first bytes, which tickets carry.
    pub fn fingerprint(&self) -> u32 {
        let [a, b, c, d, ..] = self.0;
        u32::from_be_bytes([a, b, c, d])
    }
}

impl TicketSigner {
    /// Whether there is a ticket key with this ID.
    pub fn has_key(&self, kid: &str) -> bool {
        self.keys.iter().any(|key| key.accounts.kid == kid)
    }

    /// The key with this ID; without an ID, or if there is no such key, the one that signs.
    fn account_key(&self, kid: Option<&str>) -> Option<&AccountKey> {
        let named = self.keys.iter().find(|key| kid == Some(key.accounts.kid.as_str()));
        named.or(self.keys.first()).map(|key| &key.accounts)
    }

    /// The sessions of an account in one epoch of a queue, one per valid key. New visits of the account get the first, which derives
    /// from the key with this ID, or from the key that signs. The others belong to visitors who joined while another key was that.
    pub fn account_sessions(
        &self,
        queue: &QueueId,
        epoch: u64,
        kid: Option<&str>,
        account: &Account,
    ) -> Vec<SessionId> {
        let parts: [&[u8]; 4] =
            [queue.as_str().as_bytes(), &epoch.to_be_bytes(), account.issuer.as_bytes(), account.subject.as_bytes()];
        let keys = self.account_key(kid).into_iter().chain(self.keys.iter().map(|key| &key.accounts));
        let sessions = keys.filter_map(|key| key.sessions.of(&parts).first_chunk().copied().map(SessionId::from_bytes));
        sessions.collect()
    }

    /// Whether a token has this fingerprint under any valid key.
    pub fn has_fingerprint(&self, token: &[u8], fingerprint: u32) -> bool {
        self.keys.iter().any(|key| digest(&key.accounts, token).is_some_and(|it| it.fingerprint() == fingerprint))
    }

    /// The digest of a token that names an account.
    ///
    /// Returns `None` without a key, which does not happen.
    pub fn token_digest(&self, kid: Option<&str>, token: &[u8]) -> Option<TokenDigest> {
        digest(self.account_key(kid)?, token)
    }
}

fn digest(key: &AccountKey, token: &[u8]) -> Option<TokenDigest> {
    key.fingerprints.of(&[token]).first_chunk().copied().map(TokenDigest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KeyList, Micros};

    fn account(issuer: &str, subject: &str) -> Account {
        Account { issuer: issuer.to_owned(), subject: subject.to_owned(), expires_at: Micros(0) }
    }

    fn signer(keys: &[(&str, u8)]) -> TicketSigner {
        let lists: Vec<_> = keys.iter().map(|(kid, byte)| KeyList::of_bytes(kid, [*byte; 32]).expose()).collect();
        TicketSigner::new(&lists.join(",").parse().unwrap()).unwrap()
    }

    #[test]
    fn account_has_one_session_per_queue_and_epoch() {
        let signer = signer(&[("k1", 1)]);
        let (tour, other): (QueueId, QueueId) = ("tour".parse().unwrap(), "other".parse().unwrap());
        let session =
            |queue, epoch, issuer, subject| signer.account_sessions(queue, epoch, None, &account(issuer, subject))[0];
        let own = session(&tour, 1, "i", "a");
        assert_eq!(own, session(&tour, 1, "i", "a"));
        let others = [
            session(&other, 1, "i", "a"),
            session(&tour, 2, "i", "a"),
            session(&tour, 1, "j", "a"),
            session(&tour, 1, "i", "b"),
        ];
        assert!(!others.contains(&own));
    }

    #[test]
    fn session_survives_key_rotation_with_a_key_id() {
        let (before, after) = (signer(&[("k1", 1)]), signer(&[("k2", 2), ("k1", 1)]));
        let queue: QueueId = "tour".parse().unwrap();
        let session = |signer: &TicketSigner, kid| signer.account_sessions(&queue, 1, kid, &account("i", "a"))[0];
        assert_eq!(session(&before, Some("k1")), session(&after, Some("k1")));
        assert_ne!(session(&before, None), session(&after, None));
        assert_eq!(session(&after, Some("unknown")), session(&after, None));
        let of_all_keys = after.account_sessions(&queue, 1, None, &account("i", "a"));
        assert!(of_all_keys[1..].contains(&session(&before, None)), "the session of the earlier key");
        let earlier = before.token_digest(None, b"token").unwrap().fingerprint();
        assert!(after.has_fingerprint(b"token", earlier) && !after.has_fingerprint(b"other", earlier));
        assert!(after.has_key("k1") && !before.has_key("k2"));
        let digest = |signer: &TicketSigner| signer.token_digest(Some("k1"), b"token").unwrap();
        assert_eq!(digest(&before).fingerprint(), digest(&after).fingerprint());
        assert_ne!(digest(&before), before.token_digest(Some("k1"), b"other").unwrap());
    }
}
