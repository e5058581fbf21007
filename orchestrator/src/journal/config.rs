//! Where the journal is: the section `[orchestrator.journal]`, and what opens either backend.
//!
//! Left to others: everything that a backend does. Next: `sqlite`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::postgres::{self, PostgresJournal};
use super::sqlite::{self, SqliteJournal};
use super::{Inspection, Journal, JournalError};

/// The journal of one machine, in the state folder.
const FILE: &str = "journal.db";

/// The section `[orchestrator.journal]`.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The database of a cluster: `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`, PostgreSQL 14 or
    /// later. A secret: it comes from the environment, or from the file that `url_file` names.
    /// Default none: then the journal is a file in the state folder, held by one process.
    pub url: Option<String>,
    /// PEM file of the CAs that the database's certificate is checked against. Default none: those
    /// that the machine trusts.
    pub ca_file: Option<PathBuf>,
    /// How long an append waits for a database that went away before its session lets go of it and
    /// waits outside, in milliseconds. The run goes on either way. Default 30,000.
    pub patience_ms: Option<u64>,
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.url.as_ref().map(|_| "********");
        f.debug_struct("Config")
            .field("url", &url)
            .field("ca_file", &self.ca_file)
            .field("patience_ms", &self.patience_ms)
            .finish()
    }
}

impl Config {
    fn postgres(&self) -> Option<postgres::Config> {
        let url = self.url.as_deref().filter(|url| !url.trim().is_empty())?;
        let mut config = postgres::Config::new(url);
        config.ca_file.clone_from(&self.ca_file);
        config.patience = self.patience_ms.map_or(config.patience, Duration::from_millis);
        Some(config)
    }

    /// Looks at the settings alone.
    ///
    /// # Errors
    /// `Unusable` where they name no place that a journal could be in.
    pub fn check(&self) -> Result<(), JournalError> {
        match self.postgres() {
            Some(config) => config.check(),
            None if self.ca_file.is_some() => Err(JournalError::Unusable {
                path: "in the state folder".to_owned(),
                what: "`orchestrator.journal.ca_file` is given without a `url`".to_owned(),
            }),
            None => Ok(()),
        }
    }

    /// The password in the URL, which must never be shown.
    pub fn password(&self) -> Option<String> {
        let parsed: tokio_postgres::Config = self.url.as_deref()?.trim().parse().ok()?;
        Some(String::from_utf8_lossy(parsed.get_password()?).into_owned())
    }
}

/// Opens the journal, and makes it where there is none; `state` is the folder of the one in a file.
///
/// # Errors
/// As [`SqliteJournal::open`] and [`PostgresJournal::open`].
pub async fn open(config: &Config, state: &Path) -> Result<Arc<dyn Journal>, JournalError> {
    Ok(match config.postgres() {
        Some(config) => Arc::new(PostgresJournal::open(config).await?),
        None => Arc::new(SqliteJournal::open(sqlite::Config::new(state.join(FILE))).await?),
    })
}

/// Checks the journal without changing it, even while it is in use; `None` if there is none yet.
///
/// # Errors
/// As [`SqliteJournal::inspect`] and [`PostgresJournal::inspect`].
pub async fn inspect(config: &Config, state: &Path) -> Result<Option<Inspection>, JournalError> {
    if let Some(config) = config.postgres() {
        return PostgresJournal::inspect(&config).await;
    }
    let path = state.join(FILE);
    if !path.exists() {
        return Ok(None);
    }
    let damages = SqliteJournal::inspect(&path).await?;
    Ok(Some(Inspection { place: path.display().to_string(), damages, warnings: Vec::new() }))
}

/// Raises the journal's generation by 1, after discovery was restored from a backup, or lost: from
/// then on the journal is this deployment's, named by its id. Gives the new generation. A journal in
/// a file must not be in use.
///
/// # Errors
/// `Unusable` if there is no file, else as [`open`] and [`PostgresJournal::raise_generation`].
pub async fn raise_generation(
    config: &Config,
    state: &Path,
    deployment: &str,
) -> Result<u64, JournalError> {
    if let Some(config) = config.postgres() {
        let journal = PostgresJournal::open(config).await?;
        let raised = journal.raise_generation(deployment).await;
        journal.close().await;
        return raised;
    }
    let path = state.join(FILE);
    if !path.exists() {
        let what = "there is none; name its database or its state folder".to_owned();
        return Err(JournalError::Unusable { path: path.display().to_string(), what });
    }
    let journal = SqliteJournal::open(sqlite::Config::new(path)).await?;
    let raised = journal.raise_generation().await;
    journal.close().await;
    raised
}

#[cfg(test)]
mod tests {
    use super::Config;

    #[test]
    fn a_url_is_shown_to_nobody_and_its_password_is_known() {
        let url = Some("postgresql://cb:p%40ss@db/callboard".to_owned());
        let config = Config { url, ..Config::default() };
        assert!(!format!("{config:?}").contains("p%40ss"));
        assert_eq!(config.password().as_deref(), Some("p@ss"));
        assert_eq!(Config::default().password(), None);
        config.check().unwrap();
    }

    #[test]
    fn settings_that_name_no_place_are_refused() {
        let check = |url: Option<&str>, ca_file: Option<&str>| {
            let config = Config {
                url: url.map(str::to_owned),
                ca_file: ca_file.map(std::path::PathBuf::from),
                ..Config::default()
            };
            config.check().map_err(|error| error.to_string())
        };
        assert_eq!(check(None, None), Ok(()));
        assert!(check(Some("nonsense"), None).unwrap_err().contains("`url` cannot be read"));
        assert!(check(None, Some("/ca.pem")).unwrap_err().contains("without a `url`"));
    }
}
