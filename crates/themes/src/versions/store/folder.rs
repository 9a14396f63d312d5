//! Versions in a folder.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use vestibule_core::ThemeId;

use super::{Live, ThemeLock, VERSIONS, parsed, versions_of};
use crate::ThemeError;
use crate::versions::{ThemeFiles, VersionError};

/// Most files that are listed in one folder, subfolders included.
const VISITED_MAX: usize = 10_000;
/// A version is assembled here before it is activated.
const NEXT: &str = ".next";
/// Prefix of the name that versions get before they are deleted. No theme ID begins with a dot.
const GONE: &str = ".gone-";

/// Runs file operations on a blocking thread. Errors name `path`.
async fn blocking<T: Send + 'static>(
    root: &Arc<Path>,
    path: String,
    work: impl FnOnce(&Path, &Path) -> io::Result<T> + Send + 'static,
) -> Result<T, VersionError> {
    let root = Arc::clone(root);
    let done = tokio::task::spawn_blocking(move || {
        let path = root.join(path);
        work(&root, &path).map_err(|error| VersionError::Unavailable(format!("{}: {error}", path.display())))
    });
    done.await.map_err(|error| VersionError::Unavailable(error.to_string()))?
}

/// The lock is a lock of the operating system on a file: it ends with the process at the latest.
pub(super) async fn lock(root: &Arc<Path>, versions: &str) -> Result<ThemeLock, VersionError> {
    let locked = blocking(root, versions.to_owned(), |_, folder| {
        fs::create_dir_all(folder)?;
        let lock = File::options().create(true).truncate(false).write(true).open(folder.join(".lock"))?;
        match lock.try_lock() {
            Ok(()) => Ok(Some((lock, optional(fs::read(folder.join(".live")))?))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    });
    let (lock, live) = locked.await?.ok_or(VersionError::Busy)?;
    let live: Live = live.map(|live| parsed(&live)).transpose()?.unwrap_or_default();
    Ok(ThemeLock { live: live.version, _lock: Some(lock) })
}

pub(super) async fn read(root: &Arc<Path>, path: String, max: u64) -> Result<Option<Bytes>, VersionError> {
    let content = blocking(root, path.clone(), move |_, path| {
        let Some(file) = optional(File::open(path))? else { return Ok(None) };
        let mut content = Vec::new();
        file.take(max + 1).read_to_end(&mut content)?;
        Ok(Some(Bytes::from(content)))
    });
    let content = content.await?;
    if content.as_ref().is_some_and(|content| content.len() as u64 > max) {
        return Err(VersionError::Invalid(vec![ThemeError::TooLarge { file: root.join(path), max }]));
    }
    Ok(content)
}

/// Writes a temporary file and renames it.
pub(super) async fn write(root: &Arc<Path>, path: String, content: Bytes) -> Result<(), VersionError> {
    blocking(root, path, move |_, path| {
        let mut beside = path.as_os_str().to_owned();
        beside.push(".part");
        fs::create_dir_all(path.parent().unwrap_or(path))?;
        fs::write(&beside, content)?;
        fs::rename(beside, path)
    })
    .await
}

pub(super) async fn files(root: &Arc<Path>, folder: &str) -> Result<Vec<String>, VersionError> {
    blocking(root, folder.to_owned(), |_, folder| {
        let mut found = Vec::new();
        collect(folder, "", &mut found)?;
        Ok(found)
    })
    .await
}

/// Leaves out names that are not UTF-8.
fn collect(folder: &Path, before: &str, found: &mut Vec<String>) -> io::Result<()> {
    for entry in optional(fs::read_dir(folder))?.into_iter().flatten() {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if found.len() >= VISITED_MAX || name.starts_with('.') {
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

pub(super) async fn folders(root: &Arc<Path>, folder: &str) -> Result<Vec<String>, VersionError> {
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

pub(super) async fn remove(root: &Arc<Path>, folder: &str) -> Result<(), VersionError> {
    blocking(root, folder.to_owned(), |_, folder| removed(folder)).await
}

/// Renames the live folder before it is deleted, so that visitors see all of the theme or nothing.
pub(super) async fn deactivate(root: &Arc<Path>, theme: &ThemeId) -> Result<(), VersionError> {
    let (next, theme) = (format!("{}{NEXT}", versions_of(theme)), theme.clone());
    blocking(root, next, move |root, next| {
        let old = next.with_extension("old");
        removed(&old)?;
        optional(fs::rename(root.join(theme.as_str()), &old))?;
        removed(&old)
    })
    .await
}

/// Renames the folder before it is deleted, so that the next lock starts with a new one.
pub(super) async fn remove_all(root: &Arc<Path>, theme: &ThemeId) -> Result<(), VersionError> {
    let gone = format!("{VERSIONS}/{GONE}{theme}");
    let versions = versions_of(theme);
    blocking(root, gone, move |root, gone| {
        removed(gone)?;
        optional(fs::rename(root.join(versions), gone))?;
        removed(gone)
    })
    .await
}

/// Assembles the version beside the live folder, then exchanges the two names.
pub(super) async fn activate(root: &Arc<Path>, theme: &ThemeId, files: &ThemeFiles) -> Result<(), VersionError> {
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

/// Where the system cannot exchange names, the theme is missing between two renames.
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

/// `None` for a missing file.
fn optional<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}
