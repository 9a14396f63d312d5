//! Rules 14 and 15: the lobby and the draw of an event.

use serde_json::{Value, json};
use vestibule_core::line::{JoinClient, Mode, Phase, Removed, Visit, VisitAnswer, VisitKind};
use vestibule_core::{Draw, LobbyTicket, MICROS_PER_SECOND, NetworkClass, PutMode, SaleKeys, SessionId};
use vestibule_tests::GateUnderTest;

use super::phases::event;
use crate::line_fixture::{LineFixture, StoreFixture, TestVisitor};

/// The lobby opens at once; the event starts after [`STARTS`] seconds, and its draw takes [`DRAW`] seconds.
fn drawn() -> Value {
    let mut event = event("sale", 0, STARTS, 4_000);
    for (field, value) in
        [("order", json!("draw")), ("draw_seconds", json!(DRAW)), ("key", json!("s1")), ("salt", json!("a"))]
    {
        event[field] = value;
    }
    json!({ "mode": "scheduled", "quota": 1, "hold_ttl": 1_200, "waiting_ttl": 60, "active_ttl": 3_000, "events": [event] })
}

const STARTS: u64 = 600;
const DRAW: u64 = 30;

/// A newcomer in the lobby.
async fn enter_lobby(fixture: &LineFixture<'_>) -> LobbyTicket {
    enter_lobby_as(fixture, Visit::joining(SessionId::random())).await
}

async fn enter_lobby_as(fixture: &LineFixture<'_>, visit: Visit) -> LobbyTicket {
    let answer = fixture.store().visit(&fixture.queue, visit.clone()).await.unwrap();
    assert_eq!((answer.kind, answer.mode, answer.session), (VisitKind::Lobby, Mode::Lobby, None));
    let signer = &fixture.stores.signer;
    let token = signer.sign_lobby(&fixture.queue, &"sale".parse().unwrap(), &answer.lobby_entry(&visit).unwrap());
    signer.verify_lobby(&fixture.queue, token.unwrap().as_bytes()).unwrap()
}

async fn draw_of(fixture: &LineFixture<'_>) -> Draw {
    let settings = fixture.settings().await;
    SaleKeys::new(&GateUnderTest::sale_keys()).unwrap().draw(&fixture.queue, &settings.line.events[0]).unwrap()
}

/// The visit of a gate with a converted lobby ticket.
async fn visit_drawn(fixture: &LineFixture<'_>, ticket: &LobbyTicket) -> (VisitAnswer, Option<TestVisitor>) {
    let drawn_at = fixture.settings().await.line.events[0].drawn_at().unwrap();
    let answer = fixture.ask(Some(ticket.drawn(&draw_of(fixture).await, drawn_at, 0)), Some(SessionId::random())).await;
    let ticket = fixture.stores.ticket(&fixture.queue, &answer);
    (answer, ticket.map(|ticket| TestVisitor { session: ticket.session(), arrival: ticket.arrival(), ticket }))
}

pub(super) async fn rule_14_lobby_costs_no_memory(stores: &StoreFixture) {
    let fixture = stores.open(drawn()).await;
    let tickets = [enter_lobby(&fixture).await, enter_lobby(&fixture).await];
    assert_ne!(tickets[0].session(), tickets[1].session());
    let stats = fixture.stats().await;
    assert_eq!((stats.lobby_tickets, stats.waiting, stats.active), (2, 0, 0));
    assert_eq!((stats.counters.joined, stats.phase, stats.mode), (0, Some(Phase::Lobby), Mode::Lobby));
    assert_eq!(fixture.ask(None, None).await.kind, VisitKind::Absent, "only newcomers are counted");
    assert_eq!(fixture.stats().await.lobby_tickets, 2);
}

pub(super) async fn rule_14_blocked_networks_get_no_lobby_ticket(stores: &StoreFixture) {
    for (mode, is_blocked) in [("enforce", true), ("monitor", false)] {
        let mut settings = drawn();
        settings["protection"] = json!({ "mode": mode, "on_exceed": "reject" });
        let fixture = stores.open(settings).await;
        let client = JoinClient { class: Some(NetworkClass::Blocked), ..JoinClient::default() };
        let visit = Visit { client, ..Visit::joining(SessionId::random()) };
        let answer = fixture.store().visit(&fixture.queue, visit.clone()).await.unwrap();
        assert_eq!(matches!(answer.kind, VisitKind::Rejected(_)), is_blocked, "{:?}", answer.kind);
        assert_eq!((answer.mode, answer.lobby_entry(&visit).is_none()), (Mode::Lobby, is_blocked));
        let stats = fixture.stats().await;
        assert_eq!(
            (stats.lobby_tickets, stats.limits.counters.rejected_blocked),
            (u64::from(!is_blocked), u64::from(is_blocked))
        );
    }
}

/// However long the head start.
pub(super) async fn rule_20_invited_latecomers_follow_the_draw(stores: &StoreFixture) {
    let fixture = stores.open(drawn()).await;
    let tickets = [enter_lobby(&fixture).await, enter_lobby(&fixture).await];
    fixture.advance_seconds(STARTS + 5);
    for ticket in &tickets {
        visit_drawn(&fixture, ticket).await;
    }
    let plain = fixture.join().await;
    for head_start in [60, 1_000, 86_400] {
        let visit = Visit::invited(SessionId::random(), head_start * MICROS_PER_SECOND);
        let session = fixture.store().visit(&fixture.queue, visit).await.unwrap().session.unwrap();
        assert!(
            (3..=5).contains(&session.position),
            "behind the drawn, ahead of other latecomers: {}",
            session.position
        );
    }
    assert_eq!(fixture.line().await.last(), Some(&plain.session));
}

pub(super) async fn rule_14_sessions_from_before_keep_their_positions(stores: &StoreFixture) {
    let mut settings = drawn();
    settings["mode"] = "open".into();
    let fixture = stores.open(settings).await;
    let mut inside = fixture.join_and_confirm().await;
    let mut early = fixture.join_and_confirm().await;
    fixture.change(|settings| settings.line.mode = Mode::Scheduled).await;
    assert!(
        fixture.visit(&mut inside).await.session.unwrap().admitted_at.is_some(),
        "active sessions keep their slots"
    );
    fixture.leave(&inside).await;
    assert_eq!(fixture.visit(&mut early).await.session.unwrap().position, 1, "nobody is admitted in the lobby");
    let lobby = enter_lobby(&fixture).await;
    fixture.advance_seconds(STARTS);
    let (answer, _) = visit_drawn(&fixture, &lobby).await;
    assert_eq!(
        (answer.kind, answer.session.unwrap().position),
        (VisitKind::Restored, 1),
        "the earlier visitor is away"
    );
    fixture.visit(&mut early).await;
    assert_eq!(fixture.position(&early).await, Some(1), "they are ahead of everyone who was drawn");
}

/// Whatever the mode of the queue is when the operator ends the session.
pub(super) async fn rule_14_visitor_ended_in_the_lobby_is_not_drawn(stores: &StoreFixture) {
    let mut queues = Vec::new();
    for mode in [Mode::Scheduled, Mode::Paused, Mode::Closed] {
        let mut settings = drawn();
        (settings["hold_ttl"], settings["active_ttl"]) = (200.into(), 200.into());
        let fixture = stores.open(settings).await;
        let [ended, other] = [enter_lobby(&fixture).await, enter_lobby(&fixture).await];
        fixture.change(|settings| settings.line.mode = mode).await;
        fixture.store().end(&fixture.queue, ended.session()).await.unwrap();
        fixture.change(|settings| settings.line.mode = Mode::Scheduled).await;
        queues.push((mode, fixture, ended, other));
    }
    for wait in [STARTS, 150, 49] {
        stores.clock.advance(wait * MICROS_PER_SECOND);
        for (mode, fixture, ended, _) in &queues {
            fixture.purge().await;
            let (answer, visitor) = visit_drawn(fixture, ended).await;
            assert_ne!(visitor.map(|it| it.session), Some(ended.session()), "{mode:?}: {:?}", answer.kind);
        }
    }
    for (_, fixture, _, other) in &queues {
        assert_eq!(visit_drawn(fixture, other).await.1.map(|it| it.session), Some(other.session()));
    }
}

/// Its session has the same ID as before, whose tombstone lasts beyond the start.
pub(super) async fn rule_14_account_that_left_takes_part_in_the_draw(stores: &StoreFixture) {
    let queues = [account_before_lobby(stores).await, account_before_lobby(stores).await];
    let account = SessionId::random();
    let mut tickets = Vec::new();
    for fixture in &queues {
        tickets.push(fixture.account_ticket(&fixture.visit_as_account(account, None).await));
    }
    // One account leaves before the queue is scheduled. The session of the other one has expired when it leaves, in the lobby.
    let [before, in_lobby] = &queues;
    before.store().leave(&before.queue, tickets[0].clone()).await.unwrap();
    before.advance_seconds(61);
    for fixture in &queues {
        fixture.purge().await;
        fixture.change(|settings| settings.line.mode = Mode::Scheduled).await;
    }
    in_lobby.store().leave(&in_lobby.queue, tickets[1].clone()).await.unwrap();
    before.advance_seconds(1);
    let lobby = [
        enter_lobby_as(before, Visit::of_account(account)).await,
        enter_lobby_as(in_lobby, Visit::of_account(account)).await,
    ];
    before.advance_seconds(STARTS);
    for (fixture, lobby) in queues.iter().zip(lobby) {
        let (answer, _) = visit_drawn(fixture, &lobby).await;
        let session = answer.session.unwrap();
        let drawn = draw_of(fixture).await.arrival(account);
        assert_eq!((answer.kind, session.id, session.arrival), (VisitKind::Restored, account, drawn));
        fixture.advance_seconds(1);
        let renewed = fixture.ask(Some(fixture.account_ticket(&answer)), None).await;
        assert_eq!(renewed.kind, VisitKind::Renewed);
    }
}

pub(super) async fn rule_14_account_ended_in_the_lobby_joins_after_the_draw(stores: &StoreFixture) {
    let (fixture, account) = (account_before_lobby(stores).await, SessionId::random());
    fixture.change(|settings| settings.line.mode = Mode::Scheduled).await;
    let lobby = enter_lobby_as(&fixture, Visit::of_account(account)).await;
    fixture.store().end(&fixture.queue, account).await.unwrap();
    fixture.advance_seconds(1);
    let again = fixture.visit_as_account(account, None).await;
    assert_eq!((again.kind, fixture.stats().await.lobby_tickets), (VisitKind::Absent, 1), "no other lobby ticket");
    fixture.advance_seconds(STARTS);
    assert_eq!(visit_drawn(&fixture, &lobby).await.0.session.map(|session| session.id == account), Some(false));
    assert_eq!(fixture.visit_as_account(account, None).await.kind, VisitKind::Absent, "the draw is not over");
    // Nor as the account that a visitor signs in to.
    let mut anonymous = fixture.join_and_confirm().await;
    let answer = fixture.visit_as_account(account, Some(anonymous.ticket.clone())).await;
    assert_eq!(answer.session.map(|session| session.id), Some(anonymous.session));
    fixture.advance_seconds(DRAW);
    fixture.visit(&mut anonymous).await;
    let joined = fixture.visit_as_account(account, None).await;
    assert_eq!(joined.kind, VisitKind::Joined);
    assert!(joined.session.unwrap().arrival > anonymous.arrival, "at the end of the line");
}

/// An operator opened the line during the lobby: one visitor left, an invited one did, and one reached `max_session`.
pub(super) async fn rule_14_session_that_was_served_is_not_drawn(stores: &StoreFixture) {
    let mut settings = drawn();
    settings["quota"] = 10.into();
    let fixture = stores.open(settings).await;
    let mut lobby = Vec::new();
    for _ in 0..4 {
        lobby.push(enter_lobby(&fixture).await);
    }
    let waits = lobby.pop().unwrap();
    fixture.change(|settings| settings.line.mode = Mode::Open).await;
    let mut tickets = Vec::new();
    for (ticket, head_start) in lobby.iter().zip([None, Some(60 * MICROS_PER_SECOND), None]) {
        let visit = Visit { head_start, ..Visit::joining(ticket.session()) };
        let answer = fixture.store().visit(&fixture.queue, visit).await.unwrap();
        assert!(answer.session.unwrap().admitted_at.is_some());
        tickets.push(fixture.stores.ticket(&fixture.queue, &answer).unwrap());
    }
    let last = tickets.pop();
    assert_eq!(fixture.ask(last.clone(), None).await.kind, VisitKind::Renewed);
    for ticket in tickets {
        assert_eq!(fixture.store().leave(&fixture.queue, ticket).await.unwrap(), Removed::Active);
    }
    fixture.advance_seconds(60);
    fixture.change(|settings| settings.line.max_session = Some(60)).await;
    assert_eq!(fixture.ask(last, None).await.session, None, "it has reached max_session");
    fixture.change(|settings| (settings.line.mode, settings.line.quota) = (Mode::Scheduled, 0)).await;
    fixture.advance_seconds(STARTS - 60);
    for ticket in &lobby {
        let (answer, _) = visit_drawn(&fixture, ticket).await;
        assert_eq!(answer.kind, VisitKind::Joined, "a newcomer");
        assert_ne!(answer.session.unwrap().id, ticket.session());
    }
    assert_eq!(visit_drawn(&fixture, &waits).await.0.kind, VisitKind::Restored, "this one was never served");
}

/// Its lobby ticket from before it was served is void, and ends nothing.
pub(super) async fn rule_14_account_that_came_again_is_drawn(stores: &StoreFixture) {
    let (fixture, account) = (stores.open(drawn()).await, SessionId::random());
    let before = enter_lobby_as(&fixture, Visit::of_account(account)).await;
    fixture.change(|settings| settings.line.mode = Mode::Open).await;
    let admitted = fixture.visit_as_account(account, None).await;
    assert!(admitted.session.unwrap().admitted_at.is_some());
    fixture.store().leave(&fixture.queue, fixture.account_ticket(&admitted)).await.unwrap();
    fixture.change(|settings| settings.line.mode = Mode::Scheduled).await;
    // Its slot is held for a last credential.
    fixture.advance_seconds(1);
    let again = enter_lobby_as(&fixture, Visit::of_account(account)).await;
    fixture.advance_seconds(STARTS);
    let (answer, _) = visit_drawn(&fixture, &before).await;
    assert_eq!((answer.kind, answer.session.map(|session| session.id == account)), (VisitKind::Joined, Some(false)));
    let (answer, _) = visit_drawn(&fixture, &again).await;
    let drawn = draw_of(&fixture).await.arrival(account);
    assert_eq!((answer.kind, answer.session.unwrap().arrival), (VisitKind::Restored, drawn));
    let drawn_at = fixture.settings().await.line.events[0].drawn_at().unwrap();
    let void = before.drawn(&draw_of(&fixture).await, drawn_at, 0);
    assert_eq!(fixture.store().leave(&fixture.queue, void).await.unwrap(), Removed::Absent);
}

/// An open queue, which is in the lobby of its event once it is scheduled, and admits nobody.
async fn account_before_lobby(stores: &StoreFixture) -> LineFixture<'_> {
    let mut settings = drawn();
    (settings["mode"], settings["quota"]) = ("open".into(), 0.into());
    stores.open(settings).await
}

pub(super) async fn rule_15_admissions_follow_the_numbers(stores: &StoreFixture) {
    let fixture = stores.open(drawn()).await;
    let mut lobby = Vec::new();
    for _ in 0..8 {
        lobby.push(enter_lobby(&fixture).await);
        fixture.advance_seconds(1);
    }
    fixture.advance_seconds(STARTS - 8);
    let mut late = fixture.join_and_confirm().await;
    assert_eq!(fixture.position(&late).await, Some(1));
    let mut guests = Vec::new();
    for ticket in &lobby {
        let (answer, guest) = visit_drawn(&fixture, ticket).await;
        assert_eq!((answer.mode, answer.kind), (Mode::Draw, VisitKind::Restored));
        assert!(answer.session.unwrap().admitted_at.is_none(), "nobody is admitted while the order is drawn");
        guests.push(guest.unwrap());
    }
    assert_eq!(fixture.release(1).await, 0, "nor by an operator");
    assert!(!fixture.store().admit(&fixture.queue, guests[0].session).await.unwrap());
    let stats = fixture.stats().await;
    assert_eq!((stats.waiting, stats.active, stats.counters.returned), (9, 0, 0));
    assert_eq!((stats.counters.joined, stats.counters.confirmed), (9, 9));
    fixture.advance_seconds(DRAW);
    let draw = draw_of(&fixture).await;
    guests.sort_by_key(|guest| draw.number(guest.session));
    for _ in 0..guests.len() {
        fixture.visit_all(&mut guests).await;
        let mut first = guests.remove(0);
        assert!(fixture.is_in(&first).await, "admissions follow the numbers");
        assert!(fixture.counts().await.1 == 1);
        fixture.visit(&mut first).await;
        fixture.leave(&first).await;
    }
    fixture.visit(&mut late).await;
    assert!(fixture.is_in(&late).await, "later visitors follow in order of arrival");
    let oldest = fixture.stats().await.waits;
    assert!(oldest.sum_us <= 9 * DRAW * 1_000_000 + 1_000_000, "waits count from the start: {}", oldest.sum_us);
}

pub(super) async fn rule_15_late_visitor_returns_to_the_drawn_position(stores: &StoreFixture) {
    let fixture = stores.open(drawn()).await;
    let (one, other) = (enter_lobby(&fixture).await, enter_lobby(&fixture).await);
    let draw = draw_of(&fixture).await;
    let (first, second) =
        if draw.number(one.session()) < draw.number(other.session()) { (one, other) } else { (other, one) };
    fixture.change(|settings| settings.line.quota = 0).await;
    fixture.advance_seconds(STARTS + DRAW + 10);
    let (_, mut behind) = visit_drawn(&fixture, &second).await;
    let mut late = fixture.join_and_confirm().await;
    fixture.advance_seconds(20);
    let (answer, ahead) = visit_drawn(&fixture, &first).await;
    assert_eq!(answer.session.unwrap().position, 1);
    assert_eq!(answer.session.unwrap().arrival, draw.arrival(first.session()));
    let behind = behind.as_mut().unwrap();
    fixture.visit(behind).await;
    fixture.visit(&mut late).await;
    let positions = [
        fixture.position(ahead.as_ref().unwrap()).await,
        fixture.position(behind).await,
        fixture.position(&late).await,
    ];
    assert_eq!(positions, [Some(1), Some(2), Some(3)]);
    let (again, _) = visit_drawn(&fixture, &first).await;
    assert_eq!((again.kind, again.waiting), (VisitKind::Renewed, 3), "the same lobby ticket is one session");
    assert_eq!(
        fixture.stats().await.oldest_arrival.unwrap(),
        fixture.settings().await.line.events[0].starts_at.micros()
    );
}

pub(super) async fn rule_15_drawn_arrivals_are_no_times_in_any_mode(stores: &StoreFixture) {
    let mut settings = drawn();
    settings["quota"] = 0.into();
    let fixture = stores.open(settings).await;
    let lobby = enter_lobby(&fixture).await;
    let starts_at = fixture.settings().await.line.events[0].starts_at.micros();
    fixture.advance_seconds(STARTS + DRAW);
    let drawn = visit_drawn(&fixture, &lobby).await.1.unwrap();
    for mode in [Mode::Scheduled, Mode::Closed, Mode::Draining, Mode::Open, Mode::Paused] {
        fixture.change(|settings| settings.line.mode = mode).await;
        assert_eq!(fixture.stats().await.oldest_arrival, Some(starts_at), "{mode:?}");
    }
    let invited = Visit::invited(SessionId::random(), 2 * STARTS * MICROS_PER_SECOND);
    let invited = fixture.store().visit(&fixture.queue, invited).await.unwrap().session.unwrap();
    assert_eq!((invited.position, invited.arrival), (2, starts_at), "behind everyone drawn");
    assert_eq!(fixture.release(1).await, 1);
    assert!(fixture.is_in(&drawn).await);
    assert_eq!(fixture.stats().await.waits.sum_us, DRAW * MICROS_PER_SECOND);
}

pub(super) async fn rule_15_store_before_the_draw_keeps_the_visitor_in_the_lobby(stores: &StoreFixture) {
    let fixture = stores.open(drawn()).await;
    let lobby = enter_lobby(&fixture).await;
    fixture.advance_micros(STARTS * 1_000_000 - 1);
    let (answer, guest) = visit_drawn(&fixture, &lobby).await;
    assert_eq!((answer.kind, answer.mode, guest.is_none()), (VisitKind::Lobby, Mode::Lobby, true));
    assert_eq!(fixture.stats().await.lobby_tickets, 1, "they are counted once");
    fixture.advance_micros(1);
    assert_eq!(visit_drawn(&fixture, &lobby).await.0.kind, VisitKind::Restored);
}

pub(super) async fn rule_15_quiet_lobby_is_no_loss(stores: &StoreFixture) {
    let fixture = stores.open(drawn()).await;
    let lobby = enter_lobby(&fixture).await;
    fixture.advance_seconds(STARTS + DRAW + 5);
    let (answer, _) = visit_drawn(&fixture, &lobby).await;
    assert!(!answer.recovering, "no visit was due between the lobby and now");
    assert!(answer.session.unwrap().admitted_at.is_some());
}

pub(super) async fn rule_15_flush_in_the_lobby_loses_no_position(stores: &StoreFixture) {
    let fixture = stores.open(drawn()).await;
    let mut lobby = Vec::new();
    for _ in 0..4 {
        lobby.push(enter_lobby(&fixture).await);
    }
    fixture.advance_seconds(10);
    fixture.lose(PutMode::Restore).await;
    assert_eq!(fixture.stats().await.lobby_tickets, 0);
    fixture.advance_seconds(STARTS - 10);
    let draw = draw_of(&fixture).await;
    let mut guests = Vec::new();
    for ticket in &lobby {
        guests.push(visit_drawn(&fixture, ticket).await.1.unwrap());
    }
    guests.sort_by_key(|guest| draw.number(guest.session));
    for (index, guest) in guests.iter().enumerate() {
        assert_eq!(fixture.position(guest).await, Some(index as u64 + 1));
    }
}

/// The same event with a beacon.
fn drawn_with_beacon() -> Value {
    let mut settings = drawn();
    settings["events"][0]["beacon"] = "drand-quicknet".into();
    settings["events"][0]["draw_seconds"] = DRAW_WITH_BEACON.into();
    settings
}

const DRAW_WITH_BEACON: u64 = 45;
/// When the event of [`drawn`] ends.
const ENDS: u64 = 4_000;

async fn record_beacon(fixture: &LineFixture<'_>) {
    let settings = fixture.settings().await;
    let event = &settings.line.events[0];
    let round = event.beacon_round().unwrap().round;
    vestibule_runtime::record_beacon(fixture.store(), &fixture.queue, &event.id, round, "00ff").await.unwrap();
}

pub(super) async fn rule_16_order_is_drawn_when_the_beacon_is_recorded(stores: &StoreFixture) {
    let fixture = stores.open(drawn_with_beacon()).await;
    let lobby = [enter_lobby(&fixture).await, enter_lobby(&fixture).await, enter_lobby(&fixture).await];
    fixture.advance_seconds(STARTS);
    let mut late = fixture.join_and_confirm().await;
    for _ in 0..6 {
        fixture.advance_seconds(50);
        let answer = fixture.visit(&mut late).await;
        assert_eq!((answer.mode, answer.session.unwrap().admitted_at), (Mode::Draw, None), "the value is missing");
        assert_eq!(fixture.release(1).await, 0);
    }
    record_beacon(&fixture).await;
    let drawn_at = fixture.settings().await.line.events[0].drawn_at().unwrap();
    assert_eq!(drawn_at.seconds(), fixture.now().seconds(), "by the clock of the store");
    let draw = draw_of(&fixture).await;
    let mut guests = Vec::new();
    for ticket in &lobby {
        let (answer, guest) = visit_drawn(&fixture, ticket).await;
        assert_eq!((answer.mode, answer.kind), (Mode::Draw, VisitKind::Restored));
        guests.push(guest.unwrap());
    }
    guests.sort_by_key(|guest| draw.number(guest.session));
    fixture.advance_seconds(DRAW_WITH_BEACON - 1);
    fixture.visit_all(&mut guests).await;
    assert_eq!((fixture.stats().await.phase, fixture.counts().await), (Some(Phase::Draw), (4, 0)));
    fixture.advance_seconds(1);
    fixture.visit_all(&mut guests).await;
    assert!(fixture.is_in(&guests[0]).await, "admissions follow the numbers");
    assert_eq!((fixture.stats().await.phase, fixture.counts().await), (Some(Phase::Running), (3, 1)));
}

/// However late the value is recorded.
pub(super) async fn rule_16_visitor_ended_before_the_draw_is_not_drawn(stores: &StoreFixture) {
    let mut queues = Vec::new();
    for _ in 0..2 {
        let mut settings = drawn_with_beacon();
        (settings["hold_ttl"], settings["active_ttl"]) = (200.into(), 200.into());
        let fixture = stores.open(settings).await;
        let ended = enter_lobby(&fixture).await;
        queues.push((fixture, ended));
    }
    // One in the lobby, one after the start.
    for (fixture, ended) in &queues {
        fixture.store().end(&fixture.queue, ended.session()).await.unwrap();
        fixture.advance_seconds(STARTS);
    }
    stores.clock.advance(500 * MICROS_PER_SECOND);
    for (fixture, ended) in &queues {
        fixture.purge().await;
        record_beacon(fixture).await;
        let (answer, visitor) = visit_drawn(fixture, ended).await;
        assert_ne!(visitor.map(|it| it.session), Some(ended.session()), "{:?}", answer.kind);
    }
}

pub(super) async fn rule_16_draw_phase_without_a_value_lasts_until_the_end(stores: &StoreFixture) {
    let fixture = stores.open(drawn_with_beacon()).await;
    enter_lobby(&fixture).await;
    fixture.advance_micros(ENDS * 1_000_000 - 1);
    let stats = fixture.stats().await;
    assert_eq!((stats.phase, stats.mode), (Some(Phase::Draw), Mode::Draw));
    fixture.advance_micros(1);
    let stats = fixture.stats().await;
    assert_eq!((stats.phase, stats.mode), (Some(Phase::Ending), Mode::Open));
    let event = &fixture.settings().await.line.events[0];
    let refused = vestibule_runtime::record_beacon(
        fixture.store(),
        &fixture.queue,
        &event.id,
        event.beacon_round().unwrap().round,
        "00ff",
    );
    assert!(refused.await.is_err(), "lobby tickets are void");
}

pub(super) async fn rule_16_late_value_is_drawn_after_the_end(stores: &StoreFixture) {
    let fixture = stores.open(drawn_with_beacon()).await;
    let lobby = enter_lobby(&fixture).await;
    fixture.advance_seconds(ENDS - 1);
    record_beacon(&fixture).await;
    fixture.advance_seconds(DRAW_WITH_BEACON - 1);
    assert_eq!(fixture.stats().await.phase, Some(Phase::Draw));
    visit_drawn(&fixture, &lobby).await;
    fixture.advance_seconds(1);
    assert_eq!(fixture.stats().await.phase, Some(Phase::Ending));
    assert!(visit_drawn(&fixture, &lobby).await.0.session.unwrap().admitted_at.is_some());
}
