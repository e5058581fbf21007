//! A service: its name, its version and its tools.

use std::sync::Arc;

use crate::Tool;

/// A set of tools that is served together, as one process.
#[derive(Debug)]
pub struct Service {
    name: String,
    version: String,
    tools: Vec<String>,
}

impl Service {
    /// A service without tools. `name` is `[a-z0-9_.-]{1,64}`, `version` is semver.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into(), tools: Vec::new() }
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool<T: Tool>(mut self, tool: T) -> Self {
        let tool = Arc::new(tool);
        self.tools.push(tool.about().name);
        self
    }

    /// The service's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The service's version.
    pub fn version(&self) -> &str {
        &self.version
    }
}
