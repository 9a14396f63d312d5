//! The stand-alone program: the gate and the purge in one process, over any store.
//!
//! `vestibule serve` runs them, `vestibule check` reads a settings file and says what is wrong with it, `vestibule apply`
//! writes one into the Redis that gates share, and `vestibule demo` shows the whole of it on one machine, with a small
//! shop as the site and a crowd before it.

mod admin;
mod apply;
mod check;
mod cli;
mod create_user;
mod demo;
mod file_record;
mod keys;
mod limits;
mod plan;
mod provider;
mod rehearse;
mod serve;
mod server;
mod settings_file;
mod state_file;
mod summary;

use std::process::ExitCode;

use clap::Parser as _;

/// A request is many small allocations on two threads: with the system's allocator it costs a third more.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let command = cli::Cli::parse().command;
    let outcome = match command {
        cli::Command::Serve(options) => run_on(options.threads, serve::serve(*options)),
        cli::Command::Demo(options) => run(demo::demo(options)),
        cli::Command::Apply(options) => run(apply::apply(options)),
        cli::Command::Check(options) => run(check::check(options)),
        cli::Command::Admin(cli::AdminCommand::CreateUser(options)) => run(create_user::create_user(options)),
        cli::Command::Rehearse(options) => run(rehearse::rehearse(*options)),
        cli::Command::Plan(options) => Ok(plan::plan(&options)),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("vestibule: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(program: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    run_on(None, program)
}

/// On so many threads, or one for each processor.
fn run_on(threads: Option<u16>, program: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if let Some(threads) = threads {
        runtime.worker_threads(threads.into());
    }
    runtime.enable_all().build()?.block_on(program)
}
