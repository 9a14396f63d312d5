use std::time::Duration;

use http::HeaderMap;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::Value;
use tokio::time::timeout;

/// How long a stream may be silent.
const TIMEOUT: Duration = Duration::from_secs(20);

/// An open stream of server-sent events.
pub struct EventStream {
    /// The headers of the response.
    pub headers: HeaderMap,
    body: Incoming,
    text: String,
}

/// What a stream sends at once.
#[derive(Debug, PartialEq)]
pub enum StreamBlock {
    /// After how many milliseconds to reconnect.
    Retry(u64),
    /// An event of this name and its data.
    Event(String, Value),
    /// A comment.
    Comment,
}

impl EventStream {
    pub(crate) fn new(headers: HeaderMap, body: Incoming) -> Self {
        Self { headers, body, text: String::new() }
    }

    /// What comes next; `None` at the end.
    pub async fn next(&mut self) -> Option<StreamBlock> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let block = self.text.drain(..end + 2).collect::<String>();
                return Some(parse(block.trim_end()));
            }
            let frame = timeout(TIMEOUT, self.body.frame()).await.expect("the stream says something in time")?;
            let data = frame.expect("a whole stream").into_data().expect("a stream has no trailers");
            self.text.push_str(std::str::from_utf8(&data).unwrap());
        }
    }

    /// The data of the next event; `None` at the end.
    pub async fn event(&mut self) -> Option<Value> {
        loop {
            if let StreamBlock::Event(_, data) = self.next().await? {
                return Some(data);
            }
        }
    }
}

fn parse(block: &str) -> StreamBlock {
    let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    if let Some(retry) = field("retry") {
        return StreamBlock::Retry(retry.parse().unwrap());
    }
    if let (Some(name), Some(data)) = (field("event"), field("data")) {
        return StreamBlock::Event(name.to_owned(), serde_json::from_str(data).unwrap());
    }
    assert!(block.starts_with(':'), "{block}");
    StreamBlock::Comment
}
