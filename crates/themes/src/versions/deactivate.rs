//! Deactivates themes, and removes them with their versions.

use vestibule_core::{Micros, ThemeId};

use super::{ThemeVersion, ThemeVersions, VersionError};

impl ThemeVersions {
    /// Deactivates the theme: visitors see the `default` theme or the built-in one. Its versions stay; live files that were
    /// copied by hand become a version first. Returns the version that was live; `None` if there was none.
    ///
    /// # Errors
    /// The live files cannot be stored as a version, or the storage cannot be read or written. No file is deleted before it
    /// is stored.
    pub async fn deactivate(&self, theme: &ThemeId, now: Micros) -> Result<Option<ThemeVersion>, VersionError> {
        let lock = self.store.lock(theme, now).await?;
        let live_or_imported = self.live_or_imported(&lock, theme, now).await;
        let hidden = match &live_or_imported {
            Ok(_) => self.store.deactivate(theme).await,
            Err(_) => Ok(()),
        };
        // If deactivation failed, files of the live version may remain.
        let live = if hidden.is_ok() && live_or_imported.is_ok() { None } else { lock.live().cloned() };
        let unlocked = self.store.unlock(theme, lock, live).await;
        let live_or_imported = live_or_imported?;
        hidden?;
        unlocked?;
        let Some(id) = live_or_imported else { return Ok(None) };
        let manifest = self.store.manifest(theme, &id).await?;
        Ok(manifest.map(|manifest| manifest.version(id, None)))
    }

    /// Removes a theme: first its live files, then every version.
    ///
    /// # Errors
    /// The storage cannot be read or written. A retry removes the rest.
    pub async fn remove(&self, theme: &ThemeId, now: Micros) -> Result<(), VersionError> {
        let lock = self.store.lock(theme, now).await?;
        let live = lock.live().cloned();
        let removed = async {
            self.store.deactivate(theme).await?;
            self.store.remove_versions(theme, self.ids(theme).await?).await
        };
        match removed.await {
            // The lock was removed with the versions.
            Ok(()) => Ok(()),
            Err(error) => {
                self.store.unlock(theme, lock, live).await?;
                Err(error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Draft, ThemeFiles};
    use super::*;
    use crate::ThemesAddress;

    #[tokio::test]
    async fn remove_deletes_every_file_of_a_theme() {
        let folder = tempfile::tempdir().unwrap();
        let versions = ThemeVersions::at(ThemesAddress::Folder(folder.path().to_owned()));
        let files = ThemeFiles::from([("queue.html".to_owned(), "One {{ script_tags }}".into())]);
        let draft = Draft::check(files).await.ok().unwrap();
        let acme: ThemeId = "acme".parse().unwrap();
        versions.publish(&acme, &draft, "zoe", Micros(1)).await.unwrap();
        std::fs::write(folder.path().join("acme/notes.txt.bak"), "by hand").unwrap();
        versions.remove(&acme, Micros(2)).await.unwrap();
        let names = |path: &str| {
            let entries = std::fs::read_dir(folder.path().join(path)).unwrap();
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!((names("."), names(".versions")), (vec![".versions".to_owned()], vec![]));
    }
}
