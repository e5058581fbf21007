//! What all clients of one stack must agree on, in a form that can be compared and shown.
//!
//! Secrets are compared by digest. Settings that only concern one process (its log level, the port of
//! `up`) are left out. A variable such as `OPENAI_API_KEY` counts only for a client that has it: it
//! may well be set in the terminal of `up` alone.

use std::collections::BTreeMap;

use callboard_orchestrator::call::policy;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::layers::{Origin, collect};
use super::{Loaded, secrets, settings};
use crate::place::hex;

/// Keys that concern one process only.
const OWN: &[&str] = &["telemetry.level", "telemetry.stderr", "gateway.listen", "gateway.token"];

/// The key of the rules.
const RULES: &str = "orchestrator.policy.rules";

/// Settings in comparable form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Agreement {
    /// Effective values by key.
    pub(crate) settings: BTreeMap<String, String>,
    /// Digests of what well-known variables gave, by key.
    pub(crate) conventions: BTreeMap<String, String>,
}

impl Agreement {
    /// Of a configuration.
    pub(super) fn of(loaded: &Loaded) -> Self {
        let mut agreement = Self::default();
        let mut secret = BTreeMap::new();
        collect(loaded.layers.table(), "", &mut |key, value| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            if let Some(Origin::Convention(_)) = loaded.layers.origin(&key) {
                agreement.conventions.insert(key, secrets::digest(&text));
            } else if secrets::is_secret(&key) {
                secret.insert(key, format!("sha256:{}", secrets::digest(&text)));
            }
        });
        settings::flatten(&loaded.settings.shown(), "", &mut |key, value| {
            if OWN.contains(&key.as_str()) || agreement.conventions.contains_key(&key) {
                return;
            }
            let shown = secret.get(&key).cloned().unwrap_or_else(|| value.to_string());
            agreement.settings.insert(key, shown);
        });
        agreement
    }

    /// Puts other rules in place of those that it has.
    pub(crate) fn set_rules(&mut self, rules: &policy::Config) {
        // Plain data with text keys has a JSON form.
        let rules = serde_json::to_value(&rules.rules).unwrap_or_default();
        self.settings.insert(RULES.to_owned(), rules.to_string());
    }

    /// SHA-256 over the settings, lower-case hex.
    pub(crate) fn digest(&self) -> String {
        let mut hash = Sha256::new();
        for (key, value) in &self.settings {
            hash.update(key.as_bytes());
            hash.update(b"=");
            hash.update(value.as_bytes());
            hash.update(b"\n");
        }
        hex(&hash.finalize())
    }

    /// What this one, a client's, holds against the stack's: a line for each difference.
    pub(crate) fn differences(&self, stack: &Self) -> Vec<String> {
        let mut lines = Vec::new();
        let keys = self.settings.keys().chain(stack.settings.keys());
        let keys: std::collections::BTreeSet<&String> = keys.collect();
        for key in keys {
            let is_convention =
                self.conventions.contains_key(key) || stack.conventions.contains_key(key);
            let (here, there) = (self.settings.get(key), stack.settings.get(key));
            if here != there && !is_convention {
                let text = |value: Option<&String>| value.map_or("not set", |v| v).to_owned();
                lines.push(format!("`{key}` is {} here and {} there", text(here), text(there)));
            }
        }
        for (key, here) in &self.conventions {
            if stack.conventions.get(key) != Some(here) {
                lines.push(format!(
                    "`{key}` comes from this terminal's environment and is another one there"
                ));
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agreement(settings: &[(&str, &str)], conventions: &[(&str, &str)]) -> Agreement {
        let map = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
        };
        Agreement { settings: map(settings), conventions: map(conventions) }
    }

    #[test]
    fn a_difference_names_the_key_and_both_values() {
        let here = agreement(&[("a", "1"), ("b", "2")], &[]);
        let there = agreement(&[("a", "1"), ("b", "3")], &[]);
        assert_eq!(here.differences(&there), ["`b` is 2 here and 3 there"]);
        assert_ne!(here.digest(), there.digest());
        assert!(here.differences(&here).is_empty());
    }

    #[test]
    fn rules_that_are_read_again_are_what_a_client_reads() {
        let one = "[[orchestrator.policy.rules]]\ntool = 'a'\nverdict = 'ask'\n";
        let loaded = |text: &str| {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("callboard.toml");
            std::fs::write(&file, text).unwrap();
            let sources = crate::config::Sources { config: Some(file), ..Default::default() };
            crate::config::load(&sources).unwrap()
        };
        let (before, after) = (loaded(""), loaded(one));
        let mut agreement = before.agreement();
        assert_ne!(agreement, after.agreement());
        agreement.set_rules(&after.settings.orchestrator.policy);
        assert_eq!(agreement, after.agreement());
    }

    #[test]
    fn a_variable_counts_only_where_it_is_set() {
        let with = agreement(&[], &[("models.key", "d1")]);
        let without = agreement(&[("models.key", "null")], &[]);
        assert!(without.differences(&with).is_empty());
        assert_eq!(with.differences(&without).len(), 1);
        assert_eq!(with.differences(&agreement(&[], &[("models.key", "d2")])).len(), 1);
    }
}
