//! Uploads of themes: a ZIP archive, or files in JSON.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::{Cursor, Read as _};

use axum::extract::{FromRequest, Request};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Semaphore;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};
use vestibule_core::content_type::JSON;
use vestibule_core::settings::FieldError;
use vestibule_themes::{ASSET_MAX, FILES_MAX, PAGES, THEME_MAX, ThemeError, ThemeFiles};
use zip::ZipArchive as Archive;

use crate::body::media_type;
use crate::codes::Code;
use crate::describe::schema;
use crate::problem::Problem;

/// Most bytes of an upload. A load balancer takes 1 MB for a function.
pub(crate) const UPLOAD_MAX: usize = 16 * 1024 * 1024;
const ZIP: &str = "application/zip";
const TAKES: &str = "application/zip or application/json";
/// Files that operating systems add to archives.
const LITTER: [&str; 3] = [".DS_Store", "Thumbs.db", "desktop.ini"];
const LITTER_FOLDER: &str = "__MACOSX/";
/// What the names of files with attributes of macOS begin with.
const APPLE_DOUBLE: &str = "._";

/// The files of a theme.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ThemeUpload {
    /// The files.
    #[schema(min_items = 1, max_items = 1000)]
    files: Vec<UploadedFile>,
}

/// A file of a theme.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct UploadedFile {
    /// Its path within the theme: `queue.html`, `img/logo.svg`.
    #[schema(max_length = 255)]
    path: String,
    /// Its content.
    #[schema(content_encoding = "base64")]
    base64: String,
}

/// The files of a theme as a ZIP archive; a folder around all of them is left out.
pub(crate) struct ZipArchive;

impl PartialSchema for ZipArchive {
    fn schema() -> RefOr<Schema> {
        schema(json!({
            "type": "string",
            "format": "binary",
            "description": "The files of a theme as a ZIP archive; a folder around all of them is left out.",
        }))
    }
}

impl ToSchema for ZipArchive {}

/// The body of an upload, not read yet: it is read after authorization.
pub(crate) struct Upload(Request);

impl<S: Send + Sync> FromRequest<S> for Upload {
    type Rejection = Infallible;

    async fn from_request(request: Request, _: &S) -> Result<Self, Infallible> {
        Ok(Self(request))
    }
}

impl Upload {
    /// Reads and unpacks it. The files are not validated yet.
    pub(crate) async fn files(self, turns: &Semaphore) -> Result<ThemeFiles, Problem> {
        let failed =
            |error: &dyn std::fmt::Display| Problem::InvalidBody(Code::NotUnderstood.with("cause", error.to_string()));
        let kind = media_type(self.0.headers());
        if kind != ZIP && kind != JSON {
            return Err(Problem::WrongContentType(TAKES));
        }
        let body = axum::body::to_bytes(self.0.into_body(), UPLOAD_MAX).await;
        let body = body.map_err(|_| Problem::TooLarge(UPLOAD_MAX))?;
        let _permit = turns.acquire().await.map_err(|error| failed(&error))?;
        let read = move || if kind == ZIP { unpacked(body) } else { decoded(&body) };
        tokio::task::spawn_blocking(read).await.map_err(|error| failed(&error))?
    }
}

fn decoded(body: &[u8]) -> Result<ThemeFiles, Problem> {
    let upload: ThemeUpload = serde_json::from_slice(body)
        .map_err(|error| Problem::InvalidBody(Code::NotUnderstood.with("cause", error.to_string())))?;
    let (mut files, mut errors) = (ThemeFiles::new(), Vec::new());
    for (index, UploadedFile { path, base64 }) in upload.files.into_iter().enumerate() {
        match STANDARD.decode(base64) {
            Ok(content) if !files.contains_key(&path) => drop(files.insert(path, content.into())),
            Ok(_) => errors.push(FieldError::new(format!("files[{index}].path"), Code::Duplicate)),
            Err(error) => {
                let fault = Code::NotBase64.with("cause", error.to_string());
                errors.push(FieldError::new(format!("files[{index}].base64"), fault));
            }
        }
    }
    Problem::unless_valid(errors)?;
    Ok(files)
}

/// Unpacks an archive within the limits of a theme.
fn unpacked(body: Bytes) -> Result<ThemeFiles, Problem> {
    let no_archive =
        |error: &dyn std::fmt::Display| Problem::InvalidBody(Code::NotAnArchive.with("cause", error.to_string()));
    let mut archive = Archive::new(Cursor::new(body)).map_err(|error| no_archive(&error))?;
    // Folders and files of operating systems are entries too.
    if archive.len() > 4 * FILES_MAX {
        return Err(Problem::theme_invalid(&[ThemeError::TooManyFiles { folder: ".".into(), max: FILES_MAX }]));
    }
    let (mut files, mut total) = (BTreeMap::new(), 0);
    for index in 0..archive.len() {
        let entry = archive.by_index(index).map_err(|error| no_archive(&error))?;
        let name = entry.name().map_err(|error| no_archive(&error))?.into_owned();
        if entry.is_dir() || is_litter(&name) {
            continue;
        }
        let mut content = Vec::new();
        entry.take(ASSET_MAX + 1).read_to_end(&mut content).map_err(|error| no_archive(&error))?;
        total += content.len() as u64;
        if total > THEME_MAX {
            return Err(Problem::theme_invalid(&[ThemeError::TooLarge { file: ".".into(), max: THEME_MAX }]));
        }
        if files.insert(name.clone(), Bytes::from(content)).is_some() {
            return Err(Problem::ThemeInvalid(vec![FieldError::new(name, Code::Duplicate)]));
        }
    }
    Ok(without_folder(files))
}

fn is_litter(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or_default();
    name.starts_with(LITTER_FOLDER) || file.starts_with(APPLE_DOUBLE) || LITTER.contains(&file)
}

/// Most archives have one folder around everything. It is removed if one of the pages is in it.
fn without_folder(files: ThemeFiles) -> ThemeFiles {
    let first = files.keys().next().and_then(|path| path.split_once('/')).map(|(folder, _)| format!("{folder}/"));
    let around =
        |folder: &String| !folder.starts_with('.') && files.keys().all(|path| path.starts_with(folder.as_str()));
    let Some(folder) = first.filter(around) else { return files };
    if !PAGES.iter().any(|page| files.contains_key(&format!("{folder}{page}"))) {
        return files;
    }
    let within = |(path, content): (String, Bytes)| (path[folder.len()..].to_owned(), content);
    files.into_iter().map(within).collect()
}

/// The error of a file, with its location as the field: `queue.html:12`.
pub(super) fn fault(fault: &ThemeError) -> FieldError {
    let text = fault.to_string();
    let location = match fault {
        ThemeError::Template { file, line, .. } | ThemeError::NotUtf8 { file, line } => {
            format!("{}:{line}", file.display())
        }
        ThemeError::Read { file, .. }
        | ThemeError::TooLarge { file, .. }
        | ThemeError::Kind { file }
        | ThemeError::UpperCaseEnding { file }
        | ThemeError::NoScript { file } => file.display().to_string(),
        _ => ".".to_owned(),
    };
    let cause = text.strip_prefix(&location).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(&text);
    let message = match fault {
        ThemeError::TooLarge { max, .. } => Code::ThemeFileTooLarge.with("most", *max),
        ThemeError::TooMany { max, .. } => Code::TooManyTemplates.with("most", *max),
        ThemeError::TooManyFiles { max, .. } => Code::TooManyFiles.with("most", *max),
        ThemeError::Empty => Code::NoFiles.into(),
        ThemeError::Kind { .. } => Code::NotAThemeFile.into(),
        ThemeError::UpperCaseEnding { .. } => Code::UpperCaseEnding.into(),
        ThemeError::NoScript { .. } => Code::NoScriptTags.into(),
        ThemeError::NotUtf8 { .. } => Code::NotUtf8.into(),
        ThemeError::Template { .. } => Code::TemplateFault.with("cause", cause),
        _ => Code::ThemeUnreadable.with("cause", cause),
    };
    FieldError::new(location, message)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    fn archive(entries: &[(&str, &[u8])]) -> Bytes {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, content) in entries {
            writer.start_file(*name, SimpleFileOptions::default()).unwrap();
            writer.write_all(content).unwrap();
        }
        writer.finish().unwrap().into_inner().into()
    }

    fn names(entries: &[(&str, &[u8])]) -> Vec<String> {
        unpacked(archive(entries)).map(|files| files.into_keys().collect()).unwrap_or_default()
    }

    #[test]
    fn archive_may_have_one_top_level_folder() {
        let page: &[u8] = b"page";
        assert_eq!(names(&[("queue.html", page), ("img/a.svg", page)]), ["img/a.svg", "queue.html"]);
        let litter = [
            ("acme/queue.html", page),
            ("acme/img/a.svg", page),
            ("__MACOSX/acme/._x", page),
            ("acme/.DS_Store", page),
            ("acme/img/._a.svg", page),
        ];
        assert_eq!(names(&litter[..2]), ["img/a.svg", "queue.html"]);
        assert_eq!(names(&litter), ["img/a.svg", "queue.html"]);
        assert_eq!(names(&[("acme/error.html", page), ("acme/a.css", page)]), ["a.css", "error.html"]);
        assert_eq!(names(&[("acme/job.html", page)]), ["job.html"]);
        assert_eq!(names(&[("fonts/a.woff2", page)]), ["fonts/a.woff2"], "a folder of the theme's own stays");
        assert_eq!(names(&[("../queue.html", page)]), ["../queue.html"], "what is no path of a theme is refused later");
    }

    #[test]
    fn zip_bomb_is_rejected() {
        let zeros = vec![0; 8 * 1024 * 1024];
        let large = unpacked(archive(&[("a.png", &zeros)])).ok().unwrap();
        assert_eq!(large["a.png"].len() as u64, ASSET_MAX + 1, "enough to be refused, and no more");
        let many: Vec<_> = (0..40).map(|n| format!("{n}.png")).collect();
        let many: Vec<_> = many.iter().map(|name| (name.as_str(), zeros.as_slice())).collect();
        assert!(matches!(unpacked(archive(&many)), Err(Problem::ThemeInvalid(_))));
    }

    #[test]
    fn invalid_archives_do_not_panic() {
        let whole = archive(&[("queue.html", b"page")]);
        for cut in 0..whole.len() {
            assert!(matches!(unpacked(whole.slice(..cut)), Err(Problem::InvalidBody(_))), "{cut}");
        }
        for position in 0..whole.len() {
            let mut bent = whole.to_vec();
            bent[position] ^= 0x55;
            let _ = unpacked(bent.into());
        }
    }
}
