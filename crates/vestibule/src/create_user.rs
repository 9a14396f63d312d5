//! `vestibule admin create-user`: makes somebody who may sign in to the backoffice.

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use vestibule_admin::{NewOperator, create_operator, replace_operator};
use vestibule_runtime::open_store_and_records;

use crate::cli::CreateUserOptions;

/// How long the store may take for one operation: nobody waits in a line for this.
const PATIENCE: Duration = Duration::from_secs(10);
/// Where the password is read from if it is set.
const PASSWORD: &str = "VESTIBULE_ADMIN_PASSWORD";

/// Makes one. Exit status 1 if the name is taken.
pub(crate) async fn create_user(options: CreateUserOptions) -> anyhow::Result<ExitCode> {
    if options.store == "memory" {
        bail!("--store takes a Redis: in memory, operators end with the program that keeps them");
    }
    let (_, records) = open_store_and_records("--store", &options.store, PATIENCE)?;
    let CreateUserOptions { name, role, tenants, replace, .. } = options;
    let password = password()?;
    let new = match role.as_str() {
        "superuser" if !tenants.is_empty() => {
            bail!("--tenant goes with --role operator or viewer: a superuser has all")
        }
        "superuser" => NewOperator::superuser(&name, &password),
        "operator" => NewOperator::operator(&name, &password, tenants),
        _ => NewOperator::viewer(&name, &password, tenants),
    }?;
    let made = if replace { replace_operator(&*records, &new).await } else { create_operator(&*records, &new).await };
    if made.context("the store could not be written")? {
        println!("{name}: made, a {role}");
        return Ok(ExitCode::SUCCESS);
    }
    println!("{name}: not made, there is an operator of this name; --replace makes them anew");
    Ok(ExitCode::FAILURE)
}

/// The password from the environment, or asked for twice where somebody sits at the terminal.
fn password() -> anyhow::Result<String> {
    if let Ok(password) = std::env::var(PASSWORD) {
        return Ok(password);
    }
    if !std::io::stdin().is_terminal() {
        bail!("nobody is there to be asked for a password: set {PASSWORD}");
    }
    let password = rpassword::prompt_password("Password: ")?;
    if rpassword::prompt_password("The same again: ")? != password {
        bail!("these were two different passwords; nothing was made");
    }
    Ok(password)
}
