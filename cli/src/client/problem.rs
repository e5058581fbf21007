//! Refusals of a gateway as errors with an exit code. Next: `sse`.

use std::fmt::Write as _;

use reqwest::{Response, StatusCode};
use serde_json::Value;

use crate::exit::{Exit, Refused};

/// An answer longer than this is no problem document.
const SIZE_LIMIT: usize = 64 * 1024;

/// The error for an answer that is no success.
pub(crate) async fn of(response: Response) -> anyhow::Error {
    let status = response.status();
    let body = response.bytes().await.unwrap_or_default();
    let body = serde_json::from_slice(&body[..body.len().min(SIZE_LIMIT)]).unwrap_or_default();
    Refused { exit: exit(status), message: sentence(status, &body) }.into()
}

/// The error for a problem document that came as the last event of a stream.
pub(crate) fn of_event(body: &Value) -> anyhow::Error {
    let status = body
        .get("status")
        .and_then(Value::as_u64)
        .and_then(|status| StatusCode::from_u16(u16::try_from(status).ok()?).ok());
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    Refused { exit: exit(status), message: sentence(status, body) }.into()
}

/// The error for no answer at all.
pub(crate) fn unreachable(base: &str, error: &reqwest::Error) -> anyhow::Error {
    // The innermost cause says what happened; those around it say where it passed.
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let what = if error.is_timeout() { "no answer in time".to_owned() } else { cause.to_string() };
    let hint = match base.split_once("://") {
        Some(("https", rest)) if !what.contains("refused") => {
            format!("; if it speaks no TLS, write http://{rest}")
        }
        _ => "; is it running there?".to_owned(),
    };
    anyhow::anyhow!("the gateway at {base} cannot be reached: {what}{hint}")
}

/// The error for an answer that lacks what it must hold.
pub(crate) fn gone(message: String) -> anyhow::Error {
    Refused { exit: Exit::Failed, message }.into()
}

/// Whether a request may be sent again under its key: nothing says that it was refused.
pub(crate) fn is_transient(error: &anyhow::Error) -> bool {
    error.downcast_ref::<Refused>().is_none()
}

fn exit(status: StatusCode) -> Exit {
    match status {
        StatusCode::BAD_REQUEST
        | StatusCode::UNAUTHORIZED
        | StatusCode::FORBIDDEN
        | StatusCode::NOT_FOUND
        | StatusCode::METHOD_NOT_ALLOWED
        | StatusCode::NOT_ACCEPTABLE
        | StatusCode::PAYLOAD_TOO_LARGE
        | StatusCode::UNSUPPORTED_MEDIA_TYPE
        | StatusCode::UNPROCESSABLE_ENTITY => Exit::Usage,
        _ => Exit::Failed,
    }
}

fn sentence(status: StatusCode, body: &Value) -> String {
    if status == StatusCode::UNAUTHORIZED {
        return "the gateway wants its API token, and this is not it: give it with --token-file FILE \
                or in CALLBOARD_TOKEN"
            .to_owned();
    }
    let field = |name: &str| body.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let mut text = match (field("detail"), field("title")) {
        (Some(detail), _) => detail.to_owned(),
        (None, Some(title)) => title.to_owned(),
        (None, None) => format!("the gateway answered {status}"),
    };
    for violation in body.get("violations").and_then(Value::as_array).into_iter().flatten() {
        let part = |name: &str| violation.get(name).and_then(Value::as_str).unwrap_or_default();
        let _ = write!(text, "\n  {}: {}", part("pointer"), part("message"));
    }
    for step in body.get("steps").and_then(Value::as_array).into_iter().flatten() {
        let _ = write!(text, "\n  {}", super::shapes::taken_back(step));
    }
    crate::print::visible(&text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_person_can_put_right_is_usage() {
        let unknown =
            json!({"status": 404, "title": "unknown", "detail": "No tool `x`. Nearest: `y`."});
        let error = of_event(&unknown);
        assert_eq!(crate::exit::of(&error), Exit::Usage);
        assert_eq!(error.to_string(), "No tool `x`. Nearest: `y`.");
        let away = json!({"status": 503, "title": "no orchestrator"});
        assert_eq!(crate::exit::of(&of_event(&away)), Exit::Failed);
    }

    #[test]
    fn the_steps_of_a_rollback_are_said() {
        let body = json!({"status": 409, "detail": "1 of 2 calls was taken back.", "steps": [
            {"call_id": "b", "status": "undone", "message": "`b` is gone."},
            {"call_id": "a", "status": "not_reversible", "message": "no way back"}]});
        let error = of_event(&body);
        assert_eq!(crate::exit::of(&error), Exit::Failed);
        assert_eq!(
            error.to_string(),
            "1 of 2 calls was taken back.\n  b  undone: `b` is gone.\n  a  not reversible: no way back"
        );
    }

    #[test]
    fn all_violations_are_said() {
        let body = json!({"status": 422, "detail": "arguments do not fit", "violations": [
            {"pointer": "/a", "message": "is missing"}, {"pointer": "/b", "message": "is no number"}]});
        assert_eq!(
            of_event(&body).to_string(),
            "arguments do not fit\n  /a: is missing\n  /b: is no number"
        );
    }
}
