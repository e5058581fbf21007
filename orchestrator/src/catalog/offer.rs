//! What a service says it offers, checked tool by tool: one bad tool is withheld, with the reason
//! that people see, and the others are not touched.
//!
//! Pure. Which instances serve a tool, and whose a name is, is decided in `view`.

use std::sync::Arc;
use std::time::Duration;

use callboard_proto::tool::{
    Affinity, DescribeResponse, Effect as WireEffect, PreflightMode, ToolDescriptor,
};
use prost::Message as _;
use sha2::{Digest, Sha256};

use super::tool::{Annotations, AnsweredBy, Descriptor};
use crate::call::policy::Effect;
use crate::call::schema;
use crate::digest::hex;

/// Tools of one service.
const MAX_TOOLS: usize = 256;
/// Bytes of a description.
const MAX_DESCRIPTION: usize = 4 * 1024;
/// Characters of a name.
const MAX_NAME: usize = 64;
/// Examples of a tool that are kept, and bytes of one of them.
const MAX_EXAMPLES: usize = 16;
const MAX_EXAMPLE: usize = 4 * 1024;
/// The longest that a tool may ask to be given.
const MAX_TIMEOUT: Duration = Duration::from_hours(1);

/// Whose offer it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) team: String,
    pub(super) service: String,
    /// Digest under which its instances register it.
    pub(super) digest: String,
}

/// What a service offers.
#[derive(Clone, Debug, Default)]
pub(super) struct Offer {
    pub(super) tools: Vec<Offered>,
}

/// A tool, and why it is withheld; empty if it is not.
#[derive(Clone, Debug)]
pub(super) struct Offered {
    pub(super) descriptor: Arc<Descriptor>,
    pub(super) withheld: String,
}

/// Why a whole service is withheld.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Problem {
    /// It did not answer; the words name no address.
    #[error("it does not describe itself: {0}")]
    Silent(String),
    /// It says that it is another one.
    #[error("it registered as `{registered}` and calls itself `{said}`")]
    OtherName { registered: String, said: String },
    /// What it says is not what it registered.
    #[error("what it offers is not what it registered (digest {said} instead of {registered})")]
    OtherDigest { registered: String, said: String },
    /// It offers more than anybody can choose from.
    #[error("it offers {0} tools, {MAX_TOOLS} are allowed")]
    TooMany(usize),
}

/// Checks what a service says.
pub(super) fn check(
    key: &Key,
    response: DescribeResponse,
    is_trusted: bool,
) -> Result<Offer, Problem> {
    if response.service != key.service {
        let said = clean(&response.service, MAX_NAME);
        return Err(Problem::OtherName { registered: key.service.clone(), said });
    }
    if response.digest != key.digest {
        let said = clean(&response.digest, MAX_NAME);
        return Err(Problem::OtherDigest { registered: key.digest.clone(), said });
    }
    if response.tools.len() > MAX_TOOLS {
        return Err(Problem::TooMany(response.tools.len()));
    }
    let mut tools: Vec<Offered> = Vec::with_capacity(response.tools.len());
    for tool in response.tools {
        let mut offered = offered(key, &response.version, tool, is_trusted);
        let is_known = tools.iter().any(|one| one.descriptor.name == offered.descriptor.name);
        if is_known && offered.withheld.is_empty() {
            "the service offers the same name twice".clone_into(&mut offered.withheld);
        }
        tools.push(offered);
    }
    Ok(Offer { tools })
}

/// Checks one tool.
pub(super) fn offered(key: &Key, version: &str, tool: ToolDescriptor, is_trusted: bool) -> Offered {
    let schema = schema::compile(&tool.input_schema);
    let withheld = fault(&tool, schema.as_ref().err());
    let said = tool.annotations;
    let effects = effects(&tool.effects);
    let descriptor = Descriptor {
        digest: hex(&Sha256::digest(tool.encode_to_vec())),
        name: clean(&tool.name, MAX_NAME),
        service: key.service.clone(),
        team: key.team.clone(),
        version: clean(version, MAX_NAME),
        description: clean(&tool.description, MAX_DESCRIPTION),
        input_schema: match &schema {
            Ok(schema) => Arc::clone(&schema.root),
            Err(_) => Arc::new(shown_schema(&tool.input_schema)),
        },
        schema: schema.ok(),
        output_schema: shown_text(&tool.output_schema),
        annotations: Annotations {
            read_only: said.is_some_and(|said| said.read_only),
            destructive: said.is_none_or(|said| said.destructive),
            idempotent: said.is_some_and(|said| said.idempotent),
            open_world: said.is_none_or(|said| said.open_world),
        },
        is_trusted,
        is_reversible: tool.reversible,
        is_session_bound: tool.affinity() == Affinity::Session,
        removable_effects: self::effects(&tool.removable_effects)
            .into_iter()
            .filter(|effect| effects.contains(effect))
            .collect(),
        effects,
        has_preflight: tool.preflight() != PreflightMode::None,
        timeout: (tool.default_timeout_ms > 0)
            .then(|| Duration::from_millis(tool.default_timeout_ms.into()).min(MAX_TIMEOUT)),
        calls_per_minute: (tool.calls_per_minute > 0).then_some(tool.calls_per_minute),
        result_chars: usize::try_from(tool.result_chars)
            .ok()
            .filter(|chars| *chars > 0)
            .map(|chars| chars.min(MAX_RESULT_CHARS)),
        examples: tool
            .examples
            .into_iter()
            .take(MAX_EXAMPLES)
            .map(|example| (clean(&example.request, MAX_EXAMPLE), example.arguments))
            .collect(),
        answered_by: AnsweredBy::Service,
    };
    Offered { descriptor: Arc::new(descriptor), withheld }
}

/// Characters of a result that a tool may ask a model to see at once.
const MAX_RESULT_CHARS: usize = 16_000;

/// What is wrong with a tool; empty if nothing is.
fn fault(tool: &ToolDescriptor, schema: Option<&schema::Rejected>) -> String {
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.-".contains(c);
    if tool.name.is_empty() || tool.name.len() > MAX_NAME || !tool.name.chars().all(is_name) {
        return "its name must be 1 to 64 of a-z, 0-9, `_`, `.` and `-`".to_owned();
    }
    if tool.description.trim().is_empty() {
        return "it does not say what it is for".to_owned();
    }
    if tool.description.len() > MAX_DESCRIPTION {
        let bytes = tool.description.len();
        return format!("its description has {bytes} bytes, {MAX_DESCRIPTION} are allowed");
    }
    if tool.examples.is_empty() {
        return "it gives no example".to_owned();
    }
    if tool
        .examples
        .iter()
        .any(|example| example.request.len() > MAX_EXAMPLE || example.arguments.len() > MAX_EXAMPLE)
    {
        return format!("an example has more than {MAX_EXAMPLE} bytes");
    }
    if let Some(rejected) = schema {
        return rejected.to_string();
    }
    if tool.output_schema.is_empty() {
        return String::new();
    }
    schema::check(&tool.output_schema)
        .err()
        .map_or_else(String::new, |rejected| format!("its output: {rejected}"))
}

fn effects(wire: &[i32]) -> Vec<Effect> {
    let mut effects: Vec<Effect> = wire
        .iter()
        .filter_map(|&number| match WireEffect::try_from(number) {
            Ok(WireEffect::Read) => Some(Effect::Read),
            Ok(WireEffect::Write) => Some(Effect::Write),
            Ok(WireEffect::Execute) => Some(Effect::Execute),
            Ok(WireEffect::Network) => Some(Effect::Network),
            Ok(WireEffect::Unspecified) | Err(_) => None,
        })
        .collect();
    effects.sort_unstable();
    effects.dedup();
    effects
}

/// A schema that is not worked with, for people; null if it is too large or no JSON.
fn shown_schema(text: &str) -> serde_json::Value {
    if text.len() > schema::MAX_BYTES {
        return serde_json::Value::Null;
    }
    serde_json::from_str(text).unwrap_or_default()
}

fn shown_text(schema: &str) -> String {
    if schema.len() > schema::MAX_BYTES { String::new() } else { schema.to_owned() }
}

/// Without control and invisible characters, and not longer than it may be.
fn clean(text: &str, bytes: usize) -> String {
    let is_shown = |c: &char| {
        (!c.is_control() || matches!(c, '\n' | '\t'))
            && !matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
    };
    let mut cleaned = String::with_capacity(text.len().min(bytes));
    for character in text.chars().filter(is_shown) {
        if cleaned.len() + character.len_utf8() > bytes {
            break;
        }
        cleaned.push(character);
    }
    cleaned
}

#[cfg(test)]
mod tests;
