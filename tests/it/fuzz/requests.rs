//! Requests made of what real ones are made of, and of what is wrong with others.

use std::fmt::Write;

use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;

/// Which server a request is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Gate,
    Backoffice,
}

const METHODS: [&str; 16] = [
    "GET", "GET", "GET", "GET", "POST", "POST", "HEAD", "OPTIONS", "OPTIONS", "PUT", "PATCH", "DELETE", "CONNECT",
    "TRACE", "get", "G\u{e4}T",
];
const SITE: [&str; 22] = [
    "/",
    "/tour",
    "/static/app.js",
    "/checkout/pay",
    "/static/../checkout",
    "/static/%252e%252e/checkout",
    "/checkout/%2e%2e/static/x",
    "/static/..%5c..%5ccheckout",
    "/static/..;/checkout",
    "//all.test/static/",
    "http://all.test/checkout",
    "http://static.test@all.test/x",
    "https://[::1]:99999/",
    "/_vestibule/status?queue=all",
    "/_vestibule/status?queue=static&session=x",
    "/_vestibule/keepalive?queue=all",
    "/_vestibule/leave?queue=all",
    "/_vestibule/away?queue=%00",
    "/_vestibule/check?page=true",
    "/_vestibule/theme/all/../../x",
    "/_vestibule/jwks.json",
    "*",
];
const API: [&str; 14] = [
    "/",
    "/api/v1/session",
    "/api/v1/sign-in",
    "/api/v1/queues",
    "/api/v1/queues/all",
    "/api/v1/queues/%2e%2e/controls",
    "/api/v1/themes/acme/versions",
    "/api/v1/url-tests",
    "/api/v1/openapi.json",
    "/api/v1/stream",
    "/api/docs",
    "/assets/../../etc/passwd",
    "/metrics",
    "*",
];
const PIECES: [&str; 24] = [
    "/",
    "//",
    "..",
    ".",
    ";",
    "\\",
    "%2e",
    "%2E%2e",
    "%252e",
    "%2f",
    "%5c",
    "%00",
    "%",
    "%zz",
    "%ff",
    "%c3%28",
    "?",
    "#",
    "&",
    "=",
    "static",
    "checkout",
    "_vestibule",
    "\u{202e}",
];
const HEADERS: [&str; 34] = [
    "Host",
    "Accept",
    "Accept-Encoding",
    "Accept-Language",
    "Authorization",
    "Connection",
    "Content-Length",
    "Content-Type",
    "Cookie",
    "Expect",
    "Forwarded",
    "If-Match",
    "If-None-Match",
    "Keep-Alive",
    "Origin",
    "Access-Control-Request-Method",
    "Access-Control-Request-Headers",
    "Range",
    "Sec-Fetch-Dest",
    "Sec-Fetch-Mode",
    "Sec-Fetch-Site",
    "Sec-Purpose",
    "TE",
    "Trailer",
    "Transfer-Encoding",
    "Upgrade",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Method",
    "X-Forwarded-Proto",
    "X-Forwarded-Uri",
    "X-HTTP-Method-Override",
    "X-Original-URL",
    "X-Vestibule-Ticket",
];
const VALUES: [&str; 34] = [
    "",
    " ",
    "0",
    "5",
    "-1",
    "+5",
    "99999999999999999999",
    "close",
    "keep-alive, upgrade, x-forwarded-for",
    "chunked",
    "gzip, chunked",
    "gzip;q=0.0, *;q=0",
    "100-continue",
    "websocket",
    "text/html",
    "application/json",
    "multipart/form-data; boundary=",
    "navigate",
    "document",
    "cross-site",
    "all.test",
    "static.test",
    "static.test:80:80",
    "https://all.test",
    "null",
    "/static/x",
    "bytes=0-,5-,9-",
    "203.0.113.9, ::ffff:10.0.0.1, junk",
    "Bearer x",
    "de;q=1.5, *",
    "eyJhbGciOiJub25lIn0.e30.",
    "a=1; vestibule_all=eyJhbGciOiJIUzI1NiJ9.e30.AAAA; vestibule_all=\"; =; ;;",
    "__Host-vestibule_static=\u{fffd}; vestibule_static=x.y.z",
    "caf\u{e9}\t\u{7f}",
];
const BODIES: [&str; 9] = [
    "",
    "{}",
    "{\"name\":\"root\",\"password\":\"wrong password\"}",
    "[[[[[[[[[[[[[[[[",
    "5\r\nhello\r\n0\r\n\r\n",
    "ffffffffffffffff\r\nx",
    "5;x=\n\r\nhello\r\n",
    "0\r\nX-Vestibule-Pass: x\r\n\r\n",
    "GET /static/x HTTP/1.1\r\nHost: static.test\r\n\r\n",
];

fn one<'a>(of: &[&'a str], rng: &mut SmallRng) -> &'a str {
    of.choose(rng).copied().unwrap_or_default()
}

/// A request as bytes, most of them nearly right.
pub(super) fn any_request(target: Target, rng: &mut SmallRng) -> Vec<u8> {
    let (paths, host): (&[&str], _) = match target {
        Target::Gate => (&SITE, one(&["all.test", "static.test"], rng)),
        Target::Backoffice => (&API, "localhost"),
    };
    let version = one(&["HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/1.1 x", ""], rng);
    let mut head = format!("{} {} {version}\r\n", one(&METHODS, rng), any_target(paths, rng));
    if rng.random_bool(0.9) {
        let _ = write!(head, "Host: {host}\r\n");
    }
    if rng.random_bool(0.5) {
        head.push_str("Accept: text/html\r\n");
    }
    for _ in 0..rng.random_range(0..7) {
        head.push_str(&any_header(rng));
    }
    let body = one(&BODIES, rng);
    if rng.random_bool(0.6) {
        let _ = write!(head, "Content-Length: {}\r\n", body.len());
    }
    head.push_str("Connection: close\r\n\r\n");
    let mut request = [head.as_bytes(), body.as_bytes()].concat();
    if rng.random_bool(0.15) {
        damage(&mut request, rng);
    }
    request
}

fn any_target(paths: &[&str], rng: &mut SmallRng) -> String {
    let mut target = one(paths, rng).to_owned();
    if rng.random_bool(0.3) {
        for _ in 0..rng.random_range(1..12) {
            target.push_str(one(&PIECES, rng));
        }
    }
    if rng.random_bool(0.02) {
        target.push_str(&one(&PIECES, rng).repeat(5_000));
    }
    target
}

fn any_header(rng: &mut SmallRng) -> String {
    let value = match rng.random_range(0..20) {
        0 => one(&VALUES, rng).repeat(rng.random_range(0..300)),
        1 => (0..rng.random_range(0..40)).map(|_| char::from(rng.random_range(1..=255_u8))).collect(),
        _ => one(&VALUES, rng).to_owned(),
    };
    let separator = one(&[": ", ": ", ": ", ": ", ":", " : ", ":\r\n ", ""], rng);
    let end = one(&["\r\n", "\r\n", "\r\n", "\r\n", "\r\n", "\n"], rng);
    format!("{}{separator}{value}{end}", one(&HEADERS, rng))
}

/// Changes, drops, doubles or cuts off some bytes.
fn damage(request: &mut Vec<u8>, rng: &mut SmallRng) {
    for _ in 0..rng.random_range(1..6) {
        if request.is_empty() {
            return;
        }
        let at = rng.random_range(0..request.len());
        match rng.random_range(0..4) {
            0 => request[at] = rng.random(),
            1 => drop(request.remove(at)),
            2 => request.insert(at, rng.random()),
            _ => request.truncate(at),
        }
    }
}
