//! The gate as a function, in the test's own process: the events that its callers are documented to send, and the same
//! requests over HTTP beside them.

mod documented;
mod formats;
mod limits;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use vestibule_core::settings::parse_settings_document;
use vestibule_core::{KeyList, PassSigner, SaleKeys, TicketSigner};
use vestibule_gate::{ClientRules, Gate, GateParts, Permits, Proxy, ProxyLimits, Streams};
use vestibule_lambda::{Function, Invocation};
use vestibule_runtime::{Directory, STORE_TIMEOUT};
use vestibule_tests::{GateUnderTest, TestResponse};
use vestibule_themes::Themes;

use crate::gate_fixture::StoreSetup;

/// One router that is asked over HTTP and by events, behind one trusted proxy either way.
struct Doors {
    address: String,
    function: Function,
    server: JoinHandle<std::io::Result<()>>,
}

impl Doors {
    async fn open(setup: &StoreSetup, document: &Value) -> Self {
        let document = parse_settings_document(document).unwrap_or_else(|wrong| panic!("{wrong:?}"));
        let directory = Directory::new(setup.store.clone(), document.tenants.clone(), document.queues.clone());
        directory.apply(&document.tenants, &document.queues).await.unwrap();
        let gate = Gate::new(GateParts {
            store: setup.store.clone(),
            directory: Arc::new(directory),
            themes: Themes::built_in(),
            tickets: TicketSigner::new(&GateUnderTest::ticket_keys()).unwrap(),
            passes: PassSigner::new(&KeyList::of_bytes("pass-1", [9; 32])).unwrap(),
            sale_keys: SaleKeys::default(),
            store_timeout: STORE_TIMEOUT,
            trusted_proxies: 1,
            clients: ClientRules::default(),
            proxy: Proxy::new(ProxyLimits { read_timeout: Duration::from_secs(5), ..ProxyLimits::default() }).unwrap(),
            admin_url: None,
            job_queues: None,
            streams: Streams::off(),
            tunnels: Permits::none(),
            stream_url: None,
        });
        let router: Router = vestibule_gate::router(gate);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let service = router.clone().into_make_service();
        let server = tokio::spawn(async move { axum::serve(listener, service).await });
        Self { address, function: Function::new(router), server }
    }

    /// The answer to an event as its caller passes it on.
    async fn call(&self, event: &str) -> TestResponse {
        passed_on(&self.called(event, Duration::from_secs(20)).await)
    }

    /// The answer to an event as the function gives it.
    async fn called(&self, event: &str, time_left: Duration) -> Value {
        let invocation = Invocation { request_id: "call".to_owned(), time_left: Some(time_left) };
        let answer = self.function.call(serde_json::from_str(event).unwrap(), invocation).await;
        serde_json::to_value(answer.unwrap()).unwrap()
    }
}

impl Drop for Doors {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// What a load balancer, an HTTP API or a function URL makes of an answer.
fn passed_on(answer: &Value) -> TestResponse {
    let mut headers = HeaderMap::new();
    let mut add = |name: &str, value: &Value| {
        let value = HeaderValue::from_bytes(value.as_str().unwrap().as_bytes()).unwrap();
        headers.append(name.parse::<HeaderName>().unwrap(), value);
    };
    for (name, value) in answer["headers"].as_object().into_iter().flatten() {
        add(name, value);
    }
    for (name, values) in answer["multiValueHeaders"].as_object().into_iter().flatten() {
        values.as_array().unwrap().iter().for_each(|value| add(name, value));
    }
    answer["cookies"].as_array().into_iter().flatten().for_each(|cookie| add("set-cookie", cookie));
    let body = answer["body"].as_str().unwrap();
    let body = if answer["isBase64Encoded"] == true { BASE64_STANDARD.decode(body).unwrap() } else { body.into() };
    let status = StatusCode::from_u16(answer["statusCode"].as_u64().unwrap().try_into().unwrap()).unwrap();
    TestResponse { status, headers, body: body.into() }
}

/// A queue for every host, before this origin.
fn document(origin: &str, changes: &Value) -> Value {
    let mut document = crate::gate_fixture::document_of("tour", "unused.example.com", origin, changes);
    document["queues"][0]["hosts"] = json!(["*"]);
    document
}
