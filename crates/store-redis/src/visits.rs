//! Visits: alone, or together with others of the same queue that came meanwhile.

use tokio::time::Instant;
use vestibule_core::line::{Visit, VisitAnswer};
use vestibule_core::{QueueId, StoreError};

use crate::batch::Batch;
use crate::connection::Repeat;
use crate::gathering::{Begin, News, Turn};
use crate::keys::Keys;
use crate::reply::Reply;
use crate::scripts::SCRIPTS;
use crate::store::RedisStore;

/// How often who goes next lets all that is ready to run come first, and so takes along who comes with it.
const GATHERING_TURNS: u32 = 3;

impl RedisStore {
    /// The visit, within the store's time from now on.
    pub(crate) async fn visit_in_turn(&self, queue: &QueueId, visit: Visit) -> Result<VisitAnswer, StoreError> {
        let started = Instant::now();
        if self.gathering.is_off() || self.connection.is_failing(|| Keys::of(queue).line()) {
            return Box::pin(self.visit_alone(queue, visit, started)).await;
        }
        let mut turn = match self.gathering.begin(queue, &visit) {
            Begin::Now(turn) => turn,
            // Those whom it waits for came before it, and so their time ends before its own.
            Begin::Wait(news) => match news.await {
                Ok(News::Turn(turn)) => turn,
                Ok(News::Answered(answer)) => return answer,
                // Whoever took it along has gone away with it: what may have been done is harmless to do twice.
                Err(_) => return Box::pin(self.visit_alone(queue, visit, started)).await,
            },
        };
        for _ in 0..GATHERING_TURNS {
            tokio::task::yield_now().await;
        }
        // Most wait and go along, so only those that go have room made for all that it takes.
        Box::pin(self.visit_together(queue, visit, &mut turn, started)).await
    }

    /// The visit without waiting for others.
    async fn visit_alone(&self, queue: &QueueId, visit: Visit, started: Instant) -> Result<VisitAnswer, StoreError> {
        self.visit_all(queue, std::iter::once(&visit), started).await.and_then(only)
    }

    /// The visit, and with it those that wait for the turn.
    async fn visit_together(
        &self,
        queue: &QueueId,
        visit: Visit,
        turn: &mut Turn,
        started: Instant,
    ) -> Result<VisitAnswer, StoreError> {
        let followers = turn.take_followers();
        let visits = std::iter::once(&visit).chain(followers.iter().map(|follower| &follower.visit));
        match self.visit_all(queue, visits, started).await {
            Ok(mut answers) => {
                let others = answers.split_off(1);
                for (follower, answer) in followers.into_iter().zip(others) {
                    follower.answer(Ok(answer));
                }
                only(answers)
            }
            Err(error) => {
                for follower in followers {
                    follower.answer(Err(error.clone()));
                }
                Err(error)
            }
        }
    }

    /// These visits, at least one, in one script.
    async fn visit_all<'a>(
        &self,
        queue: &QueueId,
        visits: impl Iterator<Item = &'a Visit> + Send,
        started: Instant,
    ) -> Result<Vec<VisitAnswer>, StoreError> {
        let changes = self.connection.changes();
        let batch = Batch::of(visits, self.unbroken.since(changes));
        let arguments = std::iter::once(self.now()).chain(batch.packed());
        let keys = Keys::of(queue).all();
        let value = self.connection.run_since(started, &SCRIPTS.visit, keys, arguments, Repeat::Harmless).await?;
        let mut reply = Reply::to(queue, value)?;
        let mut answers = reply.visits(&batch)?;
        let unbroken = self.connection.changes() == changes;
        for place in answers.iter_mut().filter_map(|answer| answer.place.as_mut()) {
            place.granted &= unbroken;
        }
        if let Some(answer) = answers.first().filter(|_| unbroken) {
            self.unbroken.answered(changes, answer.now);
        }
        self.remember(queue, &mut reply)?;
        Ok(answers)
    }
}

fn only(answers: Vec<VisitAnswer>) -> Result<VisitAnswer, StoreError> {
    answers.into_iter().next().ok_or_else(|| StoreError::Corrupt("no answer to the visit".to_owned()))
}
