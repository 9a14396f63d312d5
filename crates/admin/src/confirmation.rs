//! Confirmation of destructive actions: the first response describes the consequence and carries a token; the action runs
//! when the same request comes with that token.

use http::HeaderMap;
use vestibule_core::Message;
use vestibule_records::{EphemeralKey, EphemeralKind};

use crate::access::Principal;
use crate::message::MessageView;
use crate::problem::{Confirmation, Problem};
use crate::secret::{hash, new_secret};
use crate::state::Admin;

/// Header that carries the token.
pub(crate) const CONFIRM_HEADER: &str = "x-vestibule-confirm";
/// Seconds until a token expires.
const CONFIRM_TTL: u64 = 120;

/// Accepts a request that confirms exactly this: the same operator, the same action, on the same state. `subject`
/// identifies the action with its parameters and the revision it applies to.
pub(crate) async fn confirmed(
    admin: &Admin,
    principal: &Principal,
    headers: &HeaderMap,
    subject: &str,
    consequence: impl FnOnce() -> Message,
) -> Result<(), Problem> {
    let wanted = format!("{} {} {subject}", principal.operator, principal.token.as_deref().unwrap_or("-"));
    let given = headers.get(CONFIRM_HEADER).and_then(|value| value.to_str().ok()).filter(|token| !token.is_empty());
    if let Some(token) = given
        && admin.records.take_ephemeral(&key(token)).await?.as_deref() == Some(wanted.as_str())
    {
        return Ok(());
    }
    let token = new_secret();
    admin.records.set_ephemeral(&key(&token), &wanted, CONFIRM_TTL).await?;
    let message = consequence();
    Err(Problem::ConfirmationRequired(Box::new(Confirmation {
        token,
        expires_in: CONFIRM_TTL,
        consequence: message.to_string(),
        message: MessageView(message),
    })))
}

fn key(token: &str) -> EphemeralKey {
    EphemeralKey::new(EphemeralKind::Confirmation, hash(token))
}
