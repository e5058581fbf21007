//! The catalog as the JSON that clients get.

use callboard_proto::agent::{CatalogTool, ToolInstance};
use serde::Serialize;

use super::raw::Raw;

/// A tool of the catalog.
#[derive(Debug, Serialize)]
pub(crate) struct ToolJson<'a> {
    name: &'a str,
    service: &'a str,
    team: &'a str,
    version: &'a str,
    description: &'a str,
    input_schema: Raw<'a>,
    output_schema: Option<Raw<'a>>,
    annotations: AnnotationsJson,
    instances: Vec<InstanceJson<'a>>,
    withheld: &'a str,
    examples: Vec<ExampleJson<'a>>,
}

#[derive(Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "MCP's annotations are four independent claims")]
struct AnnotationsJson {
    read_only: bool,
    destructive: bool,
    idempotent: bool,
    open_world: bool,
}

#[derive(Debug, Serialize)]
struct InstanceJson<'a> {
    id: &'a str,
    state: &'a str,
    in_flight: u32,
}

#[derive(Debug, Serialize)]
struct ExampleJson<'a> {
    request: &'a str,
    arguments: Raw<'a>,
}

impl<'a> From<&'a CatalogTool> for ToolJson<'a> {
    fn from(tool: &'a CatalogTool) -> Self {
        let examples = tool.examples.iter().map(|example| ExampleJson {
            request: &example.request,
            arguments: Raw::new(&example.arguments),
        });
        Self {
            name: &tool.name,
            service: &tool.service,
            team: &tool.team,
            version: &tool.version,
            description: &tool.description,
            input_schema: Raw::new(&tool.input_schema),
            output_schema: Raw::optional(&tool.output_schema),
            annotations: AnnotationsJson {
                read_only: tool.read_only,
                destructive: tool.destructive,
                idempotent: tool.idempotent,
                open_world: tool.open_world,
            },
            instances: tool.instances.iter().map(InstanceJson::from).collect(),
            withheld: &tool.withheld,
            examples: examples.collect(),
        }
    }
}

impl<'a> From<&'a ToolInstance> for InstanceJson<'a> {
    fn from(instance: &'a ToolInstance) -> Self {
        Self { id: &instance.id, state: &instance.state, in_flight: instance.in_flight }
    }
}
