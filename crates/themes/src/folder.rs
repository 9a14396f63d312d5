//! Themes in a folder: one sub-folder each.

use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use bytes::Bytes;

use crate::ThemeError;
use crate::compiled::TEMPLATES_MAX;
use crate::source::{ETag, FileSet, Listing, SourceError, is_template};

/// A folder of themes.
pub(crate) struct Folder(Arc<Path>);

impl Folder {
    pub(crate) fn new(folder: &Path) -> Self {
        Self(folder.into())
    }

    pub(crate) fn place(&self, theme: &str) -> PathBuf {
        self.0.join(theme)
    }

    /// The theme's templates.
    pub(crate) async fn list(&self, theme: &str) -> Result<Option<Listing>, SourceError> {
        let folder = self.place(theme);
        blocking(move || templates(&folder)).await.map(|found| found.map(|files| Listing { files, cut_off: false }))
    }

    /// A file's version, if it is one of the theme's.
    pub(crate) async fn etag(&self, theme: &str, path: &str) -> Option<ETag> {
        let (folder, path) = (self.place(theme), path.to_owned());
        let found = move || Some(etag(&fs::metadata(inside(&folder, &path)?).ok()?));
        blocking(found).await.ok()?
    }

    /// A file's content: that of the version `listed`, if any is named.
    pub(crate) async fn read(
        &self,
        theme: &str,
        path: &str,
        listed: Option<&ETag>,
        max: u64,
    ) -> Result<Bytes, SourceError> {
        let (folder, path, listed) = (self.place(theme), path.to_owned(), listed.cloned());
        blocking(move || {
            let content = read(&folder, &path, max).map_err(SourceError::Fault)?;
            // The whole folder may have been exchanged for another meanwhile.
            let now = listed.as_ref().and_then(|_| fs::metadata(folder.join(&path)).ok());
            if listed == now.as_ref().map(etag) { Ok(content) } else { Err(SourceError::Changed) }
        })
        .await?
    }
}

/// Runs what waits for a disk where it holds up no request.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, SourceError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| SourceError::Unavailable(error.to_string()))
}

fn templates(folder: &Path) -> Option<FileSet> {
    let entries = fs::read_dir(folder).ok()?;
    let named = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let files = named.filter(|name| is_template(name)).map(|name| {
        // What can't be asked for its length is said to be wrong when it is read.
        let etag = fs::metadata(folder.join(&name)).map_or(ETag { bytes: 0, value: "".into() }, |meta| etag(&meta));
        (name, etag)
    });
    Some(files.take(TEMPLATES_MAX + 1).collect())
}

fn etag(meta: &Metadata) -> ETag {
    let changed = meta.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    ETag { bytes: meta.len(), value: changed.as_nanos().to_string().into() }
}

fn read(folder: &Path, path: &str, max: u64) -> Result<Bytes, ThemeError> {
    let file = folder.join(path);
    let unreadable = |message: String| ThemeError::Read { file: file.clone(), message };
    let inside = inside(folder, path);
    let inside = inside.ok_or_else(|| unreadable("can't be read, or leads out of the theme".to_owned()))?;
    let bytes = read_limited(&inside, max).map_err(|error| unreadable(error.to_string()))?;
    if bytes.len() as u64 > max { Err(ThemeError::TooLarge { file, max }) } else { Ok(bytes.into()) }
}

/// One byte more than `max` at most, even if the file grew since its length was asked.
fn read_limited(file: &Path, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(file)?.take(max + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The real path of a regular file of the folder; `None` if there is none, or a link leads out of the folder.
fn inside(folder: &Path, name: &str) -> Option<PathBuf> {
    let (folder, file) = (folder.canonicalize().ok()?, folder.join(name).canonicalize().ok()?);
    (file.starts_with(&folder) && file.is_file()).then_some(file)
}
