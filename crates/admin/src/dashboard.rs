//! The dashboard: the files of `dashboard/dist`. A release contains them; a debug build reads the folder.
//!
//! They are compressed on the way out like every other response: a browser requests each file once, because its name
//! contains its hash.

use axum::extract::State;
use axum::response::{Html, IntoResponse, Response};
use http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use http::{HeaderMap, Method, StatusCode, Uri};
use rust_embed::{Embed, EmbeddedFile};
use vestibule_core::settings::HostPattern;
use vestibule_core::{QueueId, hex};

use crate::problem::Problem;
use crate::response_headers::FramedBySites;
use crate::state::Admin;

/// The built dashboard; empty without the feature `dashboard`, and in a debug build before `make dashboard`.
#[derive(Embed)]
#[cfg_attr(feature = "dashboard", folder = "../../dashboard/dist")]
#[cfg_attr(not(feature = "dashboard"), folder = "no-dashboard")]
#[allow_missing = true]
struct Dist;

/// Bytes of a file's hash that its `ETag` has.
const HASH_BYTES: usize = 16;
const INDEX: &str = "index.html";
/// Files below it have a content hash in their names.
const HASHED: &str = "assets/";
/// Pages below it end with the ID of a job queue, which may have a dot as the name of a file does.
const JOB_QUEUES: &str = "job-queues/";
/// Scripts, styles and responses of this origin only. Previews of queue pages are frames of the same origin. The sites
/// that may frame the page follow.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; \
     connect-src 'self'; frame-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors";
/// No page may frame it.
const UNFRAMEABLE: &str = "'none'";
const NOT_BUILT: &str = "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Vestibule</title></head><body>\
     <h1>No dashboard</h1><p>This program was built without the dashboard. Run <code>make dashboard</code>, then build it \
     again.</p><p>The API works: see <a href=\"/api/docs\">its documentation</a>.</p>\
     </body></html>\n";

/// Whether the program has a dashboard to serve.
pub fn has_dashboard() -> bool {
    Dist::get(INDEX).is_some()
}

/// Answers requests outside of the API with a file, or with the page whose script handles the path.
pub(crate) async fn serve(State(admin): State<Admin>, method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let sites = match overlaid_queue(uri.path()) {
        Some(queue) => framing_sites(&admin, &queue).await,
        None => None,
    };
    answer::<Dist>(&method, &uri, &headers, sites.as_deref())
}

/// Rule 25: the queue of an overlay's path.
fn overlaid_queue(path: &str) -> Option<QueueId> {
    path.strip_prefix("/queues/")?.strip_suffix("/overlay")?.parse().ok()
}

/// The hosts of a queue as sources of a policy. `None` without a queue, without such a host, and while the store does not
/// respond.
async fn framing_sites(admin: &Admin, queue: &QueueId) -> Option<String> {
    sources(&admin.store.settings(queue).await.ok()??.hosts)
}

/// Hosts as sources of a policy, with any port, since hosts of a queue have none. `*` is no host, and a policy cannot name
/// an IPv6 address.
fn sources(hosts: &[HostPattern]) -> Option<String> {
    let named = hosts.iter().filter(|host| **host != HostPattern::Any).map(ToString::to_string);
    let sources: Vec<String> = named.filter(|host| !host.contains(':')).map(|host| format!("{host}:*")).collect();
    (!sources.is_empty()).then(|| sources.join(" "))
}

/// `sites` may frame the page.
fn answer<Files: Embed>(method: &Method, uri: &Uri, headers: &HeaderMap, sites: Option<&str>) -> Response {
    let path = uri.path().trim_start_matches('/');
    if path == "api" || path.starts_with("api/") {
        return Problem::RouteNotFound.into_response();
    }
    if method != Method::GET && method != Method::HEAD {
        return Problem::MethodNotAllowed.into_response();
    }
    let is_page = path.starts_with(JOB_QUEUES) || !path.rsplit('/').next().unwrap_or_default().contains('.');
    let path = if is_page { INDEX } else { path };
    match Files::get(path) {
        Some(file) => match sites {
            Some(sites) => framed(path, &file, sites),
            None => found(path, &file, headers),
        },
        None if path == INDEX => {
            let policy = [(CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'")];
            (StatusCode::NOT_FOUND, policy, Html(NOT_BUILT)).into_response()
        }
        None => Problem::RouteNotFound.into_response(),
    }
}

fn found(path: &str, file: &EmbeddedFile, headers: &HeaderMap) -> Response {
    let hash = hex(&file.metadata.sha256_hash()[..HASH_BYTES]);
    // Weak, because the compressed response has the same tag.
    let etag = format!("W/\"{hash}\"");
    let kept = if path.starts_with(HASHED) { "public, max-age=31536000, immutable" } else { "no-cache" };
    let head = [(CACHE_CONTROL, kept.to_owned()), (ETAG, etag)];
    let known = headers.get(IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    if known.is_some_and(|known| known.contains(&hash)) {
        return (StatusCode::NOT_MODIFIED, head).into_response();
    }
    (head, content(path, file, UNFRAMEABLE)).into_response()
}

/// The page with the policy of one queue. It is not kept, because it has the hosts that the queue has now.
fn framed(path: &str, file: &EmbeddedFile, sites: &str) -> Response {
    let mut response = ([(CACHE_CONTROL, "no-store")], content(path, file, sites)).into_response();
    response.extensions_mut().insert(FramedBySites);
    response
}

fn content(path: &str, file: &EmbeddedFile, frame_ancestors: &str) -> impl IntoResponse + use<> {
    let policy = format!("{POLICY} {frame_ancestors}");
    let headers = [(CONTENT_TYPE, content_type(path).to_owned()), (CONTENT_SECURITY_POLICY, policy)];
    (headers, file.data.clone().into_owned())
}

/// The media type of a built file.
fn content_type(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Embed)]
    #[folder = "../../tests/fixtures/dashboard"]
    struct Built;

    #[derive(Embed)]
    #[folder = "../../tests/fixtures/no-such-folder"]
    #[allow_missing = true]
    struct Missing;

    fn get<Files: Embed>(path: &str, known: Option<&str>) -> Response {
        let mut headers = HeaderMap::new();
        if let Some(known) = known {
            headers.insert(IF_NONE_MATCH, known.parse().unwrap());
        }
        answer::<Files>(&Method::GET, &path.parse().unwrap(), &headers, None)
    }

    fn header(response: &Response, name: http::HeaderName) -> &str {
        response.headers().get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }

    #[test]
    fn hashed_files_are_immutable_and_the_page_is_revalidated() {
        let script = get::<Built>("/assets/index-D4bX9_aQ.js", None);
        assert_eq!(header(&script, CACHE_CONTROL), "public, max-age=31536000, immutable");
        assert_eq!(header(&script, CONTENT_TYPE), "text/javascript; charset=utf-8");
        for path in ["/", "/index.html", "/favicon.svg"] {
            assert_eq!(header(&get::<Built>(path, None), CACHE_CONTROL), "no-cache", "{path}");
        }
        let page = get::<Built>("/", None);
        let known = get::<Built>("/", Some(header(&page, ETAG)));
        assert_eq!((known.status(), header(&known, ETAG)), (StatusCode::NOT_MODIFIED, header(&page, ETAG)));
        assert_eq!(get::<Built>("/", Some("W/\"another\"")).status(), StatusCode::OK);
    }

    #[test]
    fn dashboard_routes_return_the_page_and_missing_files_404() {
        for path in
            ["/", "/queues", "/queues/acme-tour/history", "/job-queues/updates.fifo", "/sign-in?problem=wrong_state"]
        {
            let page = get::<Built>(path, None);
            assert_eq!(header(&page, CONTENT_TYPE), "text/html; charset=utf-8", "{path}");
            let policy = header(&page, CONTENT_SECURITY_POLICY);
            assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"), "{policy}");
            assert!(!policy.contains("unsafe") && policy.contains("frame-ancestors 'none'"), "{policy}");
        }
        for path in
            ["/assets/gone-AAAA.js", "/.env", "/../index.html", "/assets/..%2findex.html", "/api/v1/nothing", "/api"]
        {
            let refused = get::<Built>(path, None);
            assert_eq!(refused.status(), StatusCode::NOT_FOUND, "{path}");
            assert_eq!(header(&refused, CONTENT_TYPE), "application/problem+json", "{path}");
        }
        let posted = answer::<Built>(&Method::POST, &"/queues".parse().unwrap(), &HeaderMap::new(), None);
        assert_eq!(posted.status(), StatusCode::METHOD_NOT_ALLOWED);
    }

    #[test]
    fn only_an_overlay_names_its_queue() {
        let queue = |path: &str| overlaid_queue(path).map(|id| id.to_string());
        assert_eq!(queue("/queues/acme-tour/overlay").as_deref(), Some("acme-tour"));
        for path in
            ["/queues/acme-tour", "/queues/overlay", "/queues//overlay", "/queues/a/b/overlay", "/queues/A/overlay"]
        {
            assert_eq!(queue(path), None, "{path}");
        }
    }

    #[test]
    fn hosts_of_a_queue_are_sources_except_any_host() {
        let sources = |hosts: &[&str]| sources(&hosts.iter().map(|host| host.parse().unwrap()).collect::<Vec<_>>());
        let named = sources(&["tickets.example.com", "*", "*.acme.example", "[::1]"]);
        assert_eq!(named.as_deref(), Some("tickets.example.com:* *.acme.example:*"));
        assert_eq!(sources(&["*"]), None);
    }

    #[test]
    fn page_with_sites_is_not_kept() {
        let uri = "/queues/acme-tour/overlay".parse().unwrap();
        let page = answer::<Built>(&Method::GET, &uri, &HeaderMap::new(), Some("tickets.example.com:*"));
        assert!(header(&page, CONTENT_SECURITY_POLICY).ends_with("; frame-ancestors tickets.example.com:*"));
        assert_eq!((header(&page, CACHE_CONTROL), header(&page, ETAG)), ("no-store", ""));
    }

    #[test]
    fn missing_build_names_the_build_command() {
        for path in ["/", "/queues"] {
            assert_eq!(get::<Missing>(path, None).status(), StatusCode::NOT_FOUND);
        }
        assert!(NOT_BUILT.contains("<code>make dashboard</code>"));
    }
}
