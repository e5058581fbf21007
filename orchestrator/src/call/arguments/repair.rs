//! A reader for texts that are almost JSON. It accepts only a complete value, so that a text that
//! was cut short is never taken for a shorter one, and it never changes what a string says.
//!
//! Read generously: comments, commas before a closing bracket, names without quotes, single and
//! typographic quotes, full-width colons and commas, Python's `True`, `False` and `None`, raw line
//! breaks inside strings, `\n` written out between tokens, and a fence of backticks around it all.

use std::iter::Peekable;
use std::str::CharIndices;

use serde_json::{Map, Value};

use super::MAX_DEPTH;

mod scalars;

use self::scalars::closing_quote;

/// A value and what was generous about reading it.
#[derive(Debug)]
pub(super) struct Repaired {
    pub(super) value: Value,
    pub(super) repairs: Vec<String>,
}

/// Why a text is not even almost JSON.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unreadable {
    #[error("it was cut short: the text ends inside {0}")]
    CutShort(&'static str),
    #[error("{what} at line {line}, column {column}")]
    At { what: String, line: usize, column: usize },
}

/// Reads a complete value.
pub(super) fn parse(text: &str) -> Result<Repaired, Unreadable> {
    let mut reader =
        Reader { text, rest: text.char_indices().peekable(), repairs: Vec::new(), depth: 0 };
    if let Some(inner) = inside_fence(text) {
        reader.rest = text[..inner.end].char_indices().peekable();
        while reader.rest.next_if(|(at, _)| *at < inner.start).is_some() {}
        reader.note("a code fence around the arguments was left out");
    }
    let value = reader.value()?;
    reader.space()?;
    match reader.rest.peek().copied() {
        None => Ok(Repaired { value, repairs: reader.repairs }),
        Some((at, _)) => Err(reader.fault(at, "there is more text after the value")),
    }
}

/// The bytes between a complete pair of fences.
fn inside_fence(text: &str) -> Option<std::ops::Range<usize>> {
    let opened = text.trim_start().strip_prefix("```")?;
    let inner = opened.trim_end().strip_suffix("```")?;
    let (language, body) = inner.split_once('\n')?;
    if !language.trim().chars().all(|c| c.is_ascii_alphanumeric()) {
        return None;
    }
    let start = body.as_ptr() as usize - text.as_ptr() as usize;
    Some(start..start + body.len())
}

struct Reader<'a> {
    text: &'a str,
    rest: Peekable<CharIndices<'a>>,
    repairs: Vec<String>,
    depth: usize,
}

impl Reader<'_> {
    fn value(&mut self) -> Result<Value, Unreadable> {
        self.space()?;
        let Some((at, first)) = self.rest.peek().copied() else {
            return Err(Unreadable::CutShort("the value"));
        };
        match first {
            '{' | '[' if self.depth == MAX_DEPTH => Err(self.fault(at, "it nests too deep")),
            '{' => self.deeper(Self::object),
            '[' => self.deeper(Self::list),
            _ if closing_quote(first).is_some() => self.string().map(Value::String),
            '-' | '0'..='9' => self.number(),
            _ if first.is_ascii_alphabetic() => self.word(),
            _ => Err(self.fault(at, &format!("`{first}` begins no value"))),
        }
    }

    fn deeper(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<Value, Unreadable>,
    ) -> Result<Value, Unreadable> {
        self.depth += 1;
        self.rest.next();
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn object(&mut self) -> Result<Value, Unreadable> {
        let mut members = Map::new();
        loop {
            self.space()?;
            let Some((at, next)) = self.rest.peek().copied() else {
                return Err(Unreadable::CutShort("an object"));
            };
            if next == '}' {
                self.rest.next();
                return Ok(Value::Object(members));
            }
            let name = self.name(at, next)?;
            if members.contains_key(&name) {
                return Err(self.fault(at, &format!("`{name}` is there twice")));
            }
            self.colon()?;
            let value = self.value()?;
            members.insert(name, value);
            self.separator('}', "an object")?;
        }
    }

    fn list(&mut self) -> Result<Value, Unreadable> {
        let mut items = Vec::new();
        loop {
            self.space()?;
            match self.rest.peek() {
                None => return Err(Unreadable::CutShort("a list")),
                Some((_, ']')) => {
                    self.rest.next();
                    return Ok(Value::Array(items));
                }
                Some(_) => items.push(self.value()?),
            }
            self.separator(']', "a list")?;
        }
    }

    fn name(&mut self, at: usize, first: char) -> Result<String, Unreadable> {
        if closing_quote(first).is_some() {
            return self.string();
        }
        if !(first.is_alphabetic() || first == '_') {
            return Err(self.fault(at, &format!("`{first}` begins no name")));
        }
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        let mut name = String::new();
        while let Some((_, letter)) = self.rest.next_if(|(_, c)| is_name(*c)) {
            name.push(letter);
        }
        self.note("names were put in quotes");
        Ok(name)
    }

    fn colon(&mut self) -> Result<(), Unreadable> {
        self.space()?;
        match self.rest.next() {
            None => Err(Unreadable::CutShort("an object")),
            Some((_, ':')) => Ok(()),
            Some((_, '：')) => {
                self.note("full-width punctuation was replaced");
                Ok(())
            }
            Some((at, other)) => Err(self.fault(at, &format!("`:` is missing before `{other}`"))),
        }
    }

    /// After a member or an item: a comma, or the end, which stays where it is.
    fn separator(&mut self, end: char, inside: &'static str) -> Result<(), Unreadable> {
        self.space()?;
        match self.rest.peek().copied() {
            None => Err(Unreadable::CutShort(inside)),
            Some((_, next)) if next == end => Ok(()),
            Some((at, comma @ (',' | '，'))) => {
                if comma != ',' {
                    self.note("full-width punctuation was replaced");
                }
                self.rest.next();
                self.space()?;
                match self.rest.peek() {
                    Some((_, next)) if *next == end => {
                        self.note("a comma before a closing bracket was left out");
                        Ok(())
                    }
                    Some((_, ',' | '，')) => Err(self.fault(at, "there are two commas in a row")),
                    Some(_) => Ok(()),
                    None => Err(Unreadable::CutShort(inside)),
                }
            }
            Some((at, other)) => {
                Err(self.fault(at, &format!("`,` or `{end}` is missing before `{other}`")))
            }
        }
    }

    /// Skips what stands between tokens.
    fn space(&mut self) -> Result<(), Unreadable> {
        while let Some((at, next)) = self.rest.peek().copied() {
            match next {
                ' ' | '\n' | '\r' | '\t' => drop(self.rest.next()),
                '\u{feff}' | '\u{a0}' | '\u{3000}' | '\u{200b}' => {
                    self.rest.next();
                    self.note("invisible characters between tokens were left out");
                }
                '\\' => {
                    self.rest.next();
                    match self.rest.next() {
                        Some((_, 'n' | 'r' | 't')) => {
                            self.note("escapes between tokens were read as white space");
                        }
                        _ => return Err(self.fault(at, "there is a backslash between tokens")),
                    }
                }
                '/' => self.comment(at)?,
                _ => break,
            }
        }
        Ok(())
    }

    fn comment(&mut self, at: usize) -> Result<(), Unreadable> {
        self.rest.next();
        match self.rest.next() {
            Some((_, '/')) => while self.rest.next_if(|(_, c)| *c != '\n').is_some() {},
            Some((_, '*')) => {
                let mut last = ' ';
                loop {
                    match self.rest.next() {
                        None => return Err(Unreadable::CutShort("a comment")),
                        Some((_, '/')) if last == '*' => break,
                        Some((_, c)) => last = c,
                    }
                }
            }
            _ => return Err(self.fault(at, "`/` begins no value")),
        }
        self.note("comments were left out");
        Ok(())
    }

    fn note(&mut self, repair: &str) {
        if !self.repairs.iter().any(|known| known == repair) {
            self.repairs.push(repair.to_owned());
        }
    }

    fn fault(&self, at: usize, what: &str) -> Unreadable {
        let before = &self.text[..at];
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Unreadable::At { what: what.to_owned(), line, column }
    }
}
