//! How admitted visitors reach the site.

mod nginx;
mod proxy;
mod redirect;
