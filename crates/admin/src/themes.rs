//! Themes: their owners, uploads and previews.
//!
//! A theme belongs to the tenant whose ID it has, or begins with: `acme` and `acme-summer` belong to `acme`. If several
//! tenants match, the longest ID decides. So the name alone says who owns a theme, also one that was copied by hand. All
//! others, `default` among them, belong to superusers.
//!
//! A queue uses a theme of its own tenant, or `default`; a superuser can also give it a shared theme. So a theme is only
//! used where its owner sees it.

mod frame;
mod preview;
mod sample;
mod upload;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use http::StatusCode;
use vestibule_core::settings::{FieldError, Settings, Tenant};
use vestibule_core::{QueueId, TenantId, ThemeId};
use vestibule_themes::{ThemeError, ThemeVersions, VersionError};

use crate::access::{Principal, Role};
use crate::body::wrong;
use crate::codes::Code;
use crate::problem::Problem;
use crate::state::Admin;

pub(crate) use frame::{PREVIEW_FRAME, preview_frame};
pub(crate) use preview::{PREVIEW_FILES, preview_file, preview_page};
pub(crate) use sample::{Sample, SampleEvent, SamplePage};
pub(crate) use upload::{ThemeUpload, Upload, ZipArchive};

/// The theme of queues without one.
const DEFAULT_THEME: &str = "default";
/// Concurrent requests for the state of themes.
const THEMES_AT_ONCE: usize = 16;

/// A theme and its owner, or the tenant of a queue that uses it.
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

/// The tenant that owns a theme of this name. The theme of all queues without one is never a tenant's.
fn owner<'a>(theme: &ThemeId, tenants: &'a [Tenant]) -> Option<&'a Tenant> {
    if theme.as_str() == DEFAULT_THEME {
        return None;
    }
    let has = |tenant: &&Tenant| {
        let rest = theme.as_str().strip_prefix(tenant.id.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    tenants.iter().filter(has).max_by_key(|tenant| tenant.id.as_str().len())
}

/// Whether queues of a tenant may use a theme.
fn may_use(tenant: &TenantId, theme: &ThemeId, tenants: &[Tenant], by_superuser: bool) -> bool {
    match owner(theme, tenants) {
        Some(owner) => owner.id == *tenant,
        None => by_superuser || theme.as_str() == DEFAULT_THEME,
    }
}

/// The error of a queue whose theme it may not use.
pub(crate) fn theme_refusal(queue: &Settings, tenants: &[Tenant], by_superuser: bool) -> Option<FieldError> {
    let theme = queue.theme.as_ref().filter(|theme| !may_use(&queue.tenant, theme, tenants, by_superuser))?;
    let fault = Code::ForeignTheme.with("theme", theme.as_str()).with("tenant", queue.tenant.as_str());
    Some(FieldError::new("theme", fault))
}

/// The themes of a tenant that exist, by ID.
pub(crate) async fn themes_of(admin: &Admin, tenant: &TenantId) -> Result<Vec<ThemeId>, Problem> {
    let Some(versions) = &admin.themes else { return Ok(Vec::new()) };
    let tenants = admin.store.tenants().await?;
    let mut themes: Vec<ThemeId> = versions.themes().await?.into_iter().collect();
    themes.retain(|theme| owner(theme, &tenants).is_some_and(|owner| owner.id == *tenant));
    Ok(themes)
}

/// The error of a new tenant whose ID would take over existing themes: those of another tenant, and those that its queues use.
pub(crate) async fn takeover_refusal(admin: &Admin, new: &Tenant) -> Result<Option<FieldError>, Problem> {
    let Some(versions) = &admin.themes else { return Ok(None) };
    admin.directory.refresh().await?;
    let before = admin.store.tenants().await?;
    let after: Vec<Tenant> = before.iter().chain([new]).cloned().collect();
    let queues = admin.directory.queues();
    let others_use = |theme: &ThemeId| {
        let mut users = queues.iter().filter(|queue| queue.settings.theme.as_ref() == Some(theme));
        users.any(|queue| queue.settings.tenant != new.id)
    };
    let mut taken: Vec<ThemeId> = versions.themes().await?.into_iter().collect();
    taken.retain(|theme| owner(theme, &after).is_some_and(|owner| owner.id == new.id));
    taken.retain(|theme| owner(theme, &before).is_some() || others_use(theme));
    let fault = || Code::TakesThemes.with("themes", quoted(&taken));
    Ok((!taken.is_empty()).then(|| FieldError::new("id", fault())))
}

/// IDs of themes for a message.
pub(crate) fn quoted(themes: &[ThemeId]) -> String {
    themes.iter().map(|id| format!("\"{id}\"")).collect::<Vec<_>>().join(", ")
}

/// Refuses a logo that is in no live theme of the tenant. Without a live theme or theme storage, any logo is accepted:
/// pages show the name until the file exists.
pub(crate) async fn refuse_missing_logo(admin: &Admin, tenant: &Tenant) -> Result<(), Problem> {
    let (Some(versions), Some(logo)) = (&admin.themes, &tenant.logo) else { return Ok(()) };
    let mut tenants = admin.store.tenants().await?;
    tenants.push(tenant.clone());
    let mut live: Vec<ThemeId> = Vec::new();
    for id in versions.themes().await?.into_iter().filter(|id| may_use(&tenant.id, id, &tenants, true)) {
        let paths = versions.live_paths(&id).await?;
        if paths.contains(logo) {
            return Ok(());
        }
        if !paths.is_empty() {
            live.push(id);
        }
    }
    if live.is_empty() {
        return Ok(());
    }
    Err(wrong("logo", Code::LogoNotFound.with("file", logo.as_str()).with("themes", quoted(&live))))
}

/// The themes that the principal can see, and whether each is live.
pub(crate) async fn all_visible(admin: &Admin, principal: &Principal) -> Result<Vec<(OwnedTheme, bool)>, Problem> {
    let (versions, tenants) = (theme_versions(admin)?, admin.store.tenants().await?);
    let owned = versions.themes().await?.into_iter().map(|id| OwnedTheme::of(id, &tenants));
    let visible = owned.filter(|theme| theme.is_seen_by(principal)).map(async |theme| {
        let is_live = versions.is_live(&theme.id).await?;
        Ok((theme, is_live))
    });
    stream::iter(visible).buffered(THEMES_AT_ONCE).try_collect().await
}

/// Refuses a theme that does not exist.
pub(crate) async fn must_exist(admin: &Admin, theme: &OwnedTheme) -> Result<(), Problem> {
    let exists = theme_versions(admin)?.themes().await?.contains(&theme.id);
    if exists { Ok(()) } else { Err(Problem::NotFound(Code::ATheme)) }
}

/// A theme of this name that the principal can see, whether it exists or not.
pub(crate) async fn find_visible(admin: &Admin, principal: &Principal, id: &str) -> Result<OwnedTheme, Problem> {
    let unknown = || Problem::NotFound(Code::ATheme);
    let theme = OwnedTheme::of(id.parse().map_err(|_| unknown())?, &admin.store.tenants().await?);
    Some(theme).filter(|theme| theme.is_seen_by(principal)).ok_or_else(unknown)
}

/// The theme that a queue uses, if it has this name, with the tenant of the queue.
pub(crate) async fn find_used(admin: &Admin, queue: &Settings, id: &str) -> Result<OwnedTheme, Problem> {
    let used = queue.theme.as_ref().map_or(DEFAULT_THEME, ThemeId::as_str);
    let id = id.parse().ok().filter(|id: &ThemeId| id.as_str() == used).ok_or(Problem::NotFound(Code::ATheme))?;
    let tenant = admin.store.tenants().await?.into_iter().find(|tenant| tenant.id == queue.tenant);
    Ok(OwnedTheme { id, tenant })
}

/// A theme of this name that the principal can change, whether it exists or not.
pub(crate) async fn find_editable(admin: &Admin, principal: &Principal, id: &str) -> Result<OwnedTheme, Problem> {
    let theme = find_visible(admin, principal, id).await?;
    principal.at_least(Role::Operator)?;
    Ok(theme)
}

/// The queues that use the theme, or whose tenant owns it: its pages are validated for them.
pub(crate) fn queues_of(admin: &Admin, theme: &OwnedTheme) -> Vec<QueueId> {
    let mut queues = admin.directory.queues();
    let tenant = theme.tenant.as_ref().map(|tenant| &tenant.id);
    queues.retain(|queue| queue.settings.theme.as_ref() == Some(&theme.id) || tenant == Some(&queue.settings.tenant));
    queues.iter().map(|queue| queue.settings.id.clone()).collect()
}

/// The versions of themes.
pub(crate) fn theme_versions(admin: &Admin) -> Result<&ThemeVersions, Problem> {
    admin.themes.as_ref().ok_or(Problem::Plain(StatusCode::CONFLICT, Code::ThemeStorageNotConfigured))
}

impl From<VersionError> for Problem {
    fn from(error: VersionError) -> Self {
        match error {
            VersionError::NotFound => Self::NotFound(Code::AVersion),
            VersionError::Conflict { revision } => Self::OtherRevision(revision),
            VersionError::Invalid(faults) => Self::theme_invalid(&faults),
            VersionError::Unavailable(cause) => Self::ThemeStorageUnavailable(cause),
        }
    }
}

impl Problem {
    /// The errors of a theme, by file and line.
    pub(crate) fn theme_invalid(faults: &[ThemeError]) -> Self {
        Self::ThemeInvalid(faults.iter().map(upload::fault).collect())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tenants() -> [Tenant; 4] {
        ["acme", "acme-live", "blue", "default"].map(|id| Tenant::from_value(&json!({ "id": id, "name": id })).unwrap())
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
            ("default-dark", Some("default")),
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
            assert_eq!(may_use(&tenant, &theme, &tenants, false), operator, "{tenant} {theme}");
            assert_eq!(may_use(&tenant, &theme, &tenants, true), superuser, "{tenant} {theme}");
        }
    }
}
