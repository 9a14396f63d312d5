//! What the tests of pages share.

use vestibule_core::{VisitorState, VisitorStatus, WaitSeconds};
use vestibule_themes::{Language, PageView};

pub(crate) const STATES: [VisitorState; 5] = [
    VisitorState::Waiting,
    VisitorState::Admitted,
    VisitorState::Paused,
    VisitorState::Closed,
    VisitorState::Unavailable,
];

pub(crate) fn visitor_status(state: VisitorState) -> VisitorStatus {
    VisitorStatus {
        queue: "acme-tour".parse().unwrap(),
        session: Some("6f1c2a54-9a57-408e-8043-6d7a3f0f9b11".parse().unwrap()),
        state,
        reason: None,
        position: Some(1234),
        waiting: Some(5678),
        active: Some(100),
        wait_seconds: Some(WaitSeconds { p50: 240, p90: 360 }),
        joined_at: None,
        expires_in: None,
        poll_after: 5,
        enter_url: Some("https://shop.example/tickets?a=1".to_owned()),
        revision: None,
    }
}

pub(crate) fn view(visitor_status: &VisitorStatus) -> PageView<'_> {
    PageView {
        visitor_status,
        queue_name: "World tour",
        brand_name: "Acme",
        colour: "#c2185b".parse().ok(),
        logo: Some("/_vestibule/theme/acme-tour/logo.svg"),
        language: Language::English,
        nonce: "n0nce",
        asset_base: "/_vestibule/theme/acme-tour/",
        refresh_seconds: 20,
        hold_seconds: 600,
        claim_seconds: 30,
        kept_seconds: None,
    }
}
