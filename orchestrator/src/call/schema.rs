//! Is a tool's schema safe to work with? Asked once, when a service describes itself; a schema that
//! is not withholds its tool alone, with the reason that is given here.
//!
//! Bounds are on size, nesting and the number of nodes; references stay inside the schema, lead
//! nowhere back at the same place, and cannot multiply (`cost`); patterns run in linear time.
//! What arguments must look like is checked with the result, in `arguments`.

use std::sync::Arc;

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

mod cost;
mod graph;

use self::graph::Graph;

/// Bytes of a schema.
pub const MAX_BYTES: usize = 64 * 1024;
/// Objects and arrays in a schema.
pub const MAX_NODES: usize = 512;
/// Objects and arrays inside one another.
pub const MAX_DEPTH: usize = 32;
/// `maxItems` that makes `uniqueItems` cheap enough.
pub const MAX_UNIQUE_ITEMS: u64 = 1_000;
/// Bytes of one compiled pattern.
const MAX_PATTERN_BYTES: usize = 256 * 1024;
/// Nesting that a parser may meet before we count; what is deeper is refused as too deep.
const PARSER_DEPTH: usize = 120;

/// A schema that arguments can be checked against.
#[derive(Clone)]
pub struct Schema {
    /// The schema itself.
    pub root: Arc<Value>,
    /// Compiled.
    pub(super) validator: Arc<Validator>,
}

impl std::fmt::Debug for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Schema").field("root", &self.root).finish_non_exhaustive()
    }
}

/// Why a schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// Over a bound.
    #[error("the schema has {found} {what}, {limit} are allowed")]
    TooLarge {
        /// What was counted.
        what: &'static str,
        /// How many there are; counting may stop past the limit.
        found: usize,
        /// How many there may be.
        limit: usize,
    },
    /// It is no JSON.
    #[error("the schema is no JSON: {0}")]
    Syntax(String),
    /// Arguments are always an object, and the schema says otherwise.
    #[error("the schema must describe an object")]
    NotAnObject,
    /// A reference leaves the schema.
    #[error("the reference `{0}` leads out of the schema; only `#…` is followed")]
    RemoteReference(String),
    /// A reference leads nowhere.
    #[error("the reference `{0}` leads nowhere")]
    DanglingReference(String),
    /// A keyword makes references mean another place than they say.
    #[error("the schema at `{pointer}` uses `{keyword}`, which is not supported")]
    Unsupported {
        /// The keyword.
        keyword: &'static str,
        /// Where.
        pointer: String,
    },
    /// Something refers to itself without going deeper into the arguments.
    #[error("the schema at `{0}` refers to itself at the same place")]
    Cycle(String),
    /// Its branches multiply: checking some arguments would take too long.
    #[error("the branches of the schema multiply: checking could take more than {0} steps")]
    Explosive(u64),
    /// Comparing all items of a long list takes too long.
    #[error("`uniqueItems` at `{0}` needs `maxItems` of at most 1000")]
    UnboundedUnique(String),
    /// It breaks JSON Schema, or holds a pattern that has no linear-time form.
    #[error("the schema at `{pointer}` is not valid: {reason}")]
    Invalid {
        /// Where.
        pointer: String,
        /// What is wrong.
        reason: String,
    },
}

/// Checks and compiles a schema for arguments.
///
/// # Errors
/// [`Rejected`] says what is wrong.
pub fn compile(text: &str) -> Result<Schema, Rejected> {
    let root = check(text)?;
    if !describes_an_object(&root) {
        return Err(Rejected::NotAnObject);
    }
    let validator = jsonschema::options()
        .offline()
        .should_validate_formats(true)
        .with_pattern_options(
            PatternOptions::regex().size_limit(MAX_PATTERN_BYTES).dfa_size_limit(MAX_PATTERN_BYTES),
        )
        .build(&root)
        .map_err(|error| Rejected::Invalid {
            pointer: error.instance_path().to_string(),
            reason: clip(&error.to_string()),
        })?;
    Ok(Schema { root: Arc::new(root), validator: Arc::new(validator) })
}

/// The bounds alone, for a schema that is only shown.
///
/// # Errors
/// [`Rejected`] says what is wrong.
pub fn check(text: &str) -> Result<Value, Rejected> {
    if text.len() > MAX_BYTES {
        return Err(Rejected::TooLarge { what: "bytes", found: text.len(), limit: MAX_BYTES });
    }
    let nesting = deepest(text);
    if nesting > PARSER_DEPTH {
        return Err(too_deep(nesting));
    }
    let root: Value =
        serde_json::from_str(text).map_err(|error| Rejected::Syntax(error.to_string()))?;
    let (nodes, depth) = measure(&root);
    if depth > MAX_DEPTH {
        return Err(too_deep(depth));
    }
    if nodes > MAX_NODES {
        return Err(Rejected::TooLarge {
            what: "objects and lists",
            found: nodes,
            limit: MAX_NODES,
        });
    }
    let graph = Graph::new(&root)?;
    cost::check(&graph)?;
    Ok(root)
}

fn too_deep(found: usize) -> Rejected {
    Rejected::TooLarge { what: "levels", found, limit: MAX_DEPTH }
}

/// How deep brackets nest outside of strings; an upper bound for a text that is no JSON.
pub(super) fn deepest(text: &str) -> usize {
    let (mut depth, mut max, mut in_string, mut escaped) = (0_usize, 0_usize, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                max = max.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    max
}

/// Objects and arrays in all, and inside one another.
fn measure(value: &Value) -> (usize, usize) {
    let children: Vec<&Value> = match value {
        Value::Object(members) => members.values().collect(),
        Value::Array(items) => items.iter().collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return (0, 0),
    };
    let (mut nodes, mut depth) = (1, 0);
    for child in children {
        let (inner_nodes, inner_depth) = measure(child);
        nodes += inner_nodes;
        depth = depth.max(inner_depth);
    }
    (nodes, depth + 1)
}

fn describes_an_object(root: &Value) -> bool {
    let Value::Object(members) = root else { return false };
    match members.get("type") {
        None => true,
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        Some(_) => false,
    }
}

fn clip(text: &str) -> String {
    text.chars().take(300).collect()
}

#[cfg(test)]
mod tests;
