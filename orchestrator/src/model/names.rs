//! Names of models: `auto`, `offline`, `openai:NAME`, `ollama:NAME`.

use std::fmt;

use super::error::UnknownModel;

/// The name that means the first model that can be had.
pub(super) const AUTO: &str = "auto";
/// The model that `auto` means at an OpenAI-compatible provider where none is configured.
pub(super) const OPENAI_DEFAULT: &str = "gpt-4.1-mini";

const OFFLINE: &str = "offline";
const OPENAI: &str = "openai";
const OLLAMA: &str = "ollama";
/// Below this similarity a suggestion would only confuse.
const SIMILAR: f64 = 0.6;
/// How names of OpenAI's models begin.
const OPENAI_FAMILIES: &[&str] = &["gpt-", "chatgpt-", "o1", "o3", "o4"];

/// What a name means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name<'a> {
    Auto,
    Offline,
    OpenAi(&'a str),
    Ollama(&'a str),
}

impl<'a> Name<'a> {
    pub(super) fn parse(name: &'a str) -> Option<Self> {
        match name.trim() {
            AUTO => Some(Self::Auto),
            OFFLINE => Some(Self::Offline),
            other => match other.split_once(':')? {
                (_, "") => None,
                (OPENAI, model) => Some(Self::OpenAi(model)),
                (OLLAMA, model) => Some(Self::Ollama(model)),
                _ => None,
            },
        }
    }
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => out.write_str(AUTO),
            Self::Offline => out.write_str(OFFLINE),
            Self::OpenAi(model) => write!(out, "{OPENAI}:{model}"),
            Self::Ollama(model) => write!(out, "{OLLAMA}:{model}"),
        }
    }
}

/// Whether a name means a model.
///
/// # Errors
/// It means none.
pub fn check(name: &str) -> Result<(), UnknownModel> {
    Name::parse(name).map(|_| ()).ok_or_else(|| unknown(name))
}

/// The error for a name that means nothing, with the nearest one that would do.
pub(super) fn unknown(name: &str) -> UnknownModel {
    let known = [AUTO, OFFLINE, "openai:NAME", "ollama:NAME"];
    UnknownModel {
        name: name.to_owned(),
        nearest: nearest(name.trim()),
        known: known.map(str::to_owned).to_vec(),
    }
}

fn nearest(name: &str) -> Option<String> {
    let lower = name.to_lowercase();
    if OPENAI_FAMILIES.iter().any(|family| lower.starts_with(family)) {
        return Some(Name::OpenAi(name).to_string());
    }
    let (provider, model) = lower.split_once(':').unwrap_or((&lower, ""));
    let candidates: &[&str] =
        if model.is_empty() { &[AUTO, OFFLINE, OPENAI, OLLAMA] } else { &[OPENAI, OLLAMA] };
    let similarity = |candidate: &str| strsim::jaro_winkler(provider, candidate);
    let best = candidates.iter().copied().max_by(|a, b| similarity(a).total_cmp(&similarity(b)))?;
    if similarity(best) < SIMILAR {
        return None;
    }
    match best {
        AUTO | OFFLINE => Some(best.to_owned()),
        _ if model.is_empty() => Some(format!("{best}:NAME")),
        _ => Some(format!("{best}:{model}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_mean_what_they_say() {
        let rows = [
            ("auto", Some(Name::Auto)),
            (" offline ", Some(Name::Offline)),
            ("openai:gpt-4.1", Some(Name::OpenAi("gpt-4.1"))),
            ("openai:org/model:tag", Some(Name::OpenAi("org/model:tag"))),
            ("ollama:qwen3:4b", Some(Name::Ollama("qwen3:4b"))),
            ("openai:", None),
            ("openai", None),
            ("", None),
            ("claude", None),
        ];
        for (text, expected) in rows {
            assert_eq!(Name::parse(text), expected, "{text:?}");
        }
    }

    #[test]
    fn the_nearest_name_is_suggested_or_none() {
        let rows = [
            ("ofline", Some("offline")),
            ("Auto", Some("auto")),
            ("gpt-4.1-mini", Some("openai:gpt-4.1-mini")),
            ("opnai:m1", Some("openai:m1")),
            ("olama:m1", Some("ollama:m1")),
            ("openai", Some("openai:NAME")),
            ("zzz", None),
            ("", None),
        ];
        for (text, expected) in rows {
            assert_eq!(unknown(text).nearest.as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn the_error_names_what_would_do() {
        let said = unknown("ofline").to_string();
        assert_eq!(
            said,
            "unknown model `ofline`, did you mean `offline`?; known: auto, offline, openai:NAME, \
             ollama:NAME"
        );
    }
}
