//! What the tests stand on: real servers on loopback, an origin that records, and visitors with cookie jars.
//!
//! Every server has its own port and its own temporary folder. It ends when its value is dropped, and also when
//! the test process dies in any other way.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "what the harness can't do is a failed test")]
#![expect(clippy::missing_panics_doc, reason = "everything here panics where a test would fail")]

mod account_tokens;
mod admin;
mod alertmanager;
mod balancer;
mod certificates;
mod cluster;
mod compose;
mod documented_handler;
mod event_stream;
mod faketime;
mod gate;
mod identity_provider;
mod lambda;
mod moto;
mod nginx;
mod origin;
mod ports;
mod process;
mod program;
mod prometheus;
mod redis;
mod resp;
mod s3;
mod sentinel;
mod site;
mod sqs;
mod tcp_proxy;
mod visitor;
mod wait_until;

pub use account_tokens::{AccountKeyServer, account_keys, account_token, forged_account_token, load_balancer_token};
pub use admin::{AdminClient, AdminUnderTest};
pub use alertmanager::{Alertmanager, ReceivedAlert};
pub use balancer::{Balancer, BalancerOptions, MAX_REQUEST, MAX_RESPONSE};
pub use certificates::write_certificates;
pub use cluster::Cluster;
pub use compose::{ComposeStack, Dockerfile, yaml};
pub use documented_handler::DocumentedHandler;
pub use event_stream::{EventStream, StreamBlock};
pub use faketime::FakeTime;
pub use gate::{GateOptions, GateUnderTest};
pub use identity_provider::IdentityProvider;
pub use lambda::{Deployment, Emulator, Function, Instance, Instances, RuntimeApi};
pub use nginx::Nginx;
pub use origin::{Origin, Recorded, network_address};
pub use ports::free_port;
pub use program::{Program, ProgramOptions};
pub use prometheus::{Exposition, Prometheus, Sample, promtool_check, sample};
pub use redis::Redis;
pub use resp::Value;
pub use s3::S3;
pub use sentinel::Sentinel;
pub use site::Site;
pub use sqs::Sqs;
pub use tcp_proxy::TcpProxy;
pub use visitor::{TestResponse, Visitor, WebSocket};
pub use wait_until::wait_until;
