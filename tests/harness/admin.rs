use std::sync::Arc;

use http::Method;
use http::header::CONTENT_TYPE;
use http::request::Builder;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use vestibule_admin::{AdminParts, NewOperator, ProviderConfig, ProviderTexts, RequireTotp, bootstrap};
use vestibule_core::jobs::JobBackend;
use vestibule_core::{SaleKeys, Store, SystemClock};
use vestibule_records::RecordStore;
use vestibule_runtime::{Directory, JobQueues};
use vestibule_store_memory::MemoryJobs;
use vestibule_themes::ThemeVersions;

use crate::{TestResponse, Visitor};

/// Name and password of the first superuser.
const ROOT: (&str, &str) = ("root", "correct horse battery");

/// A backoffice in the test's own process, at a free port of loopback, over any store.
pub struct AdminUnderTest {
    address: String,
    records: Arc<dyn RecordStore>,
    jobs: Arc<JobQueues>,
    server: JoinHandle<std::io::Result<()>>,
}

impl AdminUnderTest {
    /// Starts one with a superuser in it.
    pub async fn start(store: Arc<dyn Store>, records: Arc<dyn RecordStore>) -> Self {
        Self::start_with(store, records, |_| None, None, RequireTotp::Nobody, memory_jobs()).await
    }

    /// Starts one with jobs in this backend.
    pub async fn start_with_jobs(
        store: Arc<dyn Store>,
        records: Arc<dyn RecordStore>,
        backend: Arc<dyn JobBackend>,
    ) -> Self {
        Self::start_with(store, records, |_| None, None, RequireTotp::Nobody, backend).await
    }

    /// Starts one whose operators may sign in through an identity provider.
    pub async fn start_with_provider(store: Arc<dyn Store>, records: Arc<dyn RecordStore>, issuer: &str) -> Self {
        Self::start_with_provider_and_totp(store, records, issuer, RequireTotp::Nobody).await
    }

    /// Starts one with an identity provider, where these operators need TOTP to sign in with a password.
    pub async fn start_with_provider_and_totp(
        store: Arc<dyn Store>,
        records: Arc<dyn RecordStore>,
        issuer: &str,
        require_totp: RequireTotp,
    ) -> Self {
        let texts = |own: &str| ProviderTexts {
            issuer: issuer.to_owned(),
            client_id: "vestibule".to_owned(),
            client_secret: "a-secret-of-the-tests".to_owned(),
            admin_url: format!("http://{own}"),
            ..ProviderTexts::default()
        };
        Self::start_with(
            store,
            records,
            |own| ProviderConfig::of(&texts(own)).unwrap(),
            None,
            require_totp,
            memory_jobs(),
        )
        .await
    }

    /// Starts one where these operators need TOTP to sign in with a password.
    pub async fn start_with_totp(
        store: Arc<dyn Store>,
        records: Arc<dyn RecordStore>,
        require_totp: RequireTotp,
    ) -> Self {
        Self::start_with(store, records, |_| None, None, require_totp, memory_jobs()).await
    }

    /// Starts one that publishes themes.
    pub async fn start_with_themes(
        store: Arc<dyn Store>,
        records: Arc<dyn RecordStore>,
        themes: ThemeVersions,
    ) -> Self {
        Self::start_with(store, records, |_| None, Some(themes), RequireTotp::Nobody, memory_jobs()).await
    }

    async fn start_with(
        store: Arc<dyn Store>,
        records: Arc<dyn RecordStore>,
        provider: impl FnOnce(&str) -> Option<ProviderConfig>,
        themes: Option<ThemeVersions>,
        require_totp: RequireTotp,
        backend: Arc<dyn JobBackend>,
    ) -> Self {
        let (name, password) = ROOT;
        bootstrap(&*records, &NewOperator::superuser(name, password).unwrap()).await.unwrap();
        let directory = Arc::new(Directory::new(store.clone(), Vec::new(), Vec::new()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let jobs = Arc::new(JobQueues::new(Arc::clone(&records), store.clone(), backend));
        let parts = AdminParts {
            store,
            records: Arc::clone(&records),
            directory,
            trusted_proxies: 1,
            provider: provider(&address),
            themes,
            audit_days: vestibule_admin::AUDIT_DAYS,
            require_totp,
            streams: true,
            sale_keys: SaleKeys::new(&crate::GateUnderTest::sale_keys()).unwrap(),
            trusted_headers: "cf-bot-score, x-amzn-waf-*".parse().unwrap(),
            jobs: Some(jobs.clone()),
        };
        let router = vestibule_admin::router(parts);
        let server = tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, records, jobs, server }
    }

    /// `127.0.0.1:<port>`.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// What the backoffice keeps.
    pub fn records(&self) -> &Arc<dyn RecordStore> {
        &self.records
    }

    /// The job queues, with their jobs in memory unless the test gave a backend.
    pub fn jobs(&self) -> &Arc<JobQueues> {
        &self.jobs
    }

    /// Somebody at the door, who has not signed in.
    pub fn client(&self) -> AdminClient {
        AdminClient::at(&self.address)
    }

    /// The superuser, signed in.
    pub async fn root(&self) -> AdminClient {
        let mut client = self.client();
        client.sign_in(ROOT.0, ROOT.1).await;
        client
    }
}

fn memory_jobs() -> Arc<dyn JobBackend> {
    Arc::new(MemoryJobs::new(SystemClock::new()))
}

impl Drop for AdminUnderTest {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// Somebody who works with the API: a browser with its cookie, or a script with its token.
#[derive(Clone)]
pub struct AdminClient {
    visitor: Visitor,
}

impl AdminClient {
    /// Somebody at the door of a backoffice at `127.0.0.1:<port>`, who has not signed in.
    pub fn at(address: &str) -> Self {
        Self { visitor: Visitor::new(address, "admin.example.com").with_header("x-vestibule-request", "1") }
    }

    /// The same as a script with this token.
    #[must_use]
    pub fn with_token(mut self, token: &str) -> Self {
        self.visitor.forget_cookies();
        self.with_header("authorization", &format!("Bearer {token}"))
    }

    /// Sends a header with every request from now on.
    #[must_use]
    pub fn with_header(self, name: &str, value: &str) -> Self {
        Self { visitor: self.visitor.with_header(name, value) }
    }

    /// The visitor behind it.
    pub fn visitor(&mut self) -> &mut Visitor {
        &mut self.visitor
    }

    /// Signs in, and fails the test if that is refused.
    pub async fn sign_in(&mut self, name: &str, password: &str) {
        let answer = self.post("/sign-in", serde_json::json!({ "name": name, "password": password })).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }

    /// Sends any request; the path begins behind `/api/v1`.
    pub async fn send(
        &mut self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<Value>,
    ) -> TestResponse {
        let request = Builder::new().method(method).uri(format!("/api/v1{path}"));
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        match body {
            Some(body) => {
                self.visitor.request(request.header(CONTENT_TYPE, "application/json"), body.to_string()).await
            }
            None => self.visitor.request(request, "").await,
        }
    }

    /// Reads.
    pub async fn get(&mut self, path: &str) -> TestResponse {
        self.send(Method::GET, path, &[], None).await
    }

    /// Creates or does.
    pub async fn post(&mut self, path: &str, body: Value) -> TestResponse {
        self.send(Method::POST, path, &[], Some(body)).await
    }

    /// Changes whatever is there.
    pub async fn patch(&mut self, path: &str, body: Value) -> TestResponse {
        self.send(Method::PATCH, path, &[("if-match", "*")], Some(body)).await
    }

    /// Changes the revision that is meant.
    pub async fn patch_revision(&mut self, path: &str, revision: u64, body: Value) -> TestResponse {
        self.send(Method::PATCH, path, &[("if-match", &format!("\"{revision}\""))], Some(body)).await
    }

    /// Does what is to be confirmed: asks, and asks again with the token of the first answer.
    pub async fn confirmed(&mut self, method: Method, path: &str, body: Option<Value>) -> TestResponse {
        let first = self.send(method.clone(), path, &[], body.clone()).await;
        let token = first.confirmation();
        self.send(method, path, &[("x-vestibule-confirm", &token)], body).await
    }

    /// Creates what must be creatable.
    pub async fn create(&mut self, path: &str, body: Value) -> Value {
        let answer = self.post(path, body).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        answer.json()
    }
}

impl TestResponse {
    /// The token by which the request is confirmed; fails the test if it is not to be.
    pub fn confirmation(&self) -> String {
        assert_eq!((self.status.as_u16(), self.code()), (428, "confirmation_required".to_owned()), "{}", self.text());
        self.json()["confirmation"]["token"].as_str().unwrap().to_owned()
    }

    /// Fails the test unless this is the error with that code.
    pub fn assert_code(&self, code: &str) {
        assert_eq!(self.code(), code, "{}", self.text());
    }

    /// The code of an error.
    pub fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }

    /// The fields that an error names, with their messages.
    pub fn wrong_fields(&self) -> Vec<String> {
        let body = self.json();
        let errors = body["errors"].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        errors.iter().map(|error| format!("{}: {}", text(&error["field"]), text(&error["detail"]))).collect()
    }
}
