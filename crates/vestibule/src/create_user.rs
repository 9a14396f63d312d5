//! `vestibule admin create-user`: creates an operator of the backoffice.

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use vestibule_admin::{NewOperator, create_operator, replace_operator};
use vestibule_core::{Store, TenantId};
use vestibule_runtime::{is_memory, open_store_and_records};

#[derive(Args)]
pub(crate) struct CreateUserOptions {
    /// Name to sign in with
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// Role: superuser (full access), operator (can change the queues of their tenants) or viewer (read-only)
    #[arg(long, default_value = "superuser", value_parser = ["superuser", "operator", "viewer"], value_name = "ROLE")]
    pub(crate) role: String,

    /// Tenant the operator has access to; can be repeated. Required for operators and viewers
    #[arg(long = "tenant", value_name = "ID")]
    pub(crate) tenants: Vec<TenantId>,

    /// Replace an existing operator; revokes the password and all sign-ins
    #[arg(long)]
    pub(crate) replace: bool,

    /// Store URL: redis://.., rediss://.., redis-cluster://.. or redis-sentinel://..
    #[arg(long, env = "VESTIBULE_REDIS_URL", hide_env_values = true, value_name = "URL")]
    pub(crate) store: String,
}

/// Timeout of a store operation. No visitor waits for this command, so it may be long.
const STORE_TIMEOUT: Duration = Duration::from_secs(10);
/// Environment variable that has the password.
const PASSWORD_VARIABLE: &str = "VESTIBULE_ADMIN_PASSWORD";

/// Creates an operator. Exit status 1 if the name is taken.
pub(crate) async fn create_user(options: CreateUserOptions) -> anyhow::Result<ExitCode> {
    if is_memory(&options.store) {
        bail!("--store must be a Redis URL: the memory store ends with its process");
    }
    let (store, records) = open_store_and_records("--store", &options.store, STORE_TIMEOUT)?;
    let CreateUserOptions { name, role, tenants, replace, .. } = options;
    if role == "superuser" && !tenants.is_empty() {
        bail!("--tenant requires --role operator or viewer: a superuser has access to all tenants");
    }
    check_tenants(&*store, &tenants).await?;
    let password = password()?;
    let new = match role.as_str() {
        "superuser" => NewOperator::superuser(&name, &password),
        "operator" => NewOperator::operator(&name, &password, tenants),
        _ => NewOperator::viewer(&name, &password, tenants),
    }?;
    let created =
        if replace { replace_operator(&*records, &new).await } else { create_operator(&*records, &new).await };
    if created.context("cannot write to the store")? {
        println!("Created {role} {name}");
        return Ok(ExitCode::SUCCESS);
    }
    println!("\"{name}\" already exists; use --replace to reset it");
    Ok(ExitCode::FAILURE)
}

/// Every tenant must exist: an operator of one that does not sees nothing, and gets access if it is created later.
async fn check_tenants(store: &dyn Store, tenants: &[TenantId]) -> anyhow::Result<()> {
    if tenants.is_empty() {
        return Ok(());
    }
    let known = store.tenants().await.context("cannot read the tenants in the store")?;
    let Some(unknown) = tenants.iter().find(|id| !known.iter().any(|tenant| tenant.id == **id)) else { return Ok(()) };
    if known.is_empty() {
        bail!(
            "--tenant \"{unknown}\" does not exist: the store has no tenants. Start `vestibule serve` with a settings file, or \
             create the tenant in the backoffice"
        );
    }
    let known: Vec<&str> = known.iter().map(|tenant| tenant.id.as_str()).collect();
    bail!("--tenant \"{unknown}\" does not exist; the tenants in the store are {}", known.join(", "))
}

/// The password from the environment, or from a prompt on the terminal.
fn password() -> anyhow::Result<String> {
    if let Ok(password) = std::env::var(PASSWORD_VARIABLE) {
        return Ok(password);
    }
    if !std::io::stdin().is_terminal() {
        bail!("stdin is not a terminal; set {PASSWORD_VARIABLE}");
    }
    let password = rpassword::prompt_password("Password: ")?;
    if rpassword::prompt_password("Repeat password: ")? != password {
        bail!("passwords do not match; nothing was created");
    }
    Ok(password)
}
