use axum::Json;
use axum::body::to_bytes;
use axum::response::IntoResponse;
use serde_json::{Value, json};

use super::*;

/// Responds with the request that arrived.
fn echo() -> Function {
    function(|request| async move {
        let (head, body) = request.into_parts();
        let mut headers = json!({});
        for name in head.headers.keys() {
            let values = head.headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
            headers[name.as_str()] = json!(values.collect::<Vec<_>>());
        }
        let body = to_bytes(body, 1 << 24).await.unwrap().to_vec();
        let method = head.method.as_str().to_owned();
        let target = head.uri.path_and_query().unwrap().as_str().to_owned();
        Json(json!({ "method": method, "target": target, "headers": headers, "body": body })).into_response()
    })
}

async fn arrived(json: &Value) -> Value {
    let answer = call(&echo(), json).await.unwrap();
    assert_eq!(answer["statusCode"], 200, "{answer}");
    serde_json::from_str(answer["body"].as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn load_balancer_events_become_the_original_request() {
    let mut event = load_balancer("/a%2Fb//c/", true);
    event["httpMethod"] = json!("POST");
    event["multiValueHeaders"]["cookie"] = json!(["a=1", "b=2"]);
    event["multiValueHeaders"]["content-length"] = json!(["999"]);
    event["multiValueHeaders"]["transfer-encoding"] = json!(["chunked"]);
    event["body"] = json!("gr\u{fc}n");
    // As text, because a `Value` sorts its members.
    let query = r#""multiValueQueryStringParameters":{"z":["%2B+%20","2"],"a":[""],"c":["="]}"#;
    let event = event.to_string().replace(r#""multiValueQueryStringParameters":{}"#, query);
    let answer = echo().call(serde_json::from_str(&event).unwrap(), Invocation::default()).await.unwrap();
    let answer = serde_json::to_value(answer).unwrap();
    let request: Value = serde_json::from_str(answer["body"].as_str().unwrap()).unwrap();
    assert_eq!(request["method"], "POST");
    assert_eq!(request["target"], "/a%2Fb//c/?z=%2B+%20&z=2&a=&c==");
    assert_eq!(request["headers"]["cookie"], json!(["a=1", "b=2"]));
    assert_eq!(request["headers"]["content-length"], json!(["5"]), "the body is here as a whole");
    assert_eq!(request["headers"]["transfer-encoding"], Value::Null);
    assert_eq!(request["body"], json!("gr\u{fc}n".as_bytes()));
}

#[tokio::test]
async fn single_value_target_groups_work() {
    let mut event = load_balancer("/", false);
    event["queryStringParameters"] = json!({ "a": "%2B", "b": "1" });
    let request = arrived(&event).await;
    assert_eq!(request["target"], "/?a=%2B&b=1");
    assert_eq!(request["headers"]["host"], json!(["tickets.example.com"]));
    event["queryStringParameters"] = Value::Null;
    event["body"] = Value::Null;
    let request = arrived(&event).await;
    assert_eq!((&request["target"], &request["body"]), (&json!("/"), &json!([])));
}

#[tokio::test]
async fn a_body_in_base64_is_its_bytes() {
    for mut event in [load_balancer("/", true), load_balancer("/", false), http_api("/", "")] {
        event["body"] = json!("AP/+gA==");
        event["isBase64Encoded"] = json!(true);
        assert_eq!(arrived(&event).await["body"], json!([0, 255, 254, 128]));
    }
}

#[tokio::test]
async fn http_api_cookies_and_query_are_unchanged() {
    let mut event = http_api("/tour", "b=%2B+%20&a&&c==");
    event["cookies"] = json!(["vestibule_tour=x.y.z", "a=1"]);
    let request = arrived(&event).await;
    assert_eq!(request["target"], "/tour?b=%2B+%20&a&&c==");
    assert_eq!(request["headers"]["cookie"], json!(["vestibule_tour=x.y.z; a=1"]));
    assert_eq!(request["headers"]["x-forwarded-proto"], json!(["https"]));
}

#[tokio::test]
async fn http_api_paths_are_reencoded() {
    let target = async |path: &str| arrived(&http_api(path, "x=1")).await["target"].clone();
    assert_eq!(target("/a?b c#\u{e9}").await, "/a%3Fb%20c%23%C3%A9?x=1");
    assert_eq!(target("/100%").await, "/100%25?x=1");
    let mut event = http_api("/100%/a%2Fb", "");
    event["requestContext"]["domainName"] = json!("abc.lambda-url.eu-west-1.on.aws");
    assert_eq!(arrived(&event).await["target"], "/100%/a%2Fb", "a function URL hands it over as it was");
}

#[tokio::test]
async fn the_stage_is_removed_from_the_path() {
    let target = async |path: &str, stage: &str| {
        let mut event = http_api(path, "");
        event["requestContext"]["stage"] = json!(stage);
        arrived(&event).await["target"].clone()
    };
    assert_eq!(target("/live/tour", "live").await, "/tour");
    assert_eq!(target("/live", "live").await, "/");
    assert_eq!(target("/liver/tour", "live").await, "/liver/tour");
    assert_eq!(target("/tour", "$default").await, "/tour");
}

#[tokio::test]
async fn http_api_source_ip_ends_forwarded_for() {
    let way = async |forwarded: Option<&str>| {
        let mut event = http_api("/", "");
        event["headers"]["x-forwarded-for"] = json!(forwarded);
        if forwarded.is_none() {
            event["headers"].as_object_mut().unwrap().remove("x-forwarded-for");
        }
        arrived(&event).await["headers"]["x-forwarded-for"].clone()
    };
    assert_eq!(way(None).await, json!(["203.0.113.9"]));
    assert_eq!(way(Some("198.51.100.1")).await, json!(["198.51.100.1, 203.0.113.9"]), "what a visitor wrote is no end");
    assert_eq!(way(Some("198.51.100.1, 203.0.113.9")).await, json!(["198.51.100.1, 203.0.113.9"]), "said already");
}

#[tokio::test]
async fn the_host_defaults_to_the_domain_name() {
    let mut event = http_api("/", "");
    event["headers"] = json!({});
    assert_eq!(arrived(&event).await["headers"]["host"], json!(["tickets.example.com"]));
}
