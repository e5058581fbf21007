//! What people are told, and what they are not.

use std::str::FromStr as _;

use http::{HeaderName, HeaderValue};
use serde_json::json;

use super::{
    super::super::config::{Config, OpenAi, Secret},
    *,
};

const KEY: &str = "sk-live-0123456789abcdef";

fn endpoint() -> Endpoint {
    let openai = OpenAi {
        base_url: Some("http://user:pass@127.0.0.1:9/v1/".into()),
        api_key: Some(Secret::new(KEY)),
        ..OpenAi::default()
    };
    let config = Config { openai, ..Config::default() };
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = super::super::http_client(&config).unwrap();
    Endpoint::openai(&config, http).unwrap()
}

fn error(status: u16, headers: &[(&str, &str)], page: &str) -> ModelError {
    let headers = headers.iter().map(|(name, value)| {
        (HeaderName::from_str(name).unwrap(), HeaderValue::from_str(value).unwrap())
    });
    let headers: HeaderMap = headers.collect();
    of_status(&endpoint(), "m", StatusCode::from_u16(status).unwrap(), (&headers, page))
}

#[test]
fn statuses_mean_kinds() {
    use ModelErrorKind::*;
    let quota = json!({"error": {"message": "pay", "code": "insufficient_quota"}}).to_string();
    let rows = [
        (400, "{}", InvalidRequest),
        (401, "", Unauthenticated),
        (402, "", QuotaExceeded),
        (403, "", Unauthenticated),
        (404, "", NotFound),
        (302, "", NotFound),
        (408, "", Timeout),
        (422, "", InvalidRequest),
        (429, "", RateLimited),
        (429, quota.as_str(), QuotaExceeded),
        (500, "<html>", Unavailable),
        (503, "", Unavailable),
        (504, "", Timeout),
        (529, "", Unavailable),
    ];
    for (status, page, expected) in rows {
        assert_eq!(error(status, &[], page).kind, expected, "{status} {page}");
    }
}

#[test]
fn a_pause_is_read_in_every_form() {
    type Headers<'a> = &'a [(&'a str, &'a str)];
    let rows: &[(Headers<'_>, Option<u64>)] = &[
        (&[("retry-after", "12")], Some(12_000)),
        (&[("retry-after", "0.5")], Some(500)),
        (&[("retry-after-ms", "1500"), ("retry-after", "2")], Some(1_500)),
        (
            &[
                ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
                ("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"),
            ],
            Some(30_000),
        ),
        (&[("retry-after", "soon")], None),
        (&[("retry-after", "-3")], None),
        (&[], None),
    ];
    for (headers, expected) in rows {
        let expected = expected.map(Duration::from_millis);
        assert_eq!(error(429, headers, "").retry_after, expected, "{headers:?}");
    }
    let said = error(429, &[("retry-after", "12")], "").message;
    assert_eq!(
        said,
        "http://127.0.0.1:9/v1 takes no more requests at the moment (HTTP 429); it asks to wait 12 s"
    );
}

#[test]
fn neither_keys_nor_foreign_addresses_are_passed_on() {
    let words = format!(
        "Incorrect API key provided: {KEY} (or sk-other-123). See https://evil.example/keys\n\tand \
         http://127.0.0.1:9/v1/help {}",
        "x ".repeat(400)
    );
    let said = error(401, &[], &json!({"error": {"message": words}}).to_string()).message;
    for secret in [KEY, "sk-other", "evil.example", "user", "pass@", "\n"] {
        assert!(!said.contains(secret), "{secret} in {said}");
    }
    assert!(said.contains("http://127.0.0.1:9/v1/help"), "{said}");
    assert!(said.chars().count() < 450, "{said}");
    assert!(said.contains("check OPENAI_API_KEY"), "{said}");
}

#[test]
fn a_providers_own_words_are_found_in_every_form() {
    let rows = [
        json!({"error": {"message": "too hot", "type": "x"}}),
        json!({"error": "too hot"}),
        json!({"message": "too hot"}),
        json!({"detail": "too hot"}),
    ];
    for page in rows {
        let said = error(400, &[], &page.to_string()).message;
        assert_eq!(said, "http://127.0.0.1:9/v1 refuses the request (HTTP 400): too hot", "{page}");
    }
}

#[test]
fn an_error_inside_of_a_success_keeps_its_kind_and_words() {
    let rows = [
        (json!({"message": "quota exceeded", "code": 429}), ModelErrorKind::RateLimited),
        (json!({"message": "quota exceeded", "code": "503"}), ModelErrorKind::Unavailable),
        (json!({"message": "quota exceeded", "type": "server_error"}), ModelErrorKind::Unavailable),
        (json!("quota exceeded"), ModelErrorKind::Unavailable),
        (json!({"message": "quota exceeded", "code": 401}), ModelErrorKind::Unauthenticated),
    ];
    for (object, expected) in rows {
        let error = of_reply(&endpoint(), assembly::Fault::Provider(object.clone()));
        assert_eq!(error.kind, expected, "{object}");
        assert!(
            error.message.ends_with("in place of a reply: quota exceeded"),
            "{}",
            error.message
        );
    }
}

#[test]
fn base_urls_that_cannot_work_are_refused_without_their_credentials() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    for base in ["ftp://u:p@x/v1", "nonsense", "", "http://", "file:///etc"] {
        let openai = OpenAi { base_url: Some(base.into()), ..OpenAi::default() };
        let config = Config { openai, ..Config::default() };
        let http = super::super::http_client(&config).unwrap();
        match Endpoint::openai(&config, http) {
            Ok(endpoint) => assert_eq!((base, endpoint.shown()), ("", "https://api.openai.com/v1")),
            Err(error) => assert!(!error.to_string().contains("u:p"), "{error}"),
        }
    }
}
