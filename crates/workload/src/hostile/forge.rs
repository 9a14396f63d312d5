//! Forged tokens: what a client without a key can make of a genuine token.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use vestibule_core::{FirstVisit, KeyList, Micros, QueueId, SessionId, TicketSigner};

use crate::http::CookieJar;

/// Bytes of a token that is too long.
const OVERSIZED: usize = 5_000;
/// Number of different forgeries.
const FORGERIES: u32 = 6;

/// The cookies with a forged token in place of the genuine one. `number` selects the forgery.
pub(crate) fn forged_cookies(genuine: &CookieJar, number: u32) -> CookieJar {
    let Some((name, token)) = genuine.ticket() else { return genuine.clone() };
    let queue = name.rsplit_once("vestibule_").and_then(|(_, queue)| queue.parse().ok());
    let forged = forged(&token, queue.as_ref(), number);
    CookieJar::of(format!("{name}={forged}").into_bytes())
}

fn forged(token: &str, queue: Option<&QueueId>, number: u32) -> String {
    let mut parts = token.split('.');
    let [header, claims, signature] = [(); 3].map(|()| parts.next().unwrap_or_default());
    match number % FORGERIES {
        0 => format!("{}.{claims}.", encoded(r#"{"typ":"JWT","alg":"none"}"#)),
        1 => queue.and_then(signed_with_another_key).unwrap_or_default(),
        2 => format!("{header}.{}.{signature}", encoded(r#"{"q":"another-queue","e":1}"#)),
        3 => format!("{}.{claims}.{signature}", encoded(r#"{"typ":"JWT","alg":"HS256","kid":"k1"}"#)),
        4 => token[..token.len() * 2 / 3].to_owned(),
        _ => format!("{header}.{}.{signature}", "A".repeat(OVERSIZED)),
    }
}

fn encoded(json: &str) -> String {
    URL_SAFE_NO_PAD.encode(json)
}

fn signed_with_another_key(queue: &QueueId) -> Option<String> {
    let signer = TicketSigner::new(&KeyList::of_bytes("forged", [1; 32])).ok()?;
    let session = SessionId::from_bytes([1; 14]);
    let visit = FirstVisit { preserved: true, ..FirstVisit::new(1, session, Micros(1)) };
    signer.sign_first_visit(queue, &visit, None)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_forgery_is_accepted_as_a_token() {
        let signer = TicketSigner::new(&KeyList::of_bytes("k1", [7; 32])).unwrap();
        let queue: QueueId = "tour".parse().unwrap();
        let visit = FirstVisit::new(1, SessionId::random(), Micros(5));
        let token = signer.sign_first_visit(&queue, &visit, None).unwrap();
        let genuine = CookieJar::of(format!("other=1; vestibule_tour={token}").into_bytes());
        let mut different = HashSet::new();
        for number in 0..FORGERIES {
            let (name, forged) = forged_cookies(&genuine, number).ticket().unwrap();
            assert_eq!(name, "vestibule_tour");
            assert!(signer.verify(&queue, forged.as_bytes()).is_err(), "{number}: {forged}");
            assert!(signer.verify_pre_ticket(&queue, forged.as_bytes(), None).is_err(), "{number}: {forged}");
            different.insert(forged);
        }
        assert_eq!(different.len(), FORGERIES as usize);
        assert!(forged_cookies(&CookieJar::default(), 1).is_empty(), "there is nothing to forge yet");
    }
}
