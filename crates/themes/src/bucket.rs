//! Themes in an S3 bucket: `prefix/<theme>/`, followed by the path of the file.

mod address;
mod client;

use std::path::PathBuf;

use aws_sdk_s3::Client;
use aws_sdk_s3::operation::list_objects_v2::ListObjectsV2Output;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::EncodingType;
use bytes::Bytes;
use percent_encoding::percent_decode_str;
use tokio::sync::OnceCell;

pub use self::address::BucketAddress;
pub use self::client::S3Server;
use self::client::{connect, failed, read_body};
use crate::ThemeError;
use crate::asset::{content_type, is_safe_path};
use crate::source::{ETag, FILES_MAX, FileSet, Listing, SourceError};

/// Most pages of a listing. S3 puts a thousand keys into one; other servers may put less.
const PAGES_MAX: usize = 10;

/// The precondition of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum If {
    Always,
    /// There is no object of that key.
    None,
    /// The object has this `ETag`.
    Is(String),
}

/// A bucket of themes.
pub(crate) struct Bucket {
    address: BucketAddress,
    /// The server and its credentials, instead of the environment's.
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

    /// All files of the theme that may be served or rendered.
    pub(crate) async fn list(&self, theme: &str) -> Result<Option<Listing>, SourceError> {
        let prefix = self.address.prefix_of(theme);
        let (mut files, mut next) = (FileSet::new(), None);
        for _ in 0..PAGES_MAX {
            let page = self.page(&prefix, next, None).await?;
            let path = |key: &str| Some(key.strip_prefix(&prefix).filter(|path| is_safe_path(path))?.to_owned());
            files.extend(page.objects.into_iter().filter_map(|(key, etag)| Some((path(&key)?, etag))));
            next = page.next;
            if next.is_none() || files.len() > FILES_MAX {
                break;
            }
        }
        let cut_off = next.is_some() || files.len() > FILES_MAX;
        Ok((!files.is_empty()).then_some(Listing { files, cut_off }))
    }

    /// Asks for URL-encoded keys: some characters of a key are not allowed in XML and would break the whole response.
    async fn page(&self, prefix: &str, from: Option<String>, delimiter: Option<&str>) -> Result<Page, SourceError> {
        let request = self.client().await?.list_objects_v2().bucket(self.address.bucket()).prefix(prefix);
        let request = request.encoding_type(EncodingType::Url).set_continuation_token(from);
        let request = request.set_delimiter(delimiter.map(str::to_owned));
        Ok(Page::of(&Box::pin(request.send()).await.map_err(|error| failed(&error))?))
    }

    /// A file's content: that of the version `listed`, if one is given.
    pub(crate) async fn read(
        &self,
        theme: &str,
        path: &str,
        listed: Option<&ETag>,
        max: u64,
    ) -> Result<Bytes, SourceError> {
        let request = self.client().await?.get_object().bucket(self.address.bucket());
        let request = request.key(self.address.prefix_of(theme) + path);
        let request = request.set_if_match(listed.map(|etag| etag.value.to_string()));
        // Boxed, because every request for a page or an asset carries this future.
        let object = Box::pin(request.send()).await.map_err(|error| failed(&error))?;
        let content = Box::pin(read_body(object.body, max)).await?;
        content.ok_or_else(|| SourceError::Fault(ThemeError::TooLarge { file: self.place(theme).join(path), max }))
    }

    /// The keys of all objects below `prefix`, which is relative to the address; without the prefix.
    pub(crate) async fn keys(&self, prefix: &str) -> Result<Vec<String>, SourceError> {
        let prefix = self.address.key_of(prefix);
        let pages = self.pages(&prefix, None).await?;
        let keys = pages.iter().flat_map(|page| &page.objects).filter_map(|(key, _)| key.strip_prefix(&prefix));
        Ok(keys.map(str::to_owned).collect())
    }

    /// The names of the folders in the folder `prefix`.
    pub(crate) async fn folders(&self, prefix: &str) -> Result<Vec<String>, SourceError> {
        let prefix = self.address.key_of(prefix);
        let pages = self.pages(&prefix, Some("/")).await?;
        let name = |found: &String| Some(found.strip_prefix(&prefix)?.strip_suffix('/')?.to_owned());
        Ok(pages.iter().flat_map(|page| &page.prefixes).filter_map(name).collect())
    }

    /// All pages of a listing.
    async fn pages(&self, prefix: &str, delimiter: Option<&str>) -> Result<Vec<Page>, SourceError> {
        let (mut pages, mut next) = (Vec::new(), None);
        for _ in 0..PAGES_MAX {
            let mut page = self.page(prefix, next, delimiter).await?;
            next = page.next.take();
            pages.push(page);
            if next.is_none() {
                return Ok(pages);
            }
        }
        Err(SourceError::Unavailable(format!("more than {PAGES_MAX} pages of objects begin with {prefix}")))
    }

    /// An object's content and `ETag`, if there is one.
    pub(crate) async fn get(&self, path: &str, max: u64) -> Result<Option<(Bytes, String)>, SourceError> {
        let request = self.client().await?.get_object().bucket(self.address.bucket()).key(self.address.key_of(path));
        let object = match Box::pin(request.send()).await.map_err(|error| failed(&error)) {
            Ok(object) => object,
            Err(SourceError::Changed) => return Ok(None),
            Err(error) => return Err(error),
        };
        let tag = object.e_tag.unwrap_or_default();
        let content = Box::pin(read_body(object.body, max)).await?;
        let file = || PathBuf::from(self.address.to_string()).join(path);
        content
            .map(|content| Some((content, tag)))
            .ok_or_else(|| SourceError::Fault(ThemeError::TooLarge { file: file(), max }))
    }

    /// Writes an object; [`SourceError::Changed`] if the precondition fails.
    pub(crate) async fn put(&self, path: &str, content: Bytes, condition: &If) -> Result<(), SourceError> {
        let request = self.client().await?.put_object().bucket(self.address.bucket()).key(self.address.key_of(path));
        let request = request.content_type(content_type(path).unwrap_or("text/html; charset=utf-8"));
        let request = match condition {
            If::Always => request,
            If::None => request.if_none_match("*"),
            If::Is(tag) => request.if_match(tag),
        };
        Box::pin(request.body(ByteStream::from(content)).send()).await.map(drop).map_err(|error| failed(&error))
    }

    /// Removes an object, if there is one.
    pub(crate) async fn delete(&self, path: &str) -> Result<(), SourceError> {
        let request = self.client().await?.delete_object().bucket(self.address.bucket()).key(self.address.key_of(path));
        match Box::pin(request.send()).await.map_err(|error| failed(&error)) {
            Ok(_) | Err(SourceError::Changed) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn client(&self) -> Result<&Client, SourceError> {
        self.client.get_or_try_init(async || Box::pin(connect(self.server.as_ref())).await).await
    }
}

/// One page of a listing.
#[derive(Debug, Default, PartialEq, Eq)]
struct Page {
    /// Keys and their versions. Keys that are not UTF-8, or have no version, are left out.
    objects: Vec<(String, ETag)>,
    /// The common prefixes up to the delimiter.
    prefixes: Vec<String>,
    /// The continuation token of the next page, if this is not the last.
    next: Option<String>,
}

impl Page {
    fn of(output: &ListObjectsV2Output) -> Self {
        let encoded = output.encoding_type() == Some(&EncodingType::Url);
        let objects = output.contents().iter().filter_map(|object| {
            let bytes = object.size()?.try_into().ok()?;
            Some((decoded(object.key()?, encoded)?, ETag { bytes, value: object.e_tag()?.into() }))
        });
        let prefixes = output.common_prefixes().iter().filter_map(|found| decoded(found.prefix()?, encoded));
        Self {
            objects: objects.collect(),
            prefixes: prefixes.collect(),
            next: output.next_continuation_token().map(str::to_owned),
        }
    }
}

fn decoded(key: &str, encoded: bool) -> Option<String> {
    if !encoded {
        return Some(key.to_owned());
    }
    Some(percent_decode_str(&key.replace('+', " ")).decode_utf8().ok()?.into_owned())
}

#[cfg(test)]
mod tests {
    use aws_sdk_s3::types::{CommonPrefix, Object};

    use super::*;

    #[test]
    fn keys_of_a_listing_are_decoded() {
        let object = |key: &str| Object::builder().key(key).e_tag("\"abc-1\"").size(5).build();
        let output = ListObjectsV2Output::builder()
            .encoding_type(EncodingType::Url)
            .contents(object("themes/a+b%26c.css"))
            .contents(object("%FF"))
            .contents(Object::builder().key("no-version").size(1).build())
            .common_prefixes(CommonPrefix::builder().prefix("themes/old%2F").build())
            .next_continuation_token("1/x==");
        let page = Page::of(&output.build());
        assert_eq!(page.objects, [("themes/a b&c.css".to_owned(), ETag { bytes: 5, value: "\"abc-1\"".into() })]);
        assert_eq!((page.prefixes, page.next), (vec!["themes/old/".to_owned()], Some("1/x==".to_owned())));
    }

    #[test]
    fn keys_that_are_not_encoded_stay_as_they_are() {
        let output = ListObjectsV2Output::builder().contents(Object::builder().key("a+%20").e_tag("x").size(0).build());
        assert_eq!(Page::of(&output.build()).objects[0].0, "a+%20");
    }
}
