//! What lies under `/_vestibule/`.

mod assets;
mod check;
mod cors;
mod presence;
mod visitor_status;
