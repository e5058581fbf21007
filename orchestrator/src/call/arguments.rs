//! From what a model wrote to arguments that fit: parse, repair syntax, coerce, validate.
//!
//! Pure. Only a complete value is ever repaired, coercions are a closed list, and both are told.
//! What is wrong is told all at once. The result is text: the bytes that are shown, judged and
//! sent. Next: `policy`.

use serde_json::{Map, Value};

use super::failure::Kind;
use super::schema::{self, Schema};
use crate::run::event::Violation;

mod coerce;
mod compact;
mod expected;
mod repair;
mod strict;
mod violations;

/// Objects and lists inside one another.
pub const MAX_DEPTH: usize = 64;
/// Bytes of the arguments.
pub const MAX_BYTES: usize = callboard_proto::size::ARGUMENTS;

/// Arguments that fit their schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    /// JSON text: the bytes that are hashed, journaled, shown, judged and sent.
    pub text: String,
    /// What was repaired or coerced, a line each.
    pub repairs: Vec<String>,
}

/// Arguments that do not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// What kind of misfit.
    pub kind: Kind,
    /// How much is wrong, in a few words.
    pub message: String,
    /// Everything that is wrong, with what would be right.
    pub violations: Vec<Violation>,
}

/// Makes arguments of what a model or a person wrote.
///
/// # Errors
/// [`Misfit`] with all violations at once.
pub fn prepare(raw: &str, schema: &Schema) -> Result<Prepared, Misfit> {
    if raw.len() > MAX_BYTES {
        return Err(too_large(raw.len()));
    }
    let mut repairs = Vec::new();
    let (mut value, is_verbatim) = read(raw, schema, &mut repairs)?;
    let before = repairs.len();
    coerce::coerce(&mut value, &schema.root, &mut repairs);
    if !value.is_object() {
        return Err(not_an_object(&value));
    }
    let violations = violations::all(&value, schema);
    if !violations.is_empty() {
        return Err(misfit(violations));
    }
    let text = if is_verbatim && repairs.len() == before {
        // Numbers keep the digits that were written.
        compact::compact(raw)
    } else {
        value.to_string()
    };
    if text.len() > MAX_BYTES {
        return Err(too_large(text.len()));
    }
    Ok(Prepared { text, repairs })
}

/// The value, and whether it is exactly what was written.
fn read(raw: &str, schema: &Schema, repairs: &mut Vec<String>) -> Result<(Value, bool), Misfit> {
    if raw.trim().is_empty() {
        if has_required_keys(&schema.root) {
            let value = Value::Object(Map::new());
            let violations = violations::all(&value, schema);
            return Err(misfit(violations));
        }
        return Ok((Value::Object(Map::new()), false));
    }
    if schema::deepest(raw) > MAX_DEPTH {
        let message = format!("more than {MAX_DEPTH} objects and lists inside one another");
        return Err(whole(message));
    }
    let fault = match strict::parse(raw) {
        Ok(value) => return Ok((value, true)),
        Err(fault) => fault,
    };
    if fault.is_final {
        return Err(whole(fault.message));
    }
    match repair::parse(raw) {
        Ok(repaired) => {
            repairs.extend(repaired.repairs);
            Ok((repaired.value, false))
        }
        Err(error) => Err(whole(format!("no JSON: {error}"))),
    }
}

fn has_required_keys(root: &Value) -> bool {
    root.get("required").and_then(Value::as_array).is_some_and(|keys| !keys.is_empty())
}

fn too_large(bytes: usize) -> Misfit {
    let words = format!("{bytes} bytes of arguments; at most {MAX_BYTES} are allowed");
    Misfit { kind: Kind::TooLarge, ..whole(words) }
}

fn not_an_object(value: &Value) -> Misfit {
    whole(format!("must be an object with named members, not {}", expected::kind_of(value)))
}

/// Something wrong with the whole.
fn whole(message: String) -> Misfit {
    misfit(vec![Violation { pointer: String::new(), message }])
}

fn misfit(violations: Vec<Violation>) -> Misfit {
    Misfit { kind: Kind::InvalidArguments, message: summary(&violations), violations }
}

fn summary(violations: &[Violation]) -> String {
    match violations {
        [_] => "1 thing does not fit".to_owned(),
        many => format!("{} things do not fit", many.len()),
    }
}

#[cfg(test)]
mod tests;
