//! HTTP: the target, the shared client, cookies, and the interpretation of responses.

mod client;
mod cookies;
mod lobby;
mod response;
mod solver;
mod stream;
mod target;
mod ticket;

pub use client::TargetCheckError;
pub(crate) use client::{Exchange, Job, Received, RequestPool, StreamMessage, USER_AGENT_PREFIX};
pub(crate) use cookies::CookieJar;
pub use lobby::{LobbyError, wait_for_lobby};
pub use target::{Target, TargetError};
