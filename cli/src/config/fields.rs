//! Reads a TOML table into a section's struct and names every key that the struct does not know.
//!
//! `serde` tells a deserializer the fields of each struct that it is about to fill; this one compares
//! them with the keys that are there, at every depth, and goes on, so that all unknown keys are
//! found at once, each with the names that would have been right. Next: `layers`.

use std::cell::RefCell;
use std::fmt;

use serde::de::value::{MapAccessDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{self, DeserializeOwned, Deserializer, IntoDeserializer, Visitor};
use toml::Value;

/// Something wrong with a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The key, dotted: `gateway.listen`.
    pub(crate) key: String,
    /// What is wrong with it.
    pub(crate) kind: FaultKind,
}

/// What is wrong with a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FaultKind {
    /// Nobody knows it; these are known in its place.
    Unknown(&'static [&'static str]),
    /// Its value cannot be used.
    Invalid(String),
}

/// Fills `T` from `value`.
///
/// # Errors
/// Every unknown key, or the first value that cannot be used.
pub(crate) fn read<T: DeserializeOwned>(value: &Value) -> Result<T, Vec<Fault>> {
    let faults = RefCell::new(Vec::new());
    let read = T::deserialize(Reader { value, key: String::new(), faults: &faults });
    let mut faults = faults.into_inner();
    match read {
        Ok(section) if faults.is_empty() => Ok(section),
        Ok(_) => Err(faults),
        Err(error) => {
            let kind = FaultKind::Invalid(error.message);
            faults.push(Fault { key: error.key.unwrap_or_default(), kind });
            Err(faults)
        }
    }
}

/// A value, where it stands, and what was found to be wrong so far.
struct Reader<'a> {
    value: &'a Value,
    key: String,
    faults: &'a RefCell<Vec<Fault>>,
}

impl<'a> Reader<'a> {
    fn below(&self, key: &str, value: &'a Value) -> Self {
        let key = if self.key.is_empty() { key.to_owned() } else { format!("{}.{key}", self.key) };
        Self { value, key, faults: self.faults }
    }

    fn table<'t>(
        &'t self,
        table: &'a toml::Table,
        known: Option<&'static [&'static str]>,
    ) -> impl Iterator<Item = (&'a str, Reader<'a>)> + 't {
        table.iter().filter_map(move |(key, value)| {
            let below = self.below(key, value);
            match known {
                Some(known) if !known.contains(&key.as_str()) => {
                    let kind = FaultKind::Unknown(known);
                    self.faults.borrow_mut().push(Fault { key: below.key, kind });
                    None
                }
                _ => Some((key.as_str(), below)),
            }
        })
    }
}

impl<'de> Deserializer<'de> for Reader<'_> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let read = match self.value {
            Value::String(text) => visitor.visit_str(text),
            Value::Integer(number) => visitor.visit_i64(*number),
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Boolean(flag) => visitor.visit_bool(*flag),
            Value::Datetime(datetime) => visitor.visit_string(datetime.to_string()),
            Value::Array(items) => visitor.visit_seq(SeqDeserializer::new(
                items.iter().enumerate().map(|(index, item)| self.below(&index.to_string(), item)),
            )),
            Value::Table(table) => visitor.visit_map(MapDeserializer::new(self.table(table, None))),
        };
        read.map_err(|error| error.at(&self.key))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let Value::Table(table) = self.value else { return self.deserialize_any(visitor) };
        visitor
            .visit_map(MapDeserializer::new(self.table(table, Some(fields))))
            .map_err(|error| error.at(&self.key))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let read = match self.value {
            Value::String(text) => visitor.visit_enum(text.as_str().into_deserializer()),
            Value::Table(table) => {
                let map = MapDeserializer::new(self.table(table, None));
                MapAccessDeserializer::new(map).deserialize_enum(name, variants, visitor)
            }
            _ => Err(de::Error::custom(format_args!("expected one of: {}", variants.join(", ")))),
        };
        read.map_err(|error: ReadError| error.at(&self.key))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    // A whole number stands for a number with a fraction; TOML itself is stricter than people are.
    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        match self.value {
            #[expect(
                clippy::cast_precision_loss,
                reason = "no setting needs more than 53 bits of a whole number"
            )]
            Value::Integer(number) => {
                visitor.visit_f64(*number as f64).map_err(|error: ReadError| error.at(&self.key))
            }
            _ => self.deserialize_any(visitor),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

impl IntoDeserializer<'_, ReadError> for Reader<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// Why a value cannot be used, and where it stands.
#[derive(Debug)]
struct ReadError {
    key: Option<String>,
    message: String,
}

impl ReadError {
    /// Notes the place; the innermost one counts.
    fn at(mut self, key: &str) -> Self {
        self.key.get_or_insert_with(|| key.to_owned());
        self
    }
}

impl de::Error for ReadError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { key: None, message: message.to_string() }
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for ReadError {}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(default, deny_unknown_fields)]
    struct Section {
        listen: String,
        ratio: f64,
        mode: Mode,
        limits: Limits,
        providers: BTreeMap<String, Limits>,
        rules: Vec<Limits>,
        note: Option<String>,
        wait: Duration,
    }

    impl Default for Section {
        fn default() -> Self {
            Self {
                listen: "here".into(),
                ratio: 0.5,
                mode: Mode::Calm,
                limits: Limits::default(),
                providers: BTreeMap::new(),
                rules: Vec::new(),
                note: None,
                wait: Duration::ZERO,
            }
        }
    }

    #[derive(Debug, Default, Deserialize, PartialEq)]
    #[serde(default, deny_unknown_fields)]
    struct Limits {
        steps: u32,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "snake_case")]
    enum Mode {
        Calm,
        Busy { load: u32 },
    }

    fn parse(text: &str) -> Result<Section, Vec<Fault>> {
        read(&Value::Table(text.parse().unwrap()))
    }

    #[test]
    fn known_keys_are_read_at_every_depth() {
        let section = parse(
            "ratio = 1\nmode = 'calm'\nnote = 'x'\n[limits]\nsteps = 4\n\
             [providers.a]\nsteps = 5\n[[rules]]\nsteps = 6\n[wait]\nsecs = 1\nnanos = 0",
        )
        .unwrap();
        assert_eq!(
            section,
            Section {
                ratio: 1.0,
                note: Some("x".into()),
                limits: Limits { steps: 4 },
                providers: BTreeMap::from([("a".into(), Limits { steps: 5 })]),
                rules: vec![Limits { steps: 6 }],
                wait: Duration::from_secs(1),
                ..Section::default()
            }
        );
        assert_eq!(parse("mode = { busy = { load = 3 } }").unwrap().mode, Mode::Busy { load: 3 });
    }

    #[test]
    fn all_unknown_keys_are_found_at_once() {
        let faults =
            parse("lisen = 'x'\n[providers.a]\nstep = 1\n[[rules]]\nstesp = 2").unwrap_err();
        let keys: Vec<&str> = faults.iter().map(|fault| fault.key.as_str()).collect();
        assert_eq!(keys, ["lisen", "providers.a.step", "rules.0.stesp"]);
        assert_eq!(faults[1].kind, FaultKind::Unknown(&["steps"]));
    }

    #[test]
    fn a_value_of_the_wrong_type_is_named_with_its_key() {
        let faults = parse("[limits]\nsteps = 'many'").unwrap_err();
        assert_eq!(faults.len(), 1);
        assert_eq!(faults[0].key, "limits.steps");
        assert!(
            matches!(&faults[0].kind, FaultKind::Invalid(text) if text.contains("expected u32"))
        );
    }
}
