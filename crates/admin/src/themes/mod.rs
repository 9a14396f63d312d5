//! Themes: whose they are, what is uploaded of them, and how they are looked at before they are live.
//!
//! A theme belongs to the tenant whose id it has, or begins with: `acme` and `acme-summer` are acme's. Where several
//! tenants' ids fit, the longest counts. So nothing more is to be kept, and whoever copies themes into the folder by hand
//! says by the name alone whose they are. All others, `default` among them, are the superusers'.

mod frame;
mod preview;
mod sample;
mod sketch;
mod upload;

use vestibule_core::settings::Tenant;
use vestibule_core::{TenantId, ThemeId};
use vestibule_themes::{KnownTheme, PublishError, Publisher, ThemeError};

use crate::access::{Caller, Role};
use crate::problem::Problem;
use crate::state::Admin;
use crate::wording::Wording;

pub(crate) use frame::{PREVIEW_FRAME, preview_frame};
pub(crate) use preview::{PREVIEW_FILES, Previews, preview_file, preview_page};
pub(crate) use sketch::{Drawing, DrawnTheme, SKETCH_MAX, Sketch, SketchedTemplate, drawn};
pub(crate) use upload::{ThemeUpload, Upload, ZipArchive};

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

    fn is_seen_by(&self, caller: &Caller) -> bool {
        self.tenant_id().map_or_else(|| caller.is_superuser(), |tenant| caller.sees(tenant))
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

/// The themes that there are and that the caller may see, and whether each is live.
pub(crate) async fn all_seen(admin: &Admin, caller: &Caller) -> Result<Vec<(OwnedTheme, bool)>, Problem> {
    let tenants = admin.store.tenants().await?;
    let there = publisher(admin)?.themes().await?;
    let owned = there.into_iter().map(|KnownTheme { id, live }| (OwnedTheme::of(id, &tenants), live));
    Ok(owned.filter(|(theme, _)| theme.is_seen_by(caller)).collect())
}

/// What is known of a theme that must be there.
pub(crate) async fn there(admin: &Admin, theme: &OwnedTheme) -> Result<KnownTheme, Problem> {
    let all = publisher(admin)?.themes().await?;
    all.into_iter().find(|known| known.id == theme.id).ok_or(Problem::Unknown(Wording::ATheme))
}

/// A theme of this name that the caller may see, whether there is one yet or not.
pub(crate) async fn seen(admin: &Admin, caller: &Caller, id: &str) -> Result<OwnedTheme, Problem> {
    let unknown = || Problem::Unknown(Wording::ATheme);
    let theme = OwnedTheme::of(id.parse().map_err(|_| unknown())?, &admin.store.tenants().await?);
    Some(theme).filter(|theme| theme.is_seen_by(caller)).ok_or_else(unknown)
}

/// A theme of this name that the caller may change.
pub(crate) async fn operated(admin: &Admin, caller: &Caller, id: &str) -> Result<OwnedTheme, Problem> {
    let theme = seen(admin, caller, id).await?;
    caller.at_least(Role::Operator)?;
    Ok(theme)
}

/// Where themes are kept.
pub(crate) fn publisher(admin: &Admin) -> Result<&Publisher, Problem> {
    admin.themes.as_ref().ok_or(Problem::NoThemes)
}

impl From<PublishError> for Problem {
    fn from(error: PublishError) -> Self {
        match error {
            PublishError::NoVersion => Self::Unknown(Wording::AVersion),
            PublishError::Busy => Self::Busy,
            PublishError::Faults(faults) => Self::broken_theme(&faults),
            PublishError::Away(cause) => Self::ThemesAway(cause),
        }
    }
}

impl Problem {
    /// What is wrong with a theme, by file and line.
    pub(crate) fn broken_theme(faults: &[ThemeError]) -> Self {
        Self::BrokenTheme(faults.iter().map(upload::fault).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_theme_belongs_to_the_tenant_that_its_name_begins_with() {
        let tenant = |id: &str| Tenant { id: id.parse().unwrap(), name: id.to_owned(), colour: None, logo: None };
        let tenants = [tenant("acme"), tenant("acme-live"), tenant("blue")];
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
}
