//! Themes in a bucket of S3: `prefix/<theme>/` and the files' paths behind it.

mod client;
mod error;

use std::path::PathBuf;
use std::time::Duration;

use aws_sdk_s3::Client;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{EncodingType, Object};
use bytes::{Bytes, BytesMut};
use percent_encoding::percent_decode_str;
use tokio::sync::OnceCell;

pub use self::client::S3Server;
use self::error::{away, is_changed};
use crate::ThemeError;
use crate::address::BucketAddress;
use crate::asset::is_safe_path;
use crate::awake::within;
use crate::source::{Files, Listing, SourceError, Stamp};

/// Most files of a theme in a bucket, templates and assets together.
pub const FILES_MAX: usize = 1000;
/// Most answers that one listing may come in. S3 puts a thousand keys into one; others may put less.
const ANSWERS_MAX: usize = 10;
/// How long the content of one file may take to arrive once S3 has begun to send it.
const CONTENT_MAX: Duration = Duration::from_secs(3);

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
            let request = self.client().await.list_objects_v2().bucket(self.address.bucket()).prefix(&prefix);
            // As they are, some characters of a key would break the whole answer.
            let request = request.encoding_type(EncodingType::Url).set_continuation_token(next);
            let answer = Box::pin(request.send()).await.map_err(|error| away(&error))?;
            let encoded = answer.encoding_type() == Some(&EncodingType::Url);
            files.extend(answer.contents().iter().filter_map(|object| file(object, encoded, &prefix)));
            next = answer.next_continuation_token;
            if next.is_none() || files.len() > FILES_MAX {
                break;
            }
        }
        let cut_off = next.is_some() || files.len() > FILES_MAX;
        Ok((!files.is_empty()).then_some(Listing { files, cut_off }))
    }

    /// A file's content: that of the version `listed`, if any is named.
    pub(crate) async fn read(
        &self,
        theme: &str,
        path: &str,
        listed: Option<&Stamp>,
        max: u64,
    ) -> Result<Bytes, SourceError> {
        let request = self.client().await.get_object().bucket(self.address.bucket());
        let request = request.key(self.address.prefix_of(theme) + path);
        let request = request.set_if_match(listed.map(|stamp| stamp.tag.to_string()));
        // The SDK's futures are large, and every request for a page or an asset carries one.
        let answer = Box::pin(request.send()).await;
        let answer = answer.map_err(|error| if is_changed(&error) { SourceError::Changed } else { away(&error) })?;
        let content = within(CONTENT_MAX, content(answer.body, max)).await;
        let content =
            content.unwrap_or_else(|| Err(SourceError::Away("the content didn't come in time".to_owned())))?;
        content.ok_or_else(|| SourceError::Fault(ThemeError::TooLarge { file: self.place(theme).join(path), max }))
    }

    async fn client(&self) -> &Client {
        self.client.get_or_init(|| Box::pin(client::connect(self.server.as_ref()))).await
    }
}

/// An object as one of the theme's files; `None` for a key that no path names.
fn file(object: &Object, encoded: bool, prefix: &str) -> Option<(String, Stamp)> {
    let key = object.key()?;
    let key = if encoded {
        percent_decode_str(&key.replace('+', " ")).decode_utf8().ok()?.into_owned()
    } else {
        key.to_owned()
    };
    let path = key.strip_prefix(prefix).filter(|path| is_safe_path(path))?.to_owned();
    Some((path, Stamp { bytes: object.size()?.try_into().ok()?, tag: object.e_tag()?.into() }))
}

/// The whole content, or `None` if it is more than `max` bytes.
async fn content(mut body: ByteStream, max: u64) -> Result<Option<Bytes>, SourceError> {
    let mut content = BytesMut::new();
    while let Some(part) = body.try_next().await.map_err(|error| SourceError::Away(error.to_string()))? {
        if (content.len() + part.len()) as u64 > max {
            return Ok(None);
        }
        content.extend_from_slice(&part);
    }
    Ok(Some(content.freeze()))
}
