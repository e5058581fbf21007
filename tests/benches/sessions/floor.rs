//! The floor: one HTTP front that asks the model and calls the tool by hand, and nothing else.

use axum::{Json, Router, extract::State, routing::post};
use callboard_proto::tool::{PreflightRequest, ToolCall, tool_service_client::ToolServiceClient};
use serde_json::{Value, json};
use tonic::transport::{Channel, Endpoint};

use crate::CALLS;

#[derive(Clone)]
struct Floor {
    model: String,
    http: reqwest::Client,
    tool: ToolServiceClient<Channel>,
}

pub async fn serve(model: &str, tool: &str) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let channel = Endpoint::from_shared(format!("http://{tool}")).unwrap().tcp_nodelay(true);
    let floor = Floor {
        model: format!("http://{model}/v1/chat/completions"),
        http: reqwest::Client::builder().tcp_nodelay(true).build().unwrap(),
        tool: ToolServiceClient::new(channel.connect().await.unwrap()),
    };
    let app = Router::new().route("/v1/runs", post(run)).with_state(floor);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{}", listener.local_addr().unwrap());
    axum::serve(listener, app).await.unwrap();
}

async fn run(State(mut floor): State<Floor>, Json(body): Json<Value>) -> Json<Value> {
    let mut messages = vec![json!({"role": "user", "content": body["input"]})];
    for _ in 0..CALLS {
        let reply: Value = floor
            .http
            .post(&floor.model)
            .json(&json!({"messages": messages}))
            .send()
            .await
            .unwrap()
            .json()
            .await
            .unwrap();
        let arguments = reply["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]
            .as_str()
            .unwrap()
            .to_owned();
        let call = ToolCall { arguments: arguments.into_bytes().into(), ..ToolCall::default() };
        floor.tool.preflight(PreflightRequest { call: Some(call) }).await.unwrap();
        messages.push(json!({"role": "tool", "content": "1"}));
    }
    Json(json!({"status": "completed"}))
}
