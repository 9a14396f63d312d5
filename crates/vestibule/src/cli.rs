//! The command line.

use clap::{Parser, Subcommand};

use crate::apply::ApplyOptions;
use crate::check::CheckOptions;
use crate::create_user::CreateUserOptions;
use crate::demo::DemoOptions;
use crate::draw_beacon::DrawBeaconOptions;
use crate::invitations::InvitationsOptions;
use crate::jobs::JobsCommand;
use crate::plan::PlanOptions;
use crate::push::PushOptions;
use crate::rehearse::RehearseOptions;
use crate::schedules::SchedulesCommand;
use crate::serve_options::ServeOptions;
use crate::verify_draw::VerifyDrawOptions;
use crate::webhooks::WebhooksCommand;
use crate::work::WorkOptions;

/// A virtual waiting room. When a site has more visitors than its quota, new visitors wait in line, see their position,
/// and are admitted in order of arrival.
#[derive(Parser)]
#[command(name = "vestibule", version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run the gate in front of a site, together with the purge, the backoffice and the metrics
    Serve(Box<ServeOptions>),
    /// Run jobs only: a worker beside serve processes that share its Redis
    Work(WorkOptions),
    /// Run a local demo with a sample shop and simulated visitors
    Demo(DemoOptions),
    /// Validate a settings file and report errors by line and field
    Check(CheckOptions),
    /// Show what a settings file would change in the shared Redis or the backoffice, then apply it
    Apply(ApplyOptions),
    /// Enqueue a job
    Push(PushOptions),
    /// Show and operate job queues
    #[command(subcommand)]
    Jobs(JobsCommand),
    /// Show and run the schedules of job queues
    #[command(subcommand)]
    Schedules(SchedulesCommand),
    /// Test the webhooks of job queues
    #[command(subcommand)]
    Webhooks(WebhooksCommand),
    /// Manage backoffice operators
    #[command(subcommand)]
    Admin(AdminCommand),
    /// Load-test a running gate and check its guarantees
    Rehearse(Box<RehearseOptions>),
    /// Simulate a sale: waits and cost for each quota
    Plan(Box<PlanOptions>),
    /// Print the invitation codes of a batch as CSV
    Invitations(InvitationsOptions),
    /// Record the value of the beacon of a draw in the backoffice
    DrawBeacon(DrawBeaconOptions),
    /// Check a draw by the line document that the gate published, from its address or a file
    VerifyDraw(VerifyDrawOptions),
}

#[derive(Subcommand)]
pub(crate) enum AdminCommand {
    /// Create an operator. Reads the password from `VESTIBULE_ADMIN_PASSWORD`, or prompts for it
    CreateUser(CreateUserOptions),
}
