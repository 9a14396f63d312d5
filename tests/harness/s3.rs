mod route;

use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use tempfile::TempDir;
use vestibule_aws::AwsServer;

use crate::moto;
use crate::process::Process;
use crate::{TestResponse, Visitor, free_port};

use self::route::Route;

const ACCESS_KEY: &str = "AKIAVESTIBULETESTKEY";
const SECRET_KEY: &str = "a-secret-that-no-log-may-show";
const ALLOW_ALL: &str = r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}"#;
const REGION: &str = "eu-west-1";

/// A server of S3's API with one bucket of a name of its own. What it holds lies in its memory.
///
/// The address that a test hands on is that of a way to the server, which the test can make slow, and which records what
/// was asked.
pub struct S3 {
    bucket: String,
    port: u16,
    way: Route,
    folder: TempDir,
    process: Option<Process>,
}

impl S3 {
    /// Starts a server with an empty bucket.
    pub async fn start() -> Self {
        let port = free_port();
        let folder = tempfile::Builder::new().prefix("vestibule-s3-").tempdir().unwrap();
        let mut s3 = Self { bucket: format!("themes-{port}"), port, way: Route::to(port).await, folder, process: None };
        s3.restart().await;
        s3
    }

    /// Starts the server again, after [`Self::kill`], with an empty bucket.
    pub async fn restart(&mut self) {
        self.process = Some(moto::start(self.port, self.folder.path()).await);
        let configuration = format!(
            "<CreateBucketConfiguration><LocationConstraint>{REGION}</LocationConstraint></CreateBucketConfiguration>"
        );
        let made = self.send(Request::put(format!("/{}", self.bucket)), configuration).await;
        assert_eq!(made.status, StatusCode::OK, "{}", made.text());
    }

    /// `s3://bucket/<prefix>`.
    pub fn themes(&self, prefix: &str) -> String {
        format!("s3://{}/{prefix}", self.bucket)
    }

    /// The server, for a gate in the test's own process.
    pub fn server(&self) -> AwsServer {
        AwsServer {
            endpoint: self.endpoint(),
            region: REGION.to_owned(),
            access_key: ACCESS_KEY.to_owned(),
            secret_key: SECRET_KEY.to_owned(),
        }
    }

    /// The server, for a program: the usual variables of AWS.
    pub fn environment(&self) -> [(&'static str, String); 4] {
        [
            ("AWS_ENDPOINT_URL_S3", self.endpoint()),
            ("AWS_REGION", REGION.to_owned()),
            ("AWS_ACCESS_KEY_ID", ACCESS_KEY.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", SECRET_KEY.to_owned()),
        ]
    }

    /// The key that opens the bucket, which nobody writes down.
    pub fn secret_key(&self) -> String {
        SECRET_KEY.to_owned()
    }

    /// From now on only signed requests are answered: those of the key that this makes, which may do everything.
    pub async fn require_signatures(&self) -> AwsServer {
        self.ask_aws("iam", "CreateUser&UserName=anna").await;
        let policy = format!("PutUserPolicy&UserName=anna&PolicyName=all&PolicyDocument={}", encoded(ALLOW_ALL));
        self.ask_aws("iam", &policy).await;
        let made = self.ask_aws("iam", "CreateAccessKey&UserName=anna").await;
        self.check_signatures().await;
        self.server_of(&made)
    }

    /// The same by keys that are good with a token only, as a function's and a machine's are.
    pub async fn require_temporary_keys(&self) -> (AwsServer, String) {
        let role = "CreateRole&RoleName=gates&AssumeRolePolicyDocument=%7B%7D";
        self.ask_aws("iam", role).await;
        let policy = format!("PutRolePolicy&RoleName=gates&PolicyName=all&PolicyDocument={}", encoded(ALLOW_ALL));
        self.ask_aws("iam", &policy).await;
        let taken = "AssumeRole&RoleSessionName=gate&RoleArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Fgates";
        let taken = self.ask_aws("sts", taken).await;
        self.check_signatures().await;
        (self.server_of(&taken), inside("SessionToken", &taken))
    }

    fn server_of(&self, answer: &str) -> AwsServer {
        let (access_key, secret_key) = (inside("AccessKeyId", answer), inside("SecretAccessKey", answer));
        AwsServer { access_key, secret_key, ..self.server() }
    }

    async fn check_signatures(&self) {
        let on = self.client().request(Request::post("/moto-api/reset-auth"), "0").await;
        assert_eq!(on.status, StatusCode::OK, "{}", on.text());
    }

    async fn ask_aws(&self, service: &str, action: &str) -> String {
        let scope = format!("{ACCESS_KEY}/20260101/us-east-1/{service}/aws4_request");
        let signed = format!("AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0");
        let request = Request::post("/").header("authorization", signed);
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let version = if service == "iam" { "2010-05-08" } else { "2011-06-15" };
        let answer = self.client().request(request, format!("Action={action}&Version={version}")).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
        answer.text().to_owned()
    }

    /// The address that programs are given.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.way.port())
    }

    /// Writes an object.
    pub async fn put(&self, key: &str, content: impl Into<Bytes>) {
        // A type that no asset of a theme has: nobody may take it for the answer's.
        let request = Request::put(self.path(key)).header("content-type", "application/x-wrong");
        let answer = self.send(request, content).await;
        assert_eq!(answer.status, StatusCode::OK, "{key}: {}", answer.text());
    }

    /// Removes an object.
    pub async fn delete(&self, key: &str) {
        let answer = self.send(Request::delete(self.path(key)), "").await;
        assert_eq!(answer.status, StatusCode::NO_CONTENT, "{key}: {}", answer.text());
    }

    /// Lets the server take connections and answer nothing.
    pub fn freeze(&self) {
        self.process.as_ref().expect("the server runs").signal("STOP");
    }

    /// Ends [`Self::freeze`].
    pub fn thaw(&self) {
        self.process.as_ref().expect("the server runs").signal("CONT");
    }

    /// Ends the server at once, and what it holds with it.
    pub fn kill(&mut self) {
        self.process = None;
    }

    /// Lets every answer take this long from now on.
    pub fn delay(&self, time: Duration) {
        self.way.delay(time);
    }

    /// Closes the connection instead of forwarding an answer, this many times from now on.
    pub fn drop_next(&self, answers: u64) {
        self.way.drop_next(answers);
    }

    /// How many connections the way could not carry on, because the server is gone.
    pub fn refused(&self) -> u64 {
        self.way.refused()
    }

    /// What was asked through the way, as `GET /bucket/key`, and what came behind it in the address.
    pub fn asked(&self) -> Vec<String> {
        self.way.asked()
    }

    /// What a header said in every request through the way that had it.
    pub fn headers(&self, name: &str) -> Vec<String> {
        let all = self.way.headers();
        let pairs = all.iter().filter_map(|header| header.split_once(": "));
        pairs.filter(|(its, _)| its.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned()).collect()
    }

    /// How often the files of a theme were listed. `prefix` is all that the keys begin with.
    pub fn listings(&self, prefix: &str) -> usize {
        let prefix = format!("prefix={}", encoded(prefix).replace('/', "%2F"));
        self.asked().iter().filter(|asked| asked.contains("list-type=2") && asked.contains(&prefix)).count()
    }

    /// How often an object was read.
    pub fn reads(&self, key: &str) -> usize {
        let path = self.path(key);
        self.asked().iter().filter(|asked| asked.split(['?', ' ']).nth(1) == Some(path.as_str())).count()
    }

    fn path(&self, key: &str) -> String {
        format!("/{}/{}", self.bucket, encoded(key))
    }

    /// Past the way, so that what a test does itself is neither slow nor recorded.
    fn client(&self) -> Visitor {
        let address = format!("127.0.0.1:{}", self.port);
        Visitor::new(&address, &address)
    }

    /// The server lets nobody without a key at what is there already, and believes every signature.
    async fn send(&self, request: http::request::Builder, content: impl Into<Bytes>) -> TestResponse {
        let scope = format!("{ACCESS_KEY}/20260101/{REGION}/s3/aws4_request");
        let signed = format!("AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0");
        self.client().request(request.header("authorization", signed), content).await
    }
}

/// The content of an element of an answer.
fn inside(name: &str, answer: &str) -> String {
    let rest = answer.split(&format!("<{name}>")).nth(1).unwrap_or_else(|| panic!("no {name} in {answer}"));
    rest.split('<').next().unwrap_or_default().to_owned()
}

fn encoded(key: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
    key.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}
