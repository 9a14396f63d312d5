//! The core of Vestibule, without I/O: ids, settings, the rules of a line, tickets, passes, and the
//! store interface.
//!
//! The store knows which sessions are *present*; the signed ticket proves the *position*. So a
//! position survives a sleeping phone, a flushed store and a deployment, while absent visitors
//! block no one and use no memory.
//!
//! The rules ([`mod@line`]) are plain functions of (state, now, operation). The memory store is these
//! rules plus a lock; every other store implements the same rules.
//!
//! ```
//! use vestibule_core::line::{Line, Visit};
//! use vestibule_core::settings::Settings;
//! use vestibule_core::{Micros, SessionId};
//!
//! let settings = Settings::from_value(&serde_json::json!({
//!     "id": "acme-tour", "tenant": "acme", "hosts": ["tickets.example.com"], "quota": 1,
//!     "handover": { "kind": "redirect", "origin": "https://www.example.com" },
//!     "protection": { "pre_ticket_from": "none" },
//! }))
//! .unwrap();
//! let now = Micros(1_700_000_000_000_000);
//! let mut line = Line::new(settings.line, now, false);
//! let mut visit = || line.visit(now, &Visit::joining(SessionId::random()));
//! assert!(visit().place.unwrap().admitted_at.is_some(), "the first visitor gets the free slot");
//! assert_eq!(visit().place.unwrap().position, 1, "the second visitor waits at the head of the line");
//! ```

mod client_network;
pub mod cookie;
mod counters;
mod difficulty;
mod draw;
pub mod fields;
mod hex32;
mod id;
pub mod identity;
mod invitation;
pub mod jobs;
mod join_counters;
mod last_purge;
pub mod line;
mod message;
mod names;
mod poll;
mod proof_of_work;
mod sale_keys;
pub mod settings;
pub mod store;
mod support_code;
mod time;
mod token;
mod visitor_status;

pub use client_network::{ClientNetworks, NetworkClass, NetworkPrefix};
pub use difficulty::{
    ADDRESS_SHARE, ATTACK_FACTOR, BASE_MAX, DIFFICULTY_MAX, JoinLoad, NETWORK_SHARE, ProofMode, RATE_FACTOR_MAX,
    SHARED_PART, SUSPICIOUS_MIN, difficulty,
};
pub use draw::{Draw, DrawNumber, DrawTerms};
pub use fields::FieldError;
pub use hex::encode as hex;
pub use hex32::{Hex32, NotHex32};
pub use id::{BatchId, EventId, ID_MAX, IdError, QueueId, ScheduleId, SessionId, TenantId, ThemeId};
pub use invitation::{BatchKey, Invitation, InvitationCode, NotAnInvitation};
pub use join_counters::{CELL_MAX, COUNTERS, JOIN_WINDOW, JOIN_WINDOWS, join_window};
pub use last_purge::LastPurge;
pub use line::{PreTicket, Ticket, TicketAccount};
pub use message::{Message, Param, placeholders};
pub use poll::{
    NEAR_FRONT, POLL_NEAR, POLLS_PER_WAIT, beacon_after, confirm_after, draw_after, full_after, lobby_after,
    poll_after, rejected_after,
};
pub use proof_of_work::{
    Challenge, ChallengeData, ChallengeParameters, ChallengeSigner, ChallengeTerms, InvalidProof, Proof, Proven,
    Solution,
};
pub use sale_keys::SaleKeys;
pub use store::{PutMode, PutOutcome, Store, StoreError};
pub use support_code::{NotACode, ShortCode, VisitorCode, support_code};
pub use time::{Clock, InvalidTimestamp, MICROS_PER_SECOND, ManualClock, Micros, SystemClock, Timestamp};
pub use token::{
    COUNTER_ROWS, FirstVisit, Key, KeyError, KeyList, LobbyTicket, PASS_TTL, PassClaims, PassSigner, PrefixDigest,
    PrefixKind, ShownEstimate, TicketError, TicketOrigin, TicketSigner, TokenDigest, is_key_id, is_pre_ticket,
    verify_pass,
};
pub use visitor_status::{EndReason, EventStatus, JoinStep, VisitorState, VisitorStatus, WaitSeconds};
