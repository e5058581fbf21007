//! What the ledger says of its tools on raw gRPC.

use callboard_proto::tool as wire;
use serde_json::json;

use super::{LEDGER_KEEP, LEDGER_TOOLS};

pub(super) fn description() -> wire::DescribeResponse {
    let schema = json!({
        "type": "object",
        "properties": {"note": {"type": "string"}, "work_ms": {"type": "integer"}},
        "required": ["note"], "additionalProperties": false,
    });
    let names = LEDGER_TOOLS.into_iter().chain([LEDGER_KEEP]);
    let tools = names.map(|name| wire::ToolDescriptor {
        name: name.to_owned(),
        description: format!("Notes a line in the ledger ({name}). Not for files."),
        input_schema: schema.to_string(),
        annotations: Some(wire::Annotations {
            read_only: name == "ledger_read",
            destructive: false,
            idempotent: name == "ledger_put",
            open_world: false,
        }),
        reversible: name == LEDGER_KEEP,
        affinity: wire::Affinity::None.into(),
        effects: if name == "ledger_read" {
            vec![wire::Effect::Read.into()]
        } else {
            vec![wire::Effect::Write.into()]
        },
        preflight: wire::PreflightMode::None.into(),
        default_timeout_ms: 60_000,
        cost: wire::CostClass::Cheap.into(),
        examples: vec![wire::Example {
            request: "note a line".to_owned(),
            arguments: json!({"note": "a line"}).to_string(),
        }],
        ..wire::ToolDescriptor::default()
    });
    wire::DescribeResponse {
        service: "ledger".to_owned(),
        version: "0.1.0".to_owned(),
        // Whoever calls compares it with what was registered, and no more.
        digest: "1ed6e2".repeat(10),
        tools: tools.collect(),
    }
}
