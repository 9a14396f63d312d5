//! Invitation codes that visitors present (rule 20): in a link or in the form of the queue page, which both put it in the
//! query, or in a header. A code never stays in the address, and is never logged, forwarded or stored.

use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use vestibule_core::line::JoinClient;
use vestibule_core::{InvitationCode, Ticket};
use vestibule_runtime::{Outcome, Queue};

use crate::client::join_client;
use crate::request::{Credential, RequestInfo};
use crate::respond::{Answer, Reply};
use crate::state::Gate;
use crate::visit::{InvitedSession, StoreDeadline, VisitIntent, VisitResult, not_visited, visit, visit_line};

/// Query parameter with a code, in links and in the form of the page.
pub(crate) const PARAMETER: &str = "vestibule_invite";
/// Header with a code, for apps.
pub(crate) const HEADER: HeaderName = HeaderName::from_static("x-vestibule-invite");
/// Cookie that tells the next page that a code was wrong, as its address does not. Cookies of queues begin with `vestibule_`,
/// so this is none.
pub(crate) const WRONG_COOKIE: &str = "vestibule-invite";
const WRONG_VALUE: &str = "wrong";
/// Seconds after which the next page no longer says that a code was wrong.
const WRONG_KEPT: u64 = 60;
/// Maximum length of a presented code. Others are wrong: 24 digits, and room for separators.
const PRESENTED_MAX: usize = 100;

/// A code that a visitor presents, genuine or not.
pub(crate) struct PresentedCode {
    text: String,
    /// Whether it is in the query.
    in_address: bool,
}

/// Takes the code out of the query and the headers, so that no part of the gate shows or forwards it. Without a code, both
/// stay as they are.
pub(crate) fn take(query: &mut Option<String>, headers: &mut HeaderMap) -> Option<PresentedCode> {
    let in_header = headers.remove(HEADER).and_then(|value| value.to_str().ok().map(str::to_owned));
    let is_code = |pair: &&str| pair.split('=').next() == Some(PARAMETER);
    let given = query.as_deref().unwrap_or_default();
    let in_query = given.split('&').rfind(is_code);
    let Some(pair) = in_query else {
        return in_header.map(|text| PresentedCode { text, in_address: false });
    };
    let text = decoded(pair.split_once('=').map_or("", |(_, value)| value));
    let rest: Vec<&str> = given.split('&').filter(|pair| !is_code(pair)).collect();
    let rest = rest.join("&");
    *query = Some(rest).filter(|rest| !rest.is_empty());
    Some(PresentedCode { text, in_address: true })
}

impl PresentedCode {
    /// Whether the code is in the query.
    pub(crate) const fn is_in_address(&self) -> bool {
        self.in_address
    }

    /// The code as a pair of a query.
    pub(crate) fn as_pair(&self) -> String {
        let encoded = form_urlencoded::byte_serialize(self.text.as_bytes()).collect::<String>();
        format!("{PARAMETER}={encoded}")
    }

    fn code(&self) -> Option<InvitationCode> {
        (self.text.len() <= PRESENTED_MAX).then(|| self.text.parse().ok()).flatten()
    }
}

fn decoded(value: &str) -> String {
    form_urlencoded::parse(format!("v={value}").as_bytes())
        .next()
        .map(|(_, value)| value.into_owned())
        .unwrap_or_default()
}

/// The other parameters of a query, which the form of the page sends again.
pub(crate) fn other_parameters(query: Option<&str>) -> Vec<(String, String)> {
    form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned().collect()
}

/// What became of a code.
pub(crate) enum CodeUse {
    /// Its session is in line or in the lobby, or the visitor passes without it.
    Used(VisitResult),
    /// It is not valid. The visitor is whoever they were before.
    Wrong,
    /// It is valid and cannot be used now: the line is full, a limit rejects the visitor, or the queue is closed.
    NotNow(VisitResult),
    /// The store is unavailable.
    Unavailable,
}

/// Uses a code. One that no sale key made costs no store call. A genuine one first asks the store, because the settings may have
/// changed, and the visitor may be active.
pub(crate) async fn present(
    gate: &Gate,
    queue: &Arc<Queue>,
    credential: Credential,
    presented: &PresentedCode,
    client: JoinClient,
    enter_url: Option<String>,
) -> CodeUse {
    let Some(code) = presented.code().filter(|code| gate.sale_keys.made(&queue.settings.id, code)) else {
        return CodeUse::Wrong;
    };
    let before = visit(gate, queue.clone(), credential, VisitIntent::Renew, client, enter_url.clone()).await;
    match before.outcome {
        Outcome::Unavailable => return CodeUse::Unavailable,
        _ if before.passes => return CodeUse::Used(before),
        _ => {}
    }
    let queue = before.queue.clone();
    let Some(invitation) = gate.sale_keys.invitation(&queue.settings, &code, before.now) else {
        return CodeUse::Wrong;
    };
    if before.visitor_status.session == Some(invitation.session) {
        return CodeUse::Used(before);
    }
    let invited = InvitedSession {
        session: invitation.session,
        batch: Some(invitation.batch),
        head_start: invitation.head_start,
    };
    let deadline = StoreDeadline::of(gate);
    let joined = visit_line(gate, queue, None, VisitIntent::JoinInvited(invited), client, enter_url, &deadline).await;
    if joined.visitor_status.session == Some(invitation.session) && joined.outcome != Outcome::Unavailable {
        end_own_session(gate, &before, &deadline).await;
        return CodeUse::Used(joined);
    }
    match joined.outcome {
        Outcome::Full | Outcome::Rejected | Outcome::Closed => CodeUse::NotNow(joined),
        Outcome::Unavailable => CodeUse::Unavailable,
        // The session of the code has ended.
        _ => CodeUse::Wrong,
    }
}

/// Ends the session that the code's session replaces. If that fails, it expires by itself.
async fn end_own_session(gate: &Gate, before: &VisitResult, deadline: &StoreDeadline) {
    let id = &before.queue.settings.id;
    let own: Option<Ticket> =
        before.ticket.as_ref().and_then(|ticket| gate.tickets.verify(id, ticket.token.as_bytes()).ok());
    let Some(own) = own else { return };
    if let Err(error) = deadline.limit(gate.visits.leave(id, own)).await {
        tracing::debug!(queue = %id, %error, "a replaced session could not be ended");
    }
}

/// The answer to a page view with a code in its address: the same address without it, or the page with this status if the code
/// cannot be used now. The page presents the code again when it reloads. `None` without a code, and if the store is unavailable.
pub(crate) async fn answer_link(
    gate: &Gate,
    info: &RequestInfo,
    queue: &Arc<Queue>,
    page_status: StatusCode,
) -> Option<Answer> {
    let presented = info.presented.as_ref().filter(|code| code.is_in_address() && info.is_navigation())?;
    let credential = info.credential(queue, &gate.tickets);
    let client = join_client(gate, info, &queue.settings);
    let used = present(gate, queue, credential, presented, client, Some(info.path_and_query())).await;
    // A path that begins with two slashes would be another host.
    let address = format!("{}://{}{}", info.scheme(), info.authority, info.path_and_query());
    match used {
        CodeUse::Used(visit) => Some(Answer::new(visit, Reply::Redirect(address))),
        CodeUse::Wrong => {
            let visit = not_visited(gate, queue.clone(), Outcome::InvitationRequired);
            Some(Answer::new(visit, Reply::WrongCode(address)))
        }
        CodeUse::NotNow(visit) => {
            let reply = Reply::page_of(&visit, page_status);
            Some(Answer::new(visit, reply))
        }
        CodeUse::Unavailable => None,
    }
}

/// The visit of a request with a code in its header; `None` without one, and if the code is not valid.
pub(crate) async fn visit_by_header(
    gate: &Gate,
    info: &RequestInfo,
    queue: &Arc<Queue>,
    client: JoinClient,
    enter_url: &str,
) -> Option<VisitResult> {
    let presented = info.presented.as_ref().filter(|code| !code.is_in_address())?;
    let credential = info.credential(queue, &gate.tickets);
    match present(gate, queue, credential, presented, client, Some(enter_url.to_owned())).await {
        CodeUse::Used(visit) | CodeUse::NotNow(visit) => Some(visit),
        CodeUse::Wrong | CodeUse::Unavailable => None,
    }
}

/// Tells the next page that the code was wrong.
pub(crate) fn set_wrong(headers: &mut HeaderMap, https: bool) {
    append_cookie(headers, WRONG_VALUE, WRONG_KEPT, https);
}

/// Forgets it once a page has said so.
pub(crate) fn clear_wrong(headers: &mut HeaderMap, https: bool) {
    append_cookie(headers, "", 0, https);
}

fn append_cookie(headers: &mut HeaderMap, value: &str, max_age: u64, https: bool) {
    let secure = if https { "; Secure" } else { "" };
    let cookie = format!("{WRONG_COOKIE}={value}; Path=/; Max-Age={max_age}; HttpOnly; SameSite=Lax{secure}");
    if let Ok(cookie) = HeaderValue::try_from(cookie) {
        headers.append(header::SET_COOKIE, cookie);
    }
}

/// Whether the value of the cookie says that the last code was wrong.
pub(crate) fn says_wrong(value: Option<&str>) -> bool {
    value == Some(WRONG_VALUE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(query: &str) -> (Option<String>, Option<String>) {
        let mut query = Some(query.to_owned());
        let presented = take(&mut query, &mut HeaderMap::new());
        (presented.map(|code| code.text), query)
    }

    #[test]
    fn code_is_taken_out_of_the_query() {
        let code = || Some("0400E0-0000N1".to_owned());
        for (query, text, rest) in [
            ("vestibule_invite=0400E0-0000N1", code(), None),
            ("a=1&vestibule_invite=0400E0-0000N1&b=%20&c", code(), Some("a=1&b=%20&c")),
            ("vestibule_invite=other&a=1&vestibule_invite=0400E0%2D0000N1", code(), Some("a=1")),
            ("vestibule_invite", Some(String::new()), None),
            ("a=1;2&&vestibule_invited=x", None, Some("a=1;2&&vestibule_invited=x")),
        ] {
            assert_eq!(taken(query), (text, rest.map(str::to_owned)), "{query}");
        }
    }

    #[test]
    fn header_is_taken_out_of_the_request() {
        let mut headers = HeaderMap::new();
        headers.insert(HEADER, HeaderValue::from_static("0400E0"));
        let presented = take(&mut None, &mut headers).unwrap();
        assert!(!presented.is_in_address() && headers.is_empty());
        assert_eq!(presented.as_pair(), "vestibule_invite=0400E0");
    }

    #[test]
    fn form_sends_other_parameters_again() {
        let pairs = other_parameters(Some("a=1&b=x%20y+z&c&a=2"));
        let pairs: Vec<(&str, &str)> = pairs.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(pairs, [("a", "1"), ("b", "x y z"), ("c", ""), ("a", "2")]);
    }
}
