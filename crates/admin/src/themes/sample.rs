//! Sample data for previews: the brand is that of the tenant, name and settings are those of a queue, the numbers are samples.

use vestibule_core::line::Phase;
use vestibule_core::settings::{EventOrder, Settings, Tenant};
use vestibule_core::{EventStatus, Micros, SessionId, Timestamp, VisitorState, VisitorStatus, WaitSeconds};
use vestibule_themes::{Draft, Language, PageView, Themes};

use crate::problem::Problem;
use crate::state::Admin;
use crate::themes::OwnedTheme;

/// Length of a sample event, in seconds.
const SALE_SECONDS: u64 = 7200;
/// Seconds that the draw of a sample event takes.
const DRAW_SECONDS: f64 = 30.0;
/// Seconds until the sample event of a lobby starts.
const STARTS_IN: u64 = 900;
/// Seconds for which the position is still kept.
const KEPT_SECONDS: u64 = 420;
/// The operator message of a waiting visitor.
const MESSAGE: &str = "Sample message: floor tickets are sold out.";

/// The page of a preview.
pub(crate) struct SamplePage {
    pub(crate) state: VisitorState,
    pub(crate) language: Language,
    /// The event that the page counts down to.
    pub(crate) event: Option<SampleEvent>,
    /// The operator's message; `None` for that of the queue, or of the sample.
    pub(crate) message: Option<String>,
}

/// An event that is ahead.
pub(crate) struct SampleEvent {
    pub(crate) name: String,
    pub(crate) starts_at: Timestamp,
    /// Seconds until the start.
    pub(crate) starts_in: u64,
}

impl SampleEvent {
    fn in_lobby(now: Micros) -> Self {
        let starts_at = Timestamp::of(now.add_seconds(STARTS_IN));
        Self { name: "Spring sale".to_owned(), starts_at, starts_in: STARTS_IN }
    }
}

/// The sample data of a preview.
pub(crate) struct Sample<'a> {
    tenant: Option<&'a Tenant>,
    /// The queue whose page it is; `None` for a sample.
    queue: Option<&'a Settings>,
    queue_name: String,
    logo: Option<String>,
    now: Micros,
    /// URL prefix of the theme's files.
    pub(crate) asset_base: String,
    /// The nonce of its styles.
    pub(crate) nonce: String,
}

impl<'a> Sample<'a> {
    /// The sample for a queue, or for any queue of the theme. The tenant's logo is shown if the theme `has` that file.
    pub(crate) async fn of(
        admin: &Admin,
        theme: &'a OwnedTheme,
        queue: Option<&'a Settings>,
        asset_base: String,
        nonce: String,
        has: impl Fn(&str) -> bool,
    ) -> Result<Self, Problem> {
        let logo = theme.tenant.as_ref().and_then(|tenant| tenant.logo.as_ref()).filter(|logo| has(logo));
        let logo = logo.map(|logo| format!("{asset_base}{logo}"));
        let now = admin.now().await?;
        let queue_name = match queue {
            Some(queue) => queue.name.clone(),
            None => name_of_queue(admin, theme).await?,
        };
        Ok(Self { tenant: theme.tenant.as_ref(), queue, queue_name, logo, now, asset_base, nonce })
    }

    /// The page for a visitor in this state; the built-in one without a draft.
    pub(crate) async fn page(&self, draft: Option<&Draft>, page: &SamplePage) -> Result<String, Problem> {
        let visitor_status = self.visitor_status(page)?;
        let bare = PageView::new(&visitor_status, &self.nonce, &self.asset_base);
        let hold_ttl = self.queue.map(|queue| queue.line.hold_ttl);
        let view = PageView {
            queue_name: &self.queue_name,
            brand_name: self.tenant.map_or("", |tenant| &tenant.name),
            color: self.tenant.and_then(|tenant| tenant.color.as_ref()?.parse().ok()),
            logo: self.logo.as_deref(),
            language: page.language,
            hold_seconds: hold_ttl.unwrap_or(bare.hold_seconds),
            kept_seconds: hold_ttl.or(Some(KEPT_SECONDS)),
            ..bare
        };
        Ok(match draft {
            Some(draft) => draft.page(&view).await.map_err(|fault| Problem::theme_invalid(&[fault]))?,
            None => Themes::built_in().queue_page(None, &view).await,
        })
    }

    /// A visitor in the middle of the line, in the lobby, or an admitted one.
    fn visitor_status(&self, page: &SamplePage) -> Result<VisitorStatus, Problem> {
        let SamplePage { state, event, .. } = page;
        let state = *state;
        let lobby = (state == VisitorState::Lobby).then(|| SampleEvent::in_lobby(self.now));
        let in_line = matches!(state, VisitorState::Waiting | VisitorState::Paused | VisitorState::Unavailable);
        let has_session = !matches!(state, VisitorState::Full | VisitorState::InvitationRequired);
        let (message, message_language) = self.message(page).unzip();
        let id = match self.queue {
            Some(queue) => queue.id.clone(),
            None => "sample".parse().map_err(|_| Problem::RouteNotFound)?,
        };
        Ok(VisitorStatus {
            session: has_session.then_some(SessionId::from_bytes([0x5a; 14])),
            support_code: has_session.then(|| "7QK2-M0XV".to_owned()),
            position: in_line.then_some(1234),
            waiting: Some(5678),
            active: Some(500),
            message,
            message_language: message_language.flatten(),
            wait_seconds: (state == VisitorState::Waiting).then_some(WaitSeconds { p50: 240, p90: 360 }),
            enter_url: Some("/".to_owned()),
            event: event.as_ref().or(lobby.as_ref()).map(|event| event_status(event, state)).transpose()?,
            ..VisitorStatus::new(id, state, 20)
        })
    }

    /// The operator's message with its language, if that is known.
    fn message(&self, page: &SamplePage) -> Option<(String, Option<String>)> {
        match (&page.message, self.queue) {
            (Some(text), _) => Some((text.clone(), None)),
            (None, Some(queue)) => {
                let message = queue.message.as_ref().filter(|_| page.state != VisitorState::Admitted)?;
                let (text, tag) = message.in_language([page.language.code()]);
                Some((text.to_owned(), tag.map(str::to_owned)))
            }
            (None, None) => (page.state == VisitorState::Waiting).then(|| (MESSAGE.to_owned(), Some("en".to_owned()))),
        }
    }
}

/// The name of the first queue that uses the theme.
async fn name_of_queue(admin: &Admin, theme: &OwnedTheme) -> Result<String, Problem> {
    admin.directory.refresh_readable().await?;
    let queues = admin.directory.queues();
    let first = queues.iter().find(|queue| queue.settings.theme.as_ref() == Some(&theme.id));
    Ok(first.map_or_else(|| "World tour".to_owned(), |queue| queue.settings.name.clone()))
}

/// The status of an event whose lobby is open.
fn event_status(event: &SampleEvent, state: VisitorState) -> Result<EventStatus, Problem> {
    let (starts_at, starts_in) = (event.starts_at.seconds(), event.starts_in as f64);
    let is_drawn = state == VisitorState::Lobby;
    Ok(EventStatus {
        id: "sample".parse().map_err(|_| Problem::RouteNotFound)?,
        name: event.name.clone(),
        phase: Phase::Lobby,
        order: if is_drawn { EventOrder::Draw } else { EventOrder::Arrival },
        starts_at,
        ends_at: starts_at + SALE_SECONDS,
        starts_in,
        draw_ends_in: is_drawn.then_some(starts_in + DRAW_SECONDS),
        number: None,
    })
}
