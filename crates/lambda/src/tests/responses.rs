use axum::body::Body;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::{Response as HttpResponse, StatusCode};
use serde_json::{Value, json};

use super::*;

/// A function that always sends this response.
fn always(response: impl Fn() -> Response + Clone + Send + Sync + 'static) -> Function {
    function(move |_| std::future::ready(response()))
}

fn three_cookies() -> Response {
    let response = HttpResponse::builder()
        .status(StatusCode::FOUND)
        .header("location", "https://www.example.com/?a=%2B")
        .header("vary", "origin")
        .header("vary", "accept-encoding")
        .header("set-cookie", "basket=1; Path=/")
        .header("set-cookie", "seen=2, 3")
        .header("set-cookie", "vestibule_tour=ticket");
    response.body(Body::empty()).unwrap()
}

#[tokio::test]
async fn multi_value_target_groups_get_every_header_value() {
    let answer = call(&always(three_cookies), &load_balancer("/", true)).await.unwrap();
    assert_eq!(answer["statusCode"], 302);
    assert_eq!(answer["statusDescription"], "302 Found");
    assert_eq!(answer["headers"], Value::Null, "only the one field is read");
    let headers = &answer["multiValueHeaders"];
    assert_eq!(headers["set-cookie"], json!(["basket=1; Path=/", "seen=2, 3", "vestibule_tour=ticket"]));
    assert_eq!(headers["vary"], json!(["origin", "accept-encoding"]));
    assert_eq!(headers["location"], json!(["https://www.example.com/?a=%2B"]));
}

#[tokio::test]
async fn single_value_target_groups_get_every_cookie() {
    let answer = call(&always(three_cookies), &load_balancer("/", false)).await.unwrap();
    assert_eq!(answer["multiValueHeaders"], Value::Null);
    let headers = answer["headers"].as_object().unwrap();
    assert_eq!(headers["set-cookie"], "vestibule_tour=ticket", "the ticket has the name that every reader knows");
    assert_eq!(headers["vary"], "origin, accept-encoding");
    let cookies = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
    let mut cookies: Vec<_> = cookies.map(|(_, value)| value.as_str().unwrap()).collect();
    cookies.sort_unstable();
    assert_eq!(cookies, ["basket=1; Path=/", "seen=2, 3", "vestibule_tour=ticket"]);
}

#[tokio::test]
async fn several_cookies_have_distinct_names() {
    let many = always(|| {
        let response = (0..300).fold(HttpResponse::builder(), |response, n| response.header("set-cookie", n));
        response.body(Body::empty()).unwrap()
    });
    let answer = call(&many, &load_balancer("/", false)).await.unwrap();
    assert_eq!(answer["headers"].as_object().unwrap().len(), 300);
}

#[tokio::test]
async fn http_api_responses_have_a_cookie_list() {
    let answer = call(&always(three_cookies), &http_api("/", "")).await.unwrap();
    assert_eq!(answer["cookies"], json!(["basket=1; Path=/", "seen=2, 3", "vestibule_tour=ticket"]));
    assert_eq!(
        answer["headers"],
        json!({ "location": "https://www.example.com/?a=%2B", "vary": "origin, accept-encoding" })
    );
    assert_eq!(answer["statusDescription"], Value::Null);
}

fn body(bytes: &'static [u8]) -> Function {
    always(move || Response::new(Body::from(bytes)))
}

#[tokio::test]
async fn binary_bodies_are_base64() {
    let answer = call(&body("gr\u{fc}n \"\\\n\u{1f600}".as_bytes()), &load_balancer("/", true)).await.unwrap();
    assert_eq!((&answer["body"], &answer["isBase64Encoded"]), (&json!("gr\u{fc}n \"\\\n\u{1f600}"), &json!(false)));
    for bytes in [&[0x1f, 0x8b, 8, 0][..], b"\x89PNG\r\n\x1a\n", b"cut \xc3", b"\0\0\0\0\0\0\0\0\0\0"] {
        let answer = call(&body(bytes), &http_api("/", "")).await.unwrap();
        assert_eq!(answer["isBase64Encoded"], true, "{bytes:?}");
        assert_eq!(BASE64_STANDARD.decode(answer["body"].as_str().unwrap()).unwrap(), bytes);
    }
    let answer = call(&body(b""), &http_api("/", "")).await.unwrap();
    assert_eq!((&answer["body"], &answer["isBase64Encoded"]), (&json!(""), &json!(false)));
}

#[tokio::test]
async fn connection_headers_are_dropped_from_responses() {
    let chatty = always(|| {
        let names = ["connection", "keep-alive", "transfer-encoding", "upgrade", "te", "trailer", "content-length"];
        let response = names.iter().fold(HttpResponse::builder(), |response, name| response.header(*name, "1"));
        response.header("x-kept", "yes").body(Body::from("a")).unwrap()
    });
    let answer = call(&chatty, &load_balancer("/", false)).await.unwrap();
    assert_eq!(answer["headers"], json!({ "x-kept": "yes" }));
}

#[tokio::test]
async fn an_answer_to_head_has_no_body() {
    let mut event = load_balancer("/", true);
    event["httpMethod"] = json!("HEAD");
    assert_eq!(call(&body(b"a page"), &event).await.unwrap()["body"], "");
    let large = always(|| Response::new(Body::from(vec![b'a'; 2 << 20])));
    assert_eq!(call(&large, &event).await.unwrap()["statusCode"], 200, "what is not sent has no limit");
}

#[tokio::test]
async fn odd_headers_and_statuses_are_forwarded() {
    let odd = always(|| {
        let value = http::HeaderValue::from_bytes(b"caf\xe9").unwrap();
        HttpResponse::builder().status(599).header("x-odd", value).body(Body::empty()).unwrap()
    });
    let answer = call(&odd, &load_balancer("/", false)).await.unwrap();
    assert_eq!((&answer["statusCode"], &answer["statusDescription"]), (&json!(599), &json!("599")));
    assert_eq!(answer["headers"]["x-odd"], "caf\u{e9}");
}
