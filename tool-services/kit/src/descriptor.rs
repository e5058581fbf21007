//! Turns what a service says about itself into wire descriptors and refuses what no model or policy
//! could work with: a service that is badly described does not start.

use std::collections::HashSet;

use callboard_proto::tool as wire;
use prost::Message as _;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{About, Effect, Service, convert, judge::hex, served::Served};

/// Longest name.
const NAME: usize = 64;
/// Longest description in bytes.
const DESCRIPTION: usize = 4 * 1024;
/// Most characters of a result that a model sees at once.
const RESULT: u32 = 16_000;
/// Largest schema in bytes, in nodes and in depth.
const SCHEMA: (usize, usize, usize) = (64 * 1024, 512, 32);

/// How a service or one of its tools is badly described.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DescriptorError {
    /// A name that is not `[a-z0-9_.-]{1,64}`.
    #[error("{name:?} is no name: use 1 to 64 of a-z, 0-9, '_', '.' and '-'")]
    Name {
        /// The name.
        name: String,
    },
    /// The version is not three numbers, with or without a suffix.
    #[error("service {service}: version {version:?} is not semver, such as 1.0.0")]
    Version {
        /// The service.
        service: String,
        /// Its version.
        version: String,
    },
    /// A service without tools.
    #[error("service {service} has no tool")]
    NoTools {
        /// The service.
        service: String,
    },
    /// Two tools of one name.
    #[error("tool {tool} is there twice")]
    Duplicate {
        /// The tool.
        tool: String,
    },
    /// Something that the tool must say is missing or badly said.
    #[error("tool {tool}: {what}")]
    Tool {
        /// The tool.
        tool: String,
        /// What is missing or wrong, and what would be right.
        what: String,
    },
}

/// The JSON Schema of `T`, self-contained: models read references badly.
pub(crate) fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema.remove("description");
    schema.into()
}

/// What the service says about itself, with the digest of its tools.
pub(crate) fn service(service: &Service) -> Result<wire::DescribeResponse, DescriptorError> {
    check_name(service.name())?;
    check_version(service)?;
    let mut names = HashSet::new();
    let mut tools = Vec::new();
    for (tool, schema) in service.tools() {
        let about = tool.about();
        check_name(&about.name)?;
        if !names.insert(about.name.clone()) {
            return Err(DescriptorError::Duplicate { tool: about.name.clone() });
        }
        let wrong = |what| DescriptorError::Tool { tool: about.name.clone(), what };
        check_words(about).map_err(wrong)?;
        check_behaviour(about).map_err(wrong)?;
        check_schemas(about, schema).map_err(wrong)?;
        check_examples(about, tool.as_ref()).map_err(wrong)?;
        tools.push(descriptor(about, schema));
    }
    if tools.is_empty() {
        return Err(DescriptorError::NoTools { service: service.name().to_owned() });
    }
    let tools_alone = wire::DescribeResponse { tools, ..wire::DescribeResponse::default() };
    let digest = hex(&Sha256::digest(tools_alone.encode_to_vec()));
    Ok(wire::DescribeResponse {
        service: service.name().to_owned(),
        version: service.version().to_owned(),
        digest,
        ..tools_alone
    })
}

fn descriptor(about: &About, schema: &Value) -> wire::ToolDescriptor {
    let behaviour = about.behaviour;
    let affinity =
        if behaviour.affinity_session { wire::Affinity::Session } else { wire::Affinity::None };
    let preflight =
        if behaviour.asks { wire::PreflightMode::Arguments } else { wire::PreflightMode::None };
    wire::ToolDescriptor {
        name: about.name.clone(),
        description: description(about),
        input_schema: schema.to_string(),
        output_schema: about.output_schema.as_ref().map(Value::to_string).unwrap_or_default(),
        annotations: Some(wire::Annotations {
            read_only: behaviour.read_only,
            destructive: behaviour.destructive,
            idempotent: behaviour.idempotent,
            open_world: behaviour.open_world,
        }),
        reversible: behaviour.reversible,
        affinity: affinity.into(),
        effects: convert::effects_to_wire(&about.effects),
        removable_effects: convert::effects_to_wire(&about.removable),
        preflight: preflight.into(),
        default_timeout_ms: u32::try_from(about.timeout.as_millis()).unwrap_or(u32::MAX),
        cost: convert::cost(about.cost).into(),
        result_chars: about.result_chars,
        calls_per_minute: about.calls_per_minute,
        examples: about
            .examples
            .iter()
            .map(|example| wire::Example {
                request: example.request.clone(),
                arguments: example.arguments.clone(),
            })
            .collect(),
    }
}

fn description(about: &About) -> String {
    format!("{}\nNot for: {}\nAsked for as: {}", about.purpose, about.not_for, about.words)
}

fn check_name(name: &str) -> Result<(), DescriptorError> {
    let fits =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_.-".contains(&byte);
    if (1..=NAME).contains(&name.len()) && name.bytes().all(fits) {
        return Ok(());
    }
    Err(DescriptorError::Name { name: name.to_owned() })
}

fn check_version(service: &Service) -> Result<(), DescriptorError> {
    let core = service.version().split(['-', '+']).next().unwrap_or_default();
    let numbers: Vec<&str> = core.split('.').collect();
    let is_number =
        |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if numbers.len() == 3 && numbers.iter().all(is_number) {
        return Ok(());
    }
    Err(DescriptorError::Version {
        service: service.name().to_owned(),
        version: service.version().to_owned(),
    })
}

fn check_words(about: &About) -> Result<(), String> {
    for (text, what) in [
        (&about.purpose, "does not say what it is for"),
        (&about.not_for, "does not say what it is not for"),
        (&about.words, "lacks the words that people use for it: add About::words"),
    ] {
        if text.trim().is_empty() {
            return Err(what.to_owned());
        }
    }
    let description = description(about);
    if description.len() > DESCRIPTION {
        return Err(format!(
            "the description has {} bytes, the limit is {DESCRIPTION}",
            description.len()
        ));
    }
    match description.chars().find(|char| is_invisible(*char)) {
        Some(char) => Err(format!("the description holds the invisible character {char:?}")),
        None => Ok(()),
    }
}

/// Control characters, and those that a person does not see but a model reads.
fn is_invisible(char: char) -> bool {
    (char.is_control() && char != '\n')
        || matches!(char, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

fn check_behaviour(about: &About) -> Result<(), String> {
    let behaviour = about.behaviour;
    if behaviour.read_only && about.effects.contains(&Effect::Write) {
        return Err("cannot be read-only and write".to_owned());
    }
    if behaviour.read_only && (behaviour.destructive || behaviour.reversible) {
        return Err("is read-only: there is nothing to destroy or to take back".to_owned());
    }
    if let Some(effect) = about.removable.iter().find(|effect| !about.effects.contains(effect)) {
        return Err(format!("can do without `{}` but does not have it", effect.name()));
    }
    if about.result_chars > RESULT {
        return Err(format!(
            "wants to show {} characters of a result, the limit is {RESULT}",
            about.result_chars
        ));
    }
    let millis = about.timeout.as_millis();
    if millis == 0 || millis > u128::from(u32::MAX) {
        return Err("the timeout must be 1 ms to 49 days".to_owned());
    }
    Ok(())
}

fn check_schemas(about: &About, input: &Value) -> Result<(), String> {
    if input["type"] != "object" {
        return Err("the arguments must be a struct".to_owned());
    }
    if input["additionalProperties"] != Value::Bool(false) {
        return Err("the arguments must refuse unknown keys: \
            add #[serde(deny_unknown_fields)] to the struct"
            .to_owned());
    }
    for (schema, name) in [(Some(input), "input"), (about.output_schema.as_ref(), "output")] {
        let Some(schema) = schema else { continue };
        let (bytes, nodes, depth) = SCHEMA;
        if schema.to_string().len() > bytes || count(schema) > nodes || deepest(schema) > depth {
            return Err(format!(
                "the {name} schema is too large: {bytes} bytes, {nodes} nodes and \
                 {depth} levels are the limits"
            ));
        }
    }
    Ok(())
}

fn check_examples(about: &About, tool: &dyn Served) -> Result<(), String> {
    for example in &about.examples {
        if example.request.trim().is_empty() {
            return Err("an example has no request".to_owned());
        }
        if let Err(failure) = tool.prepare(example.arguments.as_bytes()) {
            let why = failure.violations.first().map_or(failure.message.clone(), |violation| {
                format!("{} {}", violation.pointer, violation.message)
            });
            return Err(format!(
                "the arguments of the example {:?} do not fit: {}",
                example.request,
                why.trim()
            ));
        }
    }
    Ok(())
}

fn count(value: &Value) -> usize {
    1 + children(value).map(count).sum::<usize>()
}

fn deepest(value: &Value) -> usize {
    1 + children(value).map(deepest).max().unwrap_or(0)
}

fn children(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Array(items) => Box::new(items.iter()),
        Value::Object(entries) => Box::new(entries.values()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            Box::new(std::iter::empty())
        }
    }
}

#[cfg(test)]
mod tests;
