//! What a workspace's own file may do: tighten, never loosen.
//!
//! A workspace may be anybody's, a clone from the network for example. Its file can lower a limit,
//! switch something off, choose the stricter profile, and add rules that ask or block; where the
//! person's own settings are stricter still, those stay. Next: `agreement`.

use std::path::Path;

use toml::{Table, Value};

use super::layers::{self, Layers, Origin};
use super::settings::Settings;
use crate::exit::usage;

/// How a key can be tightened.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// To this value.
    To(&'static str),
    /// To a smaller number.
    Lower,
    /// To false.
    Off,
    /// By rules whose verdict is `ask` or `block`.
    StricterRules,
}

/// The keys that can be tightened; every other one is refused.
const KEYS: &[(&str, Way)] = &[
    ("profile", Way::To("production")),
    ("orchestrator.profile", Way::To("production")),
    ("orchestrator.agent.max_*", Way::Lower),
    ("orchestrator.calls.timeout_ms", Way::Lower),
    ("orchestrator.calls.approval_timeout_ms", Way::Lower),
    ("orchestrator.calls.max_attempts", Way::Lower),
    ("orchestrator.calls.concurrency", Way::Lower),
    ("orchestrator.calls.concurrency_changing", Way::Lower),
    ("orchestrator.calls.concurrency_total", Way::Lower),
    ("orchestrator.calls.concurrency_changing_total", Way::Lower),
    ("orchestrator.calls.rate", Way::Lower),
    ("orchestrator.calls.rate_changing", Way::Lower),
    ("orchestrator.calls.result_limit", Way::Lower),
    ("orchestrator.policy.rules", Way::StricterRules),
    ("telemetry.capture_content", Way::Off),
];

/// Lays the stricter part of a workspace's `table` over `layers`.
///
/// # Errors
/// A key that cannot be tightened, or a value that is no tightening by its kind.
pub(crate) fn overlay(layers: &mut Layers, table: &Table, source: &Path) -> anyhow::Result<()> {
    let origin = Origin::Workspace(source.to_owned());
    let defaults = Settings::default_table();
    let mut leaves = Vec::new();
    layers::collect(table, "", &mut |key, value| leaves.push((key, value.clone())));
    for (key, value) in leaves {
        let Some(way) = way(&key) else {
            return Err(refuse(&key, source, "it is not among the keys that can be tightened"));
        };
        let path: Vec<&str> = key.split('.').collect();
        let current = layers.get(&path).or_else(|| layers::lookup(&defaults, &path));
        match stricter(way, current, value) {
            Ok(Some(value)) => layers.set(&path, value, &origin),
            Ok(None) => {}
            Err(why) => return Err(refuse(&key, source, why)),
        }
    }
    Ok(())
}

fn way(key: &str) -> Option<Way> {
    let matches = |pattern: &str| match pattern.strip_suffix('*') {
        Some(prefix) => key.starts_with(prefix),
        None => key == pattern,
    };
    KEYS.iter().find(|(pattern, _)| matches(pattern)).map(|(_, way)| *way)
}

/// The value to set, if `wanted` is stricter than `current`.
fn stricter(
    way: Way,
    current: Option<&Value>,
    wanted: Value,
) -> Result<Option<Value>, &'static str> {
    match (way, &wanted) {
        (Way::To(strict), Value::String(text)) => Ok((text == strict).then_some(wanted)),
        (Way::Lower, Value::Integer(number)) => {
            // Zero means "no bound" where a bound is optional, and no number is stricter than none.
            let bound = current.and_then(Value::as_integer).filter(|bound| *bound > 0);
            let is_lower = *number > 0 && bound.is_none_or(|bound| *number < bound);
            Ok(is_lower.then_some(wanted))
        }
        (Way::Off, Value::Boolean(flag)) => Ok((!flag).then_some(wanted)),
        (Way::StricterRules, Value::Array(rules)) => {
            let is_strict = |rule: &Value| {
                matches!(rule.get("verdict").and_then(Value::as_str), Some("ask" | "block"))
            };
            if !rules.iter().all(is_strict) {
                return Err("a rule here can only `ask` or `block`");
            }
            let before = current.and_then(Value::as_array).cloned().unwrap_or_default();
            Ok(Some(Value::Array(before.into_iter().chain(rules.clone()).collect())))
        }
        _ => Err("its value is of another type"),
    }
}

fn refuse(key: &str, source: &Path, why: &str) -> anyhow::Error {
    let file = source.display();
    usage(format!(
        "{file}: a file in the workspace can only tighten, and `{key}` would not: {why}; put it into \
         your own configuration, or trust this file with --config {file}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tightened(before: &str, workspace: &str) -> anyhow::Result<Table> {
        let mut layers = Layers::default();
        layers.overlay(before.parse().unwrap(), &Origin::File("/home/callboard.toml".into()));
        overlay(&mut layers, &workspace.parse().unwrap(), Path::new("/w/callboard.toml"))?;
        Ok(layers.table().clone())
    }

    fn table(text: &str) -> Table {
        text.parse().unwrap()
    }

    #[test]
    fn numbers_only_go_down() {
        let before = "[orchestrator.calls]\nmax_attempts = 2\ntimeout_ms = 1000";
        let wanted = "[orchestrator.calls]\nmax_attempts = 5\ntimeout_ms = 500\nconcurrency = 4";
        let expected =
            table("[orchestrator.calls]\nmax_attempts = 2\ntimeout_ms = 500\nconcurrency = 4");
        assert_eq!(tightened(before, wanted).unwrap(), expected);
        // 100,000 is above the default of 30,000, which holds where nothing was set.
        assert_eq!(
            tightened("", "[orchestrator.calls]\ntimeout_ms = 100000").unwrap(),
            Table::new()
        );
    }

    #[test]
    fn the_profile_only_gets_stricter() {
        let production = table("profile = 'production'");
        assert_eq!(tightened("", "profile = 'production'").unwrap(), production);
        assert_eq!(
            tightened("profile = 'production'", "profile = 'development'").unwrap(),
            production
        );
    }

    #[test]
    fn rules_are_added_and_none_can_allow() {
        let before = "[[orchestrator.policy.rules]]\ntool = 'a'\nverdict = 'allow'";
        let more = "[[orchestrator.policy.rules]]\ntool = 'a'\nverdict = 'block'";
        let both = tightened(before, more).unwrap();
        assert_eq!(both, table(&format!("{before}\n{more}")));
        let error = tightened("", before).unwrap_err().to_string();
        assert!(error.contains("can only `ask` or `block`"), "{error}");
        let without = "[[orchestrator.policy.rules]]\ntool = 'a'";
        assert!(tightened("", without).is_err());
    }

    #[test]
    fn every_other_key_is_refused_by_name_with_a_way_out() {
        let error = tightened("", "[orchestrator.models.openai]\nbase_url = 'http://evil'");
        let error = error.unwrap_err().to_string();
        assert!(error.contains("`orchestrator.models.openai.base_url`"), "{error}");
        assert!(error.contains("--config /w/callboard.toml"), "{error}");
    }
}
