//! Settings of a program of its own, read from variables. Each fault names its variable and what
//! would be right; secrets are only ever named by file.

use std::{
    path::{Path, PathBuf},
    str::FromStr,
    time::Duration,
};

use callboard_discovery::{
    Address, Config as Discovery, InstanceId, Login,
    small_file::{self, SECRET_LIMIT},
    transport::{Credentials, DeploymentToken, TokenError},
};
use callboard_telemetry::Config as Telemetry;

use crate::{Config, StoreSettings, Workspace};

const PREFIX: &str = "/callboard";
const LEASE: Duration = Duration::from_secs(10);

/// A variable that cannot work.
#[derive(Debug, thiserror::Error)]
pub(super) enum SettingError {
    #[error("set CALLBOARD_ETCD (endpoints) or CALLBOARD_DIRECTORY (a folder), one of the two")]
    NoDiscovery,
    #[error("set CALLBOARD_LISTEN to tcp:HOST:PORT or unix:/PATH")]
    NoListen,
    #[error("{variable} cannot be {value:?}: {expected}")]
    Value { variable: &'static str, value: String, expected: &'static str },
    #[error("{variable} names a file that cannot be read")]
    File { variable: &'static str, source: std::io::Error },
    #[error("CALLBOARD_TOKEN_FILE holds no token")]
    Token(#[from] TokenError),
}

/// Everything that the program needs to know.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) serve: Config,
    pub(super) discovery: Discovery,
    pub(super) telemetry: Telemetry,
}

impl Settings {
    /// Reads the variables; an empty one counts as unset.
    pub(super) fn read(
        variable: impl Fn(&str) -> Option<String>,
        instance: &InstanceId,
    ) -> Result<Self, SettingError> {
        let get = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let discovery = discovery(&get)?;
        let listen = match (get("CALLBOARD_LISTEN"), &discovery) {
            (Some(value), _) => address("CALLBOARD_LISTEN", value)?,
            (None, Discovery::Directory { path }) => {
                Address::Unix(path.join(format!("{instance}.sock")))
            }
            (None, Discovery::Etcd { .. }) => return Err(SettingError::NoListen),
        };
        let mut serve = Config::new(listen);
        serve.instance = Some(instance.clone());
        serve.advertise = get("CALLBOARD_ADVERTISE")
            .map(|value| address("CALLBOARD_ADVERTISE", value))
            .transpose()?;
        if let Some(path) = get("CALLBOARD_TOKEN_FILE") {
            let token = DeploymentToken::read(&PathBuf::from(path))?;
            serve.credentials = Credentials { token: Some(token) };
        }
        if let Some(team) = get("CALLBOARD_TEAM") {
            serve.team = team;
        }
        serve.zone = get("CALLBOARD_ZONE").unwrap_or_default();
        serve.workspaces =
            get("CALLBOARD_WORKSPACE").map(workspaces).transpose()?.unwrap_or_default();
        serve.store = get("CALLBOARD_STORE").map(StoreSettings::new);
        if let Some(capacity) = number(&get, "CALLBOARD_CAPACITY", "a whole number from 1")? {
            serve.capacity = capacity;
        }
        if let Some(seconds) = number(&get, "CALLBOARD_DRAIN_SECONDS", "whole seconds")? {
            serve.drain = Duration::from_secs(seconds);
        }
        Ok(Self { serve, discovery, telemetry: telemetry(&get)? })
    }
}

fn discovery(get: &impl Fn(&str) -> Option<String>) -> Result<Discovery, SettingError> {
    match (get("CALLBOARD_DIRECTORY"), get("CALLBOARD_ETCD")) {
        (Some(path), None) => Ok(Discovery::Directory { path: path.into() }),
        (None, Some(endpoints)) => {
            let endpoints = endpoints.split(',').map(|endpoint| endpoint.trim().to_owned());
            Ok(Discovery::Etcd {
                endpoints: endpoints.collect(),
                prefix: get("CALLBOARD_ETCD_PREFIX").unwrap_or_else(|| PREFIX.to_owned()),
                lease_ttl: LEASE,
                login: login(get)?,
            })
        }
        (Some(_), Some(_)) | (None, None) => Err(SettingError::NoDiscovery),
    }
}

fn login(get: &impl Fn(&str) -> Option<String>) -> Result<Option<Login>, SettingError> {
    let Some(user) = get("CALLBOARD_ETCD_USER") else { return Ok(None) };
    let variable = "CALLBOARD_ETCD_PASSWORD_FILE";
    let path = get(variable).ok_or(SettingError::Value {
        variable,
        value: String::new(),
        expected: "a user needs the file with the password",
    })?;
    let password = small_file::read(Path::new(&path), SECRET_LIMIT)
        .map_err(|source| SettingError::File { variable, source })?;
    Ok(Some(Login { user, password: password.trim().to_owned() }))
}

fn telemetry(get: &impl Fn(&str) -> Option<String>) -> Result<Telemetry, SettingError> {
    let mut telemetry = Telemetry::default();
    if let Some(level) = get("CALLBOARD_LOG") {
        telemetry.level = level;
    }
    telemetry.log_dir = get("CALLBOARD_LOG_DIR").map(PathBuf::from);
    telemetry.otlp_endpoint = get("OTEL_EXPORTER_OTLP_ENDPOINT");
    if let Some(sample) = number(get, "CALLBOARD_TRACE_SAMPLE", "a share from 0 to 1")? {
        telemetry.sample = sample;
    }
    Ok(telemetry)
}

fn address(variable: &'static str, value: String) -> Result<Address, SettingError> {
    let expected = "use tcp:HOST:PORT or unix:/PATH";
    value.parse().map_err(|_| SettingError::Value { variable, value, expected })
}

fn number<T: FromStr>(
    get: &impl Fn(&str) -> Option<String>,
    variable: &'static str,
    expected: &'static str,
) -> Result<Option<T>, SettingError> {
    let Some(value) = get(variable) else { return Ok(None) };
    match value.trim().parse() {
        Ok(number) => Ok(Some(number)),
        Err(_) => Err(SettingError::Value { variable, value, expected }),
    }
}

fn workspaces(value: String) -> Result<Vec<Workspace>, SettingError> {
    let mut workspaces = Vec::new();
    for entry in value.split(',') {
        match entry.split_once('=') {
            Some((id, path)) if !id.trim().is_empty() && path.trim().starts_with('/') => {
                let (id, path) = (id.trim().to_owned(), PathBuf::from(path.trim()));
                workspaces.push(Workspace { id, path });
            }
            Some(_) | None => {
                let (variable, expected) = ("CALLBOARD_WORKSPACE", "use ID=/PATH, comma separated");
                return Err(SettingError::Value { variable, value, expected });
            }
        }
    }
    Ok(workspaces)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Settings, String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Settings::read(variable, &"calculator-1".into()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_directory_is_enough() {
        let settings = read(&[("CALLBOARD_DIRECTORY", "/run/c"), ("CALLBOARD_ETCD", " ")]).unwrap();
        let serve = settings.serve;
        assert_eq!(serve.listen, Address::Unix("/run/c/calculator-1.sock".into()));
        assert_eq!(
            (serve.team.as_str(), serve.capacity, serve.drain.as_secs()),
            ("default", 256, 20)
        );
        assert!(serve.workspaces.is_empty() && serve.credentials.token.is_none());
        assert_eq!(settings.telemetry, Telemetry::default());
    }

    #[test]
    fn every_variable_is_read() {
        let folder = std::env::temp_dir().join(format!("callboard-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir(&folder).unwrap();
        let (token, password) = (folder.join("token"), folder.join("password"));
        std::fs::write(&token, "0123456789abcdef\n").unwrap();
        std::fs::write(&password, "secret\n").unwrap();
        let settings = read(&[
            ("CALLBOARD_ETCD", "http://a:2379, http://b:2379"),
            ("CALLBOARD_ETCD_PREFIX", "/test"),
            ("CALLBOARD_ETCD_USER", "tools"),
            ("CALLBOARD_ETCD_PASSWORD_FILE", password.to_str().unwrap()),
            ("CALLBOARD_LISTEN", "tcp:0.0.0.0:9000"),
            ("CALLBOARD_ADVERTISE", "tcp:calculator:9000"),
            ("CALLBOARD_TOKEN_FILE", token.to_str().unwrap()),
            ("CALLBOARD_TEAM", "finance"),
            ("CALLBOARD_ZONE", "eu-1"),
            ("CALLBOARD_WORKSPACE", "w1=/srv/one, w2=/srv/two"),
            ("CALLBOARD_STORE", "/var/lib/tool"),
            ("CALLBOARD_CAPACITY", "8"),
            ("CALLBOARD_DRAIN_SECONDS", "5"),
            ("CALLBOARD_LOG", "debug"),
            ("CALLBOARD_LOG_DIR", "/var/log/callboard"),
            ("CALLBOARD_TRACE_SAMPLE", "0.1"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4317"),
        ])
        .unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let Discovery::Etcd { endpoints, prefix, login, .. } = settings.discovery else { panic!() };
        let login = login.unwrap();
        assert_eq!(endpoints, ["http://a:2379", "http://b:2379"]);
        assert_eq!(
            (prefix.as_str(), login.user.as_str(), login.password.as_str()),
            ("/test", "tools", "secret")
        );
        let serve = settings.serve;
        assert_eq!(serve.listen, Address::Tcp("0.0.0.0:9000".into()));
        assert_eq!(serve.advertise, Some(Address::Tcp("calculator:9000".into())));
        assert!(serve.credentials.token.unwrap().matches("0123456789abcdef"));
        assert_eq!((serve.team.as_str(), serve.zone.as_str()), ("finance", "eu-1"));
        let workspace = |id: &str, path: &str| Workspace { id: id.to_owned(), path: path.into() };
        assert_eq!(serve.store, Some(StoreSettings::new("/var/lib/tool")));
        assert_eq!(serve.workspaces, [workspace("w1", "/srv/one"), workspace("w2", "/srv/two")]);
        assert_eq!((serve.capacity, serve.drain), (8, Duration::from_secs(5)));
        let telemetry = settings.telemetry;
        assert_eq!((telemetry.level.as_str(), telemetry.sample), ("debug", 0.1));
        assert_eq!(telemetry.log_dir, Some("/var/log/callboard".into()));
        assert_eq!(telemetry.otlp_endpoint.as_deref(), Some("http://collector:4317"));
    }

    #[test]
    fn a_fault_names_its_variable_and_what_would_be_right() {
        let directory = ("CALLBOARD_DIRECTORY", "/run/c");
        for (variables, expected) in [
            (
                &[][..],
                "set CALLBOARD_ETCD (endpoints) or CALLBOARD_DIRECTORY (a folder), one of the two",
            ),
            (
                &[directory, ("CALLBOARD_ETCD", "http://a:2379")],
                "set CALLBOARD_ETCD (endpoints) or CALLBOARD_DIRECTORY (a folder), one of the two",
            ),
            (
                &[("CALLBOARD_ETCD", "http://a:2379")],
                "set CALLBOARD_LISTEN to tcp:HOST:PORT or unix:/PATH",
            ),
            (
                &[directory, ("CALLBOARD_LISTEN", "9000")],
                "CALLBOARD_LISTEN cannot be \"9000\": use tcp:HOST:PORT or unix:/PATH",
            ),
            (
                &[directory, ("CALLBOARD_CAPACITY", "many")],
                "CALLBOARD_CAPACITY cannot be \"many\": a whole number from 1",
            ),
            (
                &[directory, ("CALLBOARD_WORKSPACE", "/srv")],
                "CALLBOARD_WORKSPACE cannot be \"/srv\": use ID=/PATH, comma separated",
            ),
            (
                &[directory, ("CALLBOARD_TOKEN_FILE", "/nowhere/token")],
                "CALLBOARD_TOKEN_FILE holds no token",
            ),
        ] {
            assert_eq!(read(variables).unwrap_err(), expected);
        }
    }
}
