//! What the gate answers to a request of any path.

mod accounts;
mod beacon;
mod events;
mod invitations;
mod joining;
mod limits;
mod lobby;
mod pre_tickets;
mod proofs;
mod readings;
mod rules;
mod trusted_headers;
mod waiting;
