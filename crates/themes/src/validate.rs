//! Renders every page of a theme before a visitor sees it.

use std::path::Path;
use std::sync::LazyLock;

use minijinja::Environment;
use vestibule_core::line::Phase;
use vestibule_core::settings::EventOrder;
use vestibule_core::{EndReason, EventStatus, JoinStep, QueueId, VisitorState, VisitorStatus, WaitSeconds};

use crate::ThemeError;
use crate::blocks::find_unshown;
use crate::compiled::CompiledTheme;
use crate::context::Context;
use crate::files::FileSet;
use crate::language::Language;
use crate::templates;
use crate::view::{ErrorPage, JobDetails, JobNews, JobPage, PageView};

/// Most queues that a theme is validated for.
const QUEUES_MAX: usize = 100;
/// Other parameters of the address of a page with the form for an invitation code.
static CODE_FIELDS: LazyLock<[(String, String); 1]> = LazyLock::new(|| [("sample".to_owned(), "1".to_owned())]);

/// Compiles templates and renders every page of them.
pub(crate) fn compile_and_validate(
    folder: &Path,
    templates: FileSet,
    texts: Vec<(String, String)>,
    queues: &[QueueId],
) -> Result<CompiledTheme, Vec<ThemeError>> {
    let compiled = CompiledTheme::compile(folder, templates, texts)?;
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
    let samples = samples().unwrap_or_default();
    for language in Language::ALL {
        samples.iter().try_for_each(|sample| render(compiled, &environment, &sample.view(language)))?;
        let others = samples.iter().filter(|sample| sample.has_other_pages);
        others.map(|sample| sample.view(language)).try_for_each(|view| render_others(compiled, &environment, &view))?;
    }
    for queue in queues.iter().take(QUEUES_MAX) {
        for sample in &samples {
            let visitor_status = VisitorStatus { queue: queue.clone(), ..sample.visitor_status.clone() };
            let view = PageView { visitor_status: &visitor_status, ..sample.view(Language::English) };
            render(compiled, &environment, &view)?;
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
    let page = rendered(compiled, environment, name, &Context::of(view))?;
    if !closed && !page.contains("id=\"vestibule-data\"") {
        return Err(ThemeError::NoScript { file: compiled.path(name) });
    }
    Ok(())
}

/// Renders the error pages and the pages of jobs, if the theme has them.
fn render_others(
    compiled: &CompiledTheme,
    environment: &Environment<'_>,
    view: &PageView<'_>,
) -> Result<(), ThemeError> {
    if compiled.templates().contains_key("error.html") {
        for page in ErrorPage::ALL {
            rendered(compiled, environment, "error.html", &Context::error(page, 502, view))?;
        }
    }
    if compiled.templates().contains_key("job.html") {
        for news in JobNews::ALL {
            // With a link to follow and without.
            let url = view.visitor_status.enter_url.as_deref();
            let status_url = Some("/_vestibule/jobs/orders/0NPWV1MDQB2X");
            for details in [JobDetails::default(), sample_details()] {
                let page = JobPage { news, code: "0NPWV1-MDQB2X", url, status_url, details: &details };
                rendered(compiled, environment, "job.html", &Context::job(&page, view))?;
            }
        }
    }
    Ok(())
}

fn sample_details() -> JobDetails {
    JobDetails { position: Some(12), progress: Some("Sample".to_owned()), response: Some("Sample".to_owned()) }
}

fn rendered(
    compiled: &CompiledTheme,
    environment: &Environment<'_>,
    name: &str,
    context: &Context,
) -> Result<String, ThemeError> {
    templates::render(environment, name, context).map_err(|error| compiled.fault(name, &error))
}

/// A visitor to render pages for.
struct Sample {
    visitor_status: VisitorStatus,
    /// Whether the visitor presented an invalid invitation code.
    code_wrong: bool,
    /// Whether the error pages and the pages of jobs are rendered, too.
    has_other_pages: bool,
}

impl Sample {
    /// Everything that a page can have, or nothing of it for a visitor without a session.
    fn view(&self, language: Language) -> PageView<'_> {
        let has_session = self.visitor_status.session.is_some();
        let fields = if self.code_wrong { CODE_FIELDS.as_slice() } else { &[] };
        PageView {
            queue_name: "Sample",
            brand_name: "Sample",
            logo: has_session.then_some("/_vestibule/theme/sample/logo.svg"),
            language,
            refresh_seconds: if has_session { 20 } else { 0 },
            kept_seconds: has_session.then_some(600),
            code_wrong: self.code_wrong,
            code_fields: fields,
            ..PageView::new(&self.visitor_status, "sample", "/_vestibule/theme/sample/")
        }
    }
}

/// A visitor in each state, once with everything and once with nothing, and newcomers who have to do something to join.
fn samples() -> Option<Vec<Sample>> {
    use VisitorState::{Admitted, Closed, Full, InvitationRequired, Lobby, Paused, Unavailable, Waiting};
    let bare = VisitorStatus::new("sample".parse().ok()?, Waiting, 5);
    let full = full_sample(&bare)?;
    let mut samples = Vec::new();
    for state in [Waiting, Admitted, Paused, Lobby, Closed, Full, InvitationRequired, Unavailable] {
        for visitor_status in [&bare, &full] {
            let visitor_status = VisitorStatus { state, ..visitor_status.clone() };
            samples.push(Sample { visitor_status, code_wrong: false, has_other_pages: state == Waiting });
        }
    }
    for state in [Waiting, InvitationRequired] {
        let visitor_status = VisitorStatus { state, ..bare.clone() };
        samples.push(Sample { visitor_status, code_wrong: true, has_other_pages: false });
    }
    for join in [JoinStep::Redeem { retry_after: 2 }, JoinStep::SignIn { url: "/sign-in".to_owned() }] {
        let visitor_status = VisitorStatus { join: Some(join), ..bare.clone() };
        let has_other_pages = visitor_status.join.as_ref().is_some_and(|join| matches!(join, JoinStep::SignIn { .. }));
        samples.push(Sample { visitor_status, code_wrong: false, has_other_pages });
    }
    Some(samples)
}

fn full_sample(bare: &VisitorStatus) -> Option<VisitorStatus> {
    Some(VisitorStatus {
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
    })
}
