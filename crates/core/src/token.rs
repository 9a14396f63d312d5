//! Tickets, pre-tickets and passes: the only code that signs or verifies. All are JSON Web Signatures in compact form (RFC 7515).

mod account;
mod account_key;
mod jws;
mod keys;
mod lobby_ticket;
mod mac;
mod network;
mod pass;
mod pre_ticket;
mod ticket;

pub use account::TokenDigest;
pub(crate) use keys::SALE_KEY_LEN;
pub use keys::is_key_id;
pub use keys::{Key, KeyError, KeyList};
pub use lobby_ticket::LobbyTicket;
pub(crate) use mac::{MAC_LEN, Mac};
pub use network::{COUNTER_ROWS, PrefixDigest, PrefixKind};
pub use pass::{PASS_TTL, PassClaims, PassSigner, verify_pass};
pub use pre_ticket::{FirstVisit, is_pre_ticket};
pub use ticket::{ShownStatus, TicketError, TicketOrigin, TicketSigner};
