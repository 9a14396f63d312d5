//! Startup of `vestibule serve`, and the errors of invalid options.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use vestibule_tests::{Origin, Program, Redis, Visitor, free_port};

use super::{HOST, RunningGate, SettingsFile, run, settings};

#[tokio::test]
async fn serve_without_queues_names_the_flags() {
    let (status, said) = run(&["serve"]).await;
    assert_eq!(status, 1, "{said}");
    assert!(said.contains("--settings FILE") && said.contains("--origin URL"), "{said}");
}

#[tokio::test]
async fn invalid_settings_file_is_reported_by_line_and_field() {
    let file = SettingsFile::of(&settings("https://www.example.com", "quota = \"many\""));
    let (status, said) = run(&["serve", "--settings", &file.shown(), "--state", "state"]).await;
    assert_eq!(status, 1, "{said}");
    assert!(said.contains(&format!("{}:12: queues[0].quota: must be", file.shown())), "{said}");
}

#[tokio::test]
async fn port_in_use_is_reported() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (status, said) =
        run(&["serve", "--listen", &address, "--origin", "http://127.0.0.1:1", "--state", "state"]).await;
    assert_eq!(status, 1, "{said}");
    assert!(said.contains(&format!("cannot listen on http://{address}")) && said.contains("in use"), "{said}");
    assert!(said.contains("--listen") && !said.contains("os error"), "{said}");
}

#[tokio::test]
async fn invalid_options_state_what_is_valid() {
    let with = |option: &'static str, value: &'static str| {
        vec!["serve", "--origin", "http://127.0.0.1:1", "--state", "state", option, value]
    };
    for (arguments, words) in [
        (with("--listen", "here"), "127.0.0.1:8080"),
        (with("--store", "mysql://x"), "redis://"),
        (with("--ticket-keys", "nonsense"), "kid:base64"),
        (with("--ticket-keys", "k1:c2hvcnQ"), "wrong length"),
        (with("--themes", "/nowhere/at/all"), "is not a folder"),
        (with("--trusted-proxies", "17"), "0 to 16"),
        (with("--threads", "0"), "must be a whole number from 1 to 1024"),
        (with("--quota", "many"), "must be a whole number, at least 0"),
        (with("--shutdown-grace", "soon"), "must be a whole number from 0 to 3600"),
        (with("--log", "=loud="), "levels per module"),
        (vec!["serve", "--origin", "http://x/path"], "a scheme, a host and a port only"),
        (vec!["serve", "--settings", "f.toml", "--quota", "5"], "--quota cannot be combined with --settings"),
    ] {
        let (status, said) = run(&arguments).await;
        assert_ne!(status, 0, "{arguments:?}: {said}");
        assert!(said.contains(words), "{arguments:?} says nothing of {words}: {said}");
        assert!(!said.contains("panicked"), "{said}");
    }
}

#[tokio::test]
async fn empty_variables_count_as_not_set() {
    let address = format!("127.0.0.1:{}", free_port());
    let arguments = ["serve", "--listen", &address, "--origin", "http://127.0.0.1:1", "--state", "state"];
    let mut launch = Program::vestibule(&arguments).env("VESTIBULE_NO_WORKER", "1");
    for name in ["JOBS_URL", "THEMES", "NETWORKS", "SALE_KEYS", "ADMIN_LISTEN", "LOG_FORMAT", "SETTINGS", "THREADS"] {
        launch = launch.env(&format!("VESTIBULE_{name}"), "");
    }
    let mut program = launch.start();
    program.until_healthy(&address).await;
    assert!(program.log().contains("--no-worker with jobs in memory"), "{}", program.log());
    assert!(!program.log().contains("is not read"), "{}", program.log());
}

#[tokio::test]
async fn invalid_variables_are_named() {
    for (name, value, takes) in [
        ("VESTIBULE_NO_WORKER", "maybe", "must be true, yes, on or 1, or false, no, off or 0"),
        ("VESTIBULE_LISTEN", "here", "127.0.0.1:8080"),
        ("VESTIBULE_QUOTA", "many", "must be a whole number"),
    ] {
        let mut program = Program::vestibule(&["serve", "--origin", "http://127.0.0.1:1"]).env(name, value).start();
        assert!(!program.end().await.success());
        let named = format!("The value is that of the environment variable {name}.");
        assert!(program.log().contains(&named) && program.log().contains(takes), "{}", program.log());
    }
    let mut program = Program::vestibule(&["serve", "--quota", "many"]).env("VESTIBULE_QUOTA", "1").start();
    assert!(!program.end().await.success());
    assert!(!program.log().contains("environment variable"), "{}", program.log());
}

#[tokio::test]
async fn origin_flag_creates_one_queue() {
    let origin = Origin::start();
    let address = format!("127.0.0.1:{}", free_port());
    let arguments = ["serve", "--listen", &address, "--origin", &origin.url(), "--quota", "1", "--state", "state"];
    let mut program = Program::vestibule(&arguments).start();
    program.until_healthy(&address).await;
    let (mut first, mut second) =
        (Visitor::new(&address, "anything.example"), Visitor::new(&address, "anything.example"));
    assert!(first.navigate("/tour").await.text().contains("origin /tour"));
    let page = second.navigate("/tour").await;
    assert!(page.text().contains("data-vestibule") && page.text().contains("anything.example"), "{}", page.text());
    assert!(!page.text().contains("127.0.0.1"), "the address of the origin is not shown: {}", page.text());
}

#[tokio::test]
async fn summary_names_the_queues_of_an_earlier_start() {
    let (folder, address) = (tempfile::tempdir().unwrap(), format!("127.0.0.1:{}", free_port()));
    let state = folder.path().display().to_string();
    let serve = ["serve", "--listen", &address, "--state", &state];
    let mut earlier = Program::vestibule(&[&serve[..], &["--origin", "http://127.0.0.1:1"]].concat()).start();
    earlier.until_healthy(&address).await;
    earlier.terminate().await;
    let file = SettingsFile::of(&settings("http://127.0.0.1:1", "quota = 1"));
    let shown = file.shown();
    let arguments = [&serve[..], &["--settings", &shown]].concat();
    let mut program = Program::vestibule(&arguments).on_terminal().start();
    program.until_healthy(&address).await;
    program.until_logged("also, from the store: default").await;
    let health = Visitor::new(&address, HOST).try_get("/_vestibule/health").await.unwrap();
    assert_eq!(health.json(), json!({ "store": "up", "queues": 2 }));
    program.terminate().await;
}

#[tokio::test]
async fn name_flag_sets_the_site_name() {
    let address = format!("127.0.0.1:{}", free_port());
    let arguments =
        ["serve", "--listen", &address, "--origin", "http://127.0.0.1:1", "--quota", "0", "--state", "state"];
    let mut program = Program::vestibule(&[&arguments[..], &["--name", "Acme Live"]].concat()).start();
    program.until_healthy(&address).await;
    let page = Visitor::new(&address, "anything.example").navigate("/").await;
    assert!(page.text().contains("Acme Live") && !page.text().contains("anything.example"), "{}", page.text());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn threads_flag_sets_the_worker_threads() {
    let origin = Origin::start();
    for threads in [1, 32] {
        let (address, threads) = (format!("127.0.0.1:{}", free_port()), threads.to_string());
        let arguments = ["serve", "--listen", &address, "--origin", &origin.url(), "--state", "state"];
        let mut program = Program::vestibule(&[&arguments[..], &["--threads", &threads]].concat()).start();
        program.until_healthy(&address).await;
        assert!(Visitor::new(&address, "anything.example").navigate("/").await.text().contains("origin /"));
        let tasks = std::fs::read_dir(format!("/proc/{}/task", program.id())).unwrap().count();
        assert_eq!(tasks > 32, threads == "32", "{tasks} tasks with --threads {threads}");
    }
}

#[tokio::test]
async fn generated_keys_have_mode_0600() {
    let served = RunningGate::with("quota = 1").await;
    let state = served.program.folder().join("state");
    for file in ["ticket.keys", "pass.keys"] {
        let mode = std::fs::metadata(state.join(file)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{file}");
        let keys = std::fs::read_to_string(state.join(file)).unwrap();
        assert!(!served.program.log().contains(keys.trim()));
    }
    assert_eq!(std::fs::metadata(&state).unwrap().permissions().mode() & 0o777, 0o700);
}

#[tokio::test]
async fn store_password_is_never_printed() {
    let redis = Redis::start().await;
    redis.command(&["CONFIG", "SET", "requirepass", "hunter2secret"]).await;
    for (url, healthy) in [
        (format!("redis://:hunter2secret@127.0.0.1:{}", redis.port()), true),
        (format!("redis://:hunter2wrong@127.0.0.1:{}", redis.port()), false),
        ("redis://:hunter2secret@127.0.0.1:1".to_owned(), false),
    ] {
        let address = format!("127.0.0.1:{}", free_port());
        let launch = Program::vestibule(&[
            "serve",
            "--listen",
            &address,
            "--origin",
            "http://127.0.0.1:1",
            "--state",
            "state",
            "--log",
            "debug",
        ]);
        let mut program = launch.env("VESTIBULE_REDIS_URL", &url).start();
        if healthy {
            program.until_healthy(&address).await;
        } else {
            program.until_logged("cannot write the settings").await;
        }
        assert!(!program.log().contains("hunter2"), "{}", program.log());
    }
    let (status, said) =
        run(&["serve", "--store", "redis://:hunter2@:nonsense:/x y", "--origin", "http://127.0.0.1:1"]).await;
    assert_eq!(status, 1);
    assert!(!said.contains("hunter2"), "{said}");
}

#[tokio::test]
async fn address_of_jobs_is_checked() {
    let file = SettingsFile::of(&settings("https://www.example.com", "quota = 1"));
    let shown = file.shown();
    let serve = ["serve", "--settings", &shown, "--state", "state", "--jobs"];
    let work = ["work", "--store", "redis://127.0.0.1:1", "--state", "state", "--jobs"];
    for (arguments, jobs, says) in [
        (&serve[..], "sqs://acme", "--jobs names SQS, which needs a Redis for the state of its jobs"),
        (&serve[..], "sqs://acme.fifo", "--jobs must be sqs:// and a prefix"),
        (&work[..], "sqs://acme", "work cannot run jobs that SQS carries: deploy the function worker"),
    ] {
        let (status, said) = run(&[arguments, &[jobs]].concat()).await;
        assert!(status == 1 && said.contains(says), "{jobs}: {said}");
    }
}

#[tokio::test]
async fn serve_says_who_runs_the_jobs_of_sqs() {
    let (redis, address) = (Redis::start().await, format!("127.0.0.1:{}", free_port()));
    let file = SettingsFile::of(&settings("https://www.example.com", "quota = 1"));
    let (shown, url) = (file.shown(), redis.url());
    let arguments = ["serve", "--listen", &address, "--settings", &shown, "--state", "state", "--store", &url];
    let mut program = Program::vestibule(&[&arguments[..], &["--jobs", "sqs://acme"]].concat()).start();
    program.until_healthy(&address).await;
    assert!(program.log().contains("SQS carries them to the function worker"), "{}", program.log());
}

/// Each would restore the lines of the other.
#[tokio::test]
async fn state_folder_has_the_memory_store_of_one_process() {
    let first = RunningGate::with("quota = 1").await;
    let state = first.program.folder().join("state");
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--origin", "http://127.0.0.1:9", "--state"];
    let (status, said) = run(&[&arguments[..], &[state.to_str().unwrap()]].concat()).await;
    let advice =
        format!("keeps the lines of its memory store in {}; pass another folder with --state", state.display());
    assert!(status == 1 && said.contains(&advice), "{said}");
}
