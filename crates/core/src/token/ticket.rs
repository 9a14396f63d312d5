//! Tickets: the visitor's position, kept by the visitor. JWTs signed with HS256 and a secret of the
//! deployment.
//!
//! Only [`TicketSigner::verify`] creates a [`Ticket`], stores accept nothing else, and signing
//! takes the [`SessionState`] returned by a store: an unverified ticket is never signed again.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::account_key::AccountKey;
use super::jws::{self, HS256_LEN, Hs256, Parts, TokenKey};
use super::keys::{KeyError, KeyList};
use super::mac::Mac;
use super::network::{NetworkKey, PrefixDigest, PrefixKind};
use crate::hex;
use crate::identity::AccountCode;
use crate::line::{Census, LobbyEntry, SessionState, Ticket, TicketAccount};
use crate::time::Micros;
use crate::{ChallengeSigner, Draw, EventId, QueueId, SessionId};

/// Maximum length of a ticket, in bytes. Tickets have about 300.
pub(super) const TICKET_MAX: usize = 1024;
/// The type in the header of a pre-ticket.
pub(super) const PRE_TICKET_TYPE: &str = "pre-ticket+jwt";

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
    /// Whether that wait was presumed: the pace of the line was not known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    m: bool,
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
    /// The event in whose draw the session got its arrival.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    d: Option<EventId>,
    /// The batch of the code with which the session was invited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    b: Option<u16>,
    /// Fingerprint of the token that named the account of the bearer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    i: Option<u32>,
    /// The code of the account of the bearer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    o: Option<AccountCode>,
    /// The session that the bearer had before signing in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    f: Option<SessionId>,
}

/// The claims of a lobby ticket.
#[derive(Serialize, Deserialize)]
struct LobbyClaims {
    /// Queue.
    q: QueueId,
    /// Epoch.
    e: u64,
    /// Session.
    s: SessionId,
    /// When the visitor came to the lobby, by the store's clock.
    a: Micros,
    /// Event.
    d: EventId,
    /// The batch of the code with which the visitor was invited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    b: Option<u16>,
    /// Fingerprint of the token that named the account of the bearer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    i: Option<u32>,
    /// The code of the account of the bearer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    o: Option<AccountCode>,
}

/// The account that a ticket or a lobby ticket names.
fn account_of(fingerprint: Option<u32>, code: Option<AccountCode>) -> Option<TicketAccount> {
    fingerprint.zip(code).map(|(fingerprint, code)| TicketAccount { fingerprint, code })
}

/// A lobby ticket whose signature was verified: its bearer was in the lobby of an event before the start (rule 14).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LobbyTicket {
    epoch: u64,
    session: SessionId,
    came_at: Micros,
    event: EventId,
    batch: Option<u16>,
    account: Option<TicketAccount>,
}

impl LobbyTicket {
    /// The epoch in which it was signed.
    pub const fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The session whose number is drawn.
    pub const fn session(&self) -> SessionId {
        self.session
    }

    /// When the visitor came to the lobby, by the store's clock.
    pub const fn came_at(&self) -> Micros {
        self.came_at
    }

    /// The event.
    pub const fn event(&self) -> &EventId {
        &self.event
    }

    /// The batch of the code with which the visitor was invited.
    pub const fn batch(&self) -> Option<u16> {
        self.batch
    }

    /// The account of its bearer (rule 24).
    pub const fn account(&self) -> Option<TicketAccount> {
        self.account
    }

    /// The ticket of the session in line after the draw, signed at the draw (rule 15.6): the line restores the session at
    /// its drawn arrival.
    ///
    /// `head_start` of its batch in microseconds is subtracted from the drawn arrival (rule 19).
    pub fn drawn(&self, draw: &Draw, drawn_at: Micros, head_start: u64) -> Ticket {
        Ticket {
            epoch: self.epoch,
            session: self.session,
            arrival: draw.arrival(self.session).ahead(head_start),
            admitted_at: None,
            position: None,
            wait_ms: None,
            presumed: false,
            census: None,
            signed_at: drawn_at,
            slot_expires_at: None,
            unconfirmed: false,
            event: Some(self.event.clone()),
            batch: self.batch,
            account: self.account,
            former: None,
            came_at: Some(self.came_at),
        }
    }
}

/// What the visitor was shown about the line. It is kept in the ticket, so that the next answer
/// continues from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ShownEstimate {
    /// The position.
    pub position: Option<u64>,
    /// Median of the expected wait, in milliseconds.
    pub wait_ms: Option<u64>,
    /// Whether this wait rests on `active_ttl`, since the pace of the line was not known.
    pub presumed: bool,
    /// The census at signing. It is not shown; a recovery starts from it if the store loses its
    /// state.
    pub census: Option<Census>,
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
    lobby: TokenKey<Hs256>,
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

    /// Signs a session state returned by a store. `position` is the position shown to the visitor.
    ///
    /// Returns `None` if the claims can't be serialized, which does not happen.
    pub fn sign(
        &self,
        queue: &QueueId,
        epoch: u64,
        now: Micros,
        session: &SessionState,
        position: Option<u64>,
    ) -> Option<String> {
        let shown = ShownEstimate { position, ..ShownEstimate::default() };
        self.sign_with_estimate(queue, epoch, now, session, shown, TicketOrigin::default())
    }

    /// Signs a lobby ticket for a newcomer whom the store counted in the lobby of this event.
    ///
    /// Returns `None` if the claims can't be serialized, which does not happen.
    pub fn sign_lobby(&self, queue: &QueueId, event: &EventId, entry: &LobbyEntry) -> Option<String> {
        let (q, d) = (queue.clone(), event.clone());
        let claims = LobbyClaims {
            q,
            e: entry.epoch(),
            s: entry.session(),
            a: entry.at(),
            d,
            b: entry.batch(),
            i: entry.account().map(|account| account.fingerprint),
            o: entry.account().map(|account| account.code),
        };
        self.keys.first()?.lobby.sign(&claims, TICKET_MAX)
    }

    /// Signs a session state returned by a store, with everything shown to the visitor.
    ///
    /// Returns `None` if the claims can't be serialized, which does not happen.
    pub fn sign_with_estimate(
        &self,
        queue: &QueueId,
        epoch: u64,
        now: Micros,
        session: &SessionState,
        shown: ShownEstimate,
        origin: TicketOrigin<'_>,
    ) -> Option<String> {
        let claims = Claims {
            q: queue.clone(),
            e: epoch,
            s: session.id,
            a: session.arrival,
            n: session.admitted_at,
            p: shown.position,
            w: shown.wait_ms,
            m: shown.presumed,
            t: now,
            x: session.admitted_at.map(|_| session.expires_at.since(now)),
            u: !session.confirmed,
            c: shown.census.map(|census| census.active),
            r: shown.census.map(|census| census.reached),
            d: origin.event.cloned(),
            b: origin.batch,
            i: origin.account.map(|account| account.fingerprint),
            o: origin.account.map(|account| account.code),
            f: origin.former,
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
        let (claims, _): (Claims, _) = self.verified(token, |key| &key.ticket)?;
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
            presumed: claims.m,
            census,
            signed_at: claims.t,
            slot_expires_at: claims.x.map(|left| Micros(claims.t.0.saturating_add(left))),
            unconfirmed: claims.u,
            event: claims.d,
            batch: claims.b,
            account: account_of(claims.i, claims.o),
            former: claims.f,
            came_at: None,
        })
    }

    /// Verifies a lobby ticket for this queue.
    ///
    /// # Errors
    /// Returns why the ticket is not valid; untrusted input has no other effect.
    pub fn verify_lobby(&self, queue: &QueueId, token: &[u8]) -> Result<LobbyTicket, TicketError> {
        let (claims, _): (LobbyClaims, _) = self.verified(token, |key| &key.lobby)?;
        let LobbyClaims { q, e: epoch, s: session, a: came_at, d: event, b: batch, i: fingerprint, o: code } = claims;
        if q != *queue {
            return Err(TicketError::WrongQueue);
        }
        Ok(LobbyTicket { epoch, session, came_at, event, batch, account: account_of(fingerprint, code) })
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

    fn session() -> SessionState {
        SessionState {
            id: SessionId::from_bytes([3; 14]),
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

    fn event() -> EventId {
        "spring-sale".parse().unwrap()
    }

    fn lobby_ticket(signer: &TicketSigner) -> String {
        let at = |time: &str| time.parse::<crate::Timestamp>().unwrap().micros();
        let settings = crate::settings::Settings::from_value(&serde_json::json!({
            "id": "acme-tour", "tenant": "acme", "hosts": ["*"], "quota": 1, "handover": { "kind": "check" }, "mode": "scheduled",
            "events": [{ "id": "spring-sale", "starts_at": "2027-03-04T10:00:00Z", "ends_at": "2027-03-04T14:00:00Z" }],
        }));
        let now = at("2027-03-04T09:40:00Z");
        let visit = crate::line::Visit::joining(session().id);
        let answer = crate::line::Line::new(settings.unwrap().line, now, false).visit(now, &visit);
        signer.sign_lobby(&queue(), &event(), &answer.lobby_entry(&visit).unwrap()).unwrap()
    }

    fn signer(kid: &str, byte: u8) -> TicketSigner {
        TicketSigner::new(&KeyList::of_bytes(kid, [byte; 32])).unwrap()
    }

    fn ticket(signer: &TicketSigner) -> String {
        signer.sign(&queue(), 4, Micros(1_700_000_000_500_000), &session(), Some(7)).unwrap()
    }

    #[test]
    fn ticket_round_trips() {
        let signer = signer("k1", 1);
        let verified = signer.verify(&queue(), ticket(&signer).as_bytes()).unwrap();
        assert_eq!(verified.session(), session().id);
        assert_eq!(verified.arrival(), session().arrival);
        assert_eq!((verified.epoch(), verified.position(), verified.admitted_at()), (4, Some(7), None));
        assert_eq!(verified.signed_at(), Micros(1_700_000_000_500_000));
        assert_eq!((verified.slot_expires_at(), verified.is_unconfirmed(), verified.census()), (None, false, None));
        let census = Census { at: Micros(1_700_000_000_500_000), active: 10_000_000, reached: session().arrival };
        let shown =
            ShownEstimate { position: Some(7), wait_ms: Some(604_800_000), presumed: true, census: Some(census) };
        let telling = signer
            .sign_with_estimate(
                &queue(),
                4,
                Micros(1_700_000_000_500_000),
                &session(),
                shown,
                TicketOrigin { event: Some(&event()), batch: Some(7), ..TicketOrigin::default() },
            )
            .unwrap();
        let verified = signer.verify(&queue(), telling.as_bytes()).unwrap();
        assert_eq!((verified.wait_ms(), verified.census()), (Some(604_800_000), Some(census)));
        assert_eq!(verified.event(), Some(&event()));
        assert!(telling.len() < 420, "{}", telling.len());
    }

    #[test]
    fn admitted_ticket_has_the_slot_expiry() {
        let signer = signer("k1", 1);
        let now = Micros(1_700_000_000_500_000);
        let session = SessionState { admitted_at: Some(now), confirmed: false, ..session() };
        let token = signer.sign(&queue(), 4, now, &session, None).unwrap();
        let verified = signer.verify(&queue(), token.as_bytes()).unwrap();
        assert_eq!((verified.slot_expires_at(), verified.is_unconfirmed()), (Some(session.expires_at), true));
    }

    #[test]
    fn lobby_tickets_are_no_tickets() {
        let signer = signer("k1", 1);
        let token = lobby_ticket(&signer);
        let verified = signer.verify_lobby(&queue(), token.as_bytes()).unwrap();
        assert_eq!((verified.session(), verified.event(), verified.epoch()), (session().id, &event(), 1));
        assert_eq!(verified.came_at().seconds(), 1_804_153_200);
        assert_eq!(signer.verify(&queue(), token.as_bytes()), Err(TicketError::UnknownKey));
        assert_eq!(signer.verify_lobby(&queue(), ticket(&signer).as_bytes()), Err(TicketError::UnknownKey));
        assert_eq!(signer.verify_lobby(&"other".parse().unwrap(), token.as_bytes()), Err(TicketError::WrongQueue));
        let header: serde_json::Value =
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(token.split('.').next().unwrap()).unwrap()).unwrap();
        assert_eq!(header, serde_json::json!({ "typ": "lobby", "alg": "HS256", "kid": "k1" }));
        assert!(token.len() < 420, "{}", token.len());
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
