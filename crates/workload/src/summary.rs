//! The figures of a run.

use crate::checks::{Concurrency, EstimateAccuracy, Figures, check_order, estimate_accuracy, measure_concurrency};
use crate::histogram::Histogram;
use crate::observe::Observation;
use crate::request_stats::RequestStats;
use crate::sim_time::SimTime;
use crate::visitor::VisitorTrace;

/// All that was measured in a run.
#[derive(Debug)]
pub struct RunSummary {
    /// The figures.
    pub figures: Figures,
    /// Active and waiting visitors.
    pub concurrency: Concurrency,
    /// Accuracy of the first and the later estimates.
    pub accuracy: [Option<EstimateAccuracy>; 2],
    /// Minutes that all visitors spent in line or active.
    pub visitor_minutes: f64,
    /// Latency of all requests.
    pub latency: Histogram,
}

/// Computes the figures. `completed` means that all visitors have left, so that those without an admission never get one. If
/// nobody was admitted at all, the others count as never admitted in any case, and if nobody could join, so does everybody.
pub fn summarize(
    traces: &[VisitorTrace],
    request_stats: &RequestStats,
    quota: Option<u64>,
    duration: SimTime,
    completed: bool,
    observed: &Observation,
) -> RunSummary {
    let concurrency = measure_concurrency(traces, quota, duration);
    let mut figures = Figures::default();
    let people = || traces.iter().filter(|trace| trace.is_person());
    figures.add("visitors", Some(people().filter(|trace| trace.joined.is_some()).count() as f64));
    add_concurrency(&mut figures, &concurrency, quota);
    add_fairness(&mut figures, traces, completed);
    add_waits(&mut figures, traces);
    let first = estimate_accuracy(traces, |trace| trace.first_estimate);
    let later = estimate_accuracy(traces, |trace| trace.later_estimate);
    figures.add("estimate_p90_coverage", first.map(|accuracy| accuracy.p90_coverage));
    figures.add("estimate_range_coverage", first.map(|accuracy| accuracy.range_coverage));
    figures.add("estimate_bias", first.map(|accuracy| accuracy.bias));
    figures.add("later_estimate_p90_coverage", later.map(|accuracy| accuracy.p90_coverage));
    figures.add("later_estimate_bias", later.map(|accuracy| accuracy.bias));
    let latency = request_stats.total_latency();
    add_requests(&mut figures, request_stats, &latency);
    add_streams(&mut figures, request_stats, traces);
    let visitor_minutes: f64 = people().map(|trace| minutes(trace, duration)).sum();
    let requests: f64 = people().map(|trace| f64::from(trace.requests)).sum();
    figures.add("requests_per_visitor_minute", (visitor_minutes > 0.0).then(|| requests / visitor_minutes));
    add_store(&mut figures, request_stats, observed, &concurrency);
    RunSummary { figures, concurrency, accuracy: [first, later], visitor_minutes, latency }
}

fn add_concurrency(figures: &mut Figures, concurrency: &Concurrency, quota: Option<u64>) {
    figures.add("peak_active", Some(concurrency.peak_active as f64));
    figures.add("over_admission", quota.map(|quota| concurrency.peak_active.saturating_sub(quota) as f64));
    figures.add("utilization", concurrency.utilization);
    figures.add("refill_p50_ms", concurrency.refill.quantile_ms(0.5));
    figures.add("refill_p99_ms", concurrency.refill.quantile_ms(0.99));
}

fn add_fairness(figures: &mut Figures, traces: &[VisitorTrace], completed: bool) {
    let order = check_order(traces);
    figures.add("tau", order.tau());
    figures.add("worst_inversion_seconds", (order.compared > 1).then_some(order.worst_seconds));
    let people = || traces.iter().filter(|trace| trace.is_person());
    let lost: u64 = people().map(|trace| u64::from(trace.position_losses)).sum();
    figures.add("positions_lost", Some(lost as f64));
    figures.add("evicted", Some(people().filter(|trace| trace.evicted).count() as f64));
    let never = people().filter(|trace| trace.stayed_present() && trace.admitted.is_none()).count() as f64;
    // Where nobody could join, nobody was present either.
    let is_barred = people().all(|trace| trace.joined.is_none() && trace.admitted.is_none());
    let never_joined = people().filter(|trace| trace.requests > 0).count() as f64;
    let drawn = people().filter(|trace| trace.number.is_some()).count() as f64;
    figures.add("drawn_visitors", Some(drawn).filter(|drawn| *drawn > 0.0));
    let is_final = completed || people().all(|trace| trace.admitted.is_none());
    figures.add("never_admitted", is_final.then_some(if is_barred { never_joined } else { never }));
    figures.add("still_waiting", (!completed).then_some(never));
    figures.add("visitors_rejected", Some(people().filter(|trace| trace.was_limited).count() as f64));
}

fn add_waits(figures: &mut Figures, traces: &[VisitorTrace]) {
    let mut waits: Vec<f64> =
        traces.iter().filter(|trace| trace.stayed_present()).filter_map(VisitorTrace::wait).collect();
    waits.sort_by(f64::total_cmp);
    let quantile =
        |share: f64| waits.get(((waits.len() as f64 * share) as usize).min(waits.len().saturating_sub(1))).copied();
    figures.add("wait_p50", quantile(0.5));
    figures.add("wait_p90", quantile(0.9));
    figures.add("wait_longest", waits.last().copied());
}

fn add_requests(figures: &mut Figures, stats: &RequestStats, latency: &Histogram) {
    figures.add("latency_p50_ms", latency.quantile_ms(0.5));
    figures.add("latency_p99_ms", latency.quantile_ms(0.99));
    figures.add("send_delay_p99_ms", stats.send_delay.quantile_ms(0.99));
    figures.add("requests", Some(stats.requests));
    let peak = stats.seconds.iter().map(|second| second.requests).fold(0.0, f32::max);
    figures.add("peak_requests_per_second", Some(f64::from(peak)));
    let were_sent = !latency.is_empty() || !stats.failures.is_empty();
    figures.add("failed_share", were_sent.then(|| stats.failed_requests() as f64 / stats.requests.max(1.0)));
    let server_errors: u64 = stats.statuses.range(500..).map(|(_, count)| count).sum();
    figures.add("server_errors", were_sent.then_some(server_errors as f64));
    let bytes = (stats.sent_bytes + stats.received_bytes) as f64;
    let visitors = figures.value("visitors").unwrap_or(0.0);
    figures.add("bytes_per_visitor", (visitors > 0.0).then(|| bytes / visitors));
}

fn add_streams(figures: &mut Figures, stats: &RequestStats, traces: &[VisitorTrace]) {
    let gave_up = traces.iter().filter(|trace| trace.gave_up_streams).count();
    if !stats.streams.were_used() && gave_up == 0 {
        return;
    }
    let streams = &stats.streams;
    figures.add("streams_peak", Some(f64::from(streams.peak_open)));
    figures.add("stream_updates", Some(streams.updates as f64));
    figures.add("streams_opened", stats.streams.were_used().then_some(streams.opened as f64));
    figures.add("streams_given_up", Some(gave_up as f64));
    figures.add("stream_lag_p50_ms", streams.turn_lag.quantile_ms(0.5));
    figures.add("stream_lag_p99_ms", streams.turn_lag.quantile_ms(0.99));
    figures.add("stream_reconnect_p50_ms", streams.reconnect.quantile_ms(0.5));
    figures.add("stream_reconnect_p99_ms", streams.reconnect.quantile_ms(0.99));
    let peak = stats.seconds.iter().map(|second| second.reconnects).max();
    figures.add("stream_reconnects_peak", peak.filter(|_| streams.reopened > 0).map(f64::from));
}

fn add_store(figures: &mut Figures, stats: &RequestStats, observed: &Observation, concurrency: &Concurrency) {
    let commands = observed.store_commands.map(|commands| commands as f64 / stats.requests.max(1.0));
    figures.add("store_commands_per_request", commands);
    let present = observed.present_peak.unwrap_or(concurrency.peak_present());
    let growth = observed.store_memory_peak.zip(observed.store_memory_before);
    let growth = growth.map(|(peak, before)| peak.saturating_sub(before) as f64);
    figures.add("store_bytes_per_visitor", growth.filter(|_| present > 0).map(|growth| growth / present as f64));
}

/// Minutes from the arrival to the last response.
fn minutes(trace: &VisitorTrace, duration: SimTime) -> f64 {
    let Some(arrived) = trace.arrived else { return 0.0 };
    let last = [trace.last_waiting, trace.admitted, trace.active_until].into_iter().flatten().max();
    let still_waiting = trace.admitted.is_none() && !trace.gave_up && !trace.rejected;
    last.map_or(0.0, |last| if still_waiting { duration } else { last }.since(arrived)) / 60.0
}
