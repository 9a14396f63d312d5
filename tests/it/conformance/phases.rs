//! Rule 13: scheduled queues and their phases.

use futures_util::future::{join, join_all};
use serde_json::{Value, json};
use vestibule_core::line::{LineRules, Mode, Phase, Visit, VisitAnswer, VisitKind, Witness};
use vestibule_core::{PutMode, SessionId, Timestamp};

use crate::line_fixture::{LineFixture, START, StoreFixture, TestVisitor};

/// An event whose lobby opens, which starts and ends these seconds after the beginning of the test.
pub(crate) fn event(id: &str, lobby: u64, start: u64, end: u64) -> Value {
    let at = |seconds| Timestamp::of(START.add_seconds(seconds)).to_string();
    json!({ "id": id, "lobby_at": at(lobby), "starts_at": at(start), "ends_at": at(end), "order": "arrival" })
}

fn scheduled(between: &str) -> Value {
    json!({
        "mode": "scheduled", "between_events": between, "quota": 1, "hold_ttl": 600, "waiting_ttl": 60,
        "events": [event("first", 100, 160, 220), event("second", 2_000, 2_060, 2_120)],
    })
}

async fn newcomer(fixture: &LineFixture<'_>) -> VisitAnswer {
    fixture.visit_as(SessionId::random()).await
}

async fn newcomer_who_tells(fixture: &LineFixture<'_>) -> VisitAnswer {
    let witness = Witness { unserved: Witness::STARTED, census: None };
    let visit = Visit { witness, ..Visit::joining(SessionId::random()) };
    fixture.store().visit(&fixture.queue, visit).await.unwrap()
}

async fn phase_and_mode(fixture: &LineFixture<'_>) -> (Option<Phase>, Mode) {
    let stats = fixture.stats().await;
    assert_eq!(stats.rules.mode, Mode::Scheduled);
    (stats.phase, stats.mode)
}

pub(super) async fn rule_13_phases_begin_to_the_microsecond(stores: &StoreFixture) {
    let fixture = stores.open(scheduled("bypass")).await;
    let begins = fixture.now();
    for (seconds, before, after) in [
        (100, (Phase::Idle, Mode::Bypass), (Phase::Lobby, Mode::Paused)),
        (160, (Phase::Lobby, Mode::Paused), (Phase::Running, Mode::Open)),
        (220, (Phase::Running, Mode::Open), (Phase::Ending, Mode::Open)),
        (820, (Phase::Ending, Mode::Open), (Phase::Idle, Mode::Bypass)),
        (2_000, (Phase::Idle, Mode::Bypass), (Phase::Lobby, Mode::Paused)),
        (2_720, (Phase::Ending, Mode::Open), (Phase::Idle, Mode::Bypass)),
    ] {
        let at = begins.add_seconds(seconds);
        fixture.advance_micros(at.since(fixture.now()) - 1);
        assert_eq!(phase_and_mode(&fixture).await, (Some(before.0), before.1), "1 us before {seconds}");
        assert_eq!(fixture.ask(None, None).await.mode, before.1);
        for _ in 0..2 {
            fixture.advance_micros(1);
            assert_eq!(phase_and_mode(&fixture).await, (Some(after.0), after.1), "{seconds}");
            assert_eq!(fixture.ask(None, None).await.mode, after.1);
        }
    }
}

pub(super) async fn rule_13_lobby_keeps_the_order_of_arrival(stores: &StoreFixture) {
    let fixture = stores.open(scheduled("bypass")).await;
    let early = newcomer(&fixture).await;
    assert_eq!((early.mode, early.kind, early.session), (Mode::Bypass, VisitKind::Absent, None));
    fixture.advance_seconds(130);
    let mut guests = fixture.arrivals(3).await;
    assert_eq!(fixture.counts().await, (3, 0), "nobody is admitted before the start");
    fixture.advance_seconds(30);
    guests.reverse();
    fixture.visit_all(&mut guests).await;
    assert!(fixture.is_in(&guests[2]).await, "the first arrival is admitted first");
    assert_eq!(fixture.position(&guests[1]).await, Some(1));
}

pub(super) async fn rule_13_ending_admits_the_line_before_bypass(stores: &StoreFixture) {
    let fixture = stores
        .open(json!({ "active_ttl": 3_000, "waiting_ttl": 600, "claim_ttl": 200, "mode": "scheduled", "hold_ttl": 600,
        "events": [event("first", 0, 60, 120), event("second", 3_000, 3_060, 3_120)] }))
        .await;
    let mut inside = fixture.join_and_confirm().await;
    fixture.advance_seconds(60);
    fixture.visit(&mut inside).await;
    let mut waiting = fixture.join_and_confirm().await;
    fixture.advance_seconds(400);
    fixture.visit(&mut waiting).await;
    fixture.advance_seconds(400);
    fixture.visit(&mut waiting).await;
    assert_eq!(phase_and_mode(&fixture).await, (Some(Phase::Ending), Mode::Open), "somebody waits");
    assert_eq!(newcomer(&fixture).await.kind, VisitKind::Joined, "newcomers wait behind them");
    assert!(fixture.is_in(&inside).await);
    fixture.advance_seconds(250);
    fixture.visit(&mut waiting).await;
    fixture.leave(&waiting).await;
    assert_eq!(newcomer(&fixture).await.mode, Mode::Bypass);
    assert_eq!(phase_and_mode(&fixture).await, (Some(Phase::Idle), Mode::Bypass));
}

pub(super) async fn rule_13_lost_line_does_not_open_the_site(stores: &StoreFixture) {
    let fixture = stores
        .open(json!({ "quota": 0, "waiting_ttl": 600, "claim_ttl": 200, "mode": "scheduled", "hold_ttl": 600,
        "events": [event("first", 0, 60, 120), event("second", 3_000, 3_060, 3_120)] }))
        .await;
    let mut waiting = fixture.join_and_confirm().await;
    for _ in 0..2 {
        fixture.advance_seconds(400);
        fixture.visit(&mut waiting).await;
    }
    assert_eq!(phase_and_mode(&fixture).await, (Some(Phase::Ending), Mode::Open), "somebody waits");
    fixture.lose(PutMode::Restore).await;
    assert_eq!(newcomer(&fixture).await.mode, Mode::Open, "visitors may still return");
    fixture.visit(&mut waiting).await;
    assert_eq!(fixture.position(&waiting).await, Some(1));
}

/// An event that is over, with one visitor who waited, expired without a visit of others, and was purged.
async fn event_with_an_expired_line(stores: &StoreFixture) -> (LineFixture<'_>, TestVisitor) {
    let fixture = stores
        .open(json!({ "quota": 0, "waiting_ttl": 600, "claim_ttl": 200, "mode": "scheduled", "hold_ttl": 1_200,
        "events": [event("first", 0, 60, 120), event("second", 9_000, 9_060, 9_120)] }))
        .await;
    let mut waiting = fixture.join_and_confirm().await;
    for _ in 0..3 {
        fixture.advance_seconds(400);
        fixture.visit(&mut waiting).await;
    }
    fixture.advance_seconds(700);
    fixture.purge().await;
    assert_eq!(fixture.counts().await, (0, 0));
    (fixture, waiting)
}

pub(super) async fn rule_13_interrupted_line_does_not_open_the_site(stores: &StoreFixture) {
    let (fixture, mut waiting) = event_with_an_expired_line(stores).await;
    let answer = newcomer_who_tells(&fixture).await;
    assert_eq!((answer.mode, answer.recovering), (Mode::Open, true));
    fixture.visit(&mut waiting).await;
    assert_eq!(fixture.position(&waiting).await, Some(1));
}

/// The first visit comes through a process that did not notice the interruption.
pub(super) async fn rule_13_later_visit_tells_of_an_interrupted_line(stores: &StoreFixture) {
    let (fixture, mut waiting) = event_with_an_expired_line(stores).await;
    assert_eq!(newcomer(&fixture).await.mode, Mode::Bypass);
    fixture.advance_seconds(400);
    let answer = newcomer_who_tells(&fixture).await;
    assert_eq!((answer.mode, answer.recovering), (Mode::Open, true));
    fixture.visit(&mut waiting).await;
    assert_eq!(fixture.position(&waiting).await, Some(1));
}

pub(super) async fn rule_13_ticket_returns_to_a_line_that_may_be_interrupted(stores: &StoreFixture) {
    let (fixture, mut waiting) = event_with_an_expired_line(stores).await;
    assert_eq!(newcomer(&fixture).await.mode, Mode::Bypass);
    fixture.advance_seconds(400);
    // Several visits at once are a batch.
    let newcomers = join_all((0..9).map(async |_| newcomer(&fixture).await));
    let (answers, _) = join(newcomers, fixture.visit(&mut waiting)).await;
    assert!(answers.iter().all(|answer| answer.session.is_none()));
    assert_eq!(fixture.position(&waiting).await, Some(1));
}

pub(super) async fn rule_13_line_that_left_ends_the_event(stores: &StoreFixture) {
    let (fixture, _) = event_with_an_expired_line(stores).await;
    assert_eq!(newcomer(&fixture).await.mode, Mode::Bypass);
    assert_eq!(phase_and_mode(&fixture).await, (Some(Phase::Idle), Mode::Bypass));
}

pub(super) async fn rule_13_last_expiry_lets_the_same_visit_pass(stores: &StoreFixture) {
    let fixture = stores.open(scheduled("bypass")).await;
    fixture.advance_seconds(100);
    fixture.arrivals(1).await;
    fixture.advance_seconds(2_000 - 100 - 1);
    assert_eq!(phase_and_mode(&fixture).await.0, Some(Phase::Ending), "the expired session is still stored");
    let answer = newcomer(&fixture).await;
    assert_eq!((answer.mode, answer.session, answer.waiting), (Mode::Bypass, None, 0));
}

pub(super) async fn rule_13_closed_between_events_drains_after_the_end(stores: &StoreFixture) {
    let fixture = stores.open(scheduled("closed")).await;
    assert_eq!(newcomer(&fixture).await.mode, Mode::Closed);
    fixture.advance_seconds(160);
    fixture.arrivals(1).await;
    fixture.advance_seconds(60);
    let answer = newcomer(&fixture).await;
    assert_eq!((answer.mode, answer.session), (Mode::Draining, None));
    fixture.advance_seconds(600);
    fixture.purge().await;
    let report = fixture.store().purge(&fixture.queue, 1).await.unwrap();
    assert_eq!(report.closed, None, "the purge closes a queue only if its set mode is draining");
    assert_eq!(newcomer(&fixture).await.mode, Mode::Closed);
    fixture.advance_seconds(2_000 - 820);
    assert_eq!(newcomer(&fixture).await.kind, VisitKind::Joined, "the next lobby is open");
}

pub(super) async fn rule_13_set_mode_overrides_the_events(stores: &StoreFixture) {
    let fixture = stores.open(scheduled("bypass")).await;
    for seconds in [0, 100, 60, 60, 600] {
        fixture.advance_seconds(seconds);
        for mode in [Mode::Paused, Mode::Closed, Mode::Open] {
            fixture.change(|settings| settings.line.mode = mode).await;
            assert_eq!(fixture.ask(None, None).await.mode, mode);
            let stats = fixture.stats().await;
            assert_eq!((stats.rules.mode, stats.mode, stats.phase), (mode, mode, None));
        }
        fixture.change(|settings| settings.line.mode = Mode::Scheduled).await;
        let expected = fixture.settings().await.line.effective_mode(fixture.now(), false);
        assert_eq!(fixture.ask(None, None).await.mode, expected);
    }
}

pub(super) async fn rule_13_schedule_survives_reset_and_loss(stores: &StoreFixture) {
    let fixture = stores.open(scheduled("bypass")).await;
    fixture.advance_seconds(130);
    fixture.arrivals(2).await;
    fixture.store().reset(&fixture.queue).await.unwrap();
    assert_eq!(phase_and_mode(&fixture).await, (Some(Phase::Lobby), Mode::Paused));
    assert_eq!(fixture.settings().await.line.mode, Mode::Scheduled);
    fixture.lose(PutMode::Restore).await;
    assert_eq!(phase_and_mode(&fixture).await, (Some(Phase::Lobby), Mode::Paused));
    assert_eq!(newcomer(&fixture).await.kind, VisitKind::Joined);
}

pub(super) async fn rule_13_loss_long_after_an_event_does_not_continue_it(stores: &StoreFixture) {
    let fixture = stores.open(scheduled("bypass")).await;
    fixture.advance_seconds(2_800);
    fixture.lose(PutMode::Restore).await;
    assert_eq!(phase_and_mode(&fixture).await, (Some(Phase::Ending), Mode::Open), "visitors may return");
    let answer = fixture.ask(None, None).await;
    assert_eq!((answer.mode, answer.may_wait()), (Mode::Open, true));
    fixture.advance_seconds(600);
    assert_eq!(phase_and_mode(&fixture).await, (Some(Phase::Idle), Mode::Bypass));
    fixture.advance_seconds(86_000);
    fixture.lose(PutMode::Restore).await;
    assert_eq!(phase_and_mode(&fixture).await, (Some(Phase::Idle), Mode::Bypass), "the event ended long ago");
    let answer = newcomer(&fixture).await;
    assert_eq!((answer.mode, answer.kind, answer.may_wait()), (Mode::Bypass, VisitKind::Absent, false));
}

pub(super) async fn rule_13_clock_stepping_back_restores_the_phase(stores: &StoreFixture) {
    let fixture = stores.open(scheduled("bypass")).await;
    fixture.advance_seconds(1_990);
    fixture.change(|settings| settings.line.hold_ttl = 2_000).await;
    fixture.advance_seconds(10);
    assert_eq!(fixture.ask(None, None).await.mode, Mode::Paused);
    stores.clock.step_back(5_000_000);
    assert_eq!(phase_and_mode(&fixture).await, (Some(Phase::Ending), Mode::Open));
    assert_eq!(fixture.ask(None, None).await.mode, Mode::Open);
}

pub(super) async fn rule_13_events_are_read_as_written(stores: &StoreFixture) {
    let fixture = stores.open(scheduled("closed")).await;
    let written = fixture.settings().await;
    let LineRules { mode, events, .. } = &written.line;
    assert_eq!((*mode, events.len(), events[1].id.as_str()), (Mode::Scheduled, 2, "second"));
    fixture.change(|settings| settings.name = "Other".to_owned()).await;
    let read = fixture.settings().await;
    assert_eq!((read.line.events, read.line.between_events), (written.line.events, written.line.between_events));
    assert_eq!(phase_and_mode(&fixture).await, (Some(Phase::Idle), Mode::Closed));
}
