//! Visits of one queue that are under way at once share a script: what it costs to enter one, and to read the rules and
//! the state, is then paid once for all of them.
//!
//! While no script of a queue is under way, a visit goes at once: it only lets what else is ready to run come first, and
//! takes those along who came meanwhile. Others wait for it to come back, and the first of them then takes with it as many
//! as have gathered; if they fill a script before that, they go at once. So nobody waits for a crowd that does not come, and the
//! more come the less each of them costs.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use vestibule_core::line::{Visit, VisitAnswer};
use vestibule_core::{QueueId, StoreError};

/// Scripts of visits to one queue that a process has under way at once: while a full one is on its way, another is served.
const UNDER_WAY_MAX: usize = 2;

/// Visits that share a script, whatever is asked for: a script passes them to a command as arguments.
const VISITS_MAX: usize = 256;

type Answer = Result<VisitAnswer, StoreError>;

/// What somebody who waits is told.
pub(crate) enum News {
    /// Another took the visit along, and this came of it.
    Answered(Answer),
    /// A script came back: it is your turn.
    Turn(Turn),
}

/// Who waits, by queue.
pub(crate) struct Gathering(Arc<Queues>);

struct Queues {
    /// Most followers of a visit.
    followers_max: usize,
    crowds: Mutex<HashMap<QueueId, Crowd>>,
}

#[derive(Default)]
struct Crowd {
    under_way: usize,
    /// Whether the last of them is not sent yet, and takes along who comes.
    gathering: bool,
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

    /// Gives them the turn. From somebody who goes away just now it comes back, is dropped here, and so passed on.
    fn go(self, turn: Turn) {
        let _ = self.news.send(News::Turn(turn));
    }
}

/// The right to have a script under way, and those who go along. Dropping it passes it on to the first who waits.
pub(crate) struct Turn {
    queues: Arc<Queues>,
    queue: QueueId,
    followers: Vec<Follower>,
    /// Whether whoever comes may go along: nothing is sent yet.
    gathers: bool,
}

/// What a visit does first.
pub(crate) enum Begin {
    /// Goes at once.
    Now(Turn),
    /// Waits for news. If there will be none, whoever took the visit along has gone away with it.
    Wait(oneshot::Receiver<News>),
}

impl Queues {
    /// A panic while the lock was held leaves whole values behind.
    fn locked(&self) -> MutexGuard<'_, HashMap<QueueId, Crowd>> {
        self.crowds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Gathering {
    /// At most so many visits, and at least one, share a script.
    pub(crate) fn new(visits_max: usize) -> Self {
        let followers_max = visits_max.clamp(1, VISITS_MAX) - 1;
        Self(Arc::new(Queues { followers_max, crowds: Mutex::default() }))
    }

    /// Whether visits go alone, however many come.
    pub(crate) fn is_off(&self) -> bool {
        self.0.followers_max == 0
    }

    /// A visit comes.
    pub(crate) fn begin(&self, queue: &QueueId, visit: &Visit) -> Begin {
        let turn = |followers, gathers| Turn { queues: self.0.clone(), queue: queue.clone(), followers, gathers };
        let (next, receiver) = {
            let mut crowds = self.0.locked();
            let crowd = crowds.entry(queue.clone()).or_default();
            if crowd.under_way == 0 {
                crowd.under_way = 1;
                crowd.gathering = true;
                return Begin::Now(turn(Vec::new(), true));
            }
            let (news, receiver) = oneshot::channel();
            crowd.waiting.push_back(Follower { visit: visit.clone(), news });
            (crowd.next_if_full(self.0.followers_max), receiver)
        };
        if let Some((first, followers)) = next {
            first.go(turn(followers, false));
        }
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

    /// The next and those who go along, if they fill a script that may go; it is then under way.
    fn next_if_full(&mut self, followers_max: usize) -> Option<(Follower, Vec<Follower>)> {
        if self.gathering || self.under_way >= UNDER_WAY_MAX || self.waiting.len() <= followers_max {
            return None;
        }
        let next = self.next_together(followers_max)?;
        self.under_way += 1;
        Some(next)
    }

    /// The next, and as many as may go along.
    fn next_together(&mut self, followers_max: usize) -> Option<(Follower, Vec<Follower>)> {
        let first = self.next()?;
        Some((first, std::iter::from_fn(|| self.next()).take(followers_max).collect()))
    }
}

impl Turn {
    /// Those who go along, first come first. From now on nobody else does: who is left over goes next, if they may.
    pub(crate) fn take_followers(&mut self) -> Vec<Follower> {
        let mut followers = std::mem::take(&mut self.followers);
        let next = {
            let mut crowds = self.queues.locked();
            let Some(crowd) = crowds.get_mut(&self.queue) else { return followers };
            if std::mem::take(&mut self.gathers) {
                crowd.gathering = false;
            }
            let room = self.queues.followers_max - followers.len();
            followers.extend(std::iter::from_fn(|| crowd.next()).take(room));
            crowd.next_if_full(self.queues.followers_max)
        };
        self.give(next);
        followers
    }

    /// Who has the turn next, and who goes along; if nobody waits, the turn is given back.
    fn pass(&mut self) -> Option<(Follower, Vec<Follower>)> {
        let mut crowds = self.queues.locked();
        let crowd = crowds.get_mut(&self.queue)?;
        if std::mem::take(&mut self.gathers) {
            crowd.gathering = false;
        }
        // Those who were to go along with somebody who went away before.
        for follower in self.followers.drain(..).rev() {
            crowd.waiting.push_front(follower);
        }
        let others_go = crowd.under_way > 1 && crowd.waiting.len() <= self.queues.followers_max;
        let next = if others_go { None } else { crowd.next_together(self.queues.followers_max) };
        if next.is_none() {
            crowd.under_way -= 1;
            if crowd.under_way == 0 {
                crowds.remove(&self.queue);
            }
        }
        next
    }

    fn give(&self, next: Option<(Follower, Vec<Follower>)>) {
        if let Some((first, followers)) = next {
            let (queues, queue) = (self.queues.clone(), self.queue.clone());
            first.go(Self { queues, queue, followers, gathers: false });
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let next = self.pass();
        self.give(next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOGETHER: usize = 32;

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

    fn waiting(gathering: &Gathering, count: usize) -> Vec<oneshot::Receiver<News>> {
        (0..count).map(|_| waits(gathering)).collect()
    }

    fn first_turn(waiting: &mut [oneshot::Receiver<News>]) -> Option<(usize, Turn)> {
        waiting.iter_mut().enumerate().find_map(|(place, news)| Some((place, turn(news)?)))
    }

    #[test]
    fn the_first_takes_along_who_comes_before_it_goes_and_the_next_has_the_others() {
        let gathering = Gathering::new(TOGETHER);
        let mut first = now(&gathering);
        let mut others = waiting(&gathering, TOGETHER);
        assert_eq!(first.take_followers().len(), TOGETHER - 1);
        assert!(first_turn(&mut others).is_none(), "the last waits: others may come");
        drop(first);
        let mut second = turn(&mut others[TOGETHER - 1]).unwrap();
        assert_eq!(second.take_followers().len(), 0);
    }

    #[test]
    fn those_who_fill_a_script_do_not_wait_for_another_to_come_back() {
        let gathering = Gathering::new(TOGETHER);
        let mut first = now(&gathering);
        first.take_followers();
        let mut others = waiting(&gathering, TOGETHER - 1);
        assert!(first_turn(&mut others).is_none());
        others.extend(waiting(&gathering, 2 * TOGETHER));
        let (place, mut second) = first_turn(&mut others).unwrap();
        assert_eq!((place, second.take_followers().len()), (0, TOGETHER - 1));
        assert!(first_turn(&mut others[1..]).is_none(), "as many as may go at once");
        drop(second);
        let (place, mut third) = first_turn(&mut others[1..]).unwrap();
        assert_eq!((place + 1, third.take_followers().len()), (TOGETHER, TOGETHER - 1));
        drop(third);
        assert!(first_turn(&mut others[1..]).is_none(), "too few to go beside the first");
        drop(first);
        let (place, mut last) = first_turn(&mut others[1..]).unwrap();
        assert_eq!((place + 1, last.take_followers().len()), (2 * TOGETHER, TOGETHER - 2));
    }

    #[test]
    fn those_left_over_fill_a_script_as_well() {
        let gathering = Gathering::new(TOGETHER);
        let mut first = now(&gathering);
        let mut others = waiting(&gathering, 2 * TOGETHER - 1);
        assert_eq!(first.take_followers().len(), TOGETHER - 1);
        assert_eq!(first_turn(&mut others).unwrap().0, TOGETHER - 1);
    }

    #[test]
    fn who_goes_away_stops_nobody() {
        let gathering = Gathering::new(TOGETHER);
        let mut first = now(&gathering);
        first.take_followers();
        let mut waiting = waiting(&gathering, 4);
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
        assert!(gathering.0.locked().is_empty(), "nothing is kept of a queue at rest");
    }
}
