use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use bytes::Bytes;
use http_body_util::StreamBody;
use hyper::body::Frame;
use serde_json::Value;

use super::super::{FUNCTION_RESPONSE_MAX, LOAD_BALANCER_RESPONSE_MAX};
use super::*;

/// A function whose response is this chunk `count` times, and the number of chunks that were read.
fn chunks(chunk: &'static [u8], count: usize) -> (Function, Arc<AtomicUsize>) {
    let read = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&read);
    let function = function(move |_| {
        let counter = Arc::clone(&counter);
        let chunks = (0..count).map(move |_| {
            counter.fetch_add(1, Ordering::Relaxed);
            Ok::<_, Infallible>(Frame::data(Bytes::from_static(chunk)))
        });
        std::future::ready(Response::new(Body::new(StreamBody::new(futures_util::stream::iter(chunks)))))
    });
    (function, read)
}

fn sized(length: usize, byte: u8) -> Function {
    function(move |_| std::future::ready(Response::new(Body::from(vec![byte; length]))))
}

async fn length(function: &Function, event: &Value) -> (u64, usize) {
    let answer = call(function, event).await.unwrap();
    (answer["statusCode"].as_u64().unwrap(), answer.to_string().len())
}

/// The length of the largest accepted body of this byte, at most 400 bytes shorter than `most`, and of its response.
async fn largest(event: &Value, most: usize, byte: u8) -> (usize, usize) {
    let (mut fits, mut too_large) = (most - 400, most + 1);
    while fits + 1 < too_large {
        let middle = usize::midpoint(fits, too_large);
        if length(&sized(middle, byte), event).await.0 == 200 { fits = middle } else { too_large = middle }
    }
    (fits, length(&sized(fits, byte), event).await.1)
}

#[tokio::test]
async fn the_limit_counts_the_complete_json() {
    for (event, limit) in
        [(load_balancer("/", true), LOAD_BALANCER_RESPONSE_MAX), (http_api("/", ""), FUNCTION_RESPONSE_MAX)]
    {
        let (_, answer) = largest(&event, limit, b'a').await;
        assert_eq!(answer, limit, "a text may fill it to the last byte");
        let (binary, answer) = largest(&event, limit / 4 * 3, 0xff).await;
        assert!(answer <= limit && answer + 4 >= limit, "{answer}");
        // As text, every byte would take two.
        let (quotes, answer) = largest(&event, limit / 4 * 3, b'"').await;
        assert!(answer <= limit && answer + 4 >= limit, "{answer}");
        assert_eq!(binary, quotes, "base64 is shorter than escapes");
    }
}

#[tokio::test]
async fn headers_count_as_well() {
    let with_header = |header: usize| {
        function(move |_| {
            let response = http::Response::builder().header("x-long", "\"".repeat(header));
            std::future::ready(response.body(Body::from(vec![b'a'; LOAD_BALANCER_RESPONSE_MAX - 4096])).unwrap())
        })
    };
    assert_eq!(length(&with_header(1000), &load_balancer("/", true)).await.0, 200);
    assert_eq!(length(&with_header(2100), &load_balancer("/", true)).await.0, 502, "a quotation mark is two bytes");
}

#[tokio::test]
async fn oversized_responses_state_the_limit() {
    let (function, _) = chunks(&[b'a'; 4096], 300);
    let answer = call(&function, &load_balancer("/", false)).await.unwrap();
    let error: Value = serde_json::from_str(answer["body"].as_str().unwrap()).unwrap();
    assert_eq!(error["code"], "response_too_large");
    assert_eq!(error["detail"], "The response exceeds 1 MB, which is more than the function can send.");
    let answer = call(&function, &http_api("/", "")).await.unwrap();
    assert_eq!(answer["statusCode"], 200, "an HTTP API takes six times as much");
}

#[tokio::test]
async fn oversized_bodies_are_read_up_to_the_limit() {
    let (text, read) = chunks(&[b'a'; 4096], usize::MAX);
    assert_eq!(length(&text, &load_balancer("/", true)).await.0, 502);
    assert_eq!(read.load(Ordering::Relaxed), LOAD_BALANCER_RESPONSE_MAX / 4096);
    let (binary, read) = chunks(&[0xff; 4096], usize::MAX);
    assert_eq!(length(&binary, &load_balancer("/", true)).await.0, 502);
    assert_eq!(
        read.load(Ordering::Relaxed),
        LOAD_BALANCER_RESPONSE_MAX / 4096 * 3 / 4,
        "as base64 it grows by a third"
    );
}

#[tokio::test]
async fn letters_cut_between_two_chunks_are_letters() {
    let (split, _) = chunks(b"\xb6\xc3", 2000);
    let answer = call(&split, &load_balancer("/", true)).await.unwrap();
    assert_eq!(answer["isBase64Encoded"], true, "it begins with half a letter");
    let whole = function(|_| {
        let halves =
            [&b"\xc3"[..], b"\xb6\xc3", b"\xb6"].map(|half| Ok::<_, Infallible>(Frame::data(Bytes::from(half))));
        std::future::ready(Response::new(Body::new(StreamBody::new(futures_util::stream::iter(halves)))))
    });
    assert_eq!(call(&whole, &load_balancer("/", true)).await.unwrap()["body"], "\u{f6}\u{f6}");
}

#[tokio::test(start_paused = true)]
async fn functions_respond_before_their_timeout() {
    let hanging = function(|_| std::future::pending());
    let started = tokio::time::Instant::now();
    let answer = hanging.call(event(&load_balancer("/", true)), invocation(Duration::from_secs(3))).await.unwrap();
    assert!(started.elapsed() < Duration::from_secs(3));
    let answer = serde_json::to_value(answer).unwrap();
    assert_eq!(answer["statusCode"], 504);
    assert!(answer["body"].as_str().unwrap().contains("gateway_timeout"));
}

#[tokio::test]
async fn interrupted_body_is_no_answer() {
    let broken = function(|_| {
        let frames = [Ok(Frame::data(Bytes::from("half a"))), Err(std::io::Error::other("gone"))];
        std::future::ready(Response::new(Body::new(StreamBody::new(futures_util::stream::iter(frames)))))
    });
    let answer = call(&broken, &load_balancer("/", true)).await.unwrap();
    assert_eq!(answer["statusCode"], 502);
    assert!(!answer["body"].as_str().unwrap().contains("half a"));
}
