//! How admitted visitors reach the site.

mod cache;
mod nginx;
mod proxy;
mod redirect;

pub(crate) use nginx::server as documented_nginx;
