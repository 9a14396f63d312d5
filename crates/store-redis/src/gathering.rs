//! Visits of one queue that are under way at once share a script: what it costs to enter one, and to read the rules and
//! the state, is then paid once for all of them.
//!
//! As long as few scripts of a queue are under way, a visit goes at once. Others wait for one of these to come back, and
//! the first of those who wait then takes with it as many as have gathered. So nobody waits for a crowd that does not
//! come, and the more come the less each of them costs.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use vestibule_core::line::{Visit, VisitAnswer};
use vestibule_core::{QueueId, StoreError};

/// Most visits that one script serves: more save little, and others wait for it.
pub(crate) const VISITS_MAX: usize = 32;

type Answer = Result<VisitAnswer, StoreError>;

/// What somebody who waits is told.
pub(crate) enum News {
    /// Another took the visit along, and this came of it.
    Answered(Answer),
    /// A script came back: it is your turn.
    Turn(Turn),
}

/// Who waits, by queue.
pub(crate) struct Gathering {
    under_way_max: usize,
    queues: Arc<Queues>,
}

type Queues = Mutex<HashMap<QueueId, Crowd>>;

#[derive(Default)]
struct Crowd {
    under_way: usize,
    waiting: VecDeque<Follower>,
}

/// A visit that waits, and where its answer goes.
pub(crate) struct Follower {
    pub(crate) visit: Visit,
    news: oneshot::Sender<News>,
}

impl Follower {
    /// Tells what came of the visit. Who has gone away is not told.
    pub(crate) fn answer(self, answer: Answer) {
        let _ = self.news.send(News::Answered(answer));
    }
}

/// The right to have a script under way, and those who go along. Dropping it passes it on to the first who waits.
pub(crate) struct Turn {
    queues: Arc<Queues>,
    queue: QueueId,
    followers: Vec<Follower>,
}

/// What a visit does first.
pub(crate) enum Begin {
    /// Goes at once.
    Now(Turn),
    /// Waits for news. If there will be none, whoever took the visit along has gone away with it.
    Wait(oneshot::Receiver<News>),
}

/// A panic while the lock was held leaves whole values behind.
fn locked(queues: &Queues) -> MutexGuard<'_, HashMap<QueueId, Crowd>> {
    queues.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Gathering {
    /// At most so many scripts of a queue are under way at once, and at least one.
    pub(crate) fn new(under_way_max: usize) -> Self {
        Self { under_way_max: under_way_max.max(1), queues: Arc::default() }
    }

    /// A visit comes.
    pub(crate) fn begin(&self, queue: &QueueId, visit: &Visit) -> Begin {
        let mut queues = locked(&self.queues);
        let crowd = queues.entry(queue.clone()).or_default();
        if crowd.under_way < self.under_way_max {
            crowd.under_way += 1;
            return Begin::Now(Turn { queues: self.queues.clone(), queue: queue.clone(), followers: Vec::new() });
        }
        let (news, receiver) = oneshot::channel();
        crowd.waiting.push_back(Follower { visit: visit.clone(), news });
        Begin::Wait(receiver)
    }
}

impl Crowd {
    /// The next of those who wait and have not gone away.
    fn next(&mut self) -> Option<Follower> {
        while let Some(next) = self.waiting.pop_front() {
            if !next.news.is_closed() {
                return Some(next);
            }
        }
        None
    }
}

impl Turn {
    /// Those who go along, first come first.
    pub(crate) fn take_followers(&mut self) -> Vec<Follower> {
        std::mem::take(&mut self.followers)
    }

    /// Who has the turn next, and who goes along; if nobody waits, the turn is given back.
    fn pass(&mut self) -> Option<(Follower, Vec<Follower>)> {
        let mut queues = locked(&self.queues);
        let crowd = queues.get_mut(&self.queue)?;
        // Those who were to go along with somebody who went away before.
        for follower in self.followers.drain(..).rev() {
            crowd.waiting.push_front(follower);
        }
        let Some(first) = crowd.next() else {
            crowd.under_way -= 1;
            if crowd.under_way == 0 {
                queues.remove(&self.queue);
            }
            return None;
        };
        Some((first, std::iter::from_fn(|| crowd.next()).take(VISITS_MAX - 1).collect()))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some((first, followers)) = self.pass() {
            let turn = Self { queues: self.queues.clone(), queue: self.queue.clone(), followers };
            // To somebody who goes away just now it can't be sent: then it is dropped here, and passed on.
            let _ = first.news.send(News::Turn(turn));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue() -> QueueId {
        "acme-tour".parse().unwrap()
    }

    fn now(gathering: &Gathering) -> Turn {
        match gathering.begin(&queue(), &Visit::default()) {
            Begin::Now(turn) => turn,
            Begin::Wait(_) => panic!("it has to wait"),
        }
    }

    fn waits(gathering: &Gathering) -> oneshot::Receiver<News> {
        match gathering.begin(&queue(), &Visit::default()) {
            Begin::Now(_) => panic!("it goes at once"),
            Begin::Wait(news) => news,
        }
    }

    fn turn(news: &mut oneshot::Receiver<News>) -> Option<Turn> {
        match news.try_recv() {
            Ok(News::Turn(turn)) => Some(turn),
            _ => None,
        }
    }

    #[test]
    fn as_many_as_may_go_at_once_and_the_next_takes_the_others_along() {
        let gathering = Gathering::new(2);
        let (first, second) = (now(&gathering), now(&gathering));
        let mut waiting: Vec<_> = (0..=VISITS_MAX).map(|_| waits(&gathering)).collect();
        assert!(waiting.iter_mut().all(|news| turn(news).is_none()));
        drop(first);
        let mut next = turn(&mut waiting[0]).unwrap();
        assert_eq!(next.take_followers().len(), VISITS_MAX - 1);
        drop(second);
        assert_eq!(turn(&mut waiting[VISITS_MAX]).unwrap().take_followers().len(), 0);
    }

    #[test]
    fn who_goes_away_stops_nobody() {
        let gathering = Gathering::new(1);
        let first = now(&gathering);
        let mut waiting: Vec<_> = (0..4).map(|_| waits(&gathering)).collect();
        drop(waiting.remove(0));
        drop(first);
        // With the turn in hand, not yet looked at.
        drop(waiting.remove(0));
        let mut next = turn(&mut waiting[0]).unwrap();
        let followers = next.take_followers();
        assert_eq!(followers.len(), 1);
        // With others under way.
        drop((followers, next));
        assert!(matches!(waiting[1].try_recv(), Err(oneshot::error::TryRecvError::Closed)), "it comes again");
        drop(now(&gathering));
        assert!(locked(&gathering.queues).is_empty(), "nothing is kept of a queue at rest");
    }
}
