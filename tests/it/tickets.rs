//! Tickets: which ones restore a session and which are ignored; and what a request costs the store.

mod cookies;
mod cost;
mod forged;
mod keys;
mod tabs;
