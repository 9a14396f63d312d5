mod addresses;
mod calls;
mod fixture;
mod settings;
mod stopping;
mod webhooks;
