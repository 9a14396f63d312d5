//! Theme storage in an S3 bucket, below `prefix/`.

mod client;

use std::path::PathBuf;

use async_trait::async_trait;
use aws_sdk_s3::Client;
use aws_sdk_s3::operation::list_objects_v2::ListObjectsV2Output;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::EncodingType;
use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use percent_encoding::percent_decode_str;
use tokio::sync::OnceCell;
use vestibule_aws::AwsServer;

use self::client::{connect, failed, is_missing, read_body, status};
use crate::ThemeError;
use crate::address::BucketAddress;
use crate::asset::{content_type, is_safe_path};
use crate::files::{ETag, FileSet, Listing, StorageError};
use crate::storage::Storage;

/// Most pages of a listing. S3 puts a thousand keys into one; other servers may put fewer.
const PAGES_MAX: usize = 10;

/// The status of a conditional request whose condition is not met.
const PRECONDITION_FAILED: u16 = 412;
/// Concurrent removals of objects.
const REMOVALS_AT_ONCE: usize = 8;

/// A bucket of themes.
pub(crate) struct Bucket {
    address: BucketAddress,
    /// The server and its credentials, instead of the environment's.
    server: Option<AwsServer>,
    client: OnceCell<Client>,
}

impl Bucket {
    pub(crate) fn new(address: BucketAddress, server: Option<AwsServer>) -> Self {
        Self { address, server, client: OnceCell::new() }
    }

    async fn remove_key(&self, key: String) -> Result<(), StorageError> {
        let request = self.client().await?.delete_object().bucket(self.address.bucket()).key(key);
        request.send().await.map(drop).map_err(|error| failed(&error))
    }

    /// Asks for URL-encoded keys: some characters of a key are not allowed in XML and would break the whole response.
    async fn page(&self, prefix: &str, from: Option<String>, delimiter: Option<&str>) -> Result<Page, StorageError> {
        let request = self.client().await?.list_objects_v2().bucket(self.address.bucket()).prefix(prefix);
        let request = request.encoding_type(EncodingType::Url).set_continuation_token(from);
        let request = request.set_delimiter(delimiter.map(str::to_owned));
        Ok(Page::of(&request.send().await.map_err(|error| failed(&error))?))
    }

    /// All pages of a listing.
    async fn pages(&self, prefix: &str, delimiter: Option<&str>) -> Result<Vec<Page>, StorageError> {
        let (mut pages, mut next) = (Vec::new(), None);
        for _ in 0..PAGES_MAX {
            let mut page = self.page(prefix, next, delimiter).await?;
            next = page.next.take();
            pages.push(page);
            if next.is_none() {
                return Ok(pages);
            }
        }
        Err(StorageError::Unavailable(format!("more than {PAGES_MAX} pages of objects begin with {prefix}")))
    }

    async fn client(&self) -> Result<&Client, StorageError> {
        self.client.get_or_try_init(async || connect(self.server.as_ref()).await).await
    }
}

#[async_trait]
impl Storage for Bucket {
    fn is_near(&self) -> bool {
        false
    }

    fn location(&self, path: &str) -> PathBuf {
        PathBuf::from(self.address.to_string()).join(path)
    }

    async fn list(&self, folder: &str, max: usize) -> Result<Listing, StorageError> {
        let prefix = self.address.key_of(folder);
        let (mut files, mut next) = (FileSet::new(), None);
        for _ in 0..PAGES_MAX {
            let page = self.page(&prefix, next, None).await?;
            let path = |key: &str| Some(key.strip_prefix(&prefix).filter(|path| is_safe_path(path))?.to_owned());
            files.extend(page.objects.into_iter().filter_map(|(key, etag)| Some((path(&key)?, etag))));
            next = page.next;
            if next.is_none() || files.len() > max {
                break;
            }
        }
        Ok(Listing { cut_off: next.is_some() || files.len() > max, files })
    }

    async fn folders(&self, folder: &str) -> Result<Vec<String>, StorageError> {
        let prefix = self.address.key_of(folder);
        let pages = self.pages(&prefix, Some("/")).await?;
        let name = |found: &String| Some(found.strip_prefix(&prefix)?.strip_suffix('/')?.to_owned());
        Ok(pages.iter().flat_map(|page| &page.prefixes).filter_map(name).collect())
    }

    async fn read(
        &self,
        folder: &str,
        path: &str,
        etag: Option<&ETag>,
        max: u64,
    ) -> Result<Option<Bytes>, StorageError> {
        let request = self.client().await?.get_object().bucket(self.address.bucket());
        let request = request.key(self.address.key_of(folder) + path);
        let request = request.set_if_match(etag.map(|etag| etag.value.to_string()));
        let object = match request.send().await {
            Ok(object) => object,
            Err(error) if status(&error) == Some(PRECONDITION_FAILED) => return Err(StorageError::Changed),
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(failed(&error)),
        };
        let content = read_body(object.body, max).await?;
        let file = || self.location(folder).join(path);
        content.map(Some).ok_or_else(|| StorageError::Fault(ThemeError::TooLarge { file: file(), max }))
    }

    /// S3 grants a conditional write to one of several concurrent writers.
    async fn create(&self, path: String, content: Bytes) -> Result<bool, StorageError> {
        let request = self.client().await?.put_object().bucket(self.address.bucket()).key(self.address.key_of(&path));
        let request = request.content_type(content_type(&path).unwrap_or("text/html; charset=utf-8"));
        let request = request.if_none_match("*").body(ByteStream::from(content));
        match request.send().await {
            Ok(_) => Ok(true),
            Err(error) if status(&error) == Some(PRECONDITION_FAILED) => Ok(false),
            Err(error) => Err(failed(&error)),
        }
    }

    async fn remove(&self, path: String) -> Result<(), StorageError> {
        self.remove_key(self.address.key_of(&path)).await
    }

    async fn remove_all(&self, folder: String) -> Result<(), StorageError> {
        let pages = self.pages(&self.address.key_of(&folder), None).await?;
        let keys = pages.into_iter().flat_map(|page| page.objects).map(|(key, _)| key);
        let removals: Vec<_> = keys.map(|key| self.remove_key(key)).collect();
        stream::iter(removals).buffer_unordered(REMOVALS_AT_ONCE).try_collect().await
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
