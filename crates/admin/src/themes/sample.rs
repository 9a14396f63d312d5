//! Sample data for previews: the brand is that of the theme's tenant, the numbers are samples.

use vestibule_core::settings::Settings;
use vestibule_core::{QueueId, SessionId, VisitorState, VisitorStatus, WaitSeconds};
use vestibule_themes::{Draft, Language, PageView, Themes};

use crate::problem::Problem;
use crate::state::Admin;
use crate::themes::OwnedTheme;

/// The sample data of a preview.
pub(super) struct Sample<'a> {
    theme: &'a OwnedTheme,
    queue_name: String,
    logo: Option<String>,
    /// URL prefix of the theme's files.
    pub(super) asset_base: String,
    /// The nonce of its styles.
    pub(super) nonce: String,
}

impl<'a> Sample<'a> {
    /// The tenant's logo is shown if the theme `has` that file.
    pub(super) async fn of(
        admin: &Admin,
        theme: &'a OwnedTheme,
        asset_base: String,
        nonce: String,
        has: impl Fn(&str) -> bool,
    ) -> Result<Self, Problem> {
        let logo = theme.tenant.as_ref().and_then(|tenant| tenant.logo.as_ref()).filter(|logo| has(logo));
        let logo = logo.map(|logo| format!("{asset_base}{logo}"));
        Ok(Self { theme, queue_name: name_of_queue(admin, theme).await?, logo, asset_base, nonce })
    }

    /// The page for a visitor in this state; the built-in one without a draft.
    pub(super) async fn page(
        &self,
        draft: Option<&Draft>,
        state: VisitorState,
        language: Language,
    ) -> Result<String, Problem> {
        let visitor_status = visitor_status(state)?;
        let tenant = self.theme.tenant.as_ref();
        let view = PageView {
            visitor_status: &visitor_status,
            queue_name: &self.queue_name,
            brand_name: tenant.map_or("", |tenant| &tenant.name),
            color: tenant.and_then(|tenant| tenant.color.as_ref()?.parse().ok()),
            logo: self.logo.as_deref(),
            language,
            nonce: &self.nonce,
            asset_base: &self.asset_base,
            refresh_seconds: 20,
            hold_seconds: 600,
            claim_seconds: 30,
            kept_seconds: None,
        };
        Ok(match draft {
            Some(draft) => draft.page(&view).await,
            None => Themes::built_in().queue_page(None, &view).await,
        })
    }
}

/// The name of the first queue that uses the theme.
async fn name_of_queue(admin: &Admin, theme: &OwnedTheme) -> Result<String, Problem> {
    admin.directory.refresh().await?;
    let mut queues = admin.directory.queues();
    queues.retain(|queue| queue.settings.theme.as_ref() == Some(&theme.id));
    let first = queues.iter().map(|queue| &queue.settings).min_by(|one, other| one.id.cmp(&other.id));
    Ok(first.map_or_else(|| "World tour".to_owned(), |settings: &Settings| settings.name.clone()))
}

/// A visitor in the middle of the line, or an admitted one.
fn visitor_status(state: VisitorState) -> Result<VisitorStatus, Problem> {
    let in_line = !matches!(state, VisitorState::Admitted | VisitorState::Closed);
    let queue: QueueId = "sample".parse().map_err(|_| Problem::RouteNotFound)?;
    Ok(VisitorStatus {
        queue,
        session: Some(SessionId::from_bytes([0x5a; 14])),
        state,
        reason: None,
        position: in_line.then_some(1234),
        waiting: Some(5678),
        active: Some(500),
        wait_seconds: (state == VisitorState::Waiting).then_some(WaitSeconds { p50: 240, p90: 360 }),
        joined_at: None,
        expires_in: None,
        poll_after: 20,
        enter_url: Some("/".to_owned()),
        revision: None,
    })
}
