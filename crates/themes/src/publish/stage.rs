//! What an office needs beside publishing: which themes there are, and versions that are looked at before they are live.

use std::collections::BTreeMap;

use vestibule_core::{Micros, ThemeId};

use super::depot::{self, Claim};
use super::{Draft, PublishError, Publisher, ThemeVersion, VersionId};

/// A theme that there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownTheme {
    /// Its id.
    pub id: ThemeId,
    /// Whether gates find something of it; versions alone are kept of the others.
    pub live: bool,
}

impl Publisher {
    /// The themes that there are, by id: published ones, those that were put there by hand, and those of which only
    /// versions are kept.
    ///
    /// # Errors
    /// The place can't be read.
    pub async fn themes(&self) -> Result<Vec<KnownTheme>, PublishError> {
        let (shown, kept) = (self.depot.folders("").await?, self.depot.folders(depot::VERSIONS_OF_ALL).await?);
        let known = |names: Vec<String>, live| {
            names.into_iter().filter_map(move |name| Some((name.parse::<ThemeId>().ok()?, live)))
        };
        let themes: BTreeMap<_, _> = known(kept, false).chain(known(shown, true)).collect();
        Ok(themes.into_iter().map(|(id, live)| KnownTheme { id, live }).collect())
    }

    /// Keeps a draft as the theme's newest version without making it live, which [`Self::roll_back`] does with any
    /// version. Of a theme that was put there by hand, what is there becomes a version before it, the live one.
    ///
    /// # Errors
    /// What could not be written as a whole is no version.
    pub async fn stage(
        &self,
        theme: &ThemeId,
        draft: &Draft,
        by: &str,
        now: Micros,
    ) -> Result<ThemeVersion, PublishError> {
        let claim = self.depot.claim(theme, now).await?;
        let live = self.adopted(&claim, theme, now).await;
        let staged = match &live {
            Ok(_) => self.keep(theme, draft.files(), Some(by), now).await.map(Some),
            Err(_) => Ok(None),
        };
        let pointer = live.as_ref().ok().cloned().flatten();
        let released = self.depot.release(theme, claim, pointer).await;
        let (live, staged) = (live?, staged?);
        released?;
        let Some(id) = staged else { return Err(PublishError::NoVersion) };
        let manifest = self.depot.manifest(theme, &id).await?.ok_or(PublishError::NoVersion)?;
        if let Some(live) = &live {
            self.tidied(theme, live).await;
        }
        Ok(manifest.version(id, live.as_ref()))
    }

    /// The live version; what was put there by hand becomes one.
    pub(super) async fn adopted(
        &self,
        claim: &Claim,
        theme: &ThemeId,
        now: Micros,
    ) -> Result<Option<VersionId>, PublishError> {
        if let Some(live) = claim.live() {
            return Ok(Some(live.clone()));
        }
        match self.live(theme).await? {
            Some(found) => self.keep(theme, &found, None, Micros(now.0.saturating_sub(1))).await.map(Some),
            None => Ok(None),
        }
    }

    async fn tidied(&self, theme: &ThemeId, live: &VersionId) {
        if let Err(error) = self.tidy(theme, live).await {
            tracing::warn!(%theme, %error, "a version was kept; older ones could not be tidied up");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ThemeFiles;
    use super::*;
    use crate::ThemesAddress;

    async fn draft(text: &str) -> Draft {
        let page = format!("{text} {{{{ script_tags }}}}");
        Draft::check(ThemeFiles::from([("queue.html".to_owned(), page.into())])).await.ok().unwrap()
    }

    #[tokio::test]
    async fn a_version_is_kept_before_it_is_live() {
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("acme/queue.html");
        std::fs::create_dir_all(page.parent().unwrap()).unwrap();
        std::fs::write(&page, "By hand {{ script_tags }}").unwrap();
        let shown = || std::fs::read_to_string(&page).unwrap();
        let publisher = Publisher::at(ThemesAddress::Folder(folder.path().to_owned()));
        let acme: ThemeId = "acme".parse().unwrap();

        let staged = publisher.stage(&acme, &draft("One").await, "zoe", Micros(10)).await.unwrap();
        assert_eq!((staged.live, staged.by.as_deref()), (false, Some("zoe")));
        assert!(shown().starts_with("By hand"), "nobody sees it yet");
        let versions = publisher.versions(&acme).await.unwrap();
        let told: Vec<_> = versions.iter().map(|it| (it.by.as_deref(), it.live)).collect();
        assert_eq!(told, [(Some("zoe"), false), (None, true)], "what was there can be had again");

        publisher.roll_back(&acme, &staged.id, Micros(11)).await.unwrap();
        assert!(shown().starts_with("One"));
        publisher.stage(&acme, &draft("Two").await, "zoe", Micros(12)).await.unwrap();
        assert_eq!(publisher.versions(&acme).await.unwrap().len(), 3, "it is adopted once");
        publisher.roll_back(&acme, &versions[1].id, Micros(13)).await.unwrap();
        assert!(shown().starts_with("By hand"));
        let other: ThemeId = "blue".parse().unwrap();
        publisher.stage(&other, &draft("Blue").await, "zoe", Micros(14)).await.unwrap();
        let known = [KnownTheme { id: acme, live: true }, KnownTheme { id: other, live: false }];
        assert_eq!(publisher.themes().await.unwrap(), known);
    }
}
