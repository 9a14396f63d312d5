//! Operations on a store and their answers.

use vestibule_core::line::{
    AttackModeChange, PageStart, PurgeReport, Removed, SessionList, SessionPage, Visit, VisitAnswer,
};
use vestibule_core::settings::Settings;
use vestibule_core::{PutMode, PutOutcome, QueueId, SessionId, StoreError, Ticket};

use crate::line_fixture::StoreFixture;

#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "a run holds one at a time")]
pub(super) enum Operation {
    Visit(Visit),
    Away(Ticket),
    Leave(Ticket),
    End(SessionId),
    Release(u64),
    Admit(SessionId),
    AttackMode(u64),
    Purge(usize),
    Page(SessionList, PageStart, usize),
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
pub(super) enum OperationResult {
    Visit(VisitAnswer),
    Removed(Removed),
    Count(u64),
    Admitted(bool),
    AttackMode(AttackModeChange),
    Purge(PurgeReport),
    Page(SessionPage),
    Put(PutOutcome),
    Done,
    Error(String),
}

impl Operation {
    pub(super) async fn on(&self, stores: &StoreFixture, queue: &QueueId) -> OperationResult {
        self.attempt(stores, queue).await.unwrap_or_else(|error| OperationResult::Error(error.to_string()))
    }

    async fn attempt(&self, stores: &StoreFixture, queue: &QueueId) -> Result<OperationResult, StoreError> {
        let store = &*stores.store;
        Ok(match self {
            Self::Visit(visit) => OperationResult::Visit(store.visit(queue, visit.clone()).await?),
            Self::Away(ticket) => OperationResult::Removed(store.away(queue, ticket.clone()).await?),
            Self::Leave(ticket) => OperationResult::Removed(store.leave(queue, ticket.clone()).await?),
            Self::End(session) => OperationResult::Removed(store.end(queue, *session).await?),
            Self::Release(count) => OperationResult::Count(store.release(queue, *count).await?),
            Self::Admit(session) => OperationResult::Admitted(store.admit(queue, *session).await?),
            Self::AttackMode(seconds) => OperationResult::AttackMode(store.set_attack_mode(queue, *seconds).await?),
            Self::Purge(limit) => OperationResult::Purge(store.purge(queue, *limit).await?),
            Self::Page(list, start, limit) => OperationResult::Page(store.page(queue, *list, *start, *limit).await?),
            Self::Put(settings, mode) => OperationResult::Put(store.put_settings(settings, *mode).await?),
            Self::Reset => OperationResult::Count(store.reset(queue).await?),
            Self::Note => {
                stores.note(queue);
                OperationResult::Done
            }
            Self::RollBack => {
                stores.roll_back(queue);
                OperationResult::Done
            }
            Self::Lose(settings, mode) => {
                stores.lose(queue);
                OperationResult::Put(store.put_settings(settings, *mode).await?)
            }
        })
    }

    /// The operation as shown in a failure; settings are reduced to the rules of the line.
    pub(super) fn description(&self) -> String {
        match self {
            Self::Put(settings, mode) => format!("Put({:?}, {mode:?})", settings.line),
            Self::Lose(settings, mode) => format!("Lose({:?}, {mode:?})", settings.line),
            other => format!("{other:?}"),
        }
    }

    /// Whether the operation also advances the line in this epoch.
    pub(super) fn advances(&self, epoch: u64) -> bool {
        match self {
            Self::Page(..) | Self::AttackMode(_) | Self::Reset | Self::Lose(..) | Self::Note | Self::RollBack => false,
            Self::Leave(ticket) => ticket.epoch() == epoch,
            _ => true,
        }
    }
}
