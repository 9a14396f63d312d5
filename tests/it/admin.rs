//! The backoffice: what it keeps, and its API.

mod audit;
mod document;
mod function;
mod fuzz;
mod history;
mod levers;
mod numbers;
pub(crate) mod office;
mod outcomes;
mod provider;
mod queues;
mod records;
mod roles;
mod sessions;
mod settings;
mod sign_in;
mod sketches;
mod tenants;
mod theme_ends;
mod themes;
mod totp;
mod workshop;
