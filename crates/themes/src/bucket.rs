//! Themes in a bucket of S3: `prefix/<theme>/` and the files' paths behind it.

mod client;
mod credentials;
mod error;
mod listing;
mod server;
mod wire;

use std::path::PathBuf;

use bytes::Bytes;
use http::Method;
use http::header::ETAG;
use tokio::sync::OnceCell;

use self::client::{Ask, Client};
use self::listing::Page;
pub use self::server::S3Server;
use self::wire::content;
use crate::ThemeError;
use crate::address::BucketAddress;
use crate::asset::{content_type, is_safe_path};
use crate::source::{Files, Listing, SourceError, Stamp};

/// Most files of a theme in a bucket, templates and assets together.
pub const FILES_MAX: usize = 1000;
/// Most answers that one listing may come in. S3 puts a thousand keys into one; others may put less.
const ANSWERS_MAX: usize = 10;

/// When an object is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum If {
    Always,
    /// If there is none of that key.
    None,
    /// If it is of this version.
    Is(String),
}

/// A bucket of themes.
pub(crate) struct Bucket {
    address: BucketAddress,
    /// How to reach it where the environment doesn't say.
    server: Option<S3Server>,
    client: OnceCell<Client>,
}

impl Bucket {
    pub(crate) fn new(address: BucketAddress, server: Option<S3Server>) -> Self {
        Self { address, server, client: OnceCell::new() }
    }

    pub(crate) fn place(&self, theme: &str) -> PathBuf {
        PathBuf::from(self.address.to_string()).join(theme)
    }

    /// All of the theme's files that may be asked for.
    pub(crate) async fn list(&self, theme: &str) -> Result<Option<Listing>, SourceError> {
        let prefix = self.address.prefix_of(theme);
        let (mut files, mut next) = (Files::new(), None);
        for _ in 0..ANSWERS_MAX {
            let page = self.page(&prefix, next.as_deref(), &[]).await?;
            let path = |key: &str| Some(key.strip_prefix(&prefix).filter(|path| is_safe_path(path))?.to_owned());
            files.extend(page.objects.into_iter().filter_map(|(key, stamp)| Some((path(&key)?, stamp))));
            next = page.next;
            if next.is_none() || files.len() > FILES_MAX {
                break;
            }
        }
        let cut_off = next.is_some() || files.len() > FILES_MAX;
        Ok((!files.is_empty()).then_some(Listing { files, cut_off }))
    }

    /// As they are, some characters of a key would break the whole answer: so they are asked for encoded.
    async fn page(&self, prefix: &str, from: Option<&str>, more: &[(&str, &str)]) -> Result<Page, SourceError> {
        let mut query = vec![("encoding-type", "url"), ("list-type", "2"), ("prefix", prefix)];
        query.extend(more);
        query.extend(from.map(|from| ("continuation-token", from)));
        let ask = Ask { query: &query, ..Ask::default() };
        Page::read(&Box::pin(self.client().await?.ask_for_text(&ask)).await?)
    }

    /// A file's content: that of the version `listed`, if any is named.
    pub(crate) async fn read(
        &self,
        theme: &str,
        path: &str,
        listed: Option<&Stamp>,
        max: u64,
    ) -> Result<Bytes, SourceError> {
        let key = self.address.prefix_of(theme) + path;
        let ask = Ask { key: &key, if_match: listed.map(|stamp| &*stamp.tag), ..Ask::default() };
        // Every request for a page or an asset carries this future; the ones inside are large.
        let answer = Box::pin(self.client().await?.ask(&ask)).await?;
        let content = content(answer.into_body(), max).await.map_err(SourceError::Away)?;
        content.ok_or_else(|| SourceError::Fault(ThemeError::TooLarge { file: self.place(theme).join(path), max }))
    }

    /// What follows `prefix`, itself behind the place's own, in the keys of all objects.
    pub(crate) async fn keys(&self, prefix: &str) -> Result<Vec<String>, SourceError> {
        let prefix = self.address.key_of(prefix);
        let pages = self.pages(&prefix, &[]).await?;
        let keys = pages.iter().flat_map(|page| &page.objects).filter_map(|(key, _)| key.strip_prefix(&prefix));
        Ok(keys.map(str::to_owned).collect())
    }

    /// The next part of these keys, of all that go on behind it.
    pub(crate) async fn folders(&self, prefix: &str) -> Result<Vec<String>, SourceError> {
        let prefix = self.address.key_of(prefix);
        let pages = self.pages(&prefix, &[("delimiter", "/")]).await?;
        let name = |found: &String| Some(found.strip_prefix(&prefix)?.strip_suffix('/')?.to_owned());
        Ok(pages.iter().flat_map(|page| &page.prefixes).filter_map(name).collect())
    }

    /// All answers to a listing.
    async fn pages(&self, prefix: &str, more: &[(&str, &str)]) -> Result<Vec<Page>, SourceError> {
        let (mut pages, mut next) = (Vec::new(), None);
        for _ in 0..ANSWERS_MAX {
            let mut page = self.page(prefix, next.as_deref(), more).await?;
            next = page.next.take();
            pages.push(page);
            if next.is_none() {
                return Ok(pages);
            }
        }
        Err(SourceError::Away(format!("more objects than {ANSWERS_MAX} answers name begin with {prefix}")))
    }

    /// An object's content and version, if there is one.
    pub(crate) async fn get(&self, path: &str, max: u64) -> Result<Option<(Bytes, String)>, SourceError> {
        let ask = Ask { key: &self.address.key_of(path), ..Ask::default() };
        let answer = match Box::pin(self.client().await?.ask(&ask)).await {
            Ok(answer) => answer,
            Err(SourceError::Changed) => return Ok(None),
            Err(error) => return Err(error),
        };
        let tag = answer.headers().get(ETAG).and_then(|tag| tag.to_str().ok()).unwrap_or_default().to_owned();
        let content = content(answer.into_body(), max).await.map_err(SourceError::Away)?;
        let file = || PathBuf::from(self.address.to_string()).join(path);
        content
            .map(|content| Some((content, tag)))
            .ok_or_else(|| SourceError::Fault(ThemeError::TooLarge { file: file(), max }))
    }

    /// Writes an object; [`SourceError::Changed`] if the condition doesn't hold.
    pub(crate) async fn put(&self, path: &str, content: Bytes, condition: &If) -> Result<(), SourceError> {
        let ask = Ask {
            method: Method::PUT,
            key: &self.address.key_of(path),
            if_match: if let If::Is(tag) = condition { Some(tag) } else { None },
            if_none: *condition == If::None,
            content: Some((content, content_type(path).unwrap_or("text/html; charset=utf-8"))),
            ..Ask::default()
        };
        Box::pin(self.client().await?.ask_for_text(&ask)).await.map(drop)
    }

    /// Removes an object, if there is one.
    pub(crate) async fn delete(&self, path: &str) -> Result<(), SourceError> {
        let ask = Ask { method: Method::DELETE, key: &self.address.key_of(path), ..Ask::default() };
        match Box::pin(self.client().await?.ask_for_text(&ask)).await {
            Ok(_) | Err(SourceError::Changed) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn client(&self) -> Result<&Client, SourceError> {
        self.client.get_or_try_init(async || Client::new(self.address.bucket(), self.server.as_ref())).await
    }
}
