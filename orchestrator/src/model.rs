//! Models: messages and tool declarations in, text while it comes and one clean reply out.
//!
//! [`Models`] knows what a name means, tries a list of models in order and repeats what is worth
//! repeating: the only place where model calls are retried. What a provider sends is made regular in
//! its own file: `openai.rs` for everything that speaks OpenAI's protocol, `offline.rs` for the planner
//! that needs no network. Who may call a tool, and with what, is decided in `call`.

mod auto;
pub mod config;
pub mod error;
mod glimpse;
mod names;
mod offline;
mod openai;
mod retry;
mod schema;
mod sse;
mod tools;

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use async_trait::async_trait;
use tokio::{
    sync::mpsc,
    time::{Instant, sleep, timeout_at},
};
use tracing::warn;

pub use self::names::check as check_name;
pub use self::tools::Tools;
use self::{
    auto::Auto,
    config::Config,
    error::{ConfigError, ModelError, ModelErrorKind, UnknownModel},
    glimpse::Glimpses,
    names::Name,
    offline::Offline,
    openai::{Endpoint, OpenAi},
    retry::{Budget, Decision, Situation},
};
use crate::run::{context::Message, event::Finish};

/// A tool as a model gets to see it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDeclaration {
    /// Name in the catalog.
    pub name: String,
    /// What it is for and what it is not for.
    pub description: String,
    /// JSON Schema of the arguments.
    pub input_schema: serde_json::Value,
    /// What a person might say, and the arguments (JSON text) that serve it.
    pub examples: Vec<(String, String)>,
}

/// One model call.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The conversation, oldest first.
    pub messages: Vec<Message>,
    /// The tools that may be called.
    pub tools: Arc<Tools>,
    /// Sampling temperature.
    pub temperature: f64,
    /// Most tokens that the reply may have; `None` leaves it to the provider.
    pub max_output_tokens: Option<u32>,
    /// Budget that the messages were cut to, in tokens.
    pub context_tokens: u32,
}

/// What is told while a reply comes. None of it is final: the reply is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    /// More text of the answer.
    Text(String),
    /// All text so far is void: the call is made again.
    Restarted,
    /// Nothing comes at the moment; why, for a person.
    Waiting(String),
}

/// A reply, made regular.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// The model that answered, as in the list of names.
    pub model: String,
    /// The text, without calls that were written into it.
    pub text: String,
    /// Reasoning text; never part of `text`.
    pub reasoning: String,
    /// The calls, in the model's order.
    pub calls: Vec<Wanted>,
    /// Input tokens as the provider counts them; 0 if it does not say.
    pub input_tokens: u64,
    /// Output tokens as the provider counts them; 0 if it does not say.
    pub output_tokens: u64,
    /// Why the model stopped.
    pub finish: Finish,
}

/// A call as the model wants it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The provider's id, made unique within the reply; ours where it gave none.
    pub model_id: String,
    /// Name of the tool, as in the catalog if it was offered.
    pub name: String,
    /// Arguments exactly as the model wrote them.
    pub arguments: String,
}

/// One model of one provider.
#[async_trait]
trait Model: Send + Sync {
    /// Asks once. Text is shown through `glimpses` while it comes.
    ///
    /// Dropping the future ends the request.
    async fn reply(
        &self,
        request: &Request,
        glimpses: &mut Glimpses<'_>,
    ) -> Result<Reply, ModelError>;
}

/// All models that can be asked.
pub struct Models {
    config: Config,
    openai: Endpoint,
    ollama: Endpoint,
    auto: Auto,
    budget: Mutex<Budget>,
}

/// An HTTP client with the settings' connect timeout that neither follows redirects nor retries.
/// The process must have installed a TLS provider before.
///
/// # Errors
/// [`ConfigError::Client`] if the platform's certificates or resolver cannot be used.
pub fn http_client(config: &Config) -> Result<reqwest::Client, ConfigError> {
    openai::http_client(config)
}

impl Models {
    /// Models with these settings, over this client ([`http_client`] makes one).
    ///
    /// # Errors
    /// [`ConfigError`] names the setting that cannot work.
    pub fn new(config: Config, http: reqwest::Client) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            openai: Endpoint::openai(&config, http.clone())?,
            ollama: Endpoint::ollama(&config, http)?,
            auto: Auto::new(&config),
            budget: Mutex::new(Budget::new(Instant::now())),
            config,
        })
    }

    /// Sampling temperature for agents that name none.
    pub fn temperature(&self) -> f64 {
        self.config.temperature
    }

    /// Looks whether Ollama answers, for `auto` in [`Self::resolve`]; quick, at most every three
    /// seconds. Not needed where a provider is configured, and skipped there.
    pub async fn probe(&self) {
        self.auto.look(&self.ollama).await;
    }

    /// The models that a list of names means, without repeats: `auto` becomes the first of a
    /// configured provider, Ollama as [`Self::probe`] last saw it, and `offline`. An empty list
    /// means `auto`.
    ///
    /// # Errors
    /// [`UnknownModel`] for the first name that means nothing.
    pub fn resolve(&self, names: &[String]) -> Result<Vec<String>, UnknownModel> {
        let auto = [names::AUTO.to_owned()];
        let names = if names.is_empty() { &auto[..] } else { names };
        let mut resolved = Vec::with_capacity(names.len());
        for name in names {
            let name = match Name::parse(name).ok_or_else(|| names::unknown(name))? {
                Name::Auto => self.auto.name(),
                model @ (Name::Offline | Name::OpenAi(_) | Name::Ollama(_)) => model.to_string(),
            };
            if !resolved.contains(&name) {
                resolved.push(name);
            }
        }
        Ok(resolved)
    }

    /// Asks the models of the list in order until one replies, each up to `retries` + 1 times.
    ///
    /// All tries together end at the whole timeout. Text goes to `deltas` while it comes; a full
    /// channel makes the call wait, a closed one does not matter. Dropping the future ends the
    /// request.
    ///
    /// # Errors
    /// [`ModelError`] of the last model, its message naming all that were asked.
    pub async fn call(
        &self,
        names: &[String],
        request: &Request,
        deltas: &mpsc::Sender<Delta>,
    ) -> Result<Reply, ModelError> {
        let deadline = Instant::now() + self.config.whole_timeout();
        let mut glimpses = Glimpses::new(deltas);
        let names = self
            .resolve(names)
            .map_err(|unknown| ModelError::new(ModelErrorKind::NotFound, unknown.to_string()))?;
        let mut failures = Vec::new();
        for (position, name) in names.iter().enumerate() {
            let has_next = position + 1 < names.len();
            match self.ask(name, request, &mut glimpses, (deadline, has_next)).await {
                Ok(reply) => return Ok(Reply { model: name.clone(), ..reply }),
                Err((error, tries)) => failures.push((name, error, tries)),
            }
        }
        Err(retry::summary(&failures))
    }

    /// Asks one model until it replies or is not worth asking again.
    async fn ask(
        &self,
        name: &str,
        request: &Request,
        glimpses: &mut Glimpses<'_>,
        (deadline, has_next): (Instant, bool),
    ) -> Result<Reply, (ModelError, u32)> {
        let model = self.model(name).map_err(|error| (error, 0))?;
        self.with_budget(Budget::deposit);
        let mut tries = 0;
        loop {
            tries += 1;
            glimpses.restart().await;
            let reply = timeout_at(deadline, model.reply(request, glimpses)).await;
            let error = match reply {
                Ok(Ok(reply)) => return Ok(reply),
                Ok(Err(error)) => error,
                Err(_) => retry::out_of_time(self.config.whole_timeout()),
            };
            let situation = Situation {
                tries,
                retries: self.config.retries,
                remaining: deadline.saturating_duration_since(Instant::now()),
                has_next,
                jitter: fastrand::f64(),
            };
            let decision = match retry::decide(&error, &situation) {
                Decision::Retry(_) if !self.with_budget(Budget::withdraw) => Decision::GiveUp,
                decision => decision,
            };
            match decision {
                Decision::Retry(wait) => {
                    warn!(model = name, tries, kind = error.kind.as_str(), ?wait, "model retried");
                    glimpses.waiting(wait);
                    sleep(wait).await;
                }
                Decision::GiveUp => return Err((error, tries)),
            }
        }
    }

    fn model<'a>(&'a self, name: &'a str) -> Result<Box<dyn Model + 'a>, ModelError> {
        match Name::parse(name) {
            Some(Name::Offline) => Ok(Box::new(Offline)),
            Some(Name::OpenAi(model)) => Ok(Box::new(OpenAi::new(&self.openai, model))),
            Some(Name::Ollama(model)) => Ok(Box::new(OpenAi::new(&self.ollama, model))),
            Some(Name::Auto) | None => {
                Err(ModelError::new(ModelErrorKind::NotFound, names::unknown(name).to_string()))
            }
        }
    }

    fn with_budget<T>(&self, change: impl FnOnce(&mut Budget) -> T) -> T {
        let mut budget = self.budget.lock().unwrap_or_else(PoisonError::into_inner);
        budget.refill(Instant::now());
        change(&mut budget)
    }
}

impl fmt::Debug for Models {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Models").field("config", &self.config).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
