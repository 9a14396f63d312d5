//! HTTP: the target, the shared client, cookies, and the interpretation of responses.

mod client;
mod cookies;
mod response;
mod target;

pub use client::TargetCheckError;
pub(crate) use client::{Exchange, Job, RequestPool, USER_AGENT_PREFIX};
pub(crate) use cookies::CookieJar;
pub use target::{Target, TargetError};
