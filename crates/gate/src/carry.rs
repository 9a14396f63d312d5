//! An origin's answer within what a function may give: its size, and its time. A server that sends its answers itself has
//! neither limit, and there the answer flows through.

use axum::response::Response;
use http::Extensions;
use tokio::time::timeout_at;
use vestibule_http::{AnswerLimit, Deadline, NoAnswer};

use crate::proxy::{ProxyError, cut_short};

/// What the gate runs in, as the request says.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Carrier {
    limit: Option<AnswerLimit>,
    deadline: Option<Deadline>,
}

/// Why an origin's answer does not reach the visitor.
#[derive(Debug)]
pub(crate) enum Lost {
    /// There is none, or it broke off.
    Origin(ProxyError),
    /// It is more than a function may answer.
    TooLarge { limit: AnswerLimit, announced: Option<u64> },
}

impl Carrier {
    pub(crate) fn of(extensions: &Extensions) -> Self {
        Self { limit: extensions.get().copied(), deadline: extensions.get().copied() }
    }

    /// Whether nothing can follow an answer, so that no connection can become another.
    pub(crate) const fn is_function(&self) -> bool {
        self.limit.is_some()
    }

    /// Waits for the answer and, in a function, for all of its body.
    pub(crate) async fn carry(
        &self,
        answer: impl Future<Output = Result<Response, ProxyError>>,
    ) -> Result<Response, Lost> {
        let whole = async {
            let answer = answer.await.map_err(Lost::Origin)?;
            match self.limit {
                Some(limit) => whole(limit, answer).await,
                None => Ok(answer),
            }
        };
        let Some(Deadline(deadline)) = self.deadline else { return whole.await };
        timeout_at(deadline, whole).await.unwrap_or_else(|_| {
            tracing::warn!("the origin's answer is not complete, and the function's time is nearly over");
            Err(Lost::Origin(ProxyError::Timeout))
        })
    }
}

async fn whole(limit: AnswerLimit, answer: Response) -> Result<Response, Lost> {
    match limit.collect(answer).await {
        Ok(answer) => Ok(answer.map(axum::body::Body::from)),
        Err(NoAnswer::TooLarge { announced, .. }) => Err(Lost::TooLarge { limit, announced }),
        Err(NoAnswer::Broken(error)) => Err(Lost::Origin(cut_short(&error))),
    }
}
