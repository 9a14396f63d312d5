//! Plans: what they foretell is what a rehearsal shows.

use serde_json::Value;
use vestibule_core::line::{LineRules, Mode};
use vestibule_rehearsal::cost::CAVEAT;
use vestibule_rehearsal::plan::plan;
use vestibule_rehearsal::report::{Report, Scene};
use vestibule_rehearsal::{Arrivals, Crowd, Habits, Observation, Shopping, account_of};

use super::line::{Served, run};
use super::{assert_held, rehearse, value};

fn rules(quota: u64) -> LineRules {
    LineRules {
        mode: Mode::Open,
        quota,
        admissions_per_minute: None,
        waiting_ttl: 60,
        active_ttl: 600,
        claim_ttl: 30,
        hold_ttl: 600,
        max_session: None,
        credential_ttl: 2,
        epoch: 1,
        revision: 1,
    }
}

fn planned(crowd: &Crowd, quota: u64) -> Report {
    let planned = plan(crowd.clone(), &rules(quota));
    assert!(planned.over);
    let account =
        account_of(&planned.stories, &planned.tally, Some(quota), planned.lasted, true, &Observation::default());
    let scene = Scene::of("plan", String::new(), crowd, Some(quota), planned.lasted, "");
    Report::new(scene, &account, &planned.stories, &planned.tally, &[])
}

/// How far apart plan and rehearsal may be: a share of the rehearsal's figure.
const BOUNDS: [(&str, f64); 6] = [
    ("wait_p50", 0.15),
    ("wait_p90", 0.15),
    ("wait_longest", 0.15),
    ("requests", 0.15),
    ("requests_per_visitor_minute", 0.15),
    ("most_inside", 0.10),
];

/// Enough people that chance evens out, and who wait for long enough that the two seconds between two polls are less than a
/// tenth of it: by seed, the median of a plan strays by a fiftieth.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_foretells_what_a_rehearsal_shows() {
    let (visitors, quota) = (480, 70);
    let served = Served::with(quota).await;
    let habits = Habits { second_tab: 0.1, ..Habits::steadfast(Shopping::Uniform(2.0, 6.0)) };
    let crowd = Crowd { visitors, arrivals: Arrivals::Burst(5.0), habits, seed: 3 };
    let foretold = planned(&crowd, quota);
    let shown = rehearse(crowd, &served.address, "shop.example.com", "default", quota, Vec::new()).await;
    assert_held(&foretold);
    assert_held(&shown);
    for (figure, bound) in BOUNDS {
        let (one, other) = (value(&foretold, figure), value(&shown, figure));
        println!("{figure}: {one} foretold, {other} shown");
        assert!((one - other).abs() <= bound * other, "{figure}: {one} foretold, {other} shown");
    }
}

#[test]
fn a_plan_of_a_crowd_with_all_habits_keeps_the_rules() {
    let mut habits = super::mixed(0).habits;
    (habits.shopping, habits.patience, habits.awake, habits.asleep) = (Shopping::LogNormal(20.0), 60.0, 100.0, 300.0);
    let crowd = Crowd { visitors: 2_000, arrivals: Arrivals::Ramp(300.0), habits, seed: 5 };
    let report = planned(&crowd, 20);
    assert_held(&report);
    assert!(value(&report, "use_of_places") > 0.5, "{}", report.to_text());
    let again = planned(&crowd, 20);
    assert_eq!(report.to_json(), again.to_json(), "the same seed is the same plan");
}

#[test]
fn who_falls_asleep_when_it_is_their_turn_keeps_the_place_in_a_plan() {
    let habits = Habits { sleep: 1.0, awake: 20.0, asleep: 120.0, ..Habits::steadfast(Shopping::Exponential(20.0)) };
    let report = planned(&Crowd { visitors: 2_000, arrivals: Arrivals::Burst(60.0), habits, seed: 5 }, 20);
    assert_held(&report);
    let last = report.scene.seconds;
    assert!(last > 1_200.0, "tickets from the beginning are too old by then: {last}");
}

#[test]
fn a_larger_quota_is_a_shorter_wait() {
    let habits = Habits::steadfast(Shopping::Exponential(60.0));
    let crowd = Crowd { visitors: 3_000, arrivals: Arrivals::Burst(60.0), habits, seed: 5 };
    let wait = |quota| {
        let planned = plan(crowd.clone(), &rules(quota));
        let account =
            account_of(&planned.stories, &planned.tally, Some(quota), planned.lasted, true, &Observation::default());
        account.figures.value("wait_p90").unwrap()
    };
    let (narrow, wide) = (wait(50), wait(200));
    // Nine of ten of 3000 come out of 50 places of some 62 seconds each.
    let expected = (0.9 * 3_000.0 / 50.0 - 1.0) * 62.5;
    assert!((narrow / expected - 1.0).abs() < 0.1, "{narrow} and {expected}");
    assert!((narrow / wide - 4.0).abs() < 0.5, "{narrow} and {wide}");
}

#[tokio::test]
async fn quotas_are_compared_on_a_page() {
    let (status, said, program) = run(&[
        "plan",
        "--visitors",
        "1000",
        "--arrivals",
        "burst:30",
        "--shopping",
        "exponential:30",
        "--quota",
        "50,100,200",
        "--json",
        "plans.json",
        "--html",
        "plans.html",
    ])
    .await;
    assert_eq!(status, 0, "{said}");
    let plans: Value = serde_json::from_slice(&std::fs::read(program.folder().join("plans.json")).unwrap()).unwrap();
    let quotas: Vec<u64> =
        plans["plans"].as_array().unwrap().iter().map(|plan| plan["scene"]["quota"].as_u64().unwrap()).collect();
    assert_eq!(quotas, [50, 100, 200]);
    for plan in plans["plans"].as_array().unwrap() {
        let verdicts = plan["verdicts"].as_array().unwrap();
        let figure = |name: &str| verdicts.iter().find(|verdict| verdict["name"] == name).unwrap();
        let value = |name: &str| figure(name)["value"].as_f64().unwrap();
        let rate = value("requests_per_second_most");
        assert_eq!(value("lambda_concurrency") as u64, (rate / 10.0).ceil() as u64, "{rate} requests a second");
        assert!(figure("cost")["title"].as_str().unwrap().contains(CAVEAT), "{}", figure("cost"));
        assert_eq!(plan["cost"]["prices"], CAVEAT);
    }
    let page = std::fs::read_to_string(program.folder().join("plans.html")).unwrap();
    assert!(page.contains(CAVEAT) && said.contains(CAVEAT), "the caveat stands beside the costs: {said}");
    assert!(page.contains("Wait by arrival, by quota") && !page.contains("<script"));
    assert!(said.contains("median wait"), "{said}");
}
