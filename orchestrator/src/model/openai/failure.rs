//! What went wrong, in words for a person: no secret, no address but the configured one.

use std::{error::Error as _, fmt::Write as _, io, time::Duration};

use http::{HeaderMap, StatusCode};
use serde_json::Value;

use super::{
    super::error::{ModelError, ModelErrorKind},
    assembly,
    endpoint::Endpoint,
    wire,
};

/// Longest part of a provider's own words that is passed on, in characters.
const MAX_WORDS: usize = 300;

/// Nothing came back, and why.
pub(super) fn of_transport(endpoint: &Endpoint, error: &reqwest::Error) -> ModelError {
    let base = endpoint.shown();
    if error.is_timeout() {
        let message = format!("{base} could not be reached in time; is the address right?");
        return ModelError::new(ModelErrorKind::Timeout, message);
    }
    let why = if error.is_dns() {
        "its name cannot be resolved"
    } else {
        match io_kind(error) {
            Some(io::ErrorKind::ConnectionRefused) => "the connection was refused",
            Some(io::ErrorKind::ConnectionReset) => "the connection was reset",
            Some(
                io::ErrorKind::HostUnreachable
                | io::ErrorKind::NetworkUnreachable
                | io::ErrorKind::NetworkDown,
            ) => "there is no way to it",
            _ if error.is_connect() => "no connection could be made",
            _ => "the connection was lost before an answer came",
        }
    };
    let hint = "is the server running and the address right?";
    ModelError::new(ModelErrorKind::Unavailable, format!("{base} cannot be reached: {why}; {hint}"))
}

/// The connection broke in the middle of a reply.
pub(super) fn of_stream(endpoint: &Endpoint, error: &reqwest::Error) -> ModelError {
    let kind = match io_kind(error) {
        Some(io::ErrorKind::ConnectionReset) => "reset",
        _ => "lost",
    };
    let base = endpoint.shown();
    let message = format!("the connection to {base} was {kind} in the middle of a reply");
    ModelError::new(ModelErrorKind::Interrupted, message)
}

/// The request was taken and nothing came.
pub(super) fn no_first_byte(endpoint: &Endpoint) -> ModelError {
    let (base, limit) = (endpoint.shown(), endpoint.first_byte.as_secs_f64());
    let message = format!("{base} sent nothing for {limit} s (first_byte_timeout_ms)");
    ModelError::new(ModelErrorKind::Timeout, message)
}

/// The reply stopped coming.
pub(super) fn silence(endpoint: &Endpoint) -> ModelError {
    let (base, limit) = (endpoint.shown(), endpoint.idle.as_secs_f64());
    let message =
        format!("{base} went silent for {limit} s in the middle of a reply (idle_timeout_ms)");
    ModelError::new(ModelErrorKind::Timeout, message)
}

/// What came cannot be read.
pub(super) fn of_wire(endpoint: &Endpoint, fault: wire::Fault) -> ModelError {
    let base = endpoint.shown();
    match fault {
        wire::Fault::NotJson(sample) => {
            let sample = clean(&sample, endpoint);
            let message = format!(
                "{base} answered, but not as an OpenAI-compatible API would: `{sample}`; is the \
                 address right? It mostly ends in /v1"
            );
            ModelError::new(ModelErrorKind::Malformed, message)
        }
        wire::Fault::CutShort => of_reply(endpoint, assembly::Fault::CutShort),
        wire::Fault::TooLarge => of_reply(endpoint, assembly::Fault::TooLarge),
        wire::Fault::Empty => {
            ModelError::new(ModelErrorKind::Interrupted, format!("{base} sent an empty answer"))
        }
    }
}

/// What came is no reply.
pub(super) fn of_reply(endpoint: &Endpoint, fault: assembly::Fault) -> ModelError {
    let base = endpoint.shown();
    match fault {
        assembly::Fault::Provider(error) => of_object(endpoint, &error),
        assembly::Fault::CutShort => ModelError::new(
            ModelErrorKind::Interrupted,
            format!("the reply of {base} was cut off before its end"),
        ),
        assembly::Fault::Garbage(sample) => {
            let sample = clean(&sample, endpoint);
            let message = format!("{base} sent something that is not JSON: `{sample}`");
            ModelError::new(ModelErrorKind::Malformed, message)
        }
        assembly::Fault::NoChoice => ModelError::new(
            ModelErrorKind::Malformed,
            format!(
                "{base} answered with JSON that holds no reply; is it an OpenAI-compatible API?"
            ),
        ),
        assembly::Fault::OpenCall => ModelError::new(
            ModelErrorKind::Malformed,
            format!("the reply of {base} ends in the middle of a tool call"),
        ),
        assembly::Fault::HalfACall(name) => ModelError::new(
            ModelErrorKind::Incomplete,
            format!(
                "the reply reached its output limit before the arguments of `{name}`, so the call \
                 was not made; allow more output tokens or ask for less at once"
            ),
        ),
        assembly::Fault::TooLarge => ModelError::new(
            ModelErrorKind::TooLarge,
            format!("{base} sent a reply of more than {} MiB", super::MAX_REPLY >> 20),
        ),
    }
}

/// A status other than success.
pub(super) fn of_status(
    endpoint: &Endpoint,
    model: &str,
    status: StatusCode,
    (headers, page): (&HeaderMap, &str),
) -> ModelError {
    let document: Option<Value> = serde_json::from_str(page).ok();
    let object = document.as_ref().map(|page| page.get("error").unwrap_or(page));
    let (words, code) = object.map_or_else(Default::default, words_and_code);
    let kind = kind_of(status.as_u16(), &code);
    let mut message = sentence(kind, endpoint, model);
    let words = clean(&words, endpoint);
    let _ = match words.as_str() {
        "" => write!(message, " (HTTP {})", status.as_u16()),
        words => write!(message, " (HTTP {}): {words}", status.as_u16()),
    };
    let retry_after = retry_after(headers);
    if let Some(pause) = retry_after {
        let _ = write!(message, "; it asks to wait {} s", pause.as_millis().div_ceil(1_000));
    }
    ModelError { kind, message, retry_after }
}

/// An error object inside of an answer that called itself a success.
fn of_object(endpoint: &Endpoint, error: &Value) -> ModelError {
    let (words, code) = words_and_code(error);
    let status = code.parse().unwrap_or(500);
    let kind = kind_of(if (400..600).contains(&status) { status } else { 500 }, &code);
    let words = clean(&words, endpoint);
    let base = endpoint.shown();
    let message = match words.as_str() {
        "" => format!("{base} reported an error in place of a reply"),
        words => format!("{base} reported an error in place of a reply: {words}"),
    };
    ModelError::new(kind, message)
}

fn kind_of(status: u16, code: &str) -> ModelErrorKind {
    if matches!(code, "insufficient_quota" | "billing_hard_limit_reached") {
        return ModelErrorKind::QuotaExceeded;
    }
    if matches!(code, "rate_limit_exceeded" | "rate_limit_error" | "overloaded_error") {
        return ModelErrorKind::RateLimited;
    }
    match status {
        401 | 403 => ModelErrorKind::Unauthenticated,
        402 => ModelErrorKind::QuotaExceeded,
        // A redirect is not followed: it leads away from the configured address.
        300..=399 | 404 => ModelErrorKind::NotFound,
        408 | 504 => ModelErrorKind::Timeout,
        429 => ModelErrorKind::RateLimited,
        409 | 423 | 425 | 500..=599 => ModelErrorKind::Unavailable,
        _ => ModelErrorKind::InvalidRequest,
    }
}

fn sentence(kind: ModelErrorKind, endpoint: &Endpoint, model: &str) -> String {
    let base = endpoint.shown();
    match kind {
        ModelErrorKind::Unauthenticated => {
            format!("{base} refuses the API key; check OPENAI_API_KEY")
        }
        ModelErrorKind::NotFound => format!(
            "{base} has no model `{model}`, or no chat completions there; check the name, and that \
             the address ends as it should, mostly in /v1"
        ),
        ModelErrorKind::RateLimited => format!("{base} takes no more requests at the moment"),
        ModelErrorKind::QuotaExceeded => format!("the quota at {base} is used up"),
        ModelErrorKind::Timeout => format!("{base} gave up waiting for its own model"),
        ModelErrorKind::InvalidRequest => format!("{base} refuses the request"),
        ModelErrorKind::Unavailable
        | ModelErrorKind::Interrupted
        | ModelErrorKind::Malformed
        | ModelErrorKind::TooLarge
        | ModelErrorKind::Incomplete => format!("{base} failed"),
    }
}

fn words_and_code(error: &Value) -> (String, String) {
    let text = |value: Option<&Value>| match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    if let Value::String(words) = error {
        return (words.clone(), String::new());
    }
    let words = ["message", "detail", "error", "msg"].iter().map(|key| text(error.get(*key)));
    let code = ["code", "type", "status"].iter().map(|key| text(error.get(*key)));
    let first = |mut texts: Box<dyn Iterator<Item = String> + '_>| {
        texts.find(|text| !text.is_empty()).unwrap_or_default()
    };
    (first(Box::new(words)), first(Box::new(code)))
}

/// How long the provider wants to be left alone.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(ms) = text("retry-after-ms").and_then(|text| text.parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(ms / 1_000.0).ok();
    }
    let after = text("retry-after")?;
    if let Ok(seconds) = after.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let until = httpdate::parse_http_date(after).ok()?;
    // Measured by the provider's own clock where it tells it.
    let now = text("date").and_then(|date| httpdate::parse_http_date(date).ok());
    until.duration_since(now.unwrap_or_else(std::time::SystemTime::now)).ok()
}

/// A provider's words, made fit for a person: one line, no key, no address but the configured one.
fn clean(words: &str, endpoint: &Endpoint) -> String {
    let words = match endpoint.key() {
        Some(key) if !key.is_empty() => words.replace(key, "***"),
        _ => words.to_owned(),
    };
    let kept = words.split_whitespace().map(|word| {
        let bare = word.trim_matches(|char: char| !char.is_alphanumeric());
        let is_address = word.contains("://") && !word.contains(endpoint.shown());
        if bare.starts_with("sk-") || is_address { "***" } else { word }
    });
    let line = kept.collect::<Vec<_>>().join(" ");
    let line: String = line.chars().filter(|char| !char.is_control()).collect();
    match line.char_indices().nth(MAX_WORDS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// The operating system's word for it, at the bottom of the chain.
fn io_kind(error: &reqwest::Error) -> Option<io::ErrorKind> {
    let mut source = error.source();
    let mut kind = None;
    while let Some(cause) = source {
        if let Some(io) = cause.downcast_ref::<io::Error>() {
            kind = Some(io.kind());
        }
        source = cause.source();
    }
    kind
}

#[cfg(test)]
mod tests;
