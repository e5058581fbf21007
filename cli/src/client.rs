//! A client of a gateway: the embedded one through its Unix socket, or any by URL.
//!
//! It knows the HTTP API and nothing of what is behind it. `problem` turns refusals into errors,
//! `sse` reads event streams, `shapes` says what comes back. Next: `commands`.

pub(crate) mod problem;
pub(crate) mod sse;
pub(crate) mod shapes;

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::{Method, RequestBuilder, Response};
use serde_json::Value;

use self::sse::Frames;
use crate::exit::usage;

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long an answer that is no stream may take.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(1);
/// A stream that says nothing for so long is lost: the gateway sends a sign of life every 15 s.
const SILENCE_LIMIT: Duration = Duration::from_secs(45);

/// A client of one gateway.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    base: String,
    /// The base, or the socket, as a person knows it.
    shown: String,
}

impl Client {
    /// Of the gateway behind a Unix socket: the socket's folder proves who we are.
    ///
    /// # Errors
    /// When no client can be made.
    pub(crate) fn unix(socket: &Path) -> anyhow::Result<Self> {
        // No certificates: nothing on this socket is encrypted, and loading them takes time.
        let builder = builder(HeaderMap::new()).unix_socket(socket).no_proxy().tls_certs_only([]);
        let http = builder.build().context("cannot make an HTTP client")?;
        let shown = format!("unix:{}", socket.display());
        Ok(Self { http, base: "http://localhost".to_owned(), shown })
    }

    /// Of the gateway at `url`, with an API token.
    ///
    /// # Errors
    /// When the URL or the token cannot be used.
    pub(crate) fn url(url: &str, token: Option<&str>) -> anyhow::Result<Self> {
        let parsed = reqwest::Url::parse(url).map_err(|error| {
            usage(format!("--server {url} is no URL ({error}): write http://HOST:PORT"))
        })?;
        if !matches!(parsed.scheme(), "http" | "https") || parsed.host_str().is_none() {
            return Err(usage(format!(
                "--server {url} is no URL of a gateway: write http://HOST:PORT"
            )));
        }
        let mut headers = HeaderMap::new();
        // A token may stand in the URL as `up` prints it.
        let in_url = parsed.query_pairs().find(|(key, _)| key == "token").map(|(_, v)| v);
        if let Some(token) = token.map(Into::into).or(in_url) {
            let mut value = HeaderValue::from_str(&format!("Bearer {}", token.trim()))
                .map_err(|_| usage("the API token has characters that no token has"))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let mut builder = builder(headers);
        if parsed.scheme() == "http" {
            builder = builder.tls_certs_only([]);
        }
        let http = builder.build().context("cannot make an HTTP client")?;
        let mut base = parsed;
        base.set_query(None);
        base.set_fragment(None);
        let base = base.as_str().trim_end_matches('/').to_owned();
        Ok(Self { http, shown: base.clone(), base })
    }

    /// `GET path`.
    ///
    /// # Errors
    /// No answer, a refusal, or no JSON.
    pub(crate) async fn get(&self, path: &str) -> anyhow::Result<Value> {
        let request = self.request(Method::GET, path).timeout(ANSWER_TIMEOUT);
        document(self.send(request).await?).await
    }

    /// `GET path` answered by text of any length.
    ///
    /// # Errors
    /// No answer, a refusal, or an answer that breaks off.
    pub(crate) async fn get_text(&self, path: &str) -> anyhow::Result<String> {
        let response = self.send(self.request(Method::GET, path)).await?;
        response.text().await.context("the gateway's answer broke off")
    }

    /// `DELETE path`.
    ///
    /// # Errors
    /// No answer or a refusal.
    pub(crate) async fn delete(&self, path: &str) -> anyhow::Result<()> {
        let request = self.request(Method::DELETE, path).timeout(ANSWER_TIMEOUT);
        self.send(request).await.map(|_| ())
    }

    /// `POST path` with a JSON body.
    ///
    /// # Errors
    /// No answer, a refusal, or no JSON.
    pub(crate) async fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        let request = self.request(Method::POST, path).json(body).timeout(ANSWER_TIMEOUT);
        document(self.send(request).await?).await
    }

    /// The same under a key: a repeat meets what the first one began.
    ///
    /// # Errors
    /// No answer, a refusal, or no JSON.
    pub(crate) async fn post_under(
        &self,
        path: &str,
        body: &Value,
        key: &str,
    ) -> anyhow::Result<Value> {
        let request = self.request(Method::POST, path).json(body).header("idempotency-key", key);
        document(self.send(request.timeout(ANSWER_TIMEOUT)).await?).await
    }

    /// `POST path` with a body that is JSON text already, answered by a stream of events.
    /// A repeat under the same `key` meets the same run.
    ///
    /// # Errors
    /// No answer or a refusal.
    pub(crate) async fn post_stream(
        &self,
        path: &str,
        body: String,
        key: &str,
    ) -> anyhow::Result<Frames> {
        let request = self
            .request(Method::POST, path)
            .header(ACCEPT, "text/event-stream")
            .header("content-type", "application/json")
            .header("idempotency-key", key)
            .body(body);
        Ok(Frames::new(self.send(request).await?))
    }

    /// `GET path` answered by a stream of events.
    ///
    /// # Errors
    /// No answer or a refusal.
    pub(crate) async fn get_stream(&self, path: &str) -> anyhow::Result<Frames> {
        let request = self.request(Method::GET, path).header(ACCEPT, "text/event-stream");
        Ok(Frames::new(self.send(request).await?))
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.base))
    }

    async fn send(&self, request: RequestBuilder) -> anyhow::Result<Response> {
        let response =
            request.send().await.map_err(|error| problem::unreachable(&self.shown, &error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        Err(problem::of(response).await)
    }
}

/// A path segment with everything escaped that is no part of one.
pub(crate) fn segment(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut path, byte| {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            path.push(char::from(byte));
        } else {
            path.push('%');
            path.push_str(&crate::place::hex(&[byte]).to_ascii_uppercase());
        }
        path
    })
}

fn builder(headers: HeaderMap) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .user_agent(concat!("callboard/", env!("CARGO_PKG_VERSION")))
        .default_headers(headers)
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(SILENCE_LIMIT)
}

async fn document(response: Response) -> anyhow::Result<Value> {
    response.json().await.context("the gateway's answer is no JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_its_place_in_a_path() {
        assert_eq!(segment("read_file"), "read_file");
        assert_eq!(segment("../a b/é?"), "..%2Fa%20b%2F%C3%A9%3F");
    }
}
