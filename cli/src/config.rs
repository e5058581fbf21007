//! The effective configuration and where each of its values came from.
//!
//! The composition root alone reads files and environment; each crate owns its section. Sources, the
//! later over the earlier: defaults, variables that other programs know too, the person's file, the
//! workspace's own file (which can only tighten), `CALLBOARD__SECTION__KEY`, flags.
//! Read on in `settings`, `fields`, `check`, `layers`, `environment`, `secrets`, `tighten`, `agreement`, `reload`.

pub(crate) mod settings;
mod fields;
mod check;
pub(crate) mod layers;
pub(crate) mod environment;
mod secrets;
mod tighten;
pub(crate) mod agreement;
pub(crate) mod reload;

use std::path::{Path, PathBuf};

use callboard_discovery::small_file;
use toml::{Table, Value};

use self::agreement::Agreement;
use self::fields::{Fault, FaultKind};
use self::layers::{Layers, Origin};
use self::settings::Settings;
use crate::exit::usage;
use crate::place::Bases;

/// Name of the configuration file in a workspace and in the platform's configuration folder.
const FILE: &str = "callboard.toml";
/// A larger file is no configuration.
const SIZE_LIMIT: u64 = 1 << 20;

/// What the configuration is made from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    /// `--config`: used alone, in place of the platform's and the workspace's file.
    pub(crate) config: Option<PathBuf>,
    /// The workspace, canonical.
    pub(crate) workspace: PathBuf,
    /// Where the platform's file lies.
    pub(crate) bases: Bases,
    /// The environment.
    pub(crate) variables: Vec<(String, String)>,
    /// Keys set by flags: the flag, the key, the value.
    pub(crate) flags: Vec<(&'static str, &'static [&'static str], String)>,
}

/// A configuration that was read and checked.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    /// What was set, and where.
    pub(crate) layers: Layers,
    /// The effective values.
    pub(crate) settings: Settings,
    /// The files that were looked for, whether they are there or not.
    pub(crate) files: Vec<PathBuf>,
}

/// One key as people see it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shown {
    /// The key, dotted.
    pub(crate) key: String,
    /// Its effective value; secrets are masked, `null` = not set.
    pub(crate) value: serde_json::Value,
    /// Where it came from.
    pub(crate) origin: Origin,
}

/// Reads all sources.
///
/// # Errors
/// A file that cannot be read, a key that nobody knows (all of them at once, with the nearest known
/// one and the source), a value that cannot be used, a workspace's file that would loosen something.
pub(crate) fn load(sources: &Sources) -> anyhow::Result<Loaded> {
    let mut layers = Layers::default();
    environment::known(&mut layers, &sources.variables);
    let platform = sources.bases.config_file();
    let own = sources.workspace.join(FILE);
    let files = match &sources.config {
        Some(given) => vec![given.clone()],
        None => platform.clone().into_iter().chain([own.clone()]).collect(),
    };
    match (&sources.config, platform) {
        (Some(given), _) => {
            let Some(table) = read_file(given)? else {
                return Err(usage(format!("--config {}: there is no such file", given.display())));
            };
            layers.overlay(table, &Origin::File(given.clone()));
        }
        (None, Some(path)) => {
            if let Some(table) = read_file(&path)? {
                layers.overlay(table, &Origin::File(path));
            }
        }
        (None, None) => {}
    }
    if sources.config.is_none()
        && let Some(table) = read_file(&own)?
    {
        check_keys(&table, &own)?;
        tighten::overlay(&mut layers, &table, &own)?;
    }
    environment::overlay(&mut layers, &sources.variables, &Settings::default_table())?;
    for (flag, path, text) in &sources.flags {
        layers.set(path, Value::String(text.clone()), &Origin::Flag(flag));
    }
    let settings = typed(layers.table(), Some(&layers))?;
    let faults = check::faults(&settings);
    if !faults.is_empty() {
        return Err(refused(&faults, Some(&layers)));
    }
    Ok(Loaded { layers, settings, files })
}

/// Settings that another process of this program read and handed on.
///
/// # Errors
/// Only when that process is of another version.
pub(crate) fn handed(table: &Table) -> anyhow::Result<Settings> {
    typed(table, None)
}

impl Loaded {
    /// Every key with its effective value and its origin, in the order of the sections.
    pub(crate) fn shown(&self) -> Vec<Shown> {
        let mut shown = Vec::new();
        settings::flatten(&self.settings.shown(), "", &mut |key, value| {
            let origin = self.layers.origin(&key).cloned().unwrap_or(Origin::Default);
            shown.push(Shown { value: secrets::masked(&key, value), key, origin });
        });
        shown
    }

    /// What clients of one stack must agree on.
    pub(crate) fn agreement(&self) -> Agreement {
        Agreement::of(self)
    }
}

/// The secrets that a table of settings holds.
pub(crate) fn secrets_in(table: &Table) -> Vec<String> {
    secrets::texts(table)
}

/// The table of a file; `None` if there is no such file.
fn read_file(path: &Path) -> anyhow::Result<Option<Table>> {
    let text = match small_file::read(path, SIZE_LIMIT) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(usage(format!(
                "cannot read the configuration {}: {error}",
                path.display()
            )));
        }
        Ok(text) => text,
    };
    let mut table: Table = text.parse().map_err(|error: toml::de::Error| {
        usage(format!("{} is no TOML: {error}", path.display()))
    })?;
    let base = std::path::absolute(path).ok().and_then(|path| Some(path.parent()?.to_owned()));
    if let Some(base) = base {
        layers::anchor(&mut table, &base);
    }
    secrets::resolve(&mut table, path)?;
    Ok(Some(table))
}

fn typed(table: &Table, layers: Option<&Layers>) -> anyhow::Result<Settings> {
    fields::read(&Value::Table(table.clone())).map_err(|faults| refused(&faults, layers))
}

/// The error for all faults, each with the source of its key.
fn refused(faults: &[Fault], layers: Option<&Layers>) -> anyhow::Error {
    let lines: Vec<String> = faults
        .iter()
        .map(|fault| {
            // What is wrong with one element of a list was set with the list.
            let key = fault.key.split('[').next().unwrap_or(&fault.key);
            let origin = layers.and_then(|layers| layers.origin(key));
            sentence(fault, &origin.map_or(String::new(), |origin| format!("{origin}: ")))
        })
        .collect();
    usage(lines.join("\n"))
}

/// Names unknown keys of one file before anything else is said about it.
fn check_keys(table: &Table, path: &Path) -> anyhow::Result<()> {
    match fields::read::<Settings>(&Value::Table(table.clone())) {
        Ok(_) => Ok(()),
        Err(faults) => {
            let source = format!("{}: ", path.display());
            let lines: Vec<String> = faults.iter().map(|fault| sentence(fault, &source)).collect();
            Err(usage(lines.join("\n")))
        }
    }
}

/// A fault in words; `source` names where the key stands.
fn sentence(fault: &Fault, source: &str) -> String {
    match &fault.kind {
        FaultKind::Unknown(known) => {
            let name = fault.key.rsplit('.').next().unwrap_or(&fault.key);
            let parent = &fault.key[..fault.key.len() - name.len()];
            match nearest(name, known.iter().copied()) {
                Some(near) => {
                    format!("{source}unknown key `{}`; did you mean `{parent}{near}`?", fault.key)
                }
                None => {
                    format!("{source}unknown key `{}`; known here: {}", fault.key, known.join(", "))
                }
            }
        }
        FaultKind::Invalid(reason) => format!("{source}`{}`: {reason}", fault.key),
    }
}

/// The name nearest to `name`, if any is near.
pub(crate) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    known
        .map(|candidate| (strsim::damerau_levenshtein(name, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len().min(name.len()) / 3)
        .min()
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests;
