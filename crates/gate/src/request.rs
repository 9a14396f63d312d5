//! Reads a request: host, client address, whether it is a page view, and tickets.

use std::convert::Infallible;
use std::net::IpAddr;

use axum::extract::{ConnectInfo, FromRequestParts};
use http::header::AsHeaderName;
use http::request::Parts;
use http::{Extensions, HeaderMap, HeaderName, Method, Uri, header};
use vestibule_core::cookie::{cookie_values, cookies};
use vestibule_core::settings::{RequestAttributes, TrustedHeaders, name_with_hyphens, normalize_host};
use vestibule_core::{ClientNetworks, LobbyTicket, Micros, PreTicket, QueueId, Ticket, TicketError, TicketSigner};
use vestibule_runtime::{PeerAddress, Queue, RequestOrigin, request_origin};
use vestibule_themes::RequestLanguages;

use crate::client_rules::ClientRules;
use crate::invitation_code::{self, PresentedCode};
use crate::state::Gate;

/// Cookie with the code of the language that the visitor chose. Cookies of queues begin with `vestibule_`, so this is none.
pub(crate) const LANGUAGE_COOKIE: &str = "vestibule-language";
/// Header for the ticket of apps without a cookie jar, in both directions.
pub(crate) const TICKET_HEADER: HeaderName = HeaderName::from_static("x-vestibule-ticket");
/// Header in which the answer to a check hands a new ticket to the proxy.
pub(crate) const NEW_TICKET_HEADER: HeaderName = HeaderName::from_static("x-vestibule-new-ticket");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_DESTINATION: HeaderName = HeaderName::from_static("sec-fetch-dest");
/// Headers of prefetch requests.
const PURPOSES: [HeaderName; 4] = [
    HeaderName::from_static("sec-purpose"),
    HeaderName::from_static("purpose"),
    HeaderName::from_static("x-purpose"),
    HeaderName::from_static("x-moz"),
];
/// Maximum number of tickets of one request that are verified. Another host of the site may set many cookies of that name, and each
/// costs a few microseconds.
const TICKETS_VERIFIED_MAX: usize = 64;

/// A request, or the original request that a forward-auth proxy describes.
pub(crate) struct RequestInfo {
    /// The normalized host; `None` if it is invalid.
    pub(crate) host: Option<String>,
    /// The host as sent, with its port.
    pub(crate) authority: String,
    pub(crate) method: Method,
    /// Path as the visitor sent it.
    pub(crate) path: String,
    /// Query without the `?`.
    pub(crate) query: Option<String>,
    pub(crate) origin: RequestOrigin,
    /// Whether all endpoints see that the visitor comes by https, which decides about the ticket cookie. A check believes its proxy about
    /// the scheme, also where the proxy is not trusted.
    pub(crate) is_https_everywhere: bool,
    pub(crate) peer: Option<IpAddr>,
    pub(crate) headers: HeaderMap,
    /// The code of an invitation, which is neither in the query nor in the headers any more.
    pub(crate) presented: Option<PresentedCode>,
}

/// Takes the headers out of the request; a forwarded request gets them back.
impl FromRequestParts<Gate> for RequestInfo {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, gate: &Gate) -> Result<Self, Infallible> {
        let headers = std::mem::take(&mut parts.headers);
        Ok(Self::of(&parts.method, &parts.uri, headers, &parts.extensions, gate.trusted_proxies, &gate.clients))
    }
}

impl RequestInfo {
    pub(crate) fn of(
        method: &Method,
        uri: &Uri,
        mut headers: HeaderMap,
        extensions: &Extensions,
        trusted_proxies: usize,
        clients: &ClientRules,
    ) -> Self {
        let peer = peer_address(extensions);
        let origin = request_origin(&headers, peer, trusted_proxies, &clients.source);
        keep_trusted(&mut headers, &clients.trusted_headers, origin.from_proxies);
        let authority = uri.authority().map(|authority| authority.as_str().to_owned());
        let authority = authority.or_else(|| text(&headers, header::HOST).map(str::to_owned)).unwrap_or_default();
        let mut info = Self {
            host: normalize_host(&authority),
            authority,
            method: method.clone(),
            path: uri.path().to_owned(),
            query: uri.query().map(str::to_owned),
            is_https_everywhere: origin.https,
            origin,
            peer,
            headers,
            presented: None,
        };
        info.take_code();
        info
    }

    /// Takes the code of an invitation out of the query and the headers.
    pub(crate) fn take_code(&mut self) {
        let taken = invitation_code::take(&mut self.query, &mut self.headers);
        self.presented = taken.or(self.presented.take());
    }

    /// Whether the code that the visitor presented last was wrong.
    pub(crate) fn code_was_wrong(&self) -> bool {
        invitation_code::says_wrong(self.cookie(invitation_code::WRONG_COOKIE).as_deref())
    }

    pub(crate) fn header(&self, name: impl AsHeaderName) -> Option<&str> {
        text(&self.headers, name)
    }

    /// The languages that the visitor chose on the queue page, or that the browser asks for.
    pub(crate) fn languages(&self) -> RequestLanguages<'_> {
        let chosen = self.cookie(LANGUAGE_COOKIE);
        RequestLanguages::of(chosen.as_deref(), self.header(header::ACCEPT_LANGUAGE))
    }

    /// Sets the scheme of the original request. Only https sets the cookie that needs it.
    pub(crate) const fn set_https(&mut self, https: bool) {
        self.origin.https = https;
        self.is_https_everywhere &= https;
    }

    pub(crate) const fn scheme(&self) -> &'static str {
        if self.origin.https { "https" } else { "http" }
    }

    /// The address for an admitted visitor: the site, through the gate.
    pub(crate) fn enter_url(&self) -> String {
        format!("{}://{}/", self.scheme(), self.authority)
    }

    /// Path and query as the visitor sent them.
    pub(crate) fn path_and_query(&self) -> String {
        match &self.query {
            Some(query) => format!("{}?{query}", self.path),
            None => self.path.clone(),
        }
    }

    /// Whether this is a page view, which may join the line. Browsers say so in `Sec-Fetch-Mode`; without it, a GET that
    /// accepts HTML counts.
    pub(crate) fn is_navigation(&self) -> bool {
        self.method == Method::GET && !self.is_prefetch() && !self.is_embedded_elsewhere() && self.wants_page()
    }

    /// Whether a browser shows the response as a page: that of a link, or of a form.
    pub(crate) fn wants_page(&self) -> bool {
        match self.header(FETCH_MODE) {
            Some(mode) => mode == "navigate" && self.header(FETCH_DESTINATION).is_none_or(is_document),
            None => self.header(header::ACCEPT).is_some_and(|accept| accept.contains("text/html")),
        }
    }

    /// Whether the page of another site loads or embeds this. Following a link from there does not count.
    pub(crate) fn is_embedded_elsewhere(&self) -> bool {
        let is_elsewhere = |site: &str| !matches!(site, "same-origin" | "same-site" | "none");
        let is_followed =
            || self.header(FETCH_MODE) == Some("navigate") && self.header(FETCH_DESTINATION) == Some("document");
        self.header(FETCH_SITE).is_some_and(is_elsewhere) && !is_followed()
    }

    /// Whether a browser prefetches this page.
    pub(crate) fn is_prefetch(&self) -> bool {
        let ahead =
            |value: &str| value.contains("prefetch") || value.contains("prerender") || value.contains("preview");
        PURPOSES.into_iter().any(|name| self.header(name).is_some_and(ahead))
    }

    /// Whether this is a CORS preflight. Preflights carry no cookies, so they have no ticket.
    pub(crate) fn is_preflight(&self) -> bool {
        self.method == Method::OPTIONS
            && self.headers.contains_key(header::ORIGIN)
            && self.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
    }

    /// Whether it has a body or headers that browsers never send with a preflight.
    pub(crate) fn exceeds_preflight(&self) -> bool {
        let has_body = |length: &str| length.trim() != "0" && !length.is_empty();
        self.headers.contains_key(header::COOKIE)
            || self.headers.contains_key(header::AUTHORIZATION)
            || self.headers.contains_key(header::TRANSFER_ENCODING)
            || self.header(header::CONTENT_LENGTH).is_some_and(has_body)
            || self.headers.keys().any(|name| overrides_method(&name_with_hyphens(name.as_str())))
    }

    /// Keeps only headers that browsers send with a preflight and those of proxies.
    pub(crate) fn keep_of_preflight(&mut self) {
        let is_kept = |name: &str| {
            matches!(name, "origin" | "user-agent" | "accept" | "accept-encoding" | "accept-language" | "referer")
                || name.starts_with("access-control-request-")
                || name.starts_with("x-forwarded-")
                || name.starts_with("sec-fetch-")
        };
        let dropped: Vec<HeaderName> = self.headers.keys().filter(|name| !is_kept(name.as_str())).cloned().collect();
        for name in dropped {
            self.headers.remove(name);
        }
    }

    /// The attributes that rules match.
    pub(crate) fn facts<T>(&self, clients: &ClientRules, use_facts: impl FnOnce(&RequestAttributes<'_>) -> T) -> T {
        use_facts(&RequestAttributes {
            trusted_headers: &clients.trusted_headers,
            in_list: &|name, address| clients.networks.current().find(name, address),
            path: &self.path,
            method: self.method.as_str(),
            header: &|name, visit| self.headers.get_all(name).iter().for_each(|value| visit(value.as_bytes())),
            cookie: &|name, visit| cookie_values(self.cookie_headers(), name).for_each(visit),
            source: self.origin.address,
        })
    }

    fn cookie_headers(&self) -> impl Iterator<Item = &[u8]> {
        self.headers.get_all(header::COOKIE).into_iter().map(http::HeaderValue::as_bytes)
    }

    pub(crate) fn cookie(&self, name: &str) -> Option<String> {
        let value = self.cookie_headers().flat_map(cookies).find(|(found, _)| *found == name.as_bytes())?.1;
        String::from_utf8(value.to_vec()).ok()
    }

    /// Whether the client uses the ticket header. It says so by sending the header, empty at first. Never with a ticket
    /// cookie: a header would expose to scripts what `HttpOnly` hides.
    pub(crate) fn wants_ticket_header(&self, queue: &Queue) -> bool {
        self.headers.contains_key(TICKET_HEADER) && self.ticket_cookies(queue).next().is_none()
    }

    /// The values of the cookies that can hold a ticket of this queue.
    fn ticket_cookies<'s>(&'s self, queue: &'s Queue) -> impl Iterator<Item = &'s [u8]> {
        let names = queue.accepted_ticket_cookies(self.is_https_everywhere).iter();
        names.flat_map(move |name| cookie_values(self.cookie_headers(), name))
    }

    /// What the visitor has now from earlier visits of this queue: of tickets, lobby tickets and pre-tickets, the one of the highest
    /// rank.
    pub(crate) fn credential(&self, queue: &Queue, signer: &TicketSigner, now: Micros) -> Credential {
        match self.sent_credential(queue, signer) {
            Credential::PreTicket(sent) => {
                Credential::PreTicket(sent.without_spent_work(now, queue.settings.line.hold_ttl))
            }
            sent => sent,
        }
    }

    /// The credential as it was signed.
    fn sent_credential(&self, queue: &Queue, signer: &TicketSigner) -> Credential {
        let ranked = [
            self.pre_ticket(queue, signer).map(|(rank, pre_ticket)| (rank, Credential::PreTicket(pre_ticket))),
            self.ranked_ticket(queue, signer).map(|(rank, ticket)| (rank, Credential::Ticket(ticket))),
            self.lobby_ticket(queue, signer).map(|(rank, ticket)| (rank, Credential::Lobby(ticket))),
        ];
        let best = ranked.into_iter().flatten().max_by_key(|(rank, _)| *rank);
        best.map_or(Credential::None, |(_, credential)| credential)
    }

    /// The client's network, as pre-tickets have it.
    pub(crate) fn network(&self) -> Option<String> {
        self.origin.address.and_then(ClientNetworks::of).map(|client| client.network.to_string())
    }

    /// The ticket of this queue in the request, unless the visitor has a lobby ticket or a pre-ticket that ranks higher.
    pub(crate) fn ticket(&self, queue: &Queue, signer: &TicketSigner) -> Option<Ticket> {
        if let Credential::Ticket(ticket) = self.sent_credential(queue, signer) { Some(ticket) } else { None }
    }

    fn ranked_ticket(&self, queue: &Queue, signer: &TicketSigner) -> Option<(TokenRank, Ticket)> {
        let verify = |token: &[u8]| signer.verify(&queue.settings.id, token);
        self.best_token(queue, verify, |ticket| (ticket.epoch(), ticket.signed_at()))
    }

    fn lobby_ticket(&self, queue: &Queue, signer: &TicketSigner) -> Option<(TokenRank, LobbyTicket)> {
        if queue.settings.line.events.is_empty() {
            return None;
        }
        let verify = |token: &[u8]| signer.verify_lobby(&queue.settings.id, token);
        self.best_token(queue, verify, |ticket| (ticket.epoch(), ticket.came_at()))
    }

    fn pre_ticket(&self, queue: &Queue, signer: &TicketSigner) -> Option<(TokenRank, PreTicket)> {
        let verify = |token: &[u8]| signer.verify_pre_ticket(&queue.settings.id, token, self.network().as_deref());
        self.best_token(queue, verify, |pre_ticket| (pre_ticket.epoch(), pre_ticket.first_visit()))
    }

    /// The token of one type in the request that has the highest rank.
    fn best_token<T>(
        &self,
        queue: &Queue,
        verify: impl Fn(&[u8]) -> Result<T, TicketError>,
        epoch_and_time: impl Fn(&T) -> (u64, Micros),
    ) -> Option<(TokenRank, T)> {
        let id: &QueueId = &queue.settings.id;
        let in_header = self.headers.get_all(TICKET_HEADER).into_iter().map(http::HeaderValue::as_bytes);
        let tokens = in_header.chain(self.ticket_cookies(queue)).filter(|token| !token.is_empty());
        let ranked = tokens.take(TICKETS_VERIFIED_MAX).filter_map(|token| match verify(token) {
            Ok(verified) => {
                let (epoch, at) = epoch_and_time(&verified);
                Some((TokenRank { is_current: epoch == queue.settings.line.epoch, at }, verified))
            }
            Err(reason) => {
                tracing::debug!(queue = %id, %reason, "ticket rejected");
                None
            }
        });
        ranked.max_by_key(|(rank, _)| *rank)
    }
}

/// How much a token of a request counts, from the first field to the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct TokenRank {
    /// Whether it is of the current epoch.
    is_current: bool,
    /// When it was signed, or when its first visit was.
    at: Micros,
}

/// What a visitor has from earlier visits.
pub(crate) enum Credential {
    /// Nothing that is valid.
    None,
    /// A ticket.
    Ticket(Ticket),
    /// A lobby ticket.
    Lobby(LobbyTicket),
    /// A pre-ticket: a first visit joined nobody.
    PreTicket(PreTicket),
}

impl Credential {
    /// The ticket.
    pub(crate) const fn ticket(&self) -> Option<&Ticket> {
        if let Self::Ticket(ticket) = self { Some(ticket) } else { None }
    }

    /// Whether the visitor has nothing.
    pub(crate) const fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }
}

/// Drops the headers that only a trusted proxy may send, unless one sent the request, and those that imitate them. If a header is
/// there several times, the last is that of the proxy nearest to the gate, and the others may be the client's.
fn keep_trusted(headers: &mut HeaderMap, trusted: &TrustedHeaders, is_from_proxy: bool) {
    if trusted.is_empty() {
        return;
    }
    let concerned = |name: &&HeaderName| trusted.contains(name.as_str()) || trusted.are_imitated_by(name.as_str());
    let names: Vec<HeaderName> = headers.keys().filter(concerned).cloned().collect();
    for name in names {
        let last = headers.get_all(&name).into_iter().next_back().cloned();
        headers.remove(&name);
        if let Some(last) = last.filter(|_| is_from_proxy && trusted.contains(name.as_str())) {
            headers.insert(name, last);
        }
    }
}

/// Whether frameworks take the method from this header.
fn overrides_method(name: &str) -> bool {
    matches!(name, "x-method" | "x-http-method") || name.contains("method-override")
}

fn is_document(destination: &str) -> bool {
    matches!(destination, "document" | "iframe" | "frame")
}

fn peer_address(extensions: &Extensions) -> Option<IpAddr> {
    let by_server = extensions.get::<PeerAddress>().and_then(|peer| peer.0);
    let peer = by_server.or_else(|| extensions.get::<ConnectInfo<std::net::SocketAddr>>().map(|info| info.0.ip()))?;
    Some(peer.to_canonical())
}

fn text(headers: &HeaderMap, name: impl AsHeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use vestibule_core::line::{Line, SessionState, Visit, VisitAnswer, VisitKind};
    use vestibule_core::settings::Settings;
    use vestibule_core::{FirstVisit, KeyList, SessionId, ShownStatus, TicketOrigin};

    use super::*;

    fn info(method: &Method, headers: &[(&str, &str)]) -> RequestInfo {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(http::HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        RequestInfo::of(method, &Uri::from_static("/a?b"), map, &Extensions::new(), 0, &ClientRules::default())
    }

    #[test]
    fn only_page_views_are_navigations() {
        let html = ("accept", "text/html,application/xhtml+xml,*/*;q=0.8");
        let navigate = [("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")];
        assert!(info(&Method::GET, &navigate).is_navigation());
        assert!(info(&Method::GET, &[html]).is_navigation(), "a browser that does not say");
        for site in ["none", "same-origin", "same-site", "cross-site"] {
            let followed = [navigate[0], navigate[1], ("sec-fetch-site", site)];
            assert!(info(&Method::GET, &followed).is_navigation(), "a link from {site}");
        }
        for (method, headers) in [
            (Method::GET, vec![("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "image")]),
            (Method::GET, vec![("sec-fetch-mode", "cors"), html]),
            (Method::GET, vec![("accept", "application/json")]),
            (Method::GET, vec![("accept", "*/*")]),
            (Method::GET, vec![]),
            (Method::GET, vec![navigate[0], ("sec-purpose", "prefetch;prerender")]),
            (Method::GET, vec![navigate[0], ("sec-fetch-dest", "iframe"), ("sec-fetch-site", "cross-site")]),
            (Method::GET, vec![navigate[0], ("sec-fetch-site", "cross-site")]),
            (Method::GET, vec![html, ("sec-fetch-site", "cross-site")]),
            (Method::GET, vec![html, ("purpose", "prefetch")]),
            (Method::GET, vec![navigate[0], ("sec-fetch-dest", "embed")]),
            (Method::HEAD, vec![html]),
            (Method::POST, navigate.to_vec()),
            (Method::OPTIONS, vec![html]),
        ] {
            assert!(!info(&method, &headers).is_navigation(), "{method} {headers:?}");
        }
    }

    const NOW: Micros = Micros(1_700_000_000_000_000);

    fn queue(changes: &serde_json::Value) -> Queue {
        let mut settings = serde_json::json!({
            "id": "tour", "tenant": "acme", "hosts": ["tickets.example.com"], "quota": 2, "handover": { "kind": "check" },
            "events": [{ "id": "sale", "name": "Sale", "lobby_at": "2027-03-04T09:30:00Z", "starts_at": "2027-03-04T10:00:00Z",
                "ends_at": "2027-03-04T11:00:00Z" }],
        });
        settings.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        let settings = Settings::from_value(&settings).unwrap();
        let ticket_cookies = ["vestibule_tour", "__Host-vestibule_tour"].map(str::to_owned);
        Queue { settings, tenant: None, ticket_cookies }
    }

    /// Tokens of the three types, each of a session of its own, at this second.
    struct Tokens {
        sessions: [SessionId; 3],
        tokens: [String; 3],
    }

    impl Tokens {
        fn at(signer: &TicketSigner, queue: &Queue, second: u64) -> Self {
            let (id, now) = (&queue.settings.id, NOW.add_seconds(second));
            let sessions = [SessionId::random(), SessionId::random(), SessionId::random()];
            let mut line = Line::new(queue.settings.line.clone(), now, false);
            let visit = Visit::joining(sessions[1]);
            let nobody = line.visit(now, &Visit::default());
            let answer = VisitAnswer { kind: VisitKind::Lobby, ..nobody };
            let session = SessionState {
                id: sessions[0],
                arrival: now,
                admitted_at: None,
                position: 1,
                expires_at: now.add_seconds(60),
                confirmed: true,
            };
            let joined = VisitAnswer { session: Some(session), ..nobody };
            let first = FirstVisit::new(1, sessions[2], now);
            let tokens = [
                signer.sign(id, &joined, ShownStatus::default(), TicketOrigin::default()),
                signer.sign_lobby(id, &"sale".parse().unwrap(), &answer.lobby_entry(&visit).unwrap()),
                signer.sign_first_visit(id, &first, None),
            ];
            Self { sessions, tokens: tokens.map(Option::unwrap) }
        }
    }

    fn session_of(queue: &Queue, signer: &TicketSigner, https: bool, tokens: [&str; 2]) -> Option<SessionId> {
        let [host_only, plain] = tokens;
        let cookies = format!("__Host-vestibule_tour={host_only}; vestibule_tour={plain}");
        let mut request = info(&Method::GET, &[("cookie", &cookies)]);
        request.is_https_everywhere = https;
        match request.credential(queue, signer, NOW) {
            Credential::None => None,
            Credential::Ticket(ticket) => Some(ticket.session()),
            Credential::Lobby(ticket) => Some(ticket.session()),
            Credential::PreTicket(pre_ticket) => Some(pre_ticket.session()),
        }
    }

    #[test]
    fn no_token_of_another_host_replaces_the_credential() {
        let signer = TicketSigner::new(&KeyList::of_bytes("k", [7; 32])).unwrap();
        let (own_host, shared) =
            (queue(&serde_json::json!({})), queue(&serde_json::json!({ "cookie_domain": "example.com" })));
        let [earlier, later] = [0, 60].map(|second| Tokens::at(&signer, &own_host, second));
        for (old, own) in earlier.tokens.iter().zip(earlier.sessions) {
            for (new, other) in later.tokens.iter().zip(later.sessions) {
                let session = |queue, https, tokens| session_of(queue, &signer, https, tokens);
                assert_eq!(session(&own_host, true, [old, new]), Some(own), "set by another host");
                assert_eq!(session(&own_host, true, ["", new]), None, "set by another host");
                assert_eq!(session(&own_host, false, [old, new]), Some(other), "any host can set it over http");
                assert_eq!(session(&shared, true, [old, new]), Some(other), "set before the cookie domain was");
            }
        }
    }
}
