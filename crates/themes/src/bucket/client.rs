//! Signed requests to one bucket, and their answers.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, IF_MATCH, IF_NONE_MATCH};
use http::{HeaderName, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqsign_aws_v4::{Credential, RequestSigner};
use reqsign_core::{Context, Error, FileRead, HttpSend, OsEnv, Signer};

use super::credentials::Credentials;
use super::error::refused;
use super::server::{Place, S3Server};
use super::wire::{Wire, content};
use crate::asset::sha256_hex;
use crate::awake::{sleep_awake, within};
use crate::source::SourceError;

/// All tries of one request together, keys that have to be asked for included.
const REQUEST_MAX: Duration = Duration::from_secs(5);
const TRIES_MAX: usize = 2;
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(100);
/// Most bytes of an answer that is no file: a thousand keys, each a kilobyte of three letters a byte, fit into it.
const ANSWER_MAX: u64 = 4 * 1024 * 1024;
/// The same of one that gives keys out.
const KEYS_MAX: u64 = 64 * 1024;
const CONTENT_HASH: HeaderName = HeaderName::from_static("x-amz-content-sha256");

/// What signatures leave as it is in a query.
const PLAIN: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// In a key, what parts it too.
const PLAIN_IN_KEYS: AsciiSet = PLAIN.remove(b'/');

/// One question.
#[derive(Debug, Default)]
pub(super) struct Ask<'a> {
    pub(super) method: Method,
    /// Empty for the bucket itself.
    pub(super) key: &'a str,
    /// Names and values, not encoded.
    pub(super) query: &'a [(&'a str, &'a str)],
    /// Only if the object is of this version.
    pub(super) if_match: Option<&'a str>,
    /// Only if there is no such object.
    pub(super) if_none: bool,
    /// What is written, and its type.
    pub(super) content: Option<(Bytes, &'static str)>,
}

/// A bucket's server.
pub(super) struct Client {
    wire: Wire,
    signer: Signer<Credential>,
    base: String,
}

impl Client {
    /// Reads the configuration. Nothing is asked of S3 yet.
    pub(super) fn new(bucket: &str, server: Option<&S3Server>) -> Result<Self, SourceError> {
        let place = Place::of(bucket, server, |name| std::env::var(name).ok())?;
        let wire = Wire::new(place.foreign).map_err(SourceError::Away)?;
        let context = Context::new().with_env(OsEnv).with_file_read(Disk).with_http_send(wire.clone());
        let credentials = server.map_or_else(Credentials::of_environment, Credentials::of);
        let signer = Signer::new(context, credentials, RequestSigner::new("s3", &place.region));
        Ok(Self { wire, signer, base: place.base })
    }

    /// A successful answer, whose content is still to come.
    pub(super) async fn ask(&self, ask: &Ask<'_>) -> Result<Response<Incoming>, SourceError> {
        let answer = within(REQUEST_MAX, self.tries(ask)).await;
        let answer = answer.unwrap_or_else(|| Err(SourceError::Away("no answer in time".to_owned())))?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let (head, body) = answer.into_parts();
        let said = content(body, ANSWER_MAX).await.ok().flatten().unwrap_or_default();
        Err(refused(&head, &said))
    }

    /// The same with its content, of an answer that is no file.
    pub(super) async fn ask_for_text(&self, ask: &Ask<'_>) -> Result<String, SourceError> {
        let answer = content(self.ask(ask).await?.into_body(), ANSWER_MAX).await.map_err(SourceError::Away)?;
        let odd = || SourceError::Away("S3 answered what is no text, or far too much".to_owned());
        String::from_utf8(answer.ok_or_else(odd)?.into()).map_err(|_| odd())
    }

    async fn tries(&self, ask: &Ask<'_>) -> Result<Response<Incoming>, SourceError> {
        let mut tries = 1;
        loop {
            let answer = self.wire.send(self.signed(ask).await?).await;
            let again = answer.as_ref().map_or(true, |answer| is_passing(answer.status()));
            if !again || tries == TRIES_MAX {
                return answer.map_err(SourceError::Away);
            }
            tries += 1;
            sleep_awake(PAUSE).await;
        }
    }

    async fn signed(&self, ask: &Ask<'_>) -> Result<Request<Full<Bytes>>, SourceError> {
        let failed = |error: &dyn std::error::Error| SourceError::Away(error.to_string());
        let (mut head, body) = unsigned(&self.base, ask).map_err(|error| failed(&error))?.into_parts();
        self.signer.sign(&mut head, None).await.map_err(|error| failed(&error))?;
        Ok(Request::from_parts(head, body))
    }
}

fn unsigned(base: &str, ask: &Ask<'_>) -> Result<Request<Full<Bytes>>, http::Error> {
    let mut uri = format!("{base}/{}", utf8_percent_encode(ask.key, &PLAIN_IN_KEYS));
    for (index, (name, value)) in ask.query.iter().enumerate() {
        uri.push(if index == 0 { '?' } else { '&' });
        uri.extend([*name, "="].into_iter().chain(utf8_percent_encode(value, &PLAIN)));
    }
    let mut request = Request::builder().method(&ask.method).uri(uri);
    if let Some(version) = ask.if_match {
        request = request.header(IF_MATCH, version);
    }
    if ask.if_none {
        request = request.header(IF_NONE_MATCH, "*");
    }
    let (content, kind) = ask.content.clone().unzip();
    if let Some(kind) = kind {
        request = request.header(CONTENT_TYPE, kind);
    }
    let content = content.unwrap_or_default();
    request.header(CONTENT_HASH, sha256_hex(&content)).body(Full::new(content))
}

/// Whether the same request may do better in a moment.
fn is_passing(status: StatusCode) -> bool {
    status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS
}

/// How the library that signs asks for keys.
impl HttpSend for Wire {
    async fn http_send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, Error> {
        let answer = self.send(request.map(Full::new)).await.map_err(Error::unexpected)?;
        let (head, body) = answer.into_parts();
        let body = content(body, KEYS_MAX).await.map_err(Error::unexpected)?;
        Ok(Response::from_parts(head, body.ok_or_else(|| Error::unexpected("a very long answer"))?))
    }
}

/// How it reads profiles and tokens.
#[derive(Debug)]
struct Disk;

impl FileRead for Disk {
    async fn file_read(&self, path: &str) -> Result<Vec<u8>, Error> {
        Ok(tokio::fs::read(path).await?)
    }
}
