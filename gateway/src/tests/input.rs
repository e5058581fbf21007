//! Requests that cannot be right: each is refused with the right status and what to do about it.

use http::{HeaderValue, Method, Request, header};
use serde_json::{Value, json};

use super::stage::{Stage, request};

/// Bodies for `POST /v1/runs`, with the status and what is said.
const RUNS: [(&str, u16, &str); 13] = [
    ("", 400, "The body is not JSON: EOF while parsing a value at line 1 column 0."),
    (
        r#"{"input": "x""#,
        400,
        "The body is not JSON: EOF while parsing an object at line 1 column 13.",
    ),
    ("[1]", 400, "The body must be a JSON object."),
    ("{}", 400, "The body does not fit: missing field `input` at line 1 column 2."),
    (
        r#"{"input": 5}"#,
        400,
        "The body does not fit: invalid type: integer `5`, expected a string at line 1 column 11.",
    ),
    (r#"{"input": "  "}"#, 400, "The `input` is empty; say what you want."),
    (r#"{"imput": "x"}"#, 400, "There is no field `imput`; did you mean `input`?"),
    (
        r#"{"input": "x", "banana": 1}"#,
        400,
        "There is no field `banana`; there are input, session, agent, model, title, wait, approver, \
         approve, limits.",
    ),
    (
        r#"{"input": "x", "limits": {"max_step": 1}}"#,
        400,
        "There is no field `limits.max_step`; did you mean `limits.max_steps`?",
    ),
    (
        r#"{"input": "x", "limits": {"max_steps": -1}}"#,
        400,
        "The body does not fit: invalid value: integer `-1`, expected u32 at line 1 column 41.",
    ),
    (
        r#"{"input": "x", "model": 7}"#,
        400,
        "The body does not fit: expected a model's name, or a list of them at line 1 column 26.",
    ),
    (
        r#"{"input": "x", "approve": [""]}"#,
        400,
        "`approve` takes at most 64 globs of 1 to 256 characters.",
    ),
    (r#"{"input": "x", "session": "7"}"#, 404, "There is no session \"7\": ids are UUIDs."),
];

/// Sends a body as it stands.
async fn check(stage: &Stage, path: &str, body: &str, (status, detail): (u16, &str)) {
    let mut ask = request(Method::POST, path, Some(Value::Null));
    *ask.body_mut() = body.as_bytes().to_vec();
    let reply = stage.send(ask).await;
    assert_eq!((reply.status.as_u16(), reply.problem().as_str()), (status, detail), "{body}");
}

#[tokio::test]
async fn a_run_that_cannot_be_meant_is_refused_in_words_and_not_begun() {
    let stage = Stage::new().await;
    for (body, status, detail) in RUNS {
        check(&stage, "/v1/runs", body, (status, detail)).await;
    }
    assert_eq!(stage.script.started().len(), 0);
}

#[tokio::test]
async fn other_bodies_that_cannot_be_meant_are_refused_in_words() {
    let stage = Stage::new().await;
    let session = format!("/v1/sessions/{}", stage.played().await);
    let (decide, rollback) = (format!("{session}/approvals/c"), format!("{session}/rollback"));
    let rows = [
        (
            decide.as_str(),
            r#"{"decision": "maybe"}"#,
            "The body does not fit: unknown variant `maybe`, expected `approve` or `deny` at line 1 \
             column 20.",
        ),
        (&rollback, "{}", "Say one of `call_id` and `to_step`."),
        (&rollback, r#"{"call_id": "c", "to_step": 1}"#, "Say one of `call_id` and `to_step`."),
        (
            "/v1/tools/calculate/invoke",
            r#"{"arguments": {}, "arguments_text": ""}"#,
            "Say one of `arguments` and `arguments_text`.",
        ),
    ];
    for (path, body, detail) in rows {
        check(&stage, path, body, (400, detail)).await;
    }
}

#[tokio::test]
async fn fields_of_the_session_are_refused_where_the_session_exists() {
    let stage = Stage::new().await;
    let session = stage.played().await;
    let path = format!("/v1/sessions/{session}/runs");
    for field in ["agent", "model", "title"] {
        let reply = stage.post(&path, json!({ "input": "x", field: "y" })).await;
        assert_eq!(reply.status, 400, "{field}");
        assert!(reply.problem().starts_with("A session keeps its"));
    }
    let twice = stage.post(&path, json!({ "input": "x", "session": session })).await;
    assert_eq!(twice.problem(), "The session is in the path; leave `session` out.");
}

#[tokio::test]
async fn a_body_has_a_size_a_depth_and_a_type() {
    let stage = Stage::new().await;
    let deep = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    let with = |json: &str| format!(r#"{{"arguments": {json}}}"#).into_bytes();
    // Brackets inside a text are no depth.
    let text = serde_json::to_string(&"[{\"".repeat(200)).unwrap();
    let input = |bytes: usize| json!({ "input": "x".repeat(bytes) }).to_string().into_bytes();
    let rows = [
        ("/v1/tools/calculate/invoke", with(&deep(63)), "application/json", 200),
        ("/v1/tools/calculate/invoke", with(&text), "application/json", 200),
        ("/v1/tools/calculate/invoke", with(&deep(64)), "application/json", 400),
        (
            "/v1/tools/calculate/invoke",
            with(&format!("\"{}\"", "x".repeat(1 << 20))),
            "application/json",
            413,
        ),
        ("/v1/runs", input(256 * 1024), "application/json; charset=utf-8", 202),
        ("/v1/runs", input(256 * 1024 + 1), "application/json", 413),
        ("/v1/runs", vec![b' '; 10 * 1024 * 1024 + 1], "application/json", 413),
        ("/v1/runs", input(5), "text/plain", 415),
        ("/v1/runs", input(5), "application/x-www-form-urlencoded", 415),
        ("/v1/runs", input(5), "", 415),
        ("/v1/runs", b"{\"input\": \"\xff\"}".to_vec(), "application/json", 400),
    ];
    for (path, body, media_type, status) in rows {
        let size = body.len();
        let mut ask = Request::post(path).body(body).unwrap();
        if !media_type.is_empty() {
            let value = HeaderValue::from_static(media_type);
            ask.headers_mut().insert(header::CONTENT_TYPE, value);
        }
        let reply = stage.send(ask).await;
        assert_eq!(reply.status, status, "{path} {media_type} {size} bytes");
        if !reply.status.is_success() {
            reply.problem();
        }
    }
}

#[tokio::test]
async fn an_unknown_path_and_a_wrong_method_are_problems() {
    let stage = Stage::new().await;
    let nowhere = stage.get("/v1/nothing").await;
    assert_eq!(
        (nowhere.status.as_u16(), nowhere.problem().as_str()),
        (404, "There is nothing at /v1/nothing.")
    );
    for (method, path, allow) in [
        (Method::PUT, "/v1/runs", "POST"),
        (Method::POST, "/v1/tools", "GET,HEAD"),
        (Method::PATCH, "/v1/sessions", "GET,HEAD,POST"),
        (Method::GET, "/v1/tools/x/invoke", "POST"),
        (Method::POST, "/metrics", "GET,HEAD"),
    ] {
        let reply = stage.send(request(method, path, None)).await;
        assert_eq!(reply.status, 405, "{path}");
        let mut allowed: Vec<_> = reply.header("allow").split(',').collect();
        allowed.sort_unstable();
        assert_eq!(allowed.join(","), allow, "{path}");
        reply.problem();
    }
}

#[tokio::test]
async fn a_key_is_short_and_printable() {
    let stage = Stage::new().await;
    for (key, status) in [
        ("k".repeat(255), 202),
        ("k".repeat(256), 400),
        (String::new(), 400),
        ("é".to_owned(), 400),
    ] {
        let mut ask = request(Method::POST, "/v1/runs", Some(json!({ "input": "x" })));
        let value = HeaderValue::from_bytes(key.as_bytes()).unwrap();
        ask.headers_mut().insert("idempotency-key", value);
        assert_eq!(stage.send(ask).await.status, status, "{key:?}");
    }
}

#[tokio::test]
async fn ids_that_are_none_are_not_passed_on() {
    let stage = Stage::new().await;
    let session = stage.played().await;
    let asked = stage.script.asked().len();
    for path in [
        "/v1/sessions/7".to_owned(),
        "/v1/sessions/".to_owned(),
        "/v1/sessions/..%2f..%2fetc/trace".to_owned(),
        format!("/v1/sessions/{session}/artifacts/abc"),
        format!("/v1/sessions/{session}/artifacts/{}", "AB".repeat(32)),
    ] {
        let reply = stage.get(&path).await;
        assert_eq!(reply.status, 404, "{path}");
        reply.problem();
    }
    let torn = stage.get("/v1/sessions/%ff/trace").await;
    assert_eq!(
        (torn.status.as_u16(), torn.problem().as_str()),
        (400, "Invalid URL: Invalid UTF-8 in `session`")
    );
    assert_eq!(stage.script.asked().len(), asked);
}
