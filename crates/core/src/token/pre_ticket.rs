//! Pre-tickets: tokens of first visits that joined nobody. A pre-ticket names the session that joins when its bearer comes back
//! with it.
//!
//! Only [`TicketSigner::verify_pre_ticket`] creates a [`PreTicket`], and stores accept nothing else.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use super::ticket::{PRE_TICKET_TYPE, TICKET_MAX, TicketError, TicketSigner};
use crate::line::{PreTicket, PreTicketClaims};
use crate::time::Micros;
use crate::{QueueId, SessionId};

/// What a pre-ticket says.
#[derive(Serialize, Deserialize)]
struct Claims {
    #[serde(rename = "q")]
    queue: QueueId,
    #[serde(flatten)]
    claims: PreTicketClaims,
}

/// A first visit that joins nobody, to be signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstVisit {
    /// The epoch of the queue.
    pub epoch: u64,
    /// The session that will join.
    pub session: SessionId,
    /// When it was, by the store's clock.
    pub at: Micros,
    /// Whether the visitor was turned away, so that the arrival is preserved for `hold_ttl`.
    pub preserved: bool,
    /// The difficulty of the proof of work that is required.
    pub difficulty: Option<u32>,
}

impl FirstVisit {
    /// One whose arrival is not preserved, and which requires no proof of work.
    pub const fn new(epoch: u64, session: SessionId, at: Micros) -> Self {
        Self { epoch, session, at, preserved: false, difficulty: None }
    }
}

/// Whether a token, which is not verified, says that it is a pre-ticket: for programs that act as visitors.
pub fn is_pre_ticket(token: &str) -> bool {
    #[derive(Deserialize)]
    struct Header {
        typ: String,
    }
    let header = token.split('.').next().and_then(|header| URL_SAFE_NO_PAD.decode(header).ok());
    let header = header.and_then(|header| serde_json::from_slice::<Header>(&header).ok());
    header.is_some_and(|header| header.typ == PRE_TICKET_TYPE)
}

impl TicketSigner {
    /// Signs the pre-ticket of a first visit from a network, such as `203.0.113.0/24`; `None` if its address is not usable.
    ///
    /// Returns `None` if the claims can't be serialized, which does not happen.
    pub fn sign_first_visit(&self, queue: &QueueId, visit: &FirstVisit, network: Option<&str>) -> Option<String> {
        let key = self.keys.first()?;
        let claims = PreTicketClaims {
            epoch: visit.epoch,
            session: visit.session,
            first_visit: visit.at,
            network: network.map(|prefix| key.networks.number(queue, visit.epoch, prefix)),
            preserved: visit.preserved,
            difficulty: visit.difficulty,
            proven: None,
            challenge_ends_at: None,
        };
        key.pre_ticket.sign(&Claims { queue: queue.clone(), claims }, TICKET_MAX)
    }

    /// Signs a verified pre-ticket again. `network` is that of the request that brought it.
    ///
    /// Returns `None` if the claims can't be serialized, which does not happen.
    pub fn sign_pre_ticket(&self, queue: &QueueId, pre_ticket: &PreTicket, network: Option<&str>) -> Option<String> {
        let key = self.keys.first()?;
        let mut claims = pre_ticket.claims;
        // Another key may have signed it, which gave the network another number.
        if let Some(prefix) = network.filter(|_| pre_ticket.same_network && claims.network.is_some()) {
            claims.network = Some(key.networks.number(queue, claims.epoch, prefix));
        }
        key.pre_ticket.sign(&Claims { queue: queue.clone(), claims }, TICKET_MAX)
    }

    /// Verifies a pre-ticket for this queue. `network` is that of the request that brought it; `None` if its address is not
    /// usable.
    ///
    /// # Errors
    /// Returns why the pre-ticket is not valid; untrusted input has no other effect.
    pub fn verify_pre_ticket(
        &self,
        queue: &QueueId,
        token: &[u8],
        network: Option<&str>,
    ) -> Result<PreTicket, TicketError> {
        let (Claims { queue: of, claims }, key): (Claims, _) = self.verified(token, |key| &key.pre_ticket)?;
        if of != *queue {
            return Err(TicketError::WrongQueue);
        }
        let is_there =
            |number| network.is_some_and(|prefix| key.networks.number(queue, claims.epoch, prefix) == number);
        Ok(PreTicket { claims, same_network: claims.network.is_none_or(is_there) })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::ticket::{ShownStatus, TicketOrigin};
    use super::*;
    use crate::KeyList;
    use crate::line::{Line, LineRules, Visit};
    use crate::settings::Protection;

    const NETWORK: &str = "203.0.113.0/24";

    fn queue() -> QueueId {
        "tour".parse().unwrap()
    }

    fn signer(kid: &str, byte: u8) -> TicketSigner {
        TicketSigner::new(&KeyList::of_bytes(kid, [byte; 32])).unwrap()
    }

    fn visit() -> FirstVisit {
        let session = "2b6e6c34-6dd6-402e-80cd-e3f03456f3f7".parse().unwrap();
        FirstVisit::new(1, session, Micros(1_795_340_941_123_456))
    }

    fn part(token: &str, index: usize) -> Value {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(token.split('.').nth(index).unwrap()).unwrap()).unwrap()
    }

    #[test]
    fn pre_ticket_has_the_documented_claims() {
        let signer = signer("k1", 1);
        let token = signer.sign_first_visit(&queue(), &visit(), Some(NETWORK)).unwrap();
        assert_eq!(part(&token, 0), json!({ "typ": "pre-ticket+jwt", "alg": "HS256", "kid": "k1" }));
        let claims = json!({
            "q": "tour", "e": 1, "s": "2b6e6c34-6dd6-402e-80cd-e3f03456f3f7", "v": 1_795_340_941_123_456_u64, "c": 672_172_536,
        });
        assert_eq!(part(&token, 1), claims);
        assert_eq!(token.len(), 239);
    }

    #[test]
    fn pre_ticket_round_trips() {
        let signer = signer("k1", 1);
        let token = signer.sign_first_visit(&queue(), &visit(), Some(NETWORK)).unwrap();
        let read = signer.verify_pre_ticket(&queue(), token.as_bytes(), Some(NETWORK)).unwrap();
        assert_eq!((read.epoch(), read.session(), read.first_visit()), (1, visit().session, visit().at));
        assert!(read.is_of_same_network() && !read.is_preserved());
        assert_eq!((read.difficulty(), read.proven(), read.challenge_ends_at()), (None, None, None));
        let elsewhere = |network| signer.verify_pre_ticket(&queue(), token.as_bytes(), network).unwrap();
        assert!(!elsewhere(Some("198.51.100.0/24")).is_of_same_network() && !elsewhere(None).is_of_same_network());
        let anywhere = signer.sign_first_visit(&queue(), &visit(), None).unwrap();
        let read = signer.verify_pre_ticket(&queue(), anywhere.as_bytes(), Some(NETWORK)).unwrap();
        assert!(read.is_of_same_network(), "the network of the first visit is not known");
    }

    #[test]
    fn preserved_pre_ticket_keeps_its_claims() {
        let (old, new) = (KeyList::of_bytes("old", [1; 32]), KeyList::of_bytes("new", [2; 32]));
        let both: KeyList = format!("{},{}", new.expose(), old.expose()).parse().unwrap();
        let (old, both) = (TicketSigner::new(&old).unwrap(), TicketSigner::new(&both).unwrap());
        let claims = json!({
            "q": "tour", "e": 1, "s": visit().session, "v": visit().at, "c": 672_172_536, "d": 4, "p": 2,
            "t": 1_795_340_950, "x": 1_795_341_120,
        });
        let token = old.keys[0].pre_ticket.sign(&claims, TICKET_MAX).unwrap();
        let read = both.verify_pre_ticket(&queue(), token.as_bytes(), Some(NETWORK)).unwrap();
        assert_eq!((read.difficulty(), read.proven()), (Some(4), Some(2)));
        assert_eq!(read.challenge_ends_at(), Some(Micros(1_795_341_120_000_000)));
        let preserved = both.sign_pre_ticket(&queue(), &read.preserve(), Some(NETWORK)).unwrap();
        let read_again = both.verify_pre_ticket(&queue(), preserved.as_bytes(), Some(NETWORK)).unwrap();
        assert!(read_again.is_preserved() && read_again.is_of_same_network(), "also after a key rotation");
        let claims = PreTicketClaims { network: read.claims.network, ..read_again.claims };
        assert_eq!(PreTicket { claims, ..read_again }, read.preserve());
    }

    #[test]
    fn proofs_add_up_once() {
        let signer = signer("k1", 1);
        let token = signer.sign_first_visit(&queue(), &visit(), Some(NETWORK)).unwrap();
        let first = signer.verify_pre_ticket(&queue(), token.as_bytes(), Some(NETWORK)).unwrap().requiring(3);
        assert_eq!(first.work_left(), 3);
        let (at, later) = (visit().at, visit().at.add_seconds(60));
        let proven = first.proving(0, 2, at).unwrap();
        assert_eq!((proven.proven(), proven.work_left()), (Some(2), 1));
        assert_eq!(proven.proving(0, 2, later), Some(proven), "the same proof again");
        assert_eq!(proven.proving(2, 1, later).unwrap().proven(), Some(3));
        assert_eq!(first.proving(2, 1, at), None, "its base is not proven");
        assert_eq!(first.solving(7).solving(8).challenge_ends_at(), Some(Micros(7_000_000)), "the first challenge");
    }

    #[test]
    fn work_is_spent_after_hold_ttl() {
        let signer = signer("k1", 1);
        let token = signer.sign_first_visit(&queue(), &visit(), Some(NETWORK)).unwrap();
        let first = signer.verify_pre_ticket(&queue(), token.as_bytes(), Some(NETWORK)).unwrap().requiring(3);
        let after = |seconds| visit().at.add_seconds(seconds);
        assert_eq!(first.without_spent_work(after(9000), 600), first, "nothing is proven");
        let proven = first.solving(1_795_341_120).proving(0, 2, after(20)).unwrap();
        // Signed again meanwhile, with more work, it counts from the first proof on.
        let more = proven.proving(2, 1, after(300)).unwrap().restart(after(500));
        assert_eq!(more.without_spent_work(after(619), 600), more);
        let spent = more.without_spent_work(after(620), 600);
        assert_eq!((spent.session(), spent.first_visit(), spent.work_left()), (visit().session, after(620), 3));
        assert!(!spent.is_preserved() && spent.challenge_ends_at().is_none());
        let again = spent.proving(0, 3, after(630)).unwrap();
        assert_eq!(again.without_spent_work(after(640), 600), again, "it is proven again");
    }

    #[test]
    fn pre_tickets_are_no_tickets() {
        let signer = signer("k1", 1);
        let token = signer.sign_first_visit(&queue(), &visit(), Some(NETWORK)).unwrap();
        assert_eq!(signer.verify(&queue(), token.as_bytes()), Err(TicketError::UnknownKey));
        assert_eq!(signer.verify_lobby(&queue(), token.as_bytes()), Err(TicketError::UnknownKey));
        let rules = LineRules { protection: Protection::without_pre_tickets(), ..LineRules::with_quota(1) };
        let answer = Line::new(rules, visit().at, false).visit(visit().at, &Visit::joining(visit().session));
        let ticket = signer.sign(&queue(), &answer, ShownStatus::default(), TicketOrigin::default()).unwrap();
        assert_eq!(signer.verify_pre_ticket(&queue(), ticket.as_bytes(), None), Err(TicketError::UnknownKey));
        assert!(is_pre_ticket(&token) && !is_pre_ticket(&ticket) && !is_pre_ticket("a.b"));
    }

    #[test]
    fn forged_pre_tickets_are_rejected() {
        let signed = signer("k1", 1);
        let token = signed.sign_first_visit(&queue(), &visit(), Some(NETWORK)).unwrap();
        let verify = |token: &str| signed.verify_pre_ticket(&queue(), token.as_bytes(), Some(NETWORK)).unwrap_err();
        let other_key = signer("k1", 2).sign_first_visit(&queue(), &visit(), Some(NETWORK)).unwrap();
        assert_eq!(verify(&other_key), TicketError::BadSignature);
        let other_queue = signed.sign_first_visit(&"other".parse().unwrap(), &visit(), Some(NETWORK)).unwrap();
        assert_eq!(verify(&other_queue), TicketError::WrongQueue);
        assert_eq!(verify(&token[..token.len() - 5]), TicketError::BadSignature);
        assert_eq!(verify(&"a".repeat(5000)), TicketError::TooLong);
        let parts: Vec<&str> = token.split('.').collect();
        for header in [
            r#"{"typ":"pre-ticket+jwt","alg":"none","kid":"k1"}"#,
            r#"{"typ":"pre-ticket+jwt","alg":"HS256","kid":"k2"}"#,
            r#"{"typ":"PRE-TICKET+JWT","alg":"HS256","kid":"k1"}"#,
        ] {
            let forged = format!("{}.{}.{}", URL_SAFE_NO_PAD.encode(header), parts[1], parts[2]);
            assert_eq!(verify(&forged), TicketError::UnknownKey, "{header}");
        }
        let later = parts[1].replacen(parts[1], &URL_SAFE_NO_PAD.encode(r#"{"q":"tour","e":1,"v":1}"#), 1);
        assert_eq!(verify(&format!("{}.{later}.{}", parts[0], parts[2])), TicketError::BadSignature);
    }
}
