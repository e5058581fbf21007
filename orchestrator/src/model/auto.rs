//! What `auto` means: the first of a configured provider, Ollama on this machine, and `offline`.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::{
    config::Config,
    names::{self, Name},
    openai::Endpoint,
};

/// How long nobody looks again.
const SEEN_FOR: Duration = Duration::from_secs(3);

/// The choice, and what it depends on.
#[derive(Debug)]
pub(super) struct Auto {
    /// Model of the configured provider.
    configured: Option<String>,
    /// Time that Ollama has to answer; `None` if nobody looks for it.
    limit: Option<Duration>,
    seen: Mutex<Option<Seen>>,
}

/// What the last look for Ollama found.
#[derive(Clone, Debug)]
struct Seen {
    at: Instant,
    model: Option<String>,
}

impl Auto {
    pub(super) fn new(config: &Config) -> Self {
        let openai = &config.openai;
        let has_key = openai.api_key.as_ref().is_some_and(|key| !key.expose().is_empty());
        let model = openai.model.as_deref().unwrap_or(names::OPENAI_DEFAULT);
        let limit = Duration::from_millis(config.ollama.probe_timeout_ms);
        Self {
            configured: (has_key || openai.base_url.is_some()).then(|| model.to_owned()),
            limit: config.ollama.probe.then_some(limit),
            seen: Mutex::new(None),
        }
    }

    /// Looks for Ollama if the answer would matter and is not known.
    pub(super) async fn look(&self, ollama: &Endpoint) {
        let Some(limit) = self.limit.filter(|_| self.configured.is_none()) else { return };
        if self.last().is_some_and(|seen| seen.at.elapsed() < SEEN_FOR) {
            return;
        }
        let model = ollama.first_model(limit).await;
        let seen = Seen { at: Instant::now(), model };
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(seen);
    }

    /// The name of the model that is meant at the moment.
    pub(super) fn name(&self) -> String {
        if let Some(model) = &self.configured {
            return Name::OpenAi(model).to_string();
        }
        match self.last().and_then(|seen| seen.model) {
            Some(model) => Name::Ollama(&model).to_string(),
            None => Name::Offline.to_string(),
        }
    }

    /// The last look, however old: whoever wants a newer one looks again.
    fn last(&self) -> Option<Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
