//! Tickets and passes: the only code that signs or verifies. Both are JSON Web Signatures in compact form (RFC 7515).

mod jws;
mod keys;
mod pass;
mod ticket;

pub(crate) use keys::is_kid;
pub use keys::{Key, KeyError, KeyList, PASS_KEY_LEN, TICKET_KEY_MIN};
pub use pass::{PASS_ISSUER, PASS_TTL, PassClaims, PassSigner, verify_pass};
pub use ticket::{LobbyTicket, ShownEstimate, TICKET_MAX, TicketError, TicketSigner};
