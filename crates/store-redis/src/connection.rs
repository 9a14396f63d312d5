//! Operations with a bounded duration that survive an unresponsive connection.
//!
//! The process may be frozen for hours and find its connection dead without notice. If no data is
//! received for the patience of an operation, another link is opened next to the silent one and the
//! operation is sent again over it. A non-idempotent command is sent only right after a harmless
//! command was answered on the same link.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use fred::error::Error;
use fred::types::config::Config;
use fred::types::{Key, Value};
use fred::util::redis_keyslot;
use tokio::time::{Instant, timeout, timeout_at};
use vestibule_core::StoreError;

use crate::health::{Attempt, Health};
use crate::library::{Function, LIBRARY};
use crate::link::Link;
use crate::links::Links;
use crate::request::{Failure, Request};

pub(crate) use crate::request::Repeat;

/// Hash slots of a cluster.
const SLOTS: usize = 16_384;
/// Divisor of the timeout: an operation waits this share of it without any reply before another
/// link is opened. The rest is for connecting and for the reply.
const PATIENCE_SHARE: u32 = 3;
/// Minimum patience: shorter times can expire on a busy machine although a reply has arrived.
const LEAST_PATIENCE: Duration = Duration::from_millis(5);
/// How long an operation keeps listening after its patience: a process that was frozen sees its
/// time expire before it reads a reply that has arrived meanwhile.
const LISTEN_ON: Duration = Duration::from_millis(5);

/// A connection to Redis.
pub(crate) struct Connection {
    links: Links,
    timeout: Duration,
    health: Health,
}

impl Connection {
    /// Connects in the background, now and whenever the connection breaks.
    pub(crate) fn open(config: Config, timeout: Duration) -> Result<Self, Error> {
        let health = Health::new(if config.server.is_clustered() { SLOTS } else { 1 });
        Ok(Self { links: Links::open(config)?, timeout, health })
    }

    /// Calls a function. If the server does not know it, the library is loaded first.
    pub(crate) async fn run(
        &self,
        function: &Function,
        keys: impl IntoIterator<Item = Key>,
        arguments: impl IntoIterator<Item = Value>,
        repeat: Repeat,
    ) -> Result<Value, StoreError> {
        self.run_since(Instant::now(), function, keys, arguments, repeat).await
    }

    /// Calls a function for an operation that started earlier because it waited for a batch.
    pub(crate) async fn run_since(
        &self,
        started: Instant,
        function: &Function,
        keys: impl IntoIterator<Item = Key>,
        arguments: impl IntoIterator<Item = Value>,
        repeat: Repeat,
    ) -> Result<Value, StoreError> {
        let keys: Vec<Value> = keys.into_iter().map(Value::from).collect();
        let key = keys.first().cloned().unwrap_or(Value::Null);
        let count = Value::String(keys.len().to_string().into());
        let rest: Vec<Value> = std::iter::once(count).chain(keys).chain(arguments).collect();
        let arguments = std::iter::once(Value::String(function.0.clone())).chain(rest).collect();
        let request = Request { name: "FCALL", key: key.clone(), arguments, repeat };
        let attempt = self.attempt(&key, started)?;
        let mut result = self.send(&attempt, request.clone()).await;
        if matches!(result, Err(Failure::UnknownFunction)) {
            result = Box::pin(self.load_and_send(&attempt, request)).await;
        }
        self.concluded(&attempt, result)
    }

    /// Loads the library on the node of the request and sends the request again.
    async fn load_and_send(&self, attempt: &Attempt<'_>, request: Request) -> Result<Value, Failure> {
        let arguments = vec![Value::from_static_str("LOAD"), Value::String(LIBRARY.source.clone())];
        let load = Request { name: "FUNCTION", key: request.key.clone(), arguments, repeat: Repeat::Harmless };
        match self.send(attempt, load).await {
            Ok(_) | Err(Failure::LibraryExists) => self.send(attempt, request).await,
            Err(failure) => Err(failure),
        }
    }

    /// Sends a command whose first argument is its key.
    pub(crate) async fn ask(
        &self,
        name: &'static str,
        arguments: Vec<Value>,
        repeat: Repeat,
    ) -> Result<Value, StoreError> {
        let request = Request::on_key(name, arguments, repeat);
        let attempt = self.attempt(&request.key, Instant::now())?;
        let result = self.send(&attempt, request).await;
        self.concluded(&attempt, result)
    }

    /// The timeout of every operation.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Whether no operation currently succeeds on the part of this key.
    pub(crate) fn is_failing(&self, key: impl FnOnce() -> String) -> bool {
        let part = if self.health.parts() == 1 { 0 } else { redis_keyslot(key().as_bytes()).into() };
        self.health.is_failing(part)
    }

    /// The part of the store that holds a key.
    fn part(&self, key: Option<&[u8]>) -> usize {
        key.filter(|_| self.health.parts() == SLOTS).map_or(0, redis_keyslot).into()
    }

    fn attempt(&self, key: &Value, started: Instant) -> Result<Attempt<'_>, StoreError> {
        let refused = || StoreError::Unavailable("nothing has been answered of late".to_owned());
        self.health.attempt(self.part(key.as_bytes()), started).ok_or_else(refused)
    }

    fn concluded(&self, attempt: &Attempt<'_>, result: Result<Value, Failure>) -> Result<Value, StoreError> {
        if matches!(result, Err(Failure::Silent(_))) && self.health.silent(attempt) {
            tracing::debug!("Redis answers nothing");
        }
        result.map_err(StoreError::from)
    }

    async fn send(&self, attempt: &Attempt<'_>, request: Request) -> Result<Value, Failure> {
        let deadline = attempt.started + self.timeout;
        if request.repeat == Repeat::Harmless {
            return self.send_patiently(attempt, request, deadline).await;
        }
        Box::pin(self.send_patiently(attempt, Request::ahead_of(&request), deadline)).await?;
        self.heard(attempt, Box::pin(self.links.current().send(request, deadline)).await)
    }

    /// Sends an idempotent command, a second time if no reply is received.
    async fn send_patiently(
        &self,
        attempt: &Attempt<'_>,
        request: Request,
        deadline: Instant,
    ) -> Result<Value, Failure> {
        let first = self.links.current();
        let mut answer = pin!(first.send(request.clone(), deadline));
        if let Some(answer) = self.while_patient(attempt, deadline, &first, answer.as_mut()).await {
            return self.heard(attempt, answer);
        }
        let second = tokio::select! {
            biased;
            answer = answer.as_mut() => return self.heard(attempt, answer),
            Some(second) = self.links.after(&first) => second,
        };
        let mut repeated = Box::pin(second.send(request, deadline));
        tokio::select! {
            biased;
            answer = answer.as_mut() => if is_answer(&answer) {
                return self.heard(attempt, answer);
            },
            answer = repeated.as_mut() => return self.heard(attempt, answer),
        }
        self.heard(attempt, repeated.await)
    }

    /// Waits for a reply. If the part sends nothing to any operation for the patience, another link
    /// is opened.
    async fn while_patient(
        &self,
        attempt: &Attempt<'_>,
        deadline: Instant,
        link: &Arc<Link>,
        mut answer: impl Future<Output = Result<Value, Failure>> + Unpin,
    ) -> Option<Result<Value, Failure>> {
        let patience = (self.timeout / PATIENCE_SHARE).max(LEAST_PATIENCE);
        loop {
            let ends = self.health.quiet_since(attempt) + patience;
            if ends >= deadline || self.links.has_replaced(link) {
                return None;
            }
            if let Ok(answer) = timeout_at(ends, &mut answer).await {
                return Some(answer);
            }
            if let Ok(answer) = timeout(LISTEN_ON, &mut answer).await {
                return Some(answer);
            }
            if self.health.quiet_since(attempt) + patience <= ends {
                self.links.renew(link);
                return None;
            }
        }
    }

    fn heard(&self, attempt: &Attempt<'_>, result: Result<Value, Failure>) -> Result<Value, Failure> {
        if is_answer(&result) {
            self.health.answered(attempt);
        }
        result
    }
}

/// Whether the result came from the server.
fn is_answer(result: &Result<Value, Failure>) -> bool {
    result.as_ref().map_or_else(Failure::was_said, |_| true)
}
