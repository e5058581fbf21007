//! Model calls over a real socket: everything that an endpoint can do wrong, and what people see.

mod server;

use std::time::Duration;

use serde_json::{Value, json};

use self::server::{Answer, Server, stream};
use super::{
    config::{Ollama, OpenAi as Provider, Secret},
    *,
};
use crate::run::context::Message;

const KEY: &str = "sk-test-0123456789";

fn config(base_url: &str) -> Config {
    Config {
        openai: Provider {
            base_url: Some(format!("{base_url}/v1")),
            api_key: Some(Secret::new(KEY)),
            ..Provider::default()
        },
        first_byte_timeout_ms: 5_000,
        idle_timeout_ms: 5_000,
        whole_timeout_ms: 20_000,
        ..Config::default()
    }
}

fn models(config: Config) -> Models {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = http_client(&config).unwrap();
    Models::new(config, http).unwrap()
}

fn request() -> Request {
    Request {
        messages: vec![Message::User("Is it raining in Oslo?".into())],
        tools: Arc::new(Tools::from(vec![ToolDeclaration {
            name: "weather.now".into(),
            description: "Tells the weather.".into(),
            input_schema: json!({"type": "object"}),
            examples: Vec::new(),
        }])),
        temperature: 0.3,
        max_output_tokens: None,
        context_tokens: 8_000,
    }
}

fn text(text: &str) -> Value {
    json!({"delta": {"content": text}})
}

fn end(reason: &str) -> Value {
    json!({"delta": {}, "finish_reason": reason})
}

/// Calls the models of a list and returns the outcome with all that was shown meanwhile.
async fn call(models: &Models, names: &[&str]) -> (Result<Reply, ModelError>, Vec<Delta>) {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let (sender, mut receiver) = mpsc::channel(64);
    let outcome = models.call(&names, &request(), &sender).await;
    drop(sender);
    let mut deltas = Vec::new();
    while let Some(delta) = receiver.recv().await {
        deltas.push(delta);
    }
    (outcome, deltas)
}

/// One model, one script, one outcome.
async fn ask(answers: Vec<Answer>, change: impl FnOnce(&mut Config)) -> Asked {
    let server = Server::start(answers).await;
    let mut config = config(&server.url);
    change(&mut config);
    let (outcome, deltas) = call(&models(config), &["openai:m"]).await;
    Asked { outcome, deltas, requests: server.requests().len(), url: server.url.clone() }
}

struct Asked {
    outcome: Result<Reply, ModelError>,
    deltas: Vec<Delta>,
    requests: usize,
    url: String,
}

impl Asked {
    fn error(self) -> ModelError {
        let error = self.outcome.unwrap_err();
        assert!(!error.message.contains(KEY), "{}", error.message);
        error
    }
}

#[tokio::test]
async fn a_reply_streams_and_the_request_carries_key_trace_and_tools() {
    let call_of_a_tool = json!({"delta": {"tool_calls": [
        {"index": 0, "id": "c1", "function": {"name": "weather__now", "arguments": "{}"}},
    ]}});
    let body = stream(&[text("I will "), text("look."), call_of_a_tool, end("tool_calls")]);
    let server = Server::start(vec![Answer::whole(&body)]).await;
    let (outcome, deltas) = call(&models(config(&server.url)), &["openai:m"]).await;

    let reply = outcome.unwrap();
    assert_eq!(reply.model, "openai:m");
    assert_eq!((reply.text.as_str(), reply.finish), ("I will look.", Finish::ToolCalls));
    let wanted =
        Wanted { model_id: "c1".into(), name: "weather.now".into(), arguments: "{}".into() };
    assert_eq!(reply.calls, [wanted]);
    assert_eq!(deltas, [Delta::Text("I will look.".into())]);

    let [request] = &server.requests()[..] else { unreachable!("one request") };
    assert!(request.head.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{}", request.head);
    let head = request.head.to_lowercase();
    assert!(head.contains(&format!("authorization: bearer {KEY}\r\n")), "{head}");
    assert!(head.contains("\r\nuser-agent: callboard/"), "{head}");
    assert_eq!(request.body["model"], "m");
    assert_eq!(request.body["stream_options"], json!({"include_usage": true}));
    assert_eq!(request.body["tools"][0]["function"]["name"], "weather__now");
}

#[tokio::test]
async fn connections_are_kept_for_the_next_call() {
    let body = stream(&[text("a"), end("stop")]);
    let server = Server::start(vec![Answer::whole(&body), Answer::whole(&body)]).await;
    let models = models(config(&server.url));
    for _ in 0..2 {
        call(&models, &["openai:m"]).await.0.unwrap();
    }
    assert_eq!((server.requests().len(), server.connections()), (2, 1));
}

#[tokio::test]
async fn what_is_not_worth_repeating_is_not_repeated() {
    let page = r#"{"error":{"message":"bad key sk-test-0123456789"}}"#;
    let rows = [
        (400, ModelErrorKind::InvalidRequest, "refuses the request"),
        (401, ModelErrorKind::Unauthenticated, "check OPENAI_API_KEY"),
        (404, ModelErrorKind::NotFound, "has no model `m`"),
    ];
    for (status, kind, words) in rows {
        let asked = ask(vec![Answer::status(status, "", page)], |_| ()).await;
        assert_eq!(asked.requests, 1);
        let error = asked.error();
        assert_eq!(error.kind, kind);
        assert!(error.message.contains(words), "{}", error.message);
    }
}

#[tokio::test]
async fn faults_of_a_server_are_repeated_twice_and_then_told() {
    let answers = (0..3).map(|_| Answer::status(500, "", "oops")).collect();
    let asked = ask(answers, |_| ()).await;
    assert_eq!(asked.requests, 3);
    let expected = format!("openai:m: {}/v1 failed (HTTP 500) (tried 3 times)", asked.url);
    assert_eq!(asked.error().message, expected);

    let body = stream(&[text("fine"), end("stop")]);
    let asked = ask(vec![Answer::status(503, "", ""), Answer::whole(&body)], |_| ()).await;
    assert_eq!(asked.outcome.unwrap().text, "fine");
}

#[tokio::test]
async fn a_pause_that_is_asked_for_is_kept_and_told() {
    let body = stream(&[text("fine"), end("stop")]);
    let started = Instant::now();
    let pause = Answer::status(429, "retry-after-ms: 1000\r\n", "");
    let asked = ask(vec![pause, Answer::whole(&body)], |_| ()).await;
    assert!(started.elapsed() >= Duration::from_secs(1));
    assert_eq!(asked.outcome.unwrap().text, "fine");
    let told = Delta::Waiting("waiting for the model, 2 s".into());
    assert_eq!(asked.deltas, [told, Delta::Text("fine".into())]);

    // Longer than there is time: not waited for at all.
    let asked = ask(vec![Answer::status(429, "retry-after: 60\r\n", "")], |_| ()).await;
    assert_eq!(asked.requests, 1);
    let error = asked.error();
    assert_eq!(error.kind, ModelErrorKind::RateLimited);
    assert_eq!(error.retry_after, Some(Duration::from_mins(1)));
}

#[tokio::test]
async fn a_cut_stream_withdraws_its_text_and_never_makes_a_call() {
    let half = stream(&[
        text("I will "),
        json!({"delta": {"tool_calls": [
            {"index": 0, "id": "c1", "function": {"name": "weather__now", "arguments": "{}"}},
        ]}}),
    ]);
    let half = half.replace("data: [DONE]\n\n", "");
    let whole = stream(&[text("No rain."), end("stop")]);
    let asked = ask(vec![Answer::cut(&half), Answer::whole(&whole)], |_| ()).await;
    let reply = asked.outcome.unwrap();
    assert_eq!((reply.text.as_str(), reply.calls.len()), ("No rain.", 0));
    let expected =
        [Delta::Text("I will ".into()), Delta::Restarted, Delta::Text("No rain.".into())];
    assert_eq!(asked.deltas, expected);

    for answer in [Answer::cut(&half), Answer::whole(&half)] {
        let error = ask(vec![answer], |config| config.retries = 0).await.error();
        assert_eq!(error.kind, ModelErrorKind::Interrupted);
    }
}

#[tokio::test]
async fn silence_ends_at_its_limits() {
    let brief = |config: &mut Config| {
        config.first_byte_timeout_ms = 50;
        config.idle_timeout_ms = 50;
        config.retries = 0;
    };
    let half = stream(&[text("I will ")]).replace("data: [DONE]\n\n", "");
    let rows = [
        (Answer::hang(""), "sent nothing for 0.05 s (first_byte_timeout_ms)"),
        (Answer::hang(": thinking"), "went silent for 0.05 s in the middle of a reply"),
        (Answer::hang(&half), "went silent for 0.05 s in the middle of a reply"),
        (Answer::silent(), "sent nothing for 0.05 s (first_byte_timeout_ms)"),
    ];
    for (answer, words) in rows {
        let error = ask(vec![answer], brief).await.error();
        assert_eq!(error.kind, ModelErrorKind::Timeout);
        assert!(error.message.contains(words), "{}", error.message);
    }
    let whole = |config: &mut Config| config.whole_timeout_ms = 50;
    let error = ask(vec![Answer::silent()], whole).await.error();
    assert_eq!(error.kind, ModelErrorKind::Timeout);
    assert!(error.message.contains("within 0.05 s (whole_timeout_ms)"), "{}", error.message);
}

#[tokio::test]
async fn a_model_that_is_done_need_not_close_the_stream() {
    let body = stream(&[text("fine"), end("stop")]).replace("data: [DONE]\n\n", "");
    let asked = ask(vec![Answer::hang(&body)], |config| config.idle_timeout_ms = 50).await;
    assert_eq!(asked.outcome.unwrap().text, "fine");
    let asked = ask(vec![Answer::cut(&body)], |_| ()).await;
    assert_eq!(asked.outcome.unwrap().text, "fine");
}

#[tokio::test]
async fn what_is_no_reply_is_told_as_such() {
    let none = |config: &mut Config| config.retries = 0;
    let rows = [
        ("<html>hello</html>", ModelErrorKind::Malformed, "as an OpenAI-compatible API would"),
        ("", ModelErrorKind::Interrupted, "sent an empty answer"),
        ("{\"ok\":true}", ModelErrorKind::Malformed, "JSON that holds no reply"),
        ("data: nope\n\n", ModelErrorKind::Malformed, "not JSON: `nope`"),
        (
            "data: {\"error\":{\"message\":\"quota exceeded\",\"code\":429}}\n\ndata: [DONE]\n\n",
            ModelErrorKind::RateLimited,
            "quota exceeded",
        ),
    ];
    for (body, kind, words) in rows {
        let error = ask(vec![Answer::whole(body)], none).await.error();
        assert_eq!(error.kind, kind, "{body}");
        assert!(error.message.contains(words), "{}", error.message);
    }
}

#[tokio::test]
async fn a_reply_too_large_to_hold_is_refused() {
    let piece = text(&"x".repeat(1 << 20));
    let body = stream(&vec![piece; 10]);
    let asked = ask(vec![Answer::whole(&body)], |_| ()).await;
    assert_eq!(asked.requests, 1);
    let error = asked.error();
    assert_eq!(error.kind, ModelErrorKind::TooLarge);
    assert!(error.message.ends_with("sent a reply of more than 8 MiB"), "{}", error.message);
}

#[tokio::test]
async fn nobody_there_is_told_with_the_address() {
    let url = server::nobody().await;
    let (outcome, _) = call(&models(config(&url)), &["openai:m"]).await;
    let error = outcome.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Unavailable);
    let expected = format!("openai:m: {url}/v1 cannot be reached: the connection was refused");
    assert!(error.message.starts_with(&expected), "{}", error.message);
    assert!(error.message.ends_with("(tried 3 times)"), "{}", error.message);
}

#[tokio::test]
async fn the_next_model_of_the_list_is_asked() {
    let body = stream(&[text("b here"), end("stop")]);
    let server = Server::start(vec![Answer::status(400, "", ""), Answer::whole(&body)]).await;
    let (outcome, _) = call(&models(config(&server.url)), &["openai:a", "openai:b"]).await;
    let reply = outcome.unwrap();
    assert_eq!((reply.model.as_str(), reply.text.as_str()), ("openai:b", "b here"));
    let asked: Vec<_> = server.requests().iter().map(|sent| sent.body["model"].clone()).collect();
    assert_eq!(asked, ["a", "b"]);
}

#[tokio::test]
async fn a_parameter_that_is_refused_is_left_out_from_then_on() {
    let page = r#"{"error":{"message":"Unsupported value: 'temperature' does not support 0.3"}}"#;
    let body = stream(&[text("fine"), end("stop")]);
    let answers = vec![Answer::status(400, "", page), Answer::whole(&body), Answer::whole(&body)];
    let server = Server::start(answers).await;
    let models = models(config(&server.url));
    for _ in 0..2 {
        assert_eq!(call(&models, &["openai:m"]).await.0.unwrap().text, "fine");
    }
    let sent: Vec<_> =
        server.requests().iter().map(|sent| sent.body.get("temperature").cloned()).collect();
    assert_eq!(sent, [Some(json!(0.3)), None, None]);
}

#[tokio::test]
async fn a_call_that_is_dropped_ends_the_request() {
    let mut server = Server::start(vec![Answer::silent()]).await;
    let models = models(config(&server.url));
    let names = ["openai:m".to_owned()];
    let (sender, _receiver) = mpsc::channel(1);
    let request = request();
    tokio::select! {
        _ = models.call(&names, &request, &sender) => unreachable!("nobody answers"),
        () = server.asked() => {}
    }
    server.left().await;
}

#[tokio::test]
async fn nothing_is_sent_to_openai_without_a_key() {
    let models = models(Config::default());
    let (outcome, _) = call(&models, &["openai:gpt-4.1-mini"]).await;
    let error = outcome.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Unauthenticated);
    assert!(error.message.contains("set OPENAI_API_KEY"), "{}", error.message);
}

#[tokio::test]
async fn auto_is_the_first_that_can_be_had() {
    let auto = |models: &Models| models.resolve(&["auto".to_owned()]).unwrap();
    let with = |ollama: &str, probe_timeout_ms| Config {
        ollama: Ollama { base_url: ollama.into(), probe_timeout_ms, ..Ollama::default() },
        ..Config::default()
    };
    // A configured provider, without a look at anything else.
    let configured = models(Config {
        ollama: Ollama { probe: true, ..with("http://127.0.0.1:1", 1).ollama },
        ..config("http://127.0.0.1:9")
    });
    configured.probe().await;
    assert_eq!(auto(&configured), ["openai:gpt-4.1-mini"]);

    let list = r#"{"object":"list","data":[{"id":"qwen3:4b"},{"id":"other"}]}"#;
    let server = Server::start(vec![Answer::whole(list)]).await;
    let found = models(with(&server.url, 5_000));
    assert_eq!(auto(&found), ["offline"], "before anyone looked");
    found.probe().await;
    found.probe().await;
    assert_eq!(auto(&found), ["ollama:qwen3:4b"]);
    assert_eq!(server.requests().len(), 1, "what was found is remembered");
    assert!(server.requests()[0].head.starts_with("GET /v1/models "));

    let hanging = Server::start(vec![Answer::silent()]).await;
    for url in [hanging.url.clone(), server::nobody().await] {
        let none = models(with(&url, 50));
        none.probe().await;
        assert_eq!(auto(&none), ["offline"]);
    }
}

#[tokio::test]
async fn lists_are_resolved_without_repeats_and_unknown_names_refused() {
    let models = models(Config::default());
    let names =
        |names: &[&str]| -> Vec<String> { names.iter().map(|&name| name.to_owned()).collect() };
    assert_eq!(models.resolve(&[]).unwrap(), ["offline"]);
    let resolved = models.resolve(&names(&["openai:x", "auto", "offline"])).unwrap();
    assert_eq!(resolved, ["openai:x", "offline"]);
    let unknown = models.resolve(&names(&["offline", "gpt-4o"])).unwrap_err();
    assert_eq!(
        (unknown.name.as_str(), unknown.nearest.as_deref()),
        ("gpt-4o", Some("openai:gpt-4o"))
    );
    let (outcome, _) = call(&models, &["nonsense"]).await;
    assert_eq!(outcome.unwrap_err().kind, ModelErrorKind::NotFound);
}
