//! The condition of a rule: an expression in CEL (<https://cel.dev>) over a call.
//!
//! Every CEL expression ends, but two comprehensions over a long list can take hours. So what an
//! expression costs is counted twice: its form when it is read, and for each call how much it would
//! look at; what costs too much is not evaluated. A condition that cannot be evaluated is no answer,
//! and what that means for a rule is decided in `rule`.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue};
use cel::{Env, Program};
use serde_json::Value;

use super::Subject;
use crate::call::config::Error;

/// Bytes of an expression, at most.
const MAX_LENGTH: usize = 2_000;
/// Parts of an expression inside one another, at most: evaluating it takes that much of the stack.
const MAX_DEPTH: usize = 24;
/// Stack of the thread that reads an expression, in bytes: the parser takes some 100 KiB a bracket in a
/// debug build, and stops at 96 of them.
const PARSER_STACK: usize = 64 << 20;
/// Comprehensions inside one another, at most.
const MAX_NESTED: usize = 2;
/// What one evaluation may cost, in looks at one value or at a thousand bytes of text. What is
/// counted is a bound that few expressions come near to; those take some tenths of a second.
const MAX_COST: u64 = 10_000_000;
/// What a `matches` costs in such looks: its pattern is read each time.
const MATCHES: u64 = 500;
/// What an expression can name.
const VARIABLES: [&str; 4] = ["args", "tool", "team", "agent"];
/// What an expression can call, operators aside.
const FUNCTIONS: [&str; 11] = [
    "size",
    "startsWith",
    "endsWith",
    "contains",
    "matches",
    "int",
    "uint",
    "double",
    "string",
    "bool",
    "type",
];

/// CEL as it is, without extensions.
static CEL: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(Env::stdlib()));

/// A condition, ready to be evaluated.
pub(super) struct Condition {
    program: Program,
    cost: Cost,
}

impl fmt::Debug for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Condition").field("cost", &self.cost).finish_non_exhaustive()
    }
}

/// What evaluating an expression costs: its parts, by how many comprehensions they stand in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cost([u64; MAX_NESTED + 1]);

/// What a condition is evaluated over, made once for all rules of a call.
#[derive(Debug)]
pub(super) struct Facts {
    arguments: Result<cel::Value, String>,
    values: u64,
    bytes: u64,
}

impl Facts {
    /// The facts of a call with these arguments, which are JSON.
    pub(super) fn of(arguments: &str) -> Self {
        let bytes = u64::try_from(arguments.len()).unwrap_or(u64::MAX);
        let read = serde_json::from_str::<Value>(arguments);
        let values = read.as_ref().map_or(0, count);
        let arguments = read.map(|value| in_cel(&value)).map_err(|error| error.to_string());
        Self { arguments, values, bytes }
    }
}

/// JSON as CEL has it; a whole number is an `int` wherever it can be one.
fn in_cel(value: &Value) -> cel::Value {
    match value {
        Value::Null => cel::Value::Null,
        Value::Bool(flag) => cel::Value::Bool(*flag),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => cel::Value::Int(whole),
            (None, Some(whole)) => cel::Value::UInt(whole),
            (None, None) => cel::Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => cel::Value::from(text.as_str()),
        Value::Array(below) => cel::Value::from(below.iter().map(in_cel).collect::<Vec<_>>()),
        Value::Object(below) => {
            let entries = below.iter().map(|(key, value)| (key.clone(), in_cel(value)));
            cel::Value::from(entries.collect::<HashMap<_, _>>())
        }
    }
}

/// How many values are in a value, itself included.
fn count(value: &Value) -> u64 {
    match value {
        Value::Array(below) => 1 + below.iter().map(count).sum::<u64>(),
        Value::Object(below) => 1 + below.values().map(count).sum::<u64>(),
        _ => 1,
    }
}

impl Condition {
    /// Reads the expression that stands under `key`.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub(super) fn new(key: &str, text: &str) -> Result<Self, Error> {
        let refuse = |reason: String| Error::Value { key: key.to_owned(), reason };
        if text.len() > MAX_LENGTH {
            return Err(refuse(format!("a condition has at most {MAX_LENGTH} bytes")));
        }
        let program = parse(text).map_err(refuse)?;
        let mut names = Names::default();
        names.visit(program.expression(), 0).map_err(refuse)?;
        let cost = names.cost;
        Ok(Self { program, cost })
    }

    /// Whether it holds for a call.
    ///
    /// # Errors
    /// Why that cannot be said.
    pub(super) fn holds(&self, subject: Subject<'_>, facts: &Facts) -> Result<bool, String> {
        let arguments = facts.arguments.clone()?;
        if self.cost.over(facts) > MAX_COST {
            return Err("the arguments are too large for it".to_owned());
        }
        let mut context = cel::Context::with_env(Arc::clone(&CEL));
        context.add_variable_from_value("args", arguments);
        context.add_variable_from_value("tool", subject.tool.name.as_str());
        context.add_variable_from_value("team", subject.team);
        context.add_variable_from_value("agent", subject.agent);
        match self.program.execute(&context) {
            Ok(cel::Value::Bool(holds)) => Ok(holds),
            Ok(other) => Err(format!("it gives a {}, not true or false", other.type_of())),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl Cost {
    /// What evaluating it over a call costs, or more. No list gets longer than everything in the call
    /// put together once for each part of the expression, since comprehensions do not flatten.
    fn over(&self, facts: &Facts) -> u64 {
        let all = self.0.iter().sum::<u64>();
        let length = facts.values.max(1).saturating_mul(all);
        let text = 1 + facts.bytes / 1_000;
        let (mut cost, mut times) = (0_u64, 1_u64);
        for parts in self.0 {
            cost = cost.saturating_add(parts.saturating_mul(times));
            times = times.saturating_mul(length);
        }
        cost.saturating_mul(text)
    }
}

/// What an expression uses, found by walking it once.
#[derive(Default)]
struct Names<'a> {
    /// Variables of the comprehensions around.
    own: Vec<&'a str>,
    /// Parts around.
    depth: usize,
    cost: Cost,
}

impl<'a> Names<'a> {
    fn visit(&mut self, part: &'a IdedExpr, nested: usize) -> Result<(), String> {
        let Some(parts) = self.cost.0.get_mut(nested) else {
            return Err(format!(
                "more than {MAX_NESTED} of all, exists, map and filter inside one another"
            ));
        };
        *parts += 1;
        if self.depth == MAX_DEPTH {
            return Err(format!("more than {MAX_DEPTH} parts inside one another"));
        }
        self.depth += 1;
        let visited = self.inside(&part.expr, nested);
        self.depth -= 1;
        visited
    }

    fn inside(&mut self, part: &'a Expr, nested: usize) -> Result<(), String> {
        match part {
            Expr::Ident(name) if VARIABLES.contains(&name.as_str()) => Ok(()),
            Expr::Ident(name) if self.own.contains(&name.as_str()) => Ok(()),
            Expr::Ident(name) => {
                Err(format!("it names `{name}`; there are {}", VARIABLES.join(", ")))
            }
            Expr::Select(select) => self.visit(&select.operand, nested),
            Expr::List(list) => {
                list.elements.iter().try_for_each(|element| self.visit(element, nested))
            }
            Expr::Map(map) => map.entries.iter().try_for_each(|entry| match &entry.expr {
                EntryExpr::MapEntry(entry) => {
                    self.visit(&entry.key, nested)?;
                    self.visit(&entry.value, nested)
                }
                EntryExpr::StructField(field) => self.visit(&field.value, nested),
            }),
            Expr::Call(call) => self.call(call, nested),
            Expr::Comprehension(inner) => self.comprehension(inner, nested),
            Expr::Struct(_) => Err("it makes an object of a type, and there are none".to_owned()),
            Expr::Literal(_) | Expr::Unspecified => Ok(()),
        }
    }

    fn call(&mut self, call: &'a CallExpr, nested: usize) -> Result<(), String> {
        let name = call.func_name.as_str();
        let is_word = name.chars().next().is_some_and(char::is_alphabetic);
        if is_word && !FUNCTIONS.contains(&name) {
            return Err(format!(
                "it calls `{name}`; there are {}, has, all, exists, exists_one, map and filter",
                FUNCTIONS.join(", ")
            ));
        }
        if name == "matches" {
            pattern(call.args.last())?;
            self.cost.0.iter_mut().skip(nested).take(1).for_each(|parts| *parts += MATCHES);
        }
        call.target.iter().try_for_each(|target| self.visit(target, nested))?;
        call.args.iter().try_for_each(|argument| self.visit(argument, nested))
    }

    fn comprehension(&mut self, inner: &'a ComprehensionExpr, nested: usize) -> Result<(), String> {
        self.visit(&inner.iter_range, nested)?;
        self.visit(&inner.accu_init, nested)?;
        let before = self.own.len();
        self.own.extend([inner.iter_var.as_str(), inner.accu_var.as_str()]);
        self.own.extend(inner.iter_var2.as_deref());
        self.visit(&inner.loop_cond, nested + 1)?;
        self.visit(&inner.loop_step, nested + 1)?;
        self.visit(&inner.result, nested)?;
        self.own.truncate(before);
        Ok(())
    }
}

/// A pattern must be known beforehand: reading one takes longer than most calls, and one out of the
/// arguments could take what memory there is.
fn pattern(argument: Option<&IdedExpr>) -> Result<(), String> {
    let Some(Expr::Literal(LiteralValue::String(text))) = argument.map(|part| &part.expr) else {
        return Err("`matches` wants its pattern written out, in quotes".to_owned());
    };
    match regex::Regex::new(text.inner()) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("`{}` is no pattern: {error}", text.inner())),
    }
}

/// Parses an expression on a stack that is large enough.
fn parse(text: &str) -> Result<Program, String> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("cel".to_owned()).stack_size(PARSER_STACK);
        let parsed = thread.spawn_scoped(scope, || CEL.compile(text));
        let parsed = parsed.map_err(|error| format!("there is no thread to read it: {error}"))?;
        let parsed = parsed.join().map_err(|_| "it cannot be read".to_owned())?;
        parsed.map_err(|error| malformed(&error.to_string()))
    })
}

/// What the parser says, without the drawing below it.
fn malformed(error: &str) -> String {
    let first = error.lines().next().unwrap_or_default();
    let plain = first.trim_start_matches("ERROR: <input>:");
    format!("it is no CEL expression: {plain}")
}

#[cfg(test)]
mod tests;
