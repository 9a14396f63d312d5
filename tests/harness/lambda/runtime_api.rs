use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use bytes::Bytes;
use http::StatusCode;
use parking_lot::{Mutex, MutexGuard};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use vestibule_core::{Clock, SessionId, SystemClock};

/// What a function said to an invocation: its answer, or an error as JSON.
pub(super) type Outcome = Result<Bytes, String>;

/// The Runtime API of one instance, as a function sees it: it asks for the next invocation and answers it.
pub struct RuntimeApi {
    address: String,
    shared: Arc<Shared>,
    server: JoinHandle<std::io::Result<()>>,
}

struct Shared {
    timeout: Duration,
    invocations: mpsc::UnboundedSender<Invocation>,
    waiting: tokio::sync::Mutex<mpsc::UnboundedReceiver<Invocation>>,
    pending: Mutex<HashMap<String, oneshot::Sender<Outcome>>>,
    idle: watch::Sender<bool>,
    /// Counts the processes that are gone, whose questions nobody waits for any more.
    gone: watch::Sender<usize>,
    init_error: Mutex<Option<String>>,
}

struct Invocation {
    id: String,
    event: Bytes,
}

impl RuntimeApi {
    /// Opens the API on a free port; an invocation's deadline is `timeout` after it is taken.
    pub async fn open(timeout: Duration) -> Self {
        let (invocations, waiting) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared {
            timeout,
            invocations,
            waiting: waiting.into(),
            pending: Mutex::default(),
            idle: watch::Sender::new(false),
            gone: watch::Sender::new(0),
            init_error: Mutex::default(),
        });
        let router = Router::new()
            .route("/2018-06-01/runtime/invocation/next", get(next))
            .route("/2018-06-01/runtime/invocation/{id}/response", post(response))
            .route("/2018-06-01/runtime/invocation/{id}/error", post(error))
            .route("/2018-06-01/runtime/init/error", post(init_error))
            .layer(axum::extract::DefaultBodyLimit::max(MAX_RESPONSE))
            .with_state(Arc::clone(&shared));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let server = tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, shared, server }
    }

    /// What `AWS_LAMBDA_RUNTIME_API` takes.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Hands an event to the function; what it answers comes out of the receiver.
    pub(super) fn hand(&self, event: Bytes) -> (String, oneshot::Receiver<Outcome>) {
        let id = SessionId::random().to_string();
        let (sender, receiver) = oneshot::channel();
        self.shared.pending().insert(id.clone(), sender);
        // The receiver lives as long as the API does.
        let _ = self.shared.invocations.send(Invocation { id: id.clone(), event });
        (id, receiver)
    }

    /// Forgets an invocation that the function ended without answering.
    pub(super) fn forget(&self, id: &str) {
        self.shared.pending().remove(id);
    }

    /// Whether the function waits for an invocation, and has nothing to do.
    pub(super) fn idle(&self) -> watch::Receiver<bool> {
        self.shared.idle.subscribe()
    }

    /// The process is gone: what it asked for is not answered to the next one's cost.
    pub(super) fn deserted(&self) {
        self.shared.gone.send_modify(|count| *count += 1);
        self.shared.idle.send_replace(false);
    }

    /// Why the function could not start, as it reported.
    pub(super) fn init_error(&self) -> Option<String> {
        self.shared.init_error.lock().take()
    }

    /// Invokes whatever function asks here, one that a test runs itself.
    ///
    /// # Errors
    ///
    /// The error that the function reported, as JSON.
    pub async fn invoke(&self, event: impl Into<Bytes>) -> Result<Bytes, String> {
        let (id, outcome) = self.hand(event.into());
        let outcome = tokio::time::timeout(self.shared.timeout, outcome).await;
        self.forget(&id);
        outcome.map_err(|_| "no answer in time".to_owned())?.map_err(|_| "no answer".to_owned())?
    }
}

impl Drop for RuntimeApi {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// Lambda's own limit of an answer is 6 MB.
const MAX_RESPONSE: usize = 6 * 1024 * 1024 + 100;

impl Shared {
    fn pending(&self) -> MutexGuard<'_, HashMap<String, oneshot::Sender<Outcome>>> {
        self.pending.lock()
    }

    /// The next invocation that somebody still waits for.
    async fn take(&self) -> Invocation {
        let mut waiting = self.waiting.lock().await;
        loop {
            let invocation = waiting.recv().await.expect("the sender lives beside the receiver");
            if self.pending().contains_key(&invocation.id) {
                return invocation;
            }
        }
    }

    fn settle(&self, id: &str, outcome: Outcome) -> Response {
        match self.pending().remove(id) {
            Some(caller) => {
                // Who asked may have given up.
                let _ = caller.send(outcome);
                (StatusCode::ACCEPTED, r#"{"status":"OK"}"#).into_response()
            }
            None => (StatusCode::BAD_REQUEST, r#"{"errorType":"InvalidRequestID"}"#).into_response(),
        }
    }
}

async fn next(State(shared): State<Arc<Shared>>) -> Response {
    let mut gone = shared.gone.subscribe();
    shared.idle.send_replace(true);
    let invocation = tokio::select! {
        _ = gone.changed() => return StatusCode::GONE.into_response(),
        invocation = shared.take() => invocation,
    };
    shared.idle.send_replace(false);
    let deadline = SystemClock::new().now().0 / 1000 + shared.timeout.as_millis() as u64;
    let headers = [
        ("content-type", "application/json".to_owned()),
        ("lambda-runtime-aws-request-id", invocation.id.clone()),
        ("lambda-runtime-deadline-ms", deadline.to_string()),
        (
            "lambda-runtime-trace-id",
            format!("Root=1-5759e988-bd862e3fe1be46a994272793;Parent={:.16};Sampled=0", invocation.id),
        ),
        ("lambda-runtime-invoked-function-arn", "arn:aws:lambda:eu-west-1:123456789012:function:vestibule".to_owned()),
    ];
    (headers, invocation.event).into_response()
}

async fn response(State(shared): State<Arc<Shared>>, Path(id): Path<String>, answer: Bytes) -> Response {
    shared.settle(&id, Ok(answer))
}

async fn error(State(shared): State<Arc<Shared>>, Path(id): Path<String>, error: Bytes) -> Response {
    shared.settle(&id, Err(String::from_utf8_lossy(&error).into_owned()))
}

async fn init_error(State(shared): State<Arc<Shared>>, error: Bytes) -> StatusCode {
    let error = String::from_utf8_lossy(&error).into_owned();
    *shared.init_error.lock() = Some(error);
    StatusCode::ACCEPTED
}
