//! Publishing in a folder.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use vestibule_core::ThemeId;

use super::{Claim, Live, VERSIONS, parsed, versions_of};
use crate::ThemeError;
use crate::publish::{PublishError, ThemeFiles};

/// Most files that are looked at in one folder, deep ones included.
const LOOKED_AT_MAX: usize = 10_000;
/// A theme is put together here before it is shown.
const NEXT: &str = ".next";
/// Begins the name under which versions of a theme are removed; no theme is named like that.
const GONE: &str = ".gone-";

/// Runs what waits for a disk where it holds up no request; `path` is what an error is told with.
async fn blocking<T: Send + 'static>(
    root: &Arc<Path>,
    path: String,
    work: impl FnOnce(&Path, &Path) -> io::Result<T> + Send + 'static,
) -> Result<T, PublishError> {
    let root = Arc::clone(root);
    let done = tokio::task::spawn_blocking(move || {
        let path = root.join(path);
        work(&root, &path).map_err(|error| PublishError::Away(format!("{}: {error}", path.display())))
    });
    done.await.map_err(|error| PublishError::Away(error.to_string()))?
}

/// The claim is the system's lock on a file: it ends with the process at the latest.
pub(super) async fn claim(root: &Arc<Path>, versions: &str) -> Result<Claim, PublishError> {
    let locked = blocking(root, versions.to_owned(), |_, folder| {
        fs::create_dir_all(folder)?;
        let lock = File::options().create(true).truncate(false).write(true).open(folder.join(".lock"))?;
        match lock.try_lock() {
            Ok(()) => Ok(Some((lock, optional(fs::read(folder.join(".live")))?))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    });
    let (lock, live) = locked.await?.ok_or(PublishError::Busy)?;
    let live: Live = live.map(|live| parsed(&live)).transpose()?.unwrap_or_default();
    Ok(Claim { live: live.version, _lock: Some(lock) })
}

pub(super) async fn read(root: &Arc<Path>, path: String, max: u64) -> Result<Option<Bytes>, PublishError> {
    let content = blocking(root, path.clone(), move |_, path| {
        let Some(file) = optional(File::open(path))? else { return Ok(None) };
        let mut content = Vec::new();
        file.take(max + 1).read_to_end(&mut content)?;
        Ok(Some(Bytes::from(content)))
    });
    let content = content.await?;
    if content.as_ref().is_some_and(|content| content.len() as u64 > max) {
        return Err(PublishError::Faults(vec![ThemeError::TooLarge { file: root.join(path), max }]));
    }
    Ok(content)
}

/// Written beside, and renamed.
pub(super) async fn write(root: &Arc<Path>, path: String, content: Bytes) -> Result<(), PublishError> {
    blocking(root, path, move |_, path| {
        let mut beside = path.as_os_str().to_owned();
        beside.push(".part");
        fs::create_dir_all(path.parent().unwrap_or(path))?;
        fs::write(&beside, content)?;
        fs::rename(beside, path)
    })
    .await
}

pub(super) async fn files(root: &Arc<Path>, folder: &str) -> Result<Vec<String>, PublishError> {
    blocking(root, folder.to_owned(), |_, folder| {
        let mut found = Vec::new();
        collect(folder, "", &mut found)?;
        Ok(found)
    })
    .await
}

/// What can't be named in text is none of a theme's files.
fn collect(folder: &Path, before: &str, found: &mut Vec<String>) -> io::Result<()> {
    for entry in optional(fs::read_dir(folder))?.into_iter().flatten() {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if found.len() >= LOOKED_AT_MAX || name.starts_with('.') {
            continue;
        }
        let meta = fs::metadata(entry.path())?;
        if meta.is_file() {
            found.push(format!("{before}{name}"));
        } else if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{before}{name}/"), found)?;
        }
    }
    Ok(())
}

pub(super) async fn folders(root: &Arc<Path>, folder: &str) -> Result<Vec<String>, PublishError> {
    blocking(root, folder.to_owned(), |_, folder| {
        let entries = optional(fs::read_dir(folder))?.into_iter().flatten();
        let named = entries.filter_map(|entry| {
            let entry = entry.ok()?;
            if entry.file_type().ok()?.is_dir() { entry.file_name().into_string().ok() } else { None }
        });
        Ok(named.collect())
    })
    .await
}

pub(super) async fn remove(root: &Arc<Path>, folder: &str) -> Result<(), PublishError> {
    blocking(root, folder.to_owned(), |_, folder| removed(folder)).await
}

/// Visitors see all of the theme or nothing: what they see gets another name first.
pub(super) async fn hide(root: &Arc<Path>, theme: &ThemeId) -> Result<(), PublishError> {
    let (next, theme) = (format!("{}{NEXT}", versions_of(theme)), theme.clone());
    blocking(root, next, move |root, next| {
        let old = next.with_extension("old");
        removed(&old)?;
        optional(fs::rename(root.join(theme.as_str()), &old))?;
        removed(&old)
    })
    .await
}

/// Whoever claims the theme meanwhile begins with a folder of their own.
pub(super) async fn remove_all(root: &Arc<Path>, theme: &ThemeId) -> Result<(), PublishError> {
    let gone = format!("{VERSIONS}/{GONE}{theme}");
    let versions = versions_of(theme);
    blocking(root, gone, move |root, gone| {
        removed(gone)?;
        optional(fs::rename(root.join(versions), gone))?;
        removed(gone)
    })
    .await
}

/// Puts the theme together beside the one that is shown, and lets the two exchange their names.
pub(super) async fn show(root: &Arc<Path>, theme: &ThemeId, files: &ThemeFiles) -> Result<(), PublishError> {
    let (next, files) = (format!("{}{NEXT}", versions_of(theme)), files.clone());
    let theme = theme.clone();
    blocking(root, next, move |root, next| {
        removed(next)?;
        for (path, content) in &files {
            let file = next.join(path);
            fs::create_dir_all(file.parent().unwrap_or(next))?;
            fs::write(file, content)?;
        }
        put_in_place(next, &root.join(theme.as_str()))?;
        removed(next)
    })
    .await
}

/// Not every system and disk can exchange two names; there, no theme is shown for the moment between two renames.
fn put_in_place(next: &Path, shown: &Path) -> io::Result<()> {
    if fs::symlink_metadata(shown).is_err() {
        return fs::rename(next, shown);
    }
    if renameat_with(CWD, next, CWD, shown, RenameFlags::EXCHANGE).is_ok() {
        return Ok(());
    }
    let old = next.with_extension("old");
    removed(&old)?;
    fs::rename(shown, &old)?;
    fs::rename(next, shown)?;
    removed(&old)
}

/// Removes a folder, or a link to one.
fn removed(folder: &Path) -> io::Result<()> {
    match fs::symlink_metadata(folder) {
        Ok(meta) if meta.is_symlink() => fs::remove_file(folder),
        Ok(_) => fs::remove_dir_all(folder),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// What is not there is no error.
fn optional<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}
