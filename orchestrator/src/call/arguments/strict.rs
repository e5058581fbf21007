//! JSON by the letter, with one thing more: a member that is there twice is a fault. Which of the
//! two was meant cannot be known, and a reader after us might choose the other.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Why a text is no JSON for us.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) message: String,
    /// True where the syntax is fine, so that repairing it would hide the fault.
    pub(super) is_final: bool,
}

const TWICE: &str = "is there twice";

/// Parses a complete text.
pub(super) fn parse(text: &str) -> Result<Value, Fault> {
    serde_json::from_str::<Strict>(text).map(|strict| strict.0).map_err(|error| {
        let message = error.to_string();
        let is_final = error.classify() == serde_json::error::Category::Data;
        Fault { message, is_final }
    })
}

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader).map(Strict)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number is too large"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(Strict(value)) = items.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut values = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            if values.contains_key(&name) {
                return Err(de::Error::custom(format!("`{name}` {TWICE}")));
            }
            let Strict(value) = members.next_value()?;
            values.insert(name, value);
        }
        Ok(Value::Object(values))
    }
}
