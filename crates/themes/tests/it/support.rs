//! What the tests of pages share.

use vestibule_core::line::Phase;
use vestibule_core::settings::EventOrder;
use vestibule_core::{EventStatus, VisitorState, VisitorStatus, WaitSeconds};
use vestibule_themes::PageView;

pub(crate) const STATES: [VisitorState; 8] = [
    VisitorState::Waiting,
    VisitorState::Admitted,
    VisitorState::Paused,
    VisitorState::Lobby,
    VisitorState::Closed,
    VisitorState::Full,
    VisitorState::InvitationRequired,
    VisitorState::Unavailable,
];

pub(crate) fn visitor_status(state: VisitorState) -> VisitorStatus {
    VisitorStatus {
        session: Some("6f1c2a54-9a57-408e-8043-6d7a3f0f9b11".parse().unwrap()),
        support_code: Some("7QK2-M0XV".to_owned()),
        position: Some(1234),
        waiting: Some(5678),
        active: Some(100),
        wait_seconds: Some(WaitSeconds { p50: 240, p90: 360 }),
        enter_url: Some("https://shop.example/tickets?a=1".to_owned()),
        ..VisitorStatus::new("acme-tour".parse().unwrap(), state, 5)
    }
}

/// The status of a visitor of an event that starts in this many seconds, with a draw of 30 seconds, in this state.
pub(crate) fn of_event(state: VisitorState, order: EventOrder, starts_in: f64) -> VisitorStatus {
    let is_drawn = order == EventOrder::Draw;
    let in_lobby = state == VisitorState::Lobby;
    let event = EventStatus {
        id: "sale".parse().unwrap(),
        name: "Spring sale".to_owned(),
        phase: if starts_in > 0.0 { Phase::Lobby } else { Phase::Draw },
        order,
        starts_at: 1_804_154_400,
        ends_at: 1_804_168_800,
        starts_in,
        draw_ends_in: is_drawn.then_some(starts_in + 30.0),
        number: (is_drawn && starts_in < 0.0).then(|| "0.855761".to_owned()),
    };
    let status = visitor_status(state);
    let position = status.position.filter(|_| !in_lobby);
    VisitorStatus { event: Some(event), position, expires_in: (!in_lobby || starts_in < 0.0).then_some(60), ..status }
}

pub(crate) fn view(visitor_status: &VisitorStatus) -> PageView<'_> {
    PageView {
        queue_name: "World tour",
        brand_name: "Acme",
        color: "#c2185b".parse().ok(),
        logo: Some("/_vestibule/theme/acme-tour/logo.svg"),
        ..PageView::new(visitor_status, "n0nce", "/_vestibule/theme/acme-tour/")
    }
}
