//! Tests of the factors that influence an estimate.

use vestibule_core::line::{Counters, LimitStats, Mode, Pace, StayCounts, Waits};

use super::*;

fn estimated_seconds(rules: &LineRules, flow: &Flow, now: Micros, position: u64) -> Option<WaitSeconds> {
    estimate_wait(rules, flow, now, position).map(WaitRange::seconds)
}

/// A full queue whose line moved evenly for four windows.
fn steady(quota: u64, admissions: u64, departures: i64) -> (Flow, Micros) {
    let start = Micros(1_000_000_000);
    let now = start.add_seconds(4 * PACE_WINDOW);
    let window = Micros(now.0 - PACE_WINDOW * 1_000_000);
    let (current, previous, departures_before) = (admissions, admissions, departures);
    // Every slot is held all the time.
    let short_ms = quota * PACE_WINDOW * 1000;
    let expires = short_ms >= admissions * 600_000;
    let stays = if expires {
        StayCounts { long: admissions, ..StayCounts::default() }
    } else {
        StayCounts { short: admissions, short_ms, ..StayCounts::default() }
    };
    let pace =
        Pace { since: start, window, current, previous, departures, departures_before, stays, stays_before: stays };
    (Flow { waiting: 1000, active: quota, pace }, now)
}

/// A hundred slots that were taken `age` seconds ago, of which `short` became free after `seconds`
/// on average.
fn young(age: u64, short: u64, seconds: u64) -> (Flow, Micros) {
    let since = Micros(1_000_000_000);
    let stays = StayCounts { short, short_ms: short * seconds * 1000, ..StayCounts::default() };
    let pace = Pace { since, window: since, current: short, stays, ..Pace::default() };
    (Flow { waiting: 1000, active: 100, pace }, since.add_seconds(age))
}

#[test]
fn estimate_without_history_uses_quota_and_active_ttl() {
    let full = Flow { waiting: 600, active: 600, pace: Pace::default() };
    let wait = estimated_seconds(&LineRules::with_quota(600), &full, Micros(0), 600).unwrap();
    assert!((250..=600).contains(&wait.p50), "{wait:?}");
    assert!(wait.p90 > 2 * wait.p50 && wait.p90 < 5 * wait.p50, "{wait:?}");
    assert_eq!(estimated_seconds(&LineRules::with_quota(0), &full, Micros(0), 1), None);
    let shorter = LineRules { max_session: Some(300), ..LineRules::with_quota(600) };
    assert!(
        estimated_seconds(&shorter, &full, Micros(0), 600).unwrap().p50 * 3 < wait.p50 * 2,
        "no slot is held for longer"
    );
}

#[test]
fn no_estimate_while_admissions_are_stopped() {
    let (flow, now) = steady(600, 300, 0);
    for (mode, is_shown) in [(Mode::Open, true), (Mode::Draining, true), (Mode::Paused, false), (Mode::Closed, false)] {
        let rules = LineRules { mode, ..LineRules::with_quota(600) };
        assert_eq!(estimated_seconds(&rules, &flow, now, 1).is_some(), is_shown, "{mode:?}");
    }
}

#[test]
fn estimate_follows_the_recent_admission_rate() {
    let (flow, now) = steady(600, 5 * PACE_WINDOW, 0);
    let wait = estimated_seconds(&LineRules::with_quota(600), &flow, now, 1500).unwrap();
    assert!((285..=315).contains(&wait.p50), "{wait:?}");
    assert!((310..=350).contains(&wait.p90), "{wait:?}");
}

#[test]
fn abandonment_shortens_the_wait() {
    let wait = |departures: i64, position: u64| {
        let (flow, now) = steady(600, PACE_WINDOW, departures);
        estimated_seconds(&LineRules::with_quota(600), &flow, now, position).unwrap()
    };
    let (patient, impatient) = (wait(0, 1000), wait(300, 1000));
    assert!(impatient.p50 < patient.p50 * 4 / 5, "{impatient:?} {patient:?}");
    assert!(wait(300, 3).p50.abs_diff(wait(0, 3).p50) <= 1, "hardly anybody leaves ahead of the third");
}

#[test]
fn free_slots_fill_at_the_configured_rate() {
    let rules = LineRules { admissions_per_minute: Some(30), ..LineRules::with_quota(50) };
    let at = |active: u64, position: u64| {
        let flow = Flow { waiting: 25, active, pace: Pace::default() };
        estimated_seconds(&rules, &flow, Micros(0), position).unwrap().p50
    };
    assert!((27..=30).contains(&at(0, 14)), "14 slots at 2 seconds: {}", at(0, 14));
    assert!(at(45, 14) > 2 * at(0, 14), "after five, others have to leave first: {}", at(45, 14));
}

#[test]
fn limiting_rate_gives_a_narrow_range() {
    let rules = LineRules { admissions_per_minute: Some(60), ..LineRules::with_quota(600) };
    let (flow, now) = steady(100, PACE_WINDOW, 0);
    let wait = estimated_seconds(&rules, &flow, now, 600).unwrap();
    assert!(wait.p50.abs_diff(600) <= 2 && wait.p90 <= 606, "{wait:?}");
    let fast = Flow { pace: Pace { current: 9000, previous: 9000, ..flow.pace }, ..flow };
    assert!(estimated_seconds(&rules, &fast, now, 600).unwrap().p50 >= 600, "a release is no pace to count on");
}

#[test]
fn steps_add_half_a_step() {
    let even = LineRules { admissions_per_minute: Some(60), ..LineRules::with_quota(600) };
    let (flow, now) = steady(100, PACE_WINDOW, 0);
    let wait = |rules: &LineRules, flow: &Flow| estimated_seconds(rules, flow, now, 600).unwrap();
    for every in [1, 60, 150, 600] {
        let stepped = LineRules { admissions_every: Some(every), ..even.clone() };
        let (without, with) = (wait(&even, &flow), wait(&stepped, &flow));
        assert!(with.p50.abs_diff(without.p50 + every / 2) <= 3, "{every}: {with:?} {without:?}");
        let p90 = without.p90 + every * 9 / 10;
        assert!(with.p90.abs_diff(p90) <= p90 / 20, "{every}: {with:?} {without:?}");
    }
    let between = Flow { pace: Pace { current: 0, previous: 0, ..flow.pace }, ..flow };
    let stepped = LineRules { admissions_every: Some(600), ..even };
    assert_eq!(wait(&stepped, &between), wait(&stepped, &flow), "no step was in the window");
}

#[test]
fn time_between_steps_is_not_a_slow_rate() {
    let rules = LineRules { admissions_per_minute: Some(60), admissions_every: Some(60), ..LineRules::with_quota(600) };
    let step = Micros(6_000_000_000);
    let flow = Flow { waiting: 211, active: 100, pace: Pace { since: step, window: step, ..Pace::default() } };
    for seconds in [0, 20, 59] {
        let wait = estimated_seconds(&rules, &flow, step.add_seconds(seconds), 211).unwrap();
        assert!((200..=280).contains(&wait.p50), "{seconds}: {wait:?}");
    }
}

#[test]
fn newcomers_wait_unless_a_slot_is_free_and_paid_for() {
    let empty = Flow { waiting: 0, active: 50, pace: Pace::default() };
    let limited = LineRules { admissions_per_minute: Some(1), ..LineRules::with_quota(100) };
    let stats = stats_of(limited, empty, Micros(1_000_000_000));
    let is_zero = |stats: &Stats| newcomer_wait(stats) == Some(WaitSeconds { p50: 0, p90: 0 });
    assert!(is_zero(&Stats { paid_admissions: Some(1), ..stats.clone() }), "the same request would be admitted");
    assert!(!is_zero(&Stats { paid_admissions: Some(0), ..stats.clone() }));
    let unlimited = stats_of(LineRules::with_quota(100), empty, stats.now);
    assert!(is_zero(&Stats { reserved: 49, ..unlimited.clone() }));
    assert!(!is_zero(&Stats { reserved: 50, ..unlimited.clone() }), "the other slots are reserved");
    assert_eq!(newcomer_wait(&Stats { recovering: true, ..unlimited }), None, "nobody is admitted for now");
}

#[test]
fn excess_above_a_lowered_quota_ends_first() {
    let (full, now) = steady(100, PACE_WINDOW, 0);
    let above = Flow { active: 150, ..full };
    let wait = |flow: &Flow, position| estimated_seconds(&LineRules::with_quota(100), flow, now, position).unwrap();
    assert!(
        wait(&above, 10).p50.abs_diff(wait(&full, 50).p50) <= 5,
        "the excess ends faster than half of the quota would"
    );
    assert!(wait(&above, 10).p50 > wait(&full, 40).p50);
}

#[test]
fn silent_share_is_estimated_before_the_first_expiry() {
    // In 200 seconds, 86 of 100 slots become free. If all visitors leave, the mean stay is 220
    // seconds, and the ended stays are the shorter ones. If the mean stay is 50 seconds, half of
    // the admitted visitors are silent.
    let wait = |(flow, now): (Flow, Micros), position| {
        estimated_seconds(&LineRules::with_quota(100), &flow, now, position).unwrap()
    };
    let (all_leave, half_do) = (young(200, 86, 85), young(200, 86, 48));
    assert!(wait(half_do, 20).p50 > 2 * wait(all_leave, 20).p50, "few are left to leave");
    assert!(wait(half_do, 300).p50 > wait(all_leave, 300).p50 * 5 / 4);
    assert!((1.0..1.6).contains(&(wait(half_do, 300).p50 as f64 / (300.0 * 3.5))), "350 seconds a slot in the mean");
}

#[test]
fn short_visits_are_no_silent_visitors() {
    // Everybody leaves after twelve seconds, so that four slots admit 57 visitors in 172 seconds.
    let (flow, now) = young(172, 57, 12);
    let wait = |flow, position| estimated_seconds(&LineRules::with_quota(4), flow, now, position).unwrap();
    let flow = Flow { waiting: 62, active: 4, ..flow };
    assert!((170..300).contains(&wait(&flow, 62).p50), "about 190 at this pace: {:?}", wait(&flow, 62));
    assert!(wait(&flow, 62).p90 < 500, "{:?}", wait(&flow, 62));
}

#[test]
fn wait_increases_with_position_around_first_expiry() {
    for (age, short, seconds) in [(0, 0, 0), (5, 0, 0), (60, 10, 40), (200, 86, 48), (590, 100, 50), (610, 0, 0)] {
        let (flow, now) = young(age, short, seconds);
        let mut last = 0;
        for position in 1..=1000 {
            let wait = estimate_wait(&LineRules::with_quota(100), &flow, now, position).unwrap();
            assert!(wait.p50_ms >= last && wait.p90_ms >= wait.p50_ms, "{age} {position}: {wait:?}");
            last = wait.p50_ms;
        }
    }
}

#[test]
fn slots_expire_if_no_session_ends() {
    let wait = |age, position| {
        let (flow, now) = young(age, 0, 0);
        estimated_seconds(&LineRules::with_quota(100), &flow, now, position).unwrap()
    };
    for age in [60, 300, 590, 620] {
        assert!((600 - age.min(600)..1500).contains(&wait(age, 100).p50), "{age}: {:?}", wait(age, 100));
    }
    let (flow, now) = steady(100, 50, 0);
    assert!(
        (560..640).contains(&estimated_seconds(&LineRules::with_quota(100), &flow, now, 100).unwrap().p50),
        "every slot expires in turn"
    );
}

#[test]
fn many_slots_do_not_imply_certainty() {
    let (flow, now) = steady(20_000, 100 * PACE_WINDOW, 0);
    let wait = estimated_seconds(&LineRules::with_quota(20_000), &flow, now, 50_000).unwrap();
    assert!(wait.p90 * 100 > wait.p50 * 105, "{wait:?}: the pace strays, however many are counted");
}

#[test]
fn estimate_is_finite_up_to_position_one_million() {
    let (flow, now) = steady(30_000, 50 * PACE_WINDOW, 0);
    let mut last = 0;
    for position in [1, 2, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000] {
        let wait = estimated_seconds(&LineRules::with_quota(30_000), &flow, now, position).unwrap();
        assert!(wait.p50 >= last && wait.p90 >= wait.p50, "{position}: {wait:?}");
        assert!(wait.p50.abs_diff(position / 50) <= position / 500 + 1, "{position}: {wait:?}");
        last = wait.p50;
    }
}

/// The statistics of an open queue with this flow.
fn stats_of(rules: LineRules, flow: Flow, now: Micros) -> Stats {
    Stats {
        now,
        mode: rules.mode,
        phase: None,
        rules,
        state_since: Micros(1),
        recovering: false,
        reserved: 0,
        paid_admissions: None,
        waiting: flow.waiting,
        active: flow.active,
        oldest_arrival: None,
        lobby_tickets: 0,
        pace: flow.pace,
        counters: Counters::default(),
        waits: Waits::default(),
        limits: LimitStats::default(),
        attack_mode_until: None,
    }
}

#[test]
fn larger_quota_admits_at_once_and_shortens_the_rest() {
    let (flow, now) = steady(100, PACE_WINDOW, 0);
    let stats = stats_of(LineRules::with_quota(100), flow, now);
    let same = quota_forecast(&stats, stats.waiting, 100);
    let expected = estimated_seconds(&stats.rules, &flow, now, 1000);
    assert_eq!(same, QuotaForecast { admitted_now: 0, last_wait: expected });
    let wait = |quota| quota_forecast(&stats, stats.waiting, quota).last_wait.unwrap().p50;
    let double = quota_forecast(&stats, stats.waiting, 200);
    assert_eq!(double.admitted_now, 100);
    assert!((400..=500).contains(&wait(200)), "900 at twice the pace: {double:?}");
    assert!(wait(50) > 19 * wait(100) / 10, "half of the pace: {}", wait(50));
    assert_eq!(
        quota_forecast(&stats, stats.waiting, 1100),
        QuotaForecast { admitted_now: 1000, last_wait: Some(WaitSeconds { p50: 0, p90: 0 }) }
    );
    assert_eq!(quota_forecast(&stats, stats.waiting, 0), QuotaForecast { admitted_now: 0, last_wait: None });
}

#[test]
fn forecast_keeps_the_rate_and_presumes_an_open_queue() {
    let (flow, now) = steady(100, PACE_WINDOW, 0);
    let limited = LineRules { admissions_per_minute: Some(60), ..LineRules::with_quota(100) };
    let forecast = quota_forecast(&stats_of(limited, flow, now), flow.waiting, 10_000);
    assert_eq!(forecast.admitted_now, 0);
    assert!(forecast.last_wait.unwrap().p50.abs_diff(1000) <= 3, "{forecast:?}");
    let paused = LineRules { mode: Mode::Paused, ..LineRules::with_quota(100) };
    let open = quota_forecast(&stats_of(LineRules::with_quota(100), flow, now), flow.waiting, 150);
    assert_eq!(quota_forecast(&stats_of(paused, flow, now), flow.waiting, 150), open);
}
