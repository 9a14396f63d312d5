//! What lies under `/_vestibule/`.

mod assets;
mod check;
mod cors;
mod language;
mod line;
mod operator;
mod presence;
mod stream;
mod tenants;
mod visitor_status;
