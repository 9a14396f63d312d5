//! What can't be undone is asked for twice: the first answer says in words what will happen and carries a token, and only
//! the same request with that token does it.

use http::HeaderMap;
use serde::Serialize;
use utoipa::ToSchema;
use vestibule_core::Message;
use vestibule_core::records::{EphemeralKey, EphemeralKind};

use crate::access::Caller;
use crate::phrase::PhraseView;
use crate::problem::Problem;
use crate::secret::{hash, new_secret};
use crate::state::Admin;

/// Header that carries the token.
pub(crate) const CONFIRM_HEADER: &str = "x-vestibule-confirm";
/// Seconds for which a token is good.
const CONFIRM_TTL: u64 = 120;

/// What is to be confirmed.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Confirmation {
    /// Goes into the header `X-Vestibule-Confirm`; good for one request.
    token: String,
    /// Seconds for which the token is good.
    expires_in: u64,
    /// What will happen, as a sentence.
    effect: String,
    /// The same, for those who say it in another language.
    pub(crate) phrase: PhraseView,
}

/// Lets a request pass that confirms exactly this: the same operator, the same action, on the same state of things.
/// `subject` names all that the action is about, revision and numbers included.
pub(crate) async fn confirmed(
    admin: &Admin,
    caller: &Caller,
    headers: &HeaderMap,
    subject: &str,
    effect: impl FnOnce() -> Message,
) -> Result<(), Problem> {
    let wanted = format!("{} {} {subject}", caller.operator, caller.token.as_deref().unwrap_or("-"));
    let given = headers.get(CONFIRM_HEADER).and_then(|value| value.to_str().ok()).filter(|token| !token.is_empty());
    if let Some(token) = given
        && admin.records.take_ephemeral(&note(token)).await?.as_deref() == Some(wanted.as_str())
    {
        return Ok(());
    }
    let token = new_secret();
    admin.records.set_ephemeral(&note(&token), &wanted, CONFIRM_TTL).await?;
    let effect = effect();
    let (effect, phrase) = (effect.to_string(), PhraseView(effect));
    Err(Problem::ConfirmationRequired(Box::new(Confirmation { token, expires_in: CONFIRM_TTL, effect, phrase })))
}

fn note(token: &str) -> EphemeralKey {
    EphemeralKey::new(EphemeralKind::Confirmation, hash(token))
}
