//! Plays a crowd against a gate over HTTP, in real time.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::cast::Cast;
use crate::crowd::Crowd;
use crate::faults::{Fault, Struck, strike};
use crate::http::{Exchange, Jar, Job, Pool, PoolError, Target};
use crate::moment::Moment;
use crate::observe::{Observation, Observer};
use crate::tally::Tally;
use crate::visitor::{Ask, Event, Story};

/// Milliseconds between two looks at what is due.
const TICK: Duration = Duration::from_millis(10);

/// A rehearsal to be played.
pub struct Rehearsal {
    /// The crowd.
    pub crowd: Crowd,
    /// Whom it asks.
    pub target: Target,
    /// Most requests under way at once.
    pub connections: usize,
    /// How long it lasts at most.
    pub limit: Duration,
    /// Most requests.
    pub most_requests: u64,
    /// What goes wrong meanwhile.
    pub faults: Vec<Fault>,
    /// Who looks at the store and the gate meanwhile.
    pub observer: Observer,
}

/// Why a rehearsal ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Everybody is gone.
    Over,
    /// Its time was up.
    Time,
    /// It made as many requests as it may.
    Requests,
    /// Somebody stopped it.
    Stopped,
}

impl Ended {
    /// For people.
    #[must_use]
    pub const fn says(self) -> &'static str {
        match self {
            Self::Over => "everybody is gone",
            Self::Time => "its time was up",
            Self::Requests => "it made as many requests as it may",
            Self::Stopped => "it was stopped",
        }
    }
}

/// What was played.
pub struct Played {
    /// What became of everybody.
    pub stories: Vec<Story>,
    /// What was counted.
    pub tally: Tally,
    /// How long it lasted.
    pub lasted: Moment,
    /// Why it ended.
    pub ended: Ended,
    /// What went wrong by order.
    pub struck: Vec<Struck>,
    /// What store and gate said of themselves.
    pub observed: Observation,
}

/// How it goes, each second.
#[derive(Debug, Clone)]
pub struct Progress {
    /// Since the beginning.
    pub now: Moment,
    /// People in line.
    pub waiting: u64,
    /// People who are in.
    pub inside: u64,
    /// People who were let in so far.
    pub admitted: u64,
    /// Requests so far.
    pub requests: u64,
    /// Requests without an answer of a gate so far.
    pub failures: u64,
    /// Why most of them failed.
    pub cause: Option<String>,
}

impl Rehearsal {
    /// Plays the crowd, until everybody is gone, a limit is reached or `stop` resolves.
    ///
    /// # Errors
    /// A target that is no gate, or gives no answer.
    pub async fn play(
        self,
        stop: impl Future<Output = ()>,
        mut tell: impl FnMut(&Progress),
    ) -> Result<Played, PoolError> {
        let began = Instant::now();
        let pool = Pool::open(self.target, self.connections, began).await?;
        let jars = vec![[Jar::default(), Jar::default()]; self.crowd.visitors as usize];
        let (news, struck) = mpsc::unbounded_channel();
        let drill = tokio::spawn(strike(self.faults, began, news));
        let observer = self.observer.start(began).await;
        let stage =
            Stage { cast: Cast::new(self.crowd), pool, jars, backlog: VecDeque::new(), tally: Tally::default() };
        let (after, ended, lasted) = stage.run(began, self.limit, self.most_requests, stop, &mut tell).await;
        drill.abort();
        let came = gathered(struck);
        let seen = observer.finish().await;
        Ok(Played {
            stories: after.cast.into_stories(),
            tally: after.tally,
            lasted,
            ended,
            struck: came,
            observed: seen,
        })
    }
}

fn gathered(mut struck: mpsc::UnboundedReceiver<Struck>) -> Vec<Struck> {
    let mut all = Vec::new();
    while let Ok(one) = struck.try_recv() {
        all.push(one);
    }
    all
}

struct Stage {
    cast: Cast,
    pool: Pool,
    /// Of each visitor, the cookies and those before them.
    jars: Vec<[Jar; 2]>,
    backlog: VecDeque<Job>,
    tally: Tally,
}

impl Stage {
    async fn run(
        mut self,
        began: Instant,
        limit: Duration,
        most_requests: u64,
        stop: impl Future<Output = ()>,
        tell: &mut impl FnMut(&Progress),
    ) -> (Self, Ended, Moment) {
        let moment = || Moment(began.elapsed().as_millis() as u32);
        let mut stop = std::pin::pin!(stop);
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut exchanges, mut due, mut told) = (Vec::new(), Vec::new(), 0);
        loop {
            let now = moment();
            self.wake(now, &mut due);
            self.send();
            if now.second() > told {
                told = now.second();
                tell(&self.progress(now));
            }
            let ended = match () {
                () if self.cast.is_over() => Some(Ended::Over),
                () if began.elapsed() >= limit => Some(Ended::Time),
                () if self.tally.requests as u64 >= most_requests => Some(Ended::Requests),
                () => None,
            };
            if let Some(ended) = ended {
                return (self, ended, now);
            }
            tokio::select! {
                () = self.pool.finish(&mut exchanges) => {}
                _ = ticks.tick() => {}
                () = &mut stop => return (self, Ended::Stopped, moment()),
            }
            for exchange in exchanges.drain(..) {
                self.hear(&exchange);
            }
        }
    }

    fn wake(&mut self, now: Moment, due: &mut Vec<(Moment, u32)>) {
        self.cast.wheel.due(now, due);
        for (at, visitor) in due.drain(..) {
            if self.cast.is_due(visitor, at)
                && let Some(ask) = self.cast.step(visitor, now, Event::Time)
            {
                self.enqueue(visitor, ask, at);
            }
        }
    }

    fn enqueue(&mut self, visitor: u32, ask: Ask, due: Moment) {
        let [jar, older] = &self.jars[visitor as usize];
        let jar = if ask.older && !older.is_empty() { older } else { jar };
        // A robot keeps no cookie.
        let jar = if self.cast.of(visitor).is_endless() { Jar::default() } else { jar.clone() };
        self.backlog.push_back(Job { visitor, ask, jar, due });
    }

    fn send(&mut self) {
        while self.pool.is_free() {
            let Some(job) = self.backlog.pop_front() else { return };
            if let Err(job) = self.pool.begin(job) {
                self.backlog.push_front(job);
                return;
            }
        }
    }

    fn hear(&mut self, exchange: &Exchange) {
        self.count(exchange);
        let visitor = exchange.job.visitor;
        let jars = &mut self.jars[visitor as usize];
        if let Some(jar) = jars[0].after(&exchange.set) {
            jars[1] = std::mem::replace(&mut jars[0], jar);
        }
        let event = Event::Answer(&exchange.heard, exchange.sent);
        if let Some(ask) = self.cast.step(visitor, exchange.heard_at, event) {
            self.enqueue(visitor, ask, exchange.heard_at);
        }
    }

    fn count(&mut self, exchange: &Exchange) {
        let tally = &mut self.tally;
        tally.asked(exchange.sent);
        tally.sent_bytes += exchange.sent_bytes as u64;
        tally.heard_bytes += exchange.heard_bytes as u64;
        tally.lateness.add(u64::from(exchange.sent.0.saturating_sub(exchange.job.due.0)) * 1000);
        if let Some(status) = exchange.status {
            tally.answered(exchange.heard_at, exchange.job.ask.question, status.as_u16(), exchange.took_us);
        }
        if let Some(failure) = &exchange.failure {
            tally.failed(exchange.heard_at, failure);
        }
        if let Some(active) = exchange.active {
            let second = tally.second(exchange.heard_at);
            second.active_told = second.active_told.max(Some(active));
        }
    }

    fn progress(&self, now: Moment) -> Progress {
        let mut progress = Progress {
            now,
            waiting: 0,
            inside: 0,
            admitted: 0,
            requests: self.tally.requests as u64,
            failures: self.tally.failed_requests(),
            cause: self.tally.main_cause().map(str::to_owned),
        };
        for number in 0..self.jars.len() as u32 {
            let visitor = self.cast.of(number);
            let admitted = visitor.story().admitted.is_some();
            progress.waiting += u64::from(visitor.is_in_line());
            progress.admitted += u64::from(admitted);
            progress.inside += u64::from(admitted && !visitor.is_gone());
        }
        progress
    }
}
