use std::net::IpAddr;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use vestibule_core::settings::{
    FieldWording, RULES_MAX, RequestAttributes, Rule, RuleAction, Ruling, Settings, action_of, decisive,
    normalise_host, rulings,
};
use vestibule_core::{Message, QueueId};
use vestibule_runtime::Queue;

use crate::access::Principal;
use crate::body::{JsonBody, read};
use crate::codes::Code;
use crate::message::MessageView;
use crate::problem::Problem;
use crate::queues::find_visible;
use crate::state::Admin;

/// Longest address that is tested.
const URL_MAX: usize = 8192;
/// Most headers or cookies of a tested request.
const PAIRS_MAX: usize = 100;

/// A request to test.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes a body that is read field by field")]
pub(crate) struct UrlTest {
    /// The URL with its host.
    #[schema(example = "https://tickets.example.com/shop/seats", max_length = 8192)]
    url: String,
    /// The method, GET by default.
    #[schema(pattern = "^[A-Z-]{1,32}$", nullable = false)]
    method: Option<String>,
    /// Headers by name.
    #[schema(value_type = Option<std::collections::BTreeMap<String, String>>, nullable = false)]
    headers: Option<Map<String, Value>>,
    /// Cookies by name.
    #[schema(value_type = Option<std::collections::BTreeMap<String, String>>, nullable = false)]
    cookies: Option<Map<String, Value>>,
    /// IP address of the visitor.
    #[schema(value_type = Option<String>, nullable = false)]
    source: Option<IpAddr>,
    /// The queue whose rules are replaced by `rules`.
    #[schema(nullable = false)]
    queue: Option<String>,
    /// Rules to use instead of the saved ones.
    #[schema(nullable = false)]
    rules: Option<Vec<Value>>,
}

/// The result of a URL test.
#[derive(Serialize, ToSchema)]
pub(crate) struct UrlTestResult {
    /// The host, as rules see it.
    host: String,
    /// The interpretation of the path that decides.
    path: String,
    /// All interpretations of the path by origins; the first is the path as sent. A request bypasses queues only if
    /// all interpretations do.
    readings: Vec<Reading>,
    /// The result.
    outcome: Outcome,
    /// The queue that decides; `null` for none, or without access to it.
    queue: Option<String>,
    /// The evaluated queues in order, each with a reason.
    evaluated: Vec<EvaluatedQueue>,
}

/// The result for a request.
#[derive(Serialize, ToSchema, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// The request is queued.
    Queue,
    /// A rule bypasses the queue.
    Bypass,
    /// No queue of the host matches.
    Pass,
    /// No queue is configured for the host: the gate answers 404.
    UnknownHost,
}

/// One interpretation of the path.
#[derive(Serialize, ToSchema)]
pub(crate) struct Reading {
    /// The path, as rules see it.
    path: String,
    /// The result for this interpretation alone.
    outcome: Outcome,
}

/// An evaluated queue.
#[derive(Serialize, ToSchema)]
pub(crate) struct EvaluatedQueue {
    /// The queue; `null` without access to it.
    queue: Option<String>,
    /// The matching host of the queue.
    host: Option<String>,
    /// Index of the matching rule, from 0; `null` for none.
    rule: Option<usize>,
    /// The reason in English.
    reason: String,
    /// The code and parameters of the reason, for other languages.
    message: MessageView,
}

impl EvaluatedQueue {
    fn new(queue: Option<String>, host: Option<String>, rule: Option<usize>, reason: Message) -> Self {
        Self { queue, host, rule, reason: reason.to_string(), message: MessageView(reason) }
    }
}

struct Request {
    host: String,
    path: String,
    method: String,
    headers: Vec<(String, String)>,
    cookies: Vec<(String, String)>,
    source: Option<IpAddr>,
}

/// Test a URL
///
/// Returns which queue matches the request, and why.
#[utoipa::path(post, path = "/url-tests", tag = "queues", request_body = UrlTest,
    responses((status = 200, description = "The result", body = UrlTestResult)))]
pub(crate) async fn test_url(
    State(admin): State<Admin>,
    principal: Principal,
    JsonBody(body): JsonBody,
) -> Result<Json<UrlTestResult>, Problem> {
    let (request, tried) = request(&body)?;
    admin.directory.refresh().await?;
    let mut queues = admin.directory.of_host(&request.host).await;
    if let Some((id, rules)) = tried {
        let mut document = find_visible(&admin, &principal, id.as_str()).await?.to_value();
        document["rules"] = rules;
        let settings = Settings::from_value(&document).map_err(Problem::ValidationFailed)?;
        for queue in queues.iter_mut().filter(|queue| queue.settings.id == id) {
            *queue = Arc::new(queue.with(settings.clone()));
        }
    }
    Ok(Json(met(&principal, &request, &queues)))
}

/// The request, and the rules that are tried with the queue that they are of.
fn request(body: &Map<String, Value>) -> Result<(Request, Option<(QueueId, Value)>), Problem> {
    let (url, tried, request) = read(body, |fields| {
        let url = fields.required("url", Code::Url, |value| split(value.as_str()?));
        let method = |value: &Value| value.as_str().filter(|text| is_method(text)).map(str::to_owned);
        let method = fields.or("method", "GET".to_owned(), Code::Method, method);
        let takes = || Code::Pairs.with("most", PAIRS_MAX);
        let headers = fields.or("headers", Vec::new(), takes(), pairs);
        let cookies = fields.or("cookies", Vec::new(), takes(), pairs);
        let source = fields.optional("source", Code::Address, |value| value.as_str()?.parse().ok());
        let takes_rules = FieldWording::Rules.with("most", RULES_MAX);
        let rules = fields.optional("rules", takes_rules, |value| value.as_array().map(|_| value.clone()));
        let queue = match rules {
            Some(_) => fields.required("queue", FieldWording::Id, |value| value.as_str()?.parse().ok()),
            None => fields.optional("queue", FieldWording::Id, |value| value.as_str()?.parse().ok()),
        };
        (url, queue.zip(rules), Request { host: String::new(), path: String::new(), method, headers, cookies, source })
    })?;
    let (host, path) = url.unwrap_or_default();
    Ok((Request { host, path, ..request }, tried))
}

/// Host and path of an address, with or without its scheme.
fn split(url: &str) -> Option<(String, String)> {
    if url.len() > URL_MAX {
        return None;
    }
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let path = rest[end..].split(['?', '#']).next().filter(|path| !path.is_empty()).unwrap_or("/");
    Some((normalise_host(&rest[..end])?, path.to_owned()))
}

fn is_method(text: &str) -> bool {
    !text.is_empty() && text.len() <= 32 && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-')
}

fn pairs(value: &Value) -> Option<Vec<(String, String)>> {
    let map = value.as_object().filter(|map| map.len() <= PAIRS_MAX)?;
    map.iter().map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

fn met(principal: &Principal, request: &Request, queues: &[Arc<Queue>]) -> UrlTestResult {
    let header =
        |name: &str| request.headers.iter().find(|(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, it)| it.as_str());
    let cookie = |name: &str| request.cookies.iter().find(|(it, _)| it == name).map(|(_, value)| value.clone());
    let facts = RequestAttributes {
        path: &request.path,
        method: &request.method,
        header: &header,
        cookie: &cookie,
        source: request.source,
    };
    let rules: Vec<&[Rule]> = queues.iter().map(|queue| queue.settings.rules.as_slice()).collect();
    let rulings = rulings(&rules, &facts);
    let outcome = |ruling: &Ruling| match (ruling.action, ruling.queue) {
        _ if queues.is_empty() => Outcome::UnknownHost,
        (RuleAction::Queue, _) => Outcome::Queue,
        (RuleAction::Bypass, Some(_)) => Outcome::Bypass,
        (RuleAction::Bypass, None) => Outcome::Pass,
    };
    let readings = rulings.iter().map(|ruling| Reading { path: ruling.path.clone(), outcome: outcome(ruling) });
    let decisive = decisive(&rulings);
    let can_view = |queue: &Queue| principal.can_view(&queue.settings.tenant);
    let met_queue = decisive.queue.map(|index| &queues[index]).filter(|queue| can_view(queue));
    let evaluated =
        queues.iter().take(decisive.queue.map_or(queues.len(), |index| index + 1)).enumerate().map(|(index, queue)| {
            if !can_view(queue) {
                return EvaluatedQueue::new(None, None, None, Code::ForeignQueue.into());
            }
            let takes = decisive.action == RuleAction::Queue && decisive.queue == Some(index);
            ask(&queue.settings, &facts, &request.host, &decisive.path, takes)
        });
    UrlTestResult {
        host: request.host.clone(),
        path: decisive.path.clone(),
        readings: readings.collect(),
        outcome: outcome(decisive),
        queue: met_queue.map(|queue| queue.settings.id.to_string()),
        evaluated: evaluated.collect(),
    }
}

/// Why a queue takes the request or does not. One that `takes` it although no rule says so has not read the path in every
/// way.
fn ask(settings: &Settings, facts: &RequestAttributes<'_>, host: &str, path: &str, takes: bool) -> EvaluatedQueue {
    let rule = settings.rules.iter().position(|rule| rule.matches(facts, path));
    let reason: Message = match (action_of(&settings.rules, facts, path), rule) {
        (Some(RuleAction::Queue), Some(rule)) => Code::RuleQueued.with("rule", rule),
        (Some(RuleAction::Queue), None) if settings.rules.is_empty() => Code::NoRules.into(),
        (Some(RuleAction::Queue), None) => Code::UnmatchedQueued.into(),
        _ if takes => Code::TooManyReadings.into(),
        (Some(RuleAction::Bypass), rule) => Code::RuleBypassed.with("rule", rule.unwrap_or_default()),
        (None, _) => Code::NoRuleMatched.into(),
    };
    let host = settings.hosts.iter().find(|pattern| pattern.matches(host)).map(ToString::to_string);
    EvaluatedQueue::new(Some(settings.id.to_string()), host, rule, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_is_parsed_like_a_browser() {
        for (url, host, path) in [
            ("https://Tickets.example.com:8443/Shop?x=/y#z", "tickets.example.com", "/Shop"),
            ("tickets.example.com", "tickets.example.com", "/"),
            ("http://[::1]:8080?x", "[::1]", "/"),
        ] {
            assert_eq!(split(url), Some((host.to_owned(), path.to_owned())), "{url}");
        }
        for bad in ["", "/shop", "https://", "https://a b/", &"x".repeat(URL_MAX + 1)] {
            assert_eq!(split(bad), None, "{bad}");
        }
    }
}
