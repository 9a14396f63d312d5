use vestibule_tests::{Program, ProgramOptions};

use super::{PASS_KEYS, TICKET_KEYS};

fn gate() -> ProgramOptions {
    let nowhere = "redis://:s3cret@127.0.0.1:9";
    Program::named("gate", &[]).env("VESTIBULE_REDIS_URL", nowhere).env("VESTIBULE_LOG_FORMAT", "text")
}

fn with_keys() -> ProgramOptions {
    gate().env("VESTIBULE_TICKET_KEYS", TICKET_KEYS).env("VESTIBULE_PASS_KEYS", PASS_KEYS)
}

/// The only line that a gate says which does not start.
async fn refusal(launch: ProgramOptions) -> String {
    let mut program = launch.env("VESTIBULE_LOG", "error").start();
    assert_eq!(program.end().await.code(), Some(1));
    let log = program.log();
    assert_eq!(log.lines().count(), 1, "{log}");
    log
}

#[tokio::test]
async fn a_function_without_keys_refuses_to_start() {
    for (launch, variable) in [
        (gate().env("VESTIBULE_PASS_KEYS", PASS_KEYS), "VESTIBULE_TICKET_KEYS is not set"),
        (gate().env("VESTIBULE_TICKET_KEYS", TICKET_KEYS), "VESTIBULE_PASS_KEYS is not set"),
        (
            gate().env("VESTIBULE_TICKET_KEYS", " ").env("VESTIBULE_PASS_KEYS", PASS_KEYS),
            "VESTIBULE_TICKET_KEYS is not set",
        ),
    ] {
        let log = refusal(launch).await;
        assert!(log.contains(variable) && log.contains("kid:base64"), "{log}");
    }
}

#[tokio::test]
async fn invalid_variables_are_named() {
    for (variable, value) in [
        ("VESTIBULE_REDIS_URL", "http://127.0.0.1:s3cret"),
        ("VESTIBULE_REDIS_URL", ""),
        ("VESTIBULE_STORE_TIMEOUT_MS", "1"),
        ("VESTIBULE_TICKET_KEYS", "s3cret"),
        ("VESTIBULE_TICKET_KEYS", "kid:czNjcmV0"),
        ("VESTIBULE_PASS_KEYS", "kid:s3cret!"),
        ("VESTIBULE_TRUSTED_PROXIES", "17"),
        ("VESTIBULE_TRUSTED_PROXIES", "all"),
        ("VESTIBULE_CONNECT_TIMEOUT", "0"),
        ("VESTIBULE_READ_TIMEOUT", "901"),
        ("VESTIBULE_ADMIN_URL", "admin.example.com"),
        ("VESTIBULE_THEMES", "/nowhere/at/all"),
        ("VESTIBULE_LOG_FORMAT", "xml"),
        ("AWS_LAMBDA_RUNTIME_API", ""),
    ] {
        let log = refusal(with_keys().env(variable, value)).await;
        assert!(log.contains(variable), "{variable}={value}: {log}");
        assert!(!log.contains("s3cret") && !log.contains("czNjcmV0"), "{log}");
    }
}

#[tokio::test]
async fn invalid_log_levels_are_named() {
    let mut program = with_keys().env("VESTIBULE_LOG", "info,=").start();
    assert_eq!(program.end().await.code(), Some(1));
    assert!(program.log().contains("VESTIBULE_LOG must be error, warn, info"), "{}", program.log());
}
