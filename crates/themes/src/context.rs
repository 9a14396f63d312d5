//! The variables of a template. `docs/themes.md` names every one of them.

use minijinja::Value;
use serde::Serialize;
use vestibule_core::settings::EventOrder;
use vestibule_core::{EventStatus, Micros, Timestamp, VisitorState, VisitorStatus, WaitSeconds};

use crate::color::Palette;
use crate::hold::{NEXT_WITHIN, hold_notices, kept_text};
use crate::script;
use crate::texts::{JobPageTexts, PageText, TextSet, Texts, fill, texts, without_isolates};
use crate::view::{ErrorPage, JobNews, JobPage, PageView};
use crate::{Color, Language, WaitText};

#[derive(Default, Serialize)]
pub(crate) struct Queue {
    id: String,
    name: String,
}

#[derive(Default, Serialize)]
pub(crate) struct Brand {
    name: String,
}

/// The event of a scheduled queue.
#[derive(Serialize)]
pub(crate) struct Event {
    id: String,
    name: String,
    phase: &'static str,
    order: EventOrder,
    starts_at: u64,
    starts: String,
    number: Option<String>,
}

/// The job that the visitor follows.
#[derive(Serialize)]
pub(crate) struct Job {
    code: String,
    is_running: bool,
    url: String,
    url_label: String,
    position: Option<String>,
    progress: Option<String>,
    response: Option<String>,
}

/// All variables. A variable without a value is none, which renders as nothing.
#[derive(Default, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "templates read them one by one")]
pub(crate) struct Context {
    lang: &'static str,
    dir: &'static str,
    language_options: Value,
    nonce: String,
    state: &'static str,
    title: String,
    heading: String,
    lead: String,
    queue: Queue,
    brand: Brand,
    event: Option<Event>,
    countdown: Option<String>,
    countdown_label: &'static str,
    number: Option<String>,
    logo: Option<String>,
    color: Palette,
    position: Option<String>,
    position_number: Option<u64>,
    waiting: Option<String>,
    behind: Option<String>,
    wait: Option<String>,
    in_lobby: bool,
    is_drawn: bool,
    hold_notice: String,
    reload_notice: &'static str,
    order_notice: &'static str,
    line_url: String,
    asks_for_code: bool,
    code_wrong: bool,
    code_fields: Vec<(String, String)>,
    position_kept: Option<String>,
    session_kept: Option<String>,
    /// URL of the page on which the visitor signs in; empty on other pages.
    sign_in_url: String,
    job: Option<Job>,
    reason: Option<&'static str>,
    message: Option<String>,
    message_language: Option<String>,
    offline_notice: &'static str,
    no_script_notice: String,
    needs_cookies: bool,
    enter_url: String,
    enter_label: String,
    support_code: Option<String>,
    refresh_seconds: u64,
    can_retry: bool,
    asset_base: String,
    texts: Value,
    script_tags: Value,
}

impl Context {
    pub(crate) fn of(view: &PageView<'_>) -> Self {
        let (language, visitor_status) = (view.language, view.visitor_status);
        let texts = &texts(language).texts;
        let is_admitted = visitor_status.state == VisitorState::Admitted;
        let in_line = visitor_status.position.filter(|_| !is_admitted);
        let position = in_line.map(|n| language.number(n));
        let upcoming = upcoming(visitor_status);
        let draw_ends_in = draw_ends_in(visitor_status);
        let number = visitor_status.event.as_ref().and_then(|event| event.number.as_ref()).filter(|_| !is_admitted);
        let notes = Notes::of(view);
        let (heading, lead) = heading_and_lead(texts, visitor_status);
        let heading = match upcoming {
            Some(event) => fill(heading, &[("event", &event.name), ("time", &utc(event.starts_at))]),
            None => heading.to_owned(),
        };
        Self {
            state: visitor_status.state.as_str(),
            title: title(view, position.as_deref(), &heading),
            lead: fill(lead, &[("brand", view.brand()), ("name", view.queue_name)]),
            event: visitor_status.event.as_ref().map(event),
            countdown: upcoming
                .map(|event| event.starts_in)
                .or(draw_ends_in)
                .and_then(|left| countdown(language, left as u64)),
            countdown_label: draw_ends_in.map_or(&texts.event.countdown, |_| &texts.draw.countdown),
            number: number.map(|number| fill(&texts.draw.number, &[("number", number)])),
            position,
            position_number: in_line,
            waiting: visitor_status.waiting.map(|n| language.number(n)),
            behind: in_line.zip(visitor_status.waiting).map(|(position, waiting)| behind(language, position, waiting)),
            wait: in_line.and(visitor_status.wait_seconds).map(|wait| texts.wait.say(language, WaitText::of(wait))),
            in_lobby: is_in_lobby(visitor_status),
            is_drawn: is_drawn(visitor_status),
            hold_notice: notes.hold,
            reload_notice: notes.reload,
            order_notice: notes.order,
            line_url: view.line_url(),
            asks_for_code: view.asks_for_code(),
            code_wrong: view.code_wrong,
            code_fields: view.code_fields.to_vec(),
            position_kept: kept_text(view, &texts.position_kept),
            message: visitor_status.message.clone(),
            message_language: visitor_status.message_language.clone(),
            reason: visitor_status.reason.map(|reason| texts.reason.of(reason)),
            offline_notice: &texts.offline_notice,
            no_script_notice: texts.no_script_notice.count(language, view.refresh_seconds),
            needs_cookies: visitor_status.redeems(),
            enter_url: view.enter_url().to_owned(),
            enter_label: fill(&texts.continue_to, &[("brand", view.brand())]),
            refresh_seconds: view.refresh_seconds,
            script_tags: Value::from_safe_string(script::tags(view)),
            ..Self::branded(view, &heading)
        }
    }

    /// The variables of an error page, in the brand's colors.
    pub(crate) fn error(page: ErrorPage, status: u16, view: &PageView<'_>) -> Self {
        let texts = &texts(view.language).texts;
        let can_retry = view.refresh_seconds > 0;
        let status = can_retry.then_some(status);
        let plain = Self::plain(page, view.language, view.nonce, status);
        let named = [("brand", view.brand())];
        let lead = match page {
            ErrorPage::OriginDown | ErrorPage::OriginSlow if !can_retry => &texts.error_page.not_repeated,
            _ => &plain.lead,
        };
        let (heading, lead) = (fill(&plain.heading, &named), fill(lead, &named));
        let refresh_seconds =
            if page.is_rejection() { view.refresh_seconds } else { plain.refresh_seconds.min(view.refresh_seconds) };
        Self {
            state: "error",
            title: without_isolates(&heading),
            lead,
            sign_in_url: view.sign_in_url().to_owned(),
            session_kept: kept_text(view, &texts.session_kept),
            can_retry,
            refresh_seconds,
            script_tags: retry_tags(page, status, refresh_seconds),
            ..Self::branded(view, &heading)
        }
    }

    /// The variables of the page of a job.
    pub(crate) fn job(page: &JobPage<'_>, view: &PageView<'_>) -> Self {
        let texts = &texts(view.language).texts;
        let text = job_text(page.news, &texts.job_page);
        let named = [("brand", view.brand()), ("code", page.code)];
        let heading = fill(&text.heading, &named);
        let bare = Self::branded(view, &heading);
        let url_label = match page.news {
            JobNews::OrderFailed => texts.retry.clone(),
            _ => fill(&texts.continue_to, &[("brand", view.brand())]),
        };
        let job = Job {
            code: page.code.to_owned(),
            is_running: page.news.is_running(),
            url: page.followable_url().unwrap_or_default().to_owned(),
            url_label,
            position: page.details.position.map(|position| view.language.number(position)),
            progress: page.details.progress.clone(),
            response: page.details.response.clone(),
        };
        Self {
            state: "job",
            title: without_isolates(&heading),
            lead: fill(&text.lead, &named),
            job: Some(job),
            refresh_seconds: view.refresh_seconds,
            script_tags: Value::from_safe_string(script::job_tags(page, view)),
            support_code: bare.support_code.filter(|_| !text.lead.contains("{code}")),
            ..bare
        }
    }

    pub(crate) fn plain(page: ErrorPage, language: Language, nonce: &str, status: Option<u16>) -> Self {
        let can_retry = status.is_some();
        let TextSet { texts, value } = texts(language);
        let text = match page {
            ErrorPage::OriginDown => &texts.error_page.origin_down,
            ErrorPage::OriginSlow => &texts.error_page.origin_slow,
            ErrorPage::NoQueue => &texts.error_page.no_queue,
            ErrorPage::Unavailable => &texts.error_page.unavailable,
            ErrorPage::ResponseTooLarge { .. } => &texts.error_page.response_too_large,
            ErrorPage::JoinBlocked => &texts.error_page.join_blocked,
            ErrorPage::JoinRate => &texts.error_page.join_rate,
            ErrorPage::JoinLimit => &texts.error_page.join_limit,
            ErrorPage::SignIn => &texts.error_page.sign_in,
            ErrorPage::NotProcessed => &texts.error_page.not_processed,
            ErrorPage::OverLimit => &texts.error_page.over_limit,
        };
        let lead = match page {
            ErrorPage::ResponseTooLarge { limit_mib } => fill(&text.lead, &[("n", &language.number(limit_mib.into()))]),
            _ => text.lead.clone(),
        };
        let refresh_seconds = if page.retries() && can_retry { ErrorPage::RETRY_SECONDS } else { 0 };
        let script_tags = retry_tags(page, status, refresh_seconds);
        let bare = Self::bare(language, nonce, Color::default(), &text.heading, value);
        Self { title: text.heading.clone(), lead, refresh_seconds, can_retry, script_tags, ..bare }
    }

    /// The variables of every page of a queue.
    fn branded(view: &PageView<'_>, heading: &str) -> Self {
        let value = &texts(view.language).value;
        Self {
            queue: Queue { id: view.visitor_status.queue.to_string(), name: view.queue_name.to_owned() },
            brand: Brand { name: view.brand().to_owned() },
            logo: view.logo().map(str::to_owned),
            support_code: view.visitor_status.support_code.clone(),
            asset_base: view.asset_base.to_owned(),
            ..Self::bare(view.language, view.nonce, view.color.unwrap_or_default(), heading, value)
        }
    }

    /// Heading and lead, for the page without a template.
    pub(crate) fn heading_and_lead(&self) -> (&str, &str) {
        (&self.heading, &self.lead)
    }

    fn bare(language: Language, nonce: &str, color: Color, heading: &str, texts: &Value) -> Self {
        Self {
            lang: language.code(),
            dir: language.direction(),
            language_options: Value::from_safe_string(language_options(language)),
            nonce: nonce.to_owned(),
            state: "unbranded",
            heading: heading.to_owned(),
            color: Palette::of(color),
            texts: texts.clone(),
            script_tags: Value::from_safe_string(String::new()),
            ..Self::default()
        }
    }
}

const fn job_text(news: JobNews, texts: &JobPageTexts) -> &PageText {
    match news {
        JobNews::OrderQueued => &texts.order_queued,
        JobNews::OrderRetrying => &texts.order_retrying,
        JobNews::OrderFailed => &texts.order_failed,
        JobNews::OrderUnknown => &texts.order_unknown,
        JobNews::OrderReceived => &texts.order_received,
        JobNews::OrderSubmitted => &texts.order_submitted,
        JobNews::OrderPlaced => &texts.order_placed,
        JobNews::JobQueued => &texts.job_queued,
        JobNews::JobCompleted => &texts.job_completed,
        JobNews::JobFailed => &texts.job_failed,
        JobNews::JobUnknown => &texts.job_unknown,
    }
}

/// The options of the language chooser, by name.
fn language_options(selected: Language) -> String {
    let mut languages = Language::ALL;
    languages.sort_unstable_by_key(|language| language.name());
    let option = |language: Language| {
        let (code, name) = (language.code(), language.name());
        let selected = if language == selected { " selected" } else { "" };
        format!("<option value=\"{code}\" lang=\"{code}\"{selected}>{name}</option>")
    };
    languages.map(option).concat()
}

/// Heading and lead, selected as in the page's script.
fn heading_and_lead<'a>(texts: &'a Texts, visitor_status: &VisitorStatus) -> (&'a str, &'a str) {
    if let Some(event) = upcoming(visitor_status) {
        let lead = match (event.order, visitor_status.state) {
            (EventOrder::Draw, VisitorState::Lobby) => &texts.draw.lobby,
            (EventOrder::Draw, VisitorState::Closed) => &texts.draw.closed,
            (EventOrder::Draw, _) => &texts.draw.ahead,
            (EventOrder::Arrival, VisitorState::Closed) => &texts.event.closed,
            (EventOrder::Arrival, _) => &texts.event.lobby,
        };
        return (&texts.event.starts, lead);
    }
    let heading = texts.heading.of(visitor_status.state);
    match (visitor_status.state, visitor_status.session) {
        (VisitorState::Unavailable, None) => (&texts.newcomer.heading, &texts.newcomer.lead),
        _ if visitor_status.redeems() => (&texts.newcomer.heading, &texts.pre_ticket),
        // The script that solves the challenge shows another lead.
        _ if visitor_status.proves() => (&texts.newcomer.heading, &texts.prove_later),
        (VisitorState::Waiting, _) if visitor_status.wait_seconds.is_some_and(|wait| wait.p90 <= NEXT_WITHIN) => {
            (heading, &texts.next)
        }
        (VisitorState::Paused, _) if is_in_lobby(visitor_status) => (heading, &texts.draw.paused),
        (state, _) => (heading, texts.lead.of(state)),
    }
}

/// The event that a page counts down to.
fn upcoming(visitor_status: &VisitorStatus) -> Option<&EventStatus> {
    let counts_down = matches!(visitor_status.state, VisitorState::Paused | VisitorState::Closed | VisitorState::Lobby);
    visitor_status.event.as_ref().filter(|event| counts_down && event.starts_in > 0.0)
}

/// The tags of an error page whose request has this status in the background.
fn retry_tags(page: ErrorPage, status: Option<u16>, refresh_seconds: u64) -> Value {
    Value::from_safe_string(script::retry_tags(refresh_seconds, status.filter(|_| page.is_watched())))
}

/// Seconds until admissions begin, during the draw.
fn draw_ends_in(visitor_status: &VisitorStatus) -> Option<f64> {
    let event = visitor_status.event.as_ref().filter(|_| visitor_status.state == VisitorState::Lobby)?;
    event.draw_ends_in.filter(|left| event.starts_in <= 0.0 && *left > 0.0)
}

/// Whether the visitor is in the lobby or in the draw, and so has no position yet. An operator can pause a queue in its
/// lobby; its visitors then have no slot in the store that could expire.
fn is_in_lobby(visitor_status: &VisitorStatus) -> bool {
    let VisitorStatus { state, session, position, expires_in, .. } = visitor_status;
    let in_line = position.is_some() || expires_in.is_some();
    *state == VisitorState::Lobby || *state == VisitorState::Paused && session.is_some() && !in_line
}

/// Whether the order of the event is drawn.
fn is_drawn(visitor_status: &VisitorStatus) -> bool {
    visitor_status.event.as_ref().is_some_and(|event| event.order == EventOrder::Draw)
}

/// What a visitor should know while waiting. The page's script writes the same when the state changes.
struct Notes {
    hold: String,
    reload: &'static str,
    order: &'static str,
}

impl Notes {
    fn of(view: &PageView<'_>) -> Self {
        let texts = &texts(view.language).texts;
        let order = if is_drawn(view.visitor_status) { &texts.draw.fair } else { &texts.order_notice };
        let [in_line, in_lobby] = hold_notices(view);
        if is_in_lobby(view.visitor_status) {
            return Self { hold: in_lobby, reload: &texts.draw.reload, order };
        }
        Self { hold: in_line, reload: &texts.reload_notice, order }
    }
}

fn event(status: &EventStatus) -> Event {
    Event {
        id: status.id.to_string(),
        name: status.name.clone(),
        phase: status.phase.as_str(),
        order: status.order,
        starts_at: status.starts_at,
        starts: utc(status.starts_at),
        number: status.number.clone(),
    }
}

/// A time for visitors without JavaScript, whose time zone is unknown: `2027-03-04 10:00 UTC`.
fn utc(seconds: u64) -> String {
    let time = Timestamp::of(Micros(0).add_seconds(seconds)).to_string();
    let seconds = if time.ends_with(":00Z") { ":00Z" } else { "Z" };
    time.replace('T', " ").replace(seconds, " UTC")
}

/// A time rounded up to whole minutes from a minute on.
const fn whole_minutes(seconds: u64) -> u64 {
    if seconds < 60 { seconds } else { seconds.div_ceil(60) * 60 }
}

/// Up to this time the countdown is written like a wait, in seconds.
const COUNTED_IN_MINUTES: u64 = 5400;
/// From this time on, only the heading tells when the event starts, in seconds.
const COUNTED_MAX: u64 = 172_800;

/// The time until a start, for a page without the script. It is exact to the minute, or absent.
fn countdown(language: Language, seconds: u64) -> Option<String> {
    let texts = &texts(language).texts;
    let seconds = whole_minutes(seconds);
    if seconds <= COUNTED_IN_MINUTES {
        return Some(texts.wait.say(language, WaitText::of(WaitSeconds { p50: seconds, p90: seconds })));
    }
    let (hours, minutes) = (language.number(seconds / 3600), language.number(seconds / 60 % 60));
    let said = || fill(&texts.event.hours_minutes, &[("hours", &hours), ("minutes", &minutes)]);
    (seconds < COUNTED_MAX).then(said)
}

/// The title of the tab: with the position while there is one, with a mark after admission.
fn title(view: &PageView<'_>, position: Option<&str>, heading: &str) -> String {
    let (brand, heading) = (view.brand(), without_isolates(heading));
    match (position, view.visitor_status.state) {
        _ if view.code_wrong => format!("{} · {brand}", texts(view.language).texts.code.wrong),
        (Some(position), _) => format!("{position} · {brand}"),
        (None, VisitorState::Admitted) => format!("● {heading} · {brand}"),
        (None, _) => format!("{heading} · {brand}"),
    }
}

fn behind(language: Language, position: u64, waiting: u64) -> String {
    let texts = &texts(language).texts;
    match waiting.saturating_sub(position) {
        0 => texts.behind_none.clone(),
        n => texts.behind.count(language, n),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_utc_have_seconds_only_if_needed() {
        assert_eq!(utc(1_804_154_400), "2027-03-04 10:00 UTC");
        assert_eq!(utc(1_804_154_401), "2027-03-04 10:00:01 UTC");
    }

    #[test]
    fn countdown_is_exact_to_the_minute_or_absent() {
        let said = |seconds| countdown(Language::English, seconds);
        for (seconds, words) in [
            (59, "less than a minute"),
            (61, "about 2 minutes"),
            (900, "about 15 minutes"),
            (5400, "about 90 minutes"),
            (5401, "about 1 h 31 min"),
            (2 * 3600 + 2999, "about 2 h 50 min"),
            (47 * 3600 + 59 * 60, "about 47 h 59 min"),
        ] {
            assert_eq!(said(seconds).as_deref(), Some(words), "{seconds}");
        }
        assert_eq!(said(48 * 3600), None, "the heading has the date");
        assert_eq!(countdown(Language::German, 7260).as_deref(), Some("etwa 2 Std. 1 Min."));
    }
}
