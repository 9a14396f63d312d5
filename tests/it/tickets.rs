//! Tickets: who shows what is recognised, or simply new; and what a request costs the store.

mod cookies;
mod cost;
mod forged;
mod keys;
mod tabs;
