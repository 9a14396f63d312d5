//! Limits of a Lambda function for the response of an origin: its size and its time. Servers have neither limit, and there
//! responses are streamed.

use axum::response::Response;
use http::Extensions;
use tokio::time::timeout_at;
use vestibule_lambda::{Deadline, ResponseError, ResponseLimit};

use vestibule_proxy::{ProxyError, error_of_truncated};

/// The limits of the function that runs the gate, if it runs in one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResponseBuffer {
    limit: Option<ResponseLimit>,
    deadline: Option<Deadline>,
}

/// Why the response of an origin does not reach the visitor.
#[derive(Debug)]
pub(crate) enum BufferError {
    /// The origin did not respond, or not completely.
    Origin(ProxyError),
    /// The response exceeds the limit.
    TooLarge { limit: ResponseLimit, announced: Option<u64> },
}

impl ResponseBuffer {
    pub(crate) fn of(extensions: &Extensions) -> Self {
        Self { limit: extensions.get().copied(), deadline: extensions.get().copied() }
    }

    /// Whether the gate runs in a function. A function cannot upgrade connections.
    pub(crate) const fn is_function(&self) -> bool {
        self.limit.is_some()
    }

    /// Waits for the origin until the deadline.
    pub(crate) async fn wait(
        &self,
        response: impl Future<Output = Result<Response, ProxyError>>,
    ) -> Result<Response, BufferError> {
        self.in_time(async { response.await.map_err(BufferError::Origin) }).await
    }

    /// In a function, collects the whole body until the deadline; elsewhere returns the response as it is.
    pub(crate) async fn collect(&self, response: Response) -> Result<Response, BufferError> {
        match self.limit {
            Some(limit) => Box::pin(self.in_time(collect_body(limit, response))).await,
            None => Ok(response),
        }
    }

    async fn in_time(
        &self,
        response: impl Future<Output = Result<Response, BufferError>>,
    ) -> Result<Response, BufferError> {
        let Some(Deadline(deadline)) = self.deadline else { return response.await };
        timeout_at(deadline, response).await.unwrap_or_else(|_| {
            tracing::warn!("the origin's response is incomplete and the function is about to time out");
            Err(BufferError::Origin(ProxyError::Timeout))
        })
    }
}

async fn collect_body(limit: ResponseLimit, response: Response) -> Result<Response, BufferError> {
    match limit.collect(response).await {
        Ok(response) => Ok(response.map(axum::body::Body::from)),
        Err(ResponseError::TooLarge { announced, .. }) => Err(BufferError::TooLarge { limit, announced }),
        Err(ResponseError::Broken(error)) => Err(BufferError::Origin(error_of_truncated(&error))),
    }
}
