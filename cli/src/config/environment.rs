//! Settings from environment variables.
//!
//! `CALLBOARD__SECTION__KEY=value` sets `section.key`; the value is TOML where it parses as TOML and
//! the default is no text, else it is taken as text. The variables that other programs know too
//! (`OPENAI_API_KEY`, `OTEL_EXPORTER_OTLP_ENDPOINT`) are read in `known`. Next: `tighten`.

use toml::{Table, Value};

use super::layers::{Layers, Origin, lookup};
use crate::exit::usage;

const PREFIX: &str = "CALLBOARD__";

/// The environment as the program was started with it; what is no UTF-8 is left out.
pub(crate) fn of_process() -> Vec<(String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// Lays the variables of this program over `layers`.
///
/// # Errors
/// A name with an empty part.
pub(crate) fn overlay(
    layers: &mut Layers,
    variables: &[(String, String)],
    defaults: &Table,
) -> anyhow::Result<()> {
    let mut ours: Vec<_> = variables.iter().filter(|(name, _)| name.starts_with(PREFIX)).collect();
    ours.sort();
    for (name, text) in ours {
        let path = name[PREFIX.len()..].to_ascii_lowercase();
        let path: Vec<&str> = path.split("__").collect();
        if path.iter().any(|part| part.is_empty()) {
            return Err(usage(format!(
                "the environment variable {name} names no key: write CALLBOARD__SECTION__KEY"
            )));
        }
        let wants_text = matches!(lookup(defaults, &path), Some(Value::String(_)));
        let value = if wants_text { Value::String(text.clone()) } else { value_of(text) };
        layers.set(&path, value, &Origin::Environment(name.clone()));
    }
    Ok(())
}

/// The variables that other programs know too, and the keys that they set where nothing of ours does.
const KNOWN: &[(&str, &[&str])] = &[
    ("OTEL_EXPORTER_OTLP_ENDPOINT", &["telemetry", "otlp_endpoint"]),
    ("OPENAI_API_KEY", &["orchestrator", "models", "openai", "api_key"]),
    ("OPENAI_BASE_URL", &["orchestrator", "models", "openai", "base_url"]),
    ("OLLAMA_HOST", &["orchestrator", "models", "ollama", "base_url"]),
];

/// Lays the variables that other programs know too over `layers`: call it before any other source.
pub(crate) fn known(layers: &mut Layers, variables: &[(String, String)]) {
    for (name, path) in KNOWN {
        let found = variables.iter().find(|(known, value)| known == name && !value.is_empty());
        if let Some((_, value)) = found {
            // Ollama's own variable mostly holds `host:port` alone.
            let is_bare = *name == "OLLAMA_HOST" && !value.contains("://");
            let value = if is_bare { format!("http://{value}") } else { value.clone() };
            layers.set(path, Value::String(value), &Origin::Convention(name));
        }
    }
}

fn value_of(text: &str) -> Value {
    match format!("value = {text}").parse::<Table>() {
        Ok(mut table) if table.len() == 1 => match table.remove("value") {
            Some(Value::Datetime(_)) | None => Value::String(text.to_owned()),
            Some(value) => value,
        },
        Ok(_) | Err(_) => Value::String(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layered(variables: &[(&str, &str)], defaults: &str) -> anyhow::Result<Table> {
        let variables: Vec<(String, String)> =
            variables.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        let mut layers = Layers::default();
        known(&mut layers, &variables);
        overlay(&mut layers, &variables, &defaults.parse().unwrap())?;
        Ok(layers.table().clone())
    }

    #[test]
    fn a_variable_sets_the_key_that_it_spells() {
        let table = layered(
            &[
                ("CALLBOARD__ORCHESTRATOR__LIMITS__STEPS", "4"),
                ("CALLBOARD__GATEWAY__LISTEN", "127.0.0.1:0"),
                ("CALLBOARD__TELEMETRY__CAPTURE_CONTENT", "true"),
                ("CALLBOARD__FILES__DENY", "['a', 'b']"),
                ("CALLBOARD_TOKEN", "unrelated"),
                ("PATH", "/bin"),
            ],
            "",
        )
        .unwrap();
        let expected: Table =
            "[orchestrator.limits]\nsteps = 4\n[gateway]\nlisten = '127.0.0.1:0'\n\
             [telemetry]\ncapture_content = true\n[files]\ndeny = ['a', 'b']"
                .parse()
                .unwrap();
        assert_eq!(table, expected);
    }

    #[test]
    fn text_stays_text_where_the_default_is_text() {
        let table = layered(&[("CALLBOARD__DISCOVERY__PREFIX", "42")], "[discovery]\nprefix = 'x'");
        assert_eq!(table.unwrap(), "[discovery]\nprefix = '42'".parse::<Table>().unwrap());
    }

    #[test]
    fn a_value_cannot_smuggle_in_another_key() {
        let table = layered(&[("CALLBOARD__A", "1\nb = 2")], "").unwrap();
        assert_eq!(table["a"], Value::String("1\nb = 2".into()));
        assert_eq!(table.len(), 1);
    }

    #[test]
    fn our_own_variable_beats_the_one_of_other_programs() {
        let table = layered(
            &[
                ("CALLBOARD__ORCHESTRATOR__MODELS__OPENAI__BASE_URL", "http://ours"),
                ("OPENAI_BASE_URL", "http://theirs"),
            ],
            "",
        );
        let expected = "[orchestrator.models.openai]\nbase_url = 'http://ours'".parse::<Table>();
        assert_eq!(table.unwrap(), expected.unwrap());
    }

    #[test]
    fn a_name_with_an_empty_part_is_refused() {
        let error = layered(&[("CALLBOARD__A____B", "1")], "").unwrap_err();
        assert!(error.to_string().contains("CALLBOARD__A____B"), "{error}");
    }
}
