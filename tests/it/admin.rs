//! The backoffice: what it keeps, and its API.

mod audit;
mod document;
mod history;
mod levers;
mod numbers;
mod office;
mod queues;
mod records;
mod roles;
mod sessions;
mod settings;
mod sign_in;
mod tenants;
