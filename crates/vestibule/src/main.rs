//! The stand-alone program: the gate and the purge in one process, over any store.
//!
//! `vestibule serve` runs them, `vestibule check` validates a settings file, `vestibule apply` writes one to the Redis that
//! gates share, and `vestibule demo` runs everything on one machine with a sample shop and simulated visitors.

// Shadows the macros of the standard library, which panic if the reader has closed the pipe: `apply | head` must finish.
macro_rules! print {
    ($($text:tt)*) => { $crate::output::print(format_args!($($text)*)) };
}
macro_rules! println {
    ($($text:tt)*) => { $crate::output::print_line(format_args!($($text)*)) };
}
macro_rules! eprintln {
    ($($text:tt)*) => { $crate::output::print_error(format_args!($($text)*)) };
}

mod admin;
mod api_client;
mod apply;
mod arguments;
mod beacon;
mod check;
mod check_url;
mod cli;
mod create_user;
mod demo;
mod draw_beacon;
mod environment;
mod invitations;
mod jobs;
mod keys;
mod last_applied_settings;
mod limits;
mod output;
mod plan;
mod progress;
mod prompt;
mod provider;
mod purge_loop;
mod push;
mod rehearse;
mod relay;
mod report_output;
mod rule_warnings;
mod schedules;
mod serve;
mod serve_options;
mod server;
mod settings_file;
mod settings_writer;
mod signals;
mod state_file;
mod store_options;
mod summary;
mod verify_draw;
mod webhooks;
mod work;
mod workload_options;

use std::process::ExitCode;

/// A request makes many small allocations on two threads; the system's allocator needs a third more CPU time for it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let command = environment::parse::<cli::Cli>().command;
    let outcome = match command {
        cli::Command::Serve(options) => run_on(options.threads, serve::serve(*options)),
        cli::Command::Work(options) => run(work::work(options)),
        cli::Command::Demo(options) => run(demo::demo(options)),
        cli::Command::Apply(options) => run(apply::apply(options)),
        cli::Command::Check(options) => run(check::check(options)),
        cli::Command::Push(options) => run(push::push(options)),
        cli::Command::Jobs(command) => run(jobs::jobs(command)),
        cli::Command::Schedules(command) => run(schedules::schedules(command)),
        cli::Command::Webhooks(command) => run(webhooks::webhooks(command)),
        cli::Command::Admin(cli::AdminCommand::CreateUser(options)) => run(create_user::create_user(options)),
        cli::Command::Rehearse(options) => run(rehearse::rehearse(*options)),
        cli::Command::Plan(options) => Ok(plan::plan(&options)),
        cli::Command::Invitations(options) => run(invitations::invitations(options)),
        cli::Command::DrawBeacon(options) => run(draw_beacon::draw_beacon(options)),
        cli::Command::VerifyDraw(options) => run(async { Ok(verify_draw::verify_draw(options).await) }),
    };
    match outcome {
        Ok(code) => match output::failure() {
            Some(error) => {
                eprintln!("vestibule: cannot write to stdout: {error}");
                ExitCode::FAILURE
            }
            None => code,
        },
        Err(error) => {
            eprintln!("vestibule: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(program: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    run_on(None, program)
}

/// Runs on this number of threads, by default one per processor.
fn run_on(threads: Option<u16>, program: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if let Some(threads) = threads {
        runtime.worker_threads(threads.into());
    }
    runtime.enable_all().build()?.block_on(program)
}
