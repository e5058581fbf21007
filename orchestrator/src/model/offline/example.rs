//! Requests that are worded like an example of a tool: `Greet Ada` shows how to say `Greet Bob`.
//!
//! The last resort, for tools that no skill of ours fits.

use serde_json::{Map, Value};

use super::{
    super::ToolDeclaration,
    words::{each, is_han},
};

/// Most words that a value takes.
const MOST_WORDS: usize = 12;

/// Words that are in requests of every kind.
const PLAIN: &str = "what, what's, which, who, how, much, many, is, are, does, the, this, that, there, please, \
    can, could, you, for, and, give, tell, show, 我, 你, 是, 的, 了, 请, 帮, 把, 吗, 什, 么, 多, 少, 怎, 样, 下, 一";

/// A word, or one Chinese character, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Word {
    text: String,
    start: usize,
    end: usize,
}

/// A word of an example, or the place of one of its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Word(String),
    Slot(String),
}

/// A tool that has an example like `question`, and arguments like those of the example.
pub(super) fn find<'a>(
    question: &str,
    tools: &'a [ToolDeclaration],
) -> Option<(&'a ToolDeclaration, Map<String, Value>)> {
    let asked = words(question);
    let mut best: Option<(usize, &ToolDeclaration, Map<String, Value>)> = None;
    for tool in tools {
        for (request, arguments) in &tool.examples {
            let Ok(arguments) = serde_json::from_str::<Map<String, Value>>(arguments) else {
                continue;
            };
            let Some(parts) = template(request, &arguments) else { continue };
            let mut caught = Vec::new();
            if !matches(&parts, &asked, &mut caught) {
                continue;
            }
            let Some(filled) = fill(question, &arguments, &caught) else { continue };
            let fixed = parts.iter().filter(|part| matches!(part, Part::Word(_))).count();
            if best.as_ref().is_none_or(|(known, _, _)| fixed > *known) {
                best = Some((fixed, tool, filled));
            }
        }
    }
    best.map(|(_, tool, arguments)| (tool, arguments))
}

/// The words of an example, with the values of its arguments taken out; `None` if nothing is left.
fn template(request: &str, arguments: &Map<String, Value>) -> Option<Vec<Part>> {
    let mut parts: Vec<Part> =
        words(request).into_iter().map(|word| Part::Word(word.text)).collect();
    for (name, value) in arguments {
        let text = match value {
            Value::String(text) => text.trim().to_owned(),
            Value::Number(number) => number.to_string(),
            _ => continue,
        };
        let wanted: Vec<Part> =
            words(&text).into_iter().map(|word| Part::Word(word.text)).collect();
        let at = parts.windows(wanted.len().max(1)).position(|window| window == wanted.as_slice());
        // A value that the request does not show is a constant of the example.
        if let Some(at) = at {
            parts.splice(at..at + wanted.len(), [Part::Slot(name.clone())]);
        }
    }
    // Two words of a question, "what is", say nothing about what is asked.
    let says_something = parts.iter().any(|part| match part {
        Part::Word(word) => {
            (word.chars().count() > 2 || word.chars().all(is_han))
                && each(PLAIN).all(|plain| plain != word)
        }
        Part::Slot(_) => false,
    });
    says_something.then_some(parts)
}

/// Whether the words are those of the parts, with at least one word for each slot.
fn matches(parts: &[Part], asked: &[Word], caught: &mut Vec<(String, usize, usize)>) -> bool {
    let Some((first, rest)) = parts.split_first() else { return asked.is_empty() };
    match first {
        Part::Word(word) => {
            asked.first().is_some_and(|next| next.text == *word)
                && matches(rest, &asked[1..], caught)
        }
        Part::Slot(name) => (1..=asked.len().min(MOST_WORDS)).any(|length| {
            let known = caught.len();
            caught.push((name.clone(), asked[0].start, asked[length - 1].end));
            let is_match = matches(rest, &asked[length..], caught);
            if !is_match {
                caught.truncate(known);
            }
            is_match
        }),
    }
}

fn fill(
    question: &str,
    arguments: &Map<String, Value>,
    caught: &[(String, usize, usize)],
) -> Option<Map<String, Value>> {
    let mut filled = arguments.clone();
    for (name, start, end) in caught {
        let text = question[*start..*end].trim_matches(['"', '\'', '“', '”', '`']);
        let value = match arguments.get(name) {
            Some(Value::Number(_)) => Value::Number(text.replace(',', "").parse().ok()?),
            _ => Value::String(text.to_owned()),
        };
        filled.insert(name.clone(), value);
    }
    Some(filled)
}

/// Words in lower case without signs around them; each Chinese character is a word.
fn words(text: &str) -> Vec<Word> {
    let mut found: Vec<Word> = Vec::new();
    let mut open: Option<usize> = None;
    let mut close = |open: &mut Option<usize>, end: usize| {
        if let Some(start) = open.take() {
            let word = text[start..end].trim_end_matches(['.', ',', ':', '-', '\'']);
            if !word.is_empty() {
                let (end, text) = (start + word.len(), word.to_lowercase());
                found.push(Word { text, start, end });
            }
        }
    };
    let mut characters = Vec::new();
    for (at, character) in text.char_indices() {
        let is_part = character.is_alphanumeric() && !is_han(character)
            || (open.is_some()
                && matches!(character, '_' | '-' | '.' | '/' | '\'' | ',' | ':' | '@'));
        if is_part {
            open.get_or_insert(at);
        } else {
            close(&mut open, at);
            if is_han(character) {
                characters.push((at, character));
            }
        }
    }
    close(&mut open, text.len());
    found.extend(characters.into_iter().map(|(start, character)| Word {
        text: character.to_string(),
        start,
        end: start + character.len_utf8(),
    }));
    found.sort_by_key(|word| word.start);
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str, request: &str, arguments: &Value) -> ToolDeclaration {
        ToolDeclaration {
            name: name.to_owned(),
            description: String::new(),
            input_schema: json!({"type": "object"}),
            examples: vec![(request.to_owned(), arguments.to_string())],
        }
    }

    #[test]
    fn an_example_shows_how_to_ask() {
        let tools = [
            tool("greet", "Greet Ada", &json!({"name": "Ada"})),
            tool("roll", "Roll 2 dice with 6 sides", &json!({"dice": 2, "sides": 6, "fair": true})),
            tool("天气", "北京今天的天气怎么样？", &json!({"city": "北京"})),
            tool("any", "Ada", &json!({"name": "Ada"})),
        ];
        let rows = [
            ("greet Bob Miller!", Some(("greet", json!({"name": "Bob Miller"})))),
            (
                "Roll 3 dice with 20 sides.",
                Some(("roll", json!({"dice": 3, "sides": 20, "fair": true}))),
            ),
            ("上海今天的天气怎么样", Some(("天气", json!({"city": "上海"})))),
            ("Roll some dice with six sides", None),
            ("Please greet Bob", None),
            ("Bob", None),
        ];
        for (question, expected) in rows {
            let found = find(question, &tools)
                .map(|(tool, arguments)| (tool.name.clone(), Value::Object(arguments)));
            let expected = expected.map(|(name, arguments)| (name.to_owned(), arguments));
            assert_eq!(found, expected, "{question}");
        }
    }
}
