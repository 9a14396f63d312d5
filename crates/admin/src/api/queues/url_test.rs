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

use crate::access::Caller;
use crate::body::{JsonBody, read};
use crate::phrase::PhraseView;
use crate::problem::Problem;
use crate::queues::seen;
use crate::state::Admin;
use crate::wording::Wording;

/// Longest address that is tested.
const URL_MAX: usize = 8192;
/// Most headers or cookies of a tested request.
const PAIRS_MAX: usize = 100;

/// A request that is to be tested.
#[derive(ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes a body that is read field by field")]
pub(crate) struct UrlTest {
    /// The address, with its host.
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
    /// Address of the visitor.
    #[schema(value_type = Option<String>, nullable = false)]
    source: Option<IpAddr>,
    /// The queue that `rules` are of.
    #[schema(nullable = false)]
    queue: Option<String>,
    /// Rules to try in place of those that the queue has.
    #[schema(nullable = false)]
    rules: Option<Vec<Value>>,
}

/// What a request would meet.
#[derive(Serialize, ToSchema)]
pub(crate) struct UrlMet {
    /// The host, as rules see it.
    host: String,
    /// The reading of the path that decides.
    path: String,
    /// Every way in which an origin may read the path; the first is the path as it was sent. The request passes only if
    /// it passes in all of them.
    readings: Vec<Reading>,
    /// What would happen.
    outcome: Outcome,
    /// The queue that decides; `null` for none, or for one that is not the caller's to see.
    queue: Option<String>,
    /// Every queue that is asked, in that order, with its reason.
    asked: Vec<Asked>,
}

/// What would happen to a request.
#[derive(Serialize, ToSchema, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// It meets a queue.
    Queue,
    /// It passes, by a rule.
    Bypass,
    /// It passes: no queue of its host takes it.
    Pass,
    /// No queue stands in front of the host: the gate answers 404.
    UnknownHost,
}

/// One reading of the path.
#[derive(Serialize, ToSchema)]
pub(crate) struct Reading {
    /// The path, as rules see it.
    path: String,
    /// What would happen if it were the only reading.
    outcome: Outcome,
}

/// A queue that was asked.
#[derive(Serialize, ToSchema)]
pub(crate) struct Asked {
    /// The queue; `null` for one that is not the caller's to see.
    queue: Option<String>,
    /// Its host that fits.
    host: Option<String>,
    /// Number of the rule that decides, from 0; `null` where none does.
    rule: Option<usize>,
    /// Why, as a sentence.
    reason: String,
    /// The same, for those who say it in another language.
    phrase: PhraseView,
}

impl Asked {
    fn new(queue: Option<String>, host: Option<String>, rule: Option<usize>, reason: Message) -> Self {
        Self { queue, host, rule, reason: reason.to_string(), phrase: PhraseView(reason) }
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

/// Tests an address
///
/// Which queue would this request meet, and why.
#[utoipa::path(post, path = "/url-test", tag = "queues", request_body = UrlTest,
    responses((status = 200, description = "What it would meet", body = UrlMet)))]
pub(crate) async fn test_url(
    State(admin): State<Admin>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Result<Json<UrlMet>, Problem> {
    let (request, tried) = request(&body)?;
    admin.directory.refresh().await?;
    let mut queues = admin.directory.of_host(&request.host).await;
    if let Some((id, rules)) = tried {
        let mut document = seen(&admin, &caller, id.as_str()).await?.to_value();
        document["rules"] = rules;
        let settings = Settings::from_value(&document).map_err(Problem::WrongFields)?;
        for queue in queues.iter_mut().filter(|queue| queue.settings.id == id) {
            *queue = Arc::new(queue.with(settings.clone()));
        }
    }
    Ok(Json(met(&caller, &request, &queues)))
}

/// The request, and the rules that are tried with the queue that they are of.
fn request(body: &Map<String, Value>) -> Result<(Request, Option<(QueueId, Value)>), Problem> {
    let (url, tried, request) = read(body, |fields| {
        let url = fields.required("url", Wording::Url, |value| split(value.as_str()?));
        let method = |value: &Value| value.as_str().filter(|text| is_method(text)).map(str::to_owned);
        let method = fields.or("method", "GET".to_owned(), Wording::Method, method);
        let takes = || Wording::Pairs.with("most", PAIRS_MAX);
        let headers = fields.or("headers", Vec::new(), takes(), pairs);
        let cookies = fields.or("cookies", Vec::new(), takes(), pairs);
        let source = fields.optional("source", Wording::Address, |value| value.as_str()?.parse().ok());
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

fn met(caller: &Caller, request: &Request, queues: &[Arc<Queue>]) -> UrlMet {
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
    let sees = |queue: &Queue| caller.sees(&queue.settings.tenant);
    let met_queue = decisive.queue.map(|index| &queues[index]).filter(|queue| sees(queue));
    let asked =
        queues.iter().take(decisive.queue.map_or(queues.len(), |index| index + 1)).enumerate().map(|(index, queue)| {
            if !sees(queue) {
                return Asked::new(None, None, None, Wording::ForeignQueue.into());
            }
            let takes = decisive.action == RuleAction::Queue && decisive.queue == Some(index);
            ask(&queue.settings, &facts, &request.host, &decisive.path, takes)
        });
    UrlMet {
        host: request.host.clone(),
        path: decisive.path.clone(),
        readings: readings.collect(),
        outcome: outcome(decisive),
        queue: met_queue.map(|queue| queue.settings.id.to_string()),
        asked: asked.collect(),
    }
}

/// Why a queue takes the request or does not. One that `takes` it although no rule says so has not read the path in every
/// way.
fn ask(settings: &Settings, facts: &RequestAttributes<'_>, host: &str, path: &str, takes: bool) -> Asked {
    let rule = settings.rules.iter().position(|rule| rule.matches(facts, path));
    let reason: Message = match (action_of(&settings.rules, facts, path), rule) {
        (Some(RuleAction::Queue), Some(rule)) => Wording::RuleTakes.with("rule", rule),
        (Some(RuleAction::Queue), None) if settings.rules.is_empty() => Wording::TakesAll.into(),
        (Some(RuleAction::Queue), None) => Wording::NoException.into(),
        _ if takes => Wording::TooManyReadings.into(),
        (Some(RuleAction::Bypass), rule) => Wording::RulePasses.with("rule", rule.unwrap_or_default()),
        (None, _) => Wording::TakesNothing.into(),
    };
    let host = settings.hosts.iter().find(|pattern| pattern.matches(host)).map(ToString::to_string);
    Asked::new(Some(settings.id.to_string()), host, rule, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_apart_as_a_browser_would() {
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
