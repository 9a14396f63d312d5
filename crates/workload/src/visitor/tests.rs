//! What visitors do, step by step.

use vestibule_core::{VisitorState, WaitSeconds};

use super::{Event, GateResponse, Next, PlannedRequest, PollSpan, ReportedStatus, RequestKind, Visitor};
use crate::arrivals::Arrivals;
use crate::sim_time::SimTime;
use crate::workload::{Behavior, Shopping, Workload};

fn visitor(behavior: &Behavior) -> Visitor {
    let workload = Workload {
        visitors: 1,
        arrivals: Arrivals::Steady(0.0),
        behavior: behavior.clone(),
        seed: 1,
        repeat: None,
        hostile: Vec::new(),
    };
    Visitor::new(&workload, 0)
}

fn patient() -> Behavior {
    Behavior::patient(Shopping::Fixed(30.0))
}

fn status(state: VisitorState, position: u32) -> ReportedStatus {
    ReportedStatus {
        state,
        session: 7,
        position,
        joined_at: 100,
        number: None,
        drawing: false,
        wait: Some(WaitSeconds { p50: 40, p90: 60 }),
        expires_in: Some(60),
        poll_after_ms: 5000,
        is_limited: false,
        proof: None,
        skip: None,
    }
}

/// Steps a visitor through time and answers, each a second after its question.
struct Play {
    visitor: Visitor,
    behavior: Behavior,
    now: SimTime,
    sent: SimTime,
}

impl Play {
    fn of(behavior: Behavior) -> Self {
        Self { visitor: visitor(&behavior), behavior, now: SimTime(0), sent: SimTime(0) }
    }

    /// Lets time pass until the visitor asks; returns what.
    fn asks(&mut self) -> RequestKind {
        loop {
            self.now = self.now.max(self.visitor.next_timer());
            assert!(self.now < SimTime::NEVER, "the visitor asks no more");
            if let Next::Send(ask) = self.visitor.step(self.now, Event::Timer, &self.behavior) {
                self.sent = self.now;
                return ask.kind;
            }
        }
    }

    fn hears(&mut self, response: GateResponse) -> Next {
        self.now = self.now.add_seconds(1.0);
        let next = self.visitor.step(self.now, Event::Response(&response, self.sent), &self.behavior);
        if let Next::Send(_) = next {
            self.sent = self.now;
        }
        next
    }

    fn receives_status(&mut self, status: ReportedStatus) -> Next {
        self.hears(GateResponse::Status(status))
    }
}

#[test]
fn visitor_waits_enters_shops_and_leaves() {
    let mut play = Play::of(patient());
    assert_eq!(play.asks(), RequestKind::Enter);
    play.hears(GateResponse::QueuePage { poll_after_ms: 3000, ticket: true, lobby: false });
    assert_eq!((play.asks(), play.now), (RequestKind::Poll, SimTime(4000)), "three seconds after the page came");
    play.receives_status(status(VisitorState::Waiting, 9));
    assert_eq!((play.asks(), play.now), (RequestKind::Poll, SimTime(10_000)));
    play.receives_status(status(VisitorState::Admitted, 0));
    assert_eq!(
        (play.asks(), play.now),
        (RequestKind::Enter, SimTime(12_500)),
        "a moment to read that it is their turn"
    );
    play.hears(GateResponse::Site { slot_ms: None });
    assert_eq!(play.asks(), RequestKind::Keepalive, "the site's script says that they are there");
    play.receives_status(status(VisitorState::Admitted, 0));
    let mut request = Vec::new();
    while request.last() != Some(&RequestKind::Leave) {
        request.push(play.asks());
        let answer = match request.last() {
            Some(RequestKind::Page) => GateResponse::Site { slot_ms: None },
            Some(RequestKind::Leave) => GateResponse::Done,
            _ => GateResponse::Status(status(VisitorState::Admitted, 0)),
        };
        play.hears(answer);
    }
    assert_eq!(request.iter().filter(|kind| **kind == RequestKind::Page).count(), 2, "three pages in all");
    let trace = play.visitor.trace();
    assert!(play.visitor.has_departed() && trace.stayed_present());
    assert_eq!(
        (trace.arrived, trace.joined, trace.admitted),
        (Some(SimTime(0)), Some(SimTime(1000)), Some(SimTime(11_000)))
    );
    assert_eq!(trace.active_until, Some(SimTime(43_500)), "30 s after the site came");
    assert_eq!(trace.first_estimate.map(|estimate| (estimate.p50, estimate.p90)), Some((40, 60)));
}

#[test]
fn failed_requests_back_off_and_follow_retry_after() {
    let mut play = Play::of(patient());
    play.asks();
    let mut pauses = Vec::new();
    for _ in 0..8 {
        play.hears(GateResponse::Failed { retry_after_ms: 0 });
        let response = play.now;
        assert_eq!(play.asks(), RequestKind::Enter);
        pauses.push(play.now.since(response));
    }
    assert!((1.0..=2.0).contains(&pauses[0]) && (2.0..=4.0).contains(&pauses[1]), "{pauses:?}");
    assert!(pauses[4..].iter().all(|pause| (15.0..=30.0).contains(pause)), "{pauses:?}");
    play.hears(GateResponse::Failed { retry_after_ms: 90_000 });
    let response = play.now;
    play.asks();
    assert!((play.now.since(response) - 90.0).abs() < 0.01);
}

#[test]
fn worse_position_session_or_arrival_is_a_loss() {
    let waits = |position| status(VisitorState::Waiting, position);
    for (second, position_losses) in [
        (waits(5), 0),
        (waits(4), 0),
        (waits(6), 1),
        (ReportedStatus { session: 8, ..waits(4) }, 1),
        (ReportedStatus { joined_at: 101, ..waits(4) }, 1),
        (ReportedStatus { state: VisitorState::Unavailable, session: 0, ..waits(9) }, 0),
    ] {
        let mut play = Play::of(patient());
        play.asks();
        play.hears(GateResponse::QueuePage { poll_after_ms: 2000, ticket: true, lobby: false });
        play.asks();
        play.receives_status(waits(5));
        play.asks();
        play.receives_status(second);
        assert_eq!(play.visitor.trace().position_losses, position_losses, "{second:?}");
    }
}

#[test]
fn page_without_ticket_does_not_join() {
    let mut play = Play::of(patient());
    play.asks();
    let first = play.now;
    play.hears(GateResponse::QueuePage { poll_after_ms: 2000, ticket: false, lobby: false });
    assert_eq!(play.asks(), RequestKind::Poll, "the page asks all the same");
    assert_eq!((play.visitor.trace().arrived, play.visitor.trace().last_waiting), (None, None), "nobody knows of them");
    play.receives_status(status(VisitorState::Waiting, 9));
    assert_eq!(play.visitor.trace().arrived, Some(first), "the first visit may count as the arrival");
    play.asks();
    play.receives_status(status(VisitorState::Admitted, 0));
    assert_eq!(play.asks(), RequestKind::Enter);
    play.hears(GateResponse::QueuePage { poll_after_ms: 2000, ticket: false, lobby: false });
    assert_eq!(play.asks(), RequestKind::Enter, "an admitted visitor tries again");
    assert!(!play.visitor.trace().evicted);
}

#[test]
fn closing_the_page_sends_the_beacon_and_returns() {
    let behavior = Behavior { close: 1.0, beacon: 1.0, come_back: 1.0, patience: 0.5, ..patient() };
    let mut play = Play::of(behavior);
    play.asks();
    play.hears(GateResponse::QueuePage { poll_after_ms: 20_000, ticket: true, lobby: false });
    assert_eq!(play.asks(), RequestKind::Away);
    play.hears(GateResponse::Done);
    let closed = play.now;
    assert_eq!(play.asks(), RequestKind::Enter);
    assert!(play.now.since(closed) >= 1.0);
    assert!(!play.visitor.trace().stayed_present(), "others may go first meanwhile");
}

#[test]
fn flooders_and_second_tabs_poll_more_often() {
    for (behavior, pause) in [
        (Behavior { flood: 1.0, flood_every: 0.2, ..patient() }, 0.2),
        (Behavior { second_tab: 1.0, ..patient() }, 2.5),
        (patient(), 5.0),
    ] {
        let mut play = Play::of(behavior);
        play.asks();
        play.hears(GateResponse::QueuePage { poll_after_ms: 2000, ticket: true, lobby: false });
        play.asks();
        play.receives_status(status(VisitorState::Waiting, 9));
        let response = play.now;
        assert_eq!(play.asks(), RequestKind::Poll);
        assert!((play.now.since(response) - pause).abs() < 0.01, "{pause}");
    }
}

#[test]
fn eviction_is_recorded() {
    let mut play = Play::of(patient());
    play.asks();
    play.hears(GateResponse::Site { slot_ms: None });
    assert_eq!(play.asks(), RequestKind::Keepalive);
    assert_eq!(play.receives_status(status(VisitorState::Waiting, 3)), Next::Departed);
    assert!(play.visitor.trace().evicted);
}

#[test]
fn bots_request_the_page_forever() {
    let mut play = Play::of(Behavior { bots: 1.0, ..patient() });
    for _ in 0..5 {
        assert_eq!(play.asks(), RequestKind::Enter);
        assert!(matches!(
            play.hears(GateResponse::QueuePage { poll_after_ms: 2000, ticket: true, lobby: false }),
            Next::Wait(_)
        ));
    }
    assert!(!play.visitor.trace().is_person());
}

#[test]
fn million_visitors_fit_into_half_a_gigabyte() {
    assert!(size_of::<Visitor>() <= 512, "{} bytes", size_of::<Visitor>());
    assert_eq!(
        PlannedRequest::new(RequestKind::Poll),
        PlannedRequest { kind: RequestKind::Poll, previous_cookies: false }
    );
}

#[test]
fn admission_ends_the_skipped_polls() {
    for (second_tab, first, within) in [(0.0, 5_000, 1_600), (1.0, 2_500, 800)] {
        let mut play = Play::of(Behavior { second_tab, ..patient() });
        play.asks();
        play.hears(GateResponse::QueuePage { poll_after_ms: 2000, ticket: true, lobby: false });
        play.asks();
        let skip = Some(PollSpan { until: play.now.add_seconds(101.0), polls: 20.0 });
        play.hears(GateResponse::Status(ReportedStatus { skip, ..status(VisitorState::Waiting, 50) }));
        let told_at = play.now;
        let record_admission = |after: f64| {
            let mut visitor = play.visitor.clone();
            assert!(visitor.poll_sooner(told_at.add_seconds(after), 1_600, &play.behavior));
            (visitor.next_timer(), visitor.trace().requests)
        };
        assert_eq!(record_admission(1.0), (told_at.add_ms(first), 2), "the first of them");
        let tabs = play.visitor.trace().requests / 20;
        assert_eq!(
            record_admission(50.0),
            (told_at.add_seconds(50.0).add_ms(within), 2 + 10 * tabs - 1),
            "the tenth of each tab"
        );
    }
}

/// A visitor who got the queue page and opens a stream.
fn listening() -> Play {
    let mut play = Play::of(Behavior { streams: 1.0, ..patient() });
    play.asks();
    play.hears(GateResponse::QueuePage { poll_after_ms: 20_000, ticket: true, lobby: false });
    let page = play.now;
    assert_eq!(play.asks(), RequestKind::Stream);
    assert!((2.0..=4.0).contains(&play.now.since(page)), "sooner than the next poll");
    assert!(matches!(play.hears(GateResponse::Stream), Next::Wait(_)));
    play
}

impl Play {
    fn event(&mut self, event: Event<'_>) -> Next {
        self.now = self.now.add_seconds(1.0);
        let next = self.visitor.step(self.now, event, &self.behavior);
        if let Next::Send(_) = next {
            self.sent = self.now;
        }
        next
    }
}

#[test]
fn stream_replaces_polls_until_the_turn() {
    let mut play = listening();
    for position in [9, 5] {
        assert!(matches!(play.event(Event::Update(&status(VisitorState::Waiting, position))), Next::Wait(_)));
    }
    assert!(play.visitor.is_listening() && play.visitor.next_timer() >= play.now.add_seconds(60.0), "no poll is due");
    assert!(matches!(play.event(Event::StreamEnd(Some(700))), Next::Wait(_)));
    let ended = play.now;
    assert_eq!((play.asks(), play.now), (RequestKind::Stream, ended.add_ms(700)), "the browser opens it again");
    let reopened = play.now;
    play.hears(GateResponse::Stream);
    play.event(Event::Update(&status(VisitorState::Waiting, 2)));
    let next = play.event(Event::Update(&status(VisitorState::Admitted, 0)));
    assert_eq!(next, Next::Send(PlannedRequest::new(RequestKind::Poll)), "a poll claims the slot");
    assert!(!play.visitor.is_listening());
    let shown = play.now;
    play.receives_status(status(VisitorState::Admitted, 0));
    let trace = play.visitor.trace();
    assert_eq!((trace.streams, trace.turn_shown, trace.position_losses), (2, Some(shown), 0));
    assert_eq!((trace.last_waiting, trace.admitted), (Some(reopened), Some(shown.add_seconds(1.0))));
    assert!(trace.stayed_present() && !trace.gave_up_streams);
    assert_eq!(play.asks(), RequestKind::Enter);
}

#[test]
fn position_that_rises_in_a_stream_is_a_loss() {
    let mut play = listening();
    play.event(Event::Update(&status(VisitorState::Waiting, 5)));
    play.event(Event::Update(&status(VisitorState::Waiting, 6)));
    assert_eq!(play.visitor.trace().position_losses, 1);
}

#[test]
fn page_polls_after_silent_refused_or_broken_streams() {
    let given_up = |play: &mut Play| {
        assert!(!play.visitor.is_listening() && play.visitor.trace().gave_up_streams);
        play.receives_status(status(VisitorState::Waiting, 9));
        assert_eq!(play.asks(), RequestKind::Poll, "and for the rest of the session");
    };
    let mut silent = listening();
    let opened = silent.now;
    assert_eq!((silent.asks(), silent.now), (RequestKind::Poll, opened.add_seconds(3.0)));
    given_up(&mut silent);

    let mut refused = listening();
    refused.event(Event::Update(&status(VisitorState::Waiting, 9)));
    refused.event(Event::StreamEnd(None));
    assert_eq!(refused.asks(), RequestKind::Stream);
    assert_eq!(refused.hears(GateResponse::NoStream), Next::Send(PlannedRequest::new(RequestKind::Poll)));
    given_up(&mut refused);

    let mut broken = listening();
    broken.event(Event::Update(&status(VisitorState::Waiting, 9)));
    broken.event(Event::StreamEnd(Some(500)));
    broken.asks();
    broken.hears(GateResponse::Failed { retry_after_ms: 0 });
    given_up(&mut broken);
}

#[test]
fn lobby_has_no_streams() {
    let mut play = Play::of(Behavior { streams: 1.0, ..patient() });
    play.asks();
    play.hears(GateResponse::QueuePage { poll_after_ms: 5000, ticket: true, lobby: true });
    assert_eq!(play.asks(), RequestKind::Poll);
    play.receives_status(status(VisitorState::Lobby, 0));
    assert_eq!(play.asks(), RequestKind::Poll);
    play.receives_status(status(VisitorState::Waiting, 3));
    assert_eq!(play.asks(), RequestKind::Stream, "a visitor in line has one");
}
