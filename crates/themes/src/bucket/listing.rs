//! The answers that name keys.

use percent_encoding::percent_decode_str;
use serde::Deserialize;

use crate::source::{SourceError, Stamp};

/// One answer to a listing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    /// Keys and their versions. What is no UTF-8, or has no version, is left out.
    pub(super) objects: Vec<(String, Stamp)>,
    /// What keys begin with that go on behind the delimiter.
    pub(super) prefixes: Vec<String>,
    /// Where the next answer begins, if this is not the last.
    pub(super) next: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ListBucketResult {
    #[serde(default)]
    contents: Vec<Object>,
    #[serde(default)]
    common_prefixes: Vec<Prefix>,
    encoding_type: Option<String>,
    next_continuation_token: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Object {
    key: String,
    size: u64,
    #[serde(rename = "ETag")]
    tag: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Prefix {
    prefix: String,
}

impl Page {
    pub(super) fn read(answer: &str) -> Result<Self, SourceError> {
        let odd = |error: quick_xml::DeError| SourceError::Away(format!("S3 answered what is no listing: {error}"));
        let found: ListBucketResult = quick_xml::de::from_str(answer).map_err(odd)?;
        let encoded = found.encoding_type.as_deref() == Some("url");
        let object = |object: Object| {
            let stamp = Stamp { bytes: object.size, tag: object.tag?.into() };
            Some((decoded(object.key, encoded)?, stamp))
        };
        Ok(Self {
            objects: found.contents.into_iter().filter_map(object).collect(),
            prefixes: found.common_prefixes.into_iter().filter_map(|found| decoded(found.prefix, encoded)).collect(),
            next: found.next_continuation_token,
        })
    }
}

fn decoded(key: String, encoded: bool) -> Option<String> {
    if !encoded {
        return Some(key);
    }
    Some(percent_decode_str(&key.replace('+', " ")).decode_utf8().ok()?.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_names_keys_as_they_are() {
        let answer = r#"<?xml version="1.0" encoding="UTF-8"?>
            <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>acme</Name><Prefix>themes%2F</Prefix>
            <IsTruncated>true</IsTruncated><EncodingType>url</EncodingType><NextContinuationToken>1/x==</NextContinuationToken>
            <Contents><Key>themes/a+b%26c.css</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>
            <ETag>&quot;abc-1&quot;</ETag><Size>5</Size><Owner><ID>x</ID></Owner></Contents>
            <Contents><Key>%FF</Key><ETag>"x"</ETag><Size>1</Size></Contents>
            <CommonPrefixes><Prefix>themes/old%2F</Prefix></CommonPrefixes></ListBucketResult>"#;
        let page = Page::read(answer).unwrap();
        assert_eq!(page.objects, [("themes/a b&c.css".to_owned(), Stamp { bytes: 5, tag: "\"abc-1\"".into() })]);
        assert_eq!((page.prefixes, page.next), (vec!["themes/old/".to_owned()], Some("1/x==".to_owned())));
    }

    #[test]
    fn an_empty_listing_has_nothing_in_it() {
        let answer = "<ListBucketResult><KeyCount>0</KeyCount></ListBucketResult>";
        assert_eq!(Page::read(answer).unwrap(), Page::default());
    }

    #[test]
    fn whatever_is_no_listing_is_refused() {
        for answer in ["", "<html><p>Sign in</html>", "<ListBucketResult><Contents><Size>x</Size></Contents>"] {
            assert!(matches!(Page::read(answer), Err(SourceError::Away(_))), "{answer}");
        }
    }
}
