//! `vestibule admin create-user`: creates an operator of the backoffice.

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use vestibule_admin::{NewOperator, OperatorReset, OperatorResetError, Role, create_operator, reset_operator};
use vestibule_core::{Store, TenantId};
use vestibule_runtime::{is_memory, open_store_and_records};

use crate::store_options::shown;

#[derive(Args)]
pub(crate) struct CreateUserOptions {
    /// Name to sign in with
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// Role: superuser (full access), operator (can change the queues of their tenants) or viewer (read-only)
    /// [default: superuser; with --replace, the role of the operator]
    #[arg(long, value_parser = ["superuser", "operator", "viewer"], value_name = "ROLE")]
    pub(crate) role: Option<String>,

    /// Tenant the operator has access to; can be repeated. Required for new operators and viewers
    #[arg(long = "tenant", value_name = "ID")]
    pub(crate) tenants: Vec<TenantId>,

    /// Reset an existing operator: sets a new password, removes the second factor and ends all sign-ins. Role, tenants and API
    /// tokens stay, unless --role or --tenant change them
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

/// Creates or resets an operator. Exit status 1 if the name is taken, or there is none of this name to reset.
pub(crate) async fn create_user(options: CreateUserOptions) -> anyhow::Result<ExitCode> {
    if is_memory(&options.store) {
        bail!("--store must be a Redis URL: the memory store ends with its process");
    }
    let unwritten = format!("cannot write to the store at {}", shown(&options.store));
    let (store, records) = open_store_and_records("--store", &options.store, STORE_TIMEOUT)?;
    let CreateUserOptions { name, role, tenants, replace, .. } = options;
    let role = Role::WORDS.iter().find(|(word, _)| role.as_deref() == Some(*word)).map(|(_, role)| *role);
    let role = if replace { role } else { role.or(Some(Role::Superuser)) };
    if role == Some(Role::Superuser) && !tenants.is_empty() {
        bail!("--tenant requires --role operator or viewer: a superuser has access to all tenants");
    }
    check_tenants(&*store, &tenants).await?;
    let password = password()?;
    if replace {
        let reset = OperatorReset::new(&name, &password, role, tenants)?;
        return match reset_operator(&*records, &reset).await {
            Ok(role) => {
                println!("Replaced {} {name}", role.as_str());
                Ok(ExitCode::SUCCESS)
            }
            Err(OperatorResetError::Store(error)) => Err(error).context(unwritten),
            Err(OperatorResetError::Unknown) => bail!("\"{name}\" does not exist; without --replace, it is created"),
            Err(error) => bail!("\"{name}\" was not changed: {error}"),
        };
    }
    let role = role.unwrap_or(Role::Superuser);
    let new = match role {
        Role::Superuser => NewOperator::superuser(&name, &password),
        Role::Operator => NewOperator::operator(&name, &password, tenants),
        Role::Viewer => NewOperator::viewer(&name, &password, tenants),
    }?;
    if create_operator(&*records, &new).await.context(unwritten)? {
        println!("Created {} {name}", role.as_str());
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
