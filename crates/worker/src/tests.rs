mod addresses;
mod calls;
mod fixture;
mod settings;
mod settling;
mod stopping;
mod webhooks;
