//! Versions of themes: upload, activation, and what visitors see.

mod concurrency;
mod outages;
mod versions;
mod visitors;

use std::path::PathBuf;
use std::time::Duration;

use tempfile::TempDir;
use vestibule_core::{Micros, ThemeId};
use vestibule_tests::S3;
use vestibule_themes::{Draft, ThemeFiles, ThemeVersion, ThemeVersions, Themes, ThemesAddress, VersionId};

use crate::gate_fixture::{view, visitor_status};

/// Every request refreshes the theme.
const AT_ONCE: Option<Duration> = Some(Duration::ZERO);

/// Where themes are stored.
pub(crate) enum ThemeStorage {
    Folder(TempDir),
    Bucket(S3),
}

/// Runs each of these tests on a folder and on a bucket.
macro_rules! on_each_storage {
    ($($behavior:ident),+ $(,)?) => {
        $crate::suite::on_each! {
            { folder: super::super::ThemeStorage::folder(), bucket: super::super::ThemeStorage::bucket().await, }
            { $($behavior,)+ }
        }
    };
}
use on_each_storage;

impl ThemeStorage {
    pub(crate) fn folder() -> Self {
        Self::Folder(tempfile::tempdir().unwrap())
    }

    pub(crate) async fn bucket() -> Self {
        Self::Bucket(S3::start().await)
    }

    pub(crate) fn versions(&self) -> ThemeVersions {
        match self {
            Self::Folder(folder) => ThemeVersions::at(ThemesAddress::Folder(folder.path().to_owned())),
            Self::Bucket(s3) => ThemeVersions::on_server(s3.server(), s3.themes("themes").parse().unwrap()),
        }
    }

    /// What a gate shows.
    pub(crate) fn themes(&self) -> Themes {
        match self {
            Self::Folder(folder) => Themes::at(ThemesAddress::Folder(folder.path().to_owned()), AT_ONCE),
            Self::Bucket(s3) => Themes::on_server(s3.server(), s3.themes("themes").parse().unwrap(), AT_ONCE),
        }
    }

    /// Writes a file by hand.
    pub(crate) async fn write(&self, path: &str, content: &str) {
        match self {
            Self::Folder(folder) => {
                let path: PathBuf = folder.path().join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, content).unwrap();
            }
            Self::Bucket(s3) => s3.put(&format!("themes/{path}"), content.to_owned()).await,
        }
    }

    async fn remove(&self, path: &str) {
        match self {
            Self::Folder(folder) => std::fs::remove_file(folder.path().join(path)).unwrap(),
            Self::Bucket(s3) => s3.delete(&format!("themes/{path}")).await,
        }
    }
}

fn acme() -> ThemeId {
    "acme".parse().unwrap()
}

/// A second of the day on which all of this happens.
fn at(second: u64) -> Micros {
    Micros(1_800_000_000_000_000).add_seconds(second)
}

fn files<const N: usize>(files: [(&str, &str); N]) -> ThemeFiles {
    files.map(|(path, content)| (path.to_owned(), content.to_owned().into())).into()
}

/// Uploads a version and activates it, whatever the revision is.
async fn publish(versions: &ThemeVersions, theme: &ThemeId, files: ThemeFiles, by: &str, now: Micros) -> ThemeVersion {
    let created = versions.create(theme, &draft(files).await, by, now).await.unwrap();
    versions.activate(theme, &created.id, None, by, now).await.unwrap().0
}

/// The ID of the live version.
async fn live_id(versions: &ThemeVersions) -> Option<VersionId> {
    versions.list(&acme()).await.unwrap().versions.into_iter().find(|version| version.live).map(|version| version.id)
}

/// A theme whose pages say `text`, by way of a part.
fn saying(text: &str) -> ThemeFiles {
    files([
        ("queue.html", "{% include \"part.html\" %}.{{ script_tags }}"),
        ("part.html", text),
        ("img/logo.svg", &format!("<svg id=\"{text}\"/>")),
    ])
}

async fn draft(files: ThemeFiles) -> Draft {
    Draft::check(files).await.unwrap_or_else(|faults| panic!("{faults:?}"))
}

/// What visitors see of the theme.
async fn page(themes: &Themes) -> String {
    let visitor_status = visitor_status();
    let page = themes.queue_page(Some(&acme()), &view(&visitor_status)).await;
    if page.contains("<main class=\"card\">") {
        "built-in".to_owned()
    } else {
        page.split('.').next().unwrap().to_owned()
    }
}
