//! The section of settings that telemetry owns. The composition root reads files and environment
//! and passes the value; `init.rs` acts on it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::filter::Levels;

/// Settings of one process. The default logs at `info` to standard error and exports nothing.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// What is logged: a level, or directives such as `info,callboard=debug,h2=off`, comma
    /// separated, the longest matching target winning. Default `info`. Spans are not affected.
    pub level: String,
    /// Folder for JSON-lines files, made with mode 0700; each at most 10 MiB, five of them.
    /// Default: no files.
    pub log_dir: Option<PathBuf>,
    /// Where spans and metrics go by OTLP over plaintext gRPC, such as `http://127.0.0.1:4317`.
    /// Default: nowhere; ids exist all the same.
    pub otlp_endpoint: Option<String>,
    /// Share of new traces that are exported, 0 to 1; a trace that comes from elsewhere brings its
    /// own decision. Default 1.
    pub sample: f64,
    /// Whether prompts, arguments and results may be put on spans. Default false.
    pub capture_content: bool,
    /// Whether logs go to standard error, a line each. Default true.
    pub stderr: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            level: "info".to_owned(),
            log_dir: None,
            otlp_endpoint: None,
            sample: 1.0,
            capture_content: false,
            stderr: true,
        }
    }
}

impl Config {
    /// The first part of `level` that is neither a level nor a target with one.
    pub fn wrong_level(&self) -> Option<String> {
        Levels::parse(&self.level).err()
    }
}
