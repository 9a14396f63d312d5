//! Lists of networks in S3, in rules and classes.

use serde_json::json;
use vestibule_gate::{ClientRules, NetworkLists};
use vestibule_tests::{GateOptions, S3};
use vestibule_themes::{BucketAddress, FileFolder};

use crate::gate_fixture::{GateFixture, StoreSetup, navigation, raw};

/// The lists at `networks/` of a bucket.
async fn lists_in(s3: &S3) -> NetworkLists {
    let address: BucketAddress = s3.themes("networks").parse().unwrap();
    let lists = NetworkLists::of(FileFolder::on_server(s3.server(), address));
    lists.load().await.unwrap();
    lists
}

/// Whether the list contains the address.
fn contains(lists: &NetworkLists, list: &str, address: &str) -> Option<bool> {
    lists.current().find(list, address.parse().unwrap())
}

#[tokio::test]
async fn lists_in_a_bucket_are_read_and_read_again() {
    let mut s3 = S3::start().await;
    s3.put("networks/offices.txt", "# Ours\n203.0.113.0/24\n").await;
    s3.put("networks/old/offices.txt", "no network").await;
    s3.put("other/hosting.txt", "192.0.2.0/24").await;
    let lists = lists_in(&s3).await;
    assert_eq!(contains(&lists, "offices", "203.0.113.9"), Some(true));
    assert_eq!(contains(&lists, "offices", "198.51.100.1"), Some(false));
    assert_eq!(contains(&lists, "hosting", "192.0.2.1"), None);

    s3.put("networks/hosting.txt", "192.0.2.0/24").await;
    s3.put("networks/offices.txt", "198.51.100.0/24").await;
    lists.load().await.unwrap();
    assert_eq!(contains(&lists, "hosting", "192.0.2.1"), Some(true));
    assert_eq!(contains(&lists, "offices", "203.0.113.9"), Some(false));

    s3.put("networks/offices.txt", "198.51.100.0/24\nour office\n").await;
    let error = lists.load().await.unwrap_err();
    assert!(
        !error.is_temporary() && error.to_string().contains("networks/offices.txt:2: must be a network"),
        "{error}"
    );
    assert_eq!(contains(&lists, "offices", "198.51.100.1"), Some(true), "the last valid lists stay");
    s3.kill();
    assert!(lists.load().await.unwrap_err().is_temporary());
    assert_eq!(contains(&lists, "offices", "198.51.100.1"), Some(true));
}

/// Others may write to the bucket than those who start gates.
#[tokio::test]
async fn gate_starts_with_an_invalid_list_and_uses_it_once_fixed() {
    let s3 = S3::start().await;
    s3.put("networks/offices.txt", "our office").await;
    let address: BucketAddress = s3.themes("networks").parse().unwrap();
    let lists = NetworkLists::of(FileFolder::on_server(s3.server(), address));
    lists.load_at_start().await.unwrap();
    assert_eq!(contains(&lists, "offices", "203.0.113.9"), None);
    s3.put("networks/offices.txt", "203.0.113.0/24").await;
    lists.load().await.unwrap();
    assert_eq!(contains(&lists, "offices", "203.0.113.9"), Some(true));
}

#[tokio::test]
async fn rules_and_classes_use_lists_in_a_bucket() {
    let s3 = S3::start().await;
    s3.put("networks/offices", "203.0.113.0/24").await;
    s3.put("networks/hosting", "198.51.100.0/24").await;
    let clients = ClientRules { networks: lists_in(&s3).await, ..ClientRules::default() };
    let rules = json!([{ "action": "bypass", "source": "@offices" }, { "action": "bypass", "source": "@unknown" }]);
    let protection = json!({ "pre_ticket_from": "none", "mode": "enforce", "on_exceed": "reject", "lists": { "blocked": ["hosting"] } });
    let settings = json!({ "rules": rules, "protection": protection });
    let options = GateOptions { trusted_proxies: 1, clients, ..GateOptions::default() };
    let fixture = GateFixture::open_with(StoreSetup::memory(), settings, options).await;
    let open = async |address: &str| {
        let from = format!("X-Forwarded-For: {address}");
        let (head, _) = raw(fixture.gate.address(), &navigation("/", &fixture.host, &[&from])).await;
        (head[9..12].to_owned(), fixture.origin.requests().len())
    };
    assert_eq!(open("203.0.113.9").await, ("200".to_owned(), 1), "bypasses the queue");
    assert_eq!(open("192.0.2.1").await, ("200".to_owned(), 1), "waits");
    assert_eq!(open("198.51.100.1").await, ("429".to_owned(), 1), "is blocked");
    assert_eq!(fixture.counts().await, (1, 0));
}
