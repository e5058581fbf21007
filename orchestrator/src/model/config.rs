//! Settings of the models: the section `orchestrator.models`.
//!
//! The composition root fills the key and the base URL in from the environment; nothing here reads
//! it. Next: `names.rs` says which model a name means.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize, Serializer};

use super::error::ConfigError;

/// Where OpenAI itself listens.
pub const OPENAI_BASE_URL: &str = "https://api.openai.com/v1";

/// Settings of the models.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// An OpenAI-compatible provider.
    pub openai: OpenAi,
    /// Ollama on this machine.
    pub ollama: Ollama,
    /// Sampling temperature where an agent names none, 0 to 2. Default 0.3.
    pub temperature: f64,
    /// Tries after the first one, for each model of a list. Default 2.
    pub retries: u32,
    /// Time for connecting, in milliseconds. Default 5,000.
    pub connect_timeout_ms: u64,
    /// Time until the first byte of a reply, in milliseconds. Default 60,000.
    pub first_byte_timeout_ms: u64,
    /// Longest silence within a reply, in milliseconds. Default 60,000.
    pub idle_timeout_ms: u64,
    /// Time for a model call with all of its tries, in milliseconds. Default 120,000.
    pub whole_timeout_ms: u64,
}

/// An OpenAI-compatible provider.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct OpenAi {
    /// Address up to and including the version, such as `http://127.0.0.1:8000/v1`. Default:
    /// OpenAI's own.
    pub base_url: Option<String>,
    /// The API key. Local servers mostly want none.
    pub api_key: Option<Secret>,
    /// The model that `auto` means. Default `gpt-4.1-mini`.
    pub model: Option<String>,
    /// Send a step's reasoning text back with it: some endpoints refuse a tool turn without, others
    /// refuse it. Default false.
    pub send_reasoning: bool,
}

/// Ollama on this machine, through its OpenAI-compatible endpoint.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Ollama {
    /// Address without the version. Default `http://127.0.0.1:11434`.
    pub base_url: String,
    /// Whether `auto` looks for it. Default true.
    pub probe: bool,
    /// Time that it has to answer when `auto` looks for it, in milliseconds. Default 150.
    pub probe_timeout_ms: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            openai: OpenAi::default(),
            ollama: Ollama::default(),
            temperature: 0.3,
            retries: 2,
            connect_timeout_ms: 5_000,
            first_byte_timeout_ms: 60_000,
            idle_timeout_ms: 60_000,
            whole_timeout_ms: 120_000,
        }
    }
}

impl Default for Ollama {
    fn default() -> Self {
        Self { base_url: "http://127.0.0.1:11434".to_owned(), probe: true, probe_timeout_ms: 150 }
    }
}

impl Config {
    /// Time for connecting.
    pub fn connect_timeout(&self) -> Duration {
        Duration::from_millis(self.connect_timeout_ms)
    }

    /// Time for a model call with all of its tries.
    pub fn whole_timeout(&self) -> Duration {
        Duration::from_millis(self.whole_timeout_ms)
    }

    /// Refuses what cannot work.
    ///
    /// # Errors
    /// [`ConfigError`] names the first setting that cannot work.
    pub fn check(&self) -> Result<(), ConfigError> {
        if !(0.0..=2.0).contains(&self.temperature) {
            return Err(ConfigError::Range {
                key: "orchestrator.models.temperature",
                wanted: "between 0 and 2",
                value: self.temperature.to_string(),
            });
        }
        if self.retries > 10 {
            return Err(ConfigError::Range {
                key: "orchestrator.models.retries",
                wanted: "at most 10",
                value: self.retries.to_string(),
            });
        }
        let timeouts = [
            ("orchestrator.models.connect_timeout_ms", self.connect_timeout_ms),
            ("orchestrator.models.first_byte_timeout_ms", self.first_byte_timeout_ms),
            ("orchestrator.models.idle_timeout_ms", self.idle_timeout_ms),
            ("orchestrator.models.whole_timeout_ms", self.whole_timeout_ms),
        ];
        match timeouts.into_iter().find(|(_, value)| *value == 0) {
            Some((key, _)) => {
                let wanted = "a number of milliseconds above 0";
                Err(ConfigError::Range { key, wanted, value: "0".to_owned() })
            }
            None => Ok(()),
        }
    }
}

/// A text that is never shown: `Debug` and `Serialize` give stars.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

const MASK: &str = "********";

impl Secret {
    /// A secret, without the white space that files and shells leave around one.
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// The text itself, for a header.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(MASK)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(MASK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_section_means_the_documented_defaults() {
        let config: Config = serde_json::from_str("{}").unwrap();
        assert_eq!(config, Config::default());
        assert_eq!(config.check(), Ok(()));
    }

    #[test]
    fn unknown_keys_are_refused() {
        assert!(serde_json::from_str::<Config>(r#"{"openai":{"api_kee":"x"}}"#).is_err());
    }

    #[test]
    fn a_key_is_never_shown() {
        let text = r#"{"openai":{"api_key":" sk-1234567890 "}}"#;
        let config: Config = serde_json::from_str(text).unwrap();
        let shown = format!("{config:?} {}", serde_json::to_string(&config).unwrap());
        assert!(!shown.contains("1234567890"), "{shown}");
        assert!(shown.contains(MASK), "{shown}");
    }

    #[test]
    fn numbers_without_sense_are_refused_by_name() {
        let config = Config { idle_timeout_ms: 0, ..Config::default() };
        let said = config.check().unwrap_err().to_string();
        assert!(said.contains("orchestrator.models.idle_timeout_ms"), "{said}");
        let config = Config { temperature: f64::NAN, ..Config::default() };
        assert!(config.check().is_err());
    }
}
