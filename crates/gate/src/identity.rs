//! Accounts of visitors (rule 24): finds the token in a request, and verifies it where the ticket does not say that this was done.

mod check;
mod key_sets;
mod sign_in;

use std::sync::Arc;
use std::time::Duration;

use tracing::{debug, warn};
use vestibule_core::identity::{Account, AccountCode, IdentityError, IdentityToken, KeySet, LEEWAY};
use vestibule_core::settings::{Identity, IdentityKind, IdentitySource};
use vestibule_core::{Micros, SessionId, Ticket, TicketAccount, TokenDigest};
use vestibule_freeze::FreezeAwareInstant;
use vestibule_runtime::Queue;

use self::check::VerifiedToken;
use self::key_sets::KeySource;
use crate::counts::VisitCounts;
use crate::request::{Credential, RequestInfo};
use crate::state::Gate;

pub(crate) use check::IdentityCheck;
pub(crate) use sign_in::{identity_unavailable, return_address, sign_in};

/// How long a verified token is remembered: as long as a set of keys is used without asking for a newer one.
const VERIFIED_FOR: Duration = Duration::from_mins(10);

/// What a request says of the visitor's account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Identified {
    /// Nothing: the queue does not ask for accounts, or there is no valid token.
    Nobody,
    /// The token that was verified for the ticket that the visitor sends.
    AsBefore,
    /// A token that was verified now.
    Verified(VerifiedAccount),
    /// A token that cannot be verified while the keys are missing.
    Unavailable,
}

/// An account of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VerifiedAccount {
    pub(crate) session: SessionId,
    /// What the ticket will say.
    pub(crate) ticket: TicketAccount,
}

impl Identified {
    /// The account that was verified now.
    pub(crate) const fn account(self) -> Option<VerifiedAccount> {
        if let Self::Verified(account) = self { Some(account) } else { None }
    }
}

/// The account of a request. A ticket or lobby ticket of another account is taken out of `credential`: it is not the visitor's.
/// `is_endpoint` says that the request is for the gate itself, so that its `Authorization` header is not meant for the site.
pub(crate) async fn identify(
    gate: &Gate,
    info: &RequestInfo,
    queue: &Queue,
    credential: &mut Credential,
    is_endpoint: bool,
) -> Identified {
    let Some(identity) = &queue.settings.line.protection.identity else { return Identified::Nobody };
    let Some(token) = token_of(gate, info, identity, is_endpoint) else { return Identified::Nobody };
    let Some(digest) = gate.tickets.token_digest(identity.key_id.as_deref(), &token) else { return Identified::Nobody };
    // Such a visit renews at first. The bearer of a lobby ticket may have to join.
    let before = credential.ticket().and_then(Ticket::account);
    if before.is_some_and(|before| gate.tickets.has_fingerprint(&token, before.fingerprint)) {
        return Identified::AsBefore;
    }
    let bearer = Bearer::of(credential);
    let current = bearer.map(|bearer| bearer.session);
    let identified = Box::pin(verify(gate, queue, identity, &token, digest, current)).await;
    if let (Identified::Verified(account), Some(bearer)) = (identified, bearer)
        && bearer.is_other_than(account)
    {
        debug!(queue = %queue.settings.id, "a ticket of another account is ignored");
        *credential = Credential::None;
    }
    identified
}

/// What a ticket or a lobby ticket says of its bearer.
#[derive(Clone, Copy)]
struct Bearer {
    session: SessionId,
    /// Whether the session is that of a code, whoever uses it.
    is_invited: bool,
    account: Option<TicketAccount>,
}

impl Bearer {
    fn of(credential: &Credential) -> Option<Self> {
        let (session, batch, account) = match credential {
            Credential::Ticket(ticket) => (ticket.session(), ticket.batch(), ticket.account()),
            Credential::Lobby(ticket) => (ticket.session(), ticket.batch(), ticket.account()),
            Credential::None | Credential::PreTicket(_) => return None,
        };
        Some(Self { session, is_invited: batch.is_some(), account })
    }

    /// Whether they have another account than the one that was verified now.
    fn is_other_than(self, account: VerifiedAccount) -> bool {
        let is_same = |before: TicketAccount| {
            if self.is_invited { before.code == account.ticket.code } else { self.session == account.session }
        };
        self.account.is_some_and(|before| !is_same(before))
    }
}

/// The account of a request whose ticket was void, though it says that the token was verified.
pub(crate) async fn identify_again(gate: &Gate, info: &RequestInfo, queue: &Queue, is_endpoint: bool) -> Identified {
    identify(gate, info, queue, &mut Credential::None, is_endpoint).await
}

/// The token from the first source that has one.
fn token_of(gate: &Gate, info: &RequestInfo, identity: &Identity, is_endpoint: bool) -> Option<Vec<u8>> {
    let in_source = |source: &IdentitySource| match source {
        IdentitySource::Cookie(name) => info.cookie(name).map(String::into_bytes),
        // Without a trusted proxy, the client wrote the header.
        IdentitySource::Header(name) if gate.trusted_proxies > 0 => {
            let mut values = info.headers.get_all(name.as_str()).into_iter();
            values.next().filter(|_| values.next().is_none()).map(|value| value.as_bytes().to_vec())
        }
        IdentitySource::Header(_) => None,
    };
    let found = identity.from.iter().find_map(in_source).filter(|token| !token.is_empty());
    found.or_else(|| {
        let header = info.header(http::header::AUTHORIZATION).filter(|_| is_endpoint)?;
        let (scheme, token) = header.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().as_bytes().to_vec())
    })
}

/// Verifies a token. A visitor whose `current` session derives from another valid key keeps it, so that keys can be rotated while
/// accounts wait.
async fn verify(
    gate: &Gate,
    queue: &Queue,
    identity: &Identity,
    token: &[u8],
    digest: TokenDigest,
    current: Option<SessionId>,
) -> Identified {
    let check = &gate.identities;
    let (id, line) = (&queue.settings.id, &queue.settings.line);
    let now = gate.clock.now();
    let key = (id.clone(), line.revision, digest);
    let remembered =
        check.verified.get(&key).filter(|it| it.verified_at.elapsed() < VERIFIED_FOR && now < it.expires_at);
    let is_new = remembered.is_none();
    let result = match remembered {
        Some(remembered) => Ok(remembered.result),
        None => verify_token(gate, queue, identity, token, now).await,
    };
    let result = match result {
        Ok(result) => result,
        Err(Unavailable) => return Identified::Unavailable,
    };
    if is_new {
        gate.counts.add(id, VisitCounts::identity(result.is_ok()));
    }
    match result {
        Ok((sessions, code)) => {
            let current = current.filter(|current| sessions.contains(current));
            let Some(session) = current.or(sessions.first().copied()) else { return Identified::Nobody };
            let ticket = TicketAccount { fingerprint: digest.fingerprint(), code };
            Identified::Verified(VerifiedAccount { session, ticket })
        }
        Err(reason) => {
            debug!(queue = %id, %reason, "a token of an account was rejected");
            Identified::Nobody
        }
    }
}

/// No keys are known.
struct Unavailable;

/// Verifies a token, and remembers the result if it depends on the signature.
async fn verify_token(
    gate: &Gate,
    queue: &Queue,
    identity: &Identity,
    bytes: &[u8],
    now: Micros,
) -> Result<Result<(Arc<[SessionId]>, AccountCode), IdentityError>, Unavailable> {
    let (id, line) = (&queue.settings.id, &queue.settings.line);
    let token = match IdentityToken::read(bytes, identity.kind) {
        Ok(token) => token,
        Err(reason) => return Ok(Err(reason)),
    };
    let account: Account = match token.check(identity, now) {
        Ok(account) => account,
        Err(reason) => return Ok(Err(reason)),
    };
    let verified = match &identity.keys {
        Some(keys) => token.verify(keys),
        None => verify_with_fetched(gate, queue, identity, &token).await?,
    };
    let kid = identity.key_id.as_deref();
    if let Some(kid) = kid.filter(|kid| !gate.tickets.has_key(kid))
        && let Some(suppressed) = gate.identities.unknown_key_ids.allow()
    {
        warn!(queue = %id, kid, suppressed, "protection.identity.key_id names no ticket key; using the one that signs");
    }
    let result = verified.map(|()| {
        let sessions = gate.tickets.account_sessions(id, line.epoch, kid, &account);
        (Arc::from(sessions), account.code())
    });
    // A key that is not known now can be published at any time.
    if result != Err(IdentityError::UnknownKey)
        && let Some(digest) = gate.tickets.token_digest(kid, bytes)
    {
        let (expires_at, verified_at) = (account.expires_at.add_seconds(LEEWAY), FreezeAwareInstant::now());
        let verified = VerifiedToken { result: result.clone(), expires_at, verified_at };
        gate.identities.verified.insert((id.clone(), line.revision, digest), verified);
    }
    Ok(result)
}

/// Verifies a token with keys that are fetched, and with newer ones if none of them signed it.
async fn verify_with_fetched(
    gate: &Gate,
    queue: &Queue,
    identity: &Identity,
    token: &IdentityToken<'_>,
) -> Result<Result<(), IdentityError>, Unavailable> {
    let Some(address) = key_address(identity, token) else { return Ok(Err(IdentityError::UnknownKey)) };
    let source = KeySource { address, reach: key_sets::reach_of(queue, identity) };
    let sets = &gate.identities.keys;
    let keys = match identity.kind {
        IdentityKind::Jwt => sets.get(&source).await,
        IdentityKind::Alb => sets.get_named(&queue.settings.id, &source).await,
    };
    let keys = keys.ok_or(Unavailable)?;
    let found = token.verify(&keys);
    if found != Err(IdentityError::UnknownKey) || identity.kind == IdentityKind::Alb {
        return Ok(found);
    }
    let newer: Option<Arc<KeySet>> = sets.get_newer(&source).await;
    Ok(newer.map_or(found, |keys| token.verify(&keys)))
}

/// The address of the keys for a token: a load balancer's keys have one each.
fn key_address(identity: &Identity, token: &IdentityToken<'_>) -> Option<String> {
    let address = identity.key_address()?;
    match identity.kind {
        IdentityKind::Jwt => Some(address),
        IdentityKind::Alb => {
            // A key ID is a UUID; anything else must not become a part of an address.
            let is_plain = |kid: &&str| {
                (1..=64).contains(&kid.len()) && kid.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            };
            let kid = token.key_id().filter(is_plain)?;
            Some(format!("{}/{kid}", address.trim_end_matches('/')))
        }
    }
}
