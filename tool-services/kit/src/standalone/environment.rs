//! Settings of a program of its own, read from variables. Each fault names its variable and what
//! would be right; secrets are only ever named by file.

use std::{path::PathBuf, str::FromStr, time::Duration};

use callboard_discovery::{
    Address, Config as Discovery, InstanceId, Login,
    transport::{Credentials, DeploymentToken, TokenError},
};
use callboard_telemetry::Config as Telemetry;

use crate::{Config, Workspace};

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
    let password =
        std::fs::read_to_string(path).map_err(|source| SettingError::File { variable, source })?;
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
