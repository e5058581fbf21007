//! Everything that is wrong with some arguments, each with its place and what would be right.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value;

use super::expected;
use crate::call::schema::Schema;
use crate::run::event::Violation;

/// Violations that are told; a model corrects no more than these at a time.
const MAX_TOLD: usize = 32;

/// All violations, in the order of their places.
pub(super) fn all(value: &Value, schema: &Schema) -> Vec<Violation> {
    if schema.validator.is_valid(value) {
        return Vec::new();
    }
    let mut violations = Vec::new();
    for error in schema.validator.iter_errors(value) {
        explain(&error, &schema.root, &mut violations);
        if violations.len() > MAX_TOLD {
            break;
        }
    }
    violations.sort_by(|a, b| (&a.pointer, &a.message).cmp(&(&b.pointer, &b.message)));
    violations.dedup();
    if violations.len() > MAX_TOLD {
        violations.truncate(MAX_TOLD);
        let message = "there is more wrong; this is not all".to_owned();
        violations.push(Violation { pointer: String::new(), message });
    }
    violations
}

fn explain(error: &ValidationError<'_>, root: &Value, violations: &mut Vec<Violation>) {
    let at = error.instance_path().to_string();
    // The part of the schema that holds the keyword.
    let keyword = error.schema_path().to_string();
    let part = keyword.rsplit_once('/').and_then(|(part, _)| root.pointer(part)).unwrap_or(root);
    let mut tell = |pointer: String, message: String| {
        violations.push(Violation { pointer, message });
    };
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            tell(inside(&at, name), missing(name, part, root));
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            for name in unexpected {
                tell(inside(&at, name), unknown(name, part));
            }
        }
        ValidationErrorKind::FalseSchema | ValidationErrorKind::Not { .. } => {
            tell(at, format!("is {}, which is not allowed here", is(error)));
        }
        ValidationErrorKind::PropertyNames { error: inner } => {
            tell(at, format!("has a name that is not allowed: {inner}"));
        }
        ValidationErrorKind::UniqueItems => tell(at, "has the same item twice".to_owned()),
        // Types, bounds, choices, patterns and formats: the part itself says what is wanted.
        _ => {
            let wanted = wanted(part, root);
            tell(at, format!("is {}, must be {wanted}", is(error)));
        }
    }
}

fn missing(name: &str, part: &Value, root: &Value) -> String {
    let member = part.get("properties").and_then(|members| members.get(name));
    match member.map(|schema| expected::describe(schema, root)).filter(|words| !words.is_empty()) {
        Some(words) => format!("is missing, must be {words}"),
        None => "is missing".to_owned(),
    }
}

fn unknown(name: &str, part: &Value) -> String {
    let known: Vec<&str> = part
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(|members| members.keys().map(String::as_str))
        .collect();
    let nearest = known
        .iter()
        .map(|candidate| (strsim::jaro_winkler(name, candidate), *candidate))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    match (nearest, known.is_empty()) {
        (Some((_, name)), _) => format!("is not known; meant is perhaps `{name}`"),
        (None, true) => "is not known; nothing is expected here".to_owned(),
        (None, false) => format!("is not known; known are `{}`", known.join("`, `")),
    }
}

fn is(error: &ValidationError<'_>) -> String {
    let value = error.instance();
    match value.as_ref() {
        Value::Array(_) | Value::Object(_) => expected::kind_of(value).to_owned(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            expected::clipped(value)
        }
    }
}

fn wanted(part: &Value, root: &Value) -> String {
    let words = expected::describe(part, root);
    if words.is_empty() { "what the schema of the tool says".to_owned() } else { words }
}

fn inside(at: &str, name: &str) -> String {
    format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"))
}
