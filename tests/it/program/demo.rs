//! An order in the shop of `vestibule demo`.

use http::{Request, StatusCode};
use vestibule_tests::{Program, Visitor, free_port, wait_until};

use super::HOST;
use crate::gate_fixture::TIMEOUT;

#[tokio::test]
async fn order_in_the_demo_is_held_and_a_double_click_is_one_order() {
    let [shop, dashboard] = [free_port(), free_port()].map(|port| format!("127.0.0.1:{port}"));
    let options = ["demo", "--listen", &shop, "--admin-listen", &dashboard, "--visitors", "0"];
    let mut program = Program::vestibule(&options).start();
    program.until_healthy(&shop).await;
    let mut visitor = Visitor::new(&shop, HOST);
    assert!(visitor.navigate("/checkout?date=2&area=3&count=4").await.text().contains("Buy now"));

    let order = || Request::post("/checkout?date=2&area=3&count=4").header("prefer", "respond-async");
    let held = visitor.request(order(), "").await;
    assert_eq!(held.status, StatusCode::ACCEPTED, "{}", held.text());
    let again = visitor.request(order(), "").await;
    assert_eq!((again.header("x-job-id"), again.header("x-job-duplicate")), (held.header("x-job-id"), Some("true")));
    let location = held.header("location").unwrap();
    wait_until("the shop has processed the order", TIMEOUT, async || {
        let answer = visitor.fetch(location).await;
        answer.header("location") == Some("/thanks?date=2&area=3&count=4")
    })
    .await;
}

/// As when the terminal is closed.
#[tokio::test]
async fn demo_removes_its_files_after_sighup() {
    let [shop, dashboard] = [free_port(), free_port()].map(|port| format!("127.0.0.1:{port}"));
    let options = ["demo", "--listen", &shop, "--admin-listen", &dashboard, "--visitors", "0"];
    let temporary = tempfile::tempdir().unwrap();
    let files = || std::fs::read_dir(temporary.path()).unwrap().count();
    let launch = Program::vestibule(&options).env("TMPDIR", &temporary.path().display().to_string());
    let mut program = launch.start();
    program.until_healthy(&shop).await;
    assert_eq!(files(), 1);
    program.signal("HUP");
    assert!(program.end().await.success());
    assert_eq!(files(), 0);
}
