//! Chooses a tool among those that are declared, by what it says of itself: its description, its
//! examples and the properties of its arguments. No tool is known by its name.

use serde_json::{Map, Value};

use super::{
    super::{ToolDeclaration, schema},
    goals::Order,
    need::{CLUES, Clue, Need, PROFILES, Profile, Role, Skill, Wish},
    words,
};

/// Below this a tool is for something else.
const ENOUGH: i32 = 8;
/// What a word is worth where a tool says what it is for.
const PURPOSE: i32 = 3;
/// The same elsewhere.
const ASIDE: i32 = 1;
/// The same where it says what it is not for.
const NOT_FOR: i32 = -2;
/// What a word of tools for something else costs.
const OTHER: i32 = -9;

/// A tool and arguments for it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Choice<'a> {
    pub(super) tool: &'a ToolDeclaration,
    pub(super) arguments: Map<String, Value>,
    /// Roles that are filled.
    pub(super) filled: Vec<Role>,
}

/// The tool that fits a need best, with its arguments; of equals the first. `question` is what the
/// person said: it may be like an example of the tool.
pub(super) fn choose<'a>(
    need: &Need,
    tools: &'a [ToolDeclaration],
    question: &str,
) -> Option<Choice<'a>> {
    let mut best: Option<(i32, Choice<'a>)> = None;
    for tool in tools {
        let Some((fit, choice)) = fill(need, tool) else { continue };
        let score = fit + described(need.skill, tool) + alike(question, tool);
        if score >= ENOUGH && best.as_ref().is_none_or(|(known, _)| score > *known) {
            best = Some((score, choice));
        }
    }
    best.map(|(_, choice)| choice)
}

/// Whether a tool says that it runs commands.
pub(super) fn runs_commands(tool: &ToolDeclaration) -> bool {
    described(Skill::Run, tool) >= ENOUGH
}

/// How well a description fits a skill.
fn described(skill: Skill, tool: &ToolDeclaration) -> i32 {
    let Some(profile) = PROFILES.iter().find(|profile| profile.skill == skill) else { return 0 };
    let (purpose, not_for, aside) = parts(&tool.description);
    let name = tool.name.replace(['_', '.', '-'], " ");
    let requests: String =
        tool.examples.iter().map(|(request, _)| request.as_str()).collect::<Vec<_>>().join("\n");
    let count = |text: &str, of: &str| {
        let found = words::each(of).filter(|word| words::has(text, word)).count();
        i32::try_from(found).unwrap_or(0)
    };
    let Profile { words, others, .. } = profile;
    PURPOSE * count(&purpose, words)
        + ASIDE * (count(&aside, words) + count(&requests, words) + count(&name, words))
        + NOT_FOR * count(&not_for, words)
        + OTHER * count(&purpose, others)
}

/// What a tool is for, what it is not for, and the rest of its description.
fn parts(description: &str) -> (String, String, String) {
    let (mut purpose, mut not_for, mut aside) = (String::new(), String::new(), String::new());
    for (at, line) in description.lines().enumerate() {
        let plain = line.trim_start().to_ascii_lowercase();
        let part = if plain.starts_with("not for") {
            &mut not_for
        } else if at == 0 || !plain.contains(':') {
            &mut purpose
        } else {
            &mut aside
        };
        part.push_str(line);
        part.push('\n');
    }
    (purpose, not_for, aside)
}

/// How many words a question shares with the examples of a tool, at most three.
fn alike(question: &str, tool: &ToolDeclaration) -> i32 {
    let is_long = |word: &&str| word.chars().count() > 3;
    let asked: Vec<&str> =
        question.split(|one: char| !one.is_alphanumeric()).filter(is_long).collect();
    let shared = asked
        .iter()
        .filter(|word| tool.examples.iter().any(|(request, _)| words::has(request, word)));
    i32::try_from(shared.count().min(3)).unwrap_or(0)
}

/// One property of a tool's arguments.
struct Property<'a> {
    name: &'a str,
    schema: &'a Value,
    is_required: bool,
}

/// Arguments for a need, and how surely they are meant so; `None` if something that the tool or the
/// need wants has no place.
fn fill<'a>(need: &Need, tool: &'a ToolDeclaration) -> Option<(i32, Choice<'a>)> {
    let parameters = schema::parameters(&tool.input_schema);
    let required = parameters.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|known| known == name));
    let mut free: Vec<Property<'_>> = parameters
        .get("properties")?
        .as_object()?
        .iter()
        .map(|(name, schema)| Property { name, schema, is_required: is_required(name) })
        .collect();
    let mut arguments = Map::new();
    let mut filled = Vec::new();
    let mut score = 0;
    let musts = need.must.iter().map(|wish| (wish, true));
    for ((role, wish), is_must) in musts.chain(need.may.iter().map(|wish| (wish, false))) {
        let clue = CLUES.iter().find(|clue| clue.role == *role)?;
        let best = free
            .iter()
            .enumerate()
            .filter_map(|(at, property)| Some((likeness(clue, property)?, at)))
            .max_by_key(|(likeness, at)| (*likeness, std::cmp::Reverse(*at)));
        let value = best.and_then(|(_, at)| value(wish, free[at].schema));
        match (best, value) {
            (Some((likeness, at)), Some(value)) => {
                score += if is_must { likeness } else { 1 };
                arguments.insert(free.remove(at).name.to_owned(), value);
                filled.push(*role);
            }
            _ if is_must => return None,
            _ => {}
        }
    }
    if free.iter().any(|property| property.is_required) {
        return None;
    }
    Some((score, Choice { tool, arguments, filled }))
}

/// How likely a property is meant for a role; `None` if it cannot be.
fn likeness(clue: &Clue, property: &Property<'_>) -> Option<i32> {
    let kind = property.schema.get("type").and_then(Value::as_str);
    let has_choices = !choices(property.schema).is_empty();
    let fits = kind.map_or(has_choices, |kind| words::each(clue.kinds).any(|known| known == kind));
    let text = property.schema.get("description").and_then(Value::as_str).unwrap_or("");
    if !fits || words::has_any(text, clue.others) {
        return None;
    }
    let lower = property.name.to_ascii_lowercase();
    let by_name = words::each(clue.names).position(|name| name == lower).map_or(0, |at| {
        i32::try_from(words::each(clue.names).count().min(10)).unwrap_or(10)
            - i32::try_from(at).unwrap_or(0)
    });
    let by_words = if words::has_any(text, clue.words) { 4 } else { 0 };
    // A name like `pattern` or `limit` can be meant for several things; then the words decide.
    let is_clear = by_name > 0 || by_words > 0;
    is_clear.then_some(by_name + by_words)
}

/// A wish as JSON, if the property can hold it.
fn value(wish: &Wish, schema: &Value) -> Option<Value> {
    let kind = schema.get("type").and_then(Value::as_str);
    match wish {
        Wish::Text(text) => Some(Value::String(text.clone())),
        Wish::Yes => Some(Value::Bool(true)),
        Wish::Number(digits) if kind == Some("string") => Some(Value::String(digits.clone())),
        Wish::Number(digits) => {
            let number: u64 = digits.parse().ok()?;
            let most = schema.get("maximum").and_then(Value::as_u64).unwrap_or(u64::MAX);
            Some(Value::from(number.min(most)))
        }
        Wish::First(order) => {
            let text = schema.get("description").and_then(Value::as_str).unwrap_or("");
            let choices = choices(schema);
            let wanted = by_order(*order);
            let found = wanted.iter().find(|name| match choices.as_slice() {
                [] => words::has(text, name),
                choices => choices.iter().any(|choice| choice.eq_ignore_ascii_case(name)),
            });
            found.map(|name| Value::String((*name).to_owned()))
        }
    }
}

/// How an order may be called.
fn by_order(order: Order) -> &'static [&'static str] {
    match order {
        Order::Newest => &[
            "newest",
            "modified",
            "mtime",
            "modified_desc",
            "time",
            "date",
            "recent",
            "updated",
            "changed",
        ],
        Order::Oldest => &["oldest", "modified_asc", "mtime_asc", "time_asc"],
        Order::Largest => &["largest", "size", "size_desc", "bytes"],
        Order::Smallest => &["smallest", "size_asc"],
    }
}

/// The values that a property can have, if they are few.
fn choices(schema: &Value) -> Vec<&str> {
    let mut found: Vec<&str> = Vec::new();
    let own = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
    found.extend(own.filter_map(Value::as_str));
    for keyword in ["oneOf", "anyOf"] {
        let parts = schema.get(keyword).and_then(Value::as_array).into_iter().flatten();
        for part in parts {
            let values = part.get("enum").and_then(Value::as_array).into_iter().flatten();
            found.extend(values.filter_map(Value::as_str));
        }
    }
    found
}
