use std::sync::atomic::{AtomicUsize, Ordering};

use http::{Request, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;
use vestibule_aws::AwsServer;

use crate::process::Process;
use crate::{Function, Visitor, free_port, moto};

const ACCESS_KEY: &str = "AKIAVESTIBULETESTKEY";
const SECRET_KEY: &str = "a-secret-that-no-log-may-show";
const REGION: &str = "eu-west-1";
/// How long Lambda hides what it receives: the timeout of the SQS queue.
const VISIBILITY_TIMEOUT: u64 = 900;

/// A server of the API of SQS.
pub struct Sqs {
    port: u16,
    process: Process,
    queues: AtomicUsize,
    _folder: TempDir,
}

impl Sqs {
    /// Starts a server without queues.
    pub async fn start() -> Self {
        let folder = tempfile::Builder::new().prefix("vestibule-sqs-").tempdir().unwrap();
        let port = free_port();
        let process = moto::start(port, folder.path()).await;
        Self { port, process, queues: AtomicUsize::default(), _folder: folder }
    }

    /// Creates a pair of queues. Returns their prefix as `sqs://<prefix>`.
    pub async fn queues(&self) -> String {
        let prefix = format!("test-{}", self.queues.fetch_add(1, Ordering::Relaxed));
        self.ask("CreateQueue", json!({ "QueueName": format!("{prefix}-jobs") })).await;
        let attributes = json!({ "FifoQueue": "true" });
        self.ask("CreateQueue", json!({ "QueueName": format!("{prefix}-jobs.fifo"), "Attributes": attributes })).await;
        format!("sqs://{prefix}")
    }

    /// How many messages the queues with this prefix have: visible and hidden ones.
    pub async fn messages(&self, prefix: &str) -> u64 {
        let mut count = 0;
        for queue in ["jobs", "jobs.fifo"] {
            let name = format!("{}-{queue}", prefix.trim_start_matches("sqs://"));
            let url = self.ask("GetQueueUrl", json!({ "QueueName": name })).await["QueueUrl"].clone();
            let names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"];
            let request = json!({ "QueueUrl": url, "AttributeNames": names });
            let attributes = self.ask("GetQueueAttributes", request).await["Attributes"].clone();
            count += names.iter().map(|name| attributes[name].as_str().unwrap().parse::<u64>().unwrap()).sum::<u64>();
        }
        count
    }

    /// The server, for a backend in the test's own process.
    pub fn server(&self) -> AwsServer {
        AwsServer {
            endpoint: format!("http://127.0.0.1:{}", self.port),
            region: REGION.to_owned(),
            access_key: ACCESS_KEY.to_owned(),
            secret_key: SECRET_KEY.to_owned(),
        }
    }

    /// The environment of a function that uses the server.
    pub fn environment(&self) -> [(&'static str, String); 3] {
        [
            ("AWS_ENDPOINT_URL_SQS", format!("http://127.0.0.1:{}", self.port)),
            ("AWS_ACCESS_KEY_ID", ACCESS_KEY.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", SECRET_KEY.to_owned()),
        ]
    }

    /// Receives up to ten messages, hands them to a function and deletes those that do not come again, as the event source of a
    /// Lambda function does. Returns the number of messages, and of those that come again; `None` if there are no messages.
    pub async fn hand_to(&self, function: &Function, prefix: &str, is_fifo: bool) -> Option<(usize, usize)> {
        let name = format!("{}-jobs{}", prefix.trim_start_matches("sqs://"), if is_fifo { ".fifo" } else { "" });
        let url = self.ask("GetQueueUrl", json!({ "QueueName": name })).await["QueueUrl"].clone();
        let request = json!({
            "QueueUrl": url, "MaxNumberOfMessages": 10, "VisibilityTimeout": VISIBILITY_TIMEOUT, "AttributeNames": ["All"],
        });
        let received = self.ask("ReceiveMessage", request).await;
        let messages = received["Messages"].as_array().filter(|messages| !messages.is_empty())?;
        let record = |message: &Value| {
            json!({
                "messageId": message["MessageId"], "receiptHandle": message["ReceiptHandle"], "body": message["Body"],
                "attributes": message["Attributes"], "messageAttributes": {}, "md5OfBody": message["MD5OfBody"],
                "eventSource": "aws:sqs", "eventSourceARN": format!("arn:aws:sqs:{REGION}:123456789012:{name}"),
                "awsRegion": REGION,
            })
        };
        let event = json!({ "Records": messages.iter().map(record).collect::<Vec<_>>() });
        let answer = function.invoke(event.to_string()).await;
        let answer = answer.unwrap_or_else(|error| panic!("{error}\n{}", function.log()));
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        let failures = answer["batchItemFailures"].as_array().unwrap();
        for message in messages {
            if failures.iter().all(|failure| failure["itemIdentifier"] != message["MessageId"]) {
                let handle = json!({ "QueueUrl": url, "ReceiptHandle": message["ReceiptHandle"] });
                self.ask("DeleteMessage", handle).await;
            }
        }
        Some((messages.len(), failures.len()))
    }

    /// Lets the server take connections and answer nothing.
    pub fn freeze(&self) {
        self.process.signal("STOP");
    }

    /// Ends [`Self::freeze`].
    pub fn thaw(&self) {
        self.process.signal("CONT");
    }

    async fn ask(&self, action: &str, body: Value) -> Value {
        let address = format!("127.0.0.1:{}", self.port);
        let scope = format!("{ACCESS_KEY}/20260101/{REGION}/sqs/aws4_request");
        let request = Request::post("/")
            .header("authorization", format!("AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0"))
            .header("content-type", "application/x-amz-json-1.0")
            .header("x-amz-target", format!("AmazonSQS.{action}"));
        let answer = Visitor::new(&address, &address).request(request, body.to_string()).await;
        assert_eq!(answer.status, StatusCode::OK, "{action}: {}", answer.text());
        answer.json()
    }
}
