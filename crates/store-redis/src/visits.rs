//! Visits: alone, or together with others of the same queue that came meanwhile.

use fred::types::Value;
use tokio::time::{Instant, timeout_at};
use vestibule_core::line::{Visit, VisitAnswer};
use vestibule_core::{QueueId, StoreError};

use crate::connection::Repeat;
use crate::gathering::{Begin, News, Turn};
use crate::keys::Keys;
use crate::packed::pack_ticket;
use crate::reply::Reply;
use crate::scripts::SCRIPTS;
use crate::store::{RedisStore, member, nothing};

impl RedisStore {
    /// The visit, within the store's time from now on.
    pub(crate) async fn visit_in_turn(&self, queue: &QueueId, visit: Visit) -> Result<VisitAnswer, StoreError> {
        let started = Instant::now();
        if self.gathering.is_off() || self.connection.is_failing(&Keys::of(queue).line()) {
            return self.visit_alone(queue, visit, started).await;
        }
        loop {
            let mut turn = match self.gathering.begin(queue, &visit) {
                Begin::Now(turn) => {
                    tokio::task::yield_now().await;
                    turn
                }
                Begin::Wait(news) => match timeout_at(started + self.connection.timeout(), news).await {
                    Ok(Ok(News::Turn(turn))) => turn,
                    Ok(Ok(News::Answered(answer))) => return answer,
                    // Whoever took it along has gone away with it: what may have been done is harmless to do twice.
                    Ok(Err(_)) => continue,
                    Err(_) => return Err(StoreError::Unavailable("nobody's turn in time".to_owned())),
                },
            };
            return self.visit_together(queue, visit, &mut turn, started).await;
        }
    }

    /// Where nothing succeeds nobody waits for others.
    async fn visit_alone(&self, queue: &QueueId, visit: Visit, started: Instant) -> Result<VisitAnswer, StoreError> {
        let answers = self.visit_all(queue, &[&visit], started).await?;
        answers.into_iter().next().ok_or_else(|| StoreError::Corrupt("no answer to the visit".to_owned()))
    }

    /// The visit, and with it those that wait for the turn.
    async fn visit_together(
        &self,
        queue: &QueueId,
        visit: Visit,
        turn: &mut Turn,
        started: Instant,
    ) -> Result<VisitAnswer, StoreError> {
        let mut followers = turn.take_followers();
        // Polls are answered quickly as long as nothing else goes ahead of them. Newcomers stay in order.
        followers.sort_by_key(|follower| follower.visit.ticket.is_none());
        let ahead = if visit.ticket.is_some() { 0 } else { followers.partition_point(|it| it.visit.ticket.is_some()) };
        let mut visits: Vec<&Visit> = followers.iter().map(|follower| &follower.visit).collect();
        visits.insert(ahead, &visit);
        match self.visit_all(queue, &visits, started).await {
            Ok(mut answers) => {
                let own = answers.remove(ahead);
                for (follower, answer) in followers.into_iter().zip(answers) {
                    follower.answer(Ok(answer));
                }
                Ok(own)
            }
            Err(error) => {
                for follower in followers {
                    follower.answer(Err(error.clone()));
                }
                Err(error)
            }
        }
    }

    /// These visits one after the other, in one script.
    async fn visit_all(
        &self,
        queue: &QueueId,
        visits: &[&Visit],
        started: Instant,
    ) -> Result<Vec<VisitAnswer>, StoreError> {
        let packed = visits.iter().flat_map(|visit| {
            [Value::Bytes(pack_ticket(visit.ticket.as_ref())), visit.join.map_or_else(nothing, member)]
        });
        let arguments = std::iter::once(self.now()).chain(packed);
        let keys = Keys::of(queue).all();
        let value = self.connection.run_since(started, &SCRIPTS.visit, keys, arguments, Repeat::Harmless).await?;
        let mut reply = Reply::to(queue, value)?;
        let answers = reply.visits(visits)?;
        self.remember(queue, &mut reply)?;
        Ok(answers)
    }
}
