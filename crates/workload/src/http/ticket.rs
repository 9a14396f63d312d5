//! What a ticket says to its bearer. Its signature is for the gate; a visitor only reads it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderValue;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Microseconds per millisecond.
const MICROS_PER_MILLI: u64 = 1000;

/// A ticket that a response sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticket {
    /// Whether it is one of a lobby.
    pub(super) lobby: bool,
    /// For an admitted session, the time from the admission to the signature in microseconds, by the store's clock.
    pub(super) admitted_for_us: Option<u64>,
    /// For an admitted session, the time from the signature until its slot expires, in milliseconds.
    pub(super) slot_ms: Option<u32>,
}

#[derive(Deserialize)]
struct Header {
    typ: Option<String>,
}

/// Times are microseconds since 1970.
#[derive(Deserialize)]
struct Claims {
    /// When the session was admitted.
    n: Option<u64>,
    /// When the ticket was signed.
    t: Option<u64>,
    /// The time from then until the slot expires.
    x: Option<u64>,
}

impl Ticket {
    /// The ticket in these `Set-Cookie` headers, or `None`.
    pub(super) fn of(set_cookies: &[HeaderValue]) -> Option<Self> {
        set_cookies.iter().find_map(|cookie| Self::read(cookie.to_str().ok()?.strip_prefix("vestibule_")?))
    }

    fn read(cookie: &str) -> Option<Self> {
        let token = cookie.split(';').next()?.split_once('=')?.1;
        let mut parts = token.split('.');
        let (header, claims): (Header, Claims) = (decoded(parts.next()?)?, decoded(parts.next()?)?);
        let admitted_for_us = claims.n.zip(claims.t).map(|(admitted, signed)| signed.saturating_sub(admitted));
        let slot_ms = claims.x.map(|expires_in| u32::try_from(expires_in / MICROS_PER_MILLI).unwrap_or(u32::MAX));
        Some(Self { lobby: header.typ.as_deref() == Some("lobby"), admitted_for_us, slot_ms })
    }
}

fn decoded<T: DeserializeOwned>(part: &str) -> Option<T> {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use vestibule_core::line::{Line, LineRules, Visit, VisitAnswer};
    use vestibule_core::settings::Protection;
    use vestibule_core::{KeyList, Micros, SessionId, ShownStatus, TicketOrigin, TicketSigner};

    use super::*;

    fn set_cookie(token: &str) -> [HeaderValue; 2] {
        let ticket = format!("vestibule_tour={token}; Path=/; HttpOnly");
        [HeaderValue::from_static("other=1"), HeaderValue::try_from(ticket).unwrap()]
    }

    #[test]
    fn tickets_of_a_signer_are_read() {
        let (queue, signer) = ("tour".parse().unwrap(), TicketSigner::new(&KeyList::of_bytes("k", [7; 32])).unwrap());
        let admitted_at = Micros(1_700_000_000_000_000);
        let rules = LineRules { protection: Protection::without_pre_tickets(), ..LineRules::with_quota(1) };
        let mut line = Line::new(rules, admitted_at, false);
        let mut ticket = |at| {
            let answer = line.visit(at, &Visit::joining(SessionId::random()));
            let answer = VisitAnswer { now: Micros(at.0 + 250), ..answer };
            let token = signer.sign(&queue, &answer, ShownStatus::default(), TicketOrigin::default()).unwrap();
            Ticket::of(&set_cookie(&token))
        };
        let admitted = Ticket { lobby: false, admitted_for_us: Some(250), slot_ms: Some(29_999) };
        let waiting = Ticket { admitted_for_us: None, slot_ms: None, ..admitted };
        assert_eq!(ticket(admitted_at), Some(admitted), "its slot expires after claim_ttl");
        assert_eq!(ticket(admitted_at), Some(waiting));
        let lobby = [r#"{"typ":"lobby"}"#, "{}"].map(|part| URL_SAFE_NO_PAD.encode(part)).join(".");
        assert_eq!(Ticket::of(&set_cookie(&lobby)), Some(Ticket { lobby: true, ..waiting }));
        for wrong in ["", "a.b.c", "e30"] {
            assert_eq!(Ticket::of(&set_cookie(wrong)), None, "{wrong}");
        }
    }
}
