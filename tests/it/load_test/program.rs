//! A workload with all behaviors against the real program with Redis.

use serde_json::Value;
use vestibule_tests::{Origin, Program, ProgramOptions, Redis, free_port};

/// The token of its metrics.
const TOKEN: &str = "a-token-of-the-tests";

/// The program before an origin, over a Redis (or a cluster) of its own.
pub(super) struct RunningGate<S = Redis> {
    pub(super) program: Program,
    pub(super) address: String,
    pub(super) admin: String,
    pub(super) redis: S,
    _origin: Origin,
}

impl RunningGate {
    pub(super) async fn with(quota: u64) -> Self {
        let redis = Redis::start().await;
        let url = redis.url();
        Self::over(redis, &url, quota).await
    }
}

impl<S> RunningGate<S> {
    /// The same over a store that runs already, at this address.
    pub(super) async fn over(redis: S, url: &str, quota: u64) -> Self {
        let origin = Origin::start();
        let (quota, address) = (quota.to_string(), origin.url());
        Self::start(redis, url, origin, &["--origin", &address, "--quota", &quota]).await
    }

    /// The same with these settings.
    pub(super) async fn start(redis: S, url: &str, origin: Origin, settings: &[&str]) -> Self {
        Self::launched(redis, url, origin, settings, |program| program).await
    }

    /// The same, with a change of how the program is started.
    pub(super) async fn launched(
        redis: S,
        url: &str,
        origin: Origin,
        settings: &[&str],
        change: impl FnOnce(ProgramOptions) -> ProgramOptions,
    ) -> Self {
        let [address, admin] = [(); 2].map(|()| format!("127.0.0.1:{}", free_port()));
        let mut arguments = vec!["serve", "--listen", &address, "--admin-listen", &admin, "--metrics-token", TOKEN];
        arguments.extend(["--store", url, "--state", "state"]);
        arguments.extend(settings);
        let mut program = change(Program::vestibule(&arguments)).start();
        program.until_healthy(&address).await;
        Self { program, address, admin, redis, _origin: origin }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }
}

/// Runs a command of the program to its end; returns its status, and what it said.
pub(super) async fn run(arguments: &[&str]) -> (i32, String, Program) {
    let mut program = Program::vestibule(arguments).start();
    let status = program.end_within(super::LIMIT).await;
    (status.code().unwrap_or(-1), program.log(), program)
}

fn figure(report: &Value, name: &str) -> f64 {
    let checks = report["checks"].as_array().unwrap();
    let check = checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("{name}"));
    check["value"].as_f64().unwrap_or_else(|| panic!("{name}"))
}

#[tokio::test]
async fn program_passes_all_checks_with_all_behaviors() {
    let served = RunningGate::with(30).await;
    let (metrics, redis) = (format!("http://{}/metrics", served.admin), served.redis.url());
    let (status, said, program) = run(&[
        "rehearse",
        &served.url(),
        "--visitors",
        "150",
        "--arrivals",
        "steady:3",
        "--shopping",
        "uniform:0.5..2",
        "--leave",
        "1",
        "--close",
        "0.1",
        "--patience",
        "6",
        "--away",
        "5",
        "--sleep",
        "0.1",
        "--awake",
        "5",
        "--asleep",
        "21",
        "--reload",
        "0.1",
        "--reload-every",
        "4",
        "--second-tab",
        "0.1",
        "--bots",
        "0.02",
        "--bots-every",
        "3",
        "--flood",
        "0.03",
        "--metrics",
        &metrics,
        "--metrics-token",
        TOKEN,
        "--redis",
        &redis,
        "--json",
        "report.json",
        "--html",
        "report.html",
        "--fail-if",
        "failed_share>0,server_errors>0,wait_p50>60",
    ])
    .await;
    assert_eq!(status, 0, "{said}");
    let report: Value = serde_json::from_slice(&std::fs::read(program.folder().join("report.json")).unwrap()).unwrap();
    for held in [
        "over_admission",
        "tau",
        "worst_inversion_seconds",
        "positions_lost",
        "never_admitted",
        "evicted",
        "failed_share",
    ] {
        assert!(figure(&report, held).abs() < f64::EPSILON, "{held}: {said}");
    }
    assert_eq!(report["run"]["quota"], 30, "the quota is read from the metrics");
    assert!(figure(&report, "store_commands_per_request") > 0.5, "{said}");
    assert!(figure(&report, "visitors") >= 140.0);
    let page = std::fs::read_to_string(program.folder().join("report.html")).unwrap();
    assert!(page.contains("All checks passed") && page.contains("<svg") && page.contains("prefers-color-scheme: dark"));
    assert!(!page.contains("<script") && !page.contains(" src=") && !page.contains("<link"), "it is a file of its own");
}

#[tokio::test]
async fn failed_condition_exits_with_1_and_writes_the_report() {
    let served = RunningGate::with(5).await;
    let (status, said, program) = run(&[
        "rehearse",
        &served.url(),
        "--visitors",
        "12",
        "--arrivals",
        "burst:1",
        "--shopping",
        "fixed:1",
        "--leave",
        "1",
        "--close",
        "0",
        "--sleep",
        "0",
        "--fail-if",
        "wait_p90<600",
        "--json",
        "report.json",
    ])
    .await;
    assert_eq!(status, 1, "{said}");
    assert!(
        said.contains("FAILED") && said.contains("not measured") && said.contains("The quota is unknown"),
        "{said}"
    );
    assert!(program.folder().join("report.json").exists());
}

#[tokio::test]
async fn stopped_run_writes_the_report() {
    let served = RunningGate::with(2).await;
    let mut program = Program::vestibule(&[
        "rehearse",
        &served.url(),
        "--visitors",
        "50",
        "--quota",
        "2",
        "--shopping",
        "fixed:30",
        "--json",
        "report.json",
    ])
    .start();
    // A line of progress comes after ten seconds.
    program.until_logged("admitted").await;
    program.signal("INT");
    assert_eq!(program.end().await.code(), Some(0), "{}", program.log());
    let report: Value = serde_json::from_slice(&std::fs::read(program.folder().join("report.json")).unwrap()).unwrap();
    assert_eq!(report["run"]["ended"], "it was stopped");
    assert!(figure(&report, "visitors") > 40.0 && figure(&report, "peak_active") <= 2.0);
}

#[tokio::test]
async fn run_ends_at_maximum_duration_and_requests() {
    let served = RunningGate::with(2).await;
    for (limit, description) in [
        (["--duration", "2"], "the maximum duration was reached"),
        (["--max-requests", "20"], "the maximum number of requests was reached"),
    ] {
        let url = served.url();
        let workload = ["--visitors", "50", "--shopping", "fixed:30", "--json", "report.json"];
        let arguments = [&["rehearse", url.as_str()][..], &workload, &limit].concat();
        let (_, said, program) = run(&arguments).await;
        let report = std::fs::read(program.folder().join("report.json")).unwrap_or_else(|_| panic!("{said}"));
        let report: Value = serde_json::from_slice(&report).unwrap();
        assert_eq!(report["run"]["ended"], description);
        assert!(figure(&report, "requests") < 200.0, "{said}");
    }
}

/// A rehearsal of this many patient visitors. Returns its report and its output.
async fn streams_report(served: &RunningGate, visitors: &str) -> (i32, Value, String) {
    let url = served.url();
    let workload = [
        "rehearse",
        &url,
        "--streams",
        "1",
        "--quota",
        "10",
        "--visitors",
        visitors,
        "--arrivals",
        "steady:2",
        "--shopping",
        "uniform:0.5..1.5",
        "--json",
        "report.json",
    ];
    let (status, said, program) = run(&[&workload[..], &super::PATIENT].concat()).await;
    let report = std::fs::read(program.folder().join("report.json")).unwrap_or_else(|_| panic!("{said}"));
    (status, serde_json::from_slice(&report).unwrap(), said)
}

#[tokio::test]
async fn visitors_who_listen_to_streams_pass_all_checks() {
    let served = RunningGate::with(10).await;
    let (status, report, said) = streams_report(&served, "80").await;
    assert_eq!(status, 0, "{said}");
    assert!(figure(&report, "streams_peak") > 30.0 && figure(&report, "stream_updates") > 500.0, "{said}");
    assert!(figure(&report, "streams_given_up").abs() < f64::EPSILON, "{said}");
    assert!(figure(&report, "stream_lag_p50_ms") > 0.0, "{said}");
    assert!(figure(&report, "stream_lag_p99_ms") >= figure(&report, "stream_lag_p50_ms"), "{said}");
}

#[tokio::test]
async fn visitors_poll_where_streams_are_off() {
    let redis = Redis::start().await;
    let (url, origin) = (redis.url(), Origin::start());
    let address = origin.url();
    let flags = ["--origin", &address, "--quota", "10", "--streams-max", "0"];
    let served = RunningGate::start(redis, &url, origin, &flags).await;
    let (status, report, said) = streams_report(&served, "24").await;
    assert_eq!(status, 1, "streams that were asked for and not measured: {said}");
    assert!(figure(&report, "streams_given_up") > 5.0, "{said}");
    assert!(
        figure(&report, "never_admitted").abs() < f64::EPSILON && figure(&report, "tau").abs() < f64::EPSILON,
        "{said}"
    );
}
