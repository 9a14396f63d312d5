//! Visitors enqueue jobs at `vestibule serve`, and follow them.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::request::Builder;
use http::{Request, StatusCode};
use tokio::io::AsyncWriteExt as _;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::Message;
use vestibule_tests::{Origin, Program, Redis, TestResponse, Visitor, WebSocket, free_port, wait_until};

const LIMIT: Duration = Duration::from_secs(20);
const HOST: &str = "shop.example";
const FORM: &str = "application/x-www-form-urlencoded";

/// The program with job queues, whose handler is the path `/echo` of the site.
struct Site {
    origin: Origin,
    address: String,
    _program: Program,
}

impl Site {
    async fn open(quota: u64) -> Self {
        Self::open_with(quota, "").await
    }

    async fn open_with(quota: u64, more: &str) -> Self {
        Self::launch(quota, more, &[]).await
    }

    async fn launch(quota: u64, more: &str, options: &[&str]) -> Self {
        let origin = Origin::start();
        let address = format!("127.0.0.1:{}", free_port());
        let job_queue = |id: &str, path: &str, more: &str| {
            format!(
                "[[job_queues]]\nid = \"{id}\"\ntenant = \"acme\"\n{more}\n\
                 target = {{ kind = \"http\", url = \"{}/{path}\" }}\n\n",
                origin.url()
            )
        };
        let settings = format!(
            "[[tenants]]\nid = \"acme\"\nname = \"Acme\"\n\n\
             [[queues]]\nid = \"tour\"\ntenant = \"acme\"\nhosts = [\"*\"]\nquota = {quota}\n\
             handover = {{ kind = \"proxy\", origin = \"{}\" }}\n\n{more}\n{}{}{}{}",
            origin.url(),
            job_queue("updates.fifo", "echo", "producers = \"active\"\nenqueues_per_minute = 3"),
            job_queue("mails", "echo", "producers = \"visitors\"\naccepts = [\"text/plain\", \"application/json\"]"),
            job_queue("internal", "echo", ""),
            job_queue("reports", "slow?2000", "producers = \"visitors\""),
        );
        let url = format!("http://{address}");
        let arguments =
            ["serve", "--listen", &address, "--state", "state", "--public-url", &url, "--settings", "vestibule.toml"];
        let program = Program::vestibule(&[&arguments[..], options].concat());
        let mut program = program.file("vestibule.toml", &settings).start();
        program.until_healthy(&address).await;
        Self { origin, address, _program: program }
    }

    async fn visitor(&self) -> Visitor {
        let mut visitor = Visitor::new(&self.address, HOST);
        visitor.navigate("/").await;
        visitor
    }

    /// Where the handler of `reports` reports progress, once it is called.
    async fn progress_target(&self) -> String {
        let mut call = None;
        wait_until("the handler is called", LIMIT, async || {
            call = self.origin.requests().into_iter().find(|request| request.uri.path() == "/slow");
            call.is_some()
        })
        .await;
        let url = call.unwrap().headers["vestibule-progress-url"].to_str().unwrap().to_owned();
        url.strip_prefix(&format!("http://{}", self.address)).unwrap().to_owned()
    }
}

fn job(path: &str, content_type: &str) -> Builder {
    Request::post(format!("/_vestibule/jobs/{path}"))
        .header(ACCEPT, "application/json")
        .header(CONTENT_TYPE, content_type)
}

fn code(response: &TestResponse) -> (u16, String) {
    (response.status.as_u16(), response.json()["code"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn visitor_enqueues_by_post() {
    let site = Site::open(10).await;
    let mut visitor = site.visitor().await;
    let request = || job("updates.fifo/user-17/change-1?from=app&n=1&n=2", "application/json");
    let private = request().header("authorization", "Basic YWRhOnNlY3JldA==").header("x-private", "secret");
    let accepted = visitor.request(private, r#"{"email":"ada@example.com"}"#).await;
    assert_eq!(accepted.status, StatusCode::ACCEPTED, "{accepted:?}");
    let id = accepted.header("x-job-id").unwrap().to_owned();
    let location = accepted.header("location").unwrap().to_owned();
    assert_eq!(location, format!("/_vestibule/jobs/updates.fifo/{id}"));
    let again = visitor.request(request(), "{}").await;
    assert_eq!((again.header("x-job-id"), again.header("x-job-duplicate")), (Some(&*id), Some("true")));

    let mut status = accepted.json();
    wait_until("the job is completed", LIMIT, async || {
        status = visitor.fetch(&location).await.json();
        status["state"] == "completed"
    })
    .await;
    assert_eq!((&status["job_id"], &status["response"]["status"]), (&id.as_str().into(), &200.into()), "{status}");
    assert_eq!(visitor.request(request(), "{}").await.json()["state"], "completed", "that of the first job");
    let calls: Vec<_> = site.origin.requests().into_iter().filter(|request| request.uri == "/echo").collect();
    assert_eq!(calls.len(), 1);
    let header = |name: &str| calls[0].headers[name].to_str().unwrap().to_owned();
    assert_eq!(calls[0].body, r#"{"email":"ada@example.com"}"#);
    assert_eq!(header("vestibule-group-id"), "user-17");
    let params: serde_json::Value = serde_json::from_str(&header("vestibule-params")).unwrap();
    assert_eq!(
        params,
        serde_json::json!({ "path": { "group": "user-17", "deduplication_id": "change-1" }, "query": { "from": "app", "n": ["1", "2"] } })
    );
    let session = visitor.status("tour").await.json()["session"].clone();
    assert_eq!(session, header("vestibule-session"));
    for name in ["cookie", "authorization", "x-private", "origin", "user-agent", "x-forwarded-for", "vestibule-user-id"]
    {
        assert!(!calls[0].headers.contains_key(name), "{name} of the visitor stays here");
    }

    let mut other = site.visitor().await;
    assert_eq!(code(&other.fetch(&location).await), (404, "unknown_job".to_owned()));
    let stranger = Visitor::new(&site.address, HOST).fetch(&location).await;
    assert_eq!(code(&stranger), (401, "ticket_required".to_owned()));
}

#[tokio::test]
async fn form_arrives_as_json_and_has_a_page() {
    let site = Site::open(10).await;
    let mut visitor = site.visitor().await;
    let form =
        job("updates.fifo/user-17", FORM).header("sec-fetch-mode", "navigate").header("sec-fetch-dest", "document");
    let submitted = visitor.request(form, "email=ada%40example.com&tag=a&tag=b").await;
    assert_eq!(submitted.status, StatusCode::SEE_OTHER, "{submitted:?}");
    let location = submitted.header("location").unwrap().to_owned();
    let mut page = visitor.navigate(&location).await;
    assert!(page.follows_a_job() || page.text().contains("has been processed"), "{}", page.text());
    wait_until("the page says that it is done", LIMIT, async || {
        page = visitor.navigate(&location).await;
        !page.follows_a_job()
    })
    .await;
    assert!(page.text().contains("Your request has been processed"), "{}", page.text());
    let call = site.origin.requests().into_iter().find(|request| request.uri == "/echo").unwrap();
    assert_eq!(call.headers["content-type"], "application/json");
    let body: serde_json::Value = serde_json::from_slice(&call.body).unwrap();
    assert_eq!(body, serde_json::json!({ "email": "ada@example.com", "tag": ["a", "b"] }));

    let parts = "--x\r\nContent-Disposition: form-data; name=\"cv\"; filename=\"cv.txt\"\r\n\r\nhello\r\n--x--\r\n";
    let with_parts = || job("updates.fifo/user-17", "multipart/form-data; boundary=x");
    let submitted = visitor.request(with_parts(), parts).await;
    assert_eq!(submitted.status, StatusCode::ACCEPTED, "{}", submitted.text());
    // J7: the fields are compared, not the boundary.
    let boundary = job("updates.fifo/user-17", "multipart/form-data; boundary=another");
    let again = visitor.request(boundary, parts.replace("--x", "--another")).await;
    assert_eq!(
        (again.header("x-job-duplicate"), again.header("x-job-id")),
        (Some("true"), submitted.header("x-job-id"))
    );
    let calls = || site.origin.requests().into_iter().filter(|request| request.uri == "/echo").collect::<Vec<_>>();
    wait_until("the form with a file is handled", LIMIT, async || calls().len() == 2).await;
    let body: serde_json::Value = serde_json::from_slice(&calls()[1].body).unwrap();
    assert_eq!(body["cv"], serde_json::json!({ "filename": "cv.txt", "content_type": null, "data": "aGVsbG8=" }));
    let cut = visitor.request(with_parts(), &parts[..parts.len() - 9]).await;
    assert_eq!(code(&cut), (400, "invalid_form".to_owned()));
}

/// Both spellings.
#[tokio::test]
async fn every_spelling_of_a_form_arrives_as_json() {
    let site = Site::open(10).await;
    let mut visitor = site.visitor().await;
    for (n, content_type) in
        [FORM, "application/www-form-urlencoded", "Application/X-WWW-Form-Urlencoded; charset=utf-8"]
            .into_iter()
            .enumerate()
    {
        let accepted = visitor.request(job("updates.fifo/user-17", content_type), format!("a=%20{n}")).await;
        assert_eq!(accepted.status, StatusCode::ACCEPTED, "{content_type}: {}", accepted.text());
    }
    let calls = || site.origin.requests().into_iter().filter(|request| request.uri == "/echo").collect::<Vec<_>>();
    wait_until("the forms are handled", LIMIT, async || calls().len() == 3).await;
    for (n, call) in calls().into_iter().enumerate() {
        assert_eq!(call.headers["content-type"], "application/json");
        assert_eq!(call.body, format!("{{\"a\":\" {n}\"}}"));
    }
}

/// J3: a 503 says whether the job may be queued.
#[tokio::test]
async fn error_says_whether_a_job_may_be_queued() {
    let redis = Redis::start().await;
    let site = Site::launch(10, "", &["--jobs", &redis.url()]).await;
    let mut visitor = site.visitor().await;
    let request = || job("updates.fifo/user-17", "text/plain").header("idempotency-key", "change-1");
    redis.freeze();
    let unconfirmed = visitor.request(request(), "hello").await;
    assert_eq!(code(&unconfirmed), (503, "enqueue_unconfirmed".to_owned()));
    assert!(unconfirmed.header("retry-after").is_some());
    let page = visitor.request(request().header("accept", "text/html").header("sec-fetch-mode", "navigate"), "a").await;
    assert_eq!((page.status.as_u16(), page.header("retry-after")), (503, Some("5")));
    assert!(page.text().contains("We don’t know whether your request was received"), "{}", page.text());
    assert!(
        page.text().contains("Don’t send it again.") && page.text().contains("quote this code: "),
        "{}",
        page.text()
    );
    redis.thaw();
    let mut repeated = unconfirmed.clone();
    wait_until("it is confirmed", LIMIT, async || {
        repeated = visitor.request(request(), "hello").await;
        repeated.status == StatusCode::ACCEPTED
    })
    .await;
    assert_eq!(repeated.json()["duplicate"], true);
    assert_eq!(repeated.json()["job_id"], unconfirmed.json()["params"]["job_id"]);
    redis.kill();
    wait_until("the loss of the connection is known", LIMIT, async || {
        let refused = visitor.request(request(), "hello").await;
        code(&refused) == (503, "not_queued".to_owned()) && refused.header("retry-after").is_some()
    })
    .await;
}

#[tokio::test]
async fn events_tell_what_becomes_of_a_job() {
    let site = Site::open(10).await;
    let mut visitor = site.visitor().await;
    let accepted = visitor.request(job("mails", "text/plain"), "hello").await;
    let location = accepted.header("location").unwrap().to_owned();
    let mut stream = visitor.event_stream(&format!("{location}/events")).await.unwrap();
    let mut last = serde_json::Value::Null;
    while let Some(event) = stream.event().await {
        assert_eq!(event["job_queue"], "mails", "{event}");
        last = event;
    }
    assert_eq!(last["state"], "completed", "the stream ends with the job");
    let status = visitor.fetch(&location).await.json();
    assert!(status["response"]["body"].as_str().is_some_and(|body| body.contains("hello")), "{status}");
    assert_eq!(last["response"], status["response"]);
}

/// The next message of a WebSocket; `None` at its end.
async fn next(socket: &mut WebSocket) -> Option<serde_json::Value> {
    loop {
        match timeout(LIMIT, socket.next()).await.expect("a message in time") {
            Some(Ok(Message::Text(text))) => return Some(serde_json::from_str(&text).unwrap()),
            Some(Ok(Message::Ping(_))) => {}
            Some(Ok(Message::Close(_))) | None => return None,
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn completion_and_progress_reach_websocket() {
    let site = Site::open(10).await;
    let mut visitor = site.visitor().await;
    let accepted = visitor.request(job("reports", "text/plain"), "hello").await;
    let events = format!("{}/events", accepted.header("location").unwrap());
    let mut socket = visitor.web_socket(&events).await.unwrap();
    let first = next(&mut socket).await.unwrap();
    assert_eq!((&first["event"], &first["data"]["job_id"]), (&"state".into(), &accepted.json()["job_id"]));
    let mut calls = Vec::new();
    wait_until("the handler is called", LIMIT, async || {
        calls = site.origin.requests().into_iter().filter(|request| request.uri.path() == "/slow").collect();
        !calls.is_empty()
    })
    .await;
    let url = calls[0].headers["vestibule-progress-url"].to_str().unwrap().to_owned();
    let target = url.strip_prefix(&format!("http://{}", site.address)).unwrap().to_owned();
    let mut handler = Visitor::new(&site.address, HOST);
    for message in ["1", "2"] {
        let reported = handler.request(Request::post(target.clone()), message).await;
        assert_eq!(reported.status, StatusCode::NO_CONTENT);
    }
    // The client loses its connection and comes back with what it has.
    let mut later = visitor.web_socket(&format!("{events}?last_event_id=1")).await.unwrap();
    let mut messages = [Vec::new(), Vec::new()];
    let mut last = [serde_json::Value::Null, serde_json::Value::Null];
    for (at, socket) in [&mut socket, &mut later].into_iter().enumerate() {
        while let Some(message) = next(socket).await {
            if message["event"] == "progress" {
                messages[at].push(message["data"]["message"].clone());
            } else {
                last[at] = message["data"]["state"].clone();
            }
        }
    }
    assert_eq!(messages, [vec![serde_json::json!(1), serde_json::json!(2)], vec![serde_json::json!(2)]]);
    assert_eq!(last, ["completed", "completed"], "the stream ends with the job");
    let other = site.visitor().await.web_socket(&events).await.unwrap_err();
    assert_eq!(code(&other), (404, "unknown_job".to_owned()));
}

#[tokio::test]
async fn web_socket_of_a_client_that_keeps_sending_misses_no_event() {
    let site = Site::open(10).await;
    let mut visitor = site.visitor().await;
    let accepted = visitor.request(job("mails", "text/plain"), "hello").await;
    let events = format!("{}/events", accepted.header("location").unwrap());
    let (mut sender, mut receiver) = visitor.web_socket(&events).await.unwrap().split();
    let sending = tokio::spawn(async move { while sender.send(Message::text("hello?")).await.is_ok() {} });
    let mut last = serde_json::Value::Null;
    while let Ok(Some(Ok(Message::Text(text)))) = timeout(LIMIT, receiver.next()).await {
        last = serde_json::from_str::<serde_json::Value>(&text).unwrap()["data"]["state"].clone();
    }
    assert_eq!(last, "completed");
    sending.abort();
}

#[tokio::test]
async fn web_socket_with_a_large_frame_is_closed() {
    let site = Site::open(10).await;
    let mut visitor = site.visitor().await;
    let accepted = visitor.request(job("reports", "text/plain"), "hello").await;
    let events = format!("{}/events", accepted.header("location").unwrap());
    let mut socket = visitor.web_socket(&events).await.unwrap();
    assert_eq!(next(&mut socket).await.unwrap()["event"], "state");
    // The head of a binary frame of 16 MiB. Its content is not awaited.
    let head = [&[0x82, 0xff][..], &(16_u64 << 20).to_be_bytes(), &[0; 4]].concat();
    socket.get_mut().write_all(&head).await.unwrap();
    let ended = async { while let Some(Ok(_)) = socket.next().await {} };
    timeout(Duration::from_secs(1), ended).await.expect("long before the job ends");
}

#[tokio::test]
async fn progress_of_the_handler_reaches_its_visitor() {
    let site = Site::open(10).await;
    let mut visitor = site.visitor().await;
    let accepted = visitor.request(job("reports", "text/plain"), "hello").await;
    let location = accepted.header("location").unwrap().to_owned();
    let mut stream = visitor.event_stream(&format!("{location}/events")).await.unwrap();
    let target = site.progress_target().await;
    let mut handler = Visitor::new(&site.address, HOST);
    let report = |target: &str| Request::post(target.to_owned());
    for (body, expected) in
        [("{", (400, "invalid_json")), (&*format!("\"{}\"", "x".repeat(5_000)), (413, "body_too_large"))]
    {
        assert_eq!(code(&handler.request(report(&target), body.to_owned()).await), (expected.0, expected.1.to_owned()));
    }
    let invalid = handler.request(report(&target), "{").await.json()["detail"].clone();
    assert!(invalid.as_str().unwrap().starts_with("The progress was not recorded: "), "{invalid}");
    let forged = target.replace("receive_count=1", "receive_count=2");
    assert_eq!(code(&handler.request(report(&forged), "1").await), (403, "invalid_signature".to_owned()));
    let reported = handler.request(report(&target), r#"{"status":"preparing"}"#).await;
    assert_eq!(reported.status, StatusCode::NO_CONTENT);
    let page = visitor.navigate(&location).await;
    assert!(page.text().contains("data-vestibule=\"job-progress\">preparing<"), "{}", page.text());

    let mut last = serde_json::Value::Null;
    let mut messages = Vec::new();
    while let Some(event) = stream.event().await {
        if event.get("message").is_some() {
            messages.push(event["message"].clone());
        } else {
            last = event;
        }
    }
    assert_eq!(messages, [serde_json::json!({ "status": "preparing" })]);
    assert_eq!(last["state"], "completed");
    let status = visitor.fetch(&location).await.json();
    assert_eq!(status["progress"][0]["message"]["status"], "preparing", "{status}");
    let page = visitor.navigate(&location).await;
    assert!(page.text().contains("data-vestibule=\"job-progress\"><"), "it is not current any more: {}", page.text());
    assert_eq!(code(&handler.request(report(&target), "1").await), (410, "lease_ended".to_owned()));
}

#[tokio::test]
async fn last_event_id_resumes_after_a_message() {
    let site = Site::open(10).await;
    let mut visitor = site.visitor().await;
    let accepted = visitor.request(job("reports", "text/plain"), "hello").await;
    let events = format!("{}/events", accepted.header("location").unwrap());
    let target = site.progress_target().await;
    let mut handler = Visitor::new(&site.address, HOST);
    for message in ["1", "2", "3"] {
        let reported = handler.request(Request::post(target.clone()), message).await;
        assert_eq!(reported.status, StatusCode::NO_CONTENT);
    }
    for (last, expected) in [("2", vec![3]), ("3", vec![]), ("nonsense", vec![1, 2, 3])] {
        let mut stream = visitor.event_stream_after(&events, last).await.unwrap();
        let (mut messages, mut state) = (Vec::new(), serde_json::Value::Null);
        while let Some(event) = stream.event().await {
            match event["message"].as_u64() {
                Some(message) => messages.push(message),
                None => state = event["state"].clone(),
            }
        }
        assert_eq!((messages, state), (expected, "completed".into()), "after {last}");
    }
}

#[tokio::test]
async fn followers_leave_connections_to_other_visitors() {
    let site = Site::launch(10, "", &["--connections", "16", "--no-worker"]).await;
    let mut visitor = site.visitor().await;
    let accepted = visitor.request(job("mails", "text/plain"), "hello").await;
    let location = accepted.header("location").unwrap().to_owned();
    let events = format!("{location}/events");
    // Half of the connections.
    let mut streams = Vec::new();
    for _ in 0..4 {
        streams.push(visitor.event_stream(&events).await.unwrap());
    }
    let mut sockets = Vec::new();
    for _ in 0..4 {
        sockets.push(visitor.web_socket(&events).await.unwrap());
    }
    let refused = visitor.event_stream(&events).await.err().unwrap();
    assert_eq!(code(&refused), (503, "too_many_followers".to_owned()));
    let refused = visitor.web_socket(&events).await.unwrap_err();
    assert_eq!(code(&refused), (503, "too_many_followers".to_owned()));
    assert_eq!(visitor.fetch(&location).await.json()["state"], "queued", "the page polls instead");
    assert_eq!(site.visitor().await.navigate("/").await.status, StatusCode::OK);
    drop(streams);
    wait_until("ended streams make room", LIMIT, async || visitor.event_stream(&events).await.is_ok()).await;
    drop(sockets);
}

#[tokio::test]
async fn followers_of_a_job_share_its_reads() {
    let redis = Redis::start().await;
    let site = Site::launch(10, "", &["--store", &redis.url(), "--no-worker"]).await;
    let mut visitor = site.visitor().await;
    let accepted = visitor.request(job("mails", "text/plain"), "hello").await;
    let events = format!("{}/events", accepted.header("location").unwrap());
    // A stream reads when it opens.
    let reads_of_three_seconds = async || {
        let before = redis.calls("fcall").await;
        sleep(Duration::from_secs(3)).await;
        redis.calls("fcall").await - before
    };
    let mut streams = vec![visitor.event_stream(&events).await.unwrap()];
    let page = visitor.navigate(accepted.header("location").unwrap()).await;
    assert!(page.text().contains("<dd data-vestibule=\"job-position\">1<"), "{}", page.text());
    let alone = reads_of_three_seconds().await;
    assert!(alone >= 8, "one read every 250 ms: {alone}");
    for _ in 1..32 {
        streams.push(visitor.event_stream(&events).await.unwrap());
    }
    let together = reads_of_three_seconds().await;
    assert!(together <= alone + 8, "{together} reads for 32 followers, {alone} for one");
    let refused = visitor.event_stream(&events).await.err().unwrap();
    assert_eq!(code(&refused), (503, "too_many_followers".to_owned()));
    for stream in &mut streams {
        assert_eq!(stream.event().await.unwrap()["state"], "queued");
    }
}

#[tokio::test]
async fn any_ticket_of_the_tenant_counts() {
    // The first queue of the host is one in which the visitor waits.
    let vip = "[[queues]]\nid = \"vip\"\ntenant = \"acme\"\nhosts = [\"shop.example\"]\nquota = 0\n\
               handover = { kind = \"redirect\", origin = \"https://www.shop.example\" }\n\
               rules = [{ action = \"queue\", path = [\"/vip/**\"] }]\n";
    let site = Site::open_with(5, vip).await;
    let mut visitor = site.visitor().await;
    visitor.navigate("/vip/").await;
    visitor.navigate("/vip/").await;
    let accepted = visitor.request(job("updates.fifo/g", "text/plain"), "x").await;
    assert_eq!(accepted.status, StatusCode::ACCEPTED, "{}", accepted.text());
    let status = visitor.fetch(accepted.header("location").unwrap()).await;
    assert_eq!((status.status, &status.json()["job_id"]), (StatusCode::OK, &accepted.json()["job_id"]));
    let mut other = site.visitor().await;
    other.navigate("/vip/").await;
    let foreign = other.fetch(accepted.header("location").unwrap()).await;
    assert_eq!(code(&foreign), (404, "unknown_job".to_owned()));
}

#[tokio::test]
async fn enqueue_errors() {
    let site = Site::open(1).await;
    let mut visitor = site.visitor().await;
    let text = "text/plain";
    for (path, content_type, body, expected) in [
        ("nothing", text, "x", (404, "unknown_job_queue")),
        ("not an id", text, "x", (404, "unknown_job_queue")),
        ("internal", text, "x", (404, "unknown_job_queue")),
        ("updates.fifo", text, "x", (400, "group_required")),
        ("mails/group", text, "x", (400, "group_not_supported")),
        ("updates.fifo/%C3%BC", text, "x", (400, "invalid_id")),
        ("mails", "application/json", "{", (400, "invalid_json")),
        ("mails", text, "", (422, "empty_payload")),
        ("mails", &format!("{text}; a={}", "x".repeat(255)), "x", (400, "invalid_id")),
        ("mails", FORM, "a=1", (415, "unsupported_content_type")),
        ("updates.fifo/g", "text/html", "x", (415, "unsupported_content_type")),
    ] {
        let path = path.replace(' ', "%20");
        let response = visitor.request(job(&path, content_type), body).await;
        assert_eq!(code(&response), (expected.0, expected.1.to_owned()), "{path} {content_type}");
    }
    let large = visitor.request(job("mails", text), vec![b'x'; 256 * 1024 + 1]).await;
    assert_eq!(code(&large), (413, "payload_too_large".to_owned()));

    let stranger = Visitor::new(&site.address, HOST).request(job("mails", text), "x").await;
    assert_eq!(code(&stranger), (401, "ticket_required".to_owned()));
    let mut waiting = site.visitor().await;
    // The first visit had no ticket yet.
    waiting.navigate("/").await;
    assert_eq!(code(&waiting.request(job("updates.fifo/g", text), "x").await), (403, "not_active".to_owned()));
    assert_eq!(waiting.request(job("mails", text), "x").await.status, StatusCode::ACCEPTED, "any ticket will do");
    let foreign = visitor.request(job("mails", text).header("origin", "https://evil.example"), "x").await;
    assert_eq!(code(&foreign), (403, "origin_not_allowed".to_owned()));
    for n in 0..4 {
        let response = visitor.request(job("updates.fifo/g", text), format!("job {n}")).await;
        if n < 3 {
            assert_eq!(response.status, StatusCode::ACCEPTED);
        } else {
            assert_eq!(
                (code(&response), response.header("retry-after")),
                ((429, "too_many_jobs".to_owned()), Some("60"))
            );
        }
    }
}

#[tokio::test]
async fn forms_that_are_refused_get_a_page() {
    let site = Site::open(1).await;
    let mut visitor = site.visitor().await;
    let submit =
        |path: &str| job(path, "text/plain").header("accept", "text/html").header("sec-fetch-mode", "navigate");
    let is_page = |response: &TestResponse, status: u16| {
        let text = response.text();
        assert_eq!(response.status, status, "{text}");
        assert_eq!(text.contains("too large, or there are too many"), matches!(status, 413 | 429), "{text}");
        assert!(response.header("content-type").unwrap().starts_with("text/html"), "{response:?}");
        assert!(
            text.contains("Your request cannot be processed") && text.contains("Go back, and try again later."),
            "{text}"
        );
    };
    let unknown = visitor.request(submit("nothing"), "x").await;
    is_page(&unknown, 404);
    assert!(!unknown.text().contains("Try again<"), "a link does not send the form again: {}", unknown.text());
    is_page(&visitor.request(submit("mails"), vec![b'x'; 256 * 1024 + 1]).await, 413);
    is_page(&Visitor::new(&site.address, HOST).request(submit("mails"), "x").await, 401);
    is_page(&visitor.navigate("/_vestibule/jobs/mails/0NPWV1MDQB2XKF3Y0T5DWZQ").await, 404);
    for number in 0..3 {
        let accepted = visitor.request(submit("updates.fifo/g"), format!("job {number}")).await;
        assert_eq!(accepted.status, StatusCode::SEE_OTHER);
    }
    let refused = visitor.request(submit("updates.fifo/g"), "job 3").await;
    is_page(&refused, 429);
    assert_eq!(refused.header("retry-after"), Some("60"));
}

/// A ticket of a session that has ended is void.
#[tokio::test]
async fn visitor_who_left_enqueues_nothing() {
    let site = Site::open(10).await;
    let mut visitor = site.visitor().await;
    let mut other_tab = visitor.clone();
    assert_eq!(visitor.request(job("mails", "text/plain"), "one").await.status, StatusCode::ACCEPTED);
    visitor.leave("tour").await;
    let refused = other_tab.request(job("mails", "text/plain"), "two").await;
    assert_eq!(code(&refused), (401, "ticket_required".to_owned()));
}

/// The job queue says which tenant's pages may ask, though the host has several queues.
#[tokio::test]
async fn preflight_finds_the_tenant_by_its_job_queue() {
    let more = "[[queues]]\nid = \"other\"\ntenant = \"acme\"\nhosts = [\"*\"]\nquota = 1\n\
                rules = [{ action = \"queue\", path = [\"/other\"] }]\nhandover = { kind = \"check\" }\n";
    let site = Site::open_with(10, more).await;
    let preflight = |path: &str, origin: &str| {
        Request::options(format!("/_vestibule/jobs/{path}"))
            .header("origin", origin)
            .header("access-control-request-method", "POST")
            .header("access-control-request-headers", "content-type, idempotency-key")
    };
    let own = format!("http://{HOST}");
    for path in ["mails", "updates.fifo/g", "updates.fifo/g/d"] {
        let answer = site.visitor().await.request(preflight(path, &own), "").await;
        assert_eq!(
            (answer.status, answer.header("access-control-allow-origin")),
            (StatusCode::NO_CONTENT, Some(&*own))
        );
        assert!(answer.header("access-control-allow-headers").unwrap().contains("idempotency-key"));
    }
    let foreign = site.visitor().await.request(preflight("mails", "https://evil.example"), "").await;
    assert_eq!((foreign.status, foreign.header("access-control-allow-origin")), (StatusCode::FORBIDDEN, None));
}
