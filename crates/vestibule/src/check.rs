//! `vestibule check FILE`: validates a settings file and warns about settings that are probably a mistake.

use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use bytes::Bytes;
use chrono::{DateTime, Local};
use clap::Args;
use http::{HeaderName, HeaderValue, Method, Request, StatusCode};
use vestibule_core::identity::KeySet;
use vestibule_core::jobs::{JobQueueSettings, JobSchedule, JobTargetKind};
use vestibule_core::line::LineRules;
use vestibule_core::settings::{
    Access, BeaconRound, BetweenEvents, Event, EventOrder, HandoverKind, HostPattern, IdentityKind, InvitationBatch,
    LimitMode, Mode, Origin, Plan, PlanOptions, Settings, StoredSettings, TrustedHeaders, are_same_site,
    event_problems, queues_unmatched, untrusted_headers,
};
use vestibule_core::{Clock as _, Micros, NetworkClass, SystemClock, Timestamp};
use vestibule_gate::{NetworkLists, NetworkListsError, Networks};
use vestibule_http_client::{HttpClient, Options};
use vestibule_runtime::{are_jobs_in_sqs, is_memory, open_jobs, parse_sale_keys};
use vestibule_themes::ThemesConfig;
use vestibule_worker::FUNCTION_TIMEOUT_MAX;

use crate::arguments::parse_origin;
use crate::check_url::{TestedRequest, TestedUrl, parse_cookie, parse_header, parse_method, parse_url, ruling_lines};
use crate::rule_warnings::{foreign_wildcard_warnings, own_host_warning, rule_warnings, webhook_warnings};
use crate::settings_file::read_settings;

/// Time limit for fetching the keys of accounts.
const KEY_SET_TIMEOUT: Duration = Duration::from_secs(5);
/// How many runs of a schedule are shown.
const SHOWN_RUNS: usize = 2;
/// Time limit of operations on jobs. There are none.
const JOBS_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Args)]
pub(crate) struct CheckOptions {
    /// Settings file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Theme storage, a folder or `s3://bucket/prefix`; the themes of the queues are validated too
    #[arg(long, env = "VESTIBULE_THEMES", value_name = "PLACE")]
    pub(crate) themes: Option<String>,

    /// Origin of the site, for queues without an origin
    #[arg(long, env = "VESTIBULE_ORIGIN", value_parser = parse_origin, value_name = "URL")]
    pub(crate) origin: Option<Origin>,

    /// Sale keys of the gates; events and invitations that name another key are errors
    #[arg(long, env = "VESTIBULE_SALE_KEYS", hide_env_values = true, value_name = "KEYS")]
    pub(crate) sale_keys: Option<String>,

    /// Headers that only trusted proxies of the gates may send; rules that rely on others are reported
    #[arg(
        long,
        env = "VESTIBULE_TRUSTED_HEADERS",
        default_value = "",
        hide_default_value = true,
        value_name = "NAMES"
    )]
    pub(crate) trusted_headers: TrustedHeaders,

    /// Where the jobs of job queues are, as the flag of serve; held orders that would be lost, and settings that SQS does not
    /// support, are reported
    #[arg(long, env = "VESTIBULE_JOBS_URL", hide_env_values = true, value_name = "URL")]
    pub(crate) jobs: Option<String>,

    /// Print what happens to requests for a URL, for each interpretation of its path by origins; may be repeated
    #[arg(long = "url", value_parser = parse_url, value_name = "URL")]
    pub(crate) urls: Vec<TestedUrl>,

    /// Method of the requests of --url
    #[arg(long, default_value = "GET", value_parser = parse_method, value_name = "METHOD")]
    pub(crate) method: Method,

    /// Header of the requests of --url, such as 'User-Agent: curl/8'; may be repeated. Those of --trusted-headers count as set by a
    /// trusted proxy
    #[arg(long = "header", value_parser = parse_header, value_name = "HEADER")]
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,

    /// Cookie of the requests of --url, such as member=gold; may be repeated
    #[arg(long = "cookie", value_parser = parse_cookie, value_name = "COOKIE")]
    pub(crate) cookies: Vec<(String, String)>,

    /// IP address of the visitor of --url; without one, source matches in rules with queue and hold only
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) source: Option<IpAddr>,

    /// Lists of networks of the gates, a folder or `s3://bucket/prefix`; names of other lists are reported
    #[arg(long, env = "VESTIBULE_NETWORKS", value_name = "PLACE")]
    pub(crate) networks: Option<String>,
}

/// Checks a file. Exit status 1 if `serve` would reject it.
pub(crate) async fn check(options: CheckOptions) -> anyhow::Result<ExitCode> {
    let document = match read_settings(&options.file, options.origin.as_ref()) {
        Ok(document) => document,
        Err(error) => {
            eprintln!("{error}");
            return Ok(ExitCode::FAILURE);
        }
    };
    let themes = ThemesConfig { address: options.themes.clone(), recheck: None }.open("--themes")?;
    let keys = options.sale_keys.as_ref().map(|text| parse_sale_keys("--sale-keys", text)).transpose()?;
    if let Some(jobs) = options.jobs.as_deref().filter(|jobs| !are_jobs_in_sqs(jobs)) {
        open_jobs("--jobs", jobs, jobs, JOBS_TIMEOUT, 0)?;
    }
    let lists = match &options.networks {
        Some(address) => Some(network_lists(address).await.context("--networks")?),
        None => None,
    };
    let now = SystemClock::new().now();
    let plan_options = PlanOptions { sale_keys: keys.as_ref(), ..PlanOptions::default() };
    let plan = Plan::of(&StoredSettings::default(), document.clone(), &plan_options);
    let mut code = ExitCode::SUCCESS;
    for queue in &document.queues {
        println!("{}", summary(queue));
        for event in queue.line.events.iter() {
            println!("  {}", event_summary(event));
        }
        for batch in &queue.invitations {
            println!("  {}", batch_summary(batch));
        }
        for warning in warnings(queue, &document.queues, &plan, now)
            .into_iter()
            .chain(key_warnings(queue, now).into_iter().filter(|_| keys.is_none()))
            .chain(header_warnings(queue, &options.trusted_headers))
            .chain(hold_warnings(queue, options.jobs.as_deref()))
        {
            println!("  warning: {warning}");
        }
        for warning in lists.iter().flat_map(|lists| list_warnings(queue, lists)) {
            println!("  warning: {warning}");
        }
        if let Some(warning) = key_set_warning(queue).await {
            println!("  warning: {warning}");
        }
        if let Some(theme) = queue.theme.as_ref().filter(|_| options.themes.is_some())
            && let Err(error) = themes.check(theme).await
        {
            println!("  error: theme \"{theme}\": {error}");
            code = ExitCode::FAILURE;
        }
    }
    for job_queue in &document.job_queues {
        println!("{}", job_queue_summary(job_queue));
        for schedule in &job_queue.schedules {
            println!("  {}", schedule_summary(schedule, now));
        }
        for warning in webhook_warnings(job_queue, &document.queues) {
            println!("  warning: {warning}");
        }
        if options.jobs.as_deref().is_some_and(are_jobs_in_sqs) {
            for warning in sqs_warnings(job_queue) {
                println!("  warning: {warning}");
            }
        }
    }
    let request = TestedRequest {
        method: &options.method,
        headers: &options.headers,
        cookies: &options.cookies,
        source: options.source,
        lists: lists.as_deref(),
    };
    for url in &options.urls {
        for line in ruling_lines(url, &request, &document.queues, &options.trusted_headers) {
            println!("{line}");
        }
    }
    // What `serve` rejects, too.
    for error in &plan.invalid {
        println!("error: {error}");
        code = ExitCode::FAILURE;
    }
    if document.queues.is_empty() {
        println!("warning: the file has no queues: serve does not apply it in place of one with queues");
    }
    let mut counts = vec![count_noun(document.tenants.len(), "tenant"), count_noun(document.queues.len(), "queue")];
    if !document.job_queues.is_empty() {
        counts.push(count_noun(document.job_queues.len(), "job queue"));
    }
    let counts = counts.join(", ");
    let result = if code == ExitCode::SUCCESS { "is valid" } else { "has errors" };
    println!("{} {result}: {counts}", options.file.display());
    Ok(code)
}

/// A warning if nobody could join, because the keys that verify accounts cannot be fetched from here.
async fn key_set_warning(queue: &Settings) -> Option<String> {
    let identity = queue.line.protection.identity.as_ref().filter(|identity| identity.required)?;
    let url = identity.jwks.as_ref().filter(|_| identity.kind == IdentityKind::Jwt)?.to_string();
    let error = fetch_key_set(&url).await.err()?;
    Some(format!(
        "protection.identity.jwks: {url} has no keys ({error}); nobody can join while the gate cannot fetch them"
    ))
}

async fn fetch_key_set(url: &str) -> anyhow::Result<()> {
    let client = HttpClient::new(Options { timeout: KEY_SET_TIMEOUT, ..Options::default() })?;
    let response = client.send(Request::get(url).body(Bytes::new())?).await?;
    anyhow::ensure!(response.status() == StatusCode::OK, "status {}", response.status().as_u16());
    KeySet::from_fetched(&serde_json::from_slice(response.body())?)?;
    Ok(())
}

fn count_noun(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

fn summary(queue: &Settings) -> String {
    let hosts: Vec<String> = queue.hosts.iter().map(ToString::to_string).collect();
    let origin = queue.handover.origin.as_ref().map(|origin| format!(" to {origin}")).unwrap_or_default();
    let unmatched =
        if queues_unmatched(queue) { "unmatched requests are queued" } else { "unmatched requests bypass the queue" };
    let rules = match queue.rules.len() {
        0 => "all requests are queued".to_owned(),
        rules => format!("{}, {unmatched}", count_noun(rules, "rule")),
    };
    let every = queue.line.admissions_every.map(|every| format!(" every {every} s")).unwrap_or_default();
    let rate = queue.line.admissions_per_minute.map(|rate| format!(", {rate} admissions per minute{every}"));
    let rate = rate.unwrap_or_default();
    format!("{}: {}: {rules}; quota {}{rate}{origin}", queue.id, hosts.join(", "), queue.line.quota)
}

fn job_queue_summary(job_queue: &JobQueueSettings) -> String {
    let JobQueueSettings { id, target, concurrency, max_attempts, .. } = job_queue;
    let rate = job_queue.dispatches_per_minute.map(|rate| format!(", {rate} per minute")).unwrap_or_default();
    let order = if id.is_fifo() { "in order per group" } else { "in parallel" };
    let paused = if job_queue.paused { ", paused" } else { "" };
    let target = match (target.kind, &target.url) {
        (JobTargetKind::Http, Some(url)) => format!("to {url}"),
        (JobTargetKind::Http | JobTargetKind::Pull, _) => "for consumers".to_owned(),
        (JobTargetKind::Origin, _) => "held orders".to_owned(),
    };
    format!("job queue {id}: {order}, up to {concurrency} at a time{rate}, {max_attempts} attempts, {target}{paused}")
}

/// The next runs of a schedule in UTC.
fn schedule_summary(schedule: &JobSchedule, now: Micros) -> String {
    let next = std::iter::successors(schedule.next_after(now), |last| schedule.next_after(*last)).take(SHOWN_RUNS);
    let runs: Vec<String> = next.map(|run| Timestamp::of(run).to_string()).collect();
    format!("schedule {}: {} in {}, next {}", schedule.id, schedule.cron, schedule.time_zone, runs.join(" and "))
}

/// The times of an event in UTC and in the time zone of this machine.
fn event_summary(event: &Event) -> String {
    let local = |time: Timestamp| {
        let utc = DateTime::from_timestamp(time.seconds().cast_signed(), 0).unwrap_or_default();
        format!("{time} ({})", utc.with_timezone(&Local).format("%Y-%m-%d %H:%M:%S %:z"))
    };
    let suspended = if event.suspended { ", suspended" } else { "" };
    let [lobby, start, end] = [event.lobby_at(), event.starts_at, event.ends_at].map(local);
    let order = match event.order {
        EventOrder::Draw => match event.beacon_round() {
            Some(BeaconRound { round, published_at, .. }) => {
                format!(
                    "draw of {} s with round {round} of drand-quicknet, published {published_at}, {}",
                    event.draw_seconds(),
                    key_summary(event.key.as_deref())
                )
            }
            None => format!("draw of {} s, {}", event.draw_seconds(), key_summary(event.key.as_deref())),
        },
        EventOrder::Arrival => "order of arrival".to_owned(),
    };
    format!("event {}{suspended}: lobby {lobby}, start {start}, end {end}, {order}", event.id)
}

/// What the codes of a batch are worth, and the sale key that must be kept for them.
fn batch_summary(batch: &InvitationBatch) -> String {
    let InvitationBatch { number, id, count, head_start, .. } = batch;
    let time = |name: &str, time: Option<Timestamp>| time.map(|time| format!(", {name} {time}")).unwrap_or_default();
    let (from, until) = (time("from", batch.from), time("until", batch.until));
    let key = key_summary(batch.key.as_deref());
    let revoked = if batch.revoked { ", revoked" } else { "" };
    format!("invitations {id}: batch {number}, {count} codes, head start {head_start} s{from}{until}, {key}{revoked}")
}

/// The sale key of a draw or a batch. Without one in the file, it depends on what is stored, which is not known here.
fn key_summary(key: Option<&str>) -> String {
    key.map_or_else(|| "sale key as stored, or the first if it is new".to_owned(), |key| format!("sale key {key}"))
}

/// Warnings about a queue that follows its events.
fn schedule_warnings(rules: &LineRules, now: Micros) -> Vec<String> {
    if rules.events.planned().any(|event| event.ends_at.micros() > now) {
        return Vec::new();
    }
    let effect = match rules.between_events.unwrap_or_default() {
        BetweenEvents::Bypass => "all visitors continue, whatever the quota",
        BetweenEvents::Closed => "nobody joins",
    };
    vec![format!("mode is \"scheduled\" and no event is ahead: {effect}")]
}

/// Draws and invitations that name a sale key, which the gates need to have.
fn key_warnings(queue: &Settings, now: Micros) -> Vec<String> {
    let named = queue.needed_sale_keys(now).filter(|(_, key)| !key.is_empty());
    let warning = |(what, key)| format!("{what}: serve needs the sale key \"{key}\"; pass --sale-keys to check it");
    named.map(warning).collect()
}

/// Rules that never match, because anyone could send their headers.
fn header_warnings(queue: &Settings, trusted: &TrustedHeaders) -> impl Iterator<Item = String> {
    untrusted_headers(&queue.rules, trusted).into_iter().map(|error| error.to_string())
}

/// Rules whose orders are lost with the process.
fn hold_warnings(queue: &Settings, jobs: Option<&str>) -> Vec<String> {
    let holds = queue.rules.iter().enumerate().filter(|(_, rule)| rule.hold().is_some() && jobs.is_some_and(is_memory));
    let lost = "--jobs is memory: orders that are not sent yet are lost when the process ends";
    holds.map(|(index, _)| format!("rules[{index}]: {lost}")).collect()
}

/// Settings that have another effect if SQS carries the jobs.
fn sqs_warnings(job_queue: &JobQueueSettings) -> Vec<String> {
    let mut found = Vec::new();
    if job_queue.target.kind == JobTargetKind::Pull {
        let problem =
            "consumers cannot receive jobs that SQS carries, so none of them runs; use another target, or a Redis";
        found.push(format!("target.kind is \"pull\": {problem}"));
    }
    if job_queue.timeout > FUNCTION_TIMEOUT_MAX {
        let timeout = job_queue.timeout;
        found.push(format!(
            "timeout is {timeout}: the function that runs the jobs of SQS ends calls after {FUNCTION_TIMEOUT_MAX} seconds"
        ));
    }
    found
}

async fn network_lists(address: &str) -> Result<Arc<Networks>, NetworkListsError> {
    let lists = NetworkLists::at(address)?;
    lists.load().await?;
    Ok(lists.current())
}

/// Names of lists that the gates do not have.
fn list_warnings(queue: &Settings, lists: &Networks) -> Vec<String> {
    let in_rules = queue
        .rules
        .iter()
        .enumerate()
        .flat_map(|(index, rule)| rule.lists().map(move |name| (format!("rules[{index}].source"), name)));
    let classes = queue.line.protection.lists.by_class().into_iter();
    let in_classes = classes.flat_map(|(class, names)| {
        names.iter().map(move |name| (format!("protection.lists.{}", class.as_str()), name.as_str()))
    });
    let known = match lists.names().collect::<Vec<_>>() {
        names if names.is_empty() => "there are none".to_owned(),
        names => format!("there are {}", names.join(", ")),
    };
    let unknown = in_rules.chain(in_classes).filter(|(_, name)| lists.names().all(|known| known != *name));
    unknown.map(|(field, name)| format!("{field}: --networks has no list \"{name}\"; {known}")).collect()
}

/// Measures against automated clients that affect visitors who do no harm.
fn protection_warnings(rules: &LineRules) -> Vec<String> {
    let (protection, mut found) = (&rules.protection, Vec::new());
    let is_limited = protection.per_address.or(protection.per_network).is_some();
    let is_any_shared = !protection.lists.shared.is_empty() || protection.networks.any_is(NetworkClass::Shared);
    if protection.mode == LimitMode::Enforce && is_limited && !is_any_shared {
        found.push(
            "protection.mode is \"enforce\" and no network is \"shared\": visitors of a mobile carrier share its addresses and limits"
                .to_owned(),
        );
    }
    if protection.pre_ticket_from.is_some() && protection.pre_ticket_max_age > rules.hold_ttl {
        found.push(format!(
            "protection.pre_ticket_max_age is {} and hold_ttl is {}: a first visit counts for longer than a position is kept",
            protection.pre_ticket_max_age, rules.hold_ttl
        ));
    }
    found
}

/// An origin of another site than the gate, where pages cannot keep sessions active.
fn other_site_warning(queue: &Settings) -> Option<String> {
    let origin = queue.handover.origin.as_ref().filter(|_| queue.handover.kind == HandoverKind::Redirect)?;
    let is_elsewhere = |pattern: &&HostPattern| match pattern {
        HostPattern::Exact(host) | HostPattern::Wildcard(host) => !are_same_site(host, origin.host()),
        HostPattern::Any => false,
    };
    let host = queue.hosts.iter().find(is_elsewhere)?;
    Some(format!(
        "handover.origin is {origin}, another site than {host}: browsers send no ticket with keepalive.js, so slots end after claim_ttl or active_ttl; use hosts of one domain"
    ))
}

fn warnings(queue: &Settings, all: &[Settings], plan: &Plan, now: Micros) -> Vec<String> {
    let mut found = Vec::new();
    for event in queue.line.events.iter() {
        let problems = event_problems(&queue.line, event, now).into_iter();
        found.extend(problems.map(|problem| format!("event \"{}\": {problem}", event.id)));
    }
    match queue.line.mode {
        Mode::Open if queue.line.quota == 0 => found.push("quota is 0: nobody is admitted".to_owned()),
        // Only the last two are modes that nobody can set.
        Mode::Open | Mode::Lobby | Mode::Draw => {}
        Mode::Paused => found.push("mode is \"paused\": visitors join; nobody is admitted".to_owned()),
        Mode::Closed => found.push("mode is \"closed\": nobody joins; active visitors continue".to_owned()),
        Mode::Draining => {
            found.push(
                "mode is \"draining\": nobody joins; waiting visitors are admitted, then the queue closes".to_owned(),
            );
        }
        Mode::Scheduled => found.extend(schedule_warnings(&queue.line, now)),
        Mode::Bypass => found.push("mode is \"bypass\": all visitors continue, whatever the quota".to_owned()),
    }
    let is_restricted = queue.line.access == Some(Access::Invited);
    if is_restricted && !queue.invitations.iter().any(|batch| batch.is_valid_at(now)) {
        found.push("access is \"invited\" and no batch of invitations is valid now: nobody joins".to_owned());
    }
    found.extend(protection_warnings(&queue.line));
    found.extend(other_site_warning(queue));
    found.extend(own_host_warning(queue));
    found.extend(foreign_wildcard_warnings(queue, all));
    found.extend(rule_warnings(queue));
    found.extend(plan.warnings_about(&queue.id).iter().map(ToString::to_string));
    if queue.hosts.contains(&HostPattern::Any) && all.len() > 1 {
        found.push("host \"*\" also matches hosts that are misspelled in other queues".to_owned());
    }
    found
}
