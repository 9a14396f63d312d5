//! demo
use crate::cli::DemoOptions;
use std::process::ExitCode;
pub(crate) async fn demo(_options: DemoOptions) -> anyhow::Result<ExitCode> {
    Ok(ExitCode::SUCCESS)
}
