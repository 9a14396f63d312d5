#![doc = include_str!("../README.md")]

mod causes;
mod client_network;
pub mod content_type;
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

pub use causes::{causes, with_causes};
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
    PrefixKind, ShownStatus, TicketError, TicketOrigin, TicketSigner, TokenDigest, is_key_id, is_pre_ticket,
    verify_pass,
};
pub use visitor_status::{EndReason, EventStatus, JoinStep, RetryReason, VisitorState, VisitorStatus, WaitSeconds};
