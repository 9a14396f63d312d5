//! How admitted visitors reach the site.

mod cache;
mod endings;
mod nginx;
pub(crate) mod proxy;
mod redirect;

pub(crate) use nginx::server as documented_nginx;
