//! Runs a workload against a gate over HTTP, in real time.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use crate::faults::{COMMAND_GRACE, Fault, InjectedFault, inject_faults};
use crate::hostile::forged_cookies;
use crate::http::{CookieJar, Exchange, Job, Received, RequestPool, StreamMessage, Target, TargetCheckError};
use crate::observe::{Observation, Observer};
use crate::request_stats::RequestStats;
use crate::sim_time::SimTime;
use crate::visitor::{Event, GateResponse, PlannedRequest, RequestKind, VisitorTrace};
use crate::visitor_kind::VisitorKind;
use crate::visitors::VirtualVisitors;
use crate::workload::Workload;

/// Resolution of the timers.
const TICK: Duration = Duration::from_millis(10);
/// Time after which the progress says that a command is still running.
const SHOWN_AFTER: Duration = Duration::from_millis(500);

/// A load test of a gate.
pub struct LoadTest {
    /// The virtual visitors.
    pub workload: Workload,
    /// The gate.
    pub target: Target,
    /// Maximum number of requests in progress.
    pub connections: usize,
    /// Maximum duration.
    pub max_duration: Duration,
    /// Maximum number of requests.
    pub max_requests: u64,
    /// Faults to inject during the run.
    pub faults: Vec<Fault>,
    /// What is observed of the store and the gate.
    pub observer: Observer,
}

/// Why a load test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndReason {
    /// All visitors have left.
    Completed,
    /// The maximum duration was reached.
    Duration,
    /// The maximum number of requests was reached.
    Requests,
    /// It was stopped by a signal.
    Stopped,
}

impl EndReason {
    /// The reason, for reports.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Completed => "all visitors have left",
            Self::Duration => "the maximum duration was reached",
            Self::Requests => "the maximum number of requests was reached",
            Self::Stopped => "it was stopped",
        }
    }
}

/// The result of a load test.
pub struct RunResult {
    /// What every visitor experienced.
    pub traces: Vec<VisitorTrace>,
    /// Statistics of the requests.
    pub request_stats: RequestStats,
    /// The duration.
    pub duration: SimTime,
    /// Why it ended.
    pub ended: EndReason,
    /// The faults that were injected.
    pub faults: Vec<InjectedFault>,
    /// What the store and the gate reported.
    pub observed: Observation,
}

/// The progress of a load test, once a second.
#[derive(Debug, Clone)]
pub struct Progress {
    /// Time since the start.
    pub now: SimTime,
    /// Waiting visitors.
    pub waiting: u64,
    /// Active visitors.
    pub active: u64,
    /// Admissions so far.
    pub admitted: u64,
    /// Requests so far.
    pub requests: u64,
    /// Failed requests so far.
    pub failures: u64,
    /// The most frequent cause of failure.
    pub cause: Option<String>,
    /// Whether the test has ended, and waits for the command of a fault for up to 30 seconds.
    pub awaits_fault: bool,
}

impl LoadTest {
    /// Runs until all visitors have left, a limit is reached or `stop` resolves.
    ///
    /// # Errors
    /// The target is not a gate with this queue, or is unreachable.
    pub async fn run(
        self,
        stop: impl Future<Output = ()>,
        mut on_progress: impl FnMut(&Progress),
    ) -> Result<RunResult, TargetCheckError> {
        let started = Instant::now();
        let clients = self.workload.clients() as usize;
        let pool = RequestPool::open(self.target, &self.workload, self.connections, started).await?;
        let cookie_jars = vec![[CookieJar::default(), CookieJar::default()]; clients];
        let (running, until) = watch::channel(());
        let faults = tokio::spawn(inject_faults(self.faults, started, until, COMMAND_GRACE));
        let observation = self.observer.start().await;
        let mut run = Run {
            visitors: VirtualVisitors::new(self.workload),
            pool,
            cookie_jars,
            backlog: VecDeque::new(),
            streams: HashMap::new(),
            request_stats: RequestStats::default(),
        };
        let (ended, duration) = run.run(started, self.max_duration, self.max_requests, stop, &mut on_progress).await;
        drop(running);
        let observed = observation.finish().await;
        let faults = run.finish_faults(faults, duration, &mut on_progress).await;
        let (traces, request_stats) = (run.visitors.into_traces(), run.request_stats);
        Ok(RunResult { traces, request_stats, duration, ended, faults, observed })
    }
}

struct Run {
    visitors: VirtualVisitors,
    pool: RequestPool,
    /// For each visitor, the current cookies and the ones before.
    cookie_jars: Vec<[CookieJar; 2]>,
    /// Due requests that wait for a connection.
    backlog: VecDeque<Job>,
    /// The streams of visitors, those included whose request is in progress.
    streams: HashMap<u32, OpenStream>,
    request_stats: RequestStats,
}

/// The stream of a visitor. Dropping it closes its connection.
struct OpenStream {
    number: u64,
    task: AbortHandle,
    /// Whether it is counted as open.
    is_open: bool,
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Run {
    async fn run(
        &mut self,
        started: Instant,
        max_duration: Duration,
        max_requests: u64,
        stop: impl Future<Output = ()>,
        on_progress: &mut impl FnMut(&Progress),
    ) -> (EndReason, SimTime) {
        let elapsed = || SimTime(started.elapsed().as_millis() as u32);
        let mut stop = std::pin::pin!(stop);
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut received, mut reported) = (Vec::new(), 0);
        loop {
            let now = elapsed();
            self.fire_timers(now);
            self.send();
            if now.second() > reported {
                reported = now.second();
                on_progress(&self.progress(now));
            }
            let ended = match () {
                () if self.visitors.all_departed() => Some(EndReason::Completed),
                () if started.elapsed() >= max_duration => Some(EndReason::Duration),
                () if self.request_stats.requests as u64 >= max_requests => Some(EndReason::Requests),
                () => None,
            };
            if let Some(ended) = ended {
                return (ended, now);
            }
            tokio::select! {
                () = self.pool.receive(&mut received) => {}
                _ = ticks.tick() => {}
                () = &mut stop => return (EndReason::Stopped, elapsed()),
            }
            for received in received.drain(..) {
                match received {
                    Received::Exchange(exchange) => self.on_response(&exchange),
                    Received::Stream { visitor, stream, at, message } => self.on_stream(visitor, stream, at, &message),
                }
            }
        }
    }

    fn fire_timers(&mut self, now: SimTime) {
        while let Some((at, visitor)) = self.visitors.timers.pop_due(now) {
            if self.visitors.is_due(visitor, at) {
                self.step(visitor, now, Event::Timer, at);
            }
        }
    }

    /// Steps a visitor, whose request is due at `due`. Closes the stream of a page that listens no more.
    fn step(&mut self, visitor: u32, now: SimTime, event: Event<'_>, due: SimTime) {
        let request = self.visitors.step(visitor, now, event);
        if !self.visitors.get(visitor).is_listening() {
            self.close_stream(visitor);
        }
        if let Some(request) = request {
            self.enqueue(visitor, request, due);
        }
    }

    fn close_stream(&mut self, visitor: u32) {
        if let Some(closed) = self.streams.remove(&visitor) {
            self.request_stats.streams.open -= u32::from(closed.is_open);
        }
    }

    fn enqueue(&mut self, visitor: u32, request: PlannedRequest, due: SimTime) {
        // A visitor who starts over is a new one for the gate.
        if self.visitors.get(visitor).trace().requests == 1 {
            let replayed = self.visitors.replayed_by(visitor);
            self.cookie_jars[visitor as usize] =
                replayed.map_or_else(Default::default, |first| self.cookie_jars[first as usize].clone());
        }
        let [current, previous] = &self.cookie_jars[visitor as usize];
        let cookies = if request.previous_cookies && !previous.is_empty() { previous } else { current };
        let cookies = match self.visitors.get(visitor).kind() {
            VisitorKind::Bot => CookieJar::default(),
            VisitorKind::Forger => forged_cookies(cookies, self.visitors.get(visitor).trace().requests),
            _ => cookies.clone(),
        };
        self.backlog.push_back(Job { visitor, request, cookies, due });
    }

    fn send(&mut self) {
        while self.pool.has_capacity()
            && let Some(job) = self.backlog.pop_front()
        {
            if job.request.kind == RequestKind::Stream {
                self.open_stream(job);
            } else {
                self.pool.send(job);
            }
        }
    }

    fn open_stream(&mut self, job: Job) {
        let visitor = job.visitor;
        // The page may have closed it before it was opened.
        if self.visitors.get(visitor).is_listening() {
            self.close_stream(visitor);
            let (number, task) = self.pool.open_stream(job);
            self.streams.insert(visitor, OpenStream { number, task, is_open: false });
        }
    }

    fn on_stream(&mut self, visitor: u32, number: u64, at: SimTime, message: &StreamMessage) {
        if self.streams.get(&visitor).is_none_or(|stream| stream.number != number) {
            return;
        }
        match message {
            StreamMessage::Response(exchange) => {
                if exchange.response == GateResponse::Stream {
                    self.record_open(visitor, at);
                }
                self.on_response(exchange);
            }
            StreamMessage::Update(status) => {
                self.request_stats.streams.updates += 1;
                self.step(visitor, at, Event::Update(status), at);
            }
            StreamMessage::End(retry_ms) => {
                self.close_stream(visitor);
                self.step(visitor, at, Event::StreamEnd(*retry_ms), at);
            }
        }
    }

    fn record_open(&mut self, visitor: u32, at: SimTime) {
        if let Some(stream) = self.streams.get_mut(&visitor) {
            stream.is_open = true;
        }
        let stats = &mut self.request_stats.streams;
        (stats.opened, stats.open) = (stats.opened + 1, stats.open + 1);
        stats.peak_open = stats.peak_open.max(stats.open);
        if let Some(ended_at) = self.visitors.get(visitor).stream_ended_at() {
            stats.reopened += 1;
            stats.reconnect.record(u64::from(at.0.saturating_sub(ended_at.0)) * 1000);
            self.request_stats.second(at).reconnects += 1;
        }
    }

    fn on_response(&mut self, exchange: &Exchange) {
        self.record(exchange);
        let visitor = exchange.job.visitor;
        let [current, previous] = &mut self.cookie_jars[visitor as usize];
        if let Some(updated) = current.updated(&exchange.set_cookies) {
            *previous = std::mem::replace(current, updated);
        }
        self.record_turn(exchange);
        self.step(visitor, exchange.received, Event::Response(&exchange.response, exchange.sent), exchange.received);
    }

    /// The first response after a stream has shown the turn says how long the visitor was admitted before, by the store's clock.
    fn record_turn(&mut self, exchange: &Exchange) {
        let trace = self.visitors.get(exchange.job.visitor).trace();
        if let (Some(shown), None, Some(admitted_for_us)) = (trace.turn_shown, trace.admitted, exchange.admitted_for_us)
        {
            let since_us = u64::from(exchange.sent.0.saturating_sub(shown.0)) * 1000;
            self.request_stats.streams.turn_lag.record(admitted_for_us.saturating_sub(since_us));
        }
    }

    fn record(&mut self, exchange: &Exchange) {
        let stats = &mut self.request_stats;
        stats.record_request(exchange.sent);
        stats.sent_bytes += exchange.sent_bytes as u64;
        stats.received_bytes += exchange.received_bytes as u64;
        stats.send_delay.record(u64::from(exchange.sent.0.saturating_sub(exchange.job.due.0)) * 1000);
        if let Some(status) = exchange.status {
            let kind = exchange.job.request.kind;
            stats.record_response(exchange.received, kind, status.as_u16(), exchange.latency_us);
        }
        if let Some(failure) = &exchange.failure {
            stats.record_failure(exchange.received, failure);
        }
        if let Some(active) = exchange.reported_active {
            let second = stats.second(exchange.received);
            second.reported_active = second.reported_active.max(Some(active));
        }
    }

    /// Waits for the command of a fault that is still running.
    async fn finish_faults(
        &self,
        mut faults: JoinHandle<Vec<InjectedFault>>,
        now: SimTime,
        on_progress: &mut impl FnMut(&Progress),
    ) -> Vec<InjectedFault> {
        if let Ok(finished) = timeout(SHOWN_AFTER, &mut faults).await {
            return finished.unwrap_or_default();
        }
        on_progress(&Progress { awaits_fault: true, ..self.progress(now) });
        faults.await.unwrap_or_default()
    }

    fn progress(&self, now: SimTime) -> Progress {
        let mut progress = Progress {
            now,
            waiting: 0,
            active: 0,
            admitted: 0,
            requests: self.request_stats.requests as u64,
            failures: self.request_stats.failed_requests(),
            cause: self.request_stats.main_cause().map(str::to_owned),
            awaits_fault: false,
        };
        for number in 0..self.cookie_jars.len() as u32 {
            let visitor = self.visitors.get(number);
            let admitted = visitor.trace().admitted.is_some();
            progress.waiting += u64::from(visitor.is_in_line());
            progress.admitted += u64::from(admitted);
            progress.active += u64::from(admitted && !visitor.has_departed());
        }
        progress
    }
}
