//! Where an instance listens, as one text that configuration, keys and logs share:
//! `unix:/path/to.sock` or `tcp:host:port`. Opening and listening is `transport.rs`; next is
//! `instance.rs`.

use std::{
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
};

use serde::{Deserialize, Serialize};

/// A place that a role listens on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Address {
    /// Absolute path of a Unix socket.
    Unix(PathBuf),
    /// `host:port`; the port may be 0 where a free one is wanted.
    Tcp(String),
}

/// Why a text is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no address: {reason}; write unix:/path/to.sock or tcp:host:port")]
pub struct ParseAddressError {
    text: String,
    reason: &'static str,
}

impl Address {
    /// True for a Unix socket.
    pub fn is_unix(&self) -> bool {
        matches!(self, Self::Unix(_))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(host_port) => write!(f, "tcp:{host_port}"),
        }
    }
}

impl FromStr for Address {
    type Err = ParseAddressError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refuse = |reason| Err(ParseAddressError { text: text.to_owned(), reason });
        if let Some(path) = text.strip_prefix("unix:") {
            if !Path::new(path).is_absolute() {
                return refuse("the path of a socket must be absolute");
            }
            return Ok(Self::Unix(PathBuf::from(path)));
        }
        let Some(host_port) = text.strip_prefix("tcp:") else {
            return refuse("it starts with neither unix: nor tcp:");
        };
        let Some((host, port)) = host_port.rsplit_once(':') else {
            return refuse("the port is missing");
        };
        if host.is_empty() {
            return refuse("the host is missing");
        }
        if host.contains(':') && !(host.starts_with('[') && host.ends_with(']')) {
            return refuse("an IPv6 host stands in brackets");
        }
        if port.parse::<u16>().is_err() {
            return refuse("the port is no number from 0 to 65535");
        }
        Ok(Self::Tcp(host_port.to_owned()))
    }
}

impl TryFrom<String> for Address {
    type Error = ParseAddressError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Address> for String {
    fn from(address: Address) -> Self {
        address.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_survive_the_round_trip() {
        for (text, address) in [
            ("unix:/run/callboard/a.sock", Address::Unix("/run/callboard/a.sock".into())),
            ("tcp:127.0.0.1:0", Address::Tcp("127.0.0.1:0".into())),
            ("tcp:[::1]:7000", Address::Tcp("[::1]:7000".into())),
            ("tcp:calculator.team.svc:65535", Address::Tcp("calculator.team.svc:65535".into())),
        ] {
            assert_eq!(text.parse(), Ok(address.clone()));
            assert_eq!(address.to_string(), text);
            let json = serde_json::to_string(&address).unwrap();
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<Address>(&json).unwrap(), address);
        }
    }

    #[test]
    fn what_is_no_address_is_refused_with_its_fault() {
        for (text, fault) in [
            ("", "neither"),
            ("127.0.0.1:80", "neither"),
            ("unix:", "absolute"),
            ("unix:a.sock", "absolute"),
            ("tcp:", "port is missing"),
            ("tcp:host", "port is missing"),
            ("tcp::80", "host is missing"),
            ("tcp:::1:80", "brackets"),
            ("tcp:host:", "no number"),
            ("tcp:host:65536", "no number"),
            ("tcp:host:http", "no number"),
        ] {
            let error = text.parse::<Address>().unwrap_err().to_string();
            assert!(error.contains(fault), "{text}: {error}");
            assert!(error.contains(&format!("`{text}`")), "{error}");
        }
    }
}
