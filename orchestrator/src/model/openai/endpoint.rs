//! Where an OpenAI-compatible provider listens, and what it turned out not to understand.

use std::{
    collections::BTreeMap,
    error::Error as _,
    fmt,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use callboard_telemetry::propagate;
use http::{
    HeaderMap, HeaderValue,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
};
use reqwest::{Url, redirect, retry};
use serde_json::Value;
use tokio::time::timeout;

use super::{
    super::{
        config::{Config, OPENAI_BASE_URL, Secret},
        error::{ConfigError, ModelError, ModelErrorKind},
    },
    body::Habits,
};

/// Idle connections older than this are closed: servers drop them at about that age.
const POOL_IDLE: Duration = Duration::from_secs(30);
/// Largest list of models that is read.
const MAX_MODELS_PAGE: usize = 1 << 20;

/// One provider: address, key and clocks.
pub(in crate::model) struct Endpoint {
    http: reqwest::Client,
    chat: Url,
    models: Url,
    shown: String,
    is_openai_itself: bool,
    key: Option<Secret>,
    send_reasoning: bool,
    /// Time until the first byte.
    pub(super) first_byte: Duration,
    /// Longest silence afterwards.
    pub(super) idle: Duration,
    habits: Mutex<BTreeMap<String, Habits>>,
}

/// See [`http_client`](super::super::http_client).
pub(in crate::model) fn http_client(config: &Config) -> Result<reqwest::Client, ConfigError> {
    let mut builder = reqwest::Client::builder()
        .connect_timeout(config.connect_timeout())
        .pool_idle_timeout(POOL_IDLE)
        // A redirect would carry the key to where nobody configured it to go.
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .user_agent(concat!("callboard/", env!("CARGO_PKG_VERSION")));
    if is_all_local(config) {
        // A proxy cannot reach this machine's own loopback.
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| {
        let source = error.source().map(ToString::to_string);
        ConfigError::Client(source.unwrap_or_else(|| error.to_string()))
    })
}

fn is_all_local(config: &Config) -> bool {
    let openai = config.openai.base_url.as_deref().unwrap_or(OPENAI_BASE_URL);
    [openai, config.ollama.base_url.as_str()].iter().all(|text| {
        let host = Url::parse(text).ok().and_then(|url| url.host_str().map(str::to_owned));
        host.is_some_and(|host| host == "localhost" || host == "[::1]" || host.starts_with("127."))
    })
}

impl Endpoint {
    /// The provider of `openai:NAME`.
    pub(in crate::model) fn openai(
        config: &Config,
        http: reqwest::Client,
    ) -> Result<Self, ConfigError> {
        let openai = &config.openai;
        let base = openai.base_url.as_deref().map_or(OPENAI_BASE_URL, str::trim);
        let base = if base.is_empty() { OPENAI_BASE_URL } else { base };
        let mut endpoint = Self::new(config, http, base, "orchestrator.models.openai.base_url")?;
        endpoint.key = openai.api_key.clone().filter(|key| !key.expose().is_empty());
        if let Some(key) = &endpoint.key {
            bearer(key).ok_or(ConfigError::ApiKey("orchestrator.models.openai.api_key"))?;
        }
        endpoint.is_openai_itself = endpoint.shown == OPENAI_BASE_URL;
        endpoint.send_reasoning = openai.send_reasoning;
        Ok(endpoint)
    }

    /// The provider of `ollama:NAME`.
    pub(in crate::model) fn ollama(
        config: &Config,
        http: reqwest::Client,
    ) -> Result<Self, ConfigError> {
        let base = format!("{}/v1", config.ollama.base_url.trim().trim_end_matches('/'));
        Self::new(config, http, &base, "orchestrator.models.ollama.base_url")
    }

    fn new(
        config: &Config,
        http: reqwest::Client,
        base: &str,
        key: &'static str,
    ) -> Result<Self, ConfigError> {
        let refuse = || ConfigError::BaseUrl { key, value: without_credentials(base) };
        let url = Url::parse(base).ok().filter(Url::has_host).ok_or_else(refuse)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refuse());
        }
        let below = |path: &str| {
            let mut url = url.clone();
            url.set_path(&format!("{}/{path}", url.path().trim_end_matches('/')));
            url
        };
        Ok(Self {
            http,
            chat: below("chat/completions"),
            models: below("models"),
            shown: shown(&url),
            is_openai_itself: false,
            key: None,
            send_reasoning: false,
            first_byte: Duration::from_millis(config.first_byte_timeout_ms),
            idle: Duration::from_millis(config.idle_timeout_ms),
            habits: Mutex::new(BTreeMap::new()),
        })
    }

    /// The configured address, without credentials.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    /// The key, to take it out of what a provider says.
    pub(super) fn key(&self) -> Option<&str> {
        self.key.as_ref().map(Secret::expose)
    }

    /// Says before the first request what the provider would say after it.
    pub(super) fn check_key(&self) -> Result<(), ModelError> {
        if self.key.is_some() || !self.is_openai_itself {
            return Ok(());
        }
        Err(ModelError::new(
            ModelErrorKind::Unauthenticated,
            "no API key is configured for OpenAI: set OPENAI_API_KEY, or OPENAI_BASE_URL for \
             another provider, or use `--model offline`",
        ))
    }

    /// What this model's requests must look like, as far as is known.
    pub(super) fn habits(&self, model: &str) -> Habits {
        let habits = self.habits.lock().unwrap_or_else(PoisonError::into_inner);
        let known = habits.get(model).copied().unwrap_or_default();
        Habits { sends_reasoning: self.send_reasoning, ..known }
    }

    /// Remembers what a provider does not understand; false if that is nothing new.
    pub(super) fn learn(&self, model: &str, learned: Habits) -> bool {
        let mut habits = self.habits.lock().unwrap_or_else(PoisonError::into_inner);
        let known = habits.get(model).copied().unwrap_or_default();
        let merged = known.merge(learned);
        let is_new = merged != known;
        if is_new {
            habits.insert(model.to_owned(), merged);
        }
        is_new
    }

    /// Sends one request; the answer's head, or why there is none.
    pub(super) async fn post(&self, body: Vec<u8>) -> reqwest::Result<reqwest::Response> {
        self.http.post(self.chat.clone()).headers(self.headers()).body(body).send().await
    }

    /// The first model that the provider lists, if it answers within `limit`.
    pub(in crate::model) async fn first_model(&self, limit: Duration) -> Option<String> {
        let look = async {
            let request = self.http.get(self.models.clone()).headers(self.headers());
            let mut response = request.send().await.ok()?;
            if !response.status().is_success() {
                return None;
            }
            let mut page = Vec::new();
            while let Some(bytes) = response.chunk().await.ok()? {
                page.extend_from_slice(&bytes);
                if page.len() > MAX_MODELS_PAGE {
                    return None;
                }
            }
            let page: Value = serde_json::from_slice(&page).ok()?;
            page.pointer("/data/0/id").and_then(Value::as_str).map(str::to_owned)
        };
        timeout(limit, look).await.ok().flatten()
    }

    fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::with_capacity(5);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        // A server that cannot stream may answer with one document.
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
        if let Some(value) = self.key.as_ref().and_then(bearer) {
            headers.insert(AUTHORIZATION, value);
        }
        propagate::inject_headers(&mut headers);
        headers
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Endpoint").field("url", &self.shown).finish_non_exhaustive()
    }
}

fn bearer(key: &Secret) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(format!("Bearer {}", key.expose())).ok()?;
    value.set_sensitive(true);
    Some(value)
}

fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // Neither fails for an address with a host.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.as_str().trim_end_matches('/').to_owned()
}

fn without_credentials(text: &str) -> String {
    match text.rsplit_once('@') {
        Some((_, rest)) => format!("…@{rest}"),
        None => text.to_owned(),
    }
}
