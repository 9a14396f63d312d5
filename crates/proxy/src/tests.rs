mod connections;
mod failures;
mod headers;
mod messages;
mod streams;
mod support;
mod upgrades;
