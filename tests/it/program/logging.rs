//! What the log says, and what it must not say.

use http::Request;
use serde_json::Value;

use super::{COOKIE, RunningGate};

/// Does whatever a visitor can do, with everything in it that is nobody else's business.
async fn be_busy(served: &RunningGate) -> Vec<String> {
    let mut visitor =
        served.visitor().with_header("x-forwarded-for", "203.0.113.77").with_header("cookie", "basket=b4sket");
    visitor.navigate("/tour?token=qu3ry").await;
    let mut visitor = served.visitor().with_header("x-forwarded-for", "203.0.113.77");
    visitor.navigate("/tour").await;
    visitor.fetch("/tour").await;
    let ticket = visitor.cookie(COOKIE).unwrap().to_owned();
    visitor.keepalive("tour").await;
    visitor.away("tour").await;
    visitor.leave("tour").await;
    let mut forger = served.visitor();
    forger.set_cookie(COOKIE, "eyJf0rged.x.y");
    forger.navigate("/").await;
    let header =
        Request::get("/").header("x-vestibule-ticket", "f0rgedheader").header("authorization", "Bearer b3arer");
    served.visitor().request(header, "").await;
    served.visitor().fetch("/_vestibule/check").await;
    let signature = ticket.rsplit('.').next().unwrap().to_owned();
    let state = served.program.folder().join("state");
    let secret =
        |file: &str| std::fs::read_to_string(state.join(file)).unwrap().trim().rsplit(':').next().unwrap().to_owned();
    let secrets = [secret("ticket.keys"), secret("pass.keys")];
    let named = ["203.0.113.77", "b4sket", "f0rged", "b3arer", "qu3ry"].map(str::to_owned);
    [vec![ticket, signature], secrets.to_vec(), named.to_vec()].concat()
}

#[tokio::test]
async fn secrets_and_addresses_are_never_logged() {
    for level in ["debug", "trace"] {
        let mut served =
            RunningGate::launched("quota = 1", &["--log", level, "--trusted-proxies", "1"], |launch| launch).await;
        let private = be_busy(&served).await;
        served.program.terminate().await;
        let log = served.program.log();
        assert!(log.contains("DEBUG"), "{log}");
        for secret in private {
            assert!(!log.contains(&secret), "{level}: {secret} is in the log:\n{log}");
        }
    }
}

#[tokio::test]
async fn json_log_has_one_object_per_line() {
    let more = ["--log", "debug", "--log-format", "json"];
    let mut served = RunningGate::launched("quota = 1", &more, |launch| launch).await;
    be_busy(&served).await;
    served.file.write("broken = ");
    served.program.signal("HUP");
    served.program.until_logged("stay in effect").await;
    served.program.terminate().await;
    let log = served.program.log();
    let lines: Vec<Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect();
    assert!(lines.iter().all(|line| line["level"].is_string() && line["timestamp"].is_string()), "{log}");
    assert!(lines.iter().any(|line| line["message"] == "serving" && line["address"].is_string()), "{log}");
}
