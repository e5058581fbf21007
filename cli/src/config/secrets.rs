//! Keys whose values are secrets: never in a file, never shown.
//!
//! A configuration names the file that holds a secret (`api_key_file` in place of `api_key`), or the
//! environment gives it. What is shown is a mask; what two processes compare is a digest.
//! Next: `tighten`.

use std::path::Path;

use callboard_discovery::small_file::{self, SECRET_LIMIT};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use toml::Table;

use super::layers::lookup;
use crate::exit::usage;
use crate::place::hex;

/// What is shown in a secret's place.
const MASK: &str = "********";

/// The secrets, each by its path.
const SECRETS: &[&[&str]] = &[
    &["orchestrator", "journal", "url"],
    &["orchestrator", "models", "openai", "api_key"],
    &["discovery", "password"],
    &["gateway", "token"],
];

/// Reads the files that `…_file` keys name in place of secrets, and refuses secrets written out.
///
/// # Errors
/// A secret in the file itself, or a named file that cannot be read.
pub(crate) fn resolve(table: &mut Table, source: &Path) -> anyhow::Result<()> {
    for path in SECRETS {
        let Some((name, parents)) = path.split_last() else { continue };
        let Some(section) = section(table, parents) else { continue };
        let key = path.join(".");
        if section.contains_key(*name) {
            return Err(usage(format!(
                "{}: `{key}` is a secret and does not belong into a file: name the file that holds \
                 it with `{key}_file`, or set {}",
                source.display(),
                variable(path)
            )));
        }
        let Some(file) = section.remove(&format!("{name}_file")) else { continue };
        let Some(file) = file.as_str().filter(|file| !file.is_empty()) else {
            return Err(usage(format!("{}: `{key}_file` is no path", source.display())));
        };
        let text = small_file::read(Path::new(file), SECRET_LIMIT).map_err(|error| {
            usage(format!("{}: `{key}_file`: cannot read {file}: {error}", source.display()))
        })?;
        section.insert((*name).to_owned(), toml::Value::String(text.trim().to_owned()));
    }
    Ok(())
}

/// The secrets in `table`.
pub(crate) fn texts(table: &Table) -> Vec<String> {
    let found = SECRETS.iter().filter_map(|path| lookup(table, path)?.as_str());
    found.filter(|text| !text.is_empty()).map(str::to_owned).collect()
}

/// The value as it may be shown.
pub(crate) fn masked(key: &str, value: &Value) -> Value {
    if is_secret(key) && !value.is_null() { Value::String(MASK.to_owned()) } else { value.clone() }
}

/// Whether a dotted key is a secret.
pub(crate) fn is_secret(key: &str) -> bool {
    SECRETS.iter().any(|path| path.join(".") == key)
}

/// What two processes compare in a secret's place.
pub(crate) fn digest(text: &str) -> String {
    let mut digest = hex(&Sha256::digest(text.as_bytes()));
    digest.truncate(16);
    digest
}

fn section<'t>(table: &'t mut Table, parents: &[&str]) -> Option<&'t mut Table> {
    let mut section = table;
    for parent in parents {
        section = section.get_mut(*parent)?.as_table_mut()?;
    }
    Some(section)
}

fn variable(path: &[&str]) -> String {
    format!("CALLBOARD__{}", path.join("__").to_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_comes_from_the_file_that_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        std::fs::write(&file, " sk-42 \n").unwrap();
        let text = format!("[orchestrator.models.openai]\napi_key_file = {file:?}");
        let mut table: Table = text.parse().unwrap();
        resolve(&mut table, Path::new("callboard.toml")).unwrap();
        let expected: Table = "[orchestrator.models.openai]\napi_key = 'sk-42'".parse().unwrap();
        assert_eq!(table, expected);
    }

    #[test]
    fn a_secret_written_out_is_refused_without_being_repeated() {
        let mut table: Table = "[discovery]\npassword = 'hunter2'".parse().unwrap();
        let error = resolve(&mut table, Path::new("/w/callboard.toml")).unwrap_err().to_string();
        assert!(error.contains("discovery.password_file"), "{error}");
        assert!(error.contains("CALLBOARD__DISCOVERY__PASSWORD"), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }

    #[test]
    fn a_secret_is_masked_and_its_absence_is_not() {
        let key = "orchestrator.models.openai.api_key";
        assert_eq!(masked(key, &Value::String("sk".into())), Value::String(MASK.into()));
        assert_eq!(masked(key, &Value::Null), Value::Null);
        assert_eq!(masked("gateway.listen", &Value::from("x")), Value::from("x"));
    }
}
