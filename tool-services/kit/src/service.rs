//! A service: its name, its version and its tools. Whether they are well described is checked in
//! `descriptor.rs` when the service starts.

use std::sync::Arc;

use callboard_proto::tool as wire;

use crate::{
    Tool,
    descriptor::{self, DescriptorError},
    served::{Served, Typed},
};

/// A set of tools that is served together, as one process.
#[derive(Clone, Debug)]
pub struct Service {
    name: String,
    version: String,
    tools: Vec<(Arc<dyn Served>, serde_json::Value)>,
}

impl Service {
    /// A service without tools. `name` is `[a-z0-9_.-]{1,64}`, `version` is semver.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into(), tools: Vec::new() }
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool<T: Tool>(mut self, tool: T) -> Self {
        let schema = descriptor::schema::<T::Args>();
        self.tools.push((Arc::new(Typed::new(tool)), schema));
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

    /// What the service says about itself on the wire.
    ///
    /// # Errors
    /// A [`DescriptorError`] names the first tool that is badly described.
    pub fn describe(&self) -> Result<wire::DescribeResponse, DescriptorError> {
        descriptor::service(self)
    }

    /// Whether any tool changes something.
    pub(crate) fn changes(&self) -> bool {
        self.tools.iter().any(|(tool, _)| !tool.about().behaviour.read_only)
    }

    pub(crate) fn tools(&self) -> impl Iterator<Item = (&Arc<dyn Served>, &serde_json::Value)> {
        self.tools.iter().map(|(tool, schema)| (tool, schema))
    }
}
