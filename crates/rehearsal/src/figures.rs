//! The figures of what was played.

use crate::cost::{Bill, Deployed, Load, Sheet};
use crate::histogram::Histogram;
use crate::moment::Moment;
use crate::observe::Observation;
use crate::tally::Tally;
use crate::verdict::{Crowding, Figures, Promises, crowding_of, order_of, promises_of};
use crate::visitor::Story;

/// Bytes that a visitor takes in Redis, where nobody measured it: docs/internals/benchmarks.md.
const STORE_BYTES: f64 = 257.5;

/// All that is known of a crowd that was played.
#[derive(Debug)]
pub struct Account {
    /// The figures.
    pub figures: Figures,
    /// The places.
    pub crowding: Crowding,
    /// Promises, the first ones and the later ones.
    pub promises: [Option<Promises>; 2],
    /// What it costs.
    pub bill: Bill,
    /// What was asked of a deployment.
    pub load: Load,
    /// How long answers took.
    pub latency: Histogram,
}

/// Takes the account. `over` says that everybody is gone, so that who is not in by now never will be.
#[must_use]
pub fn account_of(
    stories: &[Story],
    tally: &Tally,
    quota: Option<u64>,
    lasted: Moment,
    over: bool,
    observed: &Observation,
) -> Account {
    let crowding = crowding_of(stories, quota, lasted);
    let mut figures = Figures::default();
    let people = || stories.iter().filter(|story| story.is_person());
    figures.note("visitors", Some(people().filter(|story| story.joined.is_some()).count() as f64));
    note_places(&mut figures, &crowding, quota);
    note_fairness(&mut figures, stories, over);
    note_waits(&mut figures, stories);
    let promises =
        [promises_of(stories, |story| story.first_promise), promises_of(stories, |story| story.later_promise)];
    figures.note("promise_kept", promises[0].map(|promises| promises.kept));
    figures.note("promise_inside", promises[0].map(|promises| promises.inside));
    figures.note("promise_bias", promises[0].map(|promises| promises.bias));
    figures.note("later_promise_kept", promises[1].map(|promises| promises.kept));
    figures.note("later_promise_bias", promises[1].map(|promises| promises.bias));
    let latency = tally.latency_of_all();
    note_requests(&mut figures, tally, &latency);
    let minutes: f64 = people().map(|story| minutes_of(story, lasted)).sum();
    let asked: f64 = people().map(|story| f64::from(story.requests)).sum();
    figures.note("requests_per_visitor_minute", (minutes > 0.0).then(|| asked / minutes));
    note_store(&mut figures, tally, observed, &crowding);
    let (bill, load) = cost_of(tally, minutes, &figures, &crowding, lasted);
    figures.note("cost", Some(bill.sum()));
    Account { figures, crowding, promises, bill, load, latency }
}

fn note_places(figures: &mut Figures, crowding: &Crowding, quota: Option<u64>) {
    figures.note("most_inside", Some(crowding.most_inside as f64));
    figures.note("overshoot", quota.map(|quota| crowding.most_inside.saturating_sub(quota) as f64));
    figures.note("use_of_places", crowding.used);
    figures.note("refill_p50_ms", crowding.refill.quantile_ms(0.5));
    figures.note("refill_p99_ms", crowding.refill.quantile_ms(0.99));
}

fn note_fairness(figures: &mut Figures, stories: &[Story], over: bool) {
    let order = order_of(stories);
    figures.note("tau", order.tau());
    figures.note("overtaking_seconds", (order.judged > 1).then_some(order.worst_seconds));
    let people = || stories.iter().filter(|story| story.is_person());
    let lost: u64 = people().map(|story| u64::from(story.losses)).sum();
    figures.note("places_lost", Some(lost as f64));
    figures.note("evicted", Some(people().filter(|story| story.evicted).count() as f64));
    let never_in = people().filter(|story| story.stayed() && story.admitted.is_none()).count() as f64;
    figures.note("never_in", over.then_some(never_in));
}

fn note_waits(figures: &mut Figures, stories: &[Story]) {
    let mut waits: Vec<f64> = stories.iter().filter(|story| story.stayed()).filter_map(Story::wait).collect();
    waits.sort_by(f64::total_cmp);
    let quantile =
        |share: f64| waits.get(((waits.len() as f64 * share) as usize).min(waits.len().saturating_sub(1))).copied();
    figures.note("wait_p50", quantile(0.5));
    figures.note("wait_p90", quantile(0.9));
    figures.note("wait_longest", waits.last().copied());
}

fn note_requests(figures: &mut Figures, tally: &Tally, latency: &Histogram) {
    figures.note("latency_p50_ms", latency.quantile_ms(0.5));
    figures.note("latency_p99_ms", latency.quantile_ms(0.99));
    figures.note("lateness_p99_ms", tally.lateness.quantile_ms(0.99));
    figures.note("requests", Some(tally.requests));
    let most = tally.seconds.iter().map(|second| second.requests).fold(0.0, f32::max);
    figures.note("requests_per_second_most", Some(f64::from(most)));
    figures.note("lambda_concurrency", Some(Sheet::built_in().concurrency(f64::from(most)) as f64));
    let were_sent = !latency.is_empty() || !tally.failures.is_empty();
    figures.note("failed_share", were_sent.then(|| tally.failed_requests() as f64 / tally.requests.max(1.0)));
    let server_errors: u64 = tally.statuses.range(500..).map(|(_, count)| count).sum();
    figures.note("server_errors", were_sent.then_some(server_errors as f64));
    let bytes = (tally.sent_bytes + tally.heard_bytes) as f64;
    let visitors = figures.value("visitors").unwrap_or(0.0);
    figures.note("bytes_per_visitor", (visitors > 0.0).then(|| bytes / visitors));
}

fn note_store(figures: &mut Figures, tally: &Tally, observed: &Observation, crowding: &Crowding) {
    let commands = observed.store_commands.map(|commands| commands as f64 / tally.requests.max(1.0));
    figures.note("store_commands_per_request", commands);
    let together = crowding.waiting.iter().zip(&crowding.inside).map(|(waiting, inside)| waiting + inside).max();
    let present = observed.present_most.unwrap_or(u64::from(together.unwrap_or(0)));
    let more = observed.store_memory_most.zip(observed.store_memory_before);
    let more = more.map(|(most, before)| most.saturating_sub(before) as f64);
    figures.note("store_bytes_per_visitor", more.filter(|_| present > 0).map(|more| more / present as f64));
}

/// Minutes from the arrival to when they were last heard of.
fn minutes_of(story: &Story, lasted: Moment) -> f64 {
    let Some(came) = story.came else { return 0.0 };
    let last = [story.waited, story.admitted, story.inside_until].into_iter().flatten().max();
    let stays = story.admitted.is_none() && !story.gave_up && !story.turned_away;
    last.map_or(0.0, |last| if stays { lasted } else { last }.since(came)) / 60.0
}

fn cost_of(tally: &Tally, minutes: f64, figures: &Figures, crowding: &Crowding, lasted: Moment) -> (Bill, Load) {
    let sheet = Sheet::built_in();
    let hours = lasted.seconds().max(1.0) / 3600.0;
    let together = crowding.waiting.iter().zip(&crowding.inside).map(|(waiting, inside)| waiting + inside).max();
    let most = f64::from(together.unwrap_or(0));
    let each = figures.value("store_bytes_per_visitor").unwrap_or(STORE_BYTES);
    let load = Load {
        hours,
        visitors: minutes / 60.0 / hours,
        requests: tally.requests,
        bytes_in: tally.sent_bytes as f64,
        bytes_out: tally.heard_bytes as f64,
        node: sheet.node_for(most, each),
    };
    (sheet.bill(&Deployed::TEMPLATE, &load), load)
}
