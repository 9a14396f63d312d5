//! Tickets: the visitor's position, kept by the visitor. JWTs signed with HS256 and a secret of the
//! deployment.
//!
//! Only [`TicketSigner::verify`] creates a [`Ticket`], stores accept nothing else, and signing
//! takes the [`SessionState`] returned by a store: an unverified ticket is never signed again.

use serde::{Deserialize, Serialize};

use super::jws::{self, HS256_LEN, Hs256, Parts, TokenKey};
use super::keys::{KeyError, KeyList};
use crate::line::{Census, SessionState, Ticket};
use crate::time::Micros;
use crate::{QueueId, SessionId};

/// Maximum length of a ticket, in bytes. Tickets have about 300.
pub const TICKET_MAX: usize = 1024;

/// The claims of a ticket. Names are short because it is sent with every request.
///
/// Unknown claims are ignored: the signature is valid, and during a rollout this version also
/// receives tickets of a newer one.
#[derive(Serialize, Deserialize)]
struct Claims {
    /// Queue.
    q: QueueId,
    /// Epoch.
    e: u64,
    /// Session.
    s: SessionId,
    /// Arrival.
    a: Micros,
    /// When it was admitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    n: Option<Micros>,
    /// The last position shown to the visitor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    p: Option<u64>,
    /// Median of the last wait shown to the visitor, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    w: Option<u64>,
    /// When it was signed, by the store's clock.
    t: Micros,
    /// For an admitted session, microseconds from signing until its slot expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    x: Option<u64>,
    /// Whether the client had not returned a ticket at signing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    u: bool,
    /// Number of active sessions at signing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    c: Option<u64>,
    /// The latest arrival admitted in order at signing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    r: Option<Micros>,
}

/// What the visitor was shown about the line. It is kept in the ticket, so that the next answer
/// continues from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ShownEstimate {
    /// The position.
    pub position: Option<u64>,
    /// Median of the expected wait, in milliseconds.
    pub wait_ms: Option<u64>,
    /// The census at signing. It is not shown; a recovery starts from it if the store loses its
    /// state.
    pub census: Option<Census>,
}

/// Why a ticket is not valid. Its bearer is treated as a newcomer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TicketError {
    /// Longer than [`TICKET_MAX`].
    #[error("the ticket is too long")]
    TooLong,
    /// Not a token, or its header does not name a known key and the right algorithm.
    #[error("not a ticket, or signed with an unknown key")]
    UnknownKey,
    /// The signature is not valid.
    #[error("invalid signature")]
    BadSignature,
    /// Signed for another queue.
    #[error("issued for another queue")]
    WrongQueue,
}

/// Signs and verifies tickets.
///
/// A ticket is a regular JWT, but only this type reads it. Its header must therefore equal, byte
/// for byte, one that this type writes. This checks key and algorithm together and leaves no header
/// to interpret.
pub struct TicketSigner {
    keys: Vec<TokenKey<Hs256>>,
}

impl TicketSigner {
    /// A signer with these keys; the first one signs.
    ///
    /// # Errors
    /// Returns an error for a key of the wrong length.
    pub fn new(keys: &KeyList) -> Result<Self, KeyError> {
        let keys = keys.for_tickets()?.iter().map(|key| {
            let secret = Hs256::new(&key.secret).map_err(|_| KeyError::Length(key.kid.clone()))?;
            Ok(TokenKey::new(&key.kid, secret))
        });
        Ok(Self { keys: keys.collect::<Result<_, _>>()? })
    }

    /// Signs a session state returned by a store. `position` is the position shown to the visitor.
    ///
    /// Returns `None` if the claims can't be serialized, which does not happen.
    #[must_use]
    pub fn sign(
        &self,
        queue: &QueueId,
        epoch: u64,
        now: Micros,
        place: &SessionState,
        position: Option<u64>,
    ) -> Option<String> {
        self.sign_with_estimate(queue, epoch, now, place, ShownEstimate { position, ..ShownEstimate::default() })
    }

    /// Signs a session state returned by a store, with everything shown to the visitor.
    ///
    /// Returns `None` if the claims can't be serialized, which does not happen.
    #[must_use]
    pub fn sign_with_estimate(
        &self,
        queue: &QueueId,
        epoch: u64,
        now: Micros,
        place: &SessionState,
        shown: ShownEstimate,
    ) -> Option<String> {
        let claims = Claims {
            q: queue.clone(),
            e: epoch,
            s: place.session,
            a: place.arrival,
            n: place.admitted_at,
            p: shown.position,
            w: shown.wait_ms,
            t: now,
            x: place.admitted_at.map(|_| place.expires_at.since(now)),
            u: !place.confirmed,
            c: shown.census.map(|census| census.active),
            r: shown.census.map(|census| census.reached),
        };
        self.keys.first()?.sign(&claims, TICKET_MAX)
    }

    /// Verifies a ticket for this queue.
    ///
    /// # Errors
    /// Returns why the ticket is not valid; untrusted input has no other effect.
    pub fn verify(&self, queue: &QueueId, token: &[u8]) -> Result<Ticket, TicketError> {
        if token.len() > TICKET_MAX {
            return Err(TicketError::TooLong);
        }
        let token = std::str::from_utf8(token).map_err(|_| TicketError::UnknownKey)?;
        let parts = Parts::of(token).ok_or(TicketError::UnknownKey)?;
        let key = self.keys.iter().find(|key| key.header == parts.header).ok_or(TicketError::UnknownKey)?;
        let mut buffer = [0; TICKET_MAX];
        let signature = jws::decode(parts.signature, &mut buffer[..HS256_LEN]).ok_or(TicketError::BadSignature)?;
        if !key.algorithm.verify(parts.message.as_bytes(), signature) {
            return Err(TicketError::BadSignature);
        }
        let claims = jws::decode(parts.claims, &mut buffer).ok_or(TicketError::BadSignature)?;
        let claims: Claims = serde_json::from_slice(claims).map_err(|_| TicketError::BadSignature)?;
        if claims.q != *queue {
            return Err(TicketError::WrongQueue);
        }
        let census = claims.c.map(|active| Census { at: claims.t, active, reached: claims.r.unwrap_or(Micros(0)) });
        Ok(Ticket {
            epoch: claims.e,
            session: claims.s,
            arrival: claims.a,
            admitted_at: claims.n,
            position: claims.p,
            wait_ms: claims.w,
            census,
            signed_at: claims.t,
            slot_expires_at: claims.x.map(|left| Micros(claims.t.0.saturating_add(left))),
            unconfirmed: claims.u,
        })
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use proptest::prelude::*;

    use super::super::jws::Algorithm as _;
    use super::*;

    fn place() -> SessionState {
        SessionState {
            session: SessionId::from_bytes([3; 14]),
            arrival: Micros(1_700_000_000_000_001),
            admitted_at: None,
            position: 7,
            expires_at: Micros(1_700_000_060_500_000),
            confirmed: true,
        }
    }

    fn queue() -> QueueId {
        "acme-tour".parse().unwrap()
    }

    fn signer(kid: &str, byte: u8) -> TicketSigner {
        TicketSigner::new(&KeyList::of_bytes(kid, [byte; 32])).unwrap()
    }

    fn ticket(signer: &TicketSigner) -> String {
        signer.sign(&queue(), 4, Micros(1_700_000_000_500_000), &place(), Some(7)).unwrap()
    }

    #[test]
    fn ticket_round_trips() {
        let signer = signer("k1", 1);
        let verified = signer.verify(&queue(), ticket(&signer).as_bytes()).unwrap();
        assert_eq!(verified.session(), place().session);
        assert_eq!(verified.arrival(), place().arrival);
        assert_eq!((verified.epoch(), verified.position(), verified.admitted_at()), (4, Some(7), None));
        assert_eq!(verified.signed_at(), Micros(1_700_000_000_500_000));
        assert_eq!((verified.slot_expires_at(), verified.is_unconfirmed(), verified.census()), (None, false, None));
        let census = Census { at: Micros(1_700_000_000_500_000), active: 10_000_000, reached: place().arrival };
        let shown = ShownEstimate { position: Some(7), wait_ms: Some(604_800_000), census: Some(census) };
        let telling = signer.sign_with_estimate(&queue(), 4, Micros(1_700_000_000_500_000), &place(), shown).unwrap();
        let verified = signer.verify(&queue(), telling.as_bytes()).unwrap();
        assert_eq!((verified.wait_ms(), verified.census()), (Some(604_800_000), Some(census)));
        assert!(telling.len() < 400, "{}", telling.len());
    }

    #[test]
    fn admitted_ticket_has_the_slot_expiry() {
        let signer = signer("k1", 1);
        let now = Micros(1_700_000_000_500_000);
        let place = SessionState { admitted_at: Some(now), confirmed: false, ..place() };
        let token = signer.sign(&queue(), 4, now, &place, None).unwrap();
        let verified = signer.verify(&queue(), token.as_bytes()).unwrap();
        assert_eq!((verified.slot_expires_at(), verified.is_unconfirmed()), (Some(place.expires_at), true));
    }

    #[test]
    fn ticket_of_another_queue_is_rejected() {
        let signer = signer("k1", 1);
        let other: QueueId = "other".parse().unwrap();
        assert_eq!(signer.verify(&other, ticket(&signer).as_bytes()), Err(TicketError::WrongQueue));
    }

    #[test]
    fn key_rotation_keeps_tickets_valid() {
        let (old, new) = (KeyList::of_bytes("old", [1; 32]), KeyList::of_bytes("new", [2; 32]));
        let both: KeyList = format!("{},{}", new.expose(), old.expose()).parse().unwrap();
        let (old, new, both) =
            (TicketSigner::new(&old).unwrap(), TicketSigner::new(&new).unwrap(), TicketSigner::new(&both).unwrap());
        assert!(both.verify(&queue(), ticket(&old).as_bytes()).is_ok());
        assert!(new.verify(&queue(), ticket(&both).as_bytes()).is_ok());
        assert_eq!(new.verify(&queue(), ticket(&old).as_bytes()), Err(TicketError::UnknownKey));
    }

    #[test]
    fn ticket_of_a_newer_version_is_accepted() {
        let signer = signer("k1", 1);
        let good = ticket(&signer);
        let parts: Vec<&str> = good.split('.').collect();
        let claims = String::from_utf8(URL_SAFE_NO_PAD.decode(parts[1]).unwrap()).unwrap();
        let more = URL_SAFE_NO_PAD.encode(claims.replacen('{', r#"{"z":{"new":[1]},"#, 1));
        let message = format!("{}.{more}", parts[0]);
        let signature = URL_SAFE_NO_PAD.encode(signer.keys[0].algorithm.sign(message.as_bytes()));
        let token = format!("{message}.{signature}");
        assert_eq!(signer.verify(&queue(), token.as_bytes()), signer.verify(&queue(), good.as_bytes()));
    }

    #[test]
    fn alg_none_and_swapped_algorithms_are_rejected() {
        let signer = signer("k1", 1);
        let good = ticket(&signer);
        let parts: Vec<&str> = good.split('.').collect();
        for header in [
            r#"{"alg":"none","kid":"k1"}"#,
            r#"{"alg":"HS512","kid":"k1"}"#,
            r#"{"alg":"EdDSA","kid":"k1"}"#,
            r#"{"alg":"HS256"}"#,
            r#"{"alg":"HS256","kid":"other"}"#,
            r#"{"alg":"HS256","kid":null}"#,
            r#"{"alg":["HS256"],"kid":"k1"}"#,
        ] {
            let header = URL_SAFE_NO_PAD.encode(header);
            for signature in ["", parts[2]] {
                let forged = format!("{header}.{}.{signature}", parts[1]);
                assert!(signer.verify(&queue(), forged.as_bytes()).is_err(), "{forged}");
            }
        }
        assert_eq!(signer.verify(&queue(), &[b'a'; TICKET_MAX + 1]), Err(TicketError::TooLong));
    }

    #[test]
    fn ticket_signed_with_another_secret_is_rejected() {
        assert_eq!(
            signer("k1", 1).verify(&queue(), ticket(&signer("k1", 2)).as_bytes()),
            Err(TicketError::BadSignature)
        );
    }

    proptest! {
        #[test]
        fn garbage_is_rejected_without_panic(token in proptest::collection::vec(any::<u8>(), 0..600)) {
            prop_assert!(signer("k1", 1).verify(&queue(), &token).is_err());
        }

        #[test]
        fn modified_ticket_is_rejected(at in 0_usize..300, to in any::<u8>()) {
            let signer = signer("k1", 1);
            let mut token = ticket(&signer).into_bytes();
            let at = at % token.len();
            let original = signer.verify(&queue(), &token).unwrap();
            token[at] = to;
            if let Ok(found) = signer.verify(&queue(), &token) {
                prop_assert_eq!(found, original, "another spelling of the same bytes at most");
            }
        }
    }
}
