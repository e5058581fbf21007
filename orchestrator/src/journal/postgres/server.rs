//! Where the server is, and connections to it that are set up as the journal needs them.
//!
//! Left to others: what is said over them. Next: `schema`.

use std::time::Duration;

use tokio::time::timeout;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres::{Client, Connection, Socket};
use tokio_util::task::AbortOnDropHandle;

use crate::journal::JournalError;
use crate::journal::fault::Fault;

use super::Config;
use super::tls::{Stream, Tls};

/// How long making a connection may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// How long the kernel waits for a server that acknowledges nothing.
const SILENCE_LIMIT: Duration = Duration::from_secs(10);

/// How long the answer to a statement may take: the server gives up after 10 s.
const ANSWER_LIMIT: Duration = Duration::from_secs(15);

/// How every connection is set up. Commits are durable before they are answered, whatever the
/// server's default; nobody holds a lock for long who does not answer.
const SET_UP: &str = "
SET search_path TO callboard;
SET statement_timeout TO '10s';
SET lock_timeout TO '5s';
SET idle_in_transaction_session_timeout TO '10s';
SET default_transaction_isolation TO 'read committed';
SET client_min_messages TO 'warning';
SELECT set_config('synchronous_commit', 'on', false)
 WHERE current_setting('synchronous_commit') IN ('off', 'local');
";

/// A server that may be connected to.
#[derive(Clone)]
pub(super) struct Server {
    config: tokio_postgres::Config,
    tls: Tls,
    place: String,
}

/// A connection; closed when it is dropped.
pub(super) struct Link {
    pub(super) client: Client,
    _driver: AbortOnDropHandle<()>,
}

impl Link {
    /// True once the server or the network has ended it.
    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }
}

impl Server {
    /// Reads the settings.
    ///
    /// # Errors
    /// `Unusable` where they name no server; it never repeats the URL, which holds a password.
    pub(super) fn new(settings: &Config) -> Result<Self, JournalError> {
        let unusable = |path: &str, what: String| JournalError::Unusable {
            path: path.to_owned(),
            what: format!("`orchestrator.journal`: {what}"),
        };
        let nowhere = |what: &str| unusable("postgresql", what.to_owned());
        // The parser's own errors repeat parts of what they could not read.
        let mut config: tokio_postgres::Config = settings.url.trim().parse().map_err(|_| {
            nowhere(
                "`url` cannot be read; write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, with \
                 special characters percent-encoded",
            )
        })?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(nowhere("`url` names no host"));
        }
        config
            .target_session_attrs(TargetSessionAttrs::ReadWrite)
            .connect_timeout(CONNECT_LIMIT)
            .tcp_user_timeout(SILENCE_LIMIT)
            .keepalives_idle(SILENCE_LIMIT);
        if config.get_ssl_mode() == SslMode::Prefer && settings.ca_file.is_some() {
            // Who names a CA wants it checked.
            config.ssl_mode(SslMode::Require);
        }
        let place = place(&config);
        let tls = Tls::new(settings.ca_file.as_deref())
            .map_err(|what| unusable(&place, format!("`ca_file` cannot be used: {what}")))?;
        Ok(Self { config, tls, place })
    }

    /// Where it is, without user and password: `postgresql://host:port/database`.
    pub(super) fn place(&self) -> &str {
        &self.place
    }

    /// A new connection, named `name` in the server's list.
    ///
    /// # Errors
    /// `Unreachable` if trying again may help, `Other` if not.
    pub(super) async fn connect(&self, name: &str) -> Result<Link, Fault> {
        let connecting = async {
            let mut config = self.config.clone();
            config.application_name(name);
            let (client, connection) = config.connect(self.tls.clone()).await?;
            let driver = AbortOnDropHandle::new(tokio::spawn(drive(connection)));
            client.batch_execute(SET_UP).await?;
            Ok(Link { client, _driver: driver })
        };
        let silent = || Fault::Unreachable("it does not answer in time".to_owned());
        let connected = timeout(CONNECT_LIMIT, connecting).await.unwrap_or_else(|_| Err(silent()));
        connected.map_err(|fault| match fault {
            Fault::Unreachable(text) => Fault::Unreachable(format!("{}: {text}", self.place)),
            other => other,
        })
    }

    /// The error of opening a journal that met `fault`.
    pub(super) fn opening(&self, fault: Fault) -> JournalError {
        match fault {
            Fault::Unreachable(text) => JournalError::Unreachable(text),
            Fault::Full(text) => JournalError::Full(text),
            Fault::Write(what) | Fault::Damaged(what) | Fault::Busy(what) | Fault::Other(what) => {
                JournalError::Unusable { path: self.place.clone(), what }
            }
        }
    }
}

/// Moves what is said over a connection, until it ends.
async fn drive(connection: Connection<Socket, Stream>) {
    if let Err(error) = connection.await {
        tracing::debug!(%error, "connection to the journal's server ended");
    }
}

/// Waits for a statement's answer, but not for ever.
pub(super) async fn within_limit<T, E: From<Fault>>(
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let silent = || Fault::Unreachable("the journal's server does not answer in time".to_owned());
    timeout(ANSWER_LIMIT, work).await.unwrap_or_else(|_| Err(silent().into()))
}

fn place(config: &tokio_postgres::Config) -> String {
    let ports = config.get_ports();
    let mut places = Vec::new();
    for (index, host) in config.get_hosts().iter().enumerate() {
        let port = ports.get(index).or(ports.first()).copied().unwrap_or(5432);
        places.push(match host {
            Host::Tcp(host) if host.contains(':') => format!("[{host}]:{port}"),
            Host::Tcp(host) => format!("{host}:{port}"),
            Host::Unix(path) => format!("{}:{port}", path.display()),
        });
    }
    if places.is_empty() {
        places.extend(config.get_hostaddrs().iter().map(ToString::to_string));
    }
    let database = config.get_dbname().or(config.get_user()).unwrap_or_default();
    format!("postgresql://{}/{database}", places.join(","))
}

#[cfg(test)]
mod tests;
