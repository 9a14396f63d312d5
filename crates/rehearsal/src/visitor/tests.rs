//! What visitors do, step by step.

use vestibule_core::{VisitorState, WaitSeconds};

use super::{Ask, Event, Heard, Next, Question, ReportedStatus, Stretch, Visitor};
use crate::arrivals::Arrivals;
use crate::crowd::{Crowd, Habits, Shopping};
use crate::moment::Moment;

fn visitor(habits: &Habits) -> Visitor {
    let crowd = Crowd { visitors: 1, arrivals: Arrivals::Steady(0.0), habits: habits.clone(), seed: 1 };
    Visitor::new(&crowd, 0)
}

fn steadfast() -> Habits {
    Habits::steadfast(Shopping::Fixed(30.0))
}

fn told(state: VisitorState, position: u32) -> ReportedStatus {
    ReportedStatus {
        state,
        session: 7,
        position,
        joined_at: 100,
        wait: Some(WaitSeconds { p50: 40, p90: 60 }),
        expires_in: Some(60),
        poll_after_ms: 5000,
        stretch: None,
    }
}

/// Steps a visitor through time and answers, each a second after its question.
struct Play {
    visitor: Visitor,
    habits: Habits,
    now: Moment,
    sent: Moment,
}

impl Play {
    fn of(habits: Habits) -> Self {
        Self { visitor: visitor(&habits), habits, now: Moment(0), sent: Moment(0) }
    }

    /// Lets time pass until the visitor asks; returns what.
    fn asks(&mut self) -> Question {
        loop {
            self.now = self.now.max(self.visitor.wakes());
            assert!(self.now < Moment::NEVER, "the visitor asks no more");
            if let Next::Ask(ask) = self.visitor.step(self.now, Event::Time, &self.habits) {
                self.sent = self.now;
                return ask.question;
            }
        }
    }

    fn hears(&mut self, heard: Heard) -> Next {
        self.now = self.now.after(1.0);
        let next = self.visitor.step(self.now, Event::Answer(&heard, self.sent), &self.habits);
        if let Next::Ask(_) = next {
            self.sent = self.now;
        }
        next
    }

    fn hears_standing(&mut self, told: ReportedStatus) -> Next {
        self.hears(Heard::VisitorStatus(told))
    }
}

#[test]
fn somebody_waits_as_long_as_told_goes_in_shops_and_leaves() {
    let mut play = Play::of(steadfast());
    assert_eq!(play.asks(), Question::Enter);
    play.hears(Heard::QueuePage { ask_after_ms: 3000, ticket: true });
    assert_eq!((play.asks(), play.now), (Question::Poll, Moment(4000)), "three seconds after the page came");
    play.hears_standing(told(VisitorState::Waiting, 9));
    assert_eq!((play.asks(), play.now), (Question::Poll, Moment(10_000)));
    play.hears_standing(told(VisitorState::Admitted, 0));
    assert_eq!((play.asks(), play.now), (Question::Enter, Moment(12_500)), "a moment to read that it is their turn");
    play.hears(Heard::Through);
    assert_eq!(play.asks(), Question::Keepalive, "the site's script says that they are there");
    play.hears_standing(told(VisitorState::Admitted, 0));
    let mut asked = Vec::new();
    while asked.last() != Some(&Question::Leave) {
        asked.push(play.asks());
        let answer = match asked.last() {
            Some(Question::Page) => Heard::Through,
            Some(Question::Leave) => Heard::Done,
            _ => Heard::VisitorStatus(told(VisitorState::Admitted, 0)),
        };
        play.hears(answer);
    }
    assert_eq!(asked.iter().filter(|question| **question == Question::Page).count(), 2, "three pages in all");
    let story = play.visitor.story();
    assert!(play.visitor.is_gone() && story.stayed());
    assert_eq!((story.came, story.joined, story.admitted), (Some(Moment(0)), Some(Moment(1000)), Some(Moment(11_000))));
    assert_eq!(story.inside_until, Some(Moment(43_500)), "30 s after the site came");
    assert_eq!(story.first_promise.map(|promise| (promise.p50, promise.p90)), Some((40, 60)));
}

#[test]
fn retry_after_holds_and_silence_is_asked_less_and_less() {
    let mut play = Play::of(steadfast());
    play.asks();
    let mut pauses = Vec::new();
    for _ in 0..8 {
        play.hears(Heard::Failed { retry_after_ms: 0 });
        let heard = play.now;
        assert_eq!(play.asks(), Question::Enter);
        pauses.push(play.now.since(heard));
    }
    assert!((1.0..=2.0).contains(&pauses[0]) && (2.0..=4.0).contains(&pauses[1]), "{pauses:?}");
    assert!(pauses[4..].iter().all(|pause| (15.0..=30.0).contains(pause)), "{pauses:?}");
    play.hears(Heard::Failed { retry_after_ms: 90_000 });
    let heard = play.now;
    play.asks();
    assert!((play.now.since(heard) - 90.0).abs() < 0.01);
}

#[test]
fn a_place_that_gets_worse_is_a_place_lost() {
    let waits = |position| told(VisitorState::Waiting, position);
    for (second, losses) in [
        (waits(5), 0),
        (waits(4), 0),
        (waits(6), 1),
        (ReportedStatus { session: 8, ..waits(4) }, 1),
        (ReportedStatus { joined_at: 101, ..waits(4) }, 1),
        (ReportedStatus { state: VisitorState::Unavailable, session: 0, ..waits(9) }, 0),
    ] {
        let mut play = Play::of(steadfast());
        play.asks();
        play.hears(Heard::QueuePage { ask_after_ms: 2000, ticket: true });
        play.asks();
        play.hears_standing(waits(5));
        play.asks();
        play.hears_standing(second);
        assert_eq!(play.visitor.story().losses, losses, "{second:?}");
    }
}

#[test]
fn a_page_without_a_ticket_is_no_place_yet() {
    let mut play = Play::of(steadfast());
    play.asks();
    play.hears(Heard::QueuePage { ask_after_ms: 2000, ticket: false });
    assert_eq!(play.asks(), Question::Poll, "the page asks all the same");
    assert_eq!((play.visitor.story().came, play.visitor.story().waited), (None, None), "nobody knows of them");
    let sent = play.now;
    play.hears_standing(told(VisitorState::Waiting, 9));
    assert_eq!(play.visitor.story().came, Some(sent), "they came when the store heard of them");
    play.asks();
    play.hears_standing(told(VisitorState::Admitted, 0));
    assert_eq!(play.asks(), Question::Enter);
    play.hears(Heard::QueuePage { ask_after_ms: 2000, ticket: false });
    assert_eq!(play.asks(), Question::Enter, "who was let in tries again");
    assert!(!play.visitor.story().evicted);
}

#[test]
fn who_closes_the_page_says_so_stays_away_and_comes_back() {
    let habits = Habits { close: 1.0, beacon: 1.0, come_back: 1.0, patience: 0.5, ..steadfast() };
    let mut play = Play::of(habits);
    play.asks();
    play.hears(Heard::QueuePage { ask_after_ms: 20_000, ticket: true });
    assert_eq!(play.asks(), Question::Away);
    play.hears(Heard::Done);
    let closed = play.now;
    assert_eq!(play.asks(), Question::Enter);
    assert!(play.now.since(closed) >= 1.0);
    assert!(!play.visitor.story().stayed(), "others may go first meanwhile");
}

#[test]
fn who_floods_asks_at_once_and_who_has_two_tabs_twice_as_often() {
    for (habits, pause) in [
        (Habits { flood: 1.0, flood_every: 0.2, ..steadfast() }, 0.2),
        (Habits { second_tab: 1.0, ..steadfast() }, 2.5),
        (steadfast(), 5.0),
    ] {
        let mut play = Play::of(habits);
        play.asks();
        play.hears(Heard::QueuePage { ask_after_ms: 2000, ticket: true });
        play.asks();
        play.hears_standing(told(VisitorState::Waiting, 9));
        let heard = play.now;
        assert_eq!(play.asks(), Question::Poll);
        assert!((play.now.since(heard) - pause).abs() < 0.01, "{pause}");
    }
}

#[test]
fn who_is_thrown_out_knows_it() {
    let mut play = Play::of(steadfast());
    play.asks();
    play.hears(Heard::Through);
    assert_eq!(play.asks(), Question::Keepalive);
    assert_eq!(play.hears_standing(told(VisitorState::Waiting, 3)), Next::Gone);
    assert!(play.visitor.story().evicted);
}

#[test]
fn a_robot_comes_as_somebody_new_for_ever() {
    let mut play = Play::of(Habits { bots: 1.0, ..steadfast() });
    for _ in 0..5 {
        assert_eq!(play.asks(), Question::Enter);
        assert!(matches!(play.hears(Heard::QueuePage { ask_after_ms: 2000, ticket: true }), Next::Rest(_)));
    }
    assert!(play.visitor.is_endless() && !play.visitor.story().is_person());
}

#[test]
fn a_million_visitors_fit_into_half_a_gigabyte() {
    assert!(size_of::<Visitor>() <= 512, "{} bytes", size_of::<Visitor>());
    assert_eq!(Ask::of(Question::Poll), Ask { question: Question::Poll, older: false });
}

#[test]
fn who_is_let_in_while_polls_are_counted_hears_of_it_at_the_next_one() {
    for (second_tab, first, within) in [(0.0, 5_000, 1_600), (1.0, 2_500, 800)] {
        let mut play = Play::of(Habits { second_tab, ..steadfast() });
        play.asks();
        play.hears(Heard::QueuePage { ask_after_ms: 2000, ticket: true });
        play.asks();
        let stretch = Some(Stretch { until: play.now.after(101.0), questions: 20.0 });
        play.hears(Heard::VisitorStatus(ReportedStatus { stretch, ..told(VisitorState::Waiting, 50) }));
        let told_at = play.now;
        let let_in = |after: f64| {
            let mut visitor = play.visitor.clone();
            assert!(visitor.hurry(told_at.after(after), 1_600, &play.habits));
            (visitor.wakes(), visitor.story().requests)
        };
        assert_eq!(let_in(1.0), (told_at.after_ms(first), 2), "the first of them");
        let tabs = play.visitor.story().requests / 20;
        assert_eq!(let_in(50.0), (told_at.after(50.0).after_ms(within), 2 + 10 * tabs - 1), "the tenth of each tab");
    }
}
