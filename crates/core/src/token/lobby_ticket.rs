//! Lobby tickets: signed proofs that their bearers were in the lobby of a draw before the start.
//!
//! Only [`TicketSigner::verify_lobby`] creates a [`LobbyTicket`], and signing takes the [`LobbyEntry`] of a store.

use serde::{Deserialize, Serialize};

use super::ticket::{TICKET_MAX, TicketError, TicketSigner};
use crate::line::{LobbyEntry, Ticket, TicketAccount, TicketClaims};
use crate::time::Micros;
use crate::{Draw, EventId, QueueId, SessionId};

/// The claims of a lobby ticket. Unknown claims are ignored, as in tickets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct LobbyClaims {
    #[serde(rename = "q")]
    queue: QueueId,
    #[serde(rename = "e")]
    epoch: u64,
    #[serde(rename = "s")]
    session: SessionId,
    #[serde(rename = "a")]
    came_at: Micros,
    #[serde(rename = "d")]
    event: EventId,
    #[serde(rename = "b", skip_serializing_if = "Option::is_none")]
    batch: Option<u16>,
    #[serde(flatten)]
    account: Option<TicketAccount>,
}

/// A lobby ticket whose signature was verified: its bearer was in the lobby of an event before the start (rule 14).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LobbyTicket(LobbyClaims);

impl LobbyTicket {
    /// The epoch in which it was signed.
    pub const fn epoch(&self) -> u64 {
        self.0.epoch
    }

    /// The session whose number is drawn.
    pub const fn session(&self) -> SessionId {
        self.0.session
    }

    /// When the visitor came to the lobby, by the store's clock.
    pub const fn came_at(&self) -> Micros {
        self.0.came_at
    }

    /// The event.
    pub const fn event(&self) -> &EventId {
        &self.0.event
    }

    /// The batch of the code with which the visitor was invited.
    pub const fn batch(&self) -> Option<u16> {
        self.0.batch
    }

    /// The account of its bearer (rule 24).
    pub const fn account(&self) -> Option<TicketAccount> {
        self.0.account
    }

    /// The ticket of the session in line after the draw, signed at the draw (rule 15.6): the line restores the session at
    /// its drawn arrival.
    ///
    /// `head_start` of its batch in microseconds is subtracted from the drawn arrival (rule 19).
    pub fn drawn(&self, draw: &Draw, drawn_at: Micros, head_start: u64) -> Ticket {
        let LobbyClaims { queue, epoch, session, came_at, event, batch, account } = self.0.clone();
        Ticket(TicketClaims {
            queue,
            epoch,
            session,
            arrival: draw.arrival(session).ahead(head_start),
            admitted_at: None,
            position: None,
            wait_ms: None,
            presumed: false,
            signed_at: drawn_at,
            slot_left: None,
            unconfirmed: false,
            active: None,
            reached: None,
            event: Some(event),
            batch,
            account,
            former: None,
            came_at: Some(came_at),
        })
    }
}

impl TicketSigner {
    /// Signs a lobby ticket for a newcomer whom the store counted in the lobby of this event.
    ///
    /// Returns `None` if the claims can't be serialized, which does not happen.
    pub fn sign_lobby(&self, queue: &QueueId, event: &EventId, entry: &LobbyEntry) -> Option<String> {
        let claims = LobbyClaims {
            queue: queue.clone(),
            epoch: entry.epoch(),
            session: entry.session(),
            came_at: entry.at(),
            event: event.clone(),
            batch: entry.batch(),
            account: entry.account(),
        };
        self.keys.first()?.lobby.sign(&claims, TICKET_MAX)
    }

    /// Verifies a lobby ticket for this queue.
    ///
    /// # Errors
    /// Returns why the ticket is not valid; untrusted input has no other effect.
    pub fn verify_lobby(&self, queue: &QueueId, token: &[u8]) -> Result<LobbyTicket, TicketError> {
        let (claims, _): (LobbyClaims, _) = self.verified(token, |key| &key.lobby)?;
        if claims.queue == *queue { Ok(LobbyTicket(claims)) } else { Err(TicketError::WrongQueue) }
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use serde_json::{Value, json};

    use super::super::ticket::{ShownStatus, TicketOrigin};
    use super::*;
    use crate::line::{Line, LineRules, Visit};
    use crate::settings::{Protection, Settings};
    use crate::{KeyList, Timestamp};

    #[test]
    fn lobby_tickets_are_no_tickets() {
        let signer = TicketSigner::new(&KeyList::of_bytes("k1", [1; 32])).unwrap();
        let (queue, event): (QueueId, EventId) = ("acme-tour".parse().unwrap(), "spring-sale".parse().unwrap());
        let settings = Settings::from_value(&json!({
            "id": "acme-tour", "tenant": "acme", "hosts": ["*"], "quota": 1, "handover": { "kind": "check" }, "mode": "scheduled",
            "events": [{ "id": "spring-sale", "starts_at": "2027-03-04T10:00:00Z", "ends_at": "2027-03-04T14:00:00Z" }],
        }));
        let now = "2027-03-04T09:40:00Z".parse::<Timestamp>().unwrap().micros();
        let session = SessionId::from_bytes([3; 14]);
        let visit = Visit::joining(session);
        let answer = Line::new(settings.unwrap().line, now, false).visit(now, &visit);
        let token = signer.sign_lobby(&queue, &event, &answer.lobby_entry(&visit).unwrap()).unwrap();
        let verified = signer.verify_lobby(&queue, token.as_bytes()).unwrap();
        assert_eq!((verified.session(), verified.event(), verified.epoch()), (session, &event, 1));
        assert_eq!((verified.came_at(), verified.account()), (now, None));
        assert_eq!(signer.verify(&queue, token.as_bytes()), Err(TicketError::UnknownKey));
        assert_eq!(signer.verify_lobby(&"other".parse().unwrap(), token.as_bytes()), Err(TicketError::WrongQueue));
        let rules = LineRules { protection: Protection::without_pre_tickets(), ..LineRules::with_quota(1) };
        let answer = Line::new(rules, now, false).visit(now, &visit);
        let ticket = signer.sign(&queue, &answer, ShownStatus::default(), TicketOrigin::default()).unwrap();
        assert_eq!(signer.verify_lobby(&queue, ticket.as_bytes()), Err(TicketError::UnknownKey));
        let header: Value =
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(token.split('.').next().unwrap()).unwrap()).unwrap();
        assert_eq!(header, json!({ "typ": "lobby", "alg": "HS256", "kid": "k1" }));
        assert!(token.len() < 420, "{}", token.len());
    }
}
