use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use vestibule_core::fields::{List, ObjectReader, Omissible, StringMap};
use vestibule_core::settings::{
    FieldErrorCode, ListName, Method, RULES_MAX, RequestAttributes, Route, Rule, Ruling, Settings, TrustedHeaders,
    deciding_rule, decisive, host_and_path, route_of, rulings, untrusted_headers,
};
use vestibule_core::{Message, QueueId, fields, text_field};
use vestibule_runtime::Queue;

use crate::access::Principal;
use crate::api::queues::service::find_visible;
use crate::body::Body;
use crate::codes::Code;
use crate::describe::describe;
use crate::message::MessageView;
use crate::problem::Problem;
use crate::state::Admin;

/// Maximum length of a tested URL.
const URL_MAX: usize = 8192;
/// Maximum number of lists of networks of a tested request.
const LISTS_MAX: usize = 100;
/// Maximum number of headers, and of cookies, of a tested request.
const PAIRS_MAX: usize = 100;

fields! {
    /// A request to test.
    pub(crate) struct UrlTest {
        /// The URL with its host, such as `https://tickets.example.com/shop/seats`.
        url: Url,
        /// The method.
        method: Method = "GET".to_owned(),
        /// Headers by name. Those of `VESTIBULE_TRUSTED_HEADERS` count as set by a trusted proxy.
        headers: StringMap<PAIRS_MAX> = BTreeMap::new(),
        /// Cookies by name.
        cookies: StringMap<PAIRS_MAX> = BTreeMap::new(),
        /// IP address of the visitor. Without one, `source` matches as for a visitor whose address is not known: in rules with `queue`
        /// and `hold` only.
        source: Omissible<IpAddr>,
        /// Names of the lists of networks that contain the address. The backoffice does not read lists.
        lists: List<ListName, 0, LISTS_MAX> = Vec::new(),
        /// The queue whose rules are replaced by `rules`.
        queue: Omissible<QueueId>,
        /// Rules to use instead of the saved ones.
        rules: Omissible<List<Rule, 0, RULES_MAX>>,
    }
    check = check_queue;
}

fn check_queue(test: &mut UrlTest, object: &mut ObjectReader<'_>) {
    if test.rules.is_some() && test.queue.is_none() {
        object.error("queue", FieldErrorCode::Required.with("what", FieldErrorCode::Id));
    }
}

describe!(request UrlTest);

/// A URL: its host and path.
struct Url {
    host: String,
    path: String,
}

text_field! {
    Url: Code::Url, { "maxLength": URL_MAX };
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.host, self.path)
    }
}

impl FromStr for Url {
    type Err = Code;

    fn from_str(text: &str) -> Result<Self, Code> {
        let url = Some(text).filter(|text| text.len() <= URL_MAX).and_then(host_and_path).ok_or(Code::Url)?;
        Ok(Self { host: url.0, path: url.1.to_owned() })
    }
}

/// The result of a URL test.
#[derive(Serialize, ToSchema)]
pub(crate) struct UrlTestResult {
    /// The host, as rules see it.
    host: String,
    /// The interpretation of the path that decides; the path as sent if it is rejected.
    path: String,
    /// All interpretations of the path by origins; the first is the path as sent. A request bypasses queues only if
    /// all interpretations do, and is rejected if different queues decide about them.
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
    /// The path is too long, or can be interpreted in too many ways or as one of another queue: the gate answers 400.
    Rejected,
    /// No queue is configured for the host: the gate answers 404.
    UnknownHost,
    /// Queues of other tenants, to which you have no access, decide.
    Foreign,
}

/// One interpretation of the path.
#[derive(Serialize, ToSchema)]
pub(crate) struct Reading {
    /// The path, as rules see it.
    path: String,
    /// The result for this interpretation alone.
    outcome: Outcome,
    /// The queue that decides about it; `null` for none, or without access to it.
    queue: Option<String>,
}

/// An evaluated queue.
#[derive(Serialize, ToSchema)]
pub(crate) struct EvaluatedQueue {
    /// The queue; `null` without access to it.
    queue: Option<String>,
    /// The matching host of the queue.
    host: Option<String>,
    /// Index of the matching rule with `queue` or `bypass`, from 0; `null` for none.
    rule: Option<usize>,
    /// What the rules with `block`, `challenge` and `trust` say of the client; `null` if none of them matches.
    client: Option<ClassifiedClient>,
    /// The reason in English.
    reason: String,
    /// The code and parameters of the reason, for other languages.
    message: MessageView,
}

/// A client that a rule classifies.
#[derive(Serialize, ToSchema)]
pub(crate) struct ClassifiedClient {
    /// Index of the matching rule, from 0.
    rule: usize,
    /// Its action: `block`, `challenge` or `trust`.
    action: &'static str,
}

impl ClassifiedClient {
    const fn by(index: usize, rule: &Rule) -> Self {
        Self { rule: index, action: rule.action.as_str() }
    }
}

impl EvaluatedQueue {
    fn new(queue: Option<String>, host: Option<String>, rule: Option<usize>, reason: Message) -> Self {
        Self { queue, host, rule, client: None, reason: reason.to_string(), message: MessageView(reason) }
    }
}

/// Test a URL
///
/// Returns which queue matches the request, and why.
#[utoipa::path(post, path = "/url-tests", tag = "queues", request_body = UrlTest,
    responses((status = 200, description = "The result", body = UrlTestResult)))]
pub(crate) async fn test_url(
    State(admin): State<Admin>,
    principal: Principal,
    Body(mut test): Body<UrlTest>,
) -> Result<Json<UrlTestResult>, Problem> {
    admin.directory.refresh_readable().await?;
    let mut queues = admin.directory.of_host(&test.url.host).await;
    if let (Some(id), Some(rules)) = (&test.queue, test.rules.take()) {
        Problem::unless_valid(untrusted_headers(&rules, &admin.trusted_headers))?;
        let mut settings = find_visible(&admin, &principal, id.as_str()).await?;
        settings.rules = rules;
        for queue in queues.iter_mut().filter(|queue| queue.settings.id == *id) {
            *queue = Arc::new(queue.with(settings.clone()));
        }
    }
    Ok(Json(met(&principal, &test, &queues, &admin.trusted_headers)))
}

fn met(
    principal: &Principal,
    request: &UrlTest,
    queues: &[Arc<Queue>],
    trusted_headers: &TrustedHeaders,
) -> UrlTestResult {
    let header = |name: &str, visit: &mut dyn FnMut(&[u8])| {
        let values = request.headers.iter().filter(|(it, _)| it.eq_ignore_ascii_case(name));
        values.for_each(|(_, value)| visit(value.as_bytes()));
    };
    let cookie = |name: &str, visit: &mut dyn FnMut(&[u8])| {
        request.cookies.get(name).into_iter().for_each(|value| visit(value.as_bytes()));
    };
    let in_list = |name: &str, _| Some(request.lists.iter().any(|list| list == name));
    let facts = RequestAttributes {
        path: &request.url.path,
        method: &request.method,
        header: &header,
        cookie: &cookie,
        source: request.source,
        trusted_headers,
        in_list: &in_list,
    };
    let rules: Vec<&[Rule]> = queues.iter().map(|queue| queue.settings.rules.as_slice()).collect();
    let rulings = rulings(&rules, &facts);
    let can_view = |queue: &Queue| principal.can_view(&queue.settings.tenant);
    let has_foreign = queues.iter().any(|queue| !can_view(queue));
    let is_visible = |ruling: &Ruling| ruling.queue.map_or(!has_foreign, |index| can_view(&queues[index]));
    let outcome = |ruling: &Ruling| match (ruling.route, ruling.queue) {
        // Everything else would tell what the rules of others are.
        _ if !is_visible(ruling) => Outcome::Foreign,
        _ if queues.is_empty() => Outcome::UnknownHost,
        (Route::Queue, _) => Outcome::Queue,
        (Route::Bypass, Some(_)) => Outcome::Bypass,
        (Route::Bypass, None) => Outcome::Pass,
        (Route::Reject, _) => Outcome::Rejected,
    };
    let decisive = decisive(&rulings);
    let shown_queue = |ruling: &Ruling| {
        let queue = ruling.queue.map(|index| &queues[index]).filter(|queue| can_view(queue));
        queue.map(|queue| queue.settings.id.to_string())
    };
    // The rejection is of the path, not of a reading.
    let readings = rulings.iter().filter(|ruling| ruling.route != Route::Reject);
    let readings = readings.map(|ruling| Reading {
        path: ruling.path.clone(),
        outcome: outcome(ruling),
        queue: shown_queue(ruling),
    });
    let evaluated_count = match (decisive.route, decisive.queue) {
        _ if !is_visible(decisive) => queues.len(),
        (Route::Reject, _) => 0,
        (_, deciding) => deciding.map_or(queues.len(), |index| index + 1),
    };
    let evaluated = queues.iter().take(evaluated_count).enumerate().map(|(index, queue)| {
        if !can_view(queue) {
            return EvaluatedQueue::new(None, None, None, FieldErrorCode::ForeignQueue.into());
        }
        let takes = decisive.route == Route::Queue && decisive.queue == Some(index);
        ask(&queue.settings, &facts, &request.url.host, &decisive.path, takes)
    });
    UrlTestResult {
        host: request.url.host.clone(),
        path: decisive.path.clone(),
        readings: readings.collect(),
        outcome: outcome(decisive),
        queue: shown_queue(decisive),
        evaluated: evaluated.collect(),
    }
}

/// Why a queue takes the request or does not. Texts count rules from 1. If it `takes` the request although no rule says so, the path has too many
/// readings.
fn ask(settings: &Settings, facts: &RequestAttributes<'_>, host: &str, path: &str, takes: bool) -> EvaluatedQueue {
    let rule = deciding_rule(&settings.rules, facts, path);
    let client = settings.rules.iter().position(|rule| rule.action.class().is_some() && rule.matches(facts, path));
    let reason: Message = match (route_of(&settings.rules, facts, path), rule) {
        (Some(Route::Queue), Some(rule)) => Code::RuleQueued.with("rule", rule + 1),
        (Some(Route::Queue), None) if settings.rules.is_empty() => Code::NoRules.into(),
        (Some(Route::Queue), None) => Code::UnmatchedQueued.into(),
        _ if takes => Code::TooManyReadings.into(),
        (Some(Route::Bypass), Some(rule)) => Code::RuleBypassed.with("rule", rule + 1),
        (Some(Route::Bypass), None) | (Some(Route::Reject) | None, _) => Code::NoRuleMatched.into(),
    };
    let host = settings.hosts.iter().find(|pattern| pattern.matches(host)).map(ToString::to_string);
    EvaluatedQueue {
        client: client.map(|rule| ClassifiedClient::by(rule, &settings.rules[rule])),
        ..EvaluatedQueue::new(Some(settings.id.to_string()), host, rule, reason)
    }
}
