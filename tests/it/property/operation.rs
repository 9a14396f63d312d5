//! Operations on a store and their answers.

use vestibule_core::line::{LinePage, PurgeReport, Removed, Visit, VisitAnswer};
use vestibule_core::settings::Settings;
use vestibule_core::{Micros, PutMode, PutOutcome, QueueId, SessionId, StoreError, Ticket};

use crate::line_fixture::StoreFixture;

#[derive(Debug, Clone)]
pub(super) enum Operation {
    Visit(Visit),
    Away(Ticket),
    Leave(Ticket),
    End(SessionId),
    Release(u64),
    Admit(SessionId),
    Purge(usize),
    Page(Micros, usize),
    Put(Box<Settings>, PutMode),
    Reset,
    /// The store loses the queue, and a gate restores its settings.
    Lose(Box<Settings>, PutMode),
    /// Saves the current state, and restores it later.
    Note,
    RollBack,
}

/// An answer, or an error as text.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Answer {
    Visit(VisitAnswer),
    Removed(Removed),
    Count(u64),
    Admitted(bool),
    Purge(PurgeReport),
    Page(LinePage),
    Put(PutOutcome),
    Done,
    Error(String),
}

impl Operation {
    pub(super) async fn on(&self, bench: &StoreFixture, queue: &QueueId) -> Answer {
        self.attempt(bench, queue).await.unwrap_or_else(|error| Answer::Error(error.to_string()))
    }

    async fn attempt(&self, bench: &StoreFixture, queue: &QueueId) -> Result<Answer, StoreError> {
        let store = &*bench.store;
        Ok(match self {
            Self::Visit(visit) => Answer::Visit(store.visit(queue, visit.clone()).await?),
            Self::Away(ticket) => Answer::Removed(store.away(queue, ticket.clone()).await?),
            Self::Leave(ticket) => Answer::Removed(store.leave(queue, ticket.clone()).await?),
            Self::End(session) => Answer::Removed(store.end(queue, *session).await?),
            Self::Release(count) => Answer::Count(store.release(queue, *count).await?),
            Self::Admit(session) => Answer::Admitted(store.admit(queue, *session).await?),
            Self::Purge(limit) => Answer::Purge(store.purge(queue, *limit).await?),
            Self::Page(from, limit) => Answer::Page(store.page(queue, *from, *limit).await?),
            Self::Put(settings, mode) => Answer::Put(store.put_settings(settings, *mode).await?),
            Self::Reset => Answer::Count(store.reset(queue).await?),
            Self::Note => {
                bench.note(queue);
                Answer::Done
            }
            Self::RollBack => {
                bench.roll_back(queue);
                Answer::Done
            }
            Self::Lose(settings, mode) => {
                bench.lose(queue);
                Answer::Put(store.put_settings(settings, *mode).await?)
            }
        })
    }

    /// The operation as shown in a failure; settings are reduced to the rules of the line.
    pub(super) fn told(&self) -> String {
        match self {
            Self::Put(settings, mode) => format!("Put({:?}, {mode:?})", settings.line),
            Self::Lose(settings, mode) => format!("Lose({:?}, {mode:?})", settings.line),
            other => format!("{other:?}"),
        }
    }

    /// Whether the operation also advances the line in this epoch.
    pub(super) fn advances(&self, epoch: u64) -> bool {
        match self {
            Self::Page(..) | Self::Reset | Self::Lose(..) | Self::Note | Self::RollBack => false,
            Self::Leave(ticket) => ticket.epoch() == epoch,
            _ => true,
        }
    }
}
