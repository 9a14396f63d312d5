//! The way back from publishing: a theme is taken off the page, or removed with all that is kept of it.

use vestibule_core::{Micros, ThemeId};

use super::{PublishError, Publisher, ThemeVersion};

impl Publisher {
    /// Takes what visitors see of a theme away: they get the `default` theme or the built-in one. Its versions stay, and what
    /// was put there by hand becomes one first. Returns the version that was live; `None` if visitors saw nothing of it.
    ///
    /// # Errors
    /// What is there can't be kept as a version, or the place can't be read or written. Nothing is taken away before it is
    /// kept.
    pub async fn unpublish(&self, theme: &ThemeId, now: Micros) -> Result<Option<ThemeVersion>, PublishError> {
        let claim = self.depot.claim(theme, now).await?;
        let adopted = self.adopted(&claim, theme, now).await;
        let hidden = match &adopted {
            Ok(_) => self.depot.hide(theme).await,
            Err(_) => Ok(()),
        };
        // While pages may still be there, they are those of the version that was live.
        let live = if hidden.is_ok() && adopted.is_ok() { None } else { claim.live().cloned() };
        let released = self.depot.release(theme, claim, live).await;
        let adopted = adopted?;
        hidden?;
        released?;
        let Some(id) = adopted else { return Ok(None) };
        let manifest = self.depot.manifest(theme, &id).await?;
        Ok(manifest.map(|manifest| manifest.version(id, None)))
    }

    /// Removes a theme for good: first what visitors see, then every version, published here or put there by hand.
    ///
    /// # Errors
    /// The place can't be read or written. What is left then can be removed by asking again.
    pub async fn remove(&self, theme: &ThemeId, now: Micros) -> Result<(), PublishError> {
        let claim = self.depot.claim(theme, now).await?;
        let live = claim.live().cloned();
        let removed = async {
            self.depot.hide(theme).await?;
            self.depot.remove_versions(theme, self.ids(theme).await?).await
        };
        match removed.await {
            // The note of the claim went with the versions.
            Ok(()) => Ok(()),
            Err(error) => {
                self.depot.release(theme, claim, live).await?;
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
    async fn nothing_of_a_theme_is_left_in_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let publisher = Publisher::at(ThemesAddress::Folder(folder.path().to_owned()));
        let files = ThemeFiles::from([("queue.html".to_owned(), "One {{ script_tags }}".into())]);
        let draft = Draft::check(files).await.ok().unwrap();
        let acme: ThemeId = "acme".parse().unwrap();
        publisher.publish(&acme, &draft, "zoe", Micros(1)).await.unwrap();
        std::fs::write(folder.path().join("acme/notes.txt.bak"), "by hand").unwrap();
        publisher.remove(&acme, Micros(2)).await.unwrap();
        let names = |path: &str| {
            let entries = std::fs::read_dir(folder.path().join(path)).unwrap();
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!((names("."), names(".versions")), (vec![".versions".to_owned()], vec![]));
    }
}
