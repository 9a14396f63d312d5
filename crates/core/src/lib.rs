//! core
mod id;
mod standing;
pub use id::*;
pub use standing::*;
