//! The backoffice: what it keeps, and its API.

mod audit;
pub(crate) mod backoffice;
mod beacons;
mod controls;
pub(crate) mod event_reports;
mod events;
mod function;
mod fuzz;
mod history;
mod invitations;
mod openapi;
mod outcomes;
mod protection;
mod queues;
mod records;
mod roles;
mod sessions;
mod settings;
mod sign_in;
mod single_sign_on;
mod stats;
mod tenants;
mod theme_drafts;
mod theme_fixture;
mod theme_removal;
mod themes;
mod totp;
