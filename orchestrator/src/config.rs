//! Settings of the orchestrator: the section `[orchestrator]`, and what the composition root adds.
//!
//! Nothing here reads files or the environment.

use std::{path::PathBuf, sync::Arc};

use callboard_discovery::{Address, Discovery, InstanceId, transport::Credentials};
use callboard_telemetry::MetricsHandle;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, SeqAccess, Visitor, value::SeqAccessDeserializer},
};
use tokio::sync::watch;

use crate::{
    call::{self, policy},
    catalog, journal, model,
    run::event::{InputReceived, Limits, RunStarted, SessionOpened},
};

/// The section `[orchestrator]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// What happens to changing calls that no rule matches. Default: a person is asked.
    pub profile: policy::Profile,
    /// Name of the deployment; fencing epochs are compared within it. Default `local`.
    pub deployment: String,
    /// Id of the workspace that sessions work in. Default `default`.
    pub workspace: String,
    /// The agent that answers where none is named.
    pub agent: Agent,
    /// Where the journal is.
    pub journal: journal::config::Config,
    /// Providers and their settings.
    pub models: model::config::Config,
    /// The path of a tool call.
    pub calls: call::Config,
    /// The rules of the team.
    pub policy: policy::Config,
    /// Tools and instances.
    pub catalog: catalog::Config,
    /// Working time after which what is in flight is given up at a drain, in milliseconds.
    /// Default 5,000.
    pub drain_ms: u64,
    /// Time without work or watchers after which a session is folded away, in milliseconds.
    /// Default 250: waking it again costs a read of its journal.
    pub idle_ms: u64,
    /// For how long the orchestrators have to be the same before partitions move to the one that
    /// should own them, in milliseconds. Default 10,000.
    pub rebalance_after_ms: u64,
    /// How long what is in flight may take to end before its partition moves all the same, in
    /// milliseconds. Default 30,000.
    pub handover_ms: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            profile: policy::Profile::default(),
            deployment: "local".to_owned(),
            workspace: "default".to_owned(),
            agent: Agent::default(),
            journal: journal::config::Config::default(),
            models: model::config::Config::default(),
            calls: call::Config::default(),
            policy: policy::Config::default(),
            catalog: catalog::Config::default(),
            drain_ms: 5_000,
            idle_ms: 250,
            rebalance_after_ms: 10_000,
            handover_ms: 30_000,
        }
    }
}

/// A named recipe: models, system prompt, limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Agent {
    /// Its name. Default `default`.
    pub name: String,
    /// Models in order of preference, as a list; one alone as its name. Default `["auto"]`.
    #[serde(deserialize_with = "one_or_many")]
    pub model: Vec<String>,
    /// System prompt, word for word.
    pub system_prompt: String,
    /// Tools that are always offered, by name.
    pub pinned_tools: Vec<String>,
    /// Tools offered in one model call at most. Default 16.
    pub max_tools: usize,
    /// Model replies of a run. Default 16.
    pub max_steps: u32,
    /// Tool calls of a run. Default 128.
    pub max_calls: u32,
    /// Tool calls at once. Default 8.
    pub max_parallel: u32,
    /// Working time of a run in milliseconds, waiting for a person not counted. Default 600,000.
    pub max_time_ms: u64,
    /// Input and output tokens of a run; 0 = no bound. Default 0.
    pub max_tokens: u64,
    /// Budget for the context of one model call, in tokens. Default 32,768.
    pub context_tokens: u32,
}

/// A name, or a list of names.
fn one_or_many<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    from.deserialize_any(Names)
}

struct Names;

impl<'de> Visitor<'de> for Names {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the name of a model or a list of names")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(vec![name.to_owned()])
    }

    fn visit_seq<A: SeqAccess<'de>>(self, names: A) -> Result<Self::Value, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(names))
    }
}

impl Default for Agent {
    fn default() -> Self {
        Self {
            name: "default".to_owned(),
            model: vec!["auto".to_owned()],
            system_prompt: "You are a careful assistant with tools. Use a tool whenever it can \
                            find out or do what was asked; never invent what a tool can tell. \
                            When a call fails, read why and try what it proposes. When a call is \
                            denied, do not repeat it. Answer briefly, in the language of the \
                            question, with what the tools returned."
                .to_owned(),
            pinned_tools: Vec::new(),
            max_tools: 16,
            max_steps: 16,
            max_calls: 128,
            max_parallel: 8,
            max_time_ms: 600_000,
            max_tokens: 0,
            context_tokens: 32_768,
        }
    }
}

impl Agent {
    /// The bounds of a run: those asked for where they are set and tighter or looser as they may
    /// be, else the agent's own.
    pub fn limits(&self, asked: Limits) -> Limits {
        let or = |asked: u32, own: u32| if asked == 0 { own } else { asked };
        Limits {
            max_steps: or(asked.max_steps, self.max_steps),
            max_calls: or(asked.max_calls, self.max_calls),
            max_parallel: or(asked.max_parallel, self.max_parallel),
            max_time_ms: if asked.max_time_ms == 0 { self.max_time_ms } else { asked.max_time_ms },
            max_tokens: if asked.max_tokens == 0 { self.max_tokens } else { asked.max_tokens },
        }
    }
}

impl Agent {
    /// The snapshot with which work on an input begins.
    pub fn begin(&self, opened: &SessionOpened, input: &InputReceived) -> RunStarted {
        let chosen = &opened.models;
        RunStarted {
            run: input.run.clone(),
            agent: self.name.clone(),
            models: if chosen.is_empty() { self.model.clone() } else { chosen.clone() },
            limits: self.limits(input.limits),
            system_prompt: self.system_prompt.clone(),
            context_tokens: self.context_tokens,
        }
    }
}

/// Where an orchestrator runs, and what it shares with other roles.
pub struct Node {
    /// Its id, where it was given one.
    pub instance: Option<InstanceId>,
    /// Where it listens.
    pub listen: Address,
    /// Where other roles reach it, if that is not where it listens.
    pub advertise: Option<Address>,
    /// Folder of the artifacts, and of a journal in a file.
    pub state: PathBuf,
    /// Zone of the machine; may be empty.
    pub zone: String,
    /// Who is alive.
    pub discovery: Arc<dyn Discovery>,
    /// What proves us to other roles, and them to us.
    pub credentials: Credentials,
    /// The rules as they are read again; none where they stay as they are.
    pub rules: Option<watch::Receiver<policy::RulesRead>>,
    /// Whether a database that does not answer at the start is waited for; else that is an error.
    pub waits_for_journal: bool,
    /// What `/metrics` answers.
    pub metrics: MetricsHandle,
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Node")
            .field("listen", &self.listen)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_a_name_or_a_list_of_names() {
        for (text, models) in [
            (r#"{"model": "offline"}"#, &["offline"][..]),
            (r#"{"model": ["openai:a", "offline"]}"#, &["openai:a", "offline"]),
            ("{}", &["auto"]),
        ] {
            assert_eq!(serde_json::from_str::<Agent>(text).unwrap().model, models, "{text}");
        }
        let error = serde_json::from_str::<Agent>(r#"{"model": 5}"#).unwrap_err().to_string();
        assert!(error.contains("name of a model or a list of names"), "{error}");
    }
}
