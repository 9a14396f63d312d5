//! The heart of Vestibule, without I/O: ids, settings, the rules of a line, tickets, passes, the wait estimate, and the
//! interface of a store.
//!
//! Its one idea: the store knows who is *present*, the signed ticket knows who has *which place*. So a place survives a
//! phone that slept, a store that was flushed and a deploy, while those who went away block nobody and cost no memory.
//!
//! The rules ([`mod@line`]) are plain functions of (state, now, operation). The [`MemoryStore`] is these rules plus a lock;
//! every other store keeps the very same ones.
//!
//! ```
//! use vestibule_core::line::{Line, Visit};
//! use vestibule_core::settings::Settings;
//! use vestibule_core::{Micros, SessionId};
//!
//! let settings = Settings::from_value(&serde_json::json!({
//!     "id": "acme-tour", "tenant": "acme", "hosts": ["tickets.example.com"], "quota": 1,
//!     "handover": { "kind": "redirect", "origin": "https://www.example.com" },
//! }))
//! .unwrap();
//! let now = Micros(1_700_000_000_000_000);
//! let mut line = Line::new(settings.line, now, false);
//! let mut visit = || line.visit(now, &Visit::joining(SessionId::random()));
//! assert!(visit().place.unwrap().admitted_at.is_some(), "the first finds a free place");
//! assert_eq!(visit().place.unwrap().position, 1, "the second waits at the head of the line");
//! ```

pub mod cookie;
mod estimate;
pub mod history;
mod id;
mod keys;
mod last_purge;
pub mod line;
mod memory;
mod memory_records;
mod message;
mod pass;
mod poll;
pub mod records;
pub mod settings;
mod store;
mod support_code;
mod ticket;
mod time;
mod token_crypto;
mod visitor_status;

pub use estimate::{WaitRange, expected_wait, wait_estimate};
pub use id::{ID_MAX, IdError, QueueId, SessionId, TenantId, ThemeId};
pub use keys::{Key, KeyError, KeyList, PASS_KEY_LEN, TICKET_KEY_MIN};
pub use last_purge::LastPurge;
pub use memory::{MemorySnapshot, MemoryStore};
pub use memory_records::MemoryRecords;
pub use message::{Message, Param, placeholders};
pub use pass::{PASS_ISSUER, PASS_TTL, PassClaims, PassSigner, verify_pass};
pub use poll::{confirm_after, poll_after};
pub use store::{PutMode, PutOutcome, Store, StoreError};
pub use ticket::{ShownEstimate, TICKET_MAX, Ticket, TicketError, TicketSigner};
pub use time::{Clock, MICROS_PER_SECOND, ManualClock, Micros, SystemClock};
pub use visitor_status::{EndReason, VisitorState, VisitorStatus, WaitSeconds};
