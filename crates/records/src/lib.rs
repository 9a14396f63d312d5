#![doc = include_str!("../README.md")]

mod client_address;
pub mod event_report;
pub mod history;
mod store;

pub use client_address::client_address_state;
pub use store::{
    DOCUMENTS_MAX, Document, DocumentChange, DocumentKind, DocumentOutcome, ENTRIES_MAX, EPHEMERAL_TTL_MAX, Entry,
    EntryId, EntryIdError, EphemeralKey, EphemeralKind, LogName, LoggedQueue, RecordStore,
};
