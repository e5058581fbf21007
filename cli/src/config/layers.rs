//! Lays one source of settings over another and remembers where each key came from.
//!
//! Tables are merged key by key; every other value, a list too, is replaced as a whole. What a
//! workspace's own file may do is decided in `tighten`, not here. Next: `environment`.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Built in.
    Default,
    /// A file that the person chose, or the one in the platform's configuration folder.
    File(PathBuf),
    /// The workspace's own file.
    Workspace(PathBuf),
    /// A variable made for this program: `CALLBOARD__SECTION__KEY`.
    Environment(String),
    /// A variable that other programs know too, such as `OPENAI_API_KEY`.
    Convention(&'static str),
    /// An option of the command line.
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => formatter.write_str("default"),
            Self::File(path) | Self::Workspace(path) => write!(formatter, "{}", path.display()),
            Self::Environment(name) => write!(formatter, "environment {name}"),
            Self::Convention(name) => write!(formatter, "environment {name}"),
            Self::Flag(name) => formatter.write_str(name),
        }
    }
}

/// Settings from several sources, the later ones over the earlier.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layers {
    table: Table,
    origins: BTreeMap<String, Origin>,
}

impl Layers {
    /// Lays `table` over what is there.
    pub(crate) fn overlay(&mut self, table: Table, origin: &Origin) {
        merge(&mut self.table, table, "", origin, &mut self.origins);
    }

    /// Sets one key; the tables on the way are made.
    pub(crate) fn set(&mut self, path: &[&str], value: Value, origin: &Origin) {
        self.overlay(nested(path, value), origin);
    }

    /// The merged settings.
    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    /// The value of a key.
    pub(crate) fn get(&self, path: &[&str]) -> Option<&Value> {
        lookup(&self.table, path)
    }

    /// Where a key came from: the key itself, else the nearest one above or below it.
    pub(crate) fn origin(&self, key: &str) -> Option<&Origin> {
        let mut above = key;
        loop {
            if let Some(origin) = self.origins.get(above) {
                return Some(origin);
            }
            let Some((parent, _)) = above.rsplit_once('.') else { break };
            above = parent;
        }
        let below = format!("{key}.");
        let nearest = self.origins.range(below.clone()..).next();
        nearest.filter(|(found, _)| found.starts_with(&below)).map(|(_, origin)| origin)
    }
}

/// A key below another one, quoted where TOML wants it.
pub(crate) fn join(parent: &str, key: &str) -> String {
    let is_bare =
        !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    let key = if is_bare { key.to_owned() } else { format!("{key:?}") };
    if parent.is_empty() { key } else { format!("{parent}.{key}") }
}

/// The value at `path`.
pub(crate) fn lookup<'t>(table: &'t Table, path: &[&str]) -> Option<&'t Value> {
    let (first, rest) = path.split_first()?;
    let value = table.get(*first)?;
    if rest.is_empty() { Some(value) } else { lookup(value.as_table()?, rest) }
}

/// Calls `found` for every value that is no table, and for empty tables.
pub(crate) fn collect<'t>(
    table: &'t Table,
    parent: &str,
    found: &mut dyn FnMut(String, &'t Value),
) {
    for (key, value) in table {
        let key = join(parent, key);
        match value {
            Value::Table(below) if !below.is_empty() => collect(below, &key, found),
            _ => found(key, value),
        }
    }
}

/// Makes relative paths in keys that end with `_file` or `_dir` absolute, beneath `base`.
pub(crate) fn anchor(table: &mut Table, base: &Path) {
    let is_path = |key: &str, text: &str| {
        (key.ends_with("_file") || key.ends_with("_dir"))
            && !text.is_empty()
            && Path::new(text).is_relative()
    };
    for (key, value) in table.iter_mut() {
        match value {
            Value::Table(below) => anchor(below, base),
            Value::String(text) if is_path(key, text) => {
                *text = base.join(&*text).to_string_lossy().into_owned();
            }
            _ => {}
        }
    }
}

/// A table that holds only `value`, at `path`.
pub(crate) fn nested(path: &[&str], value: Value) -> Table {
    let mut inner = value;
    for key in path.iter().skip(1).rev() {
        inner = Value::Table(Table::from_iter([((*key).to_owned(), inner)]));
    }
    path.first().map(|key| ((*key).to_owned(), inner)).into_iter().collect()
}

fn merge(
    under: &mut Table,
    over: Table,
    parent: &str,
    origin: &Origin,
    origins: &mut BTreeMap<String, Origin>,
) {
    for (name, value) in over {
        let key = join(parent, &name);
        match (under.get_mut(&name), value) {
            (Some(Value::Table(below)), Value::Table(above)) => {
                merge(below, above, &key, origin, origins);
            }
            (_, Value::Table(above)) => {
                // Whatever stood here was no table: the new table takes its place.
                origins.remove(&key);
                let mut below = Table::new();
                merge(&mut below, above, &key, origin, origins);
                under.insert(name, Value::Table(below));
            }
            (_, value) => {
                let prefix = format!("{key}.");
                origins.retain(|known, _| !known.starts_with(&prefix));
                origins.insert(key, origin.clone());
                under.insert(name, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Table {
        text.parse().unwrap()
    }

    #[test]
    fn later_layers_win_key_by_key_and_each_key_knows_its_origin() {
        let mut layers = Layers::default();
        let file = Origin::File("/etc/callboard.toml".into());
        layers.overlay(table("profile = 'a'\n[limits]\nsteps = 1\ncalls = 2\nlist = [1]"), &file);
        let variable = Origin::Environment("CALLBOARD__LIMITS__STEPS".into());
        layers.overlay(table("[limits]\nsteps = 9\nlist = [2, 3]"), &variable);
        assert_eq!(
            layers.table(),
            &table("profile = 'a'\n[limits]\nsteps = 9\ncalls = 2\nlist = [2, 3]")
        );
        assert_eq!(layers.origin("limits.steps"), Some(&variable));
        assert_eq!(layers.origin("limits.calls"), Some(&file));
        assert_eq!(layers.origin("limits.list.1"), Some(&variable));
        assert_eq!(layers.origin("nothing"), None);
    }

    #[test]
    fn a_section_that_nobody_knows_still_has_an_origin() {
        let mut layers = Layers::default();
        let file = Origin::File("/f".into());
        layers.overlay(table("[gatway.tls]\ncert = 'x'"), &file);
        assert_eq!(layers.origin("gatway"), Some(&file));
    }

    #[test]
    fn a_value_and_a_table_replace_one_another() {
        let mut layers = Layers::default();
        layers.set(&["a", "b"], Value::Integer(1), &Origin::Flag("--a"));
        layers.overlay(table("a = 5"), &Origin::Flag("--b"));
        assert_eq!(layers.origin("a"), Some(&Origin::Flag("--b")));
        layers.set(&["a", "c"], Value::Integer(2), &Origin::Flag("--c"));
        assert_eq!(layers.table(), &table("[a]\nc = 2"));
    }

    #[test]
    fn keys_that_need_quotes_get_them() {
        assert_eq!(join("models", "gpt-4.1"), "models.\"gpt-4.1\"");
        assert_eq!(join("", "profile"), "profile");
    }

    #[test]
    fn paths_in_a_file_are_read_from_its_folder() {
        let mut settings = table("[a]\ntoken_file = 'secret'\nlog_dir = '/x'\nname = 'y'");
        anchor(&mut settings, Path::new("/etc/callboard"));
        assert_eq!(
            settings,
            table("[a]\ntoken_file = '/etc/callboard/secret'\nlog_dir = '/x'\nname = 'y'")
        );
    }
}
