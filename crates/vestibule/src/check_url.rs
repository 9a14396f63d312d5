//! `vestibule check FILE --url URL`: which queue and rule of a settings file decide about a request, for each interpretation of its path.

use std::net::IpAddr;

use http::{HeaderName, HeaderValue, Method, header};
use vestibule_core::settings::{
    RequestAttributes, Route, Rule, Ruling, Settings, TrustedHeaders, deciding_rule, decisive, host_and_path, rulings,
};
use vestibule_gate::Networks;
use vestibule_runtime::{Queue, queues_of_host};

/// The folder of the gate's own paths, about which no rule decides.
const OWN_FOLDER: &str = "/_vestibule";

/// A URL as it was typed, and what rules see of it.
#[derive(Debug, Clone)]
pub(crate) struct TestedUrl {
    text: String,
    host: String,
    path: String,
}

/// Parses a URL with its host, with or without a scheme, as browsers do: without a user's name, and with a backslash in place of the
/// slash after the host. The rest of the path is taken as it is.
pub(crate) fn parse_url(text: &str) -> Result<TestedUrl, String> {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let (authority, path) = rest.split_at(rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len()));
    let path = path.strip_prefix('\\').map_or_else(|| path.to_owned(), |path| format!("/{path}"));
    let authority = authority.rsplit_once('@').map_or(authority, |(_, authority)| authority);
    if !authority.is_ascii() {
        return Err(format!("has the host {authority}; write it as browsers send it, such as xn--mller-kva.example"));
    }
    let (host, path) = host_and_path(&format!("{authority}{path}"))
        .map(|(host, path)| (host, path.to_owned()))
        .ok_or("must be a URL with its host, such as https://tickets.example.com/shop/seats")?;
    Ok(TestedUrl { text: text.to_owned(), host, path })
}

/// Parses a method, which is case-sensitive.
pub(crate) fn parse_method(text: &str) -> Result<Method, String> {
    text.parse().map_err(|_| "must be a method, such as GET or POST".to_owned())
}

/// Parses a header, such as `User-Agent: curl/8`.
pub(crate) fn parse_header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let parsed = text.split_once(':').and_then(|(name, value)| Some((name.parse().ok()?, value.trim().parse().ok()?)));
    let (name, value) = parsed.ok_or("must be a header with its value, such as 'User-Agent: curl/8'")?;
    if name == header::COOKIE {
        return Err("must not be Cookie; give each cookie by --cookie, such as --cookie member=gold".to_owned());
    }
    Ok((name, value))
}

/// Parses a cookie, such as `member=gold`.
pub(crate) fn parse_cookie(text: &str) -> Result<(String, String), String> {
    let parsed = text.split_once('=').filter(|(name, _)| !name.is_empty());
    parsed
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .ok_or_else(|| "must be a cookie with its value, such as member=gold".to_owned())
}

/// What the tested requests have beside their URL.
pub(crate) struct TestedRequest<'a> {
    pub(crate) method: &'a Method,
    pub(crate) headers: &'a [(HeaderName, HeaderValue)],
    pub(crate) cookies: &'a [(String, String)],
    pub(crate) source: Option<IpAddr>,
    /// The lists of the gates, if they are known.
    pub(crate) lists: Option<&'a Networks>,
}

/// What happens to a request: a line with the result, a line for each interpretation of the path, and one for each rule that could not
/// be decided.
pub(crate) fn ruling_lines(
    url: &TestedUrl,
    request: &TestedRequest<'_>,
    queues: &[Settings],
    trusted: &TrustedHeaders,
) -> Vec<String> {
    let (TestedUrl { text, host, path }, method) = (url, request.method);
    let queues = queues_of_host(queues, host);
    if path == OWN_FOLDER || path.starts_with(&format!("{OWN_FOLDER}/")) {
        return vec![format!("{method} {text}: answered by the gate itself; no rule decides about {OWN_FOLDER}")];
    }
    if queues.is_empty() {
        return vec![format!("{method} {text}: no queue has the host {host}; the gate answers 404")];
    }
    let facts = RequestAttributes {
        path,
        method: method.as_str(),
        header: &|name, visit| {
            let values = request.headers.iter().filter(|(it, _)| it.as_str().eq_ignore_ascii_case(name));
            values.for_each(|(_, value)| visit(value.as_bytes()));
        },
        cookie: &|name, visit| {
            let values = request.cookies.iter().filter(|(it, _)| it == name);
            values.for_each(|(_, value)| visit(value.as_bytes()));
        },
        source: request.source,
        trusted_headers: trusted,
        in_list: &|list, address| request.lists.and_then(|lists| lists.find(list, address)),
    };
    let rules: Vec<&[Rule]> = queues.iter().map(|queue| queue.settings.rules.as_slice()).collect();
    let rulings = rulings(&rules, &facts);
    let result = match decisive(&rulings) {
        Ruling { route: Route::Reject, .. } => {
            "rejected: the path has too many readings, or different queues take it; the gate answers 400".to_owned()
        }
        ruling => route_text(ruling, ruling.queue.map(|index| &*queues[index])),
    };
    // The rejection is of the path, not of a reading.
    let readings = rulings.iter().filter(|ruling| ruling.route != Route::Reject).map(|ruling| {
        let queue = ruling.queue.map(|index| &*queues[index]);
        let rule = queue.and_then(|queue| deciding_rule(&queue.settings.rules, &facts, &ruling.path));
        let rule = rule.map_or_else(|| "no rule matches".to_owned(), |index| format!("rules[{index}]"));
        format!("  {}: {}, {rule}", ruling.path, route_text(ruling, queue))
    });
    let unknown = queues.iter().flat_map(|queue| unknown_lines(&queue.settings, request));
    std::iter::once(format!("{method} {text}: {result}")).chain(readings).chain(unknown).collect()
}

/// The rules whose condition on the visitor's address is not known: `queue` and `hold` match nevertheless, and others do not.
fn unknown_lines(settings: &Settings, request: &TestedRequest<'_>) -> Vec<String> {
    let (id, source) = (&settings.id, request.source);
    let is_unknown =
        |list: &str| source.is_some_and(|source| request.lists.and_then(|it| it.find(list, source)).is_none());
    let routing = settings.rules.iter().enumerate().filter(|(_, rule)| rule.action.route().is_some());
    routing
        .filter_map(|(index, rule)| {
            let matches = if rule.action.route() == Some(Route::Queue) { "matches" } else { "does not match" };
            let reason = if !rule.source.is_empty() && source.is_none() {
                "the visitor's address is not known; name one with --source".to_owned()
            } else {
                let list = rule.lists().find(|list| is_unknown(list))?;
                format!("the list \"{list}\" is not known; name the place of the lists with --networks")
            };
            Some(format!("  source of {id}, rules[{index}], {matches}: {reason}"))
        })
        .collect()
}

fn route_text(ruling: &Ruling, queue: Option<&Queue>) -> String {
    let queue = queue.map(|queue| queue.settings.id.as_str());
    match (ruling.route, queue) {
        (Route::Queue, Some(queue)) => format!("queued by {queue}"),
        (Route::Bypass, Some(queue)) => format!("bypasses {queue}"),
        _ => "passes".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parts(url: &str) -> (String, String) {
        let TestedUrl { host, path, .. } = parse_url(url).unwrap();
        (host, path)
    }

    #[test]
    fn url_is_parsed_like_a_browser() {
        for (url, host, path) in [
            ("https://xn--mller-kva.test:8443/ä?x", "xn--mller-kva.test", "/ä"),
            ("https://u:p@tickets.example.com/shop", "tickets.example.com", "/shop"),
            ("https://tickets.example.com\\shop/..%2fbuy", "tickets.example.com", "/shop/..%2fbuy"),
            ("tickets.example.com?x", "tickets.example.com", "/"),
        ] {
            assert_eq!(parts(url), (host.to_owned(), path.to_owned()), "{url}");
        }
        for (url, reason) in
            [("/shop", "must be a URL with its host"), ("https://müller.test/", "has the host müller.test; write it")]
        {
            let error = parse_url(url).unwrap_err();
            assert!(error.contains(reason), "{url}: {error}");
        }
    }

    #[test]
    fn methods_headers_and_cookies_must_be_valid() {
        assert!(parse_method("GET").is_ok() && parse_method("get").is_ok());
        assert!(parse_method("B AD").is_err() && parse_method("").is_err());
        assert_eq!(parse_header("User-Agent: a: b").unwrap(), ("user-agent".parse().unwrap(), "a: b".parse().unwrap()));
        assert!(parse_header("User-Agent").is_err() && parse_header("a b: c").is_err());
        assert!(parse_header("cookie: member=gold").is_err_and(|error| error.contains("--cookie member=gold")));
        assert_eq!(parse_cookie("member=a=b").unwrap(), ("member".to_owned(), "a=b".to_owned()));
        assert!(parse_cookie("member").is_err() && parse_cookie("=gold").is_err());
    }

    fn lines(url: &str, request: &TestedRequest<'_>) -> String {
        let rules = json!([
            { "action": "bypass", "source": ["@offices"] },
            { "action": "bypass", "header": { "name": "User-Agent", "value": "probe" } },
            { "action": "bypass", "cookie": { "name": "member", "value": "gold" } },
            { "action": "bypass", "source": ["192.0.2.0/24"] },
        ]);
        let settings = Settings::from_value(&json!({
            "id": "tour", "tenant": "acme", "hosts": ["a.test"], "quota": 1, "handover": { "kind": "check" }, "rules": rules,
        }));
        ruling_lines(&parse_url(url).unwrap(), request, &[settings.unwrap()], &TrustedHeaders::default()).join("\n")
    }

    static GET: Method = Method::GET;

    fn bare() -> TestedRequest<'static> {
        TestedRequest { method: &GET, headers: &[], cookies: &[], source: None, lists: None }
    }

    #[test]
    fn requests_are_tested_with_what_was_given() {
        let bypasses = |rule: usize, request: &TestedRequest<'_>| {
            let said = lines("a.test/x", request);
            assert!(said.contains(&format!("  /x: bypasses tour, rules[{rule}]")), "{said}");
        };
        let headers = [parse_header("user-agent: probe").unwrap()];
        bypasses(1, &TestedRequest { headers: &headers, ..bare() });
        let cookies = [parse_cookie("member=gold").unwrap()];
        bypasses(2, &TestedRequest { cookies: &cookies, ..bare() });
        bypasses(3, &TestedRequest { source: "192.0.2.7".parse().ok(), ..bare() });
    }

    #[test]
    fn unknown_addresses_and_lists_are_named() {
        let said = lines("a.test/x", &bare());
        assert!(said.starts_with("GET a.test/x: queued by tour\n"), "{said}");
        for rule in [0, 3] {
            let line = format!(
                "  source of tour, rules[{rule}], does not match: the visitor's address is not known; name one with --source"
            );
            assert!(said.contains(&line), "{said}");
        }
        let known = lines("a.test/x", &TestedRequest { source: "198.51.100.7".parse().ok(), ..bare() });
        assert!(known.contains("rules[0], does not match: the list \"offices\" is not known"), "{known}");
        assert!(!known.contains("rules[3]"), "{known}");
    }

    #[test]
    fn own_paths_of_the_gate_have_no_rules() {
        for path in ["/_vestibule", "/_vestibule/status?queue=tour"] {
            let said = lines(&format!("a.test{path}"), &bare());
            assert!(said.ends_with("answered by the gate itself; no rule decides about /_vestibule"), "{said}");
        }
        assert!(lines("a.test/_vestibules", &bare()).contains("queued by tour"));
    }
}
