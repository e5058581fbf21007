//! A model without latency: as many calls as a session has, then a text. Streams where asked to.

use axum::{
    Json, Router, body::Bytes, response::IntoResponse as _, response::Response, routing::post,
};
use serde_json::json;

use crate::CALLS;

pub async fn serve() {
    let app = Router::new().route("/v1/chat/completions", post(answer));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{}", listener.local_addr().unwrap());
    axum::serve(listener, app).await.unwrap();
}

/// Reads no more of a request than it must: what is measured is who asks, not this.
async fn answer(body: Bytes) -> Response {
    let body = std::str::from_utf8(&body).unwrap();
    let made = body.matches(r#""role":"tool""#).count();
    let message = if made < CALLS {
        let function =
            json!({"name": "calculate", "arguments": format!("{{\"expression\":\"{made}+1\"}}")});
        json!({
            "role": "assistant", "content": null,
            "tool_calls": [{"index": 0, "id": format!("c{made}"), "type": "function", "function": function}],
        })
    } else {
        json!({"role": "assistant", "content": "done"})
    };
    let finish = if made < CALLS { "tool_calls" } else { "stop" };
    if !body.contains(r#""stream":true"#) {
        return Json(
            json!({"choices": [{"index": 0, "message": message, "finish_reason": finish}]}),
        )
        .into_response();
    }
    let delta =
        json!({"model": "m", "choices": [{"index": 0, "delta": message, "finish_reason": null}]});
    let end =
        json!({"model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]});
    let stream = format!("data: {delta}\n\ndata: {end}\n\ndata: [DONE]\n\n");
    ([("content-type", "text/event-stream")], stream).into_response()
}
