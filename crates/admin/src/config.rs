//! What the backoffice's function reads from its environment. The stand-alone program has a flag for most of these.

use std::error::Error;
use std::sync::Arc;

use tracing::{info, warn};
use vestibule_core::settings::TrustedHeaders;
use vestibule_core::{SaleKeys, StoreError};
use vestibule_runtime::{
    Directory, JobsConfig, StoreConfig, TRUSTED_PROXIES_MAX, number, open_store_and_records, parsed,
    sale_keys_from_env, trusted_headers_from_env, variable,
};
use vestibule_themes::ThemesConfig;

use crate::access::RequireTotp;
use crate::bootstrap::{NewOperator, bootstrap};
use crate::oidc::ProviderConfig;
use crate::state::AdminParts;

/// Proxies in front of a function unless `VESTIBULE_TRUSTED_PROXIES` says otherwise: the load balancer, the API gateway
/// or the function URL, without which no request gets here.
const TRUSTED_PROXIES: u64 = 1;
/// Days for which audit events are kept by default.
pub const AUDIT_DAYS: u64 = 365;
/// Longest time for which audit events are kept, in days.
pub const AUDIT_DAYS_MAX: u64 = 3650;
const STORE: &str = "VESTIBULE_REDIS_URL";
const THEMES: &str = "VESTIBULE_THEMES";
const REQUIRE_TOTP: &str = "VESTIBULE_REQUIRE_TOTP";
const BOOTSTRAP: &str = "VESTIBULE_ADMIN_BOOTSTRAP";

/// A backoffice as a function's environment describes it.
pub struct AdminConfig {
    /// `VESTIBULE_REDIS_URL`, `VESTIBULE_STORE_TIMEOUT_MS`.
    pub store: StoreConfig,
    /// `VESTIBULE_TRUSTED_PROXIES`: 0 to [`TRUSTED_PROXIES_MAX`], 1 if it is not set.
    pub trusted_proxies: usize,
    /// `VESTIBULE_OIDC_ISSUER` and those beside it.
    pub provider: Option<ProviderConfig>,
    /// `VESTIBULE_THEMES`: where themes are stored.
    pub themes: ThemesConfig,
    /// `VESTIBULE_AUDIT_DAYS`: days for which audit events are kept, 1 to 3650, [`AUDIT_DAYS`] if it is not set.
    pub audit_days: u64,
    /// `VESTIBULE_REQUIRE_TOTP`: which operators need TOTP to sign in with a password.
    pub require_totp: RequireTotp,
    /// `VESTIBULE_ADMIN_BOOTSTRAP`: `name:password` of the first superuser, who is added unless there is one.
    pub first: Option<NewOperator>,
    /// `VESTIBULE_SALE_KEYS`: the sale keys of the gates. Needed for events with a draw.
    pub sale_keys: SaleKeys,
    /// `VESTIBULE_TRUSTED_HEADERS`: those of the gates, which rules may name.
    pub trusted_headers: TrustedHeaders,
    /// `VESTIBULE_JOBS_URL`, `VESTIBULE_JOBS_MIN_REPLICAS`: those of the gates. There are no job queues if it is not set.
    pub jobs: Option<JobsConfig>,
}

impl AdminConfig {
    /// Reads the variables.
    ///
    /// # Errors
    /// A variable is missing or invalid. The message names it and contains no secret.
    pub fn from_env() -> Result<Self, Box<dyn Error + Send + Sync>> {
        let proxies = number("VESTIBULE_TRUSTED_PROXIES", 0..=TRUSTED_PROXIES_MAX as u64, TRUSTED_PROXIES)?;
        Ok(Self {
            store: StoreConfig::from_env()?,
            trusted_proxies: proxies as usize,
            provider: ProviderConfig::from_env()?,
            themes: ThemesConfig { address: variable(THEMES), recheck: None },
            audit_days: number("VESTIBULE_AUDIT_DAYS", 1..=AUDIT_DAYS_MAX, AUDIT_DAYS)?,
            require_totp: parsed(REQUIRE_TOTP)?.unwrap_or_default(),
            first: parsed(BOOTSTRAP)?,
            sale_keys: sale_keys_from_env()?,
            trusted_headers: trusted_headers_from_env()?,
            jobs: JobsConfig::from_env()?,
        })
    }

    /// Opens the store and the themes, and adds the first superuser unless there is one. The store is connected in the
    /// background, so this must be called within the program's runtime.
    ///
    /// # Errors
    /// The address of the store or of the themes is invalid.
    pub async fn open(self) -> Result<AdminParts, Box<dyn Error + Send + Sync>> {
        let stores = open_store_and_records(STORE, &self.store.url, self.store.timeout)?;
        let jobs = self.jobs.map(|jobs| jobs.open(&self.store, &stores)).transpose()?;
        let (store, records) = stores;
        if let Some(first) = &self.first {
            // If the store is unavailable now, the next start adds the superuser.
            let added: Result<bool, StoreError> = bootstrap(&*records, first).await;
            match added {
                Ok(true) => info!("the first superuser can sign in; {BOOTSTRAP} is not needed any more"),
                Ok(false) => {}
                Err(error) => warn!(%error, "could not check whether there is a superuser"),
            }
        }
        Ok(AdminParts {
            directory: Arc::new(Directory::new(store.clone(), Vec::new(), Vec::new())),
            store,
            records,
            trusted_proxies: self.trusted_proxies,
            provider: self.provider,
            themes: self.themes.open_versions(THEMES)?,
            audit_days: self.audit_days,
            require_totp: self.require_totp,
            streams: false,
            sale_keys: self.sale_keys,
            trusted_headers: self.trusted_headers,
            jobs,
        })
    }
}
