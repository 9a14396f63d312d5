//! The options of `vestibule apply`.

use std::path::PathBuf;

use clap::Args;
use vestibule_core::settings::Origin;

use crate::arguments::parse_origin;

#[derive(Args)]
pub(crate) struct ApplyOptions {
    /// Settings file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,

    /// Target: redis://.., rediss://.., redis-cluster://.., redis-sentinel://.., or the backoffice at https://..; the backoffice
    /// requires an API token of a superuser in `VESTIBULE_ADMIN_TOKEN`
    #[arg(long, env = "VESTIBULE_REDIS_URL", hide_env_values = true, value_name = "URL")]
    pub(crate) to: String,

    /// Where the jobs of job queues are, as the flag of serve; a job queue with jobs is not removed [default: --to]
    #[arg(long, env = "VESTIBULE_JOBS_URL", hide_env_values = true, value_name = "URL")]
    pub(crate) jobs: Option<String>,

    /// Remove queues that are not in the file, together with their waiting visitors, and job queues without jobs
    #[arg(long)]
    pub(crate) remove: bool,

    /// Show the changes without writing them
    #[arg(long, visible_alias = "plan")]
    pub(crate) dry_run: bool,

    /// Skip the confirmation prompt
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) yes: bool,

    /// Origin of the site, for queues without an origin
    #[arg(long, env = "VESTIBULE_ORIGIN", value_parser = parse_origin, value_name = "URL")]
    pub(crate) origin: Option<Origin>,

    /// Sale keys of the gates, for events with a draw; a backoffice has its own
    #[arg(long, env = "VESTIBULE_SALE_KEYS", hide_env_values = true, value_name = "KEYS")]
    pub(crate) sale_keys: Option<String>,
}
