//! `vestibule invitations`, and what `vestibule check` says about them.

use serde_json::json;
use vestibule_tests::{Program, Redis};

use super::{HOST, RunningGate, SettingsFile, run, settings};
use crate::admin::backoffice::Backoffice;

#[tokio::test]
async fn invitations_prints_the_codes_of_a_batch() {
    let backoffice = Backoffice::memory().await;
    backoffice.tenant("acme").await;
    let batch = json!({ "number": 1, "id": "fans", "count": 5003 });
    backoffice.queue("tour", "acme", json!({ "hosts": ["tickets.example.com"], "invitations": [batch] })).await;
    let token = json!({ "name": "codes", "role": "operator", "tenants": ["acme"], "expires_in": 600 });
    let token = backoffice.root().create("/tokens", token).await["secret"].as_str().unwrap().to_owned();
    let to = format!("http://{}/", backoffice.admin.address());
    let print = async |token: &str, arguments: &[&str]| {
        let arguments = [&["invitations"][..], arguments].concat();
        let mut program = Program::vestibule(&arguments).env("VESTIBULE_ADMIN_TOKEN", token).start();
        let status = program.end().await;
        (status.code().unwrap_or(-1), program.log())
    };
    let (status, all) = print(&token, &["tour", "fans", "--to", &to]).await;
    assert_eq!(status, 0, "{all}");
    assert_eq!(all.lines().count(), 5004, "one header, over several requests");
    let (status, two) = print(&token, &["tour", "fans", "--to", &to, "--from", "5000", "--count", "2"]).await;
    assert_eq!(status, 0, "{two}");
    let numbers: Vec<&str> = two.lines().map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(numbers, ["number", "5000", "5001"]);
    assert!(two.contains(",https://tickets.example.com/?vestibule_invite="), "{two}");
    for (arguments, token, says) in [
        (["tour", "press", "--to", &to], token.as_str(), "status 404"),
        (["tour", "fans", "--to", "http://admin.example.com"], token.as_str(), "--to must be an https:// URL"),
        (["tour", "fans", "--to", &to], "", "VESTIBULE_ADMIN_TOKEN is not set"),
    ] {
        let (status, said) = print(token, &arguments).await;
        assert_eq!((status, said.contains(says)), (1, true), "{says}: {said}");
    }
}

#[tokio::test]
async fn check_lists_batches_and_their_keys() {
    let batches = "access = \"invited\"\n[[queues.invitations]]\nnumber = 7\nid = \"fans\"\ncount = 5000\nhead_start = 600\nkey = \"s1\"\nrevoked = true";
    let file = SettingsFile::of(&settings("https://www.example.com", &format!("quota = 1\n{batches}")));
    let (status, said) = run(&["check", &file.shown()]).await;
    assert_eq!(status, 0, "{said}");
    for words in [
        "invitations fans: batch 7, 5000 codes, head start 600 s, sale key s1, revoked",
        "warning: access is \"invited\" and no batch of invitations is valid now: nobody joins",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    // Which key a batch without one has depends on what is stored.
    file.write(&settings("https://www.example.com", &format!("quota = 1\n{}", batches.replace("key = \"s1\"\n", ""))));
    let (status, said) = run(&["check", &file.shown(), "--sale-keys", &format!("s2:{}", "A".repeat(43))]).await;
    assert!(status == 0 && said.contains("head start 600 s, sale key as stored, or the first if it is new"), "{said}");
}

/// A batch keeps the key that it was created with, so its codes are not valid without it.
#[tokio::test]
async fn sale_key_that_is_in_use_and_missing_is_logged() {
    let mut served =
        RunningGate::with("quota = 1\n[[queues.invitations]]\nnumber = 7\nid = \"fans\"\ncount = 5000").await;
    let missing = "--sale-keys lacks a sale key that is in use";
    assert!(!served.program.log().contains(missing), "{}", served.program.log());
    assert!(served.program.terminate().await.success());
    std::fs::remove_file(served.program.folder().join("state/sale.keys")).unwrap();
    served.program.restart();
    served.program.until_logged(missing).await;
    let log = served.program.log();
    assert!(log.contains("queue=tour") && log.contains("invitations \\\"fans\\\""), "{log}");
}

/// An earlier settings file, or the backoffice, made the queue.
#[tokio::test]
async fn missing_sale_key_of_an_unlisted_queue_is_logged() {
    let redis = Redis::start().await;
    let batch = "quota = 1\n[[queues.invitations]]\nnumber = 7\nid = \"fans\"\ncount = 5000";
    let mut served = RunningGate::launched(batch, &["--store", &redis.url()], |launch| launch).await;
    let other = settings(&served.origin.url(), "quota = 1").replace("\"tour\"", "\"other\"");
    served.file.write(&other.replace(HOST, "other.example.com"));
    assert!(served.program.terminate().await.success());
    std::fs::remove_file(served.program.folder().join("state/sale.keys")).unwrap();
    served.program.restart();
    served.program.until_logged("--sale-keys lacks a sale key that is in use").await;
    assert!(served.program.log().contains("queue=tour"), "{}", served.program.log());
}
