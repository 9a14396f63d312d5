//! One line a request, as real processes write it, and what it never holds.

use std::collections::BTreeSet;

use http::Request;
use serde_json::{Value, json};
use vestibule_tests::{Function, Origin, Program, Redis, Visitor, free_port};

use crate::function_process::{call, event, gate, header, navigation, open_queue};

const HOST: &str = "tickets.example.com";
const COOKIE: &str = "vestibule_tour";
/// What visitors bring along, and nobody else's business.
const PRIVATE: [&str; 5] = ["203.0.113.77", "b4sket", "f0rged", "b3arer", "qu3ry"];

/// The program with a queue with these settings and these log levels.
struct RunningGate {
    program: Program,
    address: String,
    _origin: Origin,
}

impl RunningGate {
    async fn logging(levels: &str, format: &str) -> Self {
        let origin = Origin::start();
        let address = format!("127.0.0.1:{}", free_port());
        let settings = format!(
            "[[tenants]]\nid = \"acme\"\nname = \"Acme\"\n\n[[queues]]\nid = \"tour\"\ntenant = \"acme\"\n\
             hosts = [\"{HOST}\"]\nquota = 1\nprotection = {{ pre_ticket_from = \"none\" }}\nhandover = {{ kind = \"proxy\", origin = \"{}\" }}\n",
            origin.url()
        );
        let arguments = ["serve", "--listen", &address, "--settings", "vestibule.toml", "--state", "state"];
        let logging = ["--trusted-proxies", "1", "--log", levels, "--log-format", format];
        let program = Program::vestibule(&[&arguments[..], &logging].concat());
        let mut program = program.file("vestibule.toml", &settings).start();
        program.until_healthy(&address).await;
        Self { program, address, _origin: origin }
    }

    fn visitor(&self) -> Visitor {
        let trace = "Root=1-5c536348-3d683b8b04734faae651f476";
        Visitor::new(&self.address, HOST)
            .with_header("x-forwarded-for", PRIVATE[0])
            .with_header("x-amzn-trace-id", trace)
    }

    /// Does what visitors do, and returns their tickets and sessions.
    async fn be_busy(&self) -> Vec<String> {
        let mut first = self.visitor().with_header("cookie", "basket=b4sket");
        first.navigate("/in?token=qu3ry").await;
        let mut second = self.visitor();
        second.navigate("/waits").await;
        let session = second.keepalive("tour").await.json()["session"].as_str().unwrap().to_owned();
        second.fetch("/api?token=qu3ry").await;
        second.away("tour").await;
        let ticket = second.cookie(COOKIE).unwrap().to_owned();
        second.leave("tour").await;
        let mut forger = self.visitor();
        forger.set_cookie(COOKIE, "eyJf0rged.x.y");
        forger.fetch("/").await;
        let bearer = Request::get("/_vestibule/nothing?token=qu3ry").header("authorization", "Bearer b3arer");
        self.visitor().request(bearer, "").await;
        vec![ticket, session]
    }

    /// The lines of requests, once the program has ended.
    async fn lines(&mut self) -> Vec<Value> {
        self.program.terminate().await;
        request_lines(&self.program.log())
    }
}

fn request_lines(log: &str) -> Vec<Value> {
    let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap_or_else(|_| panic!("{line}")));
    lines.filter(|line| line["target"] == "request").collect()
}

fn of<'a>(lines: &'a [Value], name: &str) -> Vec<&'a str> {
    lines.iter().filter_map(|line| line[name].as_str()).collect()
}

#[tokio::test]
async fn request_lines_are_off_by_default() {
    for levels in ["info", "debug", "info,request=off"] {
        let mut served = RunningGate::logging(levels, "json").await;
        served.be_busy().await;
        assert_eq!(served.lines().await, Vec::<Value>::new(), "{levels}");
    }
}

#[tokio::test]
async fn request_lines_have_decision_and_duration() {
    let mut served = RunningGate::logging("info,request=info", "json").await;
    let private = served.be_busy().await;
    let lines = served.lines().await;
    let asked: Vec<_> = lines.iter().filter(|line| line["queue"] == "tour").collect();
    let decisions: Vec<_> = asked.iter().map(|line| (&line["decision"], &line["status"])).collect();
    let expected = [
        ("admitted", 200),
        ("waiting", 200),
        ("waiting", 200),
        ("waiting", 429),
        ("endpoint", 204),
        ("endpoint", 204),
        ("not_joined", 429),
    ];
    let expected: Vec<_> = expected.map(|(decision, status)| (json!(decision), json!(status))).into();
    assert_eq!(decisions, expected.iter().map(|(decision, status)| (decision, status)).collect::<Vec<_>>());
    for line in &asked {
        let (store, total) = (line["store_ms"].as_f64().unwrap(), line["total_ms"].as_f64().unwrap());
        assert!(total > 0.0 && (0.0..=total).contains(&store), "{line}");
    }
    let refused = lines.iter().find(|line| line["status"] == 404).unwrap();
    assert_eq!(
        (&refused["decision"], &refused["queue"], &refused["store_ms"]),
        (&json!("not_found"), &Value::Null, &Value::Null)
    );
    let names: BTreeSet<_> = of(&lines, "request_id").into_iter().collect();
    assert_eq!(names.len(), lines.len(), "every request has a name of its own");
    assert!(of(&lines, "trace_id").iter().all(|trace| *trace == "1-5c536348-3d683b8b04734faae651f476"));
    assert!(!of(&lines, "trace_id").is_empty());
    assert!(lines.iter().all(|line| line["level"] == "INFO" && line["session"].is_null() && line["span"].is_null()));
    assert!(!served.program.log().contains(&private[1]), "no session without request=debug");
}

#[tokio::test]
async fn sessions_are_logged_at_debug_level() {
    let mut served = RunningGate::logging("warn,request=debug", "json").await;
    let session = served.be_busy().await.pop().unwrap();
    assert!(of(&served.lines().await, "session").contains(&session.as_str()));
}

#[tokio::test]
async fn text_logs_have_one_line_per_request() {
    let mut served = RunningGate::logging("info,request=info", "text").await;
    served.be_busy().await;
    served.program.terminate().await;
    let log = served.program.log();
    let line = log.lines().find(|line| line.contains("decision=\"waiting\"")).unwrap_or_else(|| panic!("{log}"));
    for part in [" INFO request: answered request_id=", " queue=tour ", " status=200 ", " store_ms=0.", " total_ms="] {
        assert!(line.contains(part), "{part}: {line}");
    }
}

#[tokio::test]
async fn logs_contain_no_private_data() {
    for (levels, format) in
        [("info,request=info", "json"), ("debug,request=debug", "text"), ("trace,request=trace", "json")]
    {
        let mut served = RunningGate::logging(levels, format).await;
        let mut private = served.be_busy().await;
        // The session stands in lines of level debug, as it proves nothing.
        private.truncate(1);
        let state = served.program.folder().join("state");
        for file in ["ticket.keys", "pass.keys"] {
            let keys = std::fs::read_to_string(state.join(file)).unwrap();
            private.push(keys.trim().rsplit(':').next().unwrap().to_owned());
        }
        served.program.terminate().await;
        let log = served.program.log();
        assert!(log.contains("answered"), "{log}");
        for secret in private.iter().map(String::as_str).chain(PRIVATE) {
            assert!(!log.contains(secret), "{levels}: {secret} is in the log:\n{log}");
        }
    }
}

/// A function that has been asked for a few things.
async fn busy_function(levels: &str) -> (Function, Vec<String>) {
    let (redis, origin) = (Redis::start().await, Origin::start());
    open_queue(&redis, &origin.url(), &json!({ "quota": 1 })).await;
    let gate = gate(&redis, &[("VESTIBULE_LOG", levels)]).await;
    let mut private = Vec::new();
    for path in ["/in", "/waits"] {
        let mut event = navigation(path);
        event["multiValueQueryStringParameters"] = json!({ "token": ["qu3ry"] });
        event["multiValueHeaders"]["cookie"] = json!(["basket=b4sket; vestibule_tour=eyJf0rged.x.y"]);
        event["multiValueHeaders"]["authorization"] = json!(["Bearer b3arer"]);
        let answer = call(&gate, &event).await;
        let ticket = header(&answer, "set-cookie").unwrap().split(['=', ';']).nth(1).unwrap().to_owned();
        private.push(ticket);
    }
    call(&gate, &event("GET", "/_vestibule/health", &[])).await;
    redis.kill();
    call(&gate, &navigation("/while-the-store-is-away")).await;
    (gate, private)
}

#[tokio::test]
async fn log_lines_have_the_invocation_id() {
    let (gate, _) = busy_function("info,request=info").await;
    let log = gate.log();
    let lines = request_lines(&log);
    assert_eq!(of(&lines, "decision"), ["admitted", "waiting", "endpoint", "unavailable"]);
    assert_eq!(of(&lines, "queue"), ["tour", "tour", "tour"]);
    let all: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let warning = all.iter().find(|line| line["message"].as_str().unwrap_or_default().starts_with("store call failed"));
    let warning = warning.unwrap_or_else(|| panic!("{log}"));
    assert_eq!(warning["request_id"], lines[3]["request_id"], "what is logged within a request is found by it");
    assert_eq!(lines[3]["request_id"].as_str().unwrap().len(), 36, "the runtime's own name for the call");
}

#[tokio::test]
async fn function_logs_contain_no_private_data() {
    for levels in ["info,request=info", "trace,request=trace"] {
        let (gate, tickets) = busy_function(levels).await;
        let log = gate.log();
        let keys = ["BwcHBwcH", "CQkJCQkJ"];
        for secret in tickets.iter().map(String::as_str).chain(PRIVATE).chain(keys) {
            assert!(!log.contains(secret), "{levels}: {secret} is in the log:\n{log}");
        }
    }
}

#[tokio::test]
async fn an_oversized_response_is_logged_without_its_query() {
    let (redis, origin) = (Redis::start().await, Origin::start());
    open_queue(&redis, &origin.url(), &json!({ "quota": 9 })).await;
    let gate = gate(&redis, &[]).await;
    let mut event = navigation("/echo");
    event["httpMethod"] = json!("POST");
    event["multiValueQueryStringParameters"] = json!({ "token": ["qu3ry"] });
    event["multiValueHeaders"]["cookie"] = json!(["x=b4sket"]);
    // The origin says the body back, every byte of it as six.
    event["body"] = json!("\u{1}".repeat(300_000));
    let first = call(&gate, &navigation("/")).await;
    let ticket = header(&first, "set-cookie").unwrap().split(';').next().unwrap().to_owned();
    event["multiValueHeaders"]["cookie"] = json!([ticket]);
    let answer = call(&gate, &event).await;
    assert_eq!(answer["statusCode"], 502, "{answer}");
    let log = gate.log();
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let line = lines.iter().find(|line| line["path"] == "/echo").unwrap_or_else(|| panic!("{log}"));
    assert_eq!((&line["level"], &line["queue"], &line["limit"]), (&json!("WARN"), &json!("tour"), &json!(1 << 20)));
    assert!(line["content_length"].as_u64().unwrap() > 1_800_000, "{line}");
    assert!(line["request_id"].is_string() && line["message"].as_str().unwrap().contains("redirect"), "{line}");
    assert!(!log.contains("qu3ry"), "{log}");
}
