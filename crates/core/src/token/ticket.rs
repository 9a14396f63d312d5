//! Tickets: the visitor's position, kept by the visitor. JWTs signed with HS256 and a secret of the
//! deployment.
//!
//! Only [`TicketSigner::verify`] creates a [`Ticket`], stores accept nothing else, and signing
//! takes the [`VisitAnswer`] of a store: an unverified ticket is never signed again.

use serde::de::DeserializeOwned;

use super::account_key::AccountKey;
use super::jws::{self, HS256_LEN, Hs256, Parts, TokenKey};
use super::keys::{KeyError, KeyList};
use super::mac::Mac;
use super::network::{NetworkKey, PrefixDigest, PrefixKind};
use crate::hex;
use crate::line::{Ticket, TicketAccount, TicketClaims, VisitAnswer};
use crate::{ChallengeSigner, EventId, QueueId, SessionId};

/// Maximum length of a ticket, in bytes. Tickets have about 300.
pub(super) const TICKET_MAX: usize = 1024;
/// The type in the header of a pre-ticket.
pub(super) const PRE_TICKET_TYPE: &str = "pre-ticket+jwt";

/// The part of the visitor status that the ticket keeps, so that the next one continues from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ShownStatus {
    /// The position.
    pub position: Option<u64>,
    /// Median of the estimated wait, in milliseconds.
    pub wait_ms: Option<u64>,
    /// Whether this wait rests on `active_ttl`, since the pace of the line was not known.
    pub presumed: bool,
}

/// How a session got its arrival, besides the time at which it came, and whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TicketOrigin<'a> {
    /// The event in whose draw it got it.
    pub event: Option<&'a EventId>,
    /// The batch of the code with which it was invited.
    pub batch: Option<u16>,
    /// The account of its bearer.
    pub account: Option<TicketAccount>,
    /// The session that its bearer had before signing in.
    pub former: Option<SessionId>,
}

/// Why a ticket is not valid. Its bearer is treated as a newcomer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TicketError {
    /// Longer than 1024 bytes.
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

/// Number of hexadecimal digits by which a deployment is known.
const DEPLOYMENT_LEN: usize = 16;

/// Signs and verifies tickets.
///
/// A ticket is a regular JWT, but only this type reads it. Its header must therefore equal, byte
/// for byte, one that this type writes. This checks key and algorithm together and leaves no header
/// to interpret.
pub struct TicketSigner {
    pub(super) keys: Vec<TicketKey>,
    challenges: ChallengeSigner,
}

/// A key that signs tickets. Each type of ticket has its own header, so that no program takes one for the other.
pub(super) struct TicketKey {
    ticket: TokenKey<Hs256>,
    pub(super) lobby: TokenKey<Hs256>,
    pub(super) pre_ticket: TokenKey<Hs256>,
    pub(super) networks: NetworkKey,
    pub(super) accounts: AccountKey,
    deployment: String,
}

impl TicketSigner {
    /// A signer with these keys; the first one signs.
    ///
    /// # Errors
    /// Returns an error for a key of the wrong length.
    pub fn new(keys: &KeyList) -> Result<Self, KeyError> {
        let challenges = ChallengeSigner::new(keys)?;
        let keys = keys.for_tickets()?.iter().map(|key| {
            let secret = || Hs256::new(&key.secret).map_err(|_| KeyError::Length(key.kid.clone()));
            let lobby = TokenKey::of_type("lobby", &key.kid, secret()?);
            let pre_ticket = TokenKey::of_type(PRE_TICKET_TYPE, &key.kid, secret()?);
            let ticket = TokenKey::new(&key.kid, secret()?);
            let mut deployment = hex(Mac::labeled(&key.secret, "deployment").of(&[]));
            deployment.truncate(DEPLOYMENT_LEN);
            let (networks, accounts) = (NetworkKey::of(key), AccountKey::of(key));
            Ok(TicketKey { ticket, lobby, pre_ticket, networks, accounts, deployment })
        });
        Ok(Self { keys: keys.collect::<Result<_, _>>()?, challenges })
    }

    /// Makes and verifies challenges with keys that derive from the ticket keys.
    pub const fn challenges(&self) -> &ChallengeSigner {
        &self.challenges
    }

    /// Signs the ticket of the session in an answer of a store. `None` if the answer has none, or if the claims can't be
    /// serialized, which does not happen.
    pub fn sign(
        &self,
        queue: &QueueId,
        answer: &VisitAnswer,
        shown: ShownStatus,
        origin: TicketOrigin<'_>,
    ) -> Option<String> {
        let session = answer.session?;
        let claims = TicketClaims {
            queue: queue.clone(),
            epoch: answer.epoch,
            session: session.id,
            arrival: session.arrival,
            admitted_at: session.admitted_at,
            position: shown.position,
            wait_ms: shown.wait_ms,
            presumed: shown.presumed,
            signed_at: answer.now,
            slot_left: session.admitted_at.map(|_| session.expires_at.since(answer.now)),
            unconfirmed: !session.confirmed,
            active: Some(answer.active),
            reached: Some(answer.reached),
            event: origin.event.cloned(),
            batch: origin.batch,
            account: origin.account,
            former: origin.former,
            came_at: None,
        };
        self.keys.first()?.ticket.sign(&claims, TICKET_MAX)
    }

    /// The digest of a client's address or network, such as `203.0.113.0/24`, with the key that signs. `None` without a key,
    /// which does not happen.
    pub fn prefix_digest(&self, kind: PrefixKind, queue: &QueueId, epoch: u64, prefix: &str) -> Option<PrefixDigest> {
        Some(self.keys.first()?.networks.digest(kind, queue, epoch, prefix))
    }

    /// For each key 16 hexadecimal digits that are the same in all processes with this key, and say nothing about it.
    pub fn deployment_digits(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(|key| key.deployment.as_str())
    }

    /// Verifies a ticket for this queue.
    ///
    /// # Errors
    /// Returns why the ticket is not valid; untrusted input has no other effect.
    pub fn verify(&self, queue: &QueueId, token: &[u8]) -> Result<Ticket, TicketError> {
        let (claims, _): (TicketClaims, _) = self.verified(token, |key| &key.ticket)?;
        if claims.queue == *queue { Ok(Ticket(claims)) } else { Err(TicketError::WrongQueue) }
    }

    /// The claims of a token that was signed with the key of this type, and that key.
    pub(super) fn verified<T: DeserializeOwned>(
        &self,
        token: &[u8],
        key_of: impl Fn(&TicketKey) -> &TokenKey<Hs256>,
    ) -> Result<(T, &TicketKey), TicketError> {
        if token.len() > TICKET_MAX {
            return Err(TicketError::TooLong);
        }
        let token = std::str::from_utf8(token).map_err(|_| TicketError::UnknownKey)?;
        let parts = Parts::of(token).ok_or(TicketError::UnknownKey)?;
        let is_header = |key: &&TicketKey| key_of(key).header == parts.header;
        let found = self.keys.iter().find(is_header).ok_or(TicketError::UnknownKey)?;
        let key = key_of(found);
        let mut buffer = [0; TICKET_MAX];
        let signature = jws::decode(parts.signature, &mut buffer[..HS256_LEN]).ok_or(TicketError::BadSignature)?;
        if !key.algorithm.verify(parts.message.as_bytes(), signature) {
            return Err(TicketError::BadSignature);
        }
        let claims = jws::decode(parts.claims, &mut buffer).ok_or(TicketError::BadSignature)?;
        let claims = serde_json::from_slice(claims).map_err(|_| TicketError::BadSignature)?;
        Ok((claims, found))
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use proptest::prelude::*;

    use super::super::jws::Algorithm as _;
    use super::*;
    use crate::line::{Line, LineRules, SessionState, Visit};
    use crate::time::Micros;

    const NOW: Micros = Micros(1_700_000_000_500_000);

    fn answer() -> VisitAnswer {
        let session = SessionState {
            id: SessionId::from_bytes([3; 14]),
            arrival: Micros(1_700_000_000_000_001),
            admitted_at: None,
            position: 7,
            expires_at: Micros(1_700_000_060_500_000),
            confirmed: true,
        };
        let line = Line::new(LineRules::with_quota(1), NOW, false).visit(NOW, &Visit::default());
        VisitAnswer { epoch: 4, session: Some(session), active: 10_000_000, reached: session.arrival, ..line }
    }

    fn queue() -> QueueId {
        "acme-tour".parse().unwrap()
    }

    fn signer(kid: &str, byte: u8) -> TicketSigner {
        TicketSigner::new(&KeyList::of_bytes(kid, [byte; 32])).unwrap()
    }

    fn ticket(signer: &TicketSigner) -> String {
        let shown = ShownStatus { position: Some(7), ..ShownStatus::default() };
        signer.sign(&queue(), &answer(), shown, TicketOrigin::default()).unwrap()
    }

    #[test]
    fn ticket_round_trips() {
        let signer = signer("k1", 1);
        let verified = signer.verify(&queue(), ticket(&signer).as_bytes()).unwrap();
        let session = answer().session.unwrap();
        assert_eq!((verified.session(), verified.arrival()), (session.id, session.arrival));
        assert_eq!((verified.epoch(), verified.position(), verified.admitted_at()), (4, Some(7), None));
        assert_eq!((verified.signed_at(), verified.census()), (NOW, Some(answer().census())));
        assert_eq!((verified.slot_expires_at(), verified.is_unconfirmed(), verified.wait_ms()), (None, false, None));
        let shown = ShownStatus { position: Some(7), wait_ms: Some(604_800_000), presumed: true };
        let event = "spring-sale".parse().unwrap();
        let account = TicketAccount { fingerprint: 7, code: "AAAAAAAAAAAAAAAAAAAAAA".parse().unwrap() };
        let origin = TicketOrigin { event: Some(&event), batch: Some(7), account: Some(account), former: None };
        let telling = signer.sign(&queue(), &answer(), shown, origin).unwrap();
        let verified = signer.verify(&queue(), telling.as_bytes()).unwrap();
        assert_eq!((verified.wait_ms(), verified.due()), (Some(604_800_000), None));
        assert_eq!((verified.event(), verified.batch(), verified.account()), (Some(&event), Some(7), Some(account)));
        assert!(telling.len() < 480, "{}", telling.len());
        let claims = URL_SAFE_NO_PAD.decode(telling.split('.').nth(1).unwrap()).unwrap();
        let expected = format!(
            r#"{{"q":"acme-tour","e":4,"s":"{}","a":1700000000000001,"p":7,"w":604800000,"m":true,"t":1700000000500000,"c":10000000,"r":1700000000000001,"d":"spring-sale","b":7,"i":7,"o":"AAAAAAAAAAAAAAAAAAAAAA"}}"#,
            session.id
        );
        assert_eq!(String::from_utf8(claims).unwrap(), expected, "gates of other versions read it");
    }

    #[test]
    fn admitted_ticket_has_the_slot_expiry() {
        let signer = signer("k1", 1);
        let session = SessionState { admitted_at: Some(NOW), confirmed: false, ..answer().session.unwrap() };
        let answer = VisitAnswer { session: Some(session), ..answer() };
        let token = signer.sign(&queue(), &answer, ShownStatus::default(), TicketOrigin::default()).unwrap();
        let verified = signer.verify(&queue(), token.as_bytes()).unwrap();
        assert_eq!((verified.slot_expires_at(), verified.is_unconfirmed()), (Some(session.expires_at), true));
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
        let signature = URL_SAFE_NO_PAD.encode(signer.keys[0].ticket.algorithm.sign(message.as_bytes()));
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
