//! Themes: whose they are, what is uploaded of them, and how they are looked at before they are live.
//!
//! A theme belongs to the tenant whose id it has, or begins with: `acme` and `acme-summer` are acme's. Where several
//! tenants' ids fit, the longest counts. So nothing more is to be kept, and whoever copies themes into the folder by hand
//! says by the name alone whose they are. All others, `default` among them, are the superusers'.
//!
//! A queue has a theme of its own tenant, or `default`; a superuser may also give it one of no tenant. So a theme can only
//! be in use where its owner sees it.

mod draft_preview;
mod frame;
mod preview;
mod sample;
mod upload;

use vestibule_core::settings::{FieldError, Settings, Tenant};
use vestibule_core::{TenantId, ThemeId};
use vestibule_themes::{KnownTheme, ThemeError, ThemeVersions, VersionError};

use crate::access::{Principal, Role};
use crate::body::wrong;
use crate::codes::Code;
use crate::problem::Problem;
use crate::state::Admin;

pub(crate) use draft_preview::{
    DRAFT_MAX, DraftPreview, DraftTemplate, RenderLimiter, ThemeDraftPreview, render_preview,
};
pub(crate) use frame::{PREVIEW_FRAME, preview_frame};
pub(crate) use preview::{PREVIEW_FILES, PreviewCache, preview_file, preview_page};
pub(crate) use upload::{ThemeUpload, Unpacking, Upload, ZipArchive};

/// The theme of queues that name none.
const DEFAULT_THEME: &str = "default";

/// A theme, and whose it is.
pub(crate) struct OwnedTheme {
    pub(crate) id: ThemeId,
    pub(crate) tenant: Option<Tenant>,
}

impl OwnedTheme {
    fn of(id: ThemeId, tenants: &[Tenant]) -> Self {
        let tenant = owner(&id, tenants).cloned();
        Self { id, tenant }
    }

    pub(crate) fn tenant_id(&self) -> Option<&TenantId> {
        self.tenant.as_ref().map(|tenant| &tenant.id)
    }

    fn is_seen_by(&self, principal: &Principal) -> bool {
        self.tenant_id().map_or_else(|| principal.is_superuser(), |tenant| principal.can_view(tenant))
    }
}

/// The tenant whose theme it is by its name.
fn owner<'a>(theme: &ThemeId, tenants: &'a [Tenant]) -> Option<&'a Tenant> {
    let has = |tenant: &&Tenant| {
        let rest = theme.as_str().strip_prefix(tenant.id.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    tenants.iter().filter(has).max_by_key(|tenant| tenant.id.as_str().len())
}

/// Whether queues of a tenant may have a theme.
fn may_have(tenant: &TenantId, theme: &ThemeId, tenants: &[Tenant], by_superuser: bool) -> bool {
    match owner(theme, tenants) {
        Some(owner) => owner.id == *tenant,
        None => by_superuser || theme.as_str() == DEFAULT_THEME,
    }
}

/// What is wrong with a queue's theme, if another tenant owns it.
pub(crate) fn theme_refusal(queue: &Settings, tenants: &[Tenant], by_superuser: bool) -> Option<FieldError> {
    let theme = queue.theme.as_ref().filter(|theme| !may_have(&queue.tenant, theme, tenants, by_superuser))?;
    let fault = Code::ForeignTheme.with("theme", theme.as_str()).with("tenant", queue.tenant.as_str());
    Some(FieldError::new("theme", fault))
}

/// Refuses a logo that is in no live theme which queues of the tenant may have. Where none is live yet, or themes are not
/// kept here, nobody can say; pages show the name until they find the file.
pub(crate) async fn refuse_missing_logo(admin: &Admin, tenant: &Tenant) -> Result<(), Problem> {
    let (Some(publisher), Some(logo)) = (&admin.themes, &tenant.logo) else { return Ok(()) };
    let mut tenants = admin.store.tenants().await?;
    tenants.push(tenant.clone());
    let mut live: Vec<ThemeId> = Vec::new();
    for KnownTheme { id, .. } in publisher.themes().await?.into_iter().filter(|theme| theme.live) {
        if may_have(&tenant.id, &id, &tenants, true) {
            if publisher.live_paths(&id).await?.contains(logo) {
                return Ok(());
            }
            live.push(id);
        }
    }
    if live.is_empty() {
        return Ok(());
    }
    let live: Vec<_> = live.iter().map(|id| format!("\"{id}\"")).collect();
    Err(wrong("logo", Code::LogoNotFound.with("file", logo.as_str()).with("themes", live.join(", "))))
}

/// The themes that there are and that the principal may see, and whether each is live.
pub(crate) async fn all_visible(admin: &Admin, principal: &Principal) -> Result<Vec<(OwnedTheme, bool)>, Problem> {
    let tenants = admin.store.tenants().await?;
    let there = publisher(admin)?.themes().await?;
    let owned = there.into_iter().map(|KnownTheme { id, live }| (OwnedTheme::of(id, &tenants), live));
    Ok(owned.filter(|(theme, _)| theme.is_seen_by(principal)).collect())
}

/// What is known of a theme that must be there.
pub(crate) async fn find_existing(admin: &Admin, theme: &OwnedTheme) -> Result<KnownTheme, Problem> {
    let all = publisher(admin)?.themes().await?;
    all.into_iter().find(|known| known.id == theme.id).ok_or(Problem::NotFound(Code::ATheme))
}

/// A theme of this name that the principal may see, whether there is one yet or not.
pub(crate) async fn find_visible(admin: &Admin, principal: &Principal, id: &str) -> Result<OwnedTheme, Problem> {
    let unknown = || Problem::NotFound(Code::ATheme);
    let theme = OwnedTheme::of(id.parse().map_err(|_| unknown())?, &admin.store.tenants().await?);
    Some(theme).filter(|theme| theme.is_seen_by(principal)).ok_or_else(unknown)
}

/// A theme of this name that the principal may change.
pub(crate) async fn find_editable(admin: &Admin, principal: &Principal, id: &str) -> Result<OwnedTheme, Problem> {
    let theme = find_visible(admin, principal, id).await?;
    principal.at_least(Role::Operator)?;
    Ok(theme)
}

/// Where themes are kept.
pub(crate) fn publisher(admin: &Admin) -> Result<&ThemeVersions, Problem> {
    admin.themes.as_ref().ok_or(Problem::ThemeStorageNotConfigured)
}

impl From<VersionError> for Problem {
    fn from(error: VersionError) -> Self {
        match error {
            VersionError::NotFound => Self::NotFound(Code::AVersion),
            VersionError::Busy => Self::ConcurrentChange,
            VersionError::Invalid(faults) => Self::broken_theme(&faults),
            VersionError::Unavailable(cause) => Self::ThemeStorageUnavailable(cause),
        }
    }
}

impl Problem {
    /// What is wrong with a theme, by file and line.
    pub(crate) fn broken_theme(faults: &[ThemeError]) -> Self {
        Self::ThemeInvalid(faults.iter().map(upload::fault).collect())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tenants() -> [Tenant; 3] {
        ["acme", "acme-live", "blue"].map(|id| Tenant::from_value(&json!({ "id": id, "name": id })).unwrap())
    }

    #[test]
    fn theme_belongs_to_the_tenant_of_its_prefix() {
        let tenants = tenants();
        for (theme, expected) in [
            ("acme", Some("acme")),
            ("acme-summer", Some("acme")),
            ("acme-live", Some("acme-live")),
            ("acme-live-2027", Some("acme-live")),
            ("acme-lively", Some("acme")),
            ("acmeish", None),
            ("default", None),
        ] {
            let found = owner(&theme.parse().unwrap(), &tenants).map(|tenant| tenant.id.as_str());
            assert_eq!(found, expected, "{theme}");
        }
    }
    #[test]
    fn queue_uses_a_theme_of_its_tenant_or_the_default() {
        for (tenant, theme, operator, superuser) in [
            ("acme", "acme-summer", true, true),
            ("acme", "default", true, true),
            ("acme", "shared", false, true),
            ("acme", "acme-live", false, false),
            ("blue", "acme", false, false),
        ] {
            let (tenant, theme, tenants) = (tenant.parse().unwrap(), theme.parse().unwrap(), tenants());
            assert_eq!(may_have(&tenant, &theme, &tenants, false), operator, "{tenant} {theme}");
            assert_eq!(may_have(&tenant, &theme, &tenants, true), superuser, "{tenant} {theme}");
        }
    }
}
