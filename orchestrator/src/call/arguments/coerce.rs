//! The closed list of harmless coercions, each of them told: an integer from `"5"` or `5.0`, a
//! number from its text, a boolean from `"true"` or `"false"`, a list or an object from its JSON
//! text, absent from `null` for an optional key. Never a string from anything.
//!
//! A coercion is made only where the schema leaves no other reading.

use serde_json::{Map, Number, Value};

use super::{MAX_DEPTH, strict};
use crate::call::schema;

/// References followed at one place; the schema was checked to have no cycle there.
const MAX_HOPS: usize = 32;

/// Coerces a value to fit a schema, as far as that is harmless.
pub(super) fn coerce(value: &mut Value, root: &Value, repairs: &mut Vec<String>) {
    let mut coercion = Coercion { root, repairs };
    coercion.visit(value, root, &Place { pointer: String::new(), depth: 0 });
}

struct Coercion<'a> {
    root: &'a Value,
    repairs: &'a mut Vec<String>,
}

struct Place {
    pointer: String,
    depth: usize,
}

impl Place {
    fn inside(&self, name: &str) -> Self {
        let name = name.replace('~', "~0").replace('/', "~1");
        Self { pointer: format!("{}/{name}", self.pointer), depth: self.depth + 1 }
    }
}

/// What a schema takes at one place.
#[expect(clippy::struct_excessive_bools, reason = "a set of JSON's seven types")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Taken {
    null: bool,
    boolean: bool,
    integer: bool,
    number: bool,
    string: bool,
    array: bool,
    object: bool,
}

impl<'a> Coercion<'a> {
    fn visit(&mut self, value: &mut Value, schema: &'a Value, place: &Place) {
        if place.depth > MAX_DEPTH {
            return;
        }
        let branches = self.branches(schema);
        let taken = taken(&branches);
        if let Some(better) = better(value, taken, place) {
            self.repairs.push(format!(
                "{} was {}, read as {}",
                if place.pointer.is_empty() { "the whole" } else { &place.pointer },
                shown(value),
                shown(&better)
            ));
            *value = better;
        }
        match value {
            Value::Object(members) => self.members(members, &branches, place),
            Value::Array(items) => self.items(items, &branches, place),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    /// The schemas that a value at one place may be read by. More than one branch of a choice that
    /// takes objects or lists leaves open which one is meant: nothing below it is coerced then.
    fn branches(&self, schema: &'a Value) -> Vec<&'a Value> {
        let mut found = Vec::new();
        self.collect(schema, MAX_HOPS, &mut found);
        found
    }

    fn collect(&self, schema: &'a Value, hops: usize, found: &mut Vec<&'a Value>) {
        if hops == 0 || found.len() > MAX_HOPS {
            return;
        }
        if let Some(target) = schema.get("$ref").and_then(Value::as_str)
            && let Some(named) = target.strip_prefix('#').and_then(|at| self.root.pointer(at))
        {
            self.collect(named, hops - 1, found);
        }
        for keyword in ["anyOf", "oneOf", "allOf"] {
            for branch in schema.get(keyword).and_then(Value::as_array).into_iter().flatten() {
                self.collect(branch, hops - 1, found);
            }
        }
        if schema.is_object() {
            found.push(schema);
        }
    }

    fn members(&mut self, members: &mut Map<String, Value>, branches: &[&'a Value], place: &Place) {
        let required = |name: &str| {
            let lists = branches.iter().filter_map(|schema| schema.get("required")?.as_array());
            lists.flatten().any(|key| key == name)
        };
        let names: Vec<String> = members.keys().cloned().collect();
        for name in names {
            let Some(schema) = member_schema(branches, &name) else { continue };
            let Some(member) = members.get_mut(&name) else { continue };
            let inside = place.inside(&name);
            if member.is_null() && !required(&name) && !taken(&self.branches(schema)).null {
                members.shift_remove(&name);
                self.repairs.push(format!("{} was null, left out", inside.pointer));
            } else {
                self.visit(member, schema, &inside);
            }
        }
    }

    fn items(&mut self, items: &mut [Value], branches: &[&'a Value], place: &Place) {
        for (nth, item) in items.iter_mut().enumerate() {
            if let Some(schema) = item_schema(branches, nth) {
                self.visit(item, schema, &place.inside(&nth.to_string()));
            }
        }
    }
}

/// The one schema of a member; `None` where there are several to choose from.
fn member_schema<'a>(branches: &[&'a Value], name: &str) -> Option<&'a Value> {
    let of_branch = |schema: &&'a Value| {
        let named = schema.get("properties").and_then(|members| members.get(name));
        named.or_else(|| schema.get("additionalProperties").filter(|rest| rest.is_object()))
    };
    let mut found = branches.iter().filter_map(of_branch);
    found.next().filter(|_| found.next().is_none())
}

fn item_schema<'a>(branches: &[&'a Value], nth: usize) -> Option<&'a Value> {
    let of_branch = |schema: &&'a Value| {
        let listed = schema.get("prefixItems").and_then(|items| items.get(nth));
        listed.or_else(|| schema.get("items").filter(|items| items.is_object()))
    };
    let mut found = branches.iter().filter_map(of_branch);
    found.next().filter(|_| found.next().is_none())
}

/// Everything that some branch takes. A branch without a type takes what its other keywords say.
fn taken(branches: &[&Value]) -> Taken {
    let mut taken = Taken::default();
    for schema in branches {
        match schema.get("type") {
            Some(Value::String(kind)) => add(&mut taken, kind),
            Some(Value::Array(kinds)) => {
                kinds.iter().filter_map(Value::as_str).for_each(|kind| add(&mut taken, kind));
            }
            _ => add_by_example(&mut taken, schema),
        }
    }
    taken
}

fn add(taken: &mut Taken, kind: &str) {
    match kind {
        "null" => taken.null = true,
        "boolean" => taken.boolean = true,
        "integer" => taken.integer = true,
        "number" => taken.number = true,
        "string" => taken.string = true,
        "array" => taken.array = true,
        "object" => taken.object = true,
        _ => {}
    }
}

/// A branch without a type: listed values are taken as they are; a mere choice or reference adds
/// nothing to what its branches take; anything else might take a string.
fn add_by_example(taken: &mut Taken, schema: &Value) {
    let listed = schema.get("enum").and_then(Value::as_array);
    let listed =
        listed.map(Vec::as_slice).or_else(|| Some(std::slice::from_ref(schema.get("const")?)));
    if let Some(values) = listed {
        taken.null |= values.iter().any(Value::is_null);
        taken.string |= values.iter().any(Value::is_string);
    } else if !["anyOf", "oneOf", "allOf", "$ref", "properties"]
        .iter()
        .any(|k| schema.get(k).is_some())
    {
        taken.string = true;
        taken.null = true;
    }
}

/// What a value is read as, if it does not fit as it is and one harmless reading is left.
fn better(value: &Value, taken: Taken, place: &Place) -> Option<Value> {
    match value {
        Value::Number(number) if taken.integer && !taken.number => {
            let whole = number.is_f64().then(|| whole_number(number.as_f64()?))??;
            Some(Value::Number(whole))
        }
        Value::String(text) if !taken.string => from_text(text.trim(), taken, place),
        _ => None,
    }
}

fn from_text(text: &str, taken: Taken, place: &Place) -> Option<Value> {
    if taken.boolean && matches!(text, "true" | "false") {
        return Some(Value::Bool(text == "true"));
    }
    if taken.integer || taken.number {
        let number = serde_json::from_str::<Number>(text).ok();
        let whole = number.as_ref().and_then(|number| match number.as_f64() {
            Some(float) if number.is_f64() => whole_number(float),
            _ => Some(number.clone()),
        });
        if let Some(number) = if taken.number { number } else { whole } {
            return Some(Value::Number(number));
        }
    }
    if (text.starts_with('[') && taken.array) || (text.starts_with('{') && taken.object) {
        let is_deep = place.depth + schema::deepest(text) > MAX_DEPTH;
        return strict::parse(text).ok().filter(|_| !is_deep);
    }
    None
}

/// The integer that a float is, where a float tells one integer from the next.
fn whole_number(float: f64) -> Option<Number> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if float.fract() != 0.0 || float.abs() > EXACT {
        return None;
    }
    // Printed without a fraction, it parses as the integer it is; no cast can go wrong.
    serde_json::from_str::<Number>(&format!("{float:.0}")).ok()
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
