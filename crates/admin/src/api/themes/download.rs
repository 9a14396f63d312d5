use std::io::{Cursor, Write as _};

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use vestibule_core::ThemeId;
use vestibule_themes::{ThemeFiles, VersionId};
use zip::ZipWriter;
use zip::result::ZipError;
use zip::write::SimpleFileOptions;

use crate::access::Principal;
use crate::body::Segments;
use crate::codes::Code;
use crate::problem::Problem;
use crate::state::Admin;
use crate::themes::{find_visible, theme_versions};

/// Download a theme version
///
/// Returns the files as a ZIP archive that can be uploaded again.
#[utoipa::path(get, path = "/themes/{theme}/versions/{version}/download", tag = "themes",
    responses(
        (status = 200, description = "The archive", content_type = "application/zip", body = crate::themes::ZipArchive),
        (status = 409, description = "Theme storage is not configured"),
    ))]
pub(crate) async fn download_theme_version(
    State(admin): State<Admin>,
    principal: Principal,
    Segments((id, version)): Segments<(String, String)>,
) -> Result<Response, Problem> {
    let theme = find_visible(&admin, &principal, &id).await?;
    let version: VersionId = version.parse().map_err(|_| Problem::NotFound(Code::AVersion))?;
    let files = theme_versions(&admin)?.read(&theme.id, &version).await?;
    archived(&theme.id, files).await
}

/// Download the active theme
///
/// Returns the files that gates use now as a ZIP archive that can be uploaded: those of the active version, or without any
/// activation those that were copied into the folder.
#[utoipa::path(get, path = "/themes/{theme}/download", tag = "themes",
    responses(
        (status = 200, description = "The archive", content_type = "application/zip", body = crate::themes::ZipArchive),
        (status = 409, description = "Theme storage is not configured"),
    ))]
pub(crate) async fn download_live_theme(
    State(admin): State<Admin>,
    principal: Principal,
    Segments(id): Segments<String>,
) -> Result<Response, Problem> {
    let theme = find_visible(&admin, &principal, &id).await?;
    let files = theme_versions(&admin)?.live(&theme.id).await?.ok_or(Problem::NotFound(Code::ATheme))?;
    archived(&theme.id, files).await
}

/// Files as an archive to download.
async fn archived(theme: &ThemeId, files: ThemeFiles) -> Result<Response, Problem> {
    let failed = |error: &dyn std::fmt::Display| Problem::ThemeStorageUnavailable(error.to_string());
    let packed = tokio::task::spawn_blocking(move || packed(&files)).await.map_err(|error| failed(&error))?;
    let packed = packed.map_err(|error| failed(&error))?;
    let name = format!("attachment; filename=\"{theme}.zip\"");
    Ok(([(CONTENT_TYPE, "application/zip".to_owned()), (CONTENT_DISPOSITION, name)], packed).into_response())
}

fn packed(files: &ThemeFiles) -> Result<Vec<u8>, ZipError> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, content) in files {
        archive.start_file(path, SimpleFileOptions::default())?;
        archive.write_all(content)?;
    }
    Ok(archive.finish()?.into_inner())
}
