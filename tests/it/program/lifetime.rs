//! A program that reloads its settings, stops, and is started again.

use std::time::Duration;

use http::StatusCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};
use vestibule_tests::{Origin, Program, Visitor, wait_until};

use super::{COOKIE, HOST, RunningGate, session, settings};
use crate::gate_fixture::{TIMEOUT, navigation};

#[tokio::test]
async fn sighup_reloads_the_settings() {
    let mut served = RunningGate::with("quota = 0").await;
    let mut visitor = served.visitor();
    assert!(visitor.navigate("/").await.text().contains("Acme tour"));
    served.file.write(&settings(&served.origin.url(), "quota = 1"));
    served.program.signal("HUP");
    served.program.until_logged("settings reloaded").await;
    wait_until("the visitor is admitted", TIMEOUT, async || visitor.navigate("/").await.text().contains("origin /"))
        .await;
}

#[tokio::test]
async fn invalid_file_keeps_the_current_settings() {
    let mut served = RunningGate::with("quota = 1").await;
    let mut visitor = served.visitor();
    visitor.navigate("/").await;
    served.file.write(&settings(&served.origin.url(), "quota = \"none\""));
    served.program.signal("HUP");
    served.program.until_logged("queues[0].quota: must be").await;
    assert!(served.program.log().contains("the current settings stay in effect"));
    assert!(visitor.navigate("/").await.text().contains("origin /"));
    served.file.write(&settings(&served.origin.url(), "quota = 2"));
    served.program.signal("HUP");
    served.program.until_logged("settings reloaded").await;
}

#[tokio::test]
async fn shutdown_waits_for_requests_in_progress() {
    let mut served = RunningGate::with("quota = 5").await;
    let mut visitor = served.visitor();
    visitor.navigate("/").await;
    let slow = tokio::spawn(async move { visitor.fetch("/slow?1500").await });
    wait_until("the origin has the request", TIMEOUT, async || {
        served.origin.requests().iter().any(|request| request.uri.path() == "/slow")
    })
    .await;
    served.program.signal("TERM");
    served.program.until_logged("draining").await;
    assert!(TcpStream::connect(&served.address).await.is_err(), "nothing new is accepted");
    assert_eq!(slow.await.unwrap().text(), "at last");
    assert!(served.program.end().await.success());
    assert!(served.program.log().contains("stopped"));
}

#[tokio::test]
async fn shutdown_grace_period_ends() {
    let mut served = RunningGate::launched("quota = 5", &["--shutdown-grace", "1"], |launch| launch).await;
    let mut visitor = served.visitor();
    visitor.navigate("/").await;
    let slow = tokio::spawn(async move { visitor.try_get("/slow?60000").await.is_err() });
    wait_until("the origin has the request", TIMEOUT, async || {
        served.origin.requests().iter().any(|request| request.uri.path() == "/slow")
    })
    .await;
    assert!(served.program.terminate().await.success());
    assert!(slow.await.unwrap(), "the connection was cut");
    assert!(served.program.log().contains("were aborted"));
}

#[tokio::test]
async fn second_signal_ends_the_shutdown() {
    let mut served = RunningGate::with("quota = 5").await;
    let mut visitor = served.visitor();
    visitor.navigate("/").await;
    let slow = tokio::spawn(async move { visitor.try_get("/slow?60000").await.is_err() });
    wait_until("the origin has the request", TIMEOUT, async || {
        served.origin.requests().iter().any(|request| request.uri.path() == "/slow")
    })
    .await;
    // One that follows at once is the same, passed on by a shell.
    served.program.signal("INT");
    served.program.signal("INT");
    served.program.until_logged("draining").await;
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert!(!served.program.log().contains("second signal"));
    let folder = served.program.folder().to_owned();
    let written_at = |file: &str| std::fs::metadata(folder.join(file)).unwrap().modified().unwrap();
    std::fs::write(folder.join("signaled"), "").unwrap();
    let signaled = written_at("signaled");
    // File systems have a coarse clock.
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(served.program.terminate().await.success());
    assert!(slow.await.unwrap(), "the connection was cut");
    assert!(served.program.log().contains("stopped at the second signal"));
    assert!(written_at("state/memory-store.json") > signaled, "the lines are saved");
}

#[tokio::test]
async fn restart_keeps_all_positions() {
    let mut served = RunningGate::with("quota = 1\nrecheck_after = 0\nwaiting_ttl = 3\nclaim_ttl = 3").await;
    let (mut inside, mut first, mut second) = (served.visitor(), served.visitor(), served.visitor());
    assert!(inside.navigate("/").await.text().contains("origin /"));
    let mut sessions = Vec::new();
    for visitor in [&mut first, &mut second] {
        visitor.navigate("/").await;
        sessions.push(session(&visitor.fetch("/").await.json()).to_owned());
    }
    let ticket = inside.cookie(COOKIE).unwrap().to_owned();
    served.program.kill();
    served.program.restart();
    served.program.until_healthy(&served.address).await;

    assert_eq!(inside.cookie(COOKIE), Some(ticket.as_str()));
    // The one who came later is the first to ask, and a newcomer is there before the one who came earlier.
    let mut newcomer = served.visitor();
    assert_eq!(session(&second.fetch("/").await.json()), sessions[1]);
    newcomer.navigate("/").await;
    assert_eq!(session(&first.fetch("/").await.json()), sessions[0]);
    assert!(inside.navigate("/").await.text().contains("origin /"), "an admitted ticket is still valid");
    inside.leave("tour").await;
    let mut order = Vec::new();
    wait_until("all are admitted one after the other", TIMEOUT, async || {
        for (name, visitor) in [("newcomer", &mut newcomer), ("second", &mut second), ("first", &mut first)] {
            if !order.contains(&name) && visitor.status("tour").await.json()["state"] == "admitted" {
                order.push(name);
                visitor.leave("tour").await;
            }
        }
        order.len() == 3
    })
    .await;
    assert_eq!(order, ["first", "second", "newcomer"]);
}

#[tokio::test]
async fn after_a_restart_new_visitors_wait_behind_the_line() {
    let mut served = RunningGate::with("quota = 2\nrecheck_after = 0\nwaiting_ttl = 4\nclaim_ttl = 4").await;
    let (mut inside, mut other, mut waiting) = (served.visitor(), served.visitor(), served.visitor());
    for visitor in [&mut inside, &mut other] {
        assert!(visitor.navigate("/").await.text().contains("origin /"));
    }
    waiting.navigate("/").await;
    assert!(served.program.terminate().await.success());
    served.program.restart();
    served.program.until_healthy(&served.address).await;

    let mut newcomer = served.visitor();
    newcomer.navigate("/").await;
    assert_eq!(newcomer.status("tour").await.json()["state"], "waiting", "two slots look free but are not");
    assert!(inside.navigate("/").await.text().contains("origin /"));
    let mut order = Vec::new();
    wait_until("both are admitted", TIMEOUT, async || {
        for (name, visitor) in [("newcomer", &mut newcomer), ("waiting", &mut waiting)] {
            if !order.contains(&name) && visitor.status("tour").await.json()["state"] == "admitted" {
                order.push(name);
                visitor.leave("tour").await;
            }
        }
        order.len() == 2
    })
    .await;
    assert_eq!(order, ["waiting", "newcomer"]);
}

#[tokio::test]
async fn unix_socket_works_and_replaces_a_stale_file() {
    let origin = Origin::start();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gate.sock");
    let listen = format!("unix:{}", path.display());
    let arguments = ["serve", "--listen", &listen, "--origin", &origin.url(), "--quota", "1", "--state", "state"];
    let mut program = Program::vestibule(&arguments).start();
    program.until_logged("serving").await;
    for _ in 0..2 {
        let mut socket = UnixStream::connect(&path).await.unwrap();
        socket.write_all(&navigation("/tour", HOST, &[])).await.unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        program.kill();
        assert!(path.exists());
        program.restart();
        wait_until("it serves again", TIMEOUT, async || UnixStream::connect(&path).await.is_ok()).await;
    }
    let (status, said) = super::run(&arguments).await;
    assert_eq!(status, 1, "a socket that somebody serves is not taken away");
    assert!(said.contains("cannot listen on unix:"), "{said}");
}

#[tokio::test]
async fn two_processes_share_one_line() {
    let redis = vestibule_tests::Redis::start().await;
    let keys = ["--ticket-keys", "k1:BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc", "--store", &redis.url()];
    let one = RunningGate::launched("quota = 1", &keys, |launch| launch).await;
    let address = format!("127.0.0.1:{}", vestibule_tests::free_port());
    let mut other =
        Program::vestibule(&[&["serve", "--listen", &address, "--state", "state"], &keys[..]].concat()).start();
    other.until_healthy(&address).await;

    assert!(one.visitor().navigate("/").await.text().contains("origin /"));
    let mut visitor = Visitor::new(&address, HOST);
    wait_until("the queue is known there", TIMEOUT, async || visitor.navigate("/").await.status == StatusCode::OK)
        .await;
    let first = visitor.fetch("/").await.json();
    assert_eq!(first["position"], 1);
    let mut moved = one.visitor();
    moved.set_cookie(COOKIE, visitor.cookie(COOKIE).unwrap());
    assert_eq!(session(&moved.fetch("/").await.json()), session(&first));
    one.file.write(&settings(&one.origin.url(), "quota = 2"));
    one.program.signal("HUP");
    wait_until("the other process admits", TIMEOUT, async || visitor.navigate("/").await.text().contains("origin /"))
        .await;
}
