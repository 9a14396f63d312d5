//! Theme storage in a folder.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use async_trait::async_trait;
use bytes::Bytes;

use crate::ThemeError;
use crate::asset::is_safe_path;
use crate::files::{ETag, FileSet, Listing, StorageError};
use crate::storage::Storage;

/// Permissions of new files, before the umask.
const FILE_MODE: u32 = 0o666;

/// A folder of themes.
pub(crate) struct Folder(Arc<Path>);

impl Folder {
    pub(crate) fn new(folder: &Path) -> Self {
        Self(folder.into())
    }

    /// Runs file operations on a blocking thread. Errors name the path.
    async fn run<T: Send + 'static>(
        &self,
        path: &str,
        work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
    ) -> Result<T, StorageError> {
        let named =
            |path: &Path| work(path).map_err(|error| StorageError::Unavailable(format!("{}: {error}", path.display())));
        self.blocking(path, named).await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        path: &str,
        work: impl FnOnce(&Path) -> Result<T, StorageError> + Send + 'static,
    ) -> Result<T, StorageError> {
        let path = self.location(path);
        let done = tokio::task::spawn_blocking(move || work(&path)).await;
        done.map_err(|error| StorageError::Unavailable(error.to_string()))?
    }
}

#[async_trait]
impl Storage for Folder {
    fn is_near(&self) -> bool {
        true
    }

    fn location(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    async fn list(&self, folder: &str, max: usize) -> Result<Listing, StorageError> {
        self.run(folder, move |folder| {
            let mut files = FileSet::new();
            // One more shows that there are more.
            collect(folder, "", &mut files, max + 1)?;
            let cut_off = files.len() > max;
            Ok(Listing { files: files.into_iter().take(max).collect(), cut_off })
        })
        .await
    }

    async fn folders(&self, folder: &str) -> Result<Vec<String>, StorageError> {
        self.run(folder, |folder| {
            let entries = optional(fs::read_dir(folder))?.into_iter().flatten();
            // A folder may be a link to one.
            let named = entries.filter_map(|entry| {
                let entry = entry.ok()?;
                if entry.path().is_dir() { entry.file_name().into_string().ok() } else { None }
            });
            Ok(named.collect())
        })
        .await
    }

    /// Does not follow links out of the folder.
    async fn read(
        &self,
        folder: &str,
        path: &str,
        etag: Option<&ETag>,
        max: u64,
    ) -> Result<Option<Bytes>, StorageError> {
        let (path, etag) = (path.to_owned(), etag.cloned());
        let read = move |folder: &Path| {
            let Some(content) = read(folder, &path, max)? else { return Ok(None) };
            // The file may have changed since it was listed.
            let now = etag.as_ref().and_then(|_| fs::metadata(folder.join(&path)).ok());
            if etag == now.as_ref().map(etag_of) { Ok(Some(content)) } else { Err(StorageError::Changed) }
        };
        self.blocking(folder, read).await
    }

    /// Writes a temporary file and gives it its name, unless a file has the name.
    async fn create(&self, path: String, content: Bytes) -> Result<bool, StorageError> {
        self.run(&path, move |path| {
            let folder = path.parent().unwrap_or(path);
            fs::create_dir_all(folder)?;
            let permissions = Permissions::from_mode(FILE_MODE);
            let mut file = tempfile::Builder::new().permissions(permissions).tempfile_in(folder)?;
            file.write_all(&content)?;
            match file.persist_noclobber(path) {
                Ok(_) => Ok(true),
                Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(false),
                Err(error) => Err(error.error),
            }
        })
        .await
    }

    async fn remove(&self, path: String) -> Result<(), StorageError> {
        self.run(&path, |path| optional(fs::remove_file(path)).map(drop)).await
    }

    /// Of a link to a folder, only the link is removed.
    async fn remove_all(&self, folder: String) -> Result<(), StorageError> {
        let folder = folder.trim_end_matches('/');
        let remove = |folder: &Path| match optional(fs::symlink_metadata(folder))? {
            Some(meta) if meta.is_symlink() => fs::remove_file(folder),
            Some(_) => fs::remove_dir_all(folder),
            None => Ok(()),
        };
        self.run(folder, remove).await
    }
}

/// Names that are not UTF-8 and links to folders are left out.
fn collect(folder: &Path, before: &str, files: &mut FileSet, max: usize) -> io::Result<()> {
    for entry in optional(fs::read_dir(folder))?.into_iter().flatten() {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = format!("{before}{name}");
        if files.len() >= max || !is_safe_path(&path) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{path}/"), files, max)?;
            continue;
        }
        match fs::metadata(entry.path()) {
            Ok(meta) if !meta.is_file() => {}
            Ok(meta) => drop(files.insert(path, etag_of(&meta))),
            // A file that cannot be examined is reported when it is read.
            Err(_) => drop(files.insert(path, ETag { bytes: 0, value: "".into() })),
        }
    }
    Ok(())
}

fn etag_of(meta: &Metadata) -> ETag {
    let changed = meta.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    ETag { bytes: meta.len(), value: changed.as_nanos().to_string().into() }
}

fn read(folder: &Path, path: &str, max: u64) -> Result<Option<Bytes>, StorageError> {
    let file = folder.join(path);
    if fs::symlink_metadata(&file).is_err_and(|error| is_missing(&error)) {
        return Ok(None);
    }
    let fault = |message: String| StorageError::Fault(ThemeError::Read { file: file.clone(), message });
    let inside = inside(folder, &file).ok_or_else(|| fault("cannot be read, or leads out of the folder".to_owned()))?;
    let bytes = read_limited(&inside, max).map_err(|error| fault(error.to_string()))?;
    if bytes.len() as u64 > max {
        return Err(StorageError::Fault(ThemeError::TooLarge { file, max }));
    }
    Ok(Some(bytes.into()))
}

/// Reads one byte more than `max` at most, even if the file grew since its length was asked.
fn read_limited(file: &Path, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(file)?.take(max + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The real path of a regular file; `None` if a link leads out of the folder.
fn inside(folder: &Path, file: &Path) -> Option<PathBuf> {
    let (folder, file) = (folder.canonicalize().ok()?, file.canonicalize().ok()?);
    (file.starts_with(&folder) && file.is_file()).then_some(file)
}

/// `None` for a missing file.
fn optional<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}
