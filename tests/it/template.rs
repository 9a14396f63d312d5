//! `template.yaml`: what `CloudFormation` makes of it is what the functions need. And what docs/aws says of it.

mod build;
mod costs;
mod diagram;
mod environment;
mod jobs;
mod keys;
mod load;
mod permissions;
mod protection;
mod reach;
mod redis;
mod resources;
mod rules;
mod stack;
mod stages;
mod streams;
