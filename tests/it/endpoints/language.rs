//! `language`: the language that a visitor chose on the queue page.

use http::StatusCode;
use serde_json::json;

use crate::gate_fixture::{GateFixture, StoreSetup, direct_and_lambda, session_in, set_cookie};

direct_and_lambda! {
    a_chosen_language_is_kept_and_keeps_the_position,
    an_invalid_language_or_address_is_refused,
    a_choice_without_an_address_returns_to_the_referring_page,
    the_origin_does_not_see_the_chosen_language,
}

const COOKIE: &str = "vestibule-language";

async fn a_chosen_language_is_kept_and_keeps_the_position(setup: StoreSetup) {
    let fixture =
        GateFixture::open(setup, json!({ "message": { "default": "Sold out.", "ja": "完売しました。" } })).await;
    let mut visitor = fixture.visitor().with_header("accept-language", "de");
    assert!(visitor.navigate("/a?b=1").await.text().contains("<html lang=\"de\" dir=\"ltr\""));
    let session = session_in(&visitor.fetch("/").await);

    let chosen = visitor.navigate("/_vestibule/language?return=%2Fa%3Fb%3D1%26c&language=ja").await;
    assert_eq!((chosen.status, chosen.header("location")), (StatusCode::SEE_OTHER, Some("/a?b=1&c")));
    assert_eq!(chosen.header("cache-control"), Some("no-store"));
    let cookie = set_cookie(&chosen, COOKIE).unwrap();
    assert_eq!(cookie, "vestibule-language=ja; Path=/; Max-Age=2592000; HttpOnly; SameSite=Lax");

    let page = visitor.navigate("/a?b=1&c").await;
    assert!(page.text().contains("<html lang=\"ja\" dir=\"ltr\""), "{}", page.text());
    assert!(page.header("vary").unwrap().contains("cookie"));
    let status = visitor.status(fixture.queue.as_str()).await;
    assert_eq!((session_in(&status), &status.json()["message"]), (session, &json!("完売しました。")));
    assert_eq!(fixture.counts().await, (1, 0), "the choice joins nobody");

    visitor.set_cookie(COOKIE, "xx");
    assert!(visitor.navigate("/").await.text().contains("<html lang=\"de\""), "an unknown language counts as none");
}

async fn an_invalid_language_or_address_is_refused(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    for query in [
        "language=xx",
        "language=",
        "return=%2F",
        "",
        "language=de&return=https%3A%2F%2Fevil.example",
        "language=de&return=%2F%2Fevil.example",
        "language=de&return=%2F%5Cevil.example",
        "language=de&return=%2F%09%2Fevil.example",
        "language=de&return=%2F%0D%0Aset-cookie:a=b",
    ] {
        let refused = fixture.visitor().navigate(&format!("/_vestibule/language?{query}")).await;
        assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{query}");
        assert_eq!(refused.json()["code"], "invalid_query", "{query}");
        assert!(refused.header("location").is_none() && set_cookie(&refused, COOKIE).is_none(), "{query}");
    }
}

/// The page of a first visit is the same for all addresses.
async fn a_choice_without_an_address_returns_to_the_referring_page(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({})).await;
    let host = &fixture.host;
    for (referer, location) in [
        (format!("http://{host}/a?b=1&c=%20"), "/a?b=1&c=%20"),
        ("https://evil.example/a".to_owned(), "/"),
        ("about:blank".to_owned(), "/"),
        (format!("http://{host}//evil.example"), "/"),
    ] {
        let mut visitor = fixture.visitor().with_header("referer", &referer);
        let chosen = visitor.navigate("/_vestibule/language?language=de&return=").await;
        assert_eq!((chosen.status, chosen.header("location")), (StatusCode::SEE_OTHER, Some(location)), "{referer}");
    }
    let plain = fixture.visitor().navigate("/_vestibule/language?language=de").await;
    assert_eq!(plain.header("location"), Some("/"));
}

async fn the_origin_does_not_see_the_chosen_language(setup: StoreSetup) {
    let fixture = GateFixture::open(setup, json!({ "quota": 1 })).await;
    let mut visitor = fixture.visitor();
    visitor.navigate("/_vestibule/language?language=de").await;
    visitor.set_cookie("basket", "7");
    assert_eq!(visitor.navigate("/").await.status, StatusCode::OK);
    let seen = fixture.origin.requests();
    assert_eq!(seen.last().unwrap().headers.get("cookie").unwrap(), "basket=7");
}
