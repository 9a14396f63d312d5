//! Renders every page of a theme before a visitor sees it.

use std::path::Path;

use minijinja::Environment;
use vestibule_core::line::Phase;
use vestibule_core::settings::EventOrder;
use vestibule_core::{EndReason, EventStatus, QueueId, VisitorState, VisitorStatus, WaitSeconds};

use crate::ThemeError;
use crate::blocks::find_unshown;
use crate::compiled::CompiledTheme;
use crate::context::Context;
use crate::files::FileSet;
use crate::language::Language;
use crate::templates;
use crate::view::{ErrorPage, JobNews, JobPage, PageView};

/// Most queues that a theme is validated for.
const QUEUES_MAX: usize = 100;

/// Compiles templates and renders every page of them.
pub(crate) fn compile_and_validate(
    place: &Path,
    templates: FileSet,
    texts: Vec<(String, String)>,
    queues: &[QueueId],
) -> Result<CompiledTheme, Vec<ThemeError>> {
    let compiled = CompiledTheme::compile(place, templates, texts)?;
    validate(&compiled, queues).map_err(|fault| vec![fault])?;
    Ok(compiled)
}

/// Renders all pages in all states and languages, and for these queues. An undefined variable is an error here; on a
/// visitor's page it renders as nothing. So is a block that no page shows.
///
/// # Errors
/// The first error.
fn validate(compiled: &CompiledTheme, queues: &[QueueId]) -> Result<(), ThemeError> {
    let environment = compiled.strict();
    for name in compiled.templates().keys() {
        if let Some(block) = find_unshown(&environment, name) {
            let message = format!("no page shows the block \"{}\": it is not in {}", block.name, block.parent);
            return Err(ThemeError::Template { file: compiled.path(name), line: block.line, message });
        }
    }
    let visitor_statuses = samples().unwrap_or_default();
    for language in Language::ALL {
        let mut views = visitor_statuses.iter().map(|visitor_status| sample_view(visitor_status, language));
        views.try_for_each(|view| render(compiled, &environment, &view))?;
        if let Some(visitor_status) = visitor_statuses.last() {
            let view = sample_view(visitor_status, language);
            render_optional(compiled, &environment, "error.html", &Context::error(ErrorPage::OriginDown, &view))?;
            for news in JobNews::ALL {
                let status_url = Some("/_vestibule/jobs/orders/0NPWV1MDQB2X");
                let page = JobPage { news, code: "0NPWV1-MDQB2X", url: Some("/"), status_url };
                render_optional(compiled, &environment, "job.html", &Context::job(&page, &view))?;
            }
        }
    }
    for queue in queues.iter().take(QUEUES_MAX) {
        for sample in &visitor_statuses {
            let visitor_status = VisitorStatus { queue: queue.clone(), ..sample.clone() };
            render(compiled, &environment, &sample_view(&visitor_status, Language::English))?;
        }
    }
    Ok(())
}

fn render(compiled: &CompiledTheme, environment: &Environment<'_>, view: &PageView<'_>) -> Result<(), ThemeError> {
    let closed = view.visitor_status.state == VisitorState::Closed;
    let name = if closed { "closed.html" } else { "queue.html" };
    if !compiled.templates().contains_key(name) {
        return Ok(());
    }
    let page = templates::render(environment, name, &Context::of(view));
    let page = page.map_err(|error| compiled.fault(name, &error))?;
    if !closed && !page.contains("id=\"vestibule-data\"") {
        return Err(ThemeError::NoScript { file: compiled.path(name) });
    }
    Ok(())
}

fn render_optional(
    compiled: &CompiledTheme,
    environment: &Environment<'_>,
    name: &str,
    context: &Context,
) -> Result<(), ThemeError> {
    if !compiled.templates().contains_key(name) {
        return Ok(());
    }
    templates::render(environment, name, context).map(drop).map_err(|error| compiled.fault(name, &error))
}

/// A visitor status in each state, once with everything and once with nothing in it.
fn samples() -> Option<Vec<VisitorStatus>> {
    use VisitorState::{Admitted, Closed, Full, InvitationRequired, Lobby, Paused, Unavailable, Waiting};
    let bare = VisitorStatus::new("sample".parse().ok()?, Waiting, 5);
    let full = VisitorStatus {
        session: "6f1c2a54-9a57-408e-8043-6d7a3f0f9b11".parse().ok(),
        support_code: Some("7QK2-M0XV".to_owned()),
        position: Some(1234),
        waiting: Some(5678),
        active: Some(100),
        wait_seconds: Some(WaitSeconds { p50: 240, p90: 360 }),
        reason: Some(EndReason::Ended),
        message: Some("Sample".to_owned()),
        enter_url: Some("/".to_owned()),
        event: Some(EventStatus {
            id: "sale".parse().ok()?,
            name: "Sale".to_owned(),
            phase: Phase::Lobby,
            order: EventOrder::Draw,
            starts_at: 1_800_000_000,
            ends_at: 1_800_003_600,
            starts_in: 900.0,
            draw_ends_in: Some(930.0),
            number: Some("0.123456".to_owned()),
        }),
        ..bare.clone()
    };
    let each = |state| [VisitorStatus { state, ..bare.clone() }, VisitorStatus { state, ..full.clone() }];
    Some(
        [Waiting, Admitted, Paused, Lobby, Closed, Full, InvitationRequired, Unavailable]
            .into_iter()
            .flat_map(each)
            .collect(),
    )
}

fn sample_view(visitor_status: &VisitorStatus, language: Language) -> PageView<'_> {
    PageView {
        queue_name: "Sample",
        brand_name: "Sample",
        language,
        kept_seconds: visitor_status.session.map(|_| 600),
        ..PageView::new(visitor_status, "sample", "/_vestibule/theme/sample/")
    }
}
