//! The variables of a template. `docs/themes.md` names every one of them.

use minijinja::Value;
use serde::Serialize;
use vestibule_core::{VisitorState, VisitorStatus};

use crate::color::Palette;
use crate::script;
use crate::texts::{TextSet, Texts, fill, texts};
use crate::view::{ErrorPage, PageView};
use crate::{Color, Language, WaitText};

/// Visitors below this position see that they are next.
pub(crate) const NEXT_BELOW: u64 = 5;

#[derive(Serialize)]
pub(crate) struct Queue {
    id: String,
    name: String,
}

#[derive(Serialize)]
pub(crate) struct Brand {
    name: String,
}

/// All variables. A variable without a value is none, which renders as nothing.
#[derive(Serialize)]
pub(crate) struct Context {
    lang: &'static str,
    dir: &'static str,
    nonce: String,
    state: &'static str,
    title: String,
    heading: String,
    lead: String,
    queue: Queue,
    brand: Brand,
    logo: Option<String>,
    color: Palette,
    position: Option<String>,
    position_number: Option<u64>,
    waiting: Option<String>,
    behind: Option<String>,
    wait: Option<String>,
    hold_notice: String,
    position_kept: Option<String>,
    session_kept: Option<String>,
    reason: Option<&'static str>,
    offline_notice: String,
    no_script_notice: String,
    enter_url: String,
    support_code: Option<String>,
    refresh_seconds: u64,
    asset_base: String,
    texts: Value,
    script_tags: Value,
}

impl Context {
    pub(crate) fn of(view: &PageView<'_>) -> Self {
        let (language, visitor_status) = (view.language, view.visitor_status);
        let texts = &texts(language).texts;
        let in_line = visitor_status.position.filter(|_| visitor_status.state != VisitorState::Admitted);
        let position = in_line.map(|n| language.number(n));
        let (heading, lead) = heading_and_lead(texts, visitor_status);
        let hold_minutes = minutes(view.hold_seconds);
        Self {
            state: visitor_status.state.as_str(),
            title: title(view, position.as_deref(), heading),
            lead: fill(lead, &[("brand", view.brand()), ("name", view.queue_name)]),
            position,
            position_number: in_line,
            waiting: visitor_status.waiting.map(|n| language.number(n)),
            behind: in_line.zip(visitor_status.waiting).map(|(position, waiting)| behind(language, position, waiting)),
            wait: in_line.and(visitor_status.wait_seconds).map(|wait| texts.wait.say(language, WaitText::of(wait))),
            hold_notice: texts.hold_notice.count(language, hold_minutes),
            position_kept: view.kept_seconds.map(|seconds| texts.position_kept.count(language, minutes(seconds))),
            reason: visitor_status.reason.map(|reason| texts.reason.of(reason)),
            offline_notice: texts.offline_notice.count(language, hold_minutes),
            no_script_notice: texts.no_script_notice.count(language, view.refresh_seconds),
            enter_url: view.enter_url().to_owned(),
            refresh_seconds: view.refresh_seconds,
            script_tags: Value::from_safe_string(script::tags(view)),
            ..Self::branded(view, heading)
        }
    }

    /// The variables of an error page, in the brand's colors.
    pub(crate) fn error(page: ErrorPage, view: &PageView<'_>) -> Self {
        let plain = Self::plain(page, view.language, view.nonce);
        let named = [("brand", view.brand())];
        let (heading, lead) = (fill(&plain.heading, &named), fill(&plain.lead, &named));
        let session_kept = &texts(view.language).texts.session_kept;
        Self {
            state: "error",
            title: heading.clone(),
            lead,
            session_kept: view.kept_seconds.map(|seconds| session_kept.count(view.language, minutes(seconds))),
            refresh_seconds: plain.refresh_seconds.min(view.refresh_seconds),
            ..Self::branded(view, &heading)
        }
    }

    pub(crate) fn plain(page: ErrorPage, language: Language, nonce: &str) -> Self {
        let TextSet { texts, value } = texts(language);
        let text = match page {
            ErrorPage::OriginDown => &texts.error_page.origin_down,
            ErrorPage::OriginSlow => &texts.error_page.origin_slow,
            ErrorPage::NoQueue => &texts.error_page.no_queue,
            ErrorPage::Unavailable => &texts.error_page.unavailable,
            ErrorPage::ResponseTooLarge { .. } => &texts.error_page.response_too_large,
        };
        let lead = match page {
            ErrorPage::ResponseTooLarge { limit_mib } => fill(&text.lead, &[("n", &language.number(limit_mib.into()))]),
            _ => text.lead.clone(),
        };
        let refresh_seconds = if page.retries() { ErrorPage::RETRY_SECONDS } else { 0 };
        let bare = Self::bare(language, nonce, Color::default(), &text.heading, value);
        Self { title: text.heading.clone(), lead, refresh_seconds, ..bare }
    }

    /// The variables of every page of a queue.
    fn branded(view: &PageView<'_>, heading: &str) -> Self {
        let value = &texts(view.language).value;
        Self {
            queue: Queue { id: view.visitor_status.queue.to_string(), name: view.queue_name.to_owned() },
            brand: Brand { name: view.brand().to_owned() },
            logo: view.logo().map(str::to_owned),
            support_code: view.visitor_status.session.map(|id| id.support_code()),
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
            nonce: nonce.to_owned(),
            state: "unbranded",
            title: String::new(),
            heading: heading.to_owned(),
            lead: String::new(),
            queue: Queue { id: String::new(), name: String::new() },
            brand: Brand { name: String::new() },
            logo: None,
            color: Palette::of(color),
            position: None,
            position_number: None,
            waiting: None,
            behind: None,
            wait: None,
            hold_notice: String::new(),
            position_kept: None,
            session_kept: None,
            reason: None,
            offline_notice: String::new(),
            no_script_notice: String::new(),
            enter_url: String::new(),
            support_code: None,
            refresh_seconds: 0,
            asset_base: String::new(),
            texts: texts.clone(),
            script_tags: Value::from_safe_string(String::new()),
        }
    }
}

/// Heading and lead, selected as in the page's script.
fn heading_and_lead<'a>(texts: &'a Texts, visitor_status: &VisitorStatus) -> (&'a str, &'a str) {
    let heading = texts.heading.of(visitor_status.state);
    match (visitor_status.state, visitor_status.session, visitor_status.position) {
        (VisitorState::Unavailable, None, _) => (&texts.newcomer.heading, &texts.newcomer.lead),
        (VisitorState::Waiting, _, Some(..NEXT_BELOW)) => (heading, &texts.next),
        (state, ..) => (heading, texts.lead.of(state)),
    }
}

fn minutes(seconds: u64) -> u64 {
    (seconds / 60).max(1)
}

/// The title of the tab: with the position while there is one, with a mark after admission.
fn title(view: &PageView<'_>, position: Option<&str>, heading: &str) -> String {
    let brand = view.brand();
    match (position, view.visitor_status.state) {
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
