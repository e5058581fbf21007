//! A schema as a graph: which part is applied at the same place of the arguments, which one a level
//! deeper, and under which name.
//!
//! Every object of the schema is a node; data (`enum`, `const`, `default`, `examples`) is not
//! looked into. What may be too much of it is decided in `cost`.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{MAX_UNIQUE_ITEMS, Rejected};

/// What a step into the arguments goes by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Label {
    /// One member of an object.
    Member(String),
    /// Any member of an object.
    AnyMember,
    /// One item of an array.
    Item(usize),
    /// Any item of an array.
    AnyItem,
}

/// The parts of a schema and how they lead to one another.
#[derive(Debug, Default)]
pub(super) struct Graph {
    /// JSON pointer of each node, for messages; the root is the first one.
    pub(super) pointers: Vec<String>,
    /// Nodes applied at the same place.
    pub(super) same: Vec<Vec<usize>>,
    /// Nodes applied one level deeper.
    pub(super) deeper: Vec<Vec<(Label, usize)>>,
}

struct Builder<'a> {
    graph: Graph,
    by_pointer: HashMap<String, usize>,
    by_anchor: HashMap<String, usize>,
    references: Vec<(usize, &'a str)>,
}

impl Graph {
    pub(super) fn new(root: &Value) -> Result<Self, Rejected> {
        let mut builder = Builder {
            graph: Self::default(),
            by_pointer: HashMap::new(),
            by_anchor: HashMap::new(),
            references: Vec::new(),
        };
        if let Value::Object(members) = root {
            builder.visit(members, "")?;
        }
        builder.link()
    }
}

impl<'a> Builder<'a> {
    fn visit(&mut self, members: &'a Map<String, Value>, at: &str) -> Result<usize, Rejected> {
        let node = self.graph.pointers.len();
        self.graph.pointers.push(at.to_owned());
        self.graph.same.push(Vec::new());
        self.graph.deeper.push(Vec::new());
        self.by_pointer.insert(at.to_owned(), node);
        self.note_names(members, node, at)?;
        for (keyword, value) in members {
            if !matches!(keyword.as_str(), "enum" | "const" | "default" | "examples") {
                self.keyword(node, keyword, value, &format!("{at}/{}", escape(keyword)))?;
            }
        }
        Ok(node)
    }

    /// References, anchors and lists that must be short.
    fn note_names(
        &mut self,
        members: &'a Map<String, Value>,
        node: usize,
        at: &str,
    ) -> Result<(), Rejected> {
        if let Some(Value::String(target)) = members.get("$ref") {
            self.references.push((node, target));
        }
        if let Some(Value::String(name)) = members.get("$anchor") {
            self.by_anchor.insert(name.clone(), node);
        }
        // Both would make a reference mean another place than its text says.
        for keyword in ["$dynamicRef", "$recursiveRef", "$id", "id"] {
            let is_own_name = node == 0 && matches!(keyword, "$id" | "id");
            if matches!(members.get(keyword), Some(Value::String(_))) && !is_own_name {
                return Err(Rejected::Unsupported { keyword, pointer: at.to_owned() });
            }
        }
        let is_short = members
            .get("maxItems")
            .and_then(Value::as_u64)
            .is_some_and(|items| items <= MAX_UNIQUE_ITEMS);
        if members.get("uniqueItems") == Some(&Value::Bool(true)) && !is_short {
            return Err(Rejected::UnboundedUnique(at.to_owned()));
        }
        Ok(())
    }

    fn keyword(
        &mut self,
        node: usize,
        keyword: &str,
        value: &'a Value,
        at: &str,
    ) -> Result<(), Rejected> {
        match keyword {
            "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" => {
                let children = self.list(value, at)?;
                self.graph.same[node].extend(children.into_iter().map(|(_, child)| child));
            }
            "dependentSchemas" | "dependencies" => {
                let children = self.map(value, at)?;
                self.graph.same[node].extend(children.into_iter().map(|(_, child)| child));
            }
            "properties" => {
                let children = self.map(value, at)?.into_iter();
                self.graph.deeper[node]
                    .extend(children.map(|(name, child)| (Label::Member(name), child)));
            }
            "patternProperties" => {
                let children = self.map(value, at)?.into_iter();
                self.graph.deeper[node].extend(children.map(|(_, c)| (Label::AnyMember, c)));
            }
            "additionalProperties" | "unevaluatedProperties" => {
                let children = self.list(value, at)?.into_iter();
                self.graph.deeper[node].extend(children.map(|(_, c)| (Label::AnyMember, c)));
            }
            "prefixItems" => {
                let children = self.list(value, at)?.into_iter();
                self.graph.deeper[node].extend(children.map(|(nth, c)| (Label::Item(nth), c)));
            }
            "items" | "additionalItems" | "unevaluatedItems" | "contains" => {
                let children = self.list(value, at)?.into_iter();
                self.graph.deeper[node].extend(children.map(|(_, c)| (Label::AnyItem, c)));
            }
            // `$defs`, and whatever else a reference may point into.
            "$defs" | "definitions" => drop(self.map(value, at)?),
            _ => drop(self.list(value, at)?),
        }
        Ok(())
    }

    /// The value itself, or the items of a list, with their places in it.
    fn list(&mut self, value: &'a Value, at: &str) -> Result<Vec<(usize, usize)>, Rejected> {
        let mut found = Vec::new();
        if let Value::Object(members) = value {
            found.push((0, self.visit(members, at)?));
        }
        for (nth, item) in value.as_array().into_iter().flatten().enumerate() {
            if let Value::Object(members) = item {
                found.push((nth, self.visit(members, &format!("{at}/{nth}"))?));
            }
        }
        Ok(found)
    }

    /// The members of a map, with their names.
    fn map(&mut self, value: &'a Value, at: &str) -> Result<Vec<(String, usize)>, Rejected> {
        let mut found = Vec::new();
        for (name, member) in value.as_object().into_iter().flatten() {
            if let Value::Object(members) = member {
                let child = self.visit(members, &format!("{at}/{}", escape(name)))?;
                found.push((name.clone(), child));
            }
        }
        Ok(found)
    }

    fn link(mut self) -> Result<Graph, Rejected> {
        for (node, target) in std::mem::take(&mut self.references) {
            let Some(fragment) = target.strip_prefix('#') else {
                return Err(Rejected::RemoteReference(target.to_owned()));
            };
            let found = if fragment.is_empty() || fragment.starts_with('/') {
                self.by_pointer.get(&percent_decoded(fragment))
            } else {
                self.by_anchor.get(fragment)
            };
            let found = found.ok_or_else(|| Rejected::DanglingReference(target.to_owned()))?;
            self.graph.same[node].push(*found);
        }
        Ok(self.graph)
    }
}

fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn percent_decoded(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let code = tail.get(..2).filter(|_| first == b'%');
        let code = code.and_then(|two| std::str::from_utf8(two).ok());
        if let Some(byte) = code.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            bytes.push(byte);
            rest = &tail[2..];
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
